"""What a result was made from and by what, for the report."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from torpca import __version__
from torpca._cli.data import Data
from torpca._provenance import Provenance


def provenance(data: Data, folder: Path | None = None, model: Path | None = None) -> Provenance:
    """Version, date, command and file behind the results of this command.

    `folder` is where the results of the fit are; `model` the one that judges the rows, if it was
    there before.
    """
    context = click.get_current_context(silent=True)
    return Provenance(
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        command="" if context is None else command_line(context),
        file=data.title,
        sha256=sha256_of(data.path),
        model="" if model is None else str(model),
        folder="" if folder is None else str(folder),
    )


def command_line(context: click.Context) -> str:
    """The command as it was typed, but for the order of its options."""
    words = ["torpca", str(context.info_name)]
    options: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value: Any = context.params.get(name)
        if isinstance(parameter, click.Option):
            options += option_words(parameter, value)
        else:
            words.append(str(value))
    return shlex.join([*words, *options])


def option_words(option: click.Option, value: Any) -> list[str]:
    """An option and its value, or values."""
    if option.is_flag:
        return [option.opts[-1] if value else option.secondary_opts[-1]]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (option.opts[-1], str(one))]


def sha256_of(path: str | Path) -> str:
    """Digest of a file in hexadecimal; empty for standard input and folders."""
    if path == "-" or not Path(path).is_file():
        return ""
    with Path(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
