"""Concentration steps: fit a subspace to some rows, weigh all rows by it, fit again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from torpca._robust.beside import Beside, beside
from torpca._robust.halves import without_long_rows
from torpca._robust.part import Part
from torpca._robust.tuning import tuning
from torpca._select.rank import RankChoice
from torpca._sources.base import Floats
from torpca._stats.along import Along
from torpca._stats.lines import rms_of_half, weights_of_nearest
from torpca._stats.rule import Cutoffs, Rule, n_next
from torpca._stats.spread import Spread

# How closely spreads are found: the start is not the answer.
ROUGHLY = 1e-3
# Candidates that differ in no more than this share of the rows are one.
SAME_ROWS = 0.01
# Standard deviations within which good rows are counted.
COUNTED = 3.0


@dataclass(frozen=True)
class Candidate:
    """Rows of the part that agree on a subspace, and how well they do."""

    name: str
    """Which half it began with: "pairs", "strict", "side" or "subsets"."""
    keep: Floats
    """Weights (m,) of the rows that agree."""
    fit: Beside
    choice: RankChoice
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


def concentrated(name: str, part: Part, half: Floats, choice: RankChoice) -> Candidate:
    """Concentration steps from a half, with a number of components."""
    found = distinct(name, part, half, choice, ())
    assert found is not None
    return found


def distinct(
    name: str, part: Part, half: Floats, choice: RankChoice, known: Sequence[Candidate]
) -> Candidate | None:
    """The same; None where the steps come to the rows of a candidate that is `known`."""
    keep = without_long_rows(part, half)
    if choice.rank >= np.count_nonzero(keep) - part.center:
        keep = part.votes  # half of them lie in so many directions whatever they are
    for _ in range(tuning().steps):
        keep = part.votes * judged(part, beside(part, keep, choice.rank)).keep
        if any(np.sum(np.abs(keep - c.keep)) <= SAME_ROWS * part.total for c in known):
            return None
    return candidate(name, part, keep, choice)


@dataclass(frozen=True)
class Judged:
    """What a fit says of the rows of the part."""

    fit: Beside
    rule: Rule
    """Spreads and cut-offs, ..."""
    W: Floats
    """... the directions (p, q) beyond the subspace along which rows were looked at, ..."""
    near: Floats
    """... the rows' weights (m,), between 0 and 1, by their residuals alone, ..."""
    keep: Floats
    """... and by all there is."""

    def without(self, off: Floats) -> Judged:
        """The same where each row loses a share `off` (m,) of its weight."""
        return replace(self, keep=self.keep * (1 - off)) if off.any() else self


def judged(
    part: Part,
    fit: Beside,
    cuts: Cutoffs | None = None,
    settled: float = ROUGHLY,
    W: Floats | None = None,
) -> Judged:
    """Spreads and cut-offs of most rows about a subspace, and the rows' weights by them.

    At least half of all rows have weight. Cut-offs `cuts` that were found before may become
    smaller only. `W` are directions (p, q) to look along, if they are given.
    """
    R, votes = fit.studentised, part.votes
    rule = Rule.by_residuals(R, votes, cuts, settled, fit.common)
    near = near_ones(part, rule, R)
    count = n_next(len(part.Z), part.Z.shape[1], fit.rank) if rule.residual.scale > 0 else 0
    if W is None:
        W = fit.next_directions(votes * near, count)[0]
    if count == 0:  # they may be given all the same, and say nothing
        rule = replace(rule, along=Along.silent(W.shape[1]))
    else:
        rule = rule.with_next(fit.rest @ W, votes * near, settled)
    return weighed(part, fit, rule, W)


def weighed(part: Part, fit: Beside, rule: Rule, W: Floats) -> Judged:
    """The rows' weights by a rule."""
    near = near_ones(part, rule, fit.studentised)
    keep = near * rule.beside(fit.rest @ W)
    enough = part.votes @ keep >= 0.5 * part.total * (1 - 1e-9)
    return Judged(fit, rule, W, near, keep if enough else near)


def widened(part: Part, now: Judged, cuts: Cutoffs | None) -> Judged:
    """The rows' weights by cut-offs that are wider, but no wider than `cuts`."""
    wide = now.rule.cuts.widened()
    wide = wide if cuts is None else wide.tightened(cuts)
    return weighed(part, now.fit, replace(now.rule, cuts=wide), now.W)


def near_ones(part: Part, rule: Rule, R: Floats) -> Floats:
    """Weights (m,) by the residuals alone, of at least half of all rows."""
    near = rule.near(R)
    if part.votes @ near < 0.5 * part.total * (1 - 1e-9):
        near = np.where(weights_of_nearest(R, part.votes) > 0, 1.0, 0.0)
    return near


def candidate(name: str, part: Part, keep: Floats, choice: RankChoice) -> Candidate:
    """How well the rows `keep` (m,) agree on their subspace."""
    fit = beside(part, keep, choice.rank)
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
        n_rows=int(np.count_nonzero(keep)),
        share=float(np.sum(keep)) / part.total,
        limit=0.0 if exact else max(spread.at(COUNTED), half),
        half=half,
        next_variance=float(squares[0]) if len(squares) else 0.0,
    )
