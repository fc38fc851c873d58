"""When rows were measured, as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[Any]
"""Dates (datetime64), or numbers and times of day as text, (n,); NaT and "" where there is none."""


def shown_times(times: Times) -> npt.NDArray[np.str_]:
    """Times as text, "" where there is none.

    Examples
    --------
    >>> shown_times(np.array(["2024-05-31", "NaT"], dtype="M8[D]")).tolist()
    ['2024-05-31', '']
    """
    if times.dtype.kind != "M":
        return times.astype(np.str_)
    text: npt.NDArray[np.str_] = np.where(np.isnat(times), "", np.datetime_as_string(times))
    return text


def span_of_times(first: Any, last: Any) -> str:
    """From one time to another, without the date if it is the same, nor seconds if they are zero.

    Examples
    --------
    >>> span_of_times(np.datetime64("2024-05-31T02:00:00"), np.datetime64("2024-05-31T02:59:00"))
    '2024-05-31 02:00 to 02:59'
    >>> span_of_times("7.5", "9")
    '7.5 to 9'
    """
    begin, end = (one_time(time) for time in (first, last))
    if begin == end:
        return begin
    date, _, clock = end.partition(" ")
    return f"{begin} to {clock if clock and begin.startswith(f'{date} ') else end}"


def one_time(time: Any) -> str:
    """A time as people write it: "2024-05-31 02:00"."""
    if not isinstance(time, np.datetime64):
        return str(time)
    text = str(shown_times(np.array([time]))[0]).replace("T", " ")
    text = text.rstrip("0").removesuffix(".") if "." in text else text
    return text[:-3] if text.count(":") == 2 and text.endswith(":00") else text
