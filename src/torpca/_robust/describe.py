"""What a fit says of the rows: distances, scatter, limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from torpca._core.loop import Iteration
from torpca._core.moments import weighted
from torpca._core.subspace import RESOLVED, SHARP, fix_signs, norm, polished
from torpca._options import Options
from torpca._robust.draw import some_rows
from torpca._robust.limits import Limits, fitted_limits, good_rows, new_rows
from torpca._robust.loop import Settled
from torpca._robust.measure import distances
from torpca._robust.part import Part
from torpca._robust.passes import reference_of
from torpca._robust.rank import RankChoice
from torpca._robust.reference import Reference
from torpca._robust.start import Start
from torpca._robust.subspace import subspace_of
from torpca._robust.tuning import SETTLED, tuning
from torpca._sources import RowSource
from torpca._sources.base import Floats


@dataclass(frozen=True)
class RobustFit:
    """Principal components of the good rows, and what each row has to do with them."""

    route: str
    """How the fit went: on all "rows", in their "span", in "passes", or in "exact" ones."""
    mean: Floats | None
    V: Floats
    """Principal directions (d, k) of the good rows."""
    scales: Floats
    """Standard deviations of the good rows along them, (k,)."""
    left_over: float
    """Root-mean-square distance of the good rows from the subspace."""
    n_good: float
    """Weight of the rows behind these numbers, in rows."""
    weights: Floats
    """Weight of each row in the subspace, between 0 and 1, (n,)."""
    score_distances: Floats
    orthogonal_distances: Floats
    limits: Limits
    """Limits on both distances, for rows of the fit as for new ones."""
    span: Floats | None = field(repr=False)
    """The rows in a basis of their span, where they were iterated on in it."""
    rank: RankChoice
    start: Start
    history: tuple[Iteration, ...] = field(repr=False)
    converged: bool

    def in_unit(self, unit: float) -> RobustFit:
        """The same of rows that are `unit` times these."""
        limits = replace(self.limits, orthogonal=self.limits.orthogonal * unit)
        return replace(
            self,
            mean=None if self.mean is None else self.mean * unit,
            scales=self.scales * unit,
            left_over=self.left_over * unit,
            orthogonal_distances=self.orthogonal_distances * unit,
            limits=limits,
        )


def sharp_reference(
    source: RowSource, part: Part, found: Settled, sample_weight: Floats
) -> Reference:
    """The subspace of the rows that the loop kept, all of a table, to rounding."""
    state, now = found.state, found.state.judged
    kept = state.keep * part.counts
    fit = subspace_of(part, kept, found.choice.rank, part.counts, sharp=True)
    state = replace(state, now=replace(now, fit=fit, W=np.zeros((len(fit.V), 0))))
    at = replace(reference_of(part, state, float(np.sum(sample_weight)), SETTLED), formed=True)
    k = fit.rank
    if k == 0:
        return at
    last, first = fit.variances[-1], fit.variances[0]
    following = fit.next_directions(kept, 1)[1]
    gap = last - (following[0] if len(following) else 0.0)
    blurred = at.exact or len(following) == 0 or first > SHARP * gap
    # Of small directions singular values of the rows themselves know more, if they were at hand.
    if blurred and (last > (RESOLVED**2) * first or part.span is not None):
        weights = part.of_table(state.keep) * sample_weight
        rows, mask = weighted(source.centered(at.mean) if part.center else source, weights)
        V, s = polished(rows, mask, at.V, at.s)
        turn = V.T @ at.V
        return replace(at, V=V, s=s, inside=at.inside.in_axes(turn, np.zeros(k)))
    return at


def describe(
    source: RowSource,
    at: Reference,
    part: Part,
    found: Settled,
    start: Start,
    options: Options,
    sample_weight: Floats,
    rng: np.random.Generator,
) -> RobustFit:
    """Distances, scatter and limits of all rows, given where the loop ended."""
    state, k, d = found.state, at.rank, len(at.V)
    whole = state.seen is None
    keep = part.of_table(state.keep) if state.seen is None else state.seen.keep
    score, R = distances(source, at)
    # Limits come from some of many rows.
    probe = some_rows(sample_weight, tuning().probe_rows, rng)
    counts = sample_weight[probe]
    if whole:
        z = part.of_table(at.rule.residual.z(state.judged.fit.studentised * part.unit))[probe]
    else:  # of so many rows, leverages change residuals by a thousandth or so
        z = at.rule.residual.z(R[probe])
    new, cut = None, at.rule.cuts.residual
    if options.trim is not None:
        good = counts * part.of_table(state.judged.near)[probe]
    elif at.exact:
        good = counts * keep[probe]
    else:
        good = counts * good_rows(keep[probe], z, cut)
    if whole and options.trim is None:
        kept = state.keep * part.counts
        new = new_rows(part.Z, kept, k, n_features=d, center=at.centered)
    far_out = at.inside.spread.z(score[probe] / np.sqrt(at.inside.shrink)) >= tuning().far_out
    near = np.where((good > 0) & ~far_out, counts, 0.0)
    limits = fitted_limits(
        score[probe],
        near / part.each,
        R[probe],
        good / part.each,
        k,
        n_features=d,
        center=at.centered,
        share=options.beyond,
        new=new,
    )
    weights = keep * sample_weight
    if options.trim is not None:
        weights = sample_weight * part.of_table(state.judged.near)
    n_good, inside = float(np.sum(weights)), weights > 0
    residual = norm(np.sqrt(weights[inside]) * R[inside])
    theta, Q = np.linalg.eigh(at.inside.covariance)
    route = "rows" if part.span is None else "span"
    return RobustFit(
        route=route if whole else "exact" if at.exact else "passes",
        mean=at.mean + at.V[:, :k] @ at.inside.center if at.centered else None,
        V=fix_signs(at.V[:, :k] @ Q[:, ::-1]),
        scales=np.sqrt(np.maximum(theta[::-1], 0.0)),
        left_over=residual / np.sqrt(max(1.0, n_good - at.centered)),
        n_good=n_good,
        weights=keep,
        score_distances=score,
        orthogonal_distances=R,
        limits=limits,
        span=None
        if part.span is None
        else np.where(part.copies[:, None] >= 0, part.Z[part.copies], 0.0),
        rank=found.choice,
        start=start,
        history=found.history,
        converged=found.converged,
    )
