"""A first look at cells, before there is a model: by columns, and by columns in pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from torpca._missing.cells import too_many
from torpca._missing.neighbours import predictors
from torpca._missing.one_step import one_step_locations, one_step_scales, robust_slopes
from torpca._missing.tuning import (
    CORRELATED,
    CUT,
    NEIGHBOURS,
    ROUNDING,
    ROWS,
    rows_to_look_at,
)
from torpca._robust.draw import some_rows
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, place, to_numpy


@dataclass(frozen=True)
class Screen:
    """What each column is like, and what it says of the others.

    DetectDeviatingCells (Rousseeuw and Van den Bossche 2018), described by some rows and applied to
    all: a standardised cell is predicted by a weighted mean of those of correlated columns.
    """

    location: Floats
    scale: Floats
    """Zero where at least half of the cells are equal: then none of them is bad."""
    weights: Floats | None
    """Weight of each column (rows, d) in what predicts another, (d, d); None: none has one."""
    slopes: Floats
    """The same times slopes, (d, d), times what undoes the shrinkage of a mean."""
    spread: Floats
    """Scale of what is left, (d,)."""

    @classmethod
    def of(cls, source: RowSource, weights: Floats, rng: np.random.Generator) -> Screen:
        """The columns of some rows of `source`, each counted as often as its weight (n,) says."""
        d = source.shape[1]
        rows = some_rows(weights, rows_to_look_at(d), rng)
        P, counts = np.ascontiguousarray(source.take(rows).T), weights[rows]
        location = one_step_locations(P, counts)
        scale = one_step_scales(P - location[:, None], counts)
        if d > ROWS:  # the products of all pairs would not be held
            return cls(location, scale, None, np.zeros((0, 0)), np.ones(d))
        Z = (P - location[:, None]) / np.where(scale > 0, scale, np.inf)[:, None]
        U = np.where(np.abs(Z) <= CUT, Z, np.nan)
        w, b = predictors(U, CORRELATED, NEIGHBOURS, float(chi2.cdf(CUT**2, 1)), counts)
        alone = np.count_nonzero(w, axis=1) == 1
        w[alone] = 0.0
        found = cls(location, scale, w, w * b, np.ones(d))
        expected = to_numpy(found.expected(np, Z.T)).T
        grown = np.where(alone, 1.0, robust_slopes(Z, expected, CUT, counts))
        away = Z - grown[:, None] * expected
        spread = np.maximum(one_step_scales(away, counts), ROUNDING)
        return cls(location, scale, w, w * b * grown[:, None], spread)

    def expected(self, xp: Any, Z: Array) -> Array:
        """Cells of standardised rows (n, d) as the others of their row predict them."""
        if self.weights is None:
            return xp.zeros_like(Z)
        good = xp.abs(Z) <= CUT
        total = xp.astype(good, xp.float64) @ place(xp, self.weights.T, Z)
        sums = xp.where(good, Z, 0.0) @ place(xp, self.slopes.T, Z)
        return xp.where(total > 0, sums / xp.where(total > 0, total, 1.0), 0.0)

    def bad(self, xp: Any, block: Array) -> Array:
        """Mask (n, d) of bad cells; none of rows in which there are many."""
        scale = np.where(self.scale > 0, self.scale, np.inf)
        Z = (block - place(xp, self.location, block)) / place(xp, scale, block)
        away = xp.abs(Z - self.expected(xp, Z)) / place(xp, self.spread, block)
        bad = away > CUT  # not where a cell is missing
        return bad & ~too_many(xp, bad, ~xp.isnan(block))
