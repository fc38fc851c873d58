"""What a fit says of the rows: distances, scatter, limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torpca._core.loop import Iteration
from torpca._core.subspace import fix_signs, norm
from torpca._robust.settle import Settled
from torpca._robust.start import Start
from torpca._select.rank import RankChoice
from torpca._sources.base import Floats
from torpca._stats.cutoffs import taper
from torpca._stats.limits import (
    LEVEL,
    NUMBERS,
    LeftOut,
    NewRows,
    leave_out,
    limits_of,
    new_limits,
)
from torpca._stats.rule import Rule
from torpca._stats.scatter import mahalanobis, robust_scatter
from torpca._stats.spread import Spread
from torpca._tuning import tuning

# Standard deviations beyond which a row is not a good one: where a share was left out, or no more
# than a tail may hold (by two standard deviations of a share), and where more are too far off.
GOOD, TAIL, GOOD_OF_MANY = 5.5, 0.1, 3.5
# Rows, and rows for each feature, from which on leaving one of them out makes no difference.
MANY, ENOUGH = 500, 20


@dataclass(frozen=True)
class RobustFit:
    """Principal components of the good rows, and what each row has to do with them."""

    route: str
    """How the fit went: by all "rows", their "ellipsoid" or "span", "exact", in "passes"."""
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
    limits: dict[str, float]
    span: Floats | None = field(repr=False)
    """The rows in a basis of their span, where they were iterated on in it."""
    new_rows: NewRows | None
    """Limits for rows that the fit has not seen; None: the same."""
    rank: RankChoice
    start: Start
    history: tuple[Iteration, ...] = field(repr=False)
    converged: bool


def describe(settled: Settled, rng: np.random.Generator, share: float = LEVEL) -> RobustFit:
    """Distances, scatter and limits of all rows, given the subspace.

    `share` of the good rows are beyond a limit if they are Gaussian.
    """
    fit, R, studentised = settled.fit, settled.residuals, settled.studentised
    sample_weight, center = settled.sample_weight, fit.mean is not None
    weights = settled.keep * sample_weight
    if settled.trimmed:
        # How many rows the fit left out is no measure of how far good rows are.
        studentised = R
        weights = sample_weight * taper(Spread.of(R, sample_weight).z(R), GOOD)
    k = fit.V.shape[1]
    Y, unit = fit.scores_in_unit(weights)
    scatter = robust_scatter(Y, weights, center, rng)
    score = mahalanobis(Y, scatter.center, scatter.covariance)
    near = np.where(scatter.weights > 0, sample_weight, 0.0)
    left = None if settled.trimmed else left_out(settled, center)
    good = weights
    if settled.good is not None:
        good = sample_weight * settled.good
    elif not settled.trimmed:
        z = settled.rule.residual.z(settled.studentised)
        good = sample_weight * within_good(settled.rule, settled.keep, z)
    known: dict[str, Any] = {"beyond": k < fit.V.shape[0], "center": center, "left": left}
    limits = limits_of(score, near, R, good, k, share=share, **known)
    new = new_limits(score, near, R, studentised, good, k, share=share, **known)
    V, scales = principal_axes(fit.V, scatter.covariance)
    mean = None if fit.mean is None else fit.mean + unit * (fit.V @ scatter.center)
    n_good = float(np.sum(weights))
    inside = weights > 0
    left_over = norm(np.sqrt(weights[inside]) * R[inside]) / np.sqrt(max(1.0, n_good - center))
    return RobustFit(
        route=settled.route,
        mean=mean,
        V=V,
        scales=unit * scales,
        left_over=left_over,
        n_good=n_good,
        weights=settled.keep,
        score_distances=score,
        orthogonal_distances=R,
        limits=limits,
        span=settled.rows.take(np.arange(len(R))) if settled.route == "span" else None,
        new_rows=new,
        rank=settled.choice,
        start=settled.start,
        history=settled.history,
        converged=settled.converged,
    )


def principal_axes(V: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Principal directions (d, k) of good rows in the subspace V, and their deviations (k,)."""
    theta, Q = np.linalg.eigh(covariance)
    return fix_signs(V @ Q[:, ::-1]), np.sqrt(np.maximum(theta[::-1], 0.0))


def within_good(rule: Rule, keep: Floats, z: Floats) -> Floats:
    """Weights (n,) of the rows by which limits on orthogonal distances are found.

    They are `keep` (n,), or more for rows whose residuals, `z` (n,), are the reason for less: a fit
    may leave rows out that are not far off, and a limit found without them would be too small.
    """
    good = GOOD if 1 - float(np.mean(keep)) < TAIL + 1 / np.sqrt(len(keep)) else GOOD_OF_MANY
    if rule.cuts.residual >= good or rule.residual.scale == 0.0:
        return keep
    by_residual = (keep > 0) | (z >= tuning().taper * rule.cuts.residual)
    return np.where(by_residual, np.maximum(keep, taper(z, good)), keep)


def left_out(settled: Settled, center: bool) -> LeftOut | None:
    """What leaving out one row at a time says of new rows.

    None where that costs too much, or where one row makes no difference.
    """
    rows, good = settled.rows, np.flatnonzero(settled.part)
    same = rows.shape[0] == len(settled.part) and settled.fit.frame.factors is None
    n, d = len(good), rows.shape[1]
    if not same or n * d > NUMBERS or n > max(MANY, ENOUGH * d):
        return None
    k = settled.fit.V.shape[1]
    counts = settled.sample_weight[good]
    return leave_out(rows.take(good), settled.part[good], counts, k, center=center)
