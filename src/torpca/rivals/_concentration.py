"""Concentration steps: rows whose covariance has a small determinant, from some rows on."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from torpca._sources.base import Floats, Mask
from torpca.rivals._principal import smallest

# Share of the largest spread that is rounding.
ROUNDING = 1e-12
MAX_STEPS = 100
# Variances are at least the square of this.
TINY = 1e-100


def concentrate(T: Floats, keep: Mask, h: int, floor: float, center: bool) -> tuple[Mask, float]:
    """Mask of `h` rows of T (n, k) and the log determinant of their covariance.

    From the rows `keep` on, the `h` rows nearest to the ones before, as their covariance measures
    it, until its determinant falls no more (Rousseeuw and Van Driessen 1999, theorem 1).
    """
    keep = smallest(distances_from(T, keep, floor, center)[1], h)
    before = np.inf
    for _ in range(MAX_STEPS):
        _, squares, log_det = distances_from(T, keep, floor, center)
        now = smallest(squares, h)
        if np.array_equal(now, keep) or not log_det < before:
            break
        keep, before = now, log_det
    return keep, log_det


def distances_from(
    T: Floats, keep: Mask, floor: float, center: bool
) -> tuple[Floats, Floats, float]:
    """Mean (k,) of the kept rows of T, squared distances (n,) in their covariance, its log det."""
    mean = np.mean(T[keep], axis=0) if center else np.zeros(T.shape[1])
    C = T - mean
    values, E = np.linalg.eigh(C[keep].T @ C[keep] / np.count_nonzero(keep))
    # Where the kept rows do not spread at all the others are far, but not infinitely.
    least = max(ROUNDING * np.sqrt(max(values[-1], 0.0)), floor, TINY)
    values = np.maximum(values, least**2)
    squares: Floats = np.sum((C @ E) ** 2 / values, axis=1)
    return mean, squares, float(np.sum(np.log(values)))


def trimming(share: float, k: int) -> float:
    """Variance of Gaussian rows in k dimensions over that of the central `share` of them."""
    if share >= 1.0:
        return 1.0
    return share / float(chi2.cdf(chi2.ppf(share, k), k + 2))
