"""Tutorials as pages: each file of docs/tutorials is run, and told with all it printed and drew.

A tutorial is a plain Python file in cells, which editors and notebooks know too:

- ``# %% [markdown]`` starts text, one comment per line;
- ``# %%`` starts code. What it prints stands below it, and then its figures;
- ``# %% [check]`` starts code that must not fail for the text to be true. It is folded away.

An exception in any cell ends the build.
"""

from __future__ import annotations

import contextlib
import html
import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = re.compile(r"^# %%(?: \[(?P<kind>markdown|check)\])?[ \t]*$", re.MULTILINE)
# What is drawn in this colour gets that of the page's text, whether light or dark. The displays
# draw limits in dark grey and rims in white, which are text and paper too.
INK = "#010203"
ON_PAGE = {
    INK: "currentColor",
    "#404040": "currentColor",
    "#ffffff": "var(--md-default-bg-color)",
}
# Grey, green, orange and red that read on white and on black, and differ in lightness too.
COLOURS = ("#7d8ea3", "#1f9e72", "#e08e00", "#d1344f")


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


# ---- figures -------------------------------------------------------------------------------------


def style() -> dict[str, Any]:
    """Settings of matplotlib under which figures read on light and dark pages."""
    from cycler import cycler  # noqa: PLC0415 (comes with matplotlib)

    ink = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(ink, INK),
        "axes.facecolor": "none",
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.facecolor": "none",
        "figure.figsize": (7.2, 3.8),
        "figure.constrained_layout.use": True,
        "font.size": 9.5,
        "legend.frameon": False,
        "savefig.dpi": 160,
        "savefig.facecolor": "none",
        "svg.hashsalt": "torpca",  # the same figure, the same file
    }


def picture(figure: Any) -> str:
    """A figure inside the page, with its label, which every figure must have, as the caption."""
    label = figure.get_label()
    if not label:
        raise ValueError("a figure needs words: plt.subplots(num='What it shows').")
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    for drawn, on_page in ON_PAGE.items():
        svg = svg.replace(drawn, on_page)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # No line is empty: one would end the block in Markdown.
    svg = "\n".join(line for line in svg.splitlines() if line.strip())
    words = html.escape(label)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)
    return f'<figure class="drawn">\n{svg}\n<figcaption>{words}</figcaption>\n</figure>'


# ---- what MkDocs calls ---------------------------------------------------------------------------


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every tutorial."""
    from mkdocs.structure.files import File  # noqa: PLC0415 (tests run tutorials without it)

    for path in sorted(Path(config.docs_dir, "tutorials").glob("*.py")):
        page = File.generated(config, f"tutorials/{path.stem}.md", content=run(path))
        files.append(page)
    return files
