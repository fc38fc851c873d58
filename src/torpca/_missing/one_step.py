"""Location, scale and slope of many lists of numbers at once, by one step from medians.

Lists are rows of an array (m, n), and NaN is a number that is not there. Where weights (n,) are
given, they say how often the numbers of each place count: by default once. Rousseeuw and Van den
Bossche (2018), section 3.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.stats import chi2, norm

from torpca._missing.tuning import BOUND, NO_WEIGHT, ROUNDING
from torpca._sources.base import Floats


def there(P: Floats) -> Floats:
    """P, zero where nothing is there."""
    return np.where(np.isnan(P), 0.0, P)


def times(P: Floats, weights: Floats | None) -> Floats:
    """P (..., n) times weights (n,), if there are any."""
    return P if weights is None else P * weights


def medians(P: Floats, weights: Floats | None = None) -> Floats:
    """Median of each row of P (m, n), (m,); zero where nothing is there.

    Examples
    --------
    >>> medians(np.array([[1.0, 2.0, 4.0], [np.nan, 3.0, 4.0]]), np.array([1.0, 1.0, 3.0]))
    array([4., 4.])
    """
    if weights is None or np.all(weights == weights[0]):  # several times as fast
        S = np.sort(P, axis=1)  # NaN comes last
        count = np.count_nonzero(~np.isnan(S), axis=1)
        low, high = np.maximum(count - 1, 0) // 2, count // 2
    else:
        order = np.argsort(P, axis=1, kind="stable")
        S = np.take_along_axis(P, order, axis=1)
        mass = np.cumsum(np.where(np.isnan(S), 0.0, weights[order]), axis=1)
        # The first numbers that have half of the weight behind them, and more than half.
        half = 0.5 * mass[:, -1:] * np.array([1 - 1e-12, 1 + 1e-12])
        low, high = (np.count_nonzero(mass < at[:, None], axis=1) for at in half.T)
    lines, most = np.arange(len(S)), S.shape[1] - 1
    first, second = (S[lines, np.minimum(at, most)] for at in (low, high))
    middle = np.where(np.isnan(second), first, first / 2 + second / 2)
    return np.where(np.isnan(middle), 0.0, middle)


def one_step_locations(P: Floats, weights: Floats | None = None) -> Floats:
    """Location (m,) of each row of P (m, n): mean with Tukey's biweights about the median."""
    middle = medians(P, weights)
    with np.errstate(over="ignore"):
        away = P - middle[:, None]
    reach = NO_WEIGHT * medians(np.abs(away), weights)
    # Numbers farther out have no weight, and squares of what is brought here do not overflow.
    away = there(np.clip(away, -reach[:, None], reach[:, None]))
    share = away / np.where(reach > 0, reach, 1.0)[:, None]
    w = times(np.where(np.isnan(P), 0.0, (1.0 - share**2) ** 2), weights)
    total = np.sum(w, axis=1)
    return middle + np.vecdot(w, away) / np.where(total > 0, total, 1.0)


def one_step_scales(P: Floats, weights: Floats | None = None) -> Floats:
    """Scale (m,) about zero of each row of P (m, n): root mean of squares, large ones bounded.

    Consistent for Gaussian numbers. Zero where at least half of the numbers are.
    """
    size = np.abs(P)
    mad = medians(size, weights)
    with np.errstate(over="ignore"):
        bounded = np.minimum(size / np.where(mad > 0, mad, 1.0)[:, None], BOUND)
    known = ~np.isnan(bounded)
    count = np.count_nonzero(known, axis=1) if weights is None else known @ weights
    bounded = there(bounded)
    squares = np.vecdot(times(bounded, weights), bounded)
    return mad * np.sqrt(squares / (np.where(count > 0, count, 1) * _bounded_square()))


def robust_slopes(y: Floats, A: Floats, cut: float, weights: Floats | None = None) -> Floats:
    """Slope (m,) through zero of y, (n,) or (m, n), on each row of A (m, n).

    Least squares over the points whose distance from the line with the median ratio as its slope
    is at most `cut` times the scale of these distances.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first = medians(y / np.where(A == 0, np.nan, A), weights)
    away = y - first[:, None] * A
    limit = cut * one_step_scales(away, weights) + ROUNDING
    near = np.abs(away) <= limit[:, None]
    B = np.where(near, A, 0.0)
    weighted = times(B, weights)
    squares, products = np.vecdot(weighted, B), np.vecdot(weighted, there(y))
    return np.where(squares > 0, products / np.where(squares > 0, squares, 1.0), first)


@lru_cache(maxsize=1)
def _bounded_square() -> float:
    """Mean of min(z^2, b^2) for Gaussian z, where b is BOUND in standard deviations."""
    b2 = (BOUND * norm.ppf(0.75)) ** 2
    return float(chi2.cdf(b2, 3) + b2 * chi2.sf(b2, 1))
