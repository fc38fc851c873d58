"""Location and scatter of the good rows inside the subspace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from torpca._core.directions import ROUNDING
from torpca._robust.draw import merged_copies
from torpca._robust.lines import gaussian_factor, rows_for_all, taper, weights_of_nearest
from torpca._robust.outlyingness import outlyingness, pair_projections
from torpca._robust.spread import Spread
from torpca._robust.tuning import EQUAL, tuning
from torpca._sources.base import Floats


@dataclass(frozen=True)
class Scatter:
    """Centre (k,) and covariance (k, k) of the good rows' scores, and the weights (n,) they had."""

    center: Floats
    covariance: Floats
    weights: Floats
    spread: Spread
    """Of the good rows' distances by the covariance before its correction for Gaussian rows."""


def robust_scatter(
    Y: Floats, weights: Floats, center: bool, rng: np.random.Generator, rtol: float = EQUAL
) -> Scatter:
    """Scatter of the scores Y (n, k) of most rows, by their `weights` (n,).

    Rows far out inside the subspace tell where it is and not how far its rows spread. From the
    tightest three quarters, as in ROBPCA (Hubert, Rousseeuw and Vanden Branden 2005), each row is
    weighed by its own distance, until nothing changes: half of them may be one group of several
    good ones. The covariance is corrected for what the weights take from Gaussian rows. `rtol`
    is the share of a row's weight that may change in the end.
    """
    k = Y.shape[1]
    if k == 0:
        return Scatter(np.zeros(0), np.zeros((0, 0)), weights, Spread())
    t = tuning()
    now = tightest_half(Y, weights, center, rng, t.inside)
    w, spread = weights, Spread()
    for _ in range(t.rounds):
        distances = mahalanobis(Y, *now)
        spread = Spread.of(distances, weights, rtol / 10)
        u = weights * taper(spread.z(distances), t.far_out)
        if not _spans(Y, u):  # most rows are one point along an axis: no measure for the others
            return Scatter(*moments(Y, weights, center), weights, Spread())
        still = np.max(np.abs(u - w)) <= rtol * np.max(weights)
        w, now = u, moments(Y, u, center)
        if still:
            break
    return Scatter(now[0], consistency(k) * now[1], w, spread)


def tightest_half(
    Y: Floats, weights: Floats, center: bool, rng: np.random.Generator, share: float = 0.5
) -> tuple[Floats, Floats]:
    """Centre and covariance of the tightest half, or another `share`, of the rows Y (n, k).

    Concentration steps from the least outlying half, as in FAST-MCD (Rousseeuw and Van Driessen
    1999). Half of few rows spans its dimensions with no measure: then all of them have to do.
    """
    t, k = tuning(), Y.shape[1]
    S, w = merged_copies(Y[weights > 0], weights[weights > 0])
    if len(S) < t.rows_per_dimension * k:
        return moments(Y, weights, center)
    some, w = rows_for_all(w, max(t.first_rows, t.rows_per_dimension * k))
    S = S[some]
    P = pair_projections(S, w, t.scatter_pairs, rng)
    half = weights_of_nearest(outlyingness(P, w)[0], w)
    for _ in range(t.rounds):
        before, now = half, moments(S, half, center)
        half = weights_of_nearest(mahalanobis(S, *now), w, share)
        if np.array_equal(half, before):
            break
    return now if _spans(S, before) else moments(Y, weights, center)


def mahalanobis(Y: Floats, center: Floats, covariance: Floats) -> Floats:
    """Distance of each row of Y from `center` in standard deviations, (n,)."""
    theta, Q = np.linalg.eigh(covariance)
    there = theta > 0
    Z = (Y - center) @ (Q[:, there] / np.sqrt(theta[there]))
    # Rows of any length: their squares must not overflow.
    sizes = np.maximum(np.max(np.abs(Z), axis=1, initial=0.0), 1.0)
    Z /= sizes[:, None]
    return sizes * np.sqrt(np.vecdot(Z, Z))


def moments(Y: Floats, w: Floats, center: bool) -> tuple[Floats, Floats]:
    """Mean (k,), zero unless `center`, and covariance (k, k) of the rows of weights w (n,)."""
    total = np.sum(w)
    mean = (w @ Y) / total if center else np.zeros(Y.shape[1])
    C = Y - mean
    # As PCA does: one row's worth of freedom went into the mean.
    return mean, (C * w[:, None]).T @ C / max(total - center, 0.5 * total)


def _spans(Y: Floats, w: Floats) -> bool:
    """Whether the weighted rows spread in all directions, none a millionth of the others."""
    if np.count_nonzero(w) <= Y.shape[1]:
        return False
    _, C = moments(Y, w, True)
    size = np.sqrt(np.diag(C))
    if np.any(size <= ROUNDING * np.max(np.abs(Y[w > 0]), axis=0)):
        return False
    return bool(np.linalg.eigvalsh(C / np.outer(size, size))[0] > EQUAL)


@lru_cache(maxsize=64)
def consistency(k: int) -> float:
    """Variance of Gaussian rows in k dimensions over that which `robust_scatter` finds."""
    if k == 0:
        return 1.0
    # The weights do not depend on the unit of the distances, so one look is enough.
    return gaussian_factor(k, lambda r: taper(Spread.of(r, np.ones(len(r))).z(r), tuning().far_out))
