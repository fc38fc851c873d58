"""What the rows are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._files.errors import TableError, need, shown
from torpca._files.stored import Texts
from torpca._names import FROM_ONE
from torpca._words import counted


def texts(column: Any) -> Texts:
    """Values (n,) of an Arrow array as text, "" where there is none."""
    pa = need("pyarrow", "cli", "Reading a table")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return np.array([value or "" for value in column.cast(pa.string()).to_pylist()], dtype=np.str_)


def texts_of_numbers(values: npt.NDArray[Any]) -> Texts:
    """Numbers (n,) as text: whole ones without a point, "" for NaN."""
    if values.dtype.kind != "f":
        return np.array([str(value) for value in values.tolist()], dtype=np.str_)
    return np.array(
        ["" if value != value else f"{value:.17g}" for value in values.tolist()], dtype=np.str_
    )


def row_numbers(rows: npt.NDArray[np.intp]) -> Texts:
    """Numbers of rows, counted from 1, as text."""
    width = len(str(int(rows[-1]) + 1)) if len(rows) else 1  # NumPy's own would be 21 characters
    return (rows + 1).astype(f"U{width}")


def row_names(
    column: str, pieces: list[Texts], rows: npt.NDArray[np.intp], memory_bytes: int
) -> tuple[Texts, tuple[str, ...]]:
    """Names (n,) of the rows numbered `rows`, ascending, and what there is to say of them.

    Rows whose name is missing are called by their number, so that every row can be found.
    """
    width = max((piece.dtype.itemsize for piece in pieces), default=4)
    n = sum(map(len, pieces))
    if n * width > memory_bytes:
        raise TableError(
            f"Column {shown(column)} cannot name the rows: its longest value has "
            f"{counted(width // 4, 'character')}, too many for {counted(n, 'row')}. Name the rows "
            "by another column."
        )
    names = np.concatenate(pieces)[rows]
    notes = [f"Rows are named by column {shown(column)}."]
    nameless = np.flatnonzero(np.char.str_len(names) == 0)
    if len(nameless):
        words = [f"row {number}" for number in row_numbers(rows[nameless])]
        names = names.astype(f"U{max(names.dtype.itemsize // 4, *map(len, words))}")
        names[nameless] = words
        which = counted(len(nameless), "row")
        verb = "is" if len(nameless) == 1 else "are"
        notes.append(
            f"{which} without a value in column {shown(column)} {verb} called by "
            f"number, {FROM_ONE}."
        )
    # Hashes take less room than the names, and two that agree by chance are next to impossible.
    distinct = len(np.unique(np.fromiter(map(hash, names), dtype=np.int64, count=len(names))))
    if distinct < len(names):
        notes.append(
            f"Column {shown(column)} does not tell all rows apart: {counted(len(names), 'row')} "
            f"share {counted(distinct, 'name')}."
        )
    return names, tuple(notes)
