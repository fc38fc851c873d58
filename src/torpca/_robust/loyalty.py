"""Rows that are near the subspace one by one, and tilt it together."""

from __future__ import annotations

import numpy as np

from torpca._robust.lines import EQUAL, SETTLED, describe_lines, reweighted, taper
from torpca._sources.base import Floats

# Directions beyond the subspace that are watched, and the standard deviations along one of them
# at which a row begins to lose its weight and has lost it: of Gaussian rows hardly one.
WATCHED = 3
FULL, NONE = 4.0, 6.0


def blame(leverage: Floats, keep: Floats, dimensions: int) -> Floats:
    """How far beyond noise a row leaves the subspace because of the subspace's own error, (n,).

    The subspace is off by chance in as many directions as it has, by an angle whose square is
    (dimensions) sigma^2 / s^2; a row that had no part in it shows that in full, and rows far out
    most: sqrt(1 + dimensions * leverage) times the noise. On few, long rows that is a lot.
    """
    return np.sqrt(1.0 + (1.0 - keep) * dimensions * np.minimum(leverage, 1e100))


def loyalty(P: Floats, sample: Floats, weights: Floats, settled: float = SETTLED) -> Floats:
    """Weights (n,) of rows by how far out they are along directions beyond the subspace.

    Bad rows whose residuals are no longer than those of good ones can tilt the subspace all the
    same if they all point one way. Then that way is among the first directions beyond the
    subspace: TORP-G fits one direction more for this reason. Along it most rows are near zero.

    Parameters
    ----------
    P : ndarray of shape (n, q)
        Projections of the rows.
    sample : ndarray of shape (m, q)
        Projections of the rows by which the spread of most of them is judged.
    weights : ndarray of shape (m,)
        Their weights; those of weight zero do not count.
    settled : float
        How closely the spread is found, as a share of it.
    """
    w = np.ones(len(P))
    counts = weights > 0
    if P.shape[1] == 0 or not counts.any():
        return w
    S, u = sample[counts], weights[counts]
    lines = describe_lines(S, u)
    size = np.max(np.abs(S), axis=0)
    for j in np.flatnonzero(lines.inner > EQUAL * size):
        center, scale = reweighted(
            S[:, j], u, float(lines.location[j]), float(lines.inner[j]), settled
        )
        # Many rows on one point in the midst of the others are no reason to drop the others.
        scale = max(scale, float(lines.side[j]))
        w = np.minimum(w, taper(np.abs(P[:, j] - center) / scale, FULL, NONE))
    return w
