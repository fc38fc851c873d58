"""The iterations: fit a subspace to the kept rows, weigh all rows by it, until nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from torpca._core.loop import Iteration
from torpca._core.stand_in import beside_of
from torpca._core.subspace import spectrum_change, subspace_change
from torpca._options import Options
from torpca._robust.beside import Beside, beside, beside_these
from torpca._robust.choice import few_rows, less
from torpca._robust.concentration import Judged, judged, widened
from torpca._robust.leverage import Leverage
from torpca._robust.part import Part, from_span
from torpca._robust.rank import rank_of
from torpca._robust.tilt import tilts
from torpca._robust.tuning import tuning
from torpca._select.rank import RankChoice
from torpca._sources import RowSource
from torpca._sources.base import Floats
from torpca._stats.cutoffs import nearest
from torpca._stats.lines import rms_of_half
from torpca._stats.rule import Rule
from torpca._stats.scatter import robust_scatter

State = TypeVar("State")

# Iterations in which the next directions are found anew. Those that hardly differ in size turn from
# one to the next, and other rows are far out along them each time.
FRESH = 3
# Iterations in which rows are weighed anew.
MAX_LOOKS = 30


@dataclass(frozen=True)
class Turn(Generic[State]):
    """One iteration: all rows measured, and what they say of the next."""

    at: State
    record: Iteration
    stands: bool
    """Whether nothing would move any more."""


def settle(
    at: State,
    turn: Callable[[State, int], Turn[State]],
    history: tuple[Iteration, ...],
    max_iter: int,
) -> tuple[State, tuple[Iteration, ...], bool]:
    """Measure and update until nothing moves: where, the history, and whether it settled."""
    while True:
        found = turn(at, len(history))
        at, history = found.at, (*history, found.record)
        if found.stands or len(history) >= max_iter:
            return at, history, found.stands


@dataclass(frozen=True)
class At:
    """Where the iterations on the part are."""

    keep: Floats
    """Weights (m,) of its rows, between 0 and 1."""
    leverage: Leverage
    """What becomes of rows far out inside the subspace."""
    nearest: float = np.inf
    """Root-mean-square residual of the nearest half of all rows about the start; infinite if there
    was a gap: then rows that come back cannot draw the subspace far from it."""
    now: Judged | None = None
    """What the last fit said of them; None: there was none."""
    strict: bool = False
    """Whether rows that the stricter cut-offs leave out would tilt the subspace."""
    looks: int = 0
    """How often rows were weighed."""

    @property
    def judged(self) -> Judged:
        """The same where there was a fit."""
        assert self.now is not None
        return self.now

    @property
    def fit(self) -> Beside:
        """The last fit."""
        return self.judged.fit


def on_part(at: At, t: int, part: Part, rank: int, options: Options, settled: float) -> Turn[At]:
    """One iteration on the rows of the part: fit a subspace, then weigh all of them by it.

    The cut-offs of a start are as small as it needs to be clean; good rows should not be lost for
    nothing. Rows between them and wider ones have weight unless together they tilt the subspace, or
    draw it away from the nearest half of all rows.
    """
    kept = at.keep * part.counts
    fit = beside(part, kept, rank, part.counts)
    fit = fit.with_common(kept) if at.now is None else replace(fit, common=at.fit.common)
    strict, looks = at.strict, at.looks + 1
    if not strict and draws_away(part, fit, at.nearest):
        strict, fit = True, fit if at.now is None else at.fit
    if options.trim is not None:
        now = trimmed(part, fit, options.trim)
    elif at.now is not None and looks > MAX_LOOKS:
        now = replace(at.now, fit=fit)
    else:
        cuts = None if at.now is None else at.now.rule.cuts
        W = None if looks <= FRESH else beside_of(fit.V, at.judged.W)
        now = judged(part, fit, cuts if strict else None, settled, W)
        if not (strict or now.rule.residual.exact):
            wide = widened(part, now, cuts)
            back = np.maximum(wide.keep - now.keep, 0.0)
            strict = tilts(fit, now.keep * part.votes, back * part.votes)
            now = now if strict else wide
        now = now.without(at.leverage.off)
    moved = change = 1.0
    if at.now is not None:
        change = subspace_change(at.fit.V, fit.V)
        moved = max(change, spectrum_change(at.fit.variances, fit.variances))
    stands = moved <= options.tol or np.array_equal(now.keep, at.keep)
    after = replace(at, keep=now.keep, now=now, strict=strict, looks=looks)
    return Turn(after, record(part, t, now, change), bool(stands))


@dataclass(frozen=True)
class Settled:
    """Where the iterations on the part ended."""

    at: At
    counts: Floats
    """How often each row counts, (m,)."""
    choice: RankChoice
    history: tuple[Iteration, ...]
    converged: bool
    trimmed: bool
    """Whether a given share of the rows was left out, not those that are too far off."""

    @property
    def keep(self) -> Floats:
        """Weights (m,) of the rows, between 0 and 1."""
        return self.at.keep


def settle_on_part(
    part: Part, begin: At, choice: RankChoice, options: Options, settled: float
) -> Settled:
    """Iterate from the weights to `begin` with until the number of components stands."""
    history: tuple[Iteration, ...] = ()
    ranks: set[int] = set()
    while True:
        turn = partial(on_part, part=part, rank=choice.rank, options=options, settled=settled)
        at, history, converged = settle(begin, turn, history, options.max_iter)
        found = Settled(at, part.counts, choice, history, converged, options.trim is not None)
        if choice.rule == "exact":
            return found
        # Rows far out inside have no say in variances.
        share = at.keep if choice.rule == "given" else inner(part, found)
        again = rank_of(part, share * part.counts, options.rank)
        if again.rank == choice.rank:
            return replace(found, choice=again)
        # Of two ranks that each ask for the other, the larger explains enough.
        ranks.add(choice.rank)
        if again.rank in ranks and again.rank < choice.rank:
            return found
        if len(history) >= options.max_iter:
            return replace(found, converged=False)
        choice, begin = again, At(at.keep, at.leverage)


def draws_away(part: Part, fit: Beside, nearest: float) -> bool:
    """Whether the nearest half of all rows is clearly farther from the fit than it was."""
    margin = tuning().closer ** few_rows(len(part.Z))
    return less(nearest, rms_of_half(fit.studentised, part.votes), margin)


def trimmed(part: Part, fit: Beside, trim: float) -> Judged:
    """A given share of the rows left out, by the residuals themselves, as in the paper."""
    keep = nearest(fit.residuals, trim, part.counts)
    rule = Rule.by_residuals(fit.residuals, part.votes)
    return Judged(fit, rule, np.zeros((len(fit.V), 0)), keep, keep)


def record(part: Part, t: int, now: Judged, change: float) -> Iteration:
    """Entry of the history."""
    rows = now.keep[part.copies] > 0
    near = now.near[part.copies] > 0
    there = part.copies >= 0
    kept = there & rows
    dropped = {
        "residual": int(np.count_nonzero(there & ~near)),
        "direction": int(np.count_nonzero(there & near & ~rows)),
    }
    inside = now.keep > 0
    squares = part.counts[inside] @ np.square(now.fit.residuals[inside])
    objective = np.sqrt(part.each * squares) * part.unit
    return Iteration(
        t, now.fit.rank, dropped, int(np.count_nonzero(kept)), change, float(objective)
    )


def inner(part: Part, found: Settled) -> Floats:
    """Share (m,) of the weight of each row that is kept and not far out inside the subspace."""
    weights = found.keep * part.counts
    Y = found.at.fit.scores
    if Y.shape[1] > 0:
        weights = robust_scatter(Y, weights, part.center, np.random.default_rng(0)).weights
    return weights / part.counts


def settled_in_features(part: Part, found: Settled, source: RowSource) -> tuple[Part, Settled]:
    """The part and what settled on it, in the features of `source` instead of the rows' span."""
    there, now, k = part.in_features(source), found.at.judged, found.at.fit.rank
    weights = found.keep * part.counts
    turned = from_span(part, there.Z.T, np.hstack([now.fit.V, now.W]))
    mean = np.zeros(len(turned))
    if part.center:
        mean = there.Z.T @ (weights / np.sum(weights))
    fit = now.fit
    fit = beside_these(there, mean, turned[:, :k], fit.variances, fit.total, fit.weight, found.keep)
    now = replace(now, fit=replace(fit, common=now.fit.common), W=turned[:, k:])
    return there, replace(found, at=replace(found.at, now=now))
