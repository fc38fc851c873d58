"""Numbers that stand for a value that is missing, as far as one can tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torpca._sources.base import Floats

# What people and programs write for a missing value.
USUAL = frozenset(
    sign * value
    for value in (9.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0, 999.25, 9999.25, 1e20, 1e30, 1e36)
    for sign in (1.0, -1.0)
) | {0.0, -1.0, 999.9, -999.9, 32767.0, -32768.0}
# It is there so often, and the others are so many of their standard deviations away.
OFTEN, AWAY = 2, 10.0


class Sentinel(NamedTuple):
    """A number that may stand for a missing value."""

    feature: int
    value: float
    times: int


def sentinels(X: Floats) -> list[Sentinel]:
    """Such numbers among rows X (m, d), NaN where a value is missing in any case.

    A usual one that is the largest or smallest of its column, more than once, and far from all
    others of it.

    Examples
    --------
    >>> sentinels(np.array([[5.1, 1.0], [5.2, 2.0], [-999.0, 3.0], [5.0, 4.0], [-999.0, 5.0]]))
    [Sentinel(feature=0, value=-999.0, times=2)]
    """
    found: list[Sentinel] = []
    if len(X) == 0:
        return found
    # NaN in a column makes both NaN: then it is looked at by itself.
    with np.errstate(invalid="ignore"):
        ends = np.stack([np.min(X, axis=0), np.max(X, axis=0)])
    usual = np.isin(ends, list(USUAL)) | np.isnan(ends)
    for j in np.flatnonzero(usual.any(axis=0)):
        column = X[~np.isnan(X[:, j]), j]
        if len(column) == 0:
            continue
        for value in {float(np.min(column)), float(np.max(column))}:
            others = column[column != value]
            count = len(column) - len(others)
            if value not in USUAL or count < OFTEN or 2 * count >= len(column):
                continue
            middle = float(np.median(others))
            spread = 1.4826 * float(np.median(np.abs(others - middle)))
            nearest = float(np.min(np.abs(others - value)))
            if spread > 0 and nearest > AWAY * spread:
                found.append(Sentinel(int(j), value, count))
    return found
