"""The rule by which a row is weighed: its distance from the subspace, and beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._robust.tuning import tuning
from torpca._sources.base import Array, Floats
from torpca._stats.along import Along
from torpca._stats.cutoffs import cutoff, cutoff_of_largest, taper
from torpca._stats.lines import SETTLED
from torpca._stats.spread import Spread

# A row that nearly spans a direction by itself has no residual to speak of; its studentised
# residual is not allowed to divide by less.
LEAST_FREE = 1e-3
# Rows for each direction beyond the subspace, at least, to look along some of them.
ROWS_PER_DIRECTION = 3


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


@dataclass(frozen=True)
class Cutoffs:
    """Standard deviations from which on a row has no weight."""

    residual: float = np.inf
    along: float = np.inf

    def tightened(self, other: Cutoffs) -> Cutoffs:
        """The smaller of each: a cut-off that was found stays."""
        return Cutoffs(min(self.residual, other.residual), min(self.along, other.along))


@dataclass(frozen=True)
class Rule:
    """How a row is weighed, given its distances.

    Its weight is a product of two: by its residual, and by its place along the next principal
    directions.
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
        common: float = 0.0,
    ) -> Rule:
        """Spread and cut-off of studentised residuals R (n,) of rows with `weights` (n,).

        Cut-offs `cuts` that were found before may become smaller only; `common` is what the squares
        of residuals have in common.
        """
        residual = Spread.of(R, weights, settled, common)
        found = Cutoffs(residual=cutoff(residual.z(R), weights))
        found = found.tightened(cuts) if cuts is not None else found
        nothing = np.zeros(0)
        return cls(residual, Along(nothing, nothing), found)

    def with_next(self, P: Floats, near: Floats, settled: float = SETTLED) -> Rule:
        """The same with the next directions, given projections P (n, q) and weights `near` (n,)."""
        along = Along.of(P, near, settled)
        said = int(np.count_nonzero(np.isfinite(along.scale)))
        if not said:
            return replace(self, along=along)
        found = Cutoffs(along=cutoff_of_largest(along.z(P), near, said))
        return replace(self, along=along, cuts=self.cuts.tightened(found))

    def in_unit(self, unit: float) -> Rule:
        """The same of rows that are `unit` times these."""
        return Rule(self.residual.in_unit(unit), self.along.in_unit(unit), self.cuts)

    def near(self, R: Floats) -> Floats:
        """Weight (n,) by the residual alone."""
        return taper(self.residual.z(R), self.cuts.residual)

    def beside(self, P: Floats) -> Floats:
        """Weight (n,) by the place along the next directions alone."""
        if not np.isfinite(self.cuts.along):
            return np.ones(len(P))
        return taper(self.along.z(P), self.cuts.along)

    def weights(self, xp: Any, squares: Array, P: Array) -> tuple[Array, Array]:
        """`near`, and that times `beside`, in any library, of a fit that is not exact.

        Given squares of studentised residuals.
        """
        near = taper(self.residual.z_of_squares(squares, xp), self.cuts.residual, xp)
        if not np.isfinite(self.cuts.along):
            return near, near
        return near, near * taper(self.along.z(P, xp), self.cuts.along, xp)
