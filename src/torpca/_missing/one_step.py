"""Location, scale and slope of many lists of numbers at once, by one step from medians.

Lists are rows of an array (m, n), and NaN is a number that is not there. Where weights (n,) are
given, they say how often the numbers of each place count: by default once. Rousseeuw and Van den
Bossche (2018), section 3.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, norm

from torpca._sources.base import Floats

# In median absolute deviations: numbers farther out have no weight in a location, and count no more
# in a scale.
NO_WEIGHT, BOUND = 3.0, 2.5
# Mean of min(z^2, b^2) for Gaussian z, where b is that bound in standard deviations.
_B2 = (BOUND * norm.ppf(0.75)) ** 2
CONSISTENCY = float(chi2.cdf(_B2, 3) + _B2 * chi2.sf(_B2, 1))
# Standardised numbers that differ by less are equal.
ROUNDING = 1e-12


def there(P: Floats) -> Floats:
    """P, zero where nothing is there."""
    return np.where(np.isnan(P), 0.0, P)


def weights_if_any(weights: Floats) -> Floats | None:
    """The weights (n,), or None where all are one: that takes less time."""
    return None if np.all(weights == 1.0) else weights


def times(P: Floats, weights: Floats | None) -> Floats:
    """P (..., n) times weights (n,), if there are any."""
    return P if weights is None else P * weights


def medians(P: Floats, weights: Floats | None = None) -> Floats:
    """Median of each row of P (m, n), (m,); zero where nothing is there."""
    if weights is not None:
        return weighted_medians(P.T, weights)
    count = P.shape[1] - np.count_nonzero(np.isnan(P), axis=1)
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    # Only what is in the middle of some row is put in order. NaN comes last.
    first, last = np.min(low, initial=P.shape[1] - 1), np.max(high, initial=0)
    S = np.partition(P, [first, last], axis=1)[:, first : last + 1]
    S.sort(axis=1)
    lines = np.arange(len(P))
    return np.where(count > 0, S[lines, low - first] / 2 + S[lines, high - first] / 2, 0.0)


def weighted_medians(X: Floats, w: Floats) -> Floats:
    """Median of each column of X (m, d), NaN apart, each row repeated w (m,) times; zero if none.

    Examples
    --------
    >>> weighted_medians(np.array([[1.0, np.nan], [2.0, np.nan], [4.0, np.nan]]), np.ones(3))
    array([2., 0.])
    """
    alike = len(w) > 0 and w[0] > 0 and bool(np.all(w == w[0]))
    if alike and not np.isnan(X).all(axis=0).any():  # several times as fast
        return np.asarray(np.nanmedian(X, axis=0))
    order = np.argsort(X, axis=0, kind="stable")  # NaN comes last
    ordered = np.take_along_axis(X, order, axis=0)
    mass = np.cumsum(np.where(np.isnan(ordered), 0.0, w[order]), axis=0)
    half = 0.5 * mass[-1] * np.array([[1 - 1e-12], [1 + 1e-12]])
    # The first numbers that have half of the weight behind them, and more than half.
    low, high = (np.sum(mass < at, axis=0) for at in half)
    pick = np.minimum(np.stack([low, high]), len(X) - 1)
    two = np.take_along_axis(ordered, pick, axis=0)
    middle = np.where(np.isnan(two[1]), two[0], two[0] / 2 + two[1] / 2)
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
    return mad * np.sqrt(squares / (np.where(count > 0, count, 1) * CONSISTENCY))


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
