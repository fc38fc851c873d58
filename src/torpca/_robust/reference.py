"""What a row is measured against: a subspace, and where good rows are about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._core.measure import Measure
from torpca._core.subspace import EPS64, MEAN_ULPS, RESIDUAL_ULPS
from torpca._robust.rule import Rule, taper
from torpca._robust.spread import Spread
from torpca._robust.tuning import ACCURATE, ACCURATE_SINGLE, tuning
from torpca._sources.base import Array, Floats, place, row_squares


@dataclass(frozen=True)
class Inside:
    """Where the good rows are inside the subspace."""

    center: Floats
    covariance: Floats
    spread: Spread
    """How distances spread that the covariance, times `shrink`, gives."""
    shrink: float

    def whiten(self, shrink: float = 1.0) -> Floats:
        """Matrix by which scores become standard deviations."""
        theta, Q = np.linalg.eigh(shrink * self.covariance)
        there = theta > 0
        whiten: Floats = Q[:, there] / np.sqrt(theta[there])
        return whiten

    def in_axes(self, turn: Floats, moved: Floats | float, unit: float = 1.0) -> Inside:
        """The same in other axes: `turn` (k, k) times these, about a point `moved` (k,) away.

        Of scores that are `unit` times these.
        """
        center, covariance = turn @ self.center - moved, turn @ self.covariance @ turn.T
        return replace(self, center=center * unit, covariance=covariance * unit**2)


@dataclass(frozen=True)
class Reference:
    """All that it takes to measure a row. Small, and the same wherever the rows are."""

    mean: Floats
    """Point (d,) that rows are measured from: their mean, or zero if rows are not centred."""
    centered: bool
    V: Floats
    """Directions (d, k + q): the subspace, then the next ones, along which rows are looked at."""
    s: Floats
    """Singular values (k,) of the good rows along the first k."""
    rule: Rule
    """How residuals and places along the next directions spread, and where good rows end."""
    inside: Inside
    leverage_cut: float = np.inf
    """Standard deviations inside the subspace from which on rows have no weight."""
    single: bool = False
    """Whether float32 numbers may be multiplied as they are, ..."""
    formed: bool = False
    """... and whether residuals are formed, or are differences of squares."""

    @property
    def rank(self) -> int:
        """Number of components k."""
        return len(self.s)

    @property
    def exact(self) -> bool:
        """Whether good rows lie in the subspace up to rounding."""
        return self.rule.residual.exact

    @property
    def whole_inside(self) -> float:
        """Squared distance inside the subspace up to which rows have all of their weight."""
        z = tuning().taper * min(tuning().far_out, self.leverage_cut)
        return self.inside.spread.at(z) ** 2

    def coordinates(self, k: int) -> Measure:
        """What gives V'(x - mean) along the first `k` directions, and squared residuals."""
        return Measure(self.mean, self.V[:, :k], self.rank, self.formed or self.exact)

    def native(self) -> Any:
        """The kind of numbers in which blocks may be multiplied as they are; None: float64."""
        if self.formed or self.exact:
            return None
        return np.float32 if self.single else np.float64

    def with_arithmetic(self, weight: float) -> Reference:
        """Whether float32 is good enough, and whether residuals must be formed.

        A difference of squares loses as many digits as the residual of a typical row is smaller
        than the row. `weight` is that of the rows behind the singular values.
        """
        if self.exact:
            return self
        squares = float(self.mean @ self.mean) + float(np.sum(self.s**2)) / weight
        single, double = (
            8 * float(np.finfo(kind).eps) * squares / self.rule.residual.unit**2
            for kind in (np.float32, np.float64)
        )
        return replace(self, single=single <= ACCURATE_SINGLE, formed=double > ACCURATE)

    def rounding(self, xp: Any, Y: Array, squares: Array) -> Array:
        """Whether residuals, given by their `squares`, are no more than rounding makes of zero.

        Directions that come from sums over the rows are known to a few times rounding.
        """
        s = place(xp, self.s, Y)
        largest = float(self.s[0] ** 2 / self.s[-1]) if len(self.s) else 0.0
        size = squares**0.5 + largest * row_squares(xp, Y / s) ** 0.5
        shift = MEAN_ULPS * float(np.linalg.norm(self.mean))
        return squares <= (EPS64 * (4 * RESIDUAL_ULPS * size + shift)) ** 2

    def suspects(self, Y: Array, squares: Array, inner: Array) -> Array:
        """Mask of the rows that may weigh less than one; the others need no root.

        Rows near the middle have so little leverage that their residual is known to a hundredth,
        whether they were in the fit or not.
        """
        full = tuning().taper
        limit = (1 - 2 * 0.01) * self.rule.residual.at(full * self.rule.cuts.residual) ** 2
        # Not ">": what is not a number is suspect.
        out = ~(squares <= limit) | ~(inner <= self.whole_inside)
        along, reach = self.rule.along, full * self.rule.cuts.along
        for j in range(Y.shape[1] - self.rank):
            out |= ~(np.abs(Y[:, self.rank + j] - along.center[j]) <= reach * along.scale[j])
        return out

    def inner_squares(self, xp: Any, Y: Array, whiten: Floats) -> Array:
        """Squared distances inside the subspace of rows with coordinates Y (any, k)."""
        about = Y - place(xp, self.inside.center, Y)
        return row_squares(xp, (place(xp, whiten.T, Y) @ about.T).T)


def weights_inside(at: Reference, inner: Array, xp: Any) -> tuple[Array, Array]:
    """What squared distances inside take from a row's weight: in the subspace, in the scatter."""
    z = at.inside.spread.z_of_squares(inner, xp)
    return taper(z, at.leverage_cut, xp), taper(z, tuning().far_out, xp)
