"""A fitted model as an ONNX graph."""

from __future__ import annotations

import json
import os
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from torpca._atomic import atomic_write
from torpca._estimators.base import RobustSubspaceEstimator
from torpca._estimators.holes import Holes
from torpca._estimators.limits import TYPES, UNKNOWN
from torpca._export.completion import filled
from torpca._export.judgement import distances, larger, times_limit
from torpca._export.tape import IR_VERSION, OPSET, Tape, Value
from torpca._words import whole

# What the numbers of the output `row_type` mean; rows that `predict` refuses are the last.
ROW_TYPES = (*TYPES.ravel().tolist(), UNKNOWN, "refused")
# Bytes of a file in this format, at most, less what the nodes take.
LARGEST = 2**31 - 2**20


def to_onnx(
    model: RobustSubspaceEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    force: bool = True,
) -> Any:
    """Export a fitted model as an ONNX graph, which judges rows without torpca or Python.

    The graph has one input, X, float64 of shape (n, n_features), and the outputs

    - `coordinates` (n, n_components), what `transform` returns;
    - `score_distance` and `orthogonal_distance` (n,), what `distances` returns;
    - `times_limit` (n,), the larger of the two distances, each divided by its limit: minus
      `score_samples`;
    - `label` (n,), what `predict` returns, int64: 1 for good rows, -1 for outliers;
    - `row_type` (n,), what `outlier_types` returns, as a number: 0 "regular", 1 "orthogonal",
      2 "good leverage", 3 "bad leverage", 4 "unknown", 5 "refused".

    NaN means missing, and so do the model's `missing_values`, if it has any. Rows are judged by the
    cells they have. "unknown" rows have no more cells than there are components; their distances
    are NaN and their label is 1, as in `predict`. A graph cannot raise an error. Rows that the
    model refuses are "refused", with NaN for all numbers and the label -1: rows with infinite
    values and, in models of the paper's algorithms, rows with NaN.

    Parameters
    ----------
    model : OutlierRobustPCA, TORP, NoisyTORP or GaussianTORP
        A fitted model, or one loaded from a file. `cells=True` is not supported, because the search
        for bad cells takes several rounds.
    path : path, optional
        File to write the graph to. It usually ends in .onnx.
    force : bool, default=True
        Whether to replace an existing file. It stays in place until the new one is complete.

    Returns
    -------
    onnx.ModelProto
        Its metadata has the names of the features, if the model has them, and of the row types.

    See Also
    --------
    save_model : a file for torpca itself.

    Notes
    -----
    The operators are standard ones of opset 18. All numbers are float64 and differ from torpca's by
    rounding, so the label of a row that lies on a limit up to rounding may differ. You need the
    package onnx to write the graph, and a runtime such as onnxruntime to run it.

    Examples
    --------
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from torpca import OutlierRobustPCA, to_onnx
    >>> from torpca.datasets import make_outlier_subspace
    >>> X = make_outlier_subspace(300, 10, 2, 0.2, noise=0.01, random_state=0).X
    >>> model = OutlierRobustPCA(2).fit(X[:200])
    >>> session = InferenceSession(to_onnx(model).SerializeToString())
    >>> label, distance = session.run(["label", "score_distance"], {"X": X[200:]})
    >>> bool((label == model.predict(X[200:])).all())
    True
    >>> bool(np.allclose(distance, model.distances(X[200:]).score))
    True
    """
    if not isinstance(model, RobustSubspaceEstimator):
        raise TypeError(
            f"to_onnx exports an estimator of torpca, but got {type(model).__name__}. Give a "
            "fitted OutlierRobustPCA, TORP, NoisyTORP or GaussianTORP."
        )
    check_is_fitted(model)
    if getattr(model, "cells", False):
        raise ValueError(
            "a model with cells=True looks for bad cells in several rounds, which a graph of "
            "standard operators does not. Fit with cells=False to export the model."
        )
    if model.subspace_.basis.nbytes > LARGEST:
        raise ValueError(
            f"a graph can hold {whole(LARGEST)} bytes, and the components of this model take "
            f"{whole(model.subspace_.basis.nbytes)}. Fit fewer components, or use save_model."
        )
    made = written(needed(), model)
    if path is not None:
        content = made.SerializeToString()
        atomic_write(path, lambda file: file.write(content), force=force)
    return made


