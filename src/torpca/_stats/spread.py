"""How far distances from a subspace, or inside it, spread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._sources.base import Array, Floats, cube_root
from torpca._stats.lines import EQUAL, SETTLED, describe_lines, reweighted, weighted_quantile


@dataclass(frozen=True)
class Spread:
    """Location and scale of the cubed roots of squared distances.

    They are about Gaussian if the squares are about chi-squared (Wilson and Hilferty 1931).
    """

    location: float
    scale: float
    """Zero when more than half of the distances are equal, most often zero: an exact fit."""
    unit: float
    """Distances are measured in this unit."""

    @classmethod
    def of(cls, distances: Floats, weights: Floats, settled: float = SETTLED) -> Spread:
        """Spread of most of the `distances` (n,), non-negative, weighted by `weights` (n,).

        `settled` is the share by which location and scale may move in the end.
        """
        counts = weights > 0
        r, w = (distances, weights) if counts.all() else (distances[counts], weights[counts])
        unit = weighted_quantile(r, w, 0.5)
        if unit == 0.0:
            return cls(0.0, 0.0, 1.0)
        y = _roots(r, unit)
        line = describe_lines(y[:, None], w)
        location, scale = float(line.location[0]), float(line.inner[0])
        if scale <= EQUAL * location:
            return cls(location, 0.0, unit)
        found = reweighted(y[None], w, line.location, line.inner, settled)
        # A heap of rows in the midst of the others is no measure of their spread.
        return cls(float(found[0][0]), max(float(found[1][0]), float(line.side[0])), unit)

    @property
    def exact(self) -> bool:
        """Whether more than half of the distances are zero."""
        return self.location == self.scale == 0.0

    def z(self, distances: Floats) -> Floats:
        """Distances in standard deviations from their location; infinite off an exact fit."""
        y = _roots(distances, self.unit)
        if self.scale == 0.0:
            return np.where(y <= self.location * (1 + 1e-6), 0.0, np.inf)
        return (y - self.location) / self.scale

    def at(self, z: float) -> float:
        """Distance that is `z` standard deviations from the location."""
        return self.unit * max(self.location + z * self.scale, 0.0) ** 1.5

    def in_unit(self, unit: float) -> Spread:
        """The same of distances that are `unit` times these."""
        return replace(self, unit=self.unit * unit)

    def z_of_squares(self, squares: Array, xp: Any = np) -> Array:
        """`z` of distances given by their squares, of a fit that is not exact, in any library."""
        return (cube_root(xp, squares / self.unit**2) - self.location) / self.scale


def _roots(distances: Floats, unit: float) -> Floats:
    with np.errstate(over="ignore"):
        roots: Floats = np.cbrt(np.square(np.minimum(distances / unit, 1e100)))
    return roots
