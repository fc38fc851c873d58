"""A centre of the rows that bad rows, or bad entries, cannot drag away."""

from __future__ import annotations

import numpy as np

from torpca._core.problem import check_center
from torpca._sources.base import Floats, Mask

# The median stands when it moves by less than this share of the middle distance from it: chance
# moves it by one part in the root of the number of rows.
SETTLED, MAX_STEPS = 1e-7, 200


def spatial_median(X: Floats) -> Floats:
    """Point (d,) with the least sum of distances to the rows of X (n, d).

    Weiszfeld's iteration; a row it lands on pulls with a force of at most one (Vardi and Zhang
    2000).
    """
    center = np.median(X, axis=0)
    for _ in range(MAX_STEPS):
        C = X - center
        away = np.linalg.norm(C, axis=1)
        off = away > 0
        if not off.any():
            break
        w = 1.0 / away[off]
        step = (w @ C[off]) / np.sum(w)
        here = np.count_nonzero(~off)
        if here:
            pull = np.linalg.norm(w @ C[off])
            step = step * max(0.0, 1.0 - here / pull) if pull > 0 else 0.0 * step
        center = center + step
        if np.linalg.norm(step) <= SETTLED * np.median(away):
            break
    return center


def about_median(X: Floats, center: bool) -> tuple[Floats, Floats | None]:
    """Rows of X (n, d) about their spatial median, and the median; X and None without centring."""
    if not check_center(center):
        return X, None
    mean = spatial_median(X)
    return X - mean, mean


def about_column_medians(
    X: Floats, center: bool, seen: Mask | None = None
) -> tuple[Floats, Floats | None]:
    """Rows of X (n, d) about the median of each column, and the medians; X and None uncentred.

    Only entries that are `seen` (n, d) count, all if it is left out; the others are zero before and
    after. Not the spatial median: every row may have bad entries, or lack some.
    """
    if not check_center(center):
        return X, None
    if seen is None:
        mean = np.median(X, axis=0)
        return X - mean, mean
    mean = np.nanmedian(np.where(seen, X, np.nan), axis=0)
    return np.where(seen, X - mean, 0.0), mean
