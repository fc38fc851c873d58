"""What a row is measured against: a subspace, and where good rows are about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._core.measure import Measure
from torpca._core.subspace import EPS64, MEAN_ULPS, RESIDUAL_ULPS
from torpca._robust.tuning import tuning
from torpca._sources.base import Array, Floats, Mask, picked, place, row_squares
from torpca._stats.cutoffs import taper
from torpca._stats.rule import Rule, free_part
from torpca._stats.scatter import FAR_OUT
from torpca._stats.spread import Spread

# A row of less leverage than this has its residual to within a hundredth whether it was in or not.
LITTLE = 0.01
# Times rounding to which directions are known that come from sums over the rows.
BLUR = 4.0


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

    def in_unit(self, unit: float) -> Inside:
        """The same of scores that are `unit` times these."""
        return replace(self, center=self.center * unit, covariance=self.covariance * unit**2)

    def in_axes_of(self, turn: Floats, moved: Floats) -> Inside:
        """The same in other axes, `turn` (k, k) times these, about a point `moved` (k,) away."""
        center = turn @ self.center - moved
        return replace(self, center=center, covariance=turn @ self.covariance @ turn.T)


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
        return self.rule.residual.scale == 0.0

    def measure(self) -> Measure:
        """Coordinates and squared residuals of the rows of a block."""
        return Measure(self.mean, self.V, self.rank, self.formed or self.exact)

    def rounding(self, xp: Any, Y: Array, squares: Array) -> Array:
        """Whether residuals, given by their `squares`, are no more than rounding makes of zero."""
        s = place(xp, self.s, Y)
        largest = float(self.s[0] ** 2 / self.s[-1])
        size = squares**0.5 + largest * row_squares(xp, Y / s) ** 0.5
        shift = MEAN_ULPS * float(np.linalg.norm(self.mean))
        return squares <= (EPS64 * (BLUR * RESIDUAL_ULPS * size + shift)) ** 2


@dataclass(frozen=True)
class Weighed:
    """Weights of some of the rows of a block; the others have all of theirs."""

    rows: Any
    """Their numbers in the block, or all of it."""
    near: Array
    """Their weights by their residuals alone, ..."""
    weight: Array
    """... by all there is, ..."""
    inside: Array
    """... and in the scatter inside the subspace."""

    def over(self, n_rows: int) -> Array:
        """Weights of all `n_rows` rows of the block."""
        if isinstance(self.rows, slice):
            return self.weight
        w = np.ones(n_rows)
        w[self.rows] = self.weight
        return w


class Scales:
    """A reference in the form in which rows of a block are weighed."""

    def __init__(self, at: Reference) -> None:
        self.at = at
        self.whiten = at.inside.whiten(at.inside.shrink)
        self.center = at.inside.center @ self.whiten
        far_out = tuning().taper * min(FAR_OUT, at.leverage_cut)
        self.reach = at.inside.spread.at(far_out) ** 2

    def weigh(self, xp: Any, Y: Array, squares: Array, prior: Array) -> Weighed:
        """Weigh rows with V'(x - mean), squared residuals and former weights."""
        at, k = self.at, self.at.rank
        inner = (place(xp, self.whiten.T, Y) @ Y[:, :k].T).T - place(xp, self.center, Y)
        inner = row_squares(xp, inner)
        if at.exact:
            w = xp.astype(at.rounding(xp, Y[:, :k], squares), squares.dtype)
            z = at.inside.spread.z_of_squares(inner, xp)
            return Weighed(slice(None), w, w, w * taper(z, FAR_OUT, xp))
        # Rows near the middle have no leverage to speak of: all others are looked at.
        some = picked(xp, lambda: self._suspects(Y, squares) | ~(inner <= self.reach))
        Y, squares, inner, prior = Y[some, :], squares[some], inner[some], prior[some]
        h = row_squares(xp, Y[:, :k] * place(xp, 1.0 / at.s, Y))
        squares = squares / free_part(h, prior, xp)
        near, w = at.rule.weights(xp, squares, Y[:, k:])
        z = at.inside.spread.z_of_squares(inner, xp)
        w = w * taper(z, at.leverage_cut, xp)
        return Weighed(some, near, w, w * taper(z, FAR_OUT, xp))

    def _suspects(self, Y: Floats, squares: Floats) -> Mask:
        """Mask of the rows of little leverage that may weigh less than 1: others need no root."""
        at, full = self.at, tuning().taper
        limit = (1 - 2 * LITTLE) * at.rule.residual.at(full * at.rule.cuts.residual) ** 2
        # Not ">": what is not a number is suspect.
        out: Mask = ~(squares <= limit)
        along = at.rule.along
        for j in range(Y.shape[1] - at.rank):
            reach = full * at.rule.cuts.along * along.scale[j]
            out |= ~(np.abs(Y[:, at.rank + j] - along.center[j]) <= reach)
        return out
