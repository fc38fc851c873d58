"""Where good rows end, and the rule by which a row is weighed: off the subspace, and beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammainc, ndtr, ndtri

from torpca._robust.lines import taper
from torpca._robust.spread import Along, Spread
from torpca._robust.tuning import EQUAL, SETTLED, tuning
from torpca._sources.base import Array, Floats


def cutoff(z: Floats, weights: Floats) -> float:
    """Standard deviations from which on rows have no weight, given those of rows, `z` (n,).

    As many of the farthest rows are dropped as the tail holds more than that of a Gaussian law, at
    the place where the excess is largest (Gervini and Yohai 2002). An excess that chance explains,
    by Poisson's law, is none: clean rows keep all of their weight. Rows beyond `farthest` are
    dropped in any case, and are no reason to doubt the others.
    """
    t = tuning()
    there = (z < t.farthest) & (weights > 0)
    s, copies = np.unique(z[there], return_inverse=True)
    w = np.bincount(copies, weights[there], minlength=len(s))
    tail = int(np.searchsorted(s, t.tail))
    beyond = np.cumsum(w[::-1])[::-1][tail:]
    expected = float(np.sum(w)) * ndtr(-s[tail:])
    clear = gammainc(beyond, expected) < ndtr(-t.significance)
    if not clear.any():
        return t.farthest
    drop = float(np.max((beyond - expected)[clear]))
    # Rows that are equal go together, if more than half of them are to go.
    kept = int(np.count_nonzero(beyond - 0.5 * w[tail:] > drop))
    first = tail + min(kept, len(beyond) - 1)
    # Midway between the last row that is kept and the first that is dropped.
    middle = 0.5 * (s[max(first - 1, 0)] + s[first])
    return float(min(max(middle, t.tail), t.farthest))


def of_largest(z: Floats, count: int) -> Floats:
    """One-sided standard deviations for the largest of `count` two-sided ones, `z` (n,)."""
    # Bonferroni; beyond 8 the two are the same for our purpose, and probabilities would be zero.
    p = np.minimum(2 * count * ndtr(-np.minimum(z, 8.0)), 1.0)
    return np.where(z < 8.0, -ndtri(p), z)


def cutoff_of_largest(z: Floats, weights: Floats, count: int) -> float:
    """`cutoff` for the largest of `count` two-sided standard deviations, in their own unit."""
    one_sided = cutoff(of_largest(z, count), weights)
    return float(-ndtri(ndtr(-one_sided) / (2 * count)))


def nearest(R: Floats, trim: float, sample_weight: Floats) -> Floats:
    """Whole weight for the nearest rows that make up 1 - trim, the last of them in part."""
    order = np.argsort(np.where(sample_weight > 0, R, np.inf), kind="stable")
    counts = sample_weight[order]
    before = np.cumsum(counts) - counts
    wanted = (1.0 - trim) * float(np.sum(counts)) * (1 + 1e-12)
    w = np.zeros(len(R))
    w[order] = np.clip((wanted - before) / np.where(counts > 0, counts, 1.0), 0.0, 1.0)
    return np.where(sample_weight > 0, w, 0.0)


def free_part(h: Array, keep: Array, xp: Any = np) -> Array:
    """Share of a row's squared distance that is left in its squared residual.

    A row of leverage h that has a part in the fit pulls the subspace towards itself: 1 - h is left;
    one that has none shows the subspace's own error: 1 + h.
    """
    return xp.clip(1.0 - keep * h, EQUAL, None) * (1.0 + (1.0 - keep) * h)


def n_next(n_rows: int, n_features: int, rank: int) -> int:
    """How many of the next principal directions rows are looked at along.

    None if there are few rows for each of them: then each is the direction of a row or two, and
    these are far out along it whatever they are.
    """
    beyond = min(n_rows, n_features) - rank
    return tuning().n_next if n_rows >= tuning().n_next * beyond else 0


@dataclass(frozen=True)
class Cutoffs:
    """Standard deviations from which on a row has no weight."""

    residual: float = np.inf
    along: float = np.inf

    def tightened(self, other: Cutoffs) -> Cutoffs:
        """The smaller of each: a cut-off that was found stays."""
        return Cutoffs(min(self.residual, other.residual), min(self.along, other.along))


@dataclass(frozen=True)
class Rule:
    """How a row is weighed, given its distances.

    Its weight is a product of two: by its residual, and by its place along the next principal
    directions.
    """

    residual: Spread
    along: Along
    cuts: Cutoffs

    @classmethod
    def by_residuals(
        cls,
        R: Floats,
        weights: Floats,
        cuts: Cutoffs | None = None,
        rtol: float = SETTLED,
        common: float = 0.0,
    ) -> Rule:
        """Spread and cut-off of studentised residuals R (n,) of rows with `weights` (n,).

        Cut-offs `cuts` that were found before may become smaller only; `common` is what the squares
        of residuals have in common.
        """
        residual = Spread.of(R, weights, rtol, common)
        found = Cutoffs(residual=cutoff(residual.z(R), weights)).tightened(cuts or Cutoffs())
        return cls(residual, Along.silent(0), found)

    def with_next(self, P: Floats, near: Floats, rtol: float = SETTLED) -> Rule:
        """The same with the next directions, given projections P (n, q) and weights `near` (n,)."""
        along = Along.of(P, near, rtol)
        said = int(np.count_nonzero(np.isfinite(along.scale)))
        if not said:
            return replace(self, along=along)
        found = Cutoffs(along=cutoff_of_largest(along.z(P), near, said))
        return replace(self, along=along, cuts=self.cuts.tightened(found))

    def in_unit(self, unit: float) -> Rule:
        """The same of rows that are `unit` times these."""
        return Rule(self.residual.in_unit(unit), self.along.in_unit(unit), self.cuts)

    def near(self, R: Floats) -> Floats:
        """Weight (n,) by the residual alone."""
        return taper(self.residual.z(R), self.cuts.residual)

    def beside(self, P: Array, xp: Any = np) -> Array:
        """Weight (n,) by the place along the next directions alone, in any library."""
        return taper(self.along.z(P, xp), self.cuts.along, xp)

    def weights(self, xp: Any, squares: Array, P: Array) -> tuple[Array, Array]:
        """`near`, and that times `beside`, in any library, of a fit that is not exact.

        Given squares of studentised residuals.
        """
        near = taper(self.residual.z_of_squares(squares, xp), self.cuts.residual, xp)
        return near, near * self.beside(P, xp)
