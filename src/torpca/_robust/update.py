"""The next reference, from what a pass added up and from the part of the rows held in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from torpca._core.gram import top_of_gram
from torpca._core.krylov import expanded
from torpca._core.measure import product
from torpca._core.stand_in import (
    goal,
    gram_about,
    has_gap,
    stand_in_error,
    top_directions,
    with_next,
)
from torpca._core.subspace import subspace_change
from torpca._robust.beside import Beside, beside_these
from torpca._robust.concentration import ROUGHLY, judged, weighed, widened
from torpca._robust.measure import Measured
from torpca._robust.part import Part
from torpca._robust.reference import Inside, Reference
from torpca._sources import RowSource
from torpca._sources.base import Floats
from torpca._stats.rule import Cutoffs, Rule
from torpca._stats.scatter import consistency, robust_scatter

# How closely the scatter of the part is found: the first pass finds that of all rows.
NEARLY = 0.01
# Features up to which the part's Gram matrix stands in for that of all rows. Beyond, the matrix is
# too large, and few rows say too little of it.
MAX_FEATURES = 700
# A change of the subspace changes the weights, and these the subspace by at most this share of it.
WEIGHTS_TURN = 0.1
# Residuals are taken as differences of squares if that leaves them this accurate, ...
ACCURATE = 1e-10
# ... and in float32, where they only decide on weights, this accurate.
ACCURATE_SINGLE = 1e-3
# All rows are good but for those that the first pass may take for bad.
ALL_BUT_A_FEW = 0.999
# A scatter measured in a subspace holds in another that is off by no more than this sine: the
# share of a direction's variance that it misses is at most its square.
SAME = 0.05
# Where fewer rows than this share are near the middle, the part was no measure of the scatter.
LEAST_INSIDE = 0.25


@dataclass(frozen=True)
class Judges:
    """The part of the rows by which all are judged: what stays the same from pass to pass."""

    part: Part
    origin: Floats
    """Point (d,) from which its rows are measured."""
    total: float
    """Weight of all rows of the table."""
    cuts: Cutoffs
    """Cut-offs that were found on the part, ..."""
    wide: bool
    """... and whether they are the wider ones."""
    leverage_cut: float
    """Standard deviations inside the subspace from which on rows have no weight."""
    W: Floats
    """Next principal directions (d, q)."""
    common: float
    """What squared residuals of good rows of the part have in common."""
    weights: Floats
    """Weights (m,) that the part's rows had in the subspace, ..."""
    gram: Floats | None
    """... and their Gram matrix (d, d); None if it would be too large."""
    rng: np.random.Generator

    def reference(
        self,
        mean: Floats,
        V: Floats,
        s: Floats,
        keep: Floats,
        inside: Inside | None = None,
        rule: Rule | None = None,
    ) -> Reference:
        """What the part says of a subspace of rows of which its own had weights `keep` (m,).

        `inside` is the scatter of all rows in it, if that is known, and `rule` the one by which
        rows are weighed, if that is to stay.
        """
        part, k, u = self.part, len(s), self.part.unit
        variances = np.square(s / u) / self.total
        fit = beside_these(
            part, (mean - self.origin) / u, V[:, :k], variances, np.inf, self.total, keep
        )
        fit = replace(fit, common=self.common)
        if rule is None:
            now = judged(part, fit, None if self.wide else self.cuts, ROUGHLY, V[:, k:])
            now = widened(part, now, self.cuts) if self.wide else now
        else:
            now = weighed(part, fit, rule.in_unit(1 / u), V[:, k:])
        inside = inside or self._inside(fit, now.near).in_unit(u)
        rule = now.rule.in_unit(u)
        at = Reference(mean, part.center, V, s, rule, inside, self.leverage_cut)
        return self._with_accuracy(at)

    def _inside(self, fit: Beside, near: Floats) -> Inside:
        weights = near * self.part.counts
        found = robust_scatter(fit.scores, weights, self.part.center, self.rng, NEARLY)
        return Inside(
            found.center, found.covariance, found.spread, 1 / consistency(fit.scores.shape[1])
        )

    def _with_accuracy(self, at: Reference) -> Reference:
        """Whether float32 is good enough, and whether residuals must be formed.

        A difference of squares loses as many digits as the residual is smaller than the row.
        """
        if at.exact:
            return at
        squares = float(at.mean @ at.mean) + float(np.sum(at.s**2)) / self.total
        single, double = (
            8 * float(np.finfo(kind).eps) * squares / at.rule.residual.unit**2
            for kind in (np.float32, np.float64)
        )
        return replace(at, single=single <= ACCURATE_SINGLE, formed=double > ACCURATE)


