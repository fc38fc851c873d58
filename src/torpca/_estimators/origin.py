"""A point to count from, where the rows are far from zero beside their spread."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torpca._sources import RowSource
from torpca._sources.base import Floats

# Rows looked at, and numbers in them at most.
ROWS, NUMBERS = 200, 2**18
# Rows are far from zero if they are so many times their spread away, in double precision and in
# single: rounding of one feature would be taken for a spread of all others.
FAR = {8: 1e9, 4: 1e5}


def far_origin(source: RowSource, weights: Floats) -> Floats | None:
    """Point (d,) among the rows of weight, if they are far from zero beside their spread.

    An identity number, a time in nanoseconds or a constant among the features is far from zero. The
    difference of two such numbers is exact, the sum of their squares is not: so rows are to be
    counted from a point in their midst before anything else is done. The first rows tell whether
    there is a reason to look, and rows from everywhere what the point is.
    """
    d = source.shape[1]
    there = np.flatnonzero(weights > 0)
    count = min(len(there), max(ROWS // 20, min(ROWS, NUMBERS // d)))
    spaced = np.linspace(0, len(there) - 1, count).astype(np.intp)
    origin = None
    for rows in (there[:count], there[spaced]):
        origin = _middle_if_far(source.take(rows), FAR[source.dtype.itemsize])
        if origin is None:
            return None
    return origin


def _middle_if_far(X: npt.NDArray[np.float64], far: float) -> Floats | None:
    """The middle number of each feature of X (m, d), if that is far from zero."""
    whole = np.all(np.isfinite(X), axis=1)
    if not np.all(whole):
        X = _with_middles(X[~np.any(np.isinf(X), axis=1)])
    if len(X) < 2:
        return None
    # One of the numbers, not a mean of two: differences from it are exact.
    origin: Floats = np.sort(X, axis=0)[len(X) // 2]
    size = float(np.max(np.abs(origin)))
    if size == 0.0:
        return None
    with np.errstate(over="ignore"):  # a number beyond every float is far enough away
        away = np.max(np.abs(X / size - origin / size), axis=1)
    spread = np.median(away)
    if spread == 0.0:
        spread = np.min(away[away > 0], initial=np.inf)
    return origin if far * spread < 1.0 else None


def _with_middles(X: npt.NDArray[np.float64]) -> Floats:
    """X (m, d) with the middle number of each feature in place of NaN; zero if there is none."""
    if len(X) == 0:
        return X
    missing = np.isnan(X)
    count = len(X) - np.count_nonzero(missing, axis=0)
    # NaN comes last.
    middle = np.take_along_axis(np.sort(X, axis=0), (count // 2)[None], axis=0)
    return np.where(missing, np.where(count > 0, middle, 0.0), X)
