"""The formulas of `torpca._estimators.labels` as a graph: distances, limits, labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.frame import FAR
from torpca._core.subspace import RESIDUAL_ULPS
from torpca._estimators.base import RobustSubspaceEstimator
from torpca._export.tape import Tape, Value

# The largest distance in units of a limit.
MOST = float(np.finfo(np.float64).max)


def distances(t: Tape, model: RobustSubspaceEstimator, rows: Value) -> tuple[Value, Value]:
    """Score and orthogonal distance (n,) of complete rows (n, d)."""
    fitted = model.subspace_
    mean, V = fitted.center, fitted.basis
    if fitted.scale is not None:
        rows, mean = rows * (1.0 / fitted.scale), mean / fitted.scale
    C = rows - mean if model.center else rows
    largest = float(np.max(fitted.deviations, initial=0.0))
    size = max(largest, float(np.max(np.abs(mean))))
    if size == 0.0:
        return measured(t, model, V, C, 1.0)
    # As in `frame_of_size`: a unit in which squares behave, and one of their own for rows that are
    # farther out than it can hold.
    exponent = max(int(np.frexp(size)[1]) - 1, -1022)
    unit = float(np.ldexp(1.0, exponent))
    magnitudes = t.op("ReduceMax", abs(rows), np.array([1]), keepdims=0)
    far = (magnitudes / size).above(FAR)
    factors = t.where(far, t.value(FAR) / magnitudes, float(np.ldexp(1.0, -exponent)))
    score, orthogonal = measured(t, model, V, C * t.column(factors), unit)
    score, orthogonal = t.where(far, score / factors / unit, score), orthogonal / factors
    # What rounding alone can make of a row in the subspace is no distance from it.
    eps = float(np.finfo(np.float64).eps)
    rounding = (orthogonal + score * largest) * (RESIDUAL_ULPS * eps)
    tiny = orthogonal.below(rounding) & rounding.below(np.inf)
    return score, t.where(tiny, 0.0, orthogonal)


def measured(
    t: Tape, model: RobustSubspaceEstimator, V: Any, C: Value, unit: float
) -> tuple[Value, Value]:
    """Distances (n,) of rows C (n, d) about the mean, in a unit."""
    if V.shape[1] == 0:
        return t.full(C, 0.0), t.row_norms(C)
    basis = t.value(V)
    Y = C @ basis
    deviations = model.subspace_.deviations
    safe = np.where(deviations > 0, deviations, 1.0)
    score = t.row_norms(Y / (safe / unit))
    return score, t.row_norms(C - t.op("MatMul", Y, t.op("Transpose", basis)))


def times_limit(t: Tape, distances: Value, limit: float) -> Value:
    """Distances (n,) over their limit; those beyond a limit of zero are huge."""
    if limit == 0.0:
        return t.where(distances.above(0.0), MOST, 0.0)
    times = distances / limit
    return t.where(times.above(MOST), MOST, times)


def larger(t: Tape, a: Value, b: Value) -> Value:
    """The larger of two numbers; NaN if one is."""
    nan = t.op("IsNaN", a) | t.op("IsNaN", b)
    return t.where(nan, np.nan, t.op("Max", a, b))
