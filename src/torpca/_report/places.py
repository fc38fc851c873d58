"""Where rows stand in their order: by number, or by the time at which they were taken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._answer import Answer
from torpca._report.encode import packed
from torpca._sources.base import Floats

# Steps in which a place among the times is packed.
STEPS = 2**32 - 1
# How far a time is from UTC, at its end.
AN_OFFSET = re.compile(r":\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)$")


@dataclass(frozen=True)
class Places:
    """Places (n,) of the rows along an axis; NaN for a row whose time is not known."""

    kind: str
    """"row" for their numbers, "time" for milliseconds since 1970, "number" for other times."""
    values: Floats
    unread: bool = False
    """Whether there are times that are neither dates nor numbers."""

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Rows that have a place, from the first to the last."""
        order = np.argsort(self.values, kind="stable")
        return order[: len(order) - int(np.count_nonzero(np.isnan(self.values)))]


def places_of(answer: Answer) -> Places:
    """Places of the rows by their times, if these can be read, else by their numbers."""
    numbers = answer.numbers.astype(np.float64)
    if answer.times_of_rows is None:
        return Places("row", numbers)
    times = np.asarray(answer.times_of_rows)
    for kind, read in (("time", as_dates), ("number", as_numbers)):
        values = read(times)
        if values is not None and np.count_nonzero(~np.isnan(values)) > 1:
            return Places(kind, values)
    return Places("row", numbers, unread=True)


def as_dates(times: npt.NDArray[Any]) -> Floats | None:
    """Milliseconds since 1970 (n,), NaN for none; None if these are no dates."""
    if times.dtype.kind != "M":
        texts = [str(time).strip() for time in times.tolist()]
        # Not a year alone: 1200 may be a second, a batch or a year.
        if any(text and "-" not in text[1:] for text in texts):
            return None
        try:
            times = np.array(in_one_zone(texts), "datetime64[ms]")
        except ValueError:
            return None
    dates = times.astype("datetime64[ms]")
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def in_one_zone(texts: list[str]) -> list[str]:
    """Times without their offset from UTC if all have the same, else in UTC; "NaT" for none."""
    if not any(AN_OFFSET.search(text) for text in texts):
        return [text or "NaT" for text in texts]
    times = [datetime.fromisoformat(text) if text else None for text in texts]
    times = [time and time.replace(tzinfo=time.tzinfo or UTC) for time in times]
    if len({time.utcoffset() for time in times if time}) > 1:
        times = [time and time.astimezone(UTC) for time in times]
    return [time.replace(tzinfo=None).isoformat() if time else "NaT" for time in times]


def as_numbers(times: npt.NDArray[Any]) -> Floats | None:
    """The times (n,) as numbers; None if some are not."""
    try:
        values = np.array([float(time) if str(time).strip() else np.nan for time in times.tolist()])
    except (TypeError, ValueError):
        return None
    return np.where(np.isfinite(values), values, np.nan)


def packed_places(places: Places, rows: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Places of these rows for the scripts; numbers of rows are there already."""
    if places.kind == "row":
        return {"kind": "row"}
    low, high = float(np.nanmin(places.values)), float(np.nanmax(places.values))
    there = places.values[rows]
    steps = np.rint((np.nan_to_num(there, nan=low) - low) * (STEPS / ((high - low) or 1.0)))
    return {
        "kind": places.kind,
        "low": low,
        "step": ((high - low) or 1.0) / STEPS,
        "values": packed(steps, "u4"),
        "without": np.flatnonzero(np.isnan(there)).tolist(),
    }
