"""Rows that are near the subspace one by one, and tilt it together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torpca._robust.lines import (
    EQUAL,
    SETTLED,
    describe_lines,
    looks_clean,
    reweighted,
    taper,
)
from torpca._sources.base import Array, Floats, place

# Directions beyond the subspace that are watched, and the standard deviations along one of them
# at which a row begins to lose its weight and has lost it: of Gaussian rows hardly one.
WATCHED = 3
FULL, NONE = 4.0, 6.0
# The same if no more rows are far out than noise puts there: of Gaussian rows not one in a million.
CLEAN_FULL, CLEAN_NONE = 5.0, 6.5


def blame(leverage: Any, keep: Any, dimensions: int) -> Any:
    """How far beyond noise a row leaves the subspace because of the subspace's own error, (n,).

    The subspace is off by chance in as many directions as it has, by an angle whose square is
    (dimensions) sigma^2 / s^2; a row that had no part in it shows that in full, and rows far out
    most: sqrt(1 + dimensions * leverage) times the noise. On few, long rows that is a lot.
    """
    return (1.0 + (1.0 - keep) * dimensions * leverage) ** 0.5


@dataclass(frozen=True)
class Watch:
    """Where most rows are along directions beyond the subspace, (q,) each."""

    center: Floats
    scale: Floats
    """Infinite along directions that say nothing."""
    clean: bool = False
    """Whether no more rows are far out along one of them than noise puts there."""

    @property
    def limits(self) -> tuple[float, float]:
        """Standard deviations at which a row begins to lose its weight, and has lost it."""
        return (CLEAN_FULL, CLEAN_NONE) if self.clean else (FULL, NONE)

    def loyalty(self, P: Array, xp: Any = np) -> Array:
        """Weight of each row by its projections P (n, q): 0 for those far out along one of them."""
        if P.shape[1] == 0:
            return xp.ones(P.shape[0], dtype=P.dtype)
        z = xp.abs(P - place(xp, self.center, P)) / place(xp, self.scale, P)
        return taper(xp.max(z, axis=1), *self.limits, xp)


def watch(P: Floats, weights: Floats, settled: float = SETTLED) -> Watch:
    """Spread of most rows along directions beyond the subspace.

    Bad rows whose residuals are no longer than those of good ones can tilt the subspace all the
    same if they all point one way. Then that way is among the first directions beyond the
    subspace: TORP-G fits one direction more for this reason. Along it most rows are near zero.

    Parameters
    ----------
    P : ndarray of shape (m, q)
        Projections of rows on the directions.
    weights : ndarray of shape (m,)
        Their weights; those of weight zero do not count.
    settled : float
        How closely the spread is found, as a share of it.
    """
    q = P.shape[1]
    center, scale = np.zeros(q), np.full(q, np.inf)
    there = weights > 0
    if q == 0 or not there.any():
        return Watch(center, scale)
    S, u = P[there], weights[there]
    # By all of them: of bad rows that are nearly half, some may look like more.
    lines = describe_lines(S, u)
    size = np.max(np.abs(S), axis=0)
    spread = lines.inner > EQUAL * size
    center[spread], scale[spread] = reweighted(
        np.ascontiguousarray(S.T[spread]), u, lines.location[spread], lines.inner[spread], settled
    )
    # Many rows on one point in the midst of the others are no reason to drop the others.
    scale[spread] = np.maximum(scale[spread], lines.side[spread])
    z = np.max(np.abs(S - center) / scale, axis=1)
    return Watch(center, scale, looks_clean(z, u, sides=2 * q, none=CLEAN_NONE))
