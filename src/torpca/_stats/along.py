"""Location and scale of most rows along a few directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torpca._sources.base import Array, Floats, place
from torpca._stats.lines import EQUAL, SETTLED, describe_lines, reweighted


@dataclass(frozen=True)
class Along:
    """Location and scale of most rows along the next principal directions, (q,) each."""

    center: Floats
    scale: Floats
    """Infinite along directions that say nothing."""

    @classmethod
    def silent(cls, q: int) -> Along:
        """Of `q` directions that say nothing."""
        return cls(np.zeros(q), np.full(q, np.inf))

    @classmethod
    def of(cls, P: Floats, weights: Floats, settled: float = SETTLED) -> Along:
        """From projections P (m, q) of rows on the directions, by the rows' `weights` (m,).

        Bad rows whose residuals are no longer than those of good ones can tilt the subspace all the
        same if they all point one way. Then that way is among the next principal directions: TORP-G
        fits one direction more for this reason. Along it most rows are near zero.
        """
        q = P.shape[1]
        center, scale = np.zeros(q), np.full(q, np.inf)
        there = weights > 0
        if q == 0 or not there.any():
            return cls(center, scale)
        S, u = P[there], weights[there]
        lines = describe_lines(S, u)
        size = np.max(np.abs(S), axis=0)
        spread = lines.inner > EQUAL * size
        center[spread], scale[spread] = reweighted(
            np.ascontiguousarray(S.T[spread]),
            u,
            lines.location[spread],
            lines.inner[spread],
            settled,
        )
        # Many rows on one point in the midst of the others are no reason to drop the others.
        scale[spread] = np.maximum(scale[spread], lines.side[spread])
        return cls(center, scale)

    def in_unit(self, unit: float) -> Along:
        """The same of projections that are `unit` times these."""
        return Along(self.center * unit, self.scale * unit)

    def z(self, P: Array, xp: Any = np) -> Array:
        """Largest standard deviations of each row along one of the directions."""
        if P.shape[1] == 0:
            return xp.zeros(P.shape[0], dtype=P.dtype)
        return xp.max(xp.abs(P - place(xp, self.center, P)) * place(xp, 1 / self.scale, P), axis=1)