def needed() -> ModuleType:
    """The package onnx, or how to install it."""
    try:
        import onnx  # noqa: PLC0415 (optional)
    except ImportError as error:
        raise ImportError(
            'Export to ONNX needs onnx, which is not installed: pip install "torpca[onnx]".'
        ) from error
    module: ModuleType = onnx
    return module


def written(onnx: Any, model: RobustSubspaceEstimator) -> Any:
    """The graph of a model that has been checked."""
    t = Tape(onnx)
    X = Value(t, "X")
    d, k = model.subspace_.shape
    rows, few, refused = complete(t, model, X)

    Y = coordinates(t, model, rows)
    score, orthogonal = distances(t, model, rows)
    silent = few | refused
    score, orthogonal = (t.where(silent, np.nan, one) for one in (score, orthogonal))
    limits = model.subspace_.limits
    out, off = times_limit(t, score, limits.score), times_limit(t, orthogonal, limits.orthogonal)
    times = larger(t, out, off)
    limit = -float(model.offset_)

    def number(mask: Value) -> Value:
        return t.op("Cast", mask, to=onnx.TensorProto.INT64)

    kind = number(out.above(limit)) * np.array(2) + number(off.above(limit))
    kind = t.where(few, np.array(ROW_TYPES.index(UNKNOWN)), kind)
    bad = times.above(limit) | refused
    results = {
        "coordinates": t.where(t.column(refused), np.nan, Y) if k else Y,
        "score_distance": score,
        "orthogonal_distance": orthogonal,
        "times_limit": times,
        "label": t.where(bad, np.array(-1), np.array(1)),
        "row_type": t.where(refused, np.array(len(ROW_TYPES) - 1), kind),
    }
    outputs = []
    for name, value in results.items():
        t.op("Identity", value, name=name)
        whole_numbers = name in ("label", "row_type")
        dtype = onnx.TensorProto.INT64 if whole_numbers else onnx.TensorProto.DOUBLE
        shape = ["n", k] if name == "coordinates" else ["n"]
        outputs.append(onnx.helper.make_tensor_value_info(name, dtype, shape))
    graph = t.graph(t.nodes, [t.floating(X, ["n", d])], outputs, initializer=t.constants)
    return with_words(onnx, model, graph)


def complete(t: Tape, model: RobustSubspaceEstimator, X: Value) -> tuple[Value, Value, Value]:
    """Rows (n, d) without holes, those of too few cells (n,), and those that are refused (n,)."""
    d, k = model.subspace_.shape
    missing, infinite = t.op("IsNaN", X), t.op("IsInf", X)
    if not isinstance(model, Holes):
        refused = t.any_in_row(missing | infinite)
        return X, refused & ~refused, refused
    if model.missing_values is not None:
        for number in np.atleast_1d(np.asarray(model.missing_values, dtype=np.float64)).tolist():
            missing = missing | t.op("Equal", X, number)
    refused = t.any_in_row(infinite & ~missing)
    count = t.row_sums(t.floats(~missing))
    holed = count.below(float(d))
    completion = model.subspace_.completion()

    def all_filled() -> Value:
        return t.where(t.column(holed), filled(t, completion, X, missing), X)

    some = t.op("ReduceSum", t.floats(holed), keepdims=0).above(0.0)
    rows = t.if_else(some, all_filled, lambda: t.op("Identity", X))
    return rows, holed & count.at_most(float(k)), refused


def coordinates(t: Tape, model: RobustSubspaceEstimator, rows: Value) -> Value:
    """What `transform` returns, (n, k)."""
    fitted = model.subspace_
    V = fitted.basis
    if V.shape[1] == 0:
        return t.full(rows, 0.0, 0)
    C = rows - fitted.center if model.center else rows
    Y = (C if fitted.scale is None else C * (1.0 / fitted.scale)) @ V
    return Y / np.where(fitted.deviations > 0, fitted.deviations, 1.0) if model.whiten else Y


def with_words(onnx: Any, model: RobustSubspaceEstimator, graph: Any) -> Any:
    """A file's contents of the graph, with what a reader of it may want to know."""
    from torpca import __version__  # noqa: PLC0415 (torpca imports this module)

    graph.name = "torpca"
    made = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="torpca",
        producer_version=__version__,
        doc_string=f"{type(model).__name__}: robust principal components, distances and labels",
    )
    names = getattr(model, "feature_names_in_", None)
    words = {"row_types": json.dumps(ROW_TYPES)}
    if names is not None:
        words["feature_names"] = json.dumps([str(name) for name in names])
    onnx.helper.set_model_props(made, words)
    return made
