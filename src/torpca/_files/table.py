"""A table of numbers read from a file, and what was left out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._files.choose import Wanted, check_enough
from torpca._files.chunked import ChunkedSource
from torpca._files.errors import TableError, shown
from torpca._files.gaps import Gaps
from torpca._files.ids import row_names, row_numbers
from torpca._files.stored import Numbers, Stored, Texts, windows
from torpca._files.times import times_of
from torpca._missing_cells import MissingCells
from torpca._names import FROM_ONE
from torpca._times import Times
from torpca._words import NAMED, counted, first_of, whole

# More rows than this share left out are worth a word on why.
MANY = 0.1
# Rows by which columns that count them are told.
LOOKED_AT = 100

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class FileTable:
    """A table of numbers that was read from a file."""

    X: Any = field(repr=False)
    """The rows, as an estimator takes them: an array or memory map (n, d), float64 or as the file
    has it, or, if they are many, a `RowSource` that reads the file at every pass."""
    names: tuple[str, ...]
    """Columns used, (d,)."""
    ids: Texts = field(repr=False)
    """What each row is called, (n,): its value in the id column, else its number, from 1."""
    numbers: npt.NDArray[np.intp] = field(repr=False)
    """Number of each row in the file, (n,), from 1."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Columns that were not used, each with the reason."""
    dropped: npt.NDArray[np.intp] = field(
        default_factory=lambda: np.zeros(0, dtype=np.intp), repr=False
    )
    """Numbers of the rows left out because a value is missing, counted from 1, ..."""
    dropped_ids: Texts = field(default_factory=lambda: np.zeros(0, dtype=np.str_), repr=False)
    """... and what they are called."""
    missing: MissingCells | None = field(default=None, repr=False)
    """How many cells are missing, and where."""
    times: Times | None = field(default=None, repr=False)
    """When each row was measured, (n,), if a column says it, ..."""
    dropped_times: Times | None = field(default=None, repr=False)
    """... and when those were that are left out."""
    notes: tuple[str, ...] = ()
    """All of that and what else was assumed, one sentence each."""


def assemble(
    stored: Stored,
    title: str,
    *,
    wanted: Wanted,
    missing: str,
    memory_bytes: int,
    progress: Progress | None = None,
) -> FileTable:
    """The rows of `stored` to look at, in memory if they take no more than is allowed."""
    X, gaps = looked_through(stored, memory_bytes, progress)
    empty = gaps.empty_columns & (not wanted.empty_too)
    if wanted.columns is not None and empty.any():
        none = first_of(shown(stored.names[j]) for j in np.flatnonzero(empty))
        raise TableError(
            f"Columns asked for have no values in {title}: {none}. Choose columns that have some."
        )
    left_out = (
        *stored.left_out,
        *((stored.names[j], "it has no values") for j in np.flatnonzero(empty)),
    )
    names = tuple(name for name, none in zip(stored.names, empty, strict=True) if not none)
    check_enough(title, names, left_out)
    gaps.check(title, stored.names, missing)
    left = gaps.incomplete_rows & (missing == "drop-rows")
    rows, dropped = np.flatnonzero(~left), np.flatnonzero(left)
    X = subset(stored, X, rows, np.flatnonzero(~empty), memory_bytes)
    beside = stored.beside()
    ids, about_ids = all_ids(stored, wanted, beside, memory_bytes)
    times, about_times = all_times(title, wanted, beside)
    notes = [
        *about_left_out(left_out),
        *about_dropped(dropped + 1, len(left), gaps.most_often_missing(stored.names)),
        *about_ids,
        *about_times,
        *stored.notes,
    ]
    if isinstance(X, ChunkedSource):
        notes.append(
            f"The table takes {8 * X.shape[0] * X.shape[1] / 1e9:.1f} GB as numbers, so it is not "
            "held in memory but read again at every pass."
        )
    return FileTable(
        X,
        names,
        ids[rows] if len(dropped) else ids,
        rows + 1,
        left_out,
        dropped + 1,
        ids[dropped],
        MissingCells(
            gaps.of_columns[~empty],
            gaps.of_rows[rows].astype(np.int64) - np.count_nonzero(empty),
            len(dropped),
        ),
        None if times is None else times[rows],
        None if times is None else times[dropped],
        tuple(notes),
    )