@dataclass(frozen=True)
class Updated:
    """The next reference."""

    at: Reference
    change: float
    """Sine of the largest angle by which the subspace turned."""
    stands: bool
    """Whether it would hardly turn any more."""
    known: bool
    """Whether the scatter inside it is that of all rows."""


def update(
    now: Measured,
    at: Reference,
    judges: Judges,
    rows: RowSource,
    keep: Floats,
    tol: float,
    *,
    rule_stays: bool,
    subspace_stays: bool,
) -> Updated:
    """The subspace of the rows that a pass kept, and how those of the part lie about it.

    `keep` (m,) are the weights that the pass gave the rows of the part. The Gram matrix A of all
    good rows is known exactly on the directions of the reference, A V; beyond, that of the part
    stands in for it, or more passes with the same weights.
    """
    k, summary = at.rank, now.summary
    mean, AV = summary.mean(at), summary.gram_times(at)
    if subspace_stays:
        V, theta, off, stands_at = at.V, np.square(at.s), 0.0, 1.0
    else:
        V, theta, off, stands_at = next_subspace(rows, judges, at, now, mean, AV)
    change = subspace_change(at.V[:, :k], V[:, :k])
    inside = None
    if change <= SAME and summary.weight - float(summary.less) > LEAST_INSIDE * summary.weight:
        turn = V[:, :k].T @ at.V[:, :k]
        inside = summary.inside(at).in_axes_of(turn, V[:, :k].T @ (mean - at.mean))
    rule = at.rule if rule_stays else None
    V, s = with_next(V[:, :k], judges.W), np.sqrt(theta[:k])
    new = judges.reference(mean, V, s, keep, inside, rule)
    return Updated(new, change, off * change <= max(tol, stands_at), inside is not None)


def next_subspace(
    rows: RowSource, judges: Judges, at: Reference, now: Measured, mean: Floats, AV: Floats
) -> tuple[Floats, Floats, float, float]:
    """Directions (d, k + q) and eigenvalues of the good rows' Gram matrix, as far as it is known.

    Also how far the subspace would move next, as a share of how far it moved, and the change
    below which it stands.
    """
    k, d, weight = at.rank, len(at.mean), now.summary.weight
    whole = weight > ALL_BUT_A_FEW * judges.total
    aim = partial(goal, k=k, weight=weight, whole=whole, d=d)
    if at.exact:  # one step of subspace iteration: there is nothing beyond
        V, theta = exact_directions(AV, at)
        return V, theta, 0.0, aim(theta)
    if judges.gram is None:
        V, theta = expanded_directions(rows, at, now, mean, AV, aim)
        return V, theta, WEIGHTS_TURN, aim(theta)
    of_part = float(np.sum(judges.weights))
    V, theta = top_directions(judges.gram * (weight / of_part), at.V, AV)
    off = stand_in_error(theta, k, of_part, d)
    if not has_gap(theta, k) and subspace_change(at.V[:, :k], V[:, :k]) > SAME:
        # Of directions that are nearly alike the part prefers those in which its own rows happen
        # to spread. No stand-in will do: the Gram matrix of all rows.
        V, s = top_of_gram(gram_about(rows, mean, now.part, centered=at.centered), at.V.shape[1])
        theta, off = s**2, WEIGHTS_TURN
    return V, theta, off, aim(theta)


def exact_directions(AV: Floats, at: Reference) -> tuple[Floats, Floats]:
    """Directions (d, k) of rows that lie in a subspace, and their eigenvalues."""
    V, AV = at.V[:, : at.rank], AV[:, : at.rank]
    Q, _ = np.linalg.qr(AV / np.square(at.s))
    T = Q.T @ V @ (V.T @ AV) @ (V.T @ Q)
    theta, U = np.linalg.eigh((T + T.T) / 2)
    return Q @ U[:, ::-1], theta[::-1]


def expanded_directions(
    rows: RowSource,
    at: Reference,
    now: Measured,
    mean: Floats,
    AV: Floats,
    aim: Callable[[Floats], float],
) -> tuple[Floats, Floats]:
    """Top directions and eigenvalues of A by more passes over the rows, with weights as they are.

    Until they are wrong by no more than the goal that `aim` gives for eigenvalues.
    """
    k = at.rank

    def multiply(V: Floats) -> Floats:
        return product(rows, mean, now.part, V, centered=at.centered, single=at.single)

    def found(theta: Floats, wrong: Floats) -> bool:
        if len(theta) == k:
            return True
        # The next eigenvalue may be larger than it looks by as much as its vector is wrong.
        gap = theta[k - 1] - theta[k] - wrong[k]
        return bool(np.linalg.norm(wrong[:k]) <= aim(theta) * gap)

    V, theta, _ = expanded(multiply, at.V, AV, found)
    return V, theta
