"""How much of a fit depends on choices: the number of components, and where the fit started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from torpca._robust.describe import RobustFit
from torpca._robust.fit import robust_fit
from torpca._robust.options import Options
from torpca._select.rank import RankRule
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats, Mask
from torpca._stats.draw import some_rows

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
    options: Options
    in_features: bool
    """Whether the rows are as they were, and not in a basis of their span."""
    known: RobustFit | None = field(repr=False)
    """The fit itself, where these are all of the rows as they were."""

    @classmethod
    def of(
        cls, source: RowSource, fit: RobustFit, sample_weight: Floats, options: Options
    ) -> Probe | None:
        """Some rows of `source`; None where they are too many numbers, or take a pass to pick."""
        n, d = source.shape
        there = np.flatnonzero(sample_weight > 0)
        if fit.span is not None:
            return cls(fit.span[there], sample_weight[there], there, options, False, None)
        count = min(MOST_ROWS, max(NUMBERS // d, FEWEST_ROWS))
        if (len(there) > count and not source.picks_rows) or count * d > MOST_NUMBERS:
            return None
        rows = some_rows(sample_weight, count, np.random.default_rng(SEED))
        known = fit if len(rows) == n else None
        return cls(source.take(rows), sample_weight[rows], rows, options, True, known)

    @cached_property
    def first(self) -> RobustFit:
        """The fit with which others are compared."""
        return self.known or self.fit(0)

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

    def share_changed(self, a: RobustFit, b: RobustFit) -> float:
        """Share of the rows that are beyond a limit in one of two fits alone."""
        return float(np.sum(self.weights[flagged(a) != flagged(b)]) / np.sum(self.weights))

    def stability(self) -> Stability:
        """What becomes of the fit with one component fewer or more, and from other starts."""
        starts = (self.beside(fit, "another start") for fit in self.from_other_starts())
        k = self.first.V.shape[1]
        return Stability(len(self.Z), k, count_flagged(self.first), (*self.by_rank(), *starts))

    def by_rank(self) -> Iterator[Refit]:
        """The fit with one component fewer and one more, where these are possible."""
        k = self.first.V.shape[1]
        for what, n_components in (("one component fewer", k - 1), ("one component more", k + 1)):
            if 1 <= n_components < min(self.Z.shape):
                yield self.beside(self.fit(0, n_components), what)

    def beside(self, other: RobustFit, what: str) -> Refit:
        """What is different in another fit."""
        return Refit(
            what=what,
            n_components=other.V.shape[1],
            n_flagged=count_flagged(other),
            share_changed=self.share_changed(self.first, other),
            subspace_change=angle_between(self.first.V, other.V),
        )


def flagged(fit: RobustFit) -> Mask:
    """Mask (n,) of the rows beyond a limit."""
    far: Mask = fit.score_distances > fit.limits["score"]
    return far | (fit.orthogonal_distances > fit.limits["orthogonal"])


def count_flagged(fit: RobustFit) -> int:
    """Number of rows beyond a limit."""
    return int(np.count_nonzero(flagged(fit)))


def angle_between(V: Floats, W: Floats) -> float:
    """Sine of the largest angle of the smaller of two subspaces with the larger."""
    small, large = (V, W) if V.shape[1] <= W.shape[1] else (W, V)
    if small.shape[1] == 0:
        return 0.0
    return min(1.0, float(np.linalg.norm(small - large @ (large.T @ small), 2)))
