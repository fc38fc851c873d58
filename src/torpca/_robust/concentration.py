"""Concentration steps: fit a subspace to some rows, weigh all rows by it, fit again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from torpca._robust.halves import without_long_rows
from torpca._robust.lines import rms_of_half, weighted_quantile
from torpca._robust.part import Part
from torpca._robust.rank import RankChoice
from torpca._robust.rule import Cutoffs, Rule, n_next
from torpca._robust.spread import Along, Spread
from torpca._robust.subspace import Subspace, subspace_of
from torpca._robust.tuning import ROUGHLY
from torpca._sources.base import Floats


@dataclass(frozen=True)
class Candidate:
    """Rows of the part that agree on a subspace, and how well they do."""

    name: str
    """Which half it began with: "pairs", "strict", "side" or "subsets"."""
    keep: Floats
    """Weights (m,) of the rows that agree."""
    fit: Subspace
    choice: RankChoice
    share: float
    """Share of all rows that agree."""
    limit: float
    """Three standard deviations of their distance from the subspace; zero for an exact fit."""
    half: float
    """Root-mean-square residual of the nearest half of all rows (LTS: Rousseeuw 1984)."""
    next_variance: float
    """Variance of the rows that agree along the first direction beyond the subspace."""

    @property
    def n_rows(self) -> int:
        """Number of different rows that agree."""
        return int(np.count_nonzero(self.keep))

    @property
    def exact(self) -> bool:
        """Whether more than half of the rows lie in the subspace up to rounding."""
        return self.limit == 0.0

    @property
    def gap(self) -> float:
        """Variance of the rows that agree along the last direction over that along the next."""
        complete = self.fit.rank == self.choice.rank and self.fit.rank > 0
        last = float(self.fit.variances[-1]) if complete else 0.0
        return last / self.next_variance if self.next_variance > 0 else np.inf


def concentrated(part: Part, half: Floats, choice: RankChoice) -> Iterator[Floats]:
    """Weights (m,) of the rows that agree after each of two concentration steps from a half.

    As many as FAST-MCD takes from each of its starts (Rousseeuw and Van Driessen 1999).
    """
    keep = without_long_rows(part, half)
    if choice.rank >= np.count_nonzero(keep) - part.center:
        keep = part.votes  # half of them lie in so many directions whatever they are
    for _ in range(2):
        keep = part.votes * judged(part, subspace_of(part, keep, choice.rank)).keep
        yield keep


def candidate(name: str, part: Part, keep: Floats, choice: RankChoice) -> Candidate:
    """How well the rows `keep` (m,) agree on their subspace."""
    fit = subspace_of(part, keep, choice.rank)
    spread = Spread.of(fit.studentised, keep, ROUGHLY, fit.common)
    half = rms_of_half(fit.studentised, part.votes)
    # Most of those that agree may be in the subspace up to rounding, and most of all are not.
    exact = spread.exact and half == 0.0
    squares = fit.next_directions(keep, 0 if exact else 1)[1]
    return Candidate(
        name=name,
        keep=keep,
        fit=fit,
        choice=choice,
        share=float(np.sum(keep)) / part.total,
        limit=0.0 if exact else max(spread.at(3.0), half),
        half=half,
        next_variance=float(squares[0]) if len(squares) else 0.0,
    )


@dataclass(frozen=True)
class Judged:
    """What a fit says of the rows of the part."""

    fit: Subspace
    rule: Rule
    """Spreads and cut-offs, ..."""
    W: Floats
    """... the directions (p, q) beyond the subspace along which rows were looked at, ..."""
    near: Floats
    """... the rows' weights (m,), between 0 and 1, by their residuals alone, ..."""
    keep: Floats
    """... and by all there is."""


def judged(
    part: Part,
    fit: Subspace,
    cuts: Cutoffs | None = None,
    rtol: float = ROUGHLY,
    W: Floats | None = None,
) -> Judged:
    """Spreads and cut-offs of most rows about a subspace, and the rows' weights by them.

    Cut-offs `cuts` that were found before may become smaller only. `W` are directions (p, q) to
    look along, if they are given.
    """
    votes = part.votes
    rule = Rule.by_residuals(fit.studentised, votes, cuts, rtol, fit.common)
    rule = with_half_near(part, rule, fit)
    near = rule.near(fit.studentised)
    count = n_next(len(part.Z), part.Z.shape[1], fit.rank) if rule.residual.scale > 0 else 0
    if W is None:
        W = fit.next_directions(votes * near, count)[0]
    if count == 0:  # they may be given all the same, and say nothing
        rule = replace(rule, along=Along.silent(W.shape[1]))
    else:
        rule = rule.with_next(fit.rest @ W, votes * near, rtol)
    return weighed(part, fit, rule, W)


def weighed(part: Part, fit: Subspace, rule: Rule, W: Floats) -> Judged:
    """The rows' weights by a rule; at least half of all rows have some."""
    near = rule.near(fit.studentised)
    keep = near * rule.beside(fit.rest @ W)
    if part.votes @ keep < 0.5 * part.total * (1 - 1e-9):
        rule, keep = replace(rule, cuts=replace(rule.cuts, along=np.inf)), near
    return Judged(fit, rule, W, near, keep)


def with_half_near(part: Part, rule: Rule, fit: Subspace) -> Rule:
    """The rule with a cut-off on residuals within which half of the rows are."""
    middle = weighted_quantile(rule.residual.z(fit.studentised), part.votes, 0.5)
    if rule.cuts.residual >= middle:
        return rule
    return replace(rule, cuts=replace(rule.cuts, residual=middle))
