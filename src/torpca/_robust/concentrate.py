"""Concentration steps on the sample: fit a subspace to a half, weigh all rows by it, fit again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from torpca._sample.codes import exact_by_codes
from torpca._sample.draw import Sample
from torpca._sample.fit import SampleFit, left_out, principal_variances, sample_fit
from torpca._sample.halves import without_long_rows
from torpca._select.rank import RankChoice, RankRule, choose_rank, exact_rank
from torpca._sources.base import Floats
from torpca._stats.lines import rms_of_half, weights_of_nearest
from torpca._stats.rule import Cutoffs, Rule, n_next
from torpca._stats.spread import Spread
from torpca._tuning import tuning

# How often the number of components may be chosen again meanwhile.
MAX_CHOICES = 3
# Sets of rows that differ in less than this share of all rows will end as one, ...
A_FEW = 0.005
# ... and so will subspaces that differ by less than this many times what chance makes them.
BY_CHANCE = 2.0
# ... if their noise is the same up to this factor: rows beyond one subspace may be bad or not.
AS_NEAR = 1.3
# Where chance alone leaves out this many times the noise, and this share of the variance of the
# last component, nothing can be said.
TOO_FEW, HARDLY = 6.0, 0.1
# How closely spreads are found: the start is not the answer.
ROUGHLY = 1e-3
# Standard deviations within which good rows are counted.
COUNTED = 3.0


@dataclass(frozen=True)
class Candidate:
    """Rows of the sample that agree on a subspace, and how well they do."""

    name: str
    keep: Floats
    """Weights (m,) of the rows that agree."""
    fit: SampleFit
    """Their subspace, and all rows beside it."""
    choice: RankChoice
    cuts: Cutoffs
    n_rows: int
    """Number of different rows that agree, ..."""
    share: float
    """... and their share of all."""
    limit: float
    """Distance from the subspace that hardly one of them exceeds; zero for an exact fit."""
    half: float
    """Root-mean-square residual of the nearest half of all rows (LTS: Rousseeuw 1984)."""
    next_variance: float
    """Variance of the rows that agree along the first direction beyond the subspace."""
    gap: float
    """Their variance along the last direction of the subspace over that."""

    @property
    def exact(self) -> bool:
        """Whether more than half of the rows lie in the subspace up to rounding."""
        return self.limit == 0.0


def concentrated(
    name: str,
    sample: Sample,
    half: Floats,
    rule: RankRule,
    known: Sequence[Candidate] = (),
    steps: int | None = None,
) -> Candidate:
    """Concentrate a half, with a given number of components or one that its rows ask for.

    A half that leads to the subspace of a candidate that is `known` is that candidate again.
    """
    steps = tuning().steps if steps is None else steps
    half = without_long_rows(sample, half)
    now = _concentrated(name, sample, half, rule, known, steps)
    if now.exact and exact_by_codes(sample, now.fit):  # all rows do not lie in it
        return _concentrated(name, sample, sample.weights, rule, known, steps)
    return now


def _concentrated(
    name: str,
    sample: Sample,
    half: Floats,
    rule: RankRule,
    known: Sequence[Candidate],
    steps: int,
) -> Candidate:
    """Concentrate a half without rows that are too long."""
    if rule.given is not None:
        choice = choose_rank(rule, np.zeros(min(sample.Z.shape)))
        if rule.given >= np.count_nonzero(half) - sample.center:
            half = sample.weights  # half of them lie in so many directions whatever they are
        return of_rank(name, sample, half, choice, known, steps)
    # Different rows: repeated ones say nothing more about directions.
    variances, n_rows = principal_variances(sample, half), int(np.count_nonzero(half))
    choice = choose_rank(rule, variances, 2 * n_rows)
    for _ in range(MAX_CHOICES):
        now = of_rank(name, sample, half, choice, known, steps)
        if now.exact:
            break
        choice = choose_rank(rule, principal_variances(sample, now.keep), 2 * n_rows)
        if choice.rank == now.choice.rank:
            break
    if rule.share is not None:
        return now
    # Rows without noise agree exactly or not at all. A gap may lie within the signal, or between
    # it and the few bad rows that are in this half: only the fit tells.
    exact = exact_rank(variances, n_rows)
    if not now.exact and exact is not None:
        again = of_rank(name, sample, half, exact, known, steps)
        now = again if again.exact else now
    if now.exact and now.choice.rank < sample.Z.shape[1]:  # in all directions, all rows lie
        return replace(now, choice=replace(now.choice, rule="exact"))
    return now


def of_rank(
    name: str,
    sample: Sample,
    half: Floats,
    choice: RankChoice,
    known: Sequence[Candidate],
    steps: int,
) -> Candidate:
    """Concentration steps with a number of components."""
    keep, cuts = half, Cutoffs()
    fit = sample_fit(sample, keep, choice.rank)
    for i in range(steps + 1):
        for other in known:
            if other.choice.rank == choice.rank and alike(fit, keep, other, sample):
                return replace(other, name=name, choice=choice)
        if i == steps:
            break
        keep, cuts = step(sample, fit)
        fit = sample_fit(sample, keep, choice.rank)
    return described(name, sample, fit, keep, choice, cuts)


def step(sample: Sample, fit: SampleFit) -> tuple[Floats, Cutoffs]:
    """One concentration step: rows near the subspace of some rows; at least half of them all."""
    rule, on = weighed(sample, fit)
    total = float(np.sum(sample.weights))
    # The next directions are given up if less than half of the rows pass.
    for weights in (on, sample.weights * rule.near(fit.studentised)):
        if 2 * float(np.sum(weights)) >= total * (1 - 1e-9):
            return weights, rule.cuts
    return weights_of_nearest(fit.studentised, sample.weights), rule.cuts


def weighed(sample: Sample, fit: SampleFit) -> tuple[Rule, Floats]:
    """The rule that the rows of the sample give, and their weights (m,) by it."""
    R, weights = fit.studentised, sample.weights
    rule = Rule.by_residuals(R, weights, settled=ROUGHLY)
    near = weights * rule.near(R)
    P = np.zeros((len(R), 0))
    if rule.residual.scale > 0:
        count = n_next(len(R), sample.Z.shape[1], fit.scores.shape[1])
        P = fit.next_directions(near, count)[0]
        rule = rule.with_next(P, near, ROUGHLY)
    return rule, weights * rule.on_subspace(R, P)


def described(
    name: str, sample: Sample, fit: SampleFit, keep: Floats, choice: RankChoice, cuts: Cutoffs
) -> Candidate:
    """How well the rows `keep` (m,) agree on their subspace, that of `fit`."""
    spread = Spread.of(fit.studentised, keep, ROUGHLY)
    following = 0.0
    if not spread.exact:
        squares = fit.next_directions(keep, 1)[1]
        following = float(squares[0]) if len(squares) else 0.0
    last = float(fit.variances[-1]) if len(fit.variances) == choice.rank else 0.0
    return Candidate(
        name=name,
        keep=keep,
        fit=fit,
        choice=choice,
        cuts=cuts,
        n_rows=int(np.count_nonzero(keep)),
        share=float(np.sum(keep)) / float(np.sum(sample.weights)),
        limit=spread.at(COUNTED),
        half=rms_of_half(fit.studentised, sample.weights),
        next_variance=following,
        gap=last / following if following > 0 else np.inf,
    )


def alike(fit: SampleFit, keep: Floats, other: Candidate, sample: Sample) -> bool:
    """Whether rows `keep` (m,), and the subspace fitted to them, are those of another candidate.

    The error of a subspace leaves some of the variance inside it out: of n rows, and noise of
    variance v in p directions, about v (sqrt(p) + sqrt(k))^2 / n (Marchenko and Pastur 1967).
    """
    if float(np.sum(np.abs(keep - other.keep))) <= A_FEW * float(np.sum(sample.weights)):
        return True
    k = fit.V.shape[1]
    less, more = sorted((fit.noise, other.fit.noise))
    if k == 0 or k != other.fit.V.shape[1] or more > AS_NEAR * less:
        return False
    errors = 1 / np.count_nonzero(keep) + 1 / other.n_rows
    # By the noise of the tighter one: bad rows in the other have made its noise large.
    chance = BY_CHANCE * (np.sqrt(sample.Z.shape[1]) + np.sqrt(k)) ** 2 * errors * less
    inside = min(float(fit.variances[-1]), float(other.fit.variances[-1]))
    return chance < max(TOO_FEW * less, HARDLY * inside) and left_out(fit, other.fit) <= chance
