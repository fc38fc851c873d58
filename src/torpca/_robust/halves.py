"""Halves of the part that may be good rows only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torpca._core.gram import top_of_gram
from torpca._robust.lines import weighted_quantile, weights_of_nearest
from torpca._robust.outlyingness import (
    axes_of_extreme_kurtosis,
    best_split,
    outlyingness,
    pair_projections,
)
from torpca._robust.part import Part
from torpca._robust.tuning import EQUAL, LONGEST, tuning
from torpca._sources.base import Floats


def least_outlying(part: Part, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The halves that are least outlying along pairs of rows (Stahel 1981, Donoho 1982).

    By two scales: the more trusted one comes first.
    """
    P = pair_projections(part.Z, part.votes, tuning().n_pairs, rng)
    first, second = (weights_of_nearest(out, part.votes) for out in outlyingness(P, part.votes))
    return first, second


def sides(part: Part, core: Floats, rng: np.random.Generator) -> Iterator[Floats]:
    """Both sides of the axes of least kurtosis of the rows of weights `core` (m,).

    Two groups of like size make the kurtosis of the axis that joins them small (Pena and Prieto
    2001): one of them may be all good. A side of few rows is no half.
    """
    count = min(tuning().n_axes, int(np.count_nonzero(core)) // 10)
    Y = sphered(part, core, count)
    if Y.shape[1] == 0:
        return
    P, kurtosis = axes_of_extreme_kurtosis(Y, core, rng)
    for j in np.argsort(kurtosis, kind="stable")[:2]:
        above = best_split(P[:, j], core).above
        for side in (np.where(above, 0.0, core), np.where(above, core, 0.0)):
            if np.sum(side) >= tuning().smallest_side * part.total:
                yield side


def sphered(part: Part, core: Floats, count: int) -> Floats:
    """Rows (m, count) in deviations along the leading principal axes of those of weights `core`."""
    w = core / np.sum(core)
    C = part.Z - w @ part.Z if part.center else part.Z
    B = C * np.sqrt(w)[:, None]
    V, s = top_of_gram(B.T @ B, count) if count else (C[:0].T, np.zeros(0))
    there = s**2 > EQUAL * s[0] ** 2 if count else np.zeros(0, dtype=bool)
    Y: Floats = C @ (V[:, there] / s[there])
    # Signs that do not depend on those, or on the order, of the features: rows are skewed upwards.
    return Y * np.where(w @ Y**3 < 0, -1.0, 1.0)


def nearest_to_subsets(part: Part, rank: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Halves nearest to subspaces through few rows, the best of many tries.

    Rows of two subspaces look alike along every single direction. A few rows that are all of one
    kind, and of some hundred tries one is, show it (RANSAC, Fischler and Bolles 1981). Tries are
    judged by the distance of more than half of some rows: bad rows on a line lie in every subspace
    through one of them, and with the good rows that happen to be near it make up a half.
    """
    t, Z, votes, center = tuning(), part.Z, part.votes, int(part.center)
    if t.n_subsets == 0 or rank >= min(Z.shape):
        return
    chance = np.cumsum(votes) / np.sum(votes)
    rows = np.searchsorted(chance[:-1], rng.random((t.n_subsets, rank + center)))
    starts = Z[rows[:, 0]] if center else np.zeros((t.n_subsets, Z.shape[1]))
    V = np.linalg.qr((Z[rows[:, center:]] - starts[:, None]).transpose(0, 2, 1))[0]
    S = Z[np.searchsorted(chance[:-1], (np.arange(t.line_rows) + 0.5) / t.line_rows)]
    # ||c||^2 - ||V'c||^2 with c = x - start: good enough to tell which tries are worth a look.
    squares = np.sum(np.square(S), axis=1)[:, None] - 2 * S @ starts.T
    squares = squares + np.sum(np.square(starts), axis=1)
    along = np.tensordot(S, V, axes=(1, 1)) - np.einsum("tp,tpk->tk", starts, V)
    squares = squares - np.sum(np.square(along), axis=2)
    # Of rows without noise more than half may lie in several subspaces: most rows in one of them.
    off = np.count_nonzero(squares > EQUAL, axis=0)
    nearest = np.maximum(np.quantile(squares, t.subset_share, axis=0), EQUAL)
    for i in np.lexsort((off, nearest))[: t.subset_finalists]:
        C = Z - starts[i]
        R = np.linalg.norm(C - (C @ V[i]) @ V[i].T, axis=1)
        if weighted_quantile(R, votes, 0.5) <= EQUAL:
            # All of them are in it, and half of few points may span less.
            yield np.where(R <= EQUAL, votes, 0.0)
        else:
            yield weights_of_nearest(R, votes)


def without_long_rows(part: Part, half: Floats) -> Floats:
    """A half (m,) without rows beside which all others would lie in one point, up to rounding.

    Unless that is most of it.
    """
    shorter = np.where(np.max(np.abs(part.Z), axis=1, initial=0.0) <= LONGEST, half, 0.0)
    return shorter if 2 * np.sum(shorter) > np.sum(half) else half
