"""Rows whose variances fall without a gap: weighed by their distance in all directions.

A group of bad rows can take one of the k directions at a small price in residuals if there is no
gap behind them, and no rule that looks at residuals alone objects. Such rows are a cloud, not a
subspace: what tells bad rows is the distance from the half whose covariance has the smallest
determinant, and the subspace is that of the rows near it (Croux and Haesbroeck 2000). The weights
do not depend on the subspace, so no iteration can undo them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from torpca._robust.concentrate import ROUGHLY, Candidate
from torpca._sample.draw import Sample
from torpca._sample.fit import sample_part
from torpca._sources.base import Mask
from torpca._stats.cutoffs import cutoff, taper
from torpca._stats.determinant import distances_by, least_determinant
from torpca._stats.spread import Spread
from torpca._tuning import tuning

REWEIGHTINGS = 3


@dataclass(frozen=True)
class Ellipsoid:
    """Rows near the half of least determinant."""

    keep: Mask
    """Rows of the sample within it, among all rows, (n_rows,)."""
    cut: float
    """Standard deviations from which on a row has no weight."""


def within_ellipsoid(
    sample: Sample, found: Sequence[Candidate], best: Candidate, n_rows: int
) -> Ellipsoid | None:
    """Rows of the sample, of `n_rows` in all, by their distance in all directions.

    None if there are too few rows for each direction, or no row is far out.
    """
    weights, d = sample.weights, sample.n_features
    if len(sample.Z) < tuning().rows_per_dimension * d:
        return None
    Y, of_all = (sample_part(sample, w).sphered(d) for w in (best.keep, weights))
    if Y.shape[1] < of_all.shape[1]:  # others leave the directions of the best candidate's rows
        return None
    halves = [least_determinant(Y, weights, c.keep) for c in found]
    now, size = min(halves, key=lambda half: half[1])
    if size == -np.inf:  # half of the rows are equal in some direction
        return None
    for _ in range(REWEIGHTINGS):
        D = distances_by(Y, now)[0]
        z = Spread.of(D, weights, ROUGHLY).z(D)
        beyond = cutoff(z, weights)
        now = weights * taper(z, beyond)
    if np.array_equal(now, weights) or 2 * float(np.sum(now)) < float(np.sum(weights)):
        return None
    return Ellipsoid(sample.spread_out(now, n_rows), beyond)
