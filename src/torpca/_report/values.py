"""The part of the page on the values of the row that is looked at, beside what is usual."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from torpca._answer import Answer
from torpca._report.encode import packed, short, text
from torpca._report.rows import Drawn
from torpca._sources.base import Floats
from torpca._words import counted, whole

# From so many features on a row is drawn as a curve whatever the features are called.
MANY = 60
# A curve needs points.
FEWEST = 8
A_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?")
# Values farther out than this many times the usual range are drawn at its end.
LARGEST = 1e6

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
    middle = np.nan_to_num(usual.middle)
    unit = units(usual.low, usual.middle, usual.high)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.clip((usual.values[:m] - middle) / unit, -LARGEST, LARGEST)
    return {
        "rows": m,
        "names": [short(answer.names[j]) for j in usual.columns],
        "all": p == len(answer.names),
        "low": packed(usual.low, "f8"),
        "middle": packed(usual.middle, "f8"),
        "high": packed(usual.high, "f8"),
        "unit": packed(unit, "f8"),
        "steps": packed(steps, "f4"),
        "curve": is_profile([answer.names[j] for j in usual.columns]),
    }


def units(low: Floats, middle: Floats, high: Floats) -> Floats:
    """Units (p,) in which values are packed: the usual range or, of a constant, its size."""
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
    size = np.where(np.abs(middle) > 0, np.abs(middle), 1.0)
    return np.where(np.isfinite(width) & (width > 0), width, np.nan_to_num(size, nan=1.0))


def is_profile(names: list[str]) -> bool:
    """Whether features are points of a curve: called by numbers in order, or very many."""
    if len(names) >= MANY:
        return True
    found = [A_NUMBER.search(name) for name in names]
    if len(names) < FEWEST or not all(found):
        return False
    # x0, x1, ... are only counted; units such as 1100 nm are on a scale.
    bare = [
        name[: match.start()].strip() for name, match in zip(names, found, strict=True) if match
    ]
    numbers = [float(match[0].replace(",", ".")) for match in found if match]
    steps = np.diff(numbers)
    return not any(bare) and bool(np.all(steps > 0) or np.all(steps < 0))


def values_section(answer: Answer) -> str:
    """The section; empty if no values are known."""
    usual = answer.usual
    if usual is None:
        return ""
    whose = "the rows of this table that are within the limits" if answer.new else "the good rows"
    some = (
        ""
        if len(usual.columns) == len(answer.names)
        else f" Of {counted(len(answer.names), 'feature')}, {whole(len(usual.columns))} at equal "
        "steps are shown."
    )
    return (
        '<section id="values" aria-labelledby="values-title">'
        '<h2 id="values-title">Values of the row that is looked at</h2>'
        f"<p>In the units of the table. Usual is what lies between the 1st and the 99th percentile "
        f"of {text(whose)} ({whole(usual.n_good)} looked at).{some} Select another row in a "
        "picture or in the table.</p>"
        '<div id="values-body" aria-live="off"></div></section>'
    )
