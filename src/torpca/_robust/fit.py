"""Outlier-robust PCA: start on a sample, TORP iterations on all rows, reweighting, consistency."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from torpca._core.loop import Iteration, Step, iterate
from torpca._core.problem import check_finite
from torpca._core.subspace import Fit, SubspaceFinder, fix_signs, norm
from torpca._robust.limits import orthogonal_limit, score_limit
from torpca._robust.lines import taper
from torpca._robust.loyalty import WATCHED, blame
from torpca._robust.precision import freedom, precision_law
from torpca._robust.scatter import mahalanobis, robust_scatter
from torpca._robust.start import Start, find_start
from torpca._robust.threshold import Threshold, residuals
from torpca._select.rank import RankChoice, choose_rank
from torpca._sources import RowSource
from torpca._sources.base import Floats

# Standard deviations beyond which it does not matter how far out a row is.
FAR = 1e150


@dataclass(frozen=True)
class RobustFit:
    """Principal components of the good rows, and what each row has to do with them."""

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
    rank: RankChoice
    start: Start
    history: tuple[Iteration, ...] = field(repr=False)
    converged: bool


def robust_fit(
    source: RowSource,
    n_components: int | float | str,
    *,
    trim: float | str,
    center: bool,
    n_sample: int | None,
    tol: float,
    max_iter: int,
    sample_weight: Floats,
    rng: np.random.Generator,
) -> RobustFit:
    """Principal components of the good rows of `source`.

    1. Start: on a sample, find a half of the rows that agree on a subspace.
    2. Iterate on all rows: fit a subspace to the kept rows, then keep the rows near it.
       As in TORP, except that the cut-off is estimated from the rows, and rows near it are
       kept in part.
    3. Reweight: if the noise differs from row to row, fit once more with a weight for each row.
    4. Inside the subspace, find the scatter of the rows that are not far out in it.
    """
    magnitudes = check_finite(source)
    finder = SubspaceFinder(source, magnitudes, center)
    start = find_start(
        source,
        magnitudes,
        n_components,
        center=center,
        weights=sample_weight,
        n_sample=n_sample,
        rng=rng,
    )
    threshold = Threshold(sample_weight, trim, rng)
    keep: Floats = start.keep.astype(np.float64)
    choice = start.choice
    history: tuple[Iteration, ...] = ()
    seen: set[int] = set()
    while True:
        rank = choice.rank
        seen.add(rank)

        def step(keep: Floats, rank: int = rank) -> Step:
            fit = finder.find(keep * sample_weight, rank)
            R, studentised, h = residuals(fit, keep)
            # A given share is taken by the residuals themselves, as in the paper.
            near = now = threshold(studentised if isinstance(trim, str) else R)
            if isinstance(trim, str):
                if threshold.undecided():
                    W = finder.beyond(fit, near * sample_weight, WATCHED)
                    P = fit.rows().matmul(W) / blame(h, keep, source.shape[1] - rank)[:, None]
                    threshold.judge(P, near)
                now = near * threshold.loyal
            dropped = {
                "residual": int(np.count_nonzero(threshold.there & (near == 0))),
                "conspiracy": int(np.count_nonzero((near > 0) & (now == 0))),
            }
            return Step(fit, now, dropped, norm(R[now > 0]))

        run = iterate(step, keep, max_iter=max_iter, tol=tol, callback=None)
        keep, history = run.keep.astype(np.float64), (*history, *run.history)
        spectrum = None if choice.rule == "exact" else finder.spectrum(keep * sample_weight)
        if spectrum is None:
            break
        again = choose_rank(n_components, spectrum)
        if again.rank == rank or (again.rank in seen and again.rank < rank):
            # Of two ranks that each ask for the other, the larger explains enough.
            choice = again if again.rank == rank else choice
            break
        choice = again

    part, fit = keep, finder.find(keep * sample_weight, rank, polish=True)
    measured = residuals(fit, part)
    if isinstance(trim, str):
        f = freedom(finder.spectrum(keep * sample_weight), rank)
        law = precision_law(measured[1], keep * sample_weight, f)
        if law is not None:
            part = keep * law.weights(measured[1])
            fit = finder.find(part * sample_weight, rank, polish=True)
            measured = residuals(fit, part)
    return describe(fit, measured, keep, threshold, rng, start, choice, run.converged, history)


# ---- what the fit says -------------------------------------------------------------------------


def describe(
    fit: Fit,
    measured: tuple[Floats, Floats, Floats],
    keep: Floats,
    threshold: Threshold,
    rng: np.random.Generator,
    start: Start,
    choice: RankChoice,
    converged: bool,
    history: tuple[Iteration, ...],
) -> RobustFit:
    """Distances, scatter and limits of all rows, given the subspace."""
    sample_weight = threshold.sample_weight
    weights = keep * sample_weight
    center = fit.mean is not None
    R, studentised, _ = measured
    if not isinstance(threshold.trim, str):
        # How many rows the fit left out is no measure of how far good rows are.
        studentised = R
        weights = sample_weight * taper(threshold.spread(R).z(R))
    k = fit.V.shape[1]
    unit = float(fit.s[0]) / np.sqrt(max(np.sum(weights), 1.0)) if k else 1.0
    Y = fit.rows().matmul(fit.V)
    with np.errstate(over="ignore"):
        Y /= unit if fit.frame.factors is None else (unit * fit.frame.factors)[:, None]
    Y = np.clip(Y, -FAR, FAR)
    scatter = robust_scatter(Y, weights, sample_weight, center, rng)
    score = mahalanobis(Y, scatter.center, scatter.covariance)
    limits = {
        "score": score_limit(score, np.where(scatter.weights > 0, sample_weight, 0.0), k),
        "orthogonal": orthogonal_limit(studentised, weights),
    }
    theta, Q = np.linalg.eigh(scatter.covariance)
    theta, Q = np.maximum(theta[::-1], 0.0), Q[:, ::-1]
    V = fix_signs(fit.V @ Q)
    mean = None if fit.mean is None else fit.mean + unit * (fit.V @ scatter.center)
    n_good = float(np.sum(weights))
    inside = weights > 0
    left_over = norm(np.sqrt(weights[inside]) * R[inside]) / np.sqrt(max(1.0, n_good - center))
    return RobustFit(
        mean=mean,
        V=V,
        scales=unit * np.sqrt(theta),
        left_over=left_over,
        n_good=n_good,
        weights=keep,
        score_distances=score,
        orthogonal_distances=R,
        limits=limits,
        rank=choice,
        start=start,
        history=history,
        converged=converged,
    )
