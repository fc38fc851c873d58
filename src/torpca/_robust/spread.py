"""How far distances, and projections on a few directions, spread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._robust.lines import located, weighted_quantile
from torpca._robust.tuning import EQUAL, SETTLED
from torpca._sources.base import Array, Floats, cube_root, place


@dataclass(frozen=True)
class Spread:
    """Location and scale of the cubed roots of squared distances, less what all have in common.

    They are nearly Gaussian if what is left of the squares is nearly a multiple of a chi-squared
    number (Wilson and Hilferty 1931).
    """

    location: float = 0.0
    scale: float = 0.0
    """Zero when more than half of the distances are equal, most often zero: an exact fit."""
    unit: float = 1.0
    """Distances are measured in this unit."""
    common: float = 0.0
    """What is taken off each square, in squares of the unit."""

    @classmethod
    def of(
        cls, distances: Floats, weights: Floats, rtol: float = SETTLED, common: float = 0.0
    ) -> Spread:
        """Spread of most of the `distances` (n,), non-negative, weighted by `weights` (n,).

        `rtol` is the share by which location and scale may move in the end, `common` what their
        squares have in common.
        """
        counts = weights > 0
        r, w = (distances, weights) if counts.all() else (distances[counts], weights[counts])
        unit = weighted_quantile(r, w, 0.5)
        if unit == 0.0:
            return cls()
        common = common / unit / unit
        location, scale = located(_roots(r, unit, common)[:, None], w, 1.0, rtol)
        if scale[0] == 0.0 and common:
            return cls.of(distances, weights, rtol)
        return cls(float(location[0]), float(scale[0]), unit, common)

    @property
    def exact(self) -> bool:
        """Whether more than half of the distances are zero."""
        return self.location == self.scale == 0.0

    def z(self, distances: Floats) -> Floats:
        """Distances in standard deviations from their location; infinite off an exact fit."""
        y = _roots(distances, self.unit, self.common)
        if self.scale == 0.0:
            return np.where(y <= self.location * (1 + EQUAL**0.5), 0.0, np.inf)
        return (y - self.location) / self.scale

    def at(self, z: float) -> float:
        """Distance that is `z` standard deviations from the location."""
        square = (self.location + z * self.scale) ** 3 + self.common
        return self.unit * max(square, 0.0) ** 0.5

    def in_unit(self, unit: float) -> Spread:
        """The same of distances that are `unit` times these."""
        return replace(self, unit=self.unit * unit)

    def z_of_squares(self, squares: Array, xp: Any = np) -> Array:
        """`z` of distances given by their squares, in any library."""
        y = cube_root(xp, squares / self.unit**2 - self.common)
        if self.scale == 0.0:
            return xp.where(y <= self.location * (1 + EQUAL**0.5), 0.0 * y, xp.full_like(y, xp.inf))
        return (y - self.location) / self.scale


def _roots(distances: Floats, unit: float, common: float) -> Floats:
    with np.errstate(over="ignore"):
        roots: Floats = np.cbrt(np.square(np.minimum(distances / unit, 1e100)) - common)
    return roots


@dataclass(frozen=True)
class Along:
    """Location and scale of most rows along the next principal directions, (q,) each."""

    center: Floats
    scale: Floats
    """Infinite along directions that say nothing."""

    @classmethod
    def silent(cls, q: int) -> Along:
        """Of `q` directions that say nothing."""
        return cls(np.zeros(q), np.full(q, np.inf))

    @classmethod
    def of(cls, P: Floats, weights: Floats, rtol: float = SETTLED) -> Along:
        """From projections P (m, q) of rows on the directions, by the rows' `weights` (m,).

        Bad rows whose residuals are no longer than those of good ones can tilt the subspace all the
        same if they all point one way. Then that way is among the next principal directions: TORP-G
        fits one direction more for this reason. Along it most rows are near zero.
        """
        there = weights > 0
        if P.shape[1] == 0 or not there.any():
            return cls.silent(P.shape[1])
        S = P[there]
        center, scale = located(S, weights[there], np.max(np.abs(S), axis=0), rtol)
        spread = scale > 0
        return cls(np.where(spread, center, 0.0), np.where(spread, scale, np.inf))

    def in_unit(self, unit: float) -> Along:
        """The same of projections that are `unit` times these."""
        return Along(self.center * unit, self.scale * unit)

    def z(self, P: Array, xp: Any = np) -> Array:
        """Largest standard deviations of each row along one of the directions."""
        if P.shape[1] == 0:
            return xp.zeros(P.shape[0], dtype=P.dtype)
        return xp.max(xp.abs(P - place(xp, self.center, P)) * place(xp, 1 / self.scale, P), axis=1)
