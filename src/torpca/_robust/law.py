"""Laws of squared distances of good rows, and the limit that two of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincc, betainccinv, chdtrc, chdtri, fdtrc, fdtri

# Steps of bisection: to a billionth of the way between the limits of two laws.
STEPS = 30


@dataclass(frozen=True)
class Law:
    """A law of squares: `tail(q)` is the share of them beyond q, and `limit` its inverse."""

    tail: Callable[[float], float]
    limit: Callable[[float], float]

    def times(self, factor: float) -> Law:
        """Law of squares that are `factor` times as large."""
        return Law(lambda q: self.tail(q / factor), lambda p: factor * self.limit(p))


def common_limit(of_fit: Law, of_new: Law, level: float) -> float:
    """Square that the share `level` exceeds, of as many rows of the fit as new ones."""
    low, high = sorted((of_fit.limit(level), of_new.limit(level)))
    for _ in range(STEPS):
        middle = (low + high) / 2
        if of_fit.tail(middle) + of_new.tail(middle) > 2 * level:
            low = middle
        else:
            high = middle
    return high


def chi_squared(k: float) -> Law:
    """Law of squared score distances of Gaussian rows, in k directions that are known."""
    return Law(lambda q: float(chdtrc(k, q)), lambda p: float(chdtri(k, p)))


def hotelling(n: float, k: int) -> Law:
    """Law of squared score distances of new Gaussian rows, after a fit of k directions to n rows.

    k (n^2 - 1)/(n (n - k)) times an F number of k and n - k (Hotelling 1931).
    """
    law = Law(lambda q: float(fdtrc(k, n - k, q)), lambda p: float(fdtri(k, n - k, 1 - p)))
    return law.times(k * (n**2 - 1) / (n * (n - k)))


def within_fit(n: float, k: int, *, center: bool) -> Law:
    """Law of squared score distances of the n Gaussian rows of the fit itself.

    Their left singular vectors have no preferred direction, whatever the spectrum: squares are
    (n - 1)^2/n times a beta number of k/2 and (n - 1 - k)/2.
    """
    free = n - center
    a, b = k / 2, (free - k) / 2
    law = Law(lambda q: float(betaincc(a, b, min(q, 1.0))), lambda p: float(betainccinv(a, b, p)))
    return law.times(free * (1.0 - center / n))


@dataclass(frozen=True)
class Cumulants:
    """Mean, variance and third cumulant of squared orthogonal distances."""

    mean: float
    variance: float
    third: float

    def law(self) -> Law:
        """Law of squares with these cumulants.

        Squares of residuals are sums of squares of noise of several sizes: about a multiple of a
        chi-squared number, plus a constant, with the same three cumulants (Buckley and Eagleson
        1988). Where all sizes are equal the constant is zero (Box 1954).
        """
        freedom = 8 * self.variance**3 / self.third**2
        unit, law = self.third / (4 * self.variance), chi_squared(freedom)
        shift = self.mean - unit * freedom
        return Law(
            lambda q: law.tail(max((q - shift) / unit, 0.0)),
            lambda p: max(shift + unit * law.limit(p), 0.0),
        )

    def scaled_to(self, mean: float, variance: float, n: float) -> Cumulants:
        """Return them with the mean of `n` squares, and their variance where that is larger.

        The variance of few squares is a matter of chance: what exceeds this one by less than one
        standard deviation is no reason to depart from it.
        """
        a = mean / self.mean
        same = Cumulants(mean, a**2 * self.variance, a**3 * self.third)
        chance = np.sqrt((2 + 12 * same.variance / (2 * mean**2)) / n)
        ratio = variance / same.variance / (1 + chance)
        if ratio <= 1:
            return same
        more = float(ratio * same.variance)
        return Cumulants(mean, more, max(float(ratio**1.5 * same.third), 2 * more**2 / mean))
