"""What every benchmark ends with: one table on the screen, the same one as JSON under results/."""

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import torpca

RESULTS = Path(__file__).parent / "results"


def report(name: str, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Print the `columns` of `rows` as an aligned table; write all of `rows` to results/NAME.json.

    Parameters
    ----------
    name : str
        Name of the benchmark's module, without the package.
    rows : sequence of dict
        One dict per line; values are text, numbers, booleans or None, or dicts and lists of them.
    columns : sequence of str
        Keys of the columns to print, in order. Those whose values are all text align left.
    """
    print(format_table(rows, columns))
    RESULTS.mkdir(exist_ok=True)
    content = {"command": f"python -m benchmarks.{name}", "environment": environment()}
    content["rows"] = list(rows)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def format_table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Return the `columns` of `rows` as text, a heading and one line for each row."""
    cells = [[_cell(row[column]) for column in columns] for row in rows]
    widths = [max(map(len, entries)) for entries in zip(columns, *cells, strict=True)]
    left = [all(isinstance(row[column], str) for row in rows) for column in columns]
    return "\n".join(
        "  ".join(
            entry.ljust(width) if at_left else entry.rjust(width)
            for entry, width, at_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in [list(columns), *cells]
    )


def environment() -> dict[str, str]:
    """Return the versions a result depends on."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "torpca": torpca.__version__,
    }


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)
