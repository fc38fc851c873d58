"""A first look at cells, before there is a model: by columns, and by columns in pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from torpca._missing.cells import MOST
from torpca._missing.neighbours import predictors
from torpca._missing.one_step import (
    ROUNDING,
    one_step_locations,
    one_step_scales,
    robust_slopes,
    weights_if_any,
)
from torpca._robust.draw import some_rows
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, place, to_numpy

# Share of good cells within the cut-off.
QUANTILE = 0.99
# Columns less correlated do not predict each other; at most so many predict one, and with more
# columns than that none does: the products of all pairs would not be held.
CORRELATED, NEIGHBOURS, MOST_COLUMNS = 0.5, 30, 2000
# Rows from which columns are described.
ROWS, NUMBERS, FEWEST = 1000, 2**19, 100


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
    cut: float

    @classmethod
    def of(cls, source: RowSource, weights: Floats, rng: np.random.Generator) -> Screen:
        """The columns of some rows of `source`, each counted as often as its weight (n,) says."""
        d = source.shape[1]
        rows = some_rows(weights, min(ROWS, max(FEWEST, NUMBERS // d)), rng)
        P, counts = np.ascontiguousarray(source.take(rows).T), weights_if_any(weights[rows])
        cut = float(np.sqrt(chi2.ppf(QUANTILE, 1)))
        location = one_step_locations(P, counts)
        scale = one_step_scales(P - location[:, None], counts)
        if d > MOST_COLUMNS:
            return cls(location, scale, None, np.zeros((0, 0)), np.ones(d), cut)
        Z = (P - location[:, None]) / np.where(scale > 0, scale, np.inf)[:, None]
        U = np.where(np.abs(Z) <= cut, Z, np.nan)
        w, b = predictors(U, CORRELATED, NEIGHBOURS, QUANTILE, counts)
        alone = np.count_nonzero(w, axis=1) == 1
        w[alone] = 0.0
        found = cls(location, scale, w, w * b, np.ones(d), cut)
        expected = to_numpy(found.expected(np, Z.T)).T
        grown = np.where(alone, 1.0, robust_slopes(Z, expected, cut, counts))
        away = Z - grown[:, None] * expected
        spread = np.maximum(one_step_scales(away, counts), ROUNDING)
        return cls(location, scale, w, w * b * grown[:, None], spread, cut)

    def expected(self, xp: Any, Z: Array) -> Array:
        """Cells of standardised rows (n, d) as the others of their row predict them."""
        if self.weights is None:
            return xp.zeros_like(Z)
        good = xp.abs(Z) <= self.cut
        total = xp.astype(good, xp.float64) @ place(xp, self.weights.T, Z)
        sums = xp.where(good, Z, 0.0) @ place(xp, self.slopes.T, Z)
        return xp.where(total > 0, sums / xp.where(total > 0, total, 1.0), 0.0)

    def bad(self, xp: Any, block: Array) -> Array:
        """Mask (n, d) of bad cells; none of rows in which there are many."""
        scale = np.where(self.scale > 0, self.scale, np.inf)
        Z = (block - place(xp, self.location, block)) / place(xp, scale, block)
        away = xp.abs(Z - self.expected(xp, Z)) / place(xp, self.spread, block)
        bad = away > self.cut  # not where a cell is missing
        count = xp.sum(xp.astype(bad, xp.float64), axis=1)
        there = xp.sum(xp.astype(~xp.isnan(block), xp.float64), axis=1)
        return bad & (count <= MOST * there)[:, None]
