"""The formulas of `torpca._missing.completion` as a graph: cells that a row lacks."""

from __future__ import annotations

import numpy as np

from torpca._core.frame import LARGEST
from torpca._core.subspace import norm
from torpca._export.tape import Tape, Value
from torpca._missing.completion import Completion
from torpca._missing.tuning import LEAST


def filled(t: Tape, model: Completion, X: Value, missing: Value) -> Value:
    """Rows X (n, d) with their holes filled, as `Completion` fills them; all rows as if they had.

    Where `missing` (n, d) holds, X has anything.
    """
    d, k = model.V.shape
    C = X - model.mean
    C = C if model.scale is None else C / model.scale
    C = t.where(missing, 0.0, C)
    observed = t.floats(~missing)
    total = norm(model.noise)
    shares = np.square(model.noise / total) if total > 0 else np.full(d, 1 / d)
    rest, fit = C, None
    if k:
        V = t.value(model.V)
        fit = t.op("MatMul", scores(t, model, V, observed, C @ V), t.op("Transpose", V))
        rest = (C - fit) * observed
    if model.freedom is not None:
        count, share = t.row_sums(observed), observed @ shares
        rest = rest * t.column(factor(t, model, model.freedom, rest, count, share))
    Z = rest if fit is None else rest + fit
    return (Z if model.scale is None else Z * model.scale) + model.mean


def scores(t: Tape, model: Completion, V: Value, observed: Value, b: Value) -> Value:
    """Solutions (n, k) of (V_o'V_o + P) y = b of each row, given b (n, k)."""
    k = model.V.shape[1]
    i, j = np.triu_indices(k)
    # Made when the graph is loaded: in the file they would take k/2 times as much as V.
    products = t.op("Gather", V, i, axis=1) * t.op("Gather", V, j, axis=1)
    at = np.zeros((k, k), dtype=np.int64)
    at[i, j] = at[j, i] = np.arange(len(i))
    A = t.op("Gather", observed @ products, at, axis=1) + np.diag(model.prior)
    return solved(t, A, b, k)


def solved(t: Tape, A: Value, b: Value, k: int) -> Value:
    """Solutions (n, k) of n positive definite systems A (n, k, k), b (n, k), by elimination."""
    rows = np.arange(k).reshape(1, k, 1)

    def step(i: Value, M: Value) -> Value:
        at = t.op("Unsqueeze", i, np.array([0]))
        pivots = t.op("Gather", M, at, axis=1)
        pivots = pivots / t.op("Gather", pivots, at, axis=2)
        others = M - t.op("Gather", M, at, axis=2) * pivots
        return t.where(t.op("Equal", rows, at), pivots, others)

    M = t.op("Concat", A, t.op("Unsqueeze", b, np.array([2])), axis=2)
    return t.op("Gather", t.repeat(k, M, step), np.array(k), axis=2)


def factor(
    t: Tape, model: Completion, freedom: float, rest: Value, count: Value, share: Value
) -> Value:
    """What residuals are multiplied by, (n,); see `Completion.factor`."""
    d, k = model.V.shape
    # `count` is at least one where it matters: a row without cells is not judged.
    free = t.op("Max", t.value(1.0) - t.value(float(k)) / t.op("Max", count, 1.0), 0.0)
    free = free / max(1.0 - k / d, 1e-9)
    share = t.op("Min", t.op("Max", share * free, LEAST), 1.0)
    total = norm(model.noise)
    if not total > 0:
        return t.op("Reciprocal", t.op("Sqrt", share))
    u = t.op("Min", t.row_norms(rest) / total, LARGEST)
    u = u * u / share
    a = 2.0 / (9.0 * freedom)
    z = (t.op("Pow", u, 1.0 / 3.0) - (t.value(1.0) - t.value(a) / share)) * t.op("Sqrt", share)
    full = t.op("Max", z + (1.0 - a), 0.0)
    return t.op("Sqrt", full * full * full / t.where(u.above(0.0), u * share, 1.0))
