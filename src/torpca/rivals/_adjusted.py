"""Outlyingness and cut-offs of skewed numbers: those of the boxplot adjusted by the medcouple."""

from __future__ import annotations

import numpy as np

from torpca._sources.base import Floats
from torpca.rivals._medcouple import medcouple


def fences(x: Floats) -> tuple[float, float]:
    """Numbers between which almost all of x (n,) are expected, be it skewed.

    Q1 - 1.5 e^(-4 M) IQR and Q3 + 1.5 e^(3 M) IQR, M the medcouple; those of -x if M < 0 (Hubert
    and Vandervieren 2008, section 3).
    """
    lower, upper = np.quantile(x, [0.25, 0.75])
    reach = 1.5 * (upper - lower)
    skewness = medcouple(x)
    left, right = (-4.0, 3.0) if skewness >= 0 else (-3.0, 4.0)
    return lower - reach * np.exp(left * skewness), upper + reach * np.exp(right * skewness)


def adjusted_limit(distances: Floats) -> float:
    """Limit of the `distances` (n,) of good rows: the largest one inside the upper fence."""
    finite = distances[np.isfinite(distances)]
    if len(finite) == 0:
        return np.inf
    return float(np.max(finite[finite <= fences(finite)[1]]))


def adjusted_outlyingness(Z: Floats, D: Floats, slack: Floats) -> Floats:
    """Largest adjusted outlyingness of each row of Z (n, q) along the rows v of D (m, q), (n,).

    |z'v - median| over the distance from the median to the last number inside the fence on the same
    side. What differs by less than `slack` (n,) is equal.
    """
    largest = np.zeros(len(Z))
    for v in D:
        p = Z @ v
        p -= np.median(p)
        p[np.abs(p) <= slack] = 0.0  # else the medcouple is one of rounding
        low, high = fences(p)
        for side, fence in ((p, high), (-p, -low)):
            out = side > 0
            whisker = np.max(side[out & (side <= fence)], initial=0.0)
            here = side[out] / whisker if whisker > 0 else np.inf
            largest[out] = np.maximum(largest[out], here)
    return largest
