"""A subspace of some rows of the part, and all rows of the part beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from torpca._core.directions import principal_variances, top_directions
from torpca._core.gram import leading
from torpca._core.span import SPAN_EPS
from torpca._core.subspace import BLURRED, EPS64, RESIDUAL_ULPS
from torpca._robust.law import Cumulants
from torpca._robust.part import Part
from torpca._robust.rule import free_part
from torpca._robust.spread import Along
from torpca._robust.tuning import ROUGHLY, tuning
from torpca._sources.base import Floats


@dataclass(frozen=True)
class Subspace:
    """The top directions of some rows of the part, and where all of its rows are beside them."""

    mean: Floats
    V: Floats
    """Directions (p, k) of those some, ..."""
    variances: Floats
    """... and their variances along them, (k,)."""
    weight: float
    """Number of those some, in rows."""
    scores: Floats
    """Coordinates (m, k) of all rows along the directions."""
    rest: Floats
    """What is left of each row beyond them, (m, p)."""
    residuals: Floats
    """Its length, (m,); zero if of the size of rounding."""
    studentised: Floats
    """The same on equal terms for rows of any leverage, in the fit or not."""
    common: float = 0.0
    """What the squared residuals of good rows have in common."""

    @property
    def rank(self) -> int:
        """Number of directions."""
        return self.V.shape[1]

    def with_common(self, keep: Floats) -> Subspace:
        """The same with what squared residuals have in common, if rows of `keep` (m,) are good.

        From all their variances beyond the subspace. Rows that a start leaves out are far out along
        the strongest directions: most rows say how much more they vary there, bad ones must not.
        """
        inside, t = keep > 0, tuning()
        B = self.rest[inside] * np.sqrt(keep[inside] / float(np.sum(keep)))[:, None]
        variances = principal_variances(B)
        W = self.next_directions(keep, t.n_next)[0]
        scale = Along.of(self.rest @ W, np.ones(len(keep)), ROUGHLY).scale
        said = np.flatnonzero(np.isfinite(scale))
        variances[said] = np.minimum(scale[said] ** 2, t.wider * variances[said])
        free = float(np.count_nonzero(keep) - 1 - self.rank)
        law = Cumulants.on_sphere(free * variances, free)
        return replace(self, common=law.shift if law is not None else 0.0)

    def next_directions(self, weights: Floats, count: int) -> tuple[Floats, Floats]:
        """Directions (p, count) in which weighted rows leave the subspace most.

        Also the mean squares (count,) of the weighted rows along them. To a few digits; fewer where
        rounding begins.
        """
        inside = weights > 0
        count = min(count, self.rest.shape[1] - self.rank)
        if count <= 0 or not inside.any():
            return np.zeros((self.rest.shape[1], 0)), np.zeros(0)
        B = self.rest[inside] * np.sqrt(weights[inside])[:, None]
        W, s = leading(lambda U: B.T @ (B @ U), B.shape[1], count)
        variances = s**2 / float(np.sum(weights))
        there = variances > BLURRED * (np.sum(self.variances) + np.sum(variances))
        return W[:, there], variances[there]


def subspace_of(
    part: Part, keep: Floats, rank: int, weights: Floats | None = None, *, sharp: bool = False
) -> Subspace:
    """The top `rank` directions of the rows of weights `keep` (m,), fewer if they have no more.

    `keep` is a share of `weights`, by default the votes. Directions that are not to be `sharp` are
    good to a few digits.
    """
    mean, B = _about_mean(part, keep)
    V, variances = top_directions(B, rank, sharp=sharp)
    weights = part.votes if weights is None else weights
    share = np.divide(keep, weights, out=np.zeros(len(keep)), where=weights > 0)
    return beside(part, mean, V, variances, float(np.sum(keep)), share)


def beside(
    part: Part,
    mean: Floats,
    V: Floats,
    variances: Floats,
    weight: float,
    share: Floats,
) -> Subspace:
    """All rows of the part beside directions (p, k) of rows of which each had its `share` (m,)."""
    C = part.Z - mean
    Y = C @ V
    C -= Y @ V.T
    R = np.sqrt(np.vecdot(C, C))
    E = np.sqrt(np.square(Y) @ (1.0 / variances))  # in standard deviations
    eps = SPAN_EPS if part.span is not None else EPS64
    largest = float(variances[0]) if len(variances) else 0.0
    last = float(variances[-1]) if len(variances) else 1.0
    size = np.sqrt(np.vecdot(Y, Y)) + R + largest / np.sqrt(last) * E + np.linalg.norm(mean)
    R = np.where(RESIDUAL_ULPS * eps * size >= R, 0.0, R)
    leverage = np.minimum(np.square(E) / weight, 1e100)
    studentised = R / np.sqrt(free_part(leverage, share))
    return Subspace(mean, V, variances, weight, Y, C, R, studentised)


def variances_of(part: Part, keep: Floats) -> Floats:
    """Variances of the rows of weights `keep` (m,) along their principal directions, (any,)."""
    return principal_variances(_about_mean(part, keep)[1])


def _about_mean(part: Part, keep: Floats) -> tuple[Floats, Floats]:
    """Mean (p,) of the rows of weights `keep` (m,), and B (any, p) of which B'B is covariance."""
    inside, total = keep > 0, float(np.sum(keep))
    Z, w = part.Z[inside], keep[inside] / total
    mean = w @ Z if part.center else np.zeros(part.Z.shape[1])
    return mean, (Z - mean) * np.sqrt(w)[:, None]
