"""Tutorials and the gallery as pages: each file is run, and shown with all it printed and drew.

A tutorial is a plain Python file in cells, which editors and notebooks know too:

- ``# %% [markdown]`` starts text, one comment per line;
- ``# %%`` starts code. What it prints stands below it, and then its figures;
- ``# %% [check]`` starts code that must not fail for the text to be true. It is folded away.

An exception in any cell ends the build.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.hooks.figures import picture, style

MARK = re.compile(r"^# %%(?: \[(?P<kind>markdown|check)\])?[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A part of a tutorial."""

    kind: str
    """ "markdown", "code" or "check"."""
    text: str
    line: int
    """Lines of the file before the text, for tracebacks."""


def read_cells(source: str) -> list[Cell]:
    """Cells of a tutorial, from its text. Nothing but its docstring may precede the first mark."""
    marks = list(MARK.finditer(source))
    if not marks or source[: marks[0].start()].strip():
        raise ValueError("a tutorial starts with the line '# %% [markdown]'.")
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    cells = []
    for mark, end in zip(marks, ends, strict=True):
        text = source[mark.end() + 1 : end]
        kind = mark["kind"] or "code"
        line = source.count("\n", 0, mark.end() + 1)
        if kind == "markdown":
            text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines())
        cells.append(Cell(kind, text.strip("\n"), line))
    return cells


def run(path: Path) -> str:
    """Run a tutorial and return its page, in Markdown. Warnings are errors."""
    import matplotlib  # noqa: PLC0415 (only to draw)

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    names: dict[str, Any] = {"__name__": "__tutorial__", "__file__": str(path)}
    parts = []
    with matplotlib.rc_context(style()), warnings.catch_warnings():
        warnings.simplefilter("error")
        for cell in read_cells(path.read_text(encoding="utf-8")):
            if cell.kind == "markdown":
                parts.append(cell.text)
                continue
            printed = run_code(cell, path, names)
            parts.append(shown(cell, printed))
            for number in plt.get_fignums():
                parts.append(picture(plt.figure(number)))
            plt.close("all")
    return "\n\n".join(parts) + "\n"


def run_code(cell: Cell, path: Path, names: dict[str, Any]) -> str:
    """Run a cell in the namespace `names` and return what it printed."""
    out = io.StringIO()
    # Empty lines, so that a traceback names the file's own.
    code = compile("\n" * cell.line + cell.text, str(path), "exec")
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue().rstrip("\n")


def shown(cell: Cell, printed: str) -> str:
    """Markdown of a code cell and its output."""
    code = f"```python\n{cell.text}\n```"
    if printed:
        code += f'\n\n```text title="prints"\n{printed}\n```'
    if cell.kind == "code":
        return code
    indented = "\n".join("    " + line if line else "" for line in code.splitlines())
    return f'??? success "Checked whenever this page is built"\n\n{indented}'


# ---- what MkDocs calls ---------------------------------------------------------------------------


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every tutorial, and the gallery."""
    from mkdocs.structure.files import File  # noqa: PLC0415 (tests run tutorials without it)

    docs = Path(config.docs_dir)
    for path in sorted([docs / "gallery.py", *docs.glob("tutorials/*.py")]):
        place = path.relative_to(docs).with_suffix(".md").as_posix()
        files.append(File.generated(config, place, content=run(path)))
    return files
