"""Where good rows end: an adaptive cut-off on standardised distances, and the weights about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from torpca._robust.tuning import tuning
from torpca._sources.base import Array, Floats

# Cubed roots of squares are Gaussian only about: their tail may hold a fifth more.
ABOUT = 1.2
# So many rows beyond what is expected are no reason to doubt others.
FEW = 2


def cutoff(z: Floats, weights: Floats) -> float:
    """Standard deviations from which on rows have no weight, given those of rows, `z` (n,).

    As many of the farthest rows are dropped as the tail holds more than that of a Gaussian law, at
    the place where the excess is largest (Gervini and Yohai 2002). An excess that chance explains
    is none: clean rows keep all of their weight. Rows beyond `farthest` are dropped in any case,
    and are no reason to doubt the others.
    """
    t = tuning()
    there = (z < t.farthest) & (weights > 0)
    s, copies = np.unique(z[there], return_inverse=True)
    w = np.bincount(copies, weights[there], minlength=len(s))
    tail = int(np.searchsorted(s, t.tail))
    if tail == len(s):
        return t.farthest
    beyond = np.cumsum(w[::-1])[::-1][tail:]
    expected = float(np.sum(w)) * ndtr(-s[tail:])
    clear = beyond > ABOUT * expected + t.significance * np.sqrt(expected) + FEW
    if not clear.any():
        return t.farthest
    drop = float(np.max((beyond - expected)[clear]))
    # Rows that are equal go together, if more than half of them are to go.
    kept = int(np.count_nonzero(beyond - 0.5 * w[tail:] > drop))
    first = tail + min(kept, len(beyond) - 1)
    # Midway between the last row that is kept and the first that is dropped.
    middle = 0.5 * (s[max(first - 1, 0)] + s[first])
    return float(min(max(middle, t.tail), t.farthest))


def taper(z: Array, none: float, xp: Any = np) -> Array:
    """Weights: 1 up to a share of the cut-off `none`, 0 from there on, smooth in between.

    Smooth weights let the fit settle, and not on one of many sets of rows.
    """
    if not np.isfinite(none):
        return xp.ones_like(z)
    full = tuning().taper * none
    t = xp.clip((z - full) * (1 / (none - full)), 0.0, 1.0)
    s = 1 - t
    return s * s * (1 + 2 * t)


def of_largest(z: Floats, count: int) -> Floats:
    """One-sided standard deviations for the largest of `count` two-sided ones, `z` (n,)."""
    # Bonferroni; beyond 8 the two are the same for our purpose, and probabilities would be zero.
    p = np.minimum(2 * count * ndtr(-np.minimum(z, 8.0)), 1.0)
    return np.where(z < 8.0, -ndtri(p), z)


def cutoff_of_largest(z: Floats, weights: Floats, count: int) -> float:
    """`cutoff` for the largest of `count` two-sided standard deviations, in their own unit."""
    one_sided = cutoff(of_largest(z, count), weights)
    return float(-ndtri(ndtr(-one_sided) / (2 * count)))


def nearest(R: Floats, trim: float, sample_weight: Floats) -> Floats:
    """Whole weight for the nearest rows that make up 1 - trim, the last of them in part."""
    order = np.argsort(np.where(sample_weight > 0, R, np.inf), kind="stable")
    counts = sample_weight[order]
    before = np.cumsum(counts) - counts
    wanted = (1.0 - trim) * float(np.sum(counts)) * (1 + 1e-12)
    w = np.zeros(len(R))
    w[order] = np.clip((wanted - before) / np.where(counts > 0, counts, 1.0), 0.0, 1.0)
    return np.where(sample_weight > 0, w, 0.0)
