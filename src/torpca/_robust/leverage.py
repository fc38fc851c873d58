"""Rows far out inside the subspace: whether they point where the others do."""

from __future__ import annotations

import numpy as np

from torpca._robust.concentrate import ROUGHLY, Candidate, weighed
from torpca._robust.cutoffs import cutoff, taper
from torpca._robust.rule import Cutoffs
from torpca._robust.sample import Sample
from torpca._robust.sample_fit import SampleFit, sample_fit
from torpca._robust.scatter import mahalanobis, robust_scatter
from torpca._robust.spread import Spread
from torpca._robust.tuning import tuning
from torpca._sources.base import Floats

# Fits without the rows that are far out.
FITS = 2


def leave_leverage_out(
    sample: Sample, best: Candidate, rng: np.random.Generator
) -> tuple[Floats, Cutoffs]:
    """Weights (m,) of the rows to begin with, and the cut-offs they ask for.

    Rows far out inside say most about where the subspace is, and tilt it most if they are slightly
    off. So it is fitted without them; they come back unless, together, they leave that subspace by
    more than noise and its own error do (a test in the manner of Hausman 1978). If they stay out,
    the cut-off on distances inside is finite.
    """
    cuts = Cutoffs(best.cuts.residual, best.cuts.along)
    if best.exact:
        return best.keep, cuts
    keep, beyond = best.keep, np.inf
    for _ in range(FITS):
        fit = sample_fit(sample, keep, best.choice.rank)
        _, on = weighed(sample, fit, with_inside=False)
        z = distances_inside(fit, on, sample.center, rng)
        beyond = cutoff(z, on)
        without = on * taper(z, beyond)
        if 2 * float(np.sum(without)) < float(np.sum(sample.weights)):
            return best.keep, cuts
        keep = without
    fit = sample_fit(sample, keep, best.choice.rank)
    _, on = weighed(sample, fit, with_inside=False)
    far = np.where(2 * keep < on, on, 0.0)
    if leaves_subspace(fit, keep, far, sample):
        return keep, Cutoffs(cuts.residual, cuts.along, beyond)
    return on if 2 * float(np.sum(on)) >= float(np.sum(sample.weights)) else best.keep, cuts


def distances_inside(
    fit: SampleFit, weights: Floats, center: bool, rng: np.random.Generator
) -> Floats:
    """Distances (m,) inside the subspace by a robust scatter there, in standard deviations."""
    scatter = robust_scatter(fit.scores, weights, center, rng, ROUGHLY)
    D = mahalanobis(fit.scores, scatter.center, scatter.covariance)
    return Spread.of(D, weights, ROUGHLY).z(D)


def leaves_subspace(fit: SampleFit, keep: Floats, far: Floats, sample: Sample) -> bool:
    """Whether the rows `far` (m,), together, leave a subspace that was fitted without them.

    Noise of variance v in f directions lets n rows spread v (sqrt(n) + sqrt(f))^2 along one of
    them (Marchenko and Pastur 1967), and the subspace's own error adds v f times their leverage.
    """
    n = float(np.sum(far))
    if np.count_nonzero(far) < 2:
        return False
    free = max(sample.Z.shape[1] - fit.V.shape[1], 1)
    total = float(np.sum(keep))
    noise = float(keep @ np.square(fit.studentised)) / (total * free)
    core = fit.next_directions(keep, 1)[1]
    along = fit.next_directions(far, 1)[1]
    if len(core) == 0 or len(along) == 0:
        return False
    chance = max(noise * (np.sqrt(n) + np.sqrt(free)) ** 2, n * float(core[0]))
    chance += noise * free * float(far @ fit.leverage)
    return n * float(along[0]) > tuning().leverage * chance
