"""The rule by which a row is weighed: its distance from the subspace, and beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._sources.base import Array, Floats
from torpca._stats.along import Along
from torpca._stats.cutoffs import cutoff, cutoff_of_largest, taper
from torpca._stats.lines import SETTLED
from torpca._stats.spread import Spread
from torpca._tuning import tuning

# A row that nearly spans a direction by itself has no residual to speak of; its studentised
# residual is not allowed to divide by less.
LEAST_FREE = 1e-3
# Cut-offs in the iterations on all rows are this factor apart.
LEVEL_RATIO = 1.4
# Rows for each direction beyond the subspace, at least, to look along some of them.
ROWS_PER_DIRECTION = 3
# Margins are wider by as many standard deviations of a share of the rows.
ROUGH = 8.0


def free_part(h: Array, keep: Array, xp: Any = np) -> Array:
    """Share of a row's squared distance that is left in its squared residual.

    A row of leverage h that has a part in the fit pulls the subspace towards itself: 1 - h is left;
    one that has none shows the subspace's own error: 1 + h.
    """
    return xp.clip(1.0 - keep * h, LEAST_FREE, None) * (1.0 + (1.0 - keep) * h)


def n_next(n_rows: int, n_features: int, rank: int) -> int:
    """How many of the next principal directions rows are looked at along.

    None if there are few rows for each of them: then each is the direction of a row or two, and
    these are far out along it whatever they are.
    """
    beyond = min(n_rows, n_features) - rank
    return tuning().n_next if n_rows >= ROWS_PER_DIRECTION * beyond else 0


def to_level(cut: float, least: float) -> float:
    """The nearest of few cut-offs, a factor apart, from `least` on.

    Where a cut-off is found again by other rows, or from another start, it is the same.
    """
    if cut >= tuning().farthest:
        return cut
    steps = max(round(np.log(cut / least) / np.log(LEVEL_RATIO)), 0)
    return min(float(least * LEVEL_RATIO**steps), tuning().farthest)


def rough_by(n_rows: float) -> float:
    """Power of the margins between two subspaces: of few rows all variances are rough."""
    return float(1 + ROUGH / np.sqrt(n_rows))


def much_closer(a: float, b: float, n_rows: float, rank: int) -> bool:
    """Whether half of the rows are clearly nearer to one subspace than to another.

    Their root-mean-square distances are `a` and `b`. A subspace of as many dimensions as it was
    fitted to rows is near them whatever they are: `n_rows` must be several times its `rank`.
    """
    t = tuning()
    return n_rows >= t.rows_per_dimension * rank and t.closer ** rough_by(n_rows) * a < b


@dataclass(frozen=True)
class Cutoffs:
    """Standard deviations from which on a row has no weight."""

    residual: float = np.inf
    along: float = np.inf
    inside: float = np.inf

    def for_all_rows(self) -> Cutoffs:
        """The same for iterations on all rows, in which good rows should not be lost for nothing.

        The cut-offs of the start are as small as a start needs that has to be clean.
        """
        t = tuning()
        return Cutoffs(
            to_level(self.residual, t.least), to_level(self.along, t.least_along), self.inside
        )

    def tightened(self, other: Cutoffs) -> Cutoffs:
        """The smaller of each: a cut-off that was found stays."""
        return Cutoffs(
            min(self.residual, other.residual),
            min(self.along, other.along),
            min(self.inside, other.inside),
        )


@dataclass(frozen=True)
class Rule:
    """How a row is weighed, given its distances.

    Its weight is a product of two: by its residual, and by its place along the next principal
    directions. Rows far out inside the subspace are looked at once (`torpca._robust.leverage`);
    `cuts.inside` is finite if they are off it.
    """

    residual: Spread
    along: Along
    cuts: Cutoffs

    @classmethod
    def by_residuals(
        cls,
        R: Floats,
        weights: Floats,
        cuts: Cutoffs | None = None,
        settled: float = SETTLED,
    ) -> Rule:
        """Spread and cut-off of studentised residuals R (n,) of rows with `weights` (n,).

        Cut-offs `cuts` that were found before may become smaller only.
        """
        residual = Spread.of(R, weights, settled)
        found = Cutoffs(residual=cutoff(residual.z(R), weights))
        if cuts is not None:
            found = found.for_all_rows().tightened(cuts)
        nothing = np.zeros(0)
        return cls(residual, Along(nothing, nothing), found)

    def with_next(
        self, P: Floats, near: Floats, settled: float = SETTLED, *, on_all: bool = False
    ) -> Rule:
        """The same with the next directions, given projections P (n, q) and weights `near` (n,)."""
        along = Along.of(P, near, settled)
        said = int(np.count_nonzero(np.isfinite(along.scale)))
        if not said:
            return replace(self, along=along)
        found = Cutoffs(along=cutoff_of_largest(along.z(P), near, said))
        if on_all:
            found = found.for_all_rows()
        return replace(self, along=along, cuts=self.cuts.tightened(found))

    def near(self, R: Floats) -> Floats:
        """Weight (n,) by the residual alone."""
        return taper(self.residual.z(R), self.cuts.residual)

    def on_subspace(self, R: Floats, P: Floats) -> Floats:
        """Weight (n,) by the residual, and along the next directions."""
        w = self.near(R)
        return w * taper(self.along.z(P), self.cuts.along) if np.isfinite(self.cuts.along) else w

    def weights(self, xp: Any, squares: Array, P: Array) -> tuple[Array, Array]:
        """`near` and `on_subspace` in any library, of a fit that is not exact.

        Given squares of studentised residuals.
        """
        near = taper(self.residual.z_of_squares(squares, xp), self.cuts.residual, xp)
        if not np.isfinite(self.cuts.along):
            return near, near
        return near, near * taper(self.along.z(P, xp), self.cuts.along, xp)
