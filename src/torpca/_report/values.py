"""The part of the page on the values of one row, beside what is usual."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._answer import Answer
from torpca._bands import is_profile
from torpca._report.encode import packed, short, text
from torpca._report.rows import Drawn
from torpca._sources.base import Floats
from torpca._words import counted, whole

# From so many features on a row is drawn as a curve whatever the features are called.
MANY = 60
LINK = '<a href="#values">Values</a>'


def values_payload(answer: Answer, drawn: Drawn, most: int) -> dict[str, Any] | None:
    """Values of the rows that are drawn, as far as `most` numbers go, and the usual ranges."""
    usual = answer.usual
    if usual is None:
        return None
    p = len(usual.columns)
    # The same rows in the same order, or the values would be those of others.
    m = min(len(usual.rows), len(drawn.rows), max(1, most // p))
    same = np.flatnonzero(usual.rows[:m] != drawn.rows[:m])
    m = int(same[0]) if len(same) else m
    return {
        "rows": m,
        "names": [short(answer.names[j]) for j in usual.columns],
        "low": packed(usual.low, "f8"),
        "middle": packed(usual.middle, "f8"),
        "high": packed(usual.high, "f8"),
        "unit": packed(units(usual.low, usual.middle, usual.high), "f8"),
        "values": packed(usual.values[:m], "f8"),  # as they are in the table: 0 is 0
        "curve": is_curve([answer.names[j] for j in usual.columns]),
    }


def units(low: Floats, middle: Floats, high: Floats) -> Floats:
    """Units (p,) of how far out a value is: the usual range or, of a constant, its size."""
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
    size = np.where(np.abs(middle) > 0, np.abs(middle), 1.0)
    return np.where(np.isfinite(width) & (width > 0), width, np.nan_to_num(size, nan=1.0))


def is_curve(names: list[str]) -> bool:
    """Whether features are points of a curve: called by numbers in order, or very many."""
    return len(names) >= MANY or is_profile(names)


def values_section(answer: Answer) -> str:
    """The section; empty if no values are known."""
    usual = answer.usual
    if usual is None:
        return ""
    usually = (
        f"between the 1st and the 99th percentile of {whole(usual.n_good)} good rows"
        if usual.n_good
        else "where 98% of the good rows of the fit lie, if they are Gaussian"
    )
    some = (
        ""
        if len(usual.columns) == len(answer.names)
        else f" Of {counted(len(answer.names), 'feature')}, {whole(len(usual.columns))} at equal "
        "steps are shown."
    )
    return (
        '<section id="values" aria-labelledby="values-title">'
        '<h2 id="values-title">Values of this row</h2>'
        f"<p>In the units of the table. Usual is {text(usually)}.{some} "
        '<span class="screen">Select another row in a picture or in the table.</span></p>'
        '<div id="values-body" aria-live="off"></div></section>'
    )
