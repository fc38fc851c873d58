"""How much of a fit depends on choices: the number of components, and where the fit started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from torpca._options import Options
from torpca._robust.algorithm import robust_fit
from torpca._robust.describe import RobustFit
from torpca._robust.draw import some_rows
from torpca._robust.rank import RankRule
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats, Mask

# Rows on which fits are repeated: so many, fewer if they are long, to hold no more numbers than
# this, ...
MOST_ROWS, NUMBERS = 2000, 2**17
# ... but so many all the same, if they are no more numbers than this.
FEWEST_ROWS, MOST_NUMBERS = 200, 2**20
# Other starts, and the seed of their generators, which is none that a user is likely to give.
STARTS, SEED = 3, 20_170_218


@dataclass(frozen=True)
class Refit:
    """A fit of the same rows with one choice changed."""

    what: str
    """What was different: "one component fewer", "one component more" or "another start"."""
    n_components: int
    n_flagged: int
    """Rows beyond a limit."""
    share_changed: float
    """Share of the rows that are beyond a limit in only one of the two fits."""
    subspace_change: float
    """Sine of the largest angle between the smaller of the two subspaces and the larger."""


@dataclass(frozen=True)
class Stability:
    """How the flagged rows and the subspace change with other choices."""

    n_rows: int
    """Number of rows used: all, or some of many."""
    n_components: int
    n_flagged: int
    """Number of these rows beyond a limit."""
    refits: tuple[Refit, ...]


@dataclass(frozen=True)
class Probe:
    """Rows of a table on which its fit is repeated."""

    Z: Floats = field(repr=False)
    """The rows (m, p), in a basis of their span if they are long."""
    weights: Floats = field(repr=False)
    """How often each of them counts, (m,)."""
    rows: npt.NDArray[np.intp] = field(repr=False)
    """Their numbers in the table, (m,)."""
    flagged: Mask = field(repr=False)
    """Which of them the fit flags, (m,)."""
    V: Floats | None = field(repr=False)
    """Its directions (p, k); None if the rows are in a basis of their span."""
    options: Options
    n_table: int
    """Number of rows of the table that count."""

    @classmethod
    def of(
        cls, source: RowSource, fit: RobustFit, sample_weight: Floats, options: Options
    ) -> Probe | None:
        """Some rows of `source`; None where they are too many numbers, or take a pass to pick."""
        d = source.shape[1]
        there = np.flatnonzero(sample_weight > 0)
        if fit.span is not None:
            rows, Z, V = there, fit.span[there], None
        else:
            count = min(MOST_ROWS, max(NUMBERS // d, FEWEST_ROWS))
            if (len(there) > count and not source.picks_rows) or count * d > MOST_NUMBERS:
                return None
            rows = some_rows(sample_weight, count, np.random.default_rng(SEED))
            Z, V = source.take(rows), fit.V
        return cls(Z, sample_weight[rows], rows, flagged(fit)[rows], V, options, len(there))

    @property
    def in_features(self) -> bool:
        """Whether the rows are as they were, and not in a basis of their span."""
        return self.V is not None

    @property
    def of_all(self) -> bool:
        """Whether these are all rows of the table."""
        return len(self.rows) == self.n_table

    @property
    def n_flagged(self) -> int:
        """Number of these rows that the fit flags."""
        return int(np.count_nonzero(self.flagged))

    @cached_property
    def directions(self) -> Floats:
        """Directions (p, k) of the fit."""
        return self.fit(0).V if self.V is None else self.V

    def fit(self, start: int, n_components: int | None = None) -> RobustFit:
        """The fit again, from the start numbered `start`."""
        options = self.options
        if n_components is not None:
            options = replace(options, rank=RankRule(given=n_components))
        rng = np.random.default_rng((SEED, start))
        return robust_fit(as_source(self.Z), options, self.weights, rng)

    def from_other_starts(self) -> Iterator[RobustFit]:
        """The fit again from one start after the other."""
        return (self.fit(start) for start in range(1, STARTS + 1))

    def share_changed(self, other: RobustFit) -> float:
        """Share of the rows that are beyond a limit in only one of the fit and another."""
        changed = self.flagged != flagged(other)
        return float(np.sum(self.weights[changed]) / np.sum(self.weights))

    def stability(self) -> Stability:
        """What becomes of the fit with one component fewer or more, and from other starts."""
        starts = (self.beside(fit, "another start") for fit in self.from_other_starts())
        k = self.directions.shape[1]
        return Stability(len(self.Z), k, self.n_flagged, (*self.by_rank(), *starts))

    def by_rank(self) -> Iterator[Refit]:
        """The fit with one component fewer and one more, where these are possible."""
        k = self.directions.shape[1]
        for what, n_components in (("one component fewer", k - 1), ("one component more", k + 1)):
            if 1 <= n_components < min(self.Z.shape):
                yield self.beside(self.fit(0, n_components), what)

    def beside(self, other: RobustFit, what: str) -> Refit:
        """What is different in another fit."""
        return Refit(
            what=what,
            n_components=other.V.shape[1],
            n_flagged=count_flagged(other),
            share_changed=self.share_changed(other),
            subspace_change=angle_between(self.directions, other.V),
        )


def flagged(fit: RobustFit) -> Mask:
    """Mask (n,) of the rows beyond a limit."""
    return fit.limits.beyond(fit.score_distances, fit.orthogonal_distances)


def count_flagged(fit: RobustFit) -> int:
    """Number of rows beyond a limit."""
    return int(np.count_nonzero(flagged(fit)))


def angle_between(V: Floats, W: Floats) -> float:
    """Sine of the largest angle of the smaller of two subspaces with the larger."""
    small, large = (V, W) if V.shape[1] <= W.shape[1] else (W, V)
    if small.shape[1] == 0:
        return 0.0
    return min(1.0, float(np.linalg.norm(small - large @ (large.T @ small), 2)))
