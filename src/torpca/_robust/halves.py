"""Halves of the sample that may be good rows only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torpca._robust.flat import principal_variances, sample_part
from torpca._robust.lines import EQUAL, FULL, Spread, weighted_quantile
from torpca._robust.outlyingness import (
    N_PAIRS,
    Outlyingness,
    axes_of_extreme_kurtosis,
    outlyingness,
    pair_projections,
)
from torpca._robust.sample import Sample
from torpca._select.rank import RankRule, choose_rank
from torpca._sources.base import Floats

# Principal axes within which kurtosis is looked at.
AXES = (5, 10, 20)
# Subsets of as many rows as span a subspace that are tried, and the most directions at which
# some of them can be hoped to be all good.
N_SUBSETS, MOST_BY_SUBSET = 200, 8
# Rows by which tries are judged at first, and tries that are judged by all rows.
JUDGES, FINALISTS = 300, 5
# A difference of squares of rows of size one is this accurate.
ROUNDED_SQUARE = 1e-12


def halves(
    sample: Sample, rule: RankRule, rng: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Candidate halves of the sample, the most trusted first."""
    Z, weights = sample.Z, sample.weights
    pairs = outlyingness(pair_projections(Z, weights, N_PAIRS, rng, sample.products), weights)
    first = pairs.nearest_half(weights)
    yield "pairs", first
    yield "strict", pairs.strictly().nearest_half(weights)
    rank = rule.given
    if rank is None:
        variances = principal_variances(sample, first)
        rank = choose_rank(rule, variances, 2 * int(np.count_nonzero(first))).rank
    if rank <= MOST_BY_SUBSET and rank < min(Z.shape):
        yield "subsets", nearest_to_a_subset(sample, rank, rng)

    core = _not_hopeless(pairs, weights)
    both, flattest = pairs, (np.inf, np.zeros(len(Z)))
    enough = [count for count in AXES if 10 * count <= np.count_nonzero(core)]
    Y = sample_part(sample, core).sphered(max(enough)) if enough else Z[:, :0]
    for count in enough:
        if Y.shape[1] == 0:
            break
        P, kurtosis = axes_of_extreme_kurtosis(Y[:, :count], core, rng)
        both = both.joined(outlyingness(P, weights))
        at = int(np.argmin(kurtosis))
        flattest = min(flattest, (kurtosis[at], P[:, at]), key=lambda pair: pair[0])
    if both is not pairs:
        yield "axes", both.nearest_half(weights)
        yield "split", larger_side(flattest[1], core)
    yield "all", core


def nearest_to_a_subset(sample: Sample, rank: int, rng: np.random.Generator) -> Floats:
    """Weights of the half nearest to a subspace through few rows, the nearest such half found.

    Rows of two subspaces look alike along every single direction. A few rows that are all of one
    kind, and of some hundred tries one is, show it. Some of the rows tell the hopeless tries.
    """
    Z, weights = sample.Z, sample.weights
    chance = np.cumsum(weights) / np.sum(weights)
    rows = np.searchsorted(chance[:-1], rng.random((N_SUBSETS, rank + sample.center)))
    starts = Z[rows[:, 0]] if sample.center else np.zeros((N_SUBSETS, Z.shape[1]))
    V = np.linalg.qr((Z[rows[:, int(sample.center) :]] - starts[:, None]).transpose(0, 2, 1))[0]
    S = Z[np.searchsorted(chance[:-1], (np.arange(JUDGES) + 0.5) / JUDGES)]
    # ||c||^2 - ||V'c||^2 with c = x - start: good enough to tell which tries are hopeless.
    squares = np.sum(np.square(S), axis=1)[:, None] - 2 * S @ starts.T
    squares = squares + np.sum(np.square(starts), axis=1)
    along = np.tensordot(S, V, axes=(1, 1)) - np.einsum("tp,tpk->tk", starts, V)
    squares = squares - np.sum(np.square(along), axis=2)
    # Of rows without noise more than half may lie in several subspaces: most rows in one of them.
    off = np.count_nonzero(squares > ROUNDED_SQUARE, axis=0)
    order = np.lexsort((off, np.maximum(np.median(squares, axis=0), ROUNDED_SQUARE)))
    best, distances = (np.inf, np.inf), np.zeros(len(Z))
    for t in order[:FINALISTS]:
        C = Z - starts[t]
        R = np.linalg.norm(C - (C @ V[t]) @ V[t].T, axis=1)
        middle = max(weighted_quantile(R, weights, 0.5), EQUAL)
        now = middle, float(np.sum(weights[R > EQUAL]))
        if now < best:
            best, distances = now, R
    if best[0] == EQUAL:  # all of them are in it, and half of few points may span less
        return np.where(distances <= EQUAL, weights, 0.0)
    return Outlyingness(np.zeros(len(Z)), distances, distances).nearest_half(weights)


def _not_hopeless(found: Outlyingness, weights: Floats) -> Floats:
    """Weights of the rows that are not far beyond the others; at least half of them."""
    z = Spread.of(found.distance, weights).z(found.distance)
    core = np.where((z < FULL + 1.5) & (found.off == 0), weights, 0.0)
    if np.sum(core) < 0.5 * np.sum(weights):
        return found.nearest_half(weights)
    return core


def larger_side(x: Floats, weights: Floats) -> Floats:
    """Weights of the larger of the two groups that `x` falls into, least squares within groups."""
    inside = np.flatnonzero(weights > 0)
    order = inside[np.argsort(x[inside], kind="stable")]
    w, wx = np.cumsum(weights[order]), np.cumsum(weights[order] * x[order])
    if len(order) < 2:
        return weights
    left, right = w[:-1], w[-1] - w[:-1]
    between = left * right * (wx[:-1] / left - (wx[-1] - wx[:-1]) / right) ** 2
    cut = int(np.argmax(between)) + 1
    group = order[:cut] if w[cut - 1] >= 0.5 * w[-1] else order[cut:]
    out = np.zeros(len(weights))
    out[group] = weights[group]
    return out
