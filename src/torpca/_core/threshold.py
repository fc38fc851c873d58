"""The paper's hard-thresholding operators."""

from __future__ import annotations

import math

import numpy as np

from torpca._sources.base import Floats, Mask


def fraction_count(rho: float, n: int) -> int:
    """Number of rows that make up a fraction `rho` of `n`: ceil(rho n).

    A few units of rounding are forgiven, so that rho = m/n means m rows whatever the division
    rounded to.
    """
    return math.ceil(rho * n * (1 - 1e-12))


def largest(values: Floats, count: int) -> Mask:
    """Mask of the `count` largest values; of equal ones, those with the lowest row number.

    HT_rho of the paper (Section 1.2) with count = ceil(rho n). The paper leaves ties open; a
    fixed rule makes results reproducible.
    """
    n = len(values)
    if count <= 0:
        return np.zeros(n, dtype=bool)
    if count >= n:
        return np.ones(n, dtype=bool)
    edge = least_of_largest(values, count)
    mask = values > edge
    ties = np.flatnonzero(values == edge)
    mask[ties[: count - np.count_nonzero(mask)]] = True
    return mask


def least_of_largest(values: Floats, count: int, hint: float = -np.inf) -> float:
    """Return the `count`-th largest value; a `hint` a little below it saves time."""
    some = values if hint == -np.inf else values[values >= hint]
    if len(some) < count:
        some = values
    # Selection, not sorting: O(n).
    return float(np.partition(some, len(some) - count)[len(some) - count])
