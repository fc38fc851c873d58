"""How far from the subspace, and how far out inside it, good rows may be."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri, fdtri

from torpca._sources.base import Floats

# Share of Gaussian good rows beyond a limit, half of it for each of the two distances.
LEVEL = 0.01


# Limits lie this much beyond the row that sets them, so that measuring it again, in another block
# of rows, cannot put it on the other side.
SLACK = 1.0 + 1e-9


def score_limit(distances: Floats, weights: Floats, k: int, level: float = LEVEL / 2) -> float:
    """Limit on score distances, from those of the good rows with their weights.

    Squares are chi-squared with k degrees of freedom, or, as the covariance comes from rows that
    are not endless in number, a multiple of F: the law of a new row (Hotelling).
    """
    n = float(np.sum(weights))
    if k == 0:
        return 0.0
    squared = float(chdtri(k, level))
    if n > k + 1:
        squared = k * (n**2 - 1) / (n * (n - k)) * float(fdtri(k, n - k, 1 - level))
    return min(float(np.sqrt(squared)), exceeded_by(distances, weights, level))


def orthogonal_limit(R: Floats, weights: Floats, level: float = LEVEL / 2) -> float:
    """Limit on orthogonal distances, from those of the good rows with their weights.

    Squares of residuals are sums of squares of noise of several sizes: about a multiple of a
    chi-squared number whose degrees of freedom follow from their mean and variance (Box 1954).
    """
    inside = weights > 0
    unit = float(np.max(R[inside], initial=0.0))
    if unit == 0.0:
        return 0.0
    w, squares = weights[inside], np.square(R[inside] / unit)
    mean = np.sum(w * squares) / np.sum(w)
    variance = np.sum(w * np.square(squares - mean)) / np.sum(w)
    if variance <= 1e-20 * mean**2:  # all of them equal
        return unit
    freedom = 2 * mean**2 / variance
    limit = unit * float(np.sqrt(mean / freedom * chdtri(freedom, level)))
    return min(limit, exceeded_by(R, weights, level))


def exceeded_by(distances: Floats, weights: Floats, level: float) -> float:
    """Distance that no less than the share `level` of the good rows exceeds.

    Rows with light tails never reach a limit made for Gaussian ones. Infinite when the share is
    less than one row.
    """
    good = weights > 0
    order = np.argsort(-distances[good], kind="stable")
    beyond = np.cumsum(weights[good][order])
    allowed = np.floor(level * float(np.sum(weights)) * (1 + 1e-9))
    if allowed < 1:
        return np.inf
    return SLACK * float(distances[good][order][np.searchsorted(beyond, allowed, side="right")])
