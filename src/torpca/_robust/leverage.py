"""Rows far out inside the subspace: whether they point where the others do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torpca._core.directions import ROUNDING
from torpca._robust.choice import has_gap
from torpca._robust.concentration import Candidate, candidate, judged
from torpca._robust.part import Part
from torpca._robust.rule import cutoff, taper
from torpca._robust.scatter import mahalanobis, tightest_half
from torpca._robust.spread import Spread
from torpca._robust.subspace import Subspace
from torpca._robust.tuning import ROUGHLY, tuning
from torpca._sources.base import Floats


@dataclass(frozen=True)
class Leverage:
    """What rows far out inside the subspace of others lose for being off it."""

    off: Floats
    """How much weight each row of the part loses for good, (m,), between 0 and 1."""
    cut: float = np.inf
    """Standard deviations inside from which on rows lose all of it; infinite if none does."""


def tested_for_leverage(
    part: Part, best: Candidate, rng: np.random.Generator
) -> tuple[Floats, Leverage]:
    """Weights (m,) to go on with, and what becomes of rows far out inside the subspace.

    They say most about it. It is found once more without them, unless only they span one of its
    directions. Those that are near it then come back, unless there is a gap behind it, and
    together they tilt it: without one, directions beyond it are as good as its own.
    """
    k, t = best.fit.rank, tuning()
    as_before = Leverage(np.zeros(len(best.keep)))
    if best.exact or k == 0 or np.count_nonzero(best.keep) < t.rows_per_dimension * k:
        return best.keep, as_before
    D = mahalanobis(best.fit.scores, *tightest_half(best.fit.scores, best.keep, part.center, rng))
    z = Spread.of(D, best.keep, ROUGHLY).z(D)
    cut = cutoff(z, best.keep)
    near = taper(z, cut)
    core = best.keep * near
    if 2 * np.sum(core) < part.total or np.all(core == best.keep):
        return best.keep, as_before
    without = candidate("", part, core, best.choice)
    if without.exact or without.fit.rank < k or without.gap < min(t.gap, best.gap / 2):
        return best.keep, as_before
    again = part.votes * judged(part, without.fit).keep
    if has_gap(without, without) and tilts(without.fit, core, again * (1 - near)):
        return core, Leverage(1 - near, cut)
    return again, as_before


def tilts(fit: Subspace, keep: Floats, far: Floats) -> bool:
    """Whether rows of weights `far` (m,) together leave the subspace of the others.

    More than noise lets them: the largest squared singular value of their residuals on their
    scores, whitened for their own noise and for the error of the fit, against the edge of the
    spectrum of noise (Marchenko and Pastur 1967).
    """
    k, n = fit.rank, float(np.sum(keep))
    if k == 0 or np.count_nonzero(far) < 2:
        return False
    beyond = fit.next_directions(keep, 1)[1]
    if len(beyond) == 0:
        return False
    Y = fit.scores / np.sqrt(fit.variances)
    S = (Y * far[:, None]).T @ Y
    theta, Q = np.linalg.eigh(S + S @ S / n)
    there = theta > ROUNDING * theta[-1]
    T = Y @ (Q[:, there] / np.sqrt(theta[there]))
    largest = float(np.linalg.norm((T * far[:, None]).T @ fit.rest, 2) ** 2)
    squares = np.square(fit.residuals)
    of_others, of_far = (float(w @ squares) / float(np.sum(w)) for w in (keep, far))
    noise = max(of_others, of_far)
    # Rows that are farther off spread as much more along each direction.
    more = noise / of_others if of_others > 0 else 1.0
    chance = (np.sqrt(noise) + np.sqrt(k * more * float(beyond[0]))) ** 2
    return largest > tuning().tilt * chance
