"""Numbers that stand for a value that is missing, as far as one can tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torpca._sources.base import Floats

# What people and programs write for a missing value and for nothing else, in single precision too.
PLAIN = frozenset(
    float(kind(sign * value))
    for value in (999.0, 9999.0, 99999.0, 999999.0, 999.25, 9999.25, 999.9, 1e20, 1e30, 1e36)
    for sign in (1.0, -1.0)
    for kind in (np.float64, np.float32)
) | {32767.0, -32768.0}
# What they also write for other things.
USUAL = PLAIN | {9.0, -9.0, 99.0, -99.0, 0.0, -1.0}
# Other numbers are so many of their standard deviations away, from a plain one fewer.
AWAY, AWAY_PLAIN = 10.0, 5.0
# Once is enough for a plain one beside so many others, if it is farther from them than they are
# from one another. Numbers that are not plain must be there more often.
OFTEN, BESIDE = 2, 20


class Sentinel(NamedTuple):
    """A number that may stand for a missing value."""

    feature: int
    value: float
    times: int


def sentinels(X: Floats) -> list[Sentinel]:
    """Such numbers among rows X (m, d), NaN where a value is missing in any case.

    A usual one that is the largest or smallest of its column, and far from all others of it.

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
        for value in {float(np.min(column)), float(np.max(column))} & USUAL:
            others = column[column != value]
            count = len(column) - len(others)
            if 2 * count < len(column) and stands_out(value, count, others):
                found.append(Sentinel(int(j), value, count))
    return found


def stands_out(value: float, count: int, others: Floats) -> bool:
    """Whether a usual number, there `count` times, is far enough from the `others` (m,)."""
    nearest = float(np.min(np.abs(others - value)))
    middle = float(np.median(others))
    spread = 1.4826 * float(np.median(np.abs(others - middle)))
    if value not in PLAIN:
        return count >= OFTEN and nearest > AWAY * spread > 0
    if count >= OFTEN and nearest > AWAY_PLAIN * spread > 0:
        return True
    ordinary = others[~np.isin(others, list(PLAIN))]
    if len(ordinary) < BESIDE:
        return False
    width = float(np.ptp(ordinary))
    tails = 1.0 if width < AWAY * spread else AWAY  # long ones reach far
    return nearest > max(tails * width, AWAY_PLAIN * spread) and width > 0
