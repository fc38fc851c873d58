"""A first completion of rows with missing cells, in which bad rows have no more say than others."""

from __future__ import annotations

import numpy as np

from torpca._core.gram import top_of_gram
from torpca._core.krylov import OVERSAMPLING
from torpca._missing.completion import Completion
from torpca._missing.em import settled
from torpca._missing.one_step import medians
from torpca._missing.tuning import rows_to_look_at
from torpca._robust.draw import some_rows
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats, Mask


def first_completion(
    source: RowSource, weights: Floats, rank: int | None, rng: np.random.Generator, *, center: bool
) -> Completion:
    """Completion by twice as many directions as are asked for, from rows that are not long.

    Rows longer than the middle one, about the medians of the features, are brought to its length:
    then they tell their directions, however far out they are (Winsorised signs, Raymaekers and
    Rousseeuw 2019). Groups of bad rows may have some of the directions; cells of good rows are
    filled by theirs.
    """
    d = source.shape[1]
    rows = some_rows(weights, rows_to_look_at(d), rng)
    X, w = source.take(rows), weights[rows]
    observed = ~np.isnan(X)
    mean, scale = middles(X, w, center=center)
    C = np.where(observed, X - mean, 0.0)
    # On the cells it has, each by the spread of its feature, so that it does not matter which.
    expected = observed @ np.square(scale)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        unit = np.max(np.abs(C), axis=1)
        safe = np.where(unit > 0, unit, 1.0)
        length = safe * np.sqrt(np.sum(np.square(C / safe[:, None]), axis=1) / expected)
    there = np.isfinite(length) & (expected > 0)
    middle = float(medians(np.where(there, length, np.nan)[None], w)[0]) or 1.0
    length = np.maximum(np.where(there, length, middle), middle)
    short = mean + C * (middle / length)[:, None]
    short[~observed] = np.nan
    k = OVERSAMPLING if rank is None else 2 * rank
    # Nearly as many as there are features would fit the cells that a row has, whatever they are,
    # and say nothing of the others.
    most = min(d - 1, max(rank or 1, d // 2))
    k = max(1, min(k, most, int(np.sum(w)) // 2))
    model = by_pairs(np.where(observed, short - mean, 0.0), observed, w, mean, k)
    return settled(as_source(short), model, w, center=center, share=1.0)


def by_pairs(C: Floats, observed: Mask, w: Floats, mean: Floats, k: int) -> Completion:
    """Directions of the covariance of which each entry comes from the rows that have both cells."""
    d = C.shape[1]
    there = observed.astype(np.float64)
    together = (there * w[:, None]).T @ there
    G = (C * w[:, None]).T @ C / np.maximum(together, 1.0)
    # Of few rows with both cells nothing is known: no correlation.
    G = np.where(together >= 2, G, np.diag(np.diag(G)))
    V, s = top_of_gram((G + G.T) / 2, k)
    rest = max(float(np.trace(G)) - float(np.sum(np.square(s))), 0.01 * float(np.trace(G)))
    return Completion(mean, V, s, np.full(d, np.sqrt(rest / d)))


def middles(X: Floats, w: Floats, *, center: bool) -> tuple[Floats, Floats]:
    """Median of each feature of X (m, d), and the median distance from it, of the cells there."""
    mean = medians(X.T, w) if center else np.zeros(X.shape[1])
    away = np.abs(X - mean)
    scale = medians(away.T, w)
    # More than half of the cells may be equal.
    largest = np.max(np.where(np.isnan(away), 0.0, away), axis=0)
    return mean, np.where(scale > 0, scale, largest)
