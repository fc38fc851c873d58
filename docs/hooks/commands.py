"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import html
import inspect
import re
from typing import Any

MARK = "<!-- commands -->"


def reference() -> str:
    """A section for each command, in Markdown: usage, what it does, examples and options."""
    import click  # noqa: PLC0415 (imported by whom it runs)

    from torpca._cli.app import torpca  # noqa: PLC0415

    whole = click.Context(torpca, info_name="torpca", **torpca.context_settings)
    parts = [section(torpca, whole)]
    for name, command in torpca.commands.items():
        parts.append(section(command, click.Context(command, whole, info_name=name)))
    return "\n\n".join(parts)


def section(command: Any, context: Any) -> str:
    """A command, in Markdown."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## {context.command_path}", f"```text\n{usage}\n```", prose(command.help or "")]
    options = [it for it in command.get_params(context) if it.param_type_name == "option"]
    options.sort(key=lambda option: option.name in ("debug", "help"))  # these come last
    lines = ["| option | what it does |", "|---|---|"]
    lines += [f"| {names(option)} | {meaning(option, context)} |" for option in options]
    return "\n\n".join([*parts, "\n".join(lines)])


def prose(text: str) -> str:
    """Text of a command's help. Paragraphs that click does not rewrap, the examples, are code."""
    parts = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if not part.startswith("\b"):
            parts.append(html.escape(" ".join(part.split()), quote=False))
            continue
        first, *lines = part.removeprefix("\b\n").split("\n")
        code = inspect.cleandoc("\n" + "\n".join(lines))
        parts += [first, f"```bash\n{code}\n```"]
    return "\n\n".join(parts)


def names(option: Any) -> str:
    """Names of an option, and what it takes."""
    takes = "" if option.is_flag or option.count else f" {kind(option.type)}"
    return ", ".join(f"`{name}{takes}`" for name in [*option.opts, *option.secondary_opts])


def kind(type_: Any) -> str:
    """What an option takes: one of its choices, or the kind of value."""
    choices = getattr(type_, "choices", None)
    if not choices:
        return str(type_.name).upper()
    *others, last = choices  # a bar between them would end the cell of a table
    return f"{', '.join(others)} or {last}" if others else str(last)


def meaning(option: Any, context: Any) -> str:
    """Help of an option, and its default if it shows one."""
    text = html.escape(" ".join((option.help or "").split()), quote=False)
    if option.show_default and option.default is not None and not option.is_flag:
        text += f" Default: `{option.get_default(context)}`."
    return re.sub(r"(?<![\w`-])(--?[a-z][\w-]*)", r"`\1`", text).replace("|", "\\|")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the reference where a page asks for it."""
    del page, config, files
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown
