"""What a fit says of the rows: distances, scatter, limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lstsq

from torpca._core.loop import Iteration
from torpca._core.moments import weighted
from torpca._core.subspace import RESOLVED, Fit, SubspaceFinder, fix_signs, norm, polished
from torpca._options import Options
from torpca._robust.beside import beside
from torpca._robust.measure import distances
from torpca._robust.part import Part
from torpca._robust.passes import Passing
from torpca._robust.settle import Settled
from torpca._robust.start import Start
from torpca._robust.tuning import tuning
from torpca._select.rank import RankChoice
from torpca._sources import RowSource
from torpca._sources.base import Floats
from torpca._stats.cutoffs import taper
from torpca._stats.draw import some_rows
from torpca._stats.leave_out import LeftOut, leave_out
from torpca._stats.limits import Limits, fitted_limits
from torpca._stats.rule import Rule, free_part
from torpca._stats.scatter import FAR_OUT, PROBE_ROWS, mahalanobis, robust_scatter
from torpca._stats.spread import Spread

# Standard deviations beyond which a row is not a good one: where a share was left out, or no more
# than a tail may hold (by two standard deviations of a share), and where more are too far off.
GOOD, TAIL, GOOD_OF_MANY = 5.5, 0.05, 3.5
# Rows, and rows for each feature, from which on leaving one of them out makes no difference, and
# numbers in rows with which it costs too much.
MANY, ENOUGH, NUMBERS = 500, 20, 2**21


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


@dataclass(frozen=True)
class OnTable:
    """The fit of the settled rows on the table itself."""

    fit: Fit
    keep: Floats
    """Weights (n,) of the rows of the table."""
    residuals: Floats
    studentised: Floats


def on_table(
    source: RowSource, magnitudes: Floats, part: Part, found: Settled, sample_weight: Floats
) -> OnTable:
    """The subspace of the settled rows, to rounding, and the distances of all rows from it."""
    keep = part.of_table(found.keep)
    if part.span is None:
        finder = SubspaceFinder(source, magnitudes, part.center)
        fit = finder.find(keep * sample_weight, found.choice.rank, polish=True)
    else:
        fit = in_features(source, part, found)
    return OnTable(fit, keep, *residuals(fit, keep))


def describe(
    source: RowSource,
    magnitudes: Floats,
    part: Part,
    found: Settled,
    start: Start,
    options: Options,
    sample_weight: Floats,
    rng: np.random.Generator,
) -> RobustFit:
    """Distances, scatter and limits of all rows, given where the iterations ended."""
    on = on_table(source, magnitudes, part, found, sample_weight)
    fit, R, keep, center = on.fit, on.residuals, on.keep, part.center
    weights = keep * sample_weight
    if found.trimmed:
        # How many rows the fit left out is no measure of how far good rows are.
        weights = sample_weight * taper(Spread.of(R, sample_weight).z(R), GOOD)
    k = fit.V.shape[1]
    Y, unit = fit.scores_in_unit(weights)
    scatter = robust_scatter(Y, weights, center, rng)
    score = mahalanobis(Y, scatter.center, scatter.covariance)
    near = np.where(scatter.weights > 0, sample_weight, 0.0)
    left = None if found.trimmed else left_out(source, part, on, sample_weight)
    good = weights
    if not found.trimmed:
        rule = found.at.judged.rule
        z = part.of_table(rule.residual.z(found.at.fit.studentised))
        good = sample_weight * within_good(rule, keep, z, sample_weight)
    limits = fitted_limits(
        score,
        near,
        R,
        good,
        k,
        beyond=k < fit.V.shape[0],
        center=center,
        left=left,
        share=options.beyond,
    )
    V, scales = principal_axes(fit.V, scatter.covariance)
    mean = None if fit.mean is None else fit.mean + unit * (fit.V @ scatter.center)
    n_good = float(np.sum(weights))
    inside = weights > 0
    left_over = norm(np.sqrt(weights[inside]) * R[inside]) / np.sqrt(max(1.0, n_good - center))
    return RobustFit(
        route="rows" if part.span is None else "span",
        mean=mean,
        V=V,
        scales=unit * scales,
        left_over=left_over,
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


def describe_passes(
    source: RowSource,
    where: Passing,
    found: Settled,
    start: Start,
    options: Options,
    sample_weight: Floats,
    rng: np.random.Generator,
) -> RobustFit:
    """The same of many rows, of which only some are looked at again."""
    at, keep, k = where.at, where.keep, where.at.rank
    score, R = distances(source, at)
    judges = some_rows(sample_weight, PROBE_ROWS, rng)
    counts = sample_weight[judges]
    good = within_good(at.rule, keep[judges], at.rule.residual.z(R[judges]), counts) * counts
    far = at.inside.spread.z(score[judges] / np.sqrt(at.inside.shrink)) >= FAR_OUT
    near = np.where((good > 0) & ~far, counts, 0.0)
    limits = fitted_limits(
        score[judges],
        near,
        R[judges],
        good,
        k,
        beyond=k < at.V.shape[0],
        center=at.centered,
        share=options.beyond,
    )
    # No products of all rows are stored: of short rows they are a good part of the data.
    n_good = float(keep @ sample_weight)
    square = float(np.einsum("i,i,i,i->", keep, sample_weight, R, R))
    V, scales = principal_axes(at.V[:, :k], at.inside.covariance)
    return RobustFit(
        route="exact" if at.exact else "passes",
        mean=at.mean + at.V[:, :k] @ at.inside.center if at.centered else None,
        V=V,
        scales=scales,
        left_over=float(np.sqrt(square / max(1.0, n_good - at.centered))),
        n_good=n_good,
        weights=keep,
        score_distances=score,
        orthogonal_distances=R,
        limits=limits,
        span=None,
        rank=found.choice,
        start=start,
        history=found.history,
        converged=found.converged,
    )


def principal_axes(V: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Principal directions (d, k) of good rows in the subspace V, and their deviations (k,)."""
    theta, Q = np.linalg.eigh(covariance)
    return fix_signs(V @ Q[:, ::-1]), np.sqrt(np.maximum(theta[::-1], 0.0))


def within_good(rule: Rule, keep: Floats, z: Floats, counts: Floats) -> Floats:
    """Weights (n,) of the rows by which limits on orthogonal distances are found.

    They are `keep` (n,), or more for rows whose residuals, `z` (n,), are the reason for less: a fit
    may leave rows out that are not far off, and a limit found without them would be too small.
    `counts` (n,) says how often each row counts.
    """
    lost = 1 - float(np.average(keep, weights=counts))
    good = GOOD if lost < TAIL + 1 / np.sqrt(np.count_nonzero(counts)) else GOOD_OF_MANY
    if rule.cuts.residual >= good or rule.residual.scale == 0.0:
        return keep
    by_residual = (keep > 0) | (z >= tuning().taper * rule.cuts.residual)
    return np.where(by_residual, np.maximum(keep, taper(z, good)), keep)


def left_out(source: RowSource, part: Part, on: OnTable, sample_weight: Floats) -> LeftOut | None:
    """What leaving out one row at a time says of new rows.

    None where that costs too much, or where one row makes no difference.
    """
    good = np.flatnonzero(on.keep)
    n, d = len(good), part.Z.shape[1]
    if on.fit.frame.factors is not None or n * d > NUMBERS or n > max(MANY, ENOUGH * d):
        return None
    rows = source.take(good) if part.span is None else part.Z[part.copies[good]] * part.unit
    return leave_out(
        rows,
        on.keep[good],
        sample_weight[good],
        on.fit.V.shape[1],
        center=part.center,
        n_features=on.fit.V.shape[0],
    )


def in_features(source: RowSource, part: Part, found: Settled) -> Fit:
    """The fit of rows that settled in their span, in terms of the features.

    A basis E (d, p) of the span has Z = (X - origin) E, so E = (X - origin)' Z (Z'Z)^-1.
    """
    span = part.span
    assert span is not None
    weights = found.keep * part.counts
    fit = beside(part, weights, found.choice.rank, part.counts, sharp=True)
    rows, mean = span.frame.about(span.origin), None
    Y = np.zeros((source.shape[0], fit.rank + 1))
    Y[part.first, -1] = weights / fit.weight
    if fit.rank:
        # By a pivoted QR decomposition: five times as fast as by singular values.
        Y[part.first, :-1] = lstsq(
            part.Z.T, fit.V, cond=1e-12, lapack_driver="gelsy", check_finite=False
        )[0]
    there = np.zeros(source.shape[0], dtype=bool)
    there[part.first] = True
    B = rows.rmatmul(there, Y)
    if span.origin is not None:
        mean = span.origin + B[:, -1] * span.frame.unit
    Q, upper = np.linalg.qr(B[:, :-1])
    V = Q * np.sign(np.diag(upper))
    s = np.sqrt(fit.variances * fit.weight * part.each) * part.unit
    if len(s) and s[-1] <= RESOLVED * s[0]:
        view, mask = weighted(span.frame.about(mean), part.of_table(found.keep) * there)
        V, s = polished(view, mask, V, s / span.frame.unit)
        s = s * span.frame.unit
    eps = float(np.finfo(source.dtype).eps)
    return Fit(mean, fix_signs(V), s, span.frame, eps, 1.0)


def residuals(fit: Fit, keep: Floats) -> tuple[Floats, Floats]:
    """Residual R of every row, and R on equal terms for rows in the fit or not."""
    E, R = fit.scores()
    R = np.where(fit.rounding(E, R) >= R, 0.0, R)
    h = np.minimum(E, 1e100) ** 2
    return R, R / np.sqrt(free_part(h, keep))
