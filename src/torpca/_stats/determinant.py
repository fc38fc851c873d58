"""The half of the rows whose covariance has the smallest determinant (MCD: Rousseeuw 1985)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from torpca._sources.base import Floats
from torpca._stats.lines import weights_of_nearest

MAX_STEPS = 50
# A standard deviation this small, in some direction, is none.
NONE = 1e-6


def least_determinant(Y: Floats, weights: Floats, start: Floats) -> tuple[Floats, float]:
    """Weights (m,) of the half of the rows Y (m, p) nearest to its mean; its log-determinant.

    Concentration steps from the rows of weights `start` (m,), as in FAST-MCD (Rousseeuw and Van
    Driessen 1999): the determinant becomes smaller with each. The rows are in units in which most
    of them have variance one. The logarithm is -inf for a half in which a direction is constant.
    """
    half = start
    for _ in range(MAX_STEPS):
        D, size = distances_by(Y, half)
        if size == -np.inf:
            break
        now = weights_of_nearest(D, weights)
        if np.array_equal(now, half):
            break
        half = now
    return half, size


def distances_by(Y: Floats, weights: Floats) -> tuple[Floats, float]:
    """Mahalanobis distances (m,) by rows of these weights, and the log-determinant behind them."""
    w = weights / np.sum(weights)
    C = Y - w @ Y
    L = np.asarray(np.linalg.qr(C * np.sqrt(w)[:, None], mode="r")).T
    deviations = np.abs(np.diag(L))
    if np.min(deviations) < NONE:
        return np.zeros(len(Y)), -np.inf
    D: Floats = np.linalg.norm(solve_triangular(L, C.T, lower=True), axis=0)
    return D, 2 * float(np.sum(np.log(deviations)))
