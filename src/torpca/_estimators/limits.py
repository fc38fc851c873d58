"""Limits on the two distances of rows, and what a row is by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Floats

# What a row is, by whether it is beyond its score limit and its orthogonal limit.
TYPES = np.array([["regular", "orthogonal"], ["good leverage", "bad leverage"]])
# A row of so few cells that nothing can be said about it.
UNKNOWN = "unknown"
# Distances of a row, measured again in another block of rows, differ by less than this share. No
# row of the fit is so near to a limit.
TIE, NEARBY = 1e-9, 1e-6


@dataclass(frozen=True)
class FittedLimits:
    """How far out rows may be: limits on score distances (n,) and orthogonal distances (n,)."""

    score: float
    orthogonal: float
    offset: float = -1.0
    """Value of `scores` below which rows are outliers."""

    def relative(self, score: Floats, orthogonal: Floats) -> tuple[Floats, Floats]:
        """Distances in units of their limits; those beyond a limit of zero are huge."""
        return times_limit(score, self.score), times_limit(orthogonal, self.orthogonal)

    def scores(self, score: Floats, orthogonal: Floats) -> Floats:
        """Minus the larger of each row's distances, in units of its limit."""
        return -np.maximum(*self.relative(score, orthogonal))

    def types(self, score: Floats, orthogonal: Floats) -> npt.NDArray[np.str_]:
        """What kind of row each is; NaN are distances that are unknown."""
        beyond = [-r < self.offset for r in self.relative(score, orthogonal)]
        types: npt.NDArray[np.str_] = TYPES[beyond[0].astype(int), beyond[1].astype(int)]
        return np.where(np.isnan(score), UNKNOWN, types)


def times_limit(distances: Floats, limit: float) -> Floats:
    """Distances (n,) over their limit; those beyond a limit of zero are huge."""
    # Not infinite: differences and percentiles of scores stay numbers.
    most = np.finfo(np.float64).max
    if limit == 0.0:
        return np.where(distances > 0, most, 0.0)
    with np.errstate(over="ignore"):
        return np.minimum(distances / limit, most)


def clear_of_ties(limit: float, distances: Floats) -> float:
    """`limit`, moved up until none of the `distances` (n,) is within rounding of it.

    So measuring a row again cannot put it on the other side. Rows on a limit are within it.
    """
    limit = float(limit)  # NumPy's warns where it becomes infinite
    near = distances[(distances >= limit * (1 - TIE)) & (distances <= limit * (1 + NEARBY))]
    for distance in np.unique(near).tolist():
        if distance > limit * (1 + TIE):
            break
        limit = max(limit, distance * (1 + 2 * TIE))
    return min(limit, float(np.finfo(np.float64).max))
