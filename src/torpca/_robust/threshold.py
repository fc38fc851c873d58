"""Weights of rows by how far they are from the subspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from torpca._core.subspace import Fit
from torpca._robust.draw import some_rows
from torpca._robust.lines import (
    CLEAN_FULL,
    CLEAN_NONE,
    FULL,
    NONE,
    SETTLED,
    Spread,
    looks_clean,
    taper,
)
from torpca._robust.loyalty import Watch, watch
from torpca._robust.scatter import PROBE_ROWS
from torpca._sources.base import Array, Floats

# A row that nearly spans a direction by itself has no residual to speak of; its studentised
# residual is not allowed to divide by less.
LEAST_FREE = 1e-3
# Iterations in which rows that conspire are looked for.
MAX_VERDICTS = 10
# Looks at the residuals that cast no lasting doubt on them.
FIRST_LOOKS = 2
# Residuals are not taken for more skew than this: squares of a single number are.
MOST_SKEW = 0.8


def residuals(fit: Fit, keep: Floats) -> tuple[Floats, Floats, Floats]:
    """Residual R of every row, R on equal terms, and leverage h = E^2.

    A row of incoherence E pulls the subspace towards itself: its residual is sqrt(1 - E^2) of
    what it would be if its part in the fit were anyone's, and that of a row that had no part is
    sqrt(1 + E^2) of it. On few, long rows this is more than the spread of the residuals.
    """
    E, R = fit.scores()
    R = np.where(fit.rounding(E, R) >= R, 0.0, R)
    h = np.minimum(E, 1e100) ** 2
    return R, R / np.sqrt(free_part(h, keep)), h


def free_part(h: Array, keep: Array, xp: Any = np) -> Array:
    """Share of a row's squared distance that is left in its squared residual."""
    return xp.clip(1.0 - keep * h, LEAST_FREE, None) * (1.0 + (1.0 - keep) * h)


class Threshold:
    """Weights of rows from their residuals: by the spread of most of them, or a given share."""

    def __init__(
        self,
        sample_weight: Floats,
        trim: float | None,
        rng: np.random.Generator,
        settled: float = SETTLED,
    ) -> None:
        self.trim = trim
        self.settled = settled
        self.there = sample_weight > 0
        self.probe = some_rows(sample_weight, PROBE_ROWS, rng)
        self.sample_weight = sample_weight
        self.forget()

    def forget(self) -> None:
        """Begin anew: the rows are about to be measured from a subspace of another rank."""
        self.clean = True
        self.looks = 0
        self.last = Spread(0.0, 0.0, 1.0)
        self.loyal = np.ones(len(self.sample_weight))
        self.watch = Watch(np.zeros(0), np.zeros(0))
        self.verdicts = 0
        self.skew: float | None = None

    def __call__(self, R: Floats, skewness: Callable[[Floats], float] | None = None) -> Floats:
        """Return the weight of each row, between 0 and 1.

        `skewness` of the residuals, given weights of rows, is asked for when they are in doubt.
        """
        w = self._near(R, skewness) if self.trim is None else self._nearest(R, self.trim)
        return np.where(self.there, w, 0.0)

    def spread(self, R: Floats) -> Spread:
        """Spread of most of the residuals R (n,)."""
        return Spread.of(R[self.probe], self.sample_weight[self.probe])

    def limits(self) -> tuple[float, float]:
        """Standard deviations at which a row begins to lose weight, and has lost it."""
        return (CLEAN_FULL, CLEAN_NONE) if self.clean else (FULL, NONE)

    def undecided(self) -> bool:
        """Whether rows that conspire are still looked for.

        Directions beyond the subspace that hardly differ in size turn from one iteration to the
        next, and new rows are far out along them each time: at some point the verdict stands.
        """
        return self.verdicts < MAX_VERDICTS

    def judge(self, P: Floats, keep: Floats) -> None:
        """Weigh rows by their projections P (n, q) on directions beyond the subspace."""
        rows = self.probe
        self.watch = watch(P[rows], self.sample_weight[rows] * keep[rows], self.settled)
        self.loyal = self.watch.loyalty(P)
        self.verdicts += 1

    def _near(self, R: Floats, skewness: Callable[[Floats], float] | None) -> Floats:
        """Whole weight for rows near the subspace, none for those far off."""
        rows = self.probe
        # The subspace moves less and less; from the third time on the spread is nearly known.
        near = self.last if self.looks >= 2 else None
        self.last = Spread.of(R[rows], self.sample_weight[rows], self.settled, near)
        self.looks += 1
        self.last = replace(self.last, skew=self.skew or 0.0)
        z = self.last.z(R)
        clean = looks_clean(z[rows], self.sample_weight[rows])
        if not clean and self.skew is None and skewness is not None and self.last.scale > 0:
            self.skew = min(max(skewness(np.where(self.there, taper(z), 0.0)), 0.0), MOST_SKEW)
            self.last = replace(self.last, skew=self.skew)
            z = self.last.z(R)
            clean = looks_clean(z[rows], self.sample_weight[rows])
        # The first subspaces are not yet what they will be. From then on: once in doubt, always in
        # doubt, else the iterations might go to and fro.
        self.clean = clean and (self.clean or self.looks <= FIRST_LOOKS)
        return taper(z, *self.limits())

    def _nearest(self, R: Floats, trim: float) -> Floats:
        """Whole weight for the nearest rows that make up 1 - trim, the last of them in part."""
        order = np.argsort(np.where(self.there, R, np.inf), kind="stable")
        counts = self.sample_weight[order]
        before = np.cumsum(counts) - counts
        wanted = (1.0 - trim) * float(np.sum(counts)) * (1 + 1e-12)
        w = np.zeros(len(R))
        w[order] = np.clip((wanted - before) / np.where(counts > 0, counts, 1.0), 0.0, 1.0)
        return w
