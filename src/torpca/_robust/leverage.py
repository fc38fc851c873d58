"""Rows far out inside the subspace: whether they point where the others do."""

from __future__ import annotations

import numpy as np

from torpca._robust.concentrate import ROUGHLY, Candidate, weighed
from torpca._sample.draw import Sample
from torpca._sample.fit import SampleFit, sample_fit
from torpca._sources.base import Floats
from torpca._stats.cutoffs import cutoff, taper
from torpca._stats.rule import Cutoffs
from torpca._stats.scatter import ROUNDING, mahalanobis, tightest_half
from torpca._stats.spread import Spread
from torpca._tuning import tuning

FITS = 2  # without the rows that are far out


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
    if best.exact or best.fit.scores.shape[1] == 0:
        return best.keep, cuts
    fit, beyond = best.fit, np.inf
    on = first = weighed(sample, fit)[1]
    for _ in range(FITS):
        z = distances_inside(fit, on, sample.center, rng)
        beyond = cutoff(z, on)
        if not np.any(on[z > tuning().taper * beyond]):
            break
        without = on * taper(z, beyond)
        if 2 * float(np.sum(without)) < float(np.sum(sample.weights)):
            return best.keep, cuts
        keep, fit = without, sample_fit(sample, without, best.choice.rank)
        if fit.scores.shape[1] == 0:  # the others are all equal
            return best.keep, cuts
        _, on = weighed(sample, fit)
    else:
        out = 2 * keep < first
        if 2 * float(np.sum(on[out])) < float(np.sum(first[out])):
            return best.keep, cuts  # they have directions of their own: there is nothing to compare
        if leaves_subspace(fit, keep, np.where(2 * keep < on, on, 0.0)):
            return keep, Cutoffs(cuts.residual, cuts.along, beyond)
    return on if 2 * float(np.sum(on)) >= float(np.sum(sample.weights)) else best.keep, cuts


def distances_inside(
    fit: SampleFit, weights: Floats, center: bool, rng: np.random.Generator
) -> Floats:
    """Distances (m,) inside the subspace, by its tightest half there, in standard deviations."""
    D = mahalanobis(fit.scores, *tightest_half(fit.scores, weights, center, rng))
    return Spread.of(D, weights, ROUGHLY).z(D)


def leaves_subspace(fit: SampleFit, keep: Floats, far: Floats) -> bool:
    """Whether the rows `far` (m,), together, leave a subspace that was fitted without them.

    Their residuals are R = Y D' + noise, where Y (m, k) are their scores and D (f, k) is the
    error of the subspace, of variance v/(n l_j) in each entry of column j for noise of variance v
    and n rows of variances l_j. So (Y'Y + Y'Y (n L)^-1 Y'Y)^-1/2 Y'R has k times f entries of
    variance v, and its largest square is about (sqrt(sum of v) + sqrt(k max v))^2 (Marchenko and
    Pastur 1967), whatever the number of rows. More than that, and the two fits differ (Hausman
    1978).
    """
    k, n = fit.scores.shape[1], float(np.sum(keep))
    if np.count_nonzero(far) < 2 or k == 0:
        return False
    beyond = fit.next_directions(keep, 1)[1]
    if len(beyond) == 0:
        return False
    Y = fit.scores / np.sqrt(fit.variances)
    S = (Y * far[:, None]).T @ Y
    theta, Q = np.linalg.eigh(S + S @ S / n)
    there = theta > ROUNDING * theta[-1]
    T = Y @ (Q[:, there] / np.sqrt(theta[there]))
    largest = fit.part.largest_product(fit, T * far[:, None])
    # Rows far out may have more noise than others, which is no reason to leave them out.
    squares = np.square(fit.residuals)
    noise = max(float(w @ squares) / float(np.sum(w)) for w in (keep, far))
    chance = (np.sqrt(noise) + np.sqrt(k * float(beyond[0]))) ** 2
    return largest > tuning().leverage * chance
