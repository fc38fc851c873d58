"""Rows whose variances fall without a gap: weighed by their distance in all directions.

A group of bad rows can have one of the k directions at a small price in residuals if there is no
gap behind them, and no rule that looks at residuals alone minds. Such rows are a cloud, not a
subspace. What tells bad rows there is the distance from the half of the rows whose covariance has
the smallest determinant (MCD: Rousseeuw 1985), and the subspace is that of the rows near it (Croux
and Haesbroeck 2000). The weights do not depend on the subspace, so no iteration can undo them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from torpca._robust.concentrate import ROUGHLY, Candidate
from torpca._sample.draw import Sample
from torpca._sample.fit import sample_part
from torpca._sources.base import Floats
from torpca._stats.cutoffs import cutoff, taper
from torpca._stats.lines import weights_of_nearest
from torpca._stats.spread import Spread
from torpca._tuning import tuning

# Share of the variance of most rows that is added in each direction: half of the rows may be equal
# in a feature, and no determinant is zero (MRCD: Boudt, Rousseeuw, Vanduffel and Verdonck 2020).
RIDGE = 0.01
MAX_STEPS = 50
REWEIGHTINGS = 3


def within_ellipsoid(
    sample: Sample, found: Sequence[Candidate], best: Candidate
) -> tuple[Floats, float] | None:
    """Weights (m,) of the rows of the sample by their distance in all directions, and its cut-off.

    None if there are too few rows for each direction, or none is far out.
    """
    weights, d = sample.weights, sample.n_features
    if len(sample.Z) < tuning().rows_per_dimension * d:
        return None
    Y, of_all = (sample_part(sample, w).sphered(d) for w in (best.keep, weights))
    if Y.shape[1] < of_all.shape[1]:  # others leave the directions of the best candidate's rows
        return None
    halves = [tightest_half(Y, weights, c.keep) for c in found]
    now = min(halves, key=lambda half: half[1])[0]
    for _ in range(REWEIGHTINGS):
        D = distances(Y, now)[0]
        z = Spread.of(D, weights, ROUGHLY).z(D)
        beyond = cutoff(z, weights)
        now = weights * taper(z, beyond)
    if np.array_equal(now, weights) or 2 * float(np.sum(now)) < float(np.sum(weights)):
        return None
    return now, beyond


def tightest_half(Y: Floats, weights: Floats, start: Floats) -> tuple[Floats, float]:
    """Weights (m,) of a half that is nearest to its own mean, and its log-determinant.

    Concentration steps from the rows of weights `start` (m,), as in FAST-MCD (Rousseeuw and Van
    Driessen 1999): the determinant becomes smaller with each.
    """
    half = start
    for _ in range(MAX_STEPS):
        D, size = distances(Y, half)
        now = weights_of_nearest(D, weights)
        if np.array_equal(now, half):
            break
        half = now
    return half, size


def distances(Y: Floats, weights: Floats) -> tuple[Floats, float]:
    """Mahalanobis distances (m,) by rows of these weights, and the log-determinant behind them."""
    w = weights / np.sum(weights)
    C = Y - w @ Y
    L = np.linalg.cholesky((C * w[:, None]).T @ C + RIDGE * np.eye(Y.shape[1]))
    D: Floats = np.linalg.norm(solve_triangular(L, C.T, lower=True), axis=0)
    return D, 2 * float(np.sum(np.log(np.diag(L))))
