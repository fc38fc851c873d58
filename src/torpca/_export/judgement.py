"""The formulas of `torpca._estimators.labels` as a graph: distances, limits, labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.frame import FAR
from torpca._estimators.base import RobustSubspaceEstimator
from torpca._estimators.limits import SAME, FittedLimits
from torpca._export.tape import Operand, Tape, Value

# The largest distance in units of a limit.
MOST = float(np.finfo(np.float64).max)
# From so many times the other on, a number is the hypotenuse.
LONG = 1e10


def distances(t: Tape, model: RobustSubspaceEstimator, rows: Value) -> tuple[Value, Value]:
    """Score and orthogonal distance (n,) of complete rows (n, d)."""
    fitted = model.subspace_
    mean, V = fitted.center, fitted.basis
    if fitted.scale is not None:
        rows, mean = rows * (1.0 / fitted.scale), mean / fitted.scale
    C = rows - mean if model.center else rows
    size = float(max(np.max(fitted.deviations, initial=0.0), np.max(np.abs(mean))))
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
    return t.where(far, score / factors / unit, score), orthogonal / factors


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


def times_limits(
    t: Tape,
    model: RobustSubspaceEstimator,
    score: Value,
    orthogonal: Value,
    known_rows: bool,
) -> tuple[Value, Value]:
    """Both distances (n,) in units of their limits; see `FittedLimits.relative`.

    Rows of the fit have limits of their own if they are `known_rows`.
    """
    fitted = model.subspace_.limits
    limits: list[Operand] = [fitted.score, fitted.orthogonal]
    new = fitted.new
    if new is not None:
        slope = score / float(np.sqrt(max(new.n - 1.0, 1.0)))
        short = t.op("Min", slope, LONG)
        spread = t.op("Sqrt", short * short + (1.0 + 1.0 / new.n))
        spread = t.where(slope.above(LONG), slope, spread)
        of_new: list[Operand] = [new.score, spread * new.orthogonal]
        if known_rows and len(fitted.seen):
            known = is_known(t, fitted, score, orthogonal)
            of_new = [t.where(known, seen, a) for seen, a in zip(limits, of_new, strict=True)]
        limits = of_new
    return ratio(t, score, limits[0]), ratio(t, orthogonal, limits[1])


def ratio(t: Tape, distance: Value, limit: Operand) -> Value:
    """Distances (n,) over their limits; those beyond a limit of zero are huge."""
    beyond = t.where(distance.above(0.0), MOST, 0.0)
    if not isinstance(limit, Value):
        times = beyond if limit == 0.0 else distance / limit
    else:
        none = t.op("Equal", limit, 0.0)
        times = t.where(none, beyond, distance / t.where(none, 1.0, limit))
    return t.where(t.op("IsInf", distance) | times.above(MOST), MOST, times)


def larger(t: Tape, a: Value, b: Value) -> Value:
    """The larger of two numbers; NaN if one is."""
    nan = t.op("IsNaN", a) | t.op("IsNaN", b)
    return t.where(nan, np.nan, t.op("Max", a, b))


def is_known(t: Tape, limits: FittedLimits, score: Value, orthogonal: Value) -> Value:
    """Rows (n,) that are among those of the fit, by their distances (`has_seen`)."""
    inside, off = limits.mark_units
    marks = score / inside + orthogonal * float(np.sqrt(2)) / off
    seen = limits.seen
    m = len(seen)
    # A binary search, all rows at a time: how many of the marks are less than each.
    steps = [2**i for i in reversed(range(m.bit_length()))]
    padded = t.value(np.append(seen, np.full(sum(steps) - m, np.inf)))
    before = t.op("Cast", t.full(score, 0.0), to=t.onnx.TensorProto.INT64)
    for step in steps:
        less = t.op("Gather", padded, before + np.array(step - 1)).below(marks)
        before = t.where(less, before + np.array(step), before)
    neighbours = (
        t.op("Max", before - np.array(1), np.array(0)),
        t.op("Min", before, np.array(m - 1)),
    )
    left, right = (t.op("Gather", padded, at) for at in neighbours)
    same = (abs(marks - mark).at_most((mark + 1.0) * SAME) for mark in (left, right))
    return next(same) | next(same)
