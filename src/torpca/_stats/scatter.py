"""Location and scatter of the good rows inside the subspace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from torpca._robust.tuning import tuning
from torpca._sources.base import Floats
from torpca._stats.copies import merged_copies
from torpca._stats.cutoffs import taper
from torpca._stats.draw import some_rows
from torpca._stats.lines import weights_of_nearest
from torpca._stats.outlyingness import outlyingness, pair_projections
from torpca._stats.spread import Spread

MAX_REWEIGHTINGS = 50
# Weights have settled when none of them changes by more.
SETTLED = 1e-9
# Rows by which distances are judged, and those among which the least outlying half is looked for.
PROBE_ROWS, SAMPLE_ROWS = 20_000, 2000
# Rows of these that are enough to begin with.
PAIR_ROWS = 600
# Standard deviations from which on a row has no part in the scatter.
FAR_OUT = 4.5
# Most rows are one point, or there is no dimension to spread in.
EXACT = Spread(0.0, 0.0, 1.0)
# A spread this small beside the numbers is what rounding leaves of equal ones.
ROUNDING = 1e-13
# Concentration steps inside the subspace, to the half nearest to its own mean.
MAX_STEPS = 10
# ... and then on all rows, where these were done on some.
LAST_STEPS = 2
# Numbers whose squares cannot overflow, however many of them are added.
LONG = 1e150
# Points at which the law of Gaussian rows is looked at.
GRID = 4000


@dataclass(frozen=True)
class Scatter:
    """Centre (k,) and covariance (k, k) of the good rows' scores, and the weights (n,) they had."""

    center: Floats
    covariance: Floats
    weights: Floats
    spread: Spread
    """How the good rows' distances spread that the covariance, as it was before the correction
    for Gaussian rows, gives them."""


def robust_scatter(
    Y: Floats,
    weights: Floats,
    center: bool,
    rng: np.random.Generator,
    settled: float = SETTLED,
) -> Scatter:
    """Scatter of the scores Y (n, k) of most rows, by their `weights` (n,).

    Rows far out inside the subspace tell where it is and not how far its rows spread. From the
    tightest three quarters, as in ROBPCA (Hubert, Rousseeuw and Vanden Branden 2005), each row is
    weighed by its own distance, until nothing changes: half of them may be one group of several
    good ones. The covariance is corrected for what the weights take from Gaussian rows. `settled`
    is the share of a row's weight that may change in the end.
    """
    k = Y.shape[1]
    if k == 0:
        return Scatter(np.zeros(0), np.zeros((0, 0)), weights, EXACT)
    judges = some_rows(weights, PROBE_ROWS, rng)
    few = judges[some_rows(weights[judges], SAMPLE_ROWS, rng)]
    now = tightest_half(Y, weights, center, rng, few, tuning().inside)
    factor, w, spread = consistency(k), weights, EXACT
    for _ in range(MAX_REWEIGHTINGS):
        distances = mahalanobis(Y, *now)
        spread = Spread.of(distances[judges], weights[judges], settled / 100)
        u = weights * taper(spread.z(distances), FAR_OUT)
        if not _spans(Y, u):  # most rows are one point along an axis: no measure for the others
            return Scatter(*moments(Y, weights, center), weights, EXACT)
        still = np.max(np.abs(u - w)) <= settled * np.max(weights)
        w, now = u, moments(Y, u, center)
        if still:
            break
    return Scatter(now[0], factor * now[1], w, spread)


def tightest_half(
    Y: Floats,
    weights: Floats,
    center: bool,
    rng: np.random.Generator,
    rows: npt.NDArray[np.intp] | None = None,
    share: float = 0.5,
) -> tuple[Floats, Floats]:
    """Centre and covariance of the tightest half, or another `share`, of the numbered rows of Y.

    Concentration steps from the least outlying half, as in FAST-MCD (Rousseeuw and Van Driessen
    1999). Half of few rows spans its dimensions with no measure: then all of them have to do.
    """
    rows = np.flatnonzero(weights > 0) if rows is None else rows
    S, w = merged_copies(Y[rows], weights[rows])
    if len(S) < tuning().rows_per_dimension * Y.shape[1]:
        return moments(Y, weights, center)
    # Steps on all rows begin where those on a few have ended.
    some = slice(None, None, 1 + len(S) // PAIR_ROWS)
    P = pair_projections(S[some], w[some], tuning().scatter_pairs, rng)
    half = outlyingness(P, w[some]).nearest_half(w[some])
    half, now = _concentrated(S[some], w[some], half, center, share, MAX_STEPS)
    if len(half) < len(S):
        half = weights_of_nearest(mahalanobis(S, *now), w, share)
        half, now = _concentrated(S, w, half, center, share, LAST_STEPS)
    return now if _spans(S, half) else moments(Y, weights, center)


def _concentrated(
    S: Floats, w: Floats, half: Floats, center: bool, share: float, steps: int
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Weights (m,) of a half of rows S (m, k), and its moments, after concentration steps."""
    for _ in range(steps):
        now, before = moments(S, half, center), half
        half = weights_of_nearest(mahalanobis(S, *now), w, share)
        if np.array_equal(half, before):
            break
    return before, now


def mahalanobis(Y: Floats, center: Floats, covariance: Floats) -> Floats:
    """Distance of each row of Y from `center` in standard deviations, (n,)."""
    theta, Q = np.linalg.eigh(covariance)
    there = theta > 0
    Z = (Y - center) @ (Q[:, there] / np.sqrt(theta[there]))
    # Rows of any length: their squares must not overflow.
    size = float(np.max(np.abs(Z), initial=1.0))
    if size < LONG:
        return np.sqrt(np.vecdot(Z, Z))
    sizes = np.maximum(np.max(np.abs(Z), axis=1), 1.0)
    return sizes * np.linalg.norm(Z / sizes[:, None], axis=1)


def moments(Y: Floats, w: Floats, center: bool) -> tuple[Floats, Floats]:
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
    return bool(np.linalg.eigvalsh(C / np.outer(size, size))[0] > 1e-10)


@lru_cache(maxsize=64)
def consistency(k: int) -> float:
    """Variance of Gaussian rows in k dimensions over that which `robust_scatter` finds."""
    squares = chi2.ppf((np.arange(GRID) + 0.5) / GRID, k)
    distances, ones = np.sqrt(squares), np.ones(GRID)
    # The weights do not depend on the unit of the distances, so one look is enough.
    w = taper(Spread.of(distances, ones).z(distances), FAR_OUT)
    return float(k * np.sum(w) / np.sum(w * squares))
