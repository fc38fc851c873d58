"""How far distances from a subspace, or inside it, spread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._sources.base import Array, Floats, cube_root
from torpca._stats.lines import EQUAL, SETTLED, describe_lines, reweighted, weighted_quantile


@dataclass(frozen=True)
class Spread:
    """Location and scale of the cubed roots of squared distances, less what all have in common.

    They are nearly Gaussian if what is left of the squares is nearly a multiple of a chi-squared
    number (Wilson and Hilferty 1931).
    """

    location: float
    scale: float
    """Zero when more than half of the distances are equal, most often zero: an exact fit."""
    unit: float
    """Distances are measured in this unit."""
    common: float = 0.0
    """What is taken off each square, in squares of the unit."""

    @classmethod
    def of(
        cls, distances: Floats, weights: Floats, settled: float = SETTLED, common: float = 0.0
    ) -> Spread:
        """Spread of most of the `distances` (n,), non-negative, weighted by `weights` (n,).

        `settled` is the share by which location and scale may move in the end, `common` what their
        squares have in common.
        """
        counts = weights > 0
        r, w = (distances, weights) if counts.all() else (distances[counts], weights[counts])
        unit = weighted_quantile(r, w, 0.5)
        if unit == 0.0:
            return cls(0.0, 0.0, 1.0)
        common = common / unit / unit
        y = _roots(r, unit, common)
        line = describe_lines(y[:, None], w)
        location, scale = float(line.location[0]), float(line.inner[0])
        if scale <= EQUAL * abs(location):
            return cls.of(distances, weights, settled) if common else cls(location, 0.0, unit)
        found = reweighted(y[None], w, line.location, line.inner, settled)
        # A heap of rows in the midst of the others is no measure of their spread.
        scale = max(float(found[1][0]), float(line.side[0]))
        return cls(float(found[0][0]), scale, unit, common)

    @property
    def exact(self) -> bool:
        """Whether more than half of the distances are zero."""
        return self.location == self.scale == 0.0

    def z(self, distances: Floats) -> Floats:
        """Distances in standard deviations from their location; infinite off an exact fit."""
        y = _roots(distances, self.unit, self.common)
        if self.scale == 0.0:
            return np.where(y <= self.location * (1 + 1e-6), 0.0, np.inf)
        return (y - self.location) / self.scale

    def at(self, z: float) -> float:
        """Distance that is `z` standard deviations from the location."""
        square = (self.location + z * self.scale) ** 3 + self.common
        return self.unit * max(square, 0.0) ** 0.5

    def in_unit(self, unit: float) -> Spread:
        """The same of distances that are `unit` times these."""
        return replace(self, unit=self.unit * unit)

    def z_of_squares(self, squares: Array, xp: Any = np) -> Array:
        """`z` of distances given by their squares, of a fit that is not exact, in any library."""
        squares = squares / self.unit**2 - self.common
        return (cube_root(xp, squares) - self.location) / self.scale


def _roots(distances: Floats, unit: float, common: float) -> Floats:
    with np.errstate(over="ignore"):
        roots: Floats = np.cbrt(np.square(np.minimum(distances / unit, 1e100)) - common)
    return roots


def common_square(variances: Floats, total: float, n_directions: int, n_rows: float) -> float:
    """What squares of Gaussian rows have in common, given how `n_rows` of them spread.

    They vary by `variances` (q,) along the first of the `n_directions` and by `total` in all
    together; along the others alike. A multiple of a chi-squared number plus a constant has the
    same mean, variance and third cumulant (Buckley and Eagleson 1988): this is the constant. The
    spectrum of few rows is wider than that of their law, by the moments of a Wishart matrix:
    E tr S^2 = ((n + 1) p2 + p1^2)/n, E tr S^3 = ((n^2 + 3n + 4) p3 + 3(n + 1) p1 p2 + p1^3)/n^2.
    """
    others, n = n_directions - len(variances), n_rows
    rest = max(total - float(np.sum(variances)), 0.0) if others > 0 else 0.0
    one = float(np.sum(variances)) + rest
    if not (one > 0 and n > 1):
        return 0.0
    n = min(n, 1e9)  # of more rows the spectrum is that of their law
    two, three = (float(np.sum(variances**e)) + rest**e / max(others, 1) ** (e - 1) for e in (2, 3))
    two = max((two - one**2 / n) * n**2 / ((n - 1) * (n + 2)), one**2 / n_directions)
    three = (n**2 * three - 3 * (n + 1) * one * two - one**3) / (n**2 + 3 * n + 4)
    return one - two**2 / max(three, two**2 / one)
