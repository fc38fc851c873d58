"""The loop over all rows of a large table: each pass is measured against a reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from torpca._core.gram import top_of_gram
from torpca._core.measure import product
from torpca._core.problem import check_finite
from torpca._core.stand_in import (
    exact_directions,
    expanded_directions,
    goal,
    gram_about,
    has_gap,
    stand_in_error,
    top_directions,
)
from torpca._core.subspace import subspace_change
from torpca._robust.loop import Found, Settled, State, scatter_inside
from torpca._robust.measure import Measured, measure
from torpca._robust.part import Part, Places
from torpca._robust.reference import Inside, Reference
from torpca._robust.scatter import consistency
from torpca._robust.spread import Along
from torpca._robust.subspace import beside
from torpca._robust.tuning import EQUAL, ROUGHLY, tuning
from torpca._sources import RowSource
from torpca._sources.base import Floats


def reference_of(part: Part, state: State, total: float, rtol: float = ROUGHLY) -> Reference:
    """What a state says of the rows of a table of a weight of `total`."""
    now, fit, u = state.judged, state.judged.fit, part.unit
    kept = state.keep * part.counts
    V, mean = part.in_features(fit.mean, np.hstack([fit.V, now.W]), kept)
    # The fit may speak for all rows of the table, or for those of the part alone.
    weight = fit.weight * (1.0 if state.seen is not None else total / float(np.sum(part.counts)))
    inside = state.inside or inside_of(part, state, rtol).in_axes(np.eye(fit.rank), 0.0, u)
    return Reference(
        mean=mean if part.center else np.zeros(len(V)),
        centered=part.center,
        V=V,
        s=u * np.sqrt(fit.variances * weight),
        rule=now.rule.in_unit(u),
        inside=inside,
        leverage_cut=state.leverage.cut,
    )


def inside_of(part: Part, state: State, rtol: float) -> Inside:
    """Where the good rows of the part are inside the subspace, in its unit."""
    found = scatter_inside(part, state, rtol)
    k = len(found.center)
    return Inside(found.center, found.covariance, found.spread, 1 / consistency(k))


@dataclass(frozen=True)
class OfTable:
    """All rows of a large table, and the part of them by which they are judged."""

    source: RowSource
    rows: Places
    """Numbers of the rows of which the part is made."""
    part: Part
    counts: Floats | None
    """How often each row counts, (n,); None: once."""
    total: float
    """Weight of all rows."""
    gram: Floats | None
    """Gram matrix (d, d) of the rows of the part that it keeps, of a weight of one; None where it
    would be too large, and few rows say too little of it."""
    of_part: float
    """Weight of these rows."""

    @classmethod
    def of(
        cls, source: RowSource, rows: Places, part: Part, settled: Settled, weights: Floats
    ) -> OfTable:
        """All rows, of these `weights` (n,), and the part on which the loop has settled."""
        kept, gram = settled.state.keep * part.counts, None
        if source.shape[1] <= tuning().most_features:
            C = (part.Z - settled.state.judged.fit.mean) * np.sqrt(kept / np.sum(kept))[:, None]
            gram = (C.T @ C) * part.unit**2
        counts = None if np.all(weights == 1.0) else weights
        of_part = float(np.sum(kept))
        return cls(source, rows, part, counts, float(np.sum(weights)), gram, of_part)

    def subspace(self, state: State) -> Found:
        """Measure all rows, and find the principal directions of those that are kept."""
        part, u, k = self.part, self.part.unit, state.judged.fit.rank
        at = reference_of(part, state, self.total).with_arithmetic(self.total)
        before = np.zeros(self.source.shape[0]) if state.seen is None else state.seen.keep
        seen = measure(self.source, at, before, self.counts)
        if not np.all(np.isfinite(seen.summary.products)):
            check_finite(self.source)  # says which rows are not
            raise FloatingPointError(
                "sums over the rows are beyond every float, although each number is finite. Divide "
                "X by a power of two."
            )
        summary, mean = seen.summary, seen.summary.mean(at)
        V, theta, remains, tolerance = self.directions(at, seen, mean)
        weight, keep = summary.weight, seen.keep[self.rows][part.first]
        origin = 0.0 if part.origin is None else part.origin
        variances = theta[:k] / weight / u**2
        fit = beside(part, (mean - origin) / u, V[:, :k], variances, weight, keep)
        fit = replace(fit, common=state.judged.fit.common)
        inside, turn = None, V[:, :k].T @ at.V[:, :k]
        # Else the part was no measure of the scatter, or it was measured in another subspace.
        few_far = 2 * float(summary.far_out[k, k]) < weight
        if few_far and subspace_change(at.V[:, :k], V[:, :k]) <= tuning().same_subspace:
            inside = summary.inside(at).in_axes(turn, V[:, :k].T @ (mean - at.mean))
        return Found(fit, seen, inside, remains, tolerance)

    def directions(
        self, at: Reference, now: Measured, mean: Floats
    ) -> tuple[Floats, Floats, float, float]:
        """Directions (d, any) and eigenvalues of the Gram matrix A of the rows that are kept.

        A is known exactly on the directions of the reference, A V; beyond, that of the part stands
        in for it, or more passes with the same weights. Also how far the subspace would move next,
        as a share of how far it moved, and the change below which it stands.
        """
        k, d, weight = at.rank, len(at.mean), now.summary.weight
        AV, t = now.summary.gram_times(at), tuning()
        whole = weight >= self.total * (1 - EQUAL)
        aim = partial(goal, k=k, weight=weight, whole=whole, d=d, share=t.below_chance)
        if at.exact:  # one step of subspace iteration: there is nothing beyond
            V, theta = exact_directions(at.V[:, :k], AV[:, :k], at.s)
            return V, theta, 0.0, aim(theta)
        if self.gram is None:
            centered, single = at.centered, at.single
            multiply = partial(
                product, self.source, mean, now.counts, centered=centered, single=single
            )
            V, theta = expanded_directions(multiply, at.V, AV, k, aim)
            return V, theta, t.below_chance, aim(theta)
        V, theta = top_directions(self.gram * weight, at.V, AV)
        remains = stand_in_error(theta, k, self.of_part, d)
        moved = subspace_change(at.V[:, :k], V[:, :k])
        if not has_gap(theta, k) and moved > t.same_subspace:
            # Of directions that are nearly alike the part prefers those in which its own rows
            # happen to spread. No stand-in will do: the Gram matrix of all rows.
            G = gram_about(self.source, mean, now.counts, centered=at.centered)
            V, s = top_of_gram(G, at.V.shape[1])
            theta, remains = s**2, t.below_chance
        return V, theta, remains, aim(theta)


def begin_passes(found: Settled) -> Settled:
    """The same with directions beyond the subspace, towards which it may turn, and no anchor."""
    state, now = found.state, found.state.judged
    if now.W.shape[1] == 0 and not now.rule.residual.exact:
        W = now.fit.next_directions(state.keep, max(tuning().n_next, 1))[0]
        now = replace(now, W=W, rule=replace(now.rule, along=Along.silent(W.shape[1])))
    return replace(found, state=replace(state, now=now, anchor=np.inf))
