"""A centre of the rows that bad rows cannot drag away."""

from __future__ import annotations

import numpy as np

from torpca._sources.base import Floats

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
    if not isinstance(center, bool | np.bool_):
        raise TypeError(f"center={center!r} must be True or False. Give one of these.")
    if not center:
        return X, None
    mean = spatial_median(X)
    return X - mean, mean
