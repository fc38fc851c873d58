"""Laws of squared distances of Gaussian rows, in the fit and new: the share beyond a square."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincc, chdtrc, fdtrc

from torpca._sources.base import Floats

Tail = Callable[[float], float]


def common_limit(of_fit: Tail, of_new: Tail, level: float) -> float:
    """Square that the share `level` exceeds, of as many rows of the fit as new ones."""

    def excess(q: float) -> float:
        return (of_fit(q) + of_new(q)) / 2 - level

    high = 1.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-15))


def score_laws(n: float, k: int, *, center: bool, ratio: float = 1.0) -> tuple[Tail, Tail]:
    """Laws of squared score distances of Gaussian rows, of a fit of k directions to n rows and new.

    Left singular vectors of rows have no preferred direction: squares are (n - 1)^2/n times a beta
    number of k/2 and (n - 1 - k)/2. New ones are k (n^2 - 1)/(n (n - k)) times an F number of k and
    n - k (Hotelling 1931), here times `ratio`.
    """
    free = n - center
    if free <= k + 1:
        return (lambda q: float(chdtrc(k, q)),) * 2
    of_fit, of_new = free * (1.0 - center / n), ratio * k * (n**2 - 1) / (n * (n - k))
    return (
        lambda q: float(betaincc(k / 2, (free - k) / 2, min(q / of_fit, 1.0))),
        lambda q: float(fdtrc(k, n - k, q / of_new)),
    )


@dataclass(frozen=True)
class Cumulants:
    """Mean, variance and third cumulant of squared orthogonal distances."""

    mean: float
    variance: float
    third: float

    @classmethod
    def of_noise(cls, mean: float, variance: float, third: float) -> Cumulants:
        """Those nearest to given ones that independent noise of any sizes l can have.

        They are sum l, 2 sum l^2 and 8 sum l^3: bounds on the third are of equal sizes, and of one.
        """
        least, most = 2 * variance**2 / mean, np.sqrt(8.0) * variance**1.5
        return cls(mean, variance, float(max(min(third, most), least)))

    @classmethod
    def on_sphere(cls, squares: Floats, D: float) -> Cumulants | None:
        """Those of |diag(s) u|^2, where u is a random point of the sphere in D dimensions.

        Rows of noise of squared singular values s^2, `squares` (m,), are such points. None if all
        are as far out.
        """
        s1, s2, s3 = (float(np.sum(squares**e)) for e in (1, 2, 3))
        if not (s1 > 0 and D > 1):
            return None
        one, two = s1 / D, (s1**2 + 2 * s2) / (D * (D + 2))
        three = (s1**3 + 6 * s1 * s2 + 8 * s3) / (D * (D + 2) * (D + 4))
        if not two - one**2 > 1e-12 * one**2:
            return None
        return cls.of_noise(one, two - one**2, three - 3 * one * two + 2 * one**3)

    @property
    def shift(self) -> float:
        """What all squares have in common."""
        return self.mean - 2 * self.variance**2 / self.third

    def tail(self, q: float) -> float:
        """Share of squares beyond q.

        Sums of squares of noise of several sizes are about a multiple of a chi-squared number plus
        a constant, with the same three cumulants (Buckley and Eagleson 1988). Where all sizes are
        equal the constant is zero (Box 1954).
        """
        freedom, unit = 8 * self.variance**3 / self.third**2, self.third / (4 * self.variance)
        return float(chdtrc(freedom, max((q - self.shift) / unit, 0.0)))

    def scaled(self, factor: float, ratio: float = 1.0) -> Cumulants:
        """Those of squares `factor` times as large, with `ratio` times the variance beside that."""
        mean, variance = factor * self.mean, factor**2 * ratio * self.variance
        return Cumulants.of_noise(mean, variance, factor**3 * ratio**1.5 * self.third)
