"""Limits on the two distances of rows, and what a row is by them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Floats
from torpca._stats.limits import NewRows

# What a row is, by whether it is beyond its score limit and its orthogonal limit.
TYPES = np.array([["regular", "orthogonal"], ["good leverage", "bad leverage"]])
# A row of so few cells that nothing can be said about it.
UNKNOWN = "unknown"
# A row of the fit is known by its distances. They are measured again to this share of their limits,
# and orthogonal ones to that of this share of the deviations.
SAME, SMALL = 1e-8, 1e-6


@dataclass(frozen=True)
class FittedLimits:
    """How far out rows may be: limits on score distances (n,) and orthogonal distances (n,)."""

    score: float
    orthogonal: float
    deviation: float
    """The largest standard deviation of good rows in the subspace."""
    offset: float = -1.0
    """Value of `scores` below which rows are outliers."""
    new: NewRows | None = None
    """Limits for rows that the fit has not seen, if others."""
    seen: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    """Marks of those that it has, in ascending order."""

    def relative(self, score: Floats, orthogonal: Floats) -> tuple[Floats, Floats]:
        """Distances in units of their limits; those beyond a limit of zero are huge."""
        # Not infinite: differences and percentiles of scores stay numbers.
        most = np.finfo(np.float64).max
        limits: list[Any] = [self.score, self.orthogonal]
        if self.new is not None:
            limits = [np.full(len(score), limit) for limit in limits]
            new = ~self.has_seen(score, orthogonal)
            limits[0][new] = self.new.score
            limits[1][new] = self.new.orthogonal * self.new.spread(score[new])

        def ratio(distance: Floats, limit: Any) -> Floats:
            none = np.equal(limit, 0.0)
            with np.errstate(over="ignore", invalid="ignore"):
                times: Floats = np.minimum(distance / np.where(none, 1.0, limit), most)
            # Far out as well where the limit, which grows with the score distance, is infinite.
            times = np.where(np.isinf(distance), most, times)
            if np.any(none):
                times = np.where(none, np.where(distance > 0, most, 0.0), times)
            return times

        return ratio(score, limits[0]), ratio(orthogonal, limits[1])

    def scores(self, score: Floats, orthogonal: Floats) -> Floats:
        """Minus the larger of each row's distances, in units of its limit."""
        return -np.maximum(*self.relative(score, orthogonal))

    def types(self, score: Floats, orthogonal: Floats) -> npt.NDArray[np.str_]:
        """What kind of row each is; NaN are distances that are unknown."""
        beyond = [-r < self.offset for r in self.relative(score, orthogonal)]
        types: npt.NDArray[np.str_] = TYPES[beyond[0].astype(int), beyond[1].astype(int)]
        return np.where(np.isnan(score), UNKNOWN, types)

    @property
    def mark_units(self) -> tuple[float, float]:
        """What the two distances are divided by in a mark."""
        # Distances that rounding may change by a part of themselves do not count.
        return self.score or 1.0, max(self.orthogonal, SMALL * self.deviation) or 1.0

    def marks(self, score: Floats, orthogonal: Floats) -> Floats:
        """One number for each row by which it is told from others: a sum of its distances."""
        inside, off = self.mark_units
        with np.errstate(over="ignore"):
            return score / inside + np.sqrt(2) * orthogonal / off

    def has_seen(self, score: Floats, orthogonal: Floats) -> npt.NDArray[np.bool_]:
        """Mask of the rows that are among those of the fit, by their distances."""
        marks = self.marks(score, orthogonal)
        seen = np.zeros(len(marks), dtype=bool)
        if len(self.seen) == 0:
            return seen
        after = np.searchsorted(self.seen, marks)
        for i in (after - 1, after):
            near = self.seen[np.clip(i, 0, len(self.seen) - 1)]
            with np.errstate(invalid="ignore"):
                seen |= np.abs(marks - near) <= SAME * (1 + near)
        return seen