def looked_through(
    stored: Stored, memory_bytes: int, progress: Progress | None
) -> tuple[Numbers | None, Gaps]:
    """All rows and columns, if they are in memory now or mapped, and what is missing in them."""
    n, d = stored.shape
    small = 8 * n * d <= memory_bytes
    X = stored.whole
    fill = np.empty((n, d), dtype=stored.dtype) if X is None and small else None
    gaps = Gaps(n, d)
    for start, block in stored.stream():
        gaps.add(start, block)
        if fill is not None:
            fill[start : start + len(block)] = block
        if progress is not None:
            progress(start + len(block), n)
    return (fill if X is None else X), gaps


def all_ids(
    stored: Stored, wanted: Wanted, beside: dict[str, list[Texts]], memory_bytes: int
) -> tuple[Texts, tuple[str, ...]]:
    """What each row of the file is called, and what there is to say of that."""
    rows = np.arange(stored.shape[0])
    if wanted.id_column is None or wanted.id_column not in beside:
        return row_numbers(rows), ()
    return row_names(wanted.id_column, beside[wanted.id_column], rows, memory_bytes)


def all_times(
    title: str, wanted: Wanted, beside: dict[str, list[Texts]]
) -> tuple[Times | None, tuple[str, ...]]:
    """When each row of the file was measured, if that is known, and what there is to say of it."""
    if wanted.time_column is None or wanted.time_column not in beside:
        return None, ()
    return times_of(wanted.time_column, title, beside[wanted.time_column])


def subset(
    stored: Stored,
    X: Numbers | None,
    rows: npt.NDArray[np.intp],
    columns: npt.NDArray[np.intp],
    memory_bytes: int,
) -> Any:
    """Some rows and columns of a table, of which `X` holds all, if it is in memory or mapped."""
    n, d = stored.shape
    if X is not None and (len(rows), len(columns)) == (n, d):
        return X
    if X is not None and not isinstance(X, np.memmap):
        X = X if len(columns) == d else X[:, columns]
        return compacted(X, rows) if X.flags.writeable else X[rows]
    source = ChunkedSource(
        stored, None if len(rows) == n else rows, None if len(columns) == d else columns
    )
    if 8 * len(rows) * len(columns) > memory_bytes:
        return source
    out = np.empty(source.shape, dtype=source.dtype)
    for _, now, block in source.blocks():
        out[now] = block
    return out


def compacted(X: Numbers, rows: npt.NDArray[np.intp]) -> Numbers:
    """The rows numbered `rows`, ascending, moved to the top of `X`, which is not copied."""
    for now in windows(len(rows), 2**16):
        X[now] = X[rows[now]]
    return X[: len(rows)]


# ---- what to tell --------------------------------------------------------------------------------


def about_left_out(left_out: tuple[tuple[str, str], ...]) -> list[str]:
    """A sentence for each reason, with the columns it holds for."""
    if not left_out:
        return []
    words = first_of(f"{shown(name)} ({reason})" for name, reason in left_out)
    return [f"{counted(len(left_out), 'column')} left out: {words}."]


def about_dropped(dropped: npt.NDArray[np.intp], n: int, missing_in: str) -> list[str]:
    """Sentences on the rows left out, and where most of their values are missing."""
    if not len(dropped):
        return []
    which = first_of(dropped[:NAMED], len(dropped))
    rows = f"{counted(len(dropped), 'row')} of {whole(n)}"
    verb = "was" if len(dropped) == 1 else "were"
    told = [f"{rows} {verb} left out because a value is missing: {which}, {FROM_ONE}."]
    if len(dropped) > MANY * n:
        told.append(
            f"Most values are missing in {missing_in}: without such columns (--exclude) more rows "
            "are left."
        )
    return told
