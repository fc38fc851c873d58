"""Location, scale and slope of many lists of numbers at once, by one step from medians.

Lists are rows of an array (m, n), and NaN is a number that is not there. Rousseeuw and Van den
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


def medians(P: Floats) -> Floats:
    """Median of each row of P (m, n), (m,); zero where nothing is there."""
    count = P.shape[1] - np.count_nonzero(np.isnan(P), axis=1)
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    # Only what is in the middle of some row is put in order. NaN comes last.
    first, last = np.min(low, initial=P.shape[1] - 1), np.max(high, initial=0)
    S = np.partition(P, [first, last], axis=1)[:, first : last + 1]
    S.sort(axis=1)
    lines = np.arange(len(P))
    return np.where(count > 0, S[lines, low - first] / 2 + S[lines, high - first] / 2, 0.0)


def one_step_locations(P: Floats) -> Floats:
    """Location (m,) of each row of P (m, n): mean with Tukey's biweights about the median."""
    middle = medians(P)
    with np.errstate(over="ignore"):
        away = P - middle[:, None]
    reach = NO_WEIGHT * medians(np.abs(away))
    # Numbers farther out have no weight, and squares of what is brought here do not overflow.
    away = there(np.clip(away, -reach[:, None], reach[:, None]))
    share = away / np.where(reach > 0, reach, 1.0)[:, None]
    w = np.where(np.isnan(P), 0.0, (1.0 - share**2) ** 2)
    total = np.sum(w, axis=1)
    return middle + np.vecdot(w, away) / np.where(total > 0, total, 1.0)


def one_step_scales(P: Floats) -> Floats:
    """Scale (m,) about zero of each row of P (m, n): root mean of squares, large ones bounded.

    Consistent for Gaussian numbers. Zero where at least half of the numbers are.
    """
    size = np.abs(P)
    mad = medians(size)
    with np.errstate(over="ignore"):
        bounded = np.minimum(size / np.where(mad > 0, mad, 1.0)[:, None], BOUND)
    count = np.maximum(np.count_nonzero(~np.isnan(bounded), axis=1), 1)
    bounded = there(bounded)
    return mad * np.sqrt(np.vecdot(bounded, bounded) / (count * CONSISTENCY))


def robust_slopes(y: Floats, A: Floats, cut: float) -> Floats:
    """Slope (m,) through zero of y, (n,) or (m, n), on each row of A (m, n).

    Least squares over the points whose distance from the line with the median ratio as its slope
    is at most `cut` times the scale of these distances.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first = medians(y / np.where(A == 0, np.nan, A))
    away = y - first[:, None] * A
    limit = cut * one_step_scales(away) + ROUNDING
    near = np.abs(away) <= limit[:, None]
    B = np.where(near, A, 0.0)
    squares, products = np.vecdot(B, B), np.vecdot(B, there(y))
    return np.where(squares > 0, products / np.where(squares > 0, squares, 1.0), first)
