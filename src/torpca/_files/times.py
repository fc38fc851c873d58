"""When the rows were measured: dates, times of day, or numbers such as hours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._files.cells import MISSING, numbers
from torpca._files.errors import TableError, need, shown
from torpca._files.ids import texts_of_numbers
from torpca._files.stored import Texts
from torpca._names import FROM_ONE
from torpca._times import Times
from torpca._words import counted

# Dates that are not written as ISO 8601 has them: with points the day is first; with slashes or
# hyphens it may be either.
DAY_FIRST, MONTH_FIRST = ("%d/%m/%Y", "%d-%m-%Y"), ("%m/%d/%Y", "%m-%d-%Y")
CERTAIN = ("%Y/%m/%d", "%d.%m.%Y", "%Y.%m.%d")
CLOCK = r"^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$"
# Times of day that may follow a date.
CLOCKS = ("", " %H:%M", " %H:%M:%S")


def times_of(column: str, title: str, pieces: list[Texts]) -> tuple[Times, tuple[str, ...]]:
    """Times (n,) of the rows, from what their column says, and what was assumed."""
    pa, pc = (need(m, "cli", "Reading times") for m in ("pyarrow", "pyarrow.compute"))
    cells = pa.array(np.char.strip(np.concatenate(pieces)).tolist(), pa.string())
    missing = pc.is_in(cells, value_set=pa.array(MISSING))
    cells = pc.if_else(missing, None, cells)
    n_missing = cells.null_count
    if n_missing == len(cells):
        raise TableError(
            f"Column {shown(column)} of {title} has no values, so it cannot say when rows were "
            "measured. Name another --time-column (time_column=...)."
        )
    said = []
    if n_missing:
        verb = "has" if n_missing == 1 else "have"
        said.append(f"{counted(n_missing, 'row')} {verb} no time in column {shown(column)}.")
    values, words = numbers(cells)
    if not len(words):
        return texts_of_numbers(values), tuple(said)
    clock = time_of_day(pc, cells)
    if clock is not None:
        return clock, tuple(said)
    dates = iso_dates(pa, pc, cells)
    if dates is None:
        dates = next(read_as(pc, cells, CERTAIN), None)
    if dates is None:
        dates, note = either_first(pc, cells, column)
        said += [note] if note else []
    if dates is None:
        at = first_odd(pa, pc, cells, values)
        raise TableError(
            f"Column {shown(column)} of {title} holds no times that can be read: {shown(at[0])} in "
            f"row {at[1]}, {FROM_ONE}. Write all of them as 2024-05-31 or 2024-05-31 13:45:00, as "
            "13:45:00, or as numbers."
        )
    return dates, tuple(said)


def time_of_day(pc: Any, cells: Any) -> Texts | None:
    """Times such as 9:05 as 09:05:00, so that they are in order as text too."""
    clocks = pc.match_substring_regex(cells, CLOCK)
    if not pc.all(clocks).as_py():
        return None
    long = pc.replace_substring_regex(cells, r"^([0-9]):", r"0\1:")
    long = pc.replace_substring_regex(long, r"^([0-9]{2}:[0-9]{2})$", r"\1:00")
    return np.array([value or "" for value in long.to_pylist()], dtype=np.str_)


def iso_dates(pa: Any, pc: Any, cells: Any) -> npt.NDArray[np.datetime64] | None:
    """Dates as ISO 8601 writes them; those with a zone in UTC."""
    for kind in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            stamps = pc.cast(cells, kind)
        except pa.ArrowInvalid:
            continue
        return as_dates(pc.cast(stamps, pa.timestamp("us")))
    return None


def read_as(pc: Any, cells: Any, formats: tuple[str, ...]) -> Iterator[npt.NDArray[np.datetime64]]:
    """Yield the dates that all cells are in one of the formats, with or without a time of day."""
    for day in formats:
        for clock in CLOCKS:
            stamps = pc.strptime(cells, format=day + clock, unit="us", error_is_null=True)
            if stamps.null_count == cells.null_count:
                yield as_dates(stamps)


def either_first(pc: Any, cells: Any, column: str) -> tuple[npt.NDArray[np.datetime64] | None, str]:
    """Dates in which day or month may be first, by what is possible and by the order of rows."""
    days, months = (next(read_as(pc, cells, f), None) for f in (DAY_FIRST, MONTH_FIRST))
    if days is None or months is None:
        return (days if months is None else months), ""
    day_sorted, month_sorted = (bool(np.all(np.diff(d[~np.isnat(d)]) >= 0)) for d in (days, months))
    first = "day" if day_sorted and not month_sorted else "month"
    why = "as the rows are in order then" if day_sorted != month_sorted else "as in the USA"
    note = (
        f"Dates in column {shown(column)} were read with the {first} first, {why}. If that is "
        "wrong, write them as 2024-05-31."
    )
    return (days if first == "day" else months), note


def as_dates(stamps: Any) -> npt.NDArray[np.datetime64]:
    """Arrow timestamps as NumPy has them, in days or seconds where that is all there is."""
    dates: npt.NDArray[np.datetime64] = stamps.to_numpy(zero_copy_only=False).astype("M8[us]")
    for unit in ("D", "s"):
        short = dates.astype(f"M8[{unit}]")
        if np.array_equal(short[~np.isnat(dates)], dates[~np.isnat(dates)]):
            return short
    return dates


def first_odd(pa: Any, pc: Any, cells: Any, values: Any) -> tuple[str, int]:
    """The first cell that is neither a number nor a date, and its row, counted from 1."""
    texts = cells.to_pylist()
    for i, text in enumerate(texts):
        if text is None or values[i] == values[i]:
            continue
        alone = pa.array([text])
        known = iso_dates(pa, pc, alone) is not None or time_of_day(pc, alone) is not None
        if not known and next(read_as(pc, alone, CERTAIN + DAY_FIRST + MONTH_FIRST), None) is None:
            return text, i + 1
    at = next(i for i, text in enumerate(texts) if text is not None)
    # Each can be read, but not all of them in the same way: show one of another kind.
    return next(
        ((t, i + 1) for i, t in enumerate(texts) if t is not None and len(t) != len(texts[at])),
        (texts[at], at + 1),
    )
