"""Location and scatter of the good rows inside the subspace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import chi2

from torpca._robust.lines import Spread, taper
from torpca._sources.base import Floats

MAX_REWEIGHTINGS = 50
# Points at which the law of Gaussian rows is looked at.
GRID = 4000


@dataclass(frozen=True)
class Scatter:
    """Centre (k,) and covariance (k, k) of the good rows' scores, and the weights (n,) they had."""

    center: Floats
    covariance: Floats
    weights: Floats


def robust_scatter(Y: Floats, weights: Floats, core: Floats, center: bool) -> Scatter:
    """Scatter of the scores Y (n, k) of most rows, from the rows of `core` outwards.

    Rows far out inside the subspace tell where it is and not how far its rows spread. Each is
    weighed by its own distance, until nothing changes; the covariance is corrected for what
    the weights take from Gaussian rows.
    """
    if Y.shape[1] == 0:
        return Scatter(np.zeros(0), np.zeros((0, 0)), weights)
    now = _moments(Y, core if _spans(Y, core) else weights, center)
    factor = _consistency(Y.shape[1])
    w = weights
    for _ in range(MAX_REWEIGHTINGS):
        distances = mahalanobis(Y, *now)
        u = weights * taper(Spread.of(distances, weights).z(distances))
        if not _spans(Y, u):  # half of the rows are one point: nothing to measure others by
            w, now = weights, _moments(Y, weights, center)
            factor = 1.0
            break
        settled = np.max(np.abs(u - w)) <= 1e-9 * np.max(weights)
        w, now = u, _moments(Y, u, center)
        if settled:
            break
    return Scatter(now[0], factor * now[1], w)


def mahalanobis(Y: Floats, center: Floats, covariance: Floats) -> Floats:
    """Distance of each row of Y from `center` in standard deviations, (n,)."""
    theta, Q = np.linalg.eigh(covariance)
    there = theta > 0
    Z = (Y - center) @ (Q[:, there] / np.sqrt(theta[there]))
    return np.linalg.norm(Z, axis=1)


def _moments(Y: Floats, w: Floats, center: bool) -> tuple[Floats, Floats]:
    total = np.sum(w)
    mean = (w @ Y) / total if center else np.zeros(Y.shape[1])
    C = Y - mean
    # As PCA does: one row's worth of freedom went into the mean.
    return mean, (C * w[:, None]).T @ C / max(total - center, 0.5 * total)


def _spans(Y: Floats, w: Floats) -> bool:
    """Whether the weighted rows spread in all directions, none a millionth of the others."""
    if np.count_nonzero(w) <= Y.shape[1]:
        return False
    _, C = _moments(Y, w, True)
    size = np.sqrt(np.diag(C))
    if not size.all():
        return False
    return bool(np.linalg.eigvalsh(C / np.outer(size, size))[0] > 1e-10)


@lru_cache(maxsize=64)
def _consistency(k: int) -> float:
    """Variance of Gaussian rows in k dimensions over that which `robust_scatter` finds."""
    squares = chi2.ppf((np.arange(GRID) + 0.5) / GRID, k)
    distances, ones = np.sqrt(squares), np.ones(GRID)
    # The weights do not depend on the unit of the distances, so one look is enough.
    w = taper(Spread.of(distances, ones).z(distances))
    return float(k * np.sum(w) / np.sum(w * squares))
