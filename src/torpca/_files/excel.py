"""Tables in Excel's worksheets."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from torpca._files.errors import TableError, need, reason_of, shown, similar
from torpca._files.lines import Lines, TextOptions
from torpca._names import feature_names
from torpca._words import counted, first_of

SUFFIXES = (".xlsx", ".xlsm")
# Cells made into text at a time.
CELLS_AT_ONCE = 2**18
WHAT = "Reading Excel files"


def sheet_lines(path: str | Path, options: TextOptions) -> Lines:
    """The cells of a worksheet as text, as if it had been saved as a text file.

    Numbers keep all of their digits. What formulas gave when the file was saved is read; errors
    such as #DIV/0! are empty cells.
    """
    title = str(path)
    calamine = need("python_calamine", "excel", WHAT, "python-calamine")
    pa = need("pyarrow", "cli", WHAT)
    try:
        book = calamine.CalamineWorkbook.from_path(title)
        name, notes = chosen_sheet(book, title, options.sheet)
        # From the first cell on, so that rows are counted as the worksheet counts them.
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    except (TableError, PermissionError):
        raise
    except Exception as error:  # of a damaged file it promises no kind
        raise TableError(
            f"{title} could not be read as an Excel file ({reason_of(error)}). It may be damaged, "
            "or have a password; save it again, or as CSV."
        ) from error
    where = f"Sheet {shown(name)} of {title}"
    lines: Iterator[list[Any]] = (
        line for line in rows[options.skip_rows :] if any(cell != "" for cell in line)
    )
    first = next(lines, None)
    if first is None:
        raise TableError(f"{where} is empty. Give a sheet with a line of names and rows under it.")
    width = len(first)
    names = [as_text(cell, ".").strip() for cell in first]
    if not options.header:
        names, lines = list(feature_names(width)), iter([first, *lines])
    elif not all(names):  # columns beside the table, without a name or a value
        rest = list(lines)
        there = [j for j in range(width) if names[j] or any(line[j] != "" for line in rest)]
        names, lines = [names[j] for j in there], ([line[j] for j in there] for line in rest)
    step = max(1, CELLS_AT_ONCE // max(1, len(names)))

    def batches(read: Sequence[int]) -> Iterator[Any]:
        while block := list(islice(lines, step)):
            yield pa.record_batch(
                [pa.array([as_text(line[j], options.decimal) for line in block]) for j in read],
                names=[str(j) for j in read],
            )

    return Lines(where, names, batches, "", notes)


def chosen_sheet(book: Any, title: str, sheet: str | int | None) -> tuple[str, tuple[str, ...]]:
    """Name of the worksheet that was asked for, or of the first with something in it."""
    names = list(book.sheet_names)
    if sheet is not None:
        if str(sheet) in names:
            return str(sheet), ()
        if str(sheet).isdecimal() and 1 <= int(sheet) <= len(names):
            return names[int(sheet) - 1], ()
        raise TableError(
            f"{title} has no sheet {shown(str(sheet))}. {similar(str(sheet), names)} Sheets "
            f"are counted from 1; there {'is' if len(names) == 1 else 'are'} {len(names)}."
        )
    filled = [name for name in names if book.get_sheet_by_name(name).height]
    if not filled:
        raise TableError(f"{title} is empty. Give a file with a table in it.")
    others = [shown(name) for name in filled[1:]]
    if not others:
        return filled[0], ()
    there = counted(len(others), "other sheet")
    return filled[0], (
        f"Sheet {shown(filled[0])} was read; the file has {there}, {first_of(others)} (--sheet).",
    )


def as_text(cell: Any, decimal: str) -> str:
    """A cell as a text file would have it."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        text = str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        return text.replace(".", decimal)
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ")
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)
