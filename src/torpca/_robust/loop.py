"""The loop: find the subspace of the rows that are kept, weigh all rows by it, until it stands.

The same over the rows of the part, all of which are in memory, and over all rows of a large table,
of which a pass adds up a `Summary` against a `Reference`. Either way the part says where good rows
end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from torpca._core.loop import Iteration
from torpca._core.stand_in import beside_of
from torpca._core.subspace import spectrum_change, subspace_change
from torpca._options import Options
from torpca._robust.choice import few_rows, less
from torpca._robust.concentration import Judged, judged
from torpca._robust.leverage import Leverage
from torpca._robust.lines import rms_of_half
from torpca._robust.measure import Measured
from torpca._robust.part import Part
from torpca._robust.rank import RankChoice
from torpca._robust.reference import Inside
from torpca._robust.rule import Rule, nearest, taper
from torpca._robust.scatter import Scatter, robust_scatter
from torpca._robust.start import rank_of
from torpca._robust.subspace import Subspace, subspace_of
from torpca._robust.tuning import EQUAL, SETTLED, tuning
from torpca._sources.base import Floats


@dataclass(frozen=True)
class State:
    """Where the loop is."""

    keep: Floats
    """Weights (m,) of the rows of the part, between 0 and 1."""
    leverage: Leverage
    """What becomes of rows far out inside the subspace."""
    anchor: float = np.inf
    """Root-mean-square residual of the nearest half of all rows about the start; infinite if there
    was a gap: then rows that come back cannot draw the subspace far from it."""
    now: Judged | None = None
    """What the last fit said of the rows of the part; None: there was none."""
    steps: int = 0
    """How often rows were weighed."""
    seen: Measured | None = None
    """What the last pass over all rows said of them; None: there was none."""
    inside: Inside | None = None
    """Where good rows were inside the subspace in that pass, in the table's unit."""

    @property
    def judged(self) -> Judged:
        """What the last fit said of the rows of the part, where there was one."""
        assert self.now is not None
        return self.now


@dataclass(frozen=True)
class Found:
    """The subspace of the rows that are kept, and how near it is to where it will stand."""

    fit: Subspace
    seen: Measured | None = None
    inside: Inside | None = None
    remains: float = 1.0
    """How far it would move next, as a share of how far it moved."""
    goal: float = 0.0
    """Change below which it stands."""


class Rows(Protocol):
    """Rows to loop over."""

    def subspace(self, state: State) -> Found:
        """The subspace of those that a state keeps."""


@dataclass(frozen=True)
class OfPart:
    """The rows of the part themselves."""

    part: Part
    rank: int

    def subspace(self, state: State) -> Found:
        """Principal directions of the rows that are kept."""
        kept = state.keep * self.part.counts
        fit = subspace_of(self.part, kept, self.rank, self.part.counts)
        if state.now is None:
            return Found(fit.with_common(kept))
        return Found(replace(fit, common=state.judged.fit.common))


@dataclass(frozen=True)
class Settled:
    """Where the loop ended."""

    state: State
    choice: RankChoice
    history: tuple[Iteration, ...] = ()
    converged: bool = False


def settle(
    rows: Rows, part: Part, begin: Settled, options: Options, rtol: float = SETTLED
) -> Settled:
    """Find the subspace and weigh the rows by it in turn, until neither would change any more.

    That is if the subspace and the variances in it moved by no more than `tol`, or than chance
    does, or if the weights are the same. Spreads are found to a share `rtol` of themselves.
    """
    state, history = begin.state, begin.history
    while True:
        found = rows.subspace(state)
        after = weigh(part, found, state, options, rtol)
        moved = change = 1.0
        if state.now is not None:
            before, fit = state.now.fit, after.judged.fit
            moved = change = subspace_change(before.V, fit.V)
            if found.seen is None:
                moved = max(change, spectrum_change(before.variances, fit.variances))
        stands = found.remains * moved <= max(options.tol, found.goal)
        if found.seen is None:
            stands = stands or np.array_equal(after.keep, state.keep)
        else:  # what was measured in it is to be true of it
            stands = stands and change <= tuning().same_subspace
        history = (*history, record(part, after, len(history), change))
        state = after
        if stands or len(history) >= options.max_iter:
            return replace(begin, state=state, history=history, converged=bool(stands))


