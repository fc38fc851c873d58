"""A subspace of some rows of the part, and all rows of the part beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import svd

from torpca._core.gram import leading, near_top, top_of_gram
from torpca._core.subspace import BLURRED, EPS64, RESIDUAL_ULPS, RESOLVED
from torpca._robust.part import Part
from torpca._sources.base import Floats
from torpca._stats.rule import free_part
from torpca._stats.spread import common_square

# Coordinates in a span come from products of the rows: they have half of the digits.
SPAN_EPS = 1e-9
# Next directions that may be much stronger than all others.
STRONG = 3
# Variances below this share of the largest are rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Beside:
    """All rows of the part beside the top directions of some of them."""

    mean: Floats
    V: Floats
    """Directions (p, k) of those some, ..."""
    variances: Floats
    """... their variances along them, (k,), ..."""
    total: float
    """... and in all directions together."""
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

    def with_common(self, keep: Floats) -> Beside:
        """The same with what squared residuals have in common, if rows of `keep` (m,) are good."""
        beyond = self.total - float(np.sum(self.variances))
        following = self.next_directions(keep, STRONG)[1]
        n_rows = float(np.count_nonzero(keep) - 1 - self.rank)
        n_directions = self.rest.shape[1] - self.rank
        common = common_square(following, beyond, n_directions, n_rows)
        return replace(self, common=common)

    def next_directions(self, weights: Floats, count: int) -> tuple[Floats, Floats]:
        """Directions (p, count) in which weighted rows leave the subspace most.

        Also the mean squares (count,) of the weighted rows along them. To a few digits; fewer where
        rounding begins.
        """
        inside = weights > 0
        if min(count, self.rest.shape[1] - self.rank) <= 0 or not inside.any():
            return np.zeros((self.rest.shape[1], 0)), np.zeros(0)
        B = self.rest[inside] * np.sqrt(weights[inside])[:, None]
        count = min(count, B.shape[1] - self.rank)
        W, s = leading(lambda U: B.T @ (B @ U), B.shape[1], count)
        variances = s**2 / float(np.sum(weights))
        there = variances > BLURRED * (np.sum(self.variances) + np.sum(variances))
        return W[:, there], variances[there]


def beside(
    part: Part,
    keep: Floats,
    rank: int,
    weights: Floats | None = None,
    *,
    sharp: bool = False,
) -> Beside:
    """The top `rank` directions of the rows of weights `keep` (m,), fewer if they have no more.

    `keep` is a share of `weights`, by default the votes. Directions that are not to be `sharp` are
    good to a few digits.
    """
    inside, total = keep > 0, float(np.sum(keep))
    mean = (keep[inside] / total) @ part.Z[inside] if part.center else np.zeros(part.Z.shape[1])
    B = (part.Z[inside] - mean) * np.sqrt(keep[inside] / total)[:, None]
    V, variances = top_directions(B, rank, sharp=sharp)
    weights = part.votes if weights is None else weights
    share = np.divide(keep, weights, out=np.zeros(len(keep)), where=weights > 0)
    return beside_these(part, mean, V, variances, float(np.vdot(B, B)), total, share)


def beside_these(
    part: Part,
    mean: Floats,
    V: Floats,
    variances: Floats,
    total_variance: float,
    weight: float,
    share: Floats,
) -> Beside:
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
    return Beside(mean, V, variances, total_variance, weight, Y, C, R, studentised)


def top_directions(B: Floats, rank: int, *, sharp: bool = False) -> tuple[Floats, Floats]:
    """Top right singular vectors of B (m, p) and the squares of its singular values.

    Through products with B'B, which are quick; directions too small beside the first for these to
    tell come from B itself.
    """
    p = B.shape[1]
    found = None
    if rank and not sharp:
        found = near_top(lambda V: B.T @ (B @ V), p, rank, float(np.vdot(B, B)))
    if found is not None:
        V, s = found
    elif p <= len(B):
        V, s = top_of_gram(B.T @ B, rank)
    else:
        U, s = top_of_gram(B @ B.T, rank)
        V = np.linalg.qr(B.T @ (U / np.where(s > 0, s, 1.0)))[0]
    if len(s) and s[-1] <= RESOLVED * s[0]:
        _, s, Vt = svd(B, full_matrices=False, check_finite=False)
        V, s = Vt[:rank].T, s[:rank]
    there = s**2 > ROUNDING * s[0] ** 2 if len(s) else np.zeros(0, dtype=bool)
    return V[:, there], s[there] ** 2


def variances_of(part: Part, keep: Floats) -> Floats:
    """Variances of the rows of weights `keep` (m,) along their principal directions, (any,)."""
    inside, total = keep > 0, float(np.sum(keep))
    w = keep[inside] / total
    C = part.Z[inside]
    C = (C - w @ C if part.center else C) * np.sqrt(w)[:, None]
    G = C.T @ C if C.shape[1] <= C.shape[0] else C @ C.T
    found: Floats = np.maximum(np.linalg.eigvalsh(G)[::-1], 0.0)
    return found
