"""Rows far out inside the subspace: whether they point where the others do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from torpca._robust.choice import has_gap
from torpca._robust.concentration import ROUGHLY, Candidate, candidate, judged
from torpca._robust.part import Part
from torpca._robust.tilt import tilts
from torpca._robust.tuning import tuning
from torpca._sources.base import Floats
from torpca._stats.cutoffs import cutoff, taper
from torpca._stats.scatter import mahalanobis, tightest_half
from torpca._stats.spread import Spread


@dataclass(frozen=True)
class Leverage:
    """Rows far out inside the subspace of others, and whether they are off it."""

    keep: Floats
    """Weights (m,) of the rows to go on with."""
    off: Floats
    """How much weight each row loses for good, (m,), between 0 and 1."""
    cut: float
    """Standard deviations inside from which on rows lose all of it; infinite if none does."""

    def forgotten(self) -> Leverage:
        """The same where no row loses any."""
        return replace(self, off=np.zeros(len(self.off)), cut=np.inf)


def tested_for_leverage(part: Part, best: Candidate, rng: np.random.Generator) -> Leverage:
    """What becomes of rows far out inside the subspace of the best candidate.

    They say most about it. It is found once more without them, unless only they span one of its
    directions. Those that are near it then come back, unless there is a gap behind it, and
    together they tilt it: without one, directions beyond it are as good as its own.
    """
    k, t = best.fit.rank, tuning()
    as_before = Leverage(best.keep, np.zeros(len(best.keep)), np.inf)
    if best.exact or k == 0 or np.count_nonzero(best.keep) < t.rows_per_dimension * k:
        return as_before
    Y = best.fit.scores
    D = mahalanobis(Y, *tightest_half(Y, best.keep, part.center, rng))
    z = Spread.of(D, best.keep, ROUGHLY).z(D)
    cut = cutoff(z, best.keep)
    near = taper(z, cut)
    core = best.keep * near
    if 2 * np.sum(core) < part.total or np.all(core == best.keep):
        return as_before
    without = candidate("", part, core, best.choice)
    if without.exact or without.fit.rank < k or without.gap < min(t.gap, best.gap / 2):
        return as_before
    again = part.votes * judged(part, without.fit).keep
    if has_gap(without, without) and tilts(without.fit, core, again * (1 - near)):
        return Leverage(core, 1 - near, cut)
    return Leverage(again, as_before.off, np.inf)