def weigh(part: Part, found: Found, state: State, options: Options, rtol: float) -> State:
    """The state after the rows of the part were weighed by the subspace that was found.

    Cut-offs become smaller only. Where rows that came back draw the subspace away from the nearest
    half of all rows, it stays.
    """
    before, fit, W = state.now, found.fit, None
    if before is not None:
        fit = before.fit if draws_away(part, fit, state.anchor) else fit
        # Directions that hardly differ in size turn from one iteration to the next, and other rows
        # are far out along them each time: they stay.
        W = beside_of(fit.V, before.W)
    if options.trim is not None:
        now = trimmed(part, fit, options.trim)
    elif before is not None and W is not None and state.steps >= tuning().rounds:
        now = replace(before, fit=fit, W=W)  # no settling: rules and weights stay
    else:
        now = judged(part, fit, None if before is None else before.rule.cuts, rtol, W)
    if state.leverage.off.any():
        now = replace(now, keep=now.keep * (1 - state.leverage.off))
    return replace(
        state,
        keep=now.keep,
        now=now,
        steps=state.steps + 1,
        seen=found.seen,
        inside=found.inside,
    )


def settle_on_part(
    part: Part, begin: State, choice: RankChoice, options: Options, rtol: float
) -> Settled:
    """The loop over the rows of the part, until the number of components stands, too."""
    found, ranks = Settled(begin, choice), set[int]()
    while True:
        found = settle(OfPart(part, found.choice.rank), part, found, options, rtol)
        choice, state = found.choice, found.state
        if choice.rule == "exact":
            return found
        # Rows far out inside have no say in variances.
        share = state.keep * part.counts
        share = share if choice.rule == "given" else scatter_inside(part, state).weights
        again = rank_of(part, share, options.rank)
        if again.rank == choice.rank:
            return replace(found, choice=again)
        # Of two ranks that each ask for the other, the larger explains enough.
        ranks.add(choice.rank)
        if again.rank in ranks and again.rank < choice.rank:
            return found
        if len(found.history) >= options.max_iter:
            return replace(found, converged=False)
        found = replace(found, choice=again, state=State(state.keep, state.leverage))


def scatter_inside(part: Part, state: State, rtol: float = EQUAL) -> Scatter:
    """Robust scatter of the scores of the rows that are kept."""
    weights, rng = state.keep * part.counts, np.random.default_rng(0)
    return robust_scatter(state.judged.fit.scores, weights, part.center, rng, rtol)


def draws_away(part: Part, fit: Subspace, anchor: float) -> bool:
    """Whether the nearest half of all rows is clearly farther from the fit than it was."""
    margin = tuning().closer ** few_rows(len(part.Z))
    return less(anchor, rms_of_half(fit.studentised, part.votes), margin)


def trimmed(part: Part, fit: Subspace, trim: float) -> Judged:
    """A given share of the rows left out, by the residuals themselves, as in the paper.

    That is no measure of how far good rows are: "near" are all within the limit of a tail.
    """
    rule = Rule.by_residuals(fit.residuals, part.votes)
    near = taper(rule.residual.z(fit.residuals), tuning().good)
    keep = nearest(fit.residuals, trim, part.counts)
    return Judged(fit, rule, np.zeros((len(fit.V), 0)), near, keep)


def record(part: Part, state: State, t: int, change: float) -> Iteration:
    """Entry of the history: of the rows of the part, or of all of them after a pass."""
    now = state.judged
    if state.seen is not None:
        s = state.seen.summary
        n_rows, n_kept, n_far = state.seen.n_rows, int(s.n_kept), int(s.n_far)
        objective = float(np.sqrt(s.squares))
    else:
        there = part.copies >= 0
        n_rows = int(np.count_nonzero(there))
        n_kept = int(np.count_nonzero(now.keep[part.copies[there]] > 0))
        n_far = int(np.count_nonzero(now.near[part.copies[there]] == 0))
        squares = (now.keep > 0) * part.counts @ np.square(now.fit.residuals)
        objective = float(np.sqrt(part.each * squares)) * part.unit
    dropped = {"residual": n_far, "direction": max(n_rows - n_kept - n_far, 0)}
    return Iteration(t, now.fit.rank, dropped, n_kept, change, objective)
