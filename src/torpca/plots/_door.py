"""What may be drawn: fitted estimators, rows of the right kind, names and numbers that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from torpca._estimators.base import RobustSubspaceEstimator
from torpca._estimators.limits import TYPES
from torpca._names import feature_names
from torpca._ordinary import OrdinaryPCA, ordinary_pca
from torpca._sources.base import Floats, to_numpy


@dataclass(frozen=True)
class Subject:
    """A fitted estimator, and rows as it sees them."""

    model: RobustSubspaceEstimator
    X: Any
    ids: npt.NDArray[Any] | None
    """Labels of the rows if X is a pandas frame, else None: they have numbers."""
    names: npt.NDArray[Any] | None
    """Names of the features, if there are any."""


def subject(estimator: Any, X: Any) -> Subject:
    """Look at an estimator of torpca, or a pipeline that ends in one, and at rows (n, d)."""
    model, steps = estimator, getattr(estimator, "steps", None)
    if steps:
        model = steps[-1][1]
    if not isinstance(model, RobustSubspaceEstimator):
        raise TypeError(
            f"{type(model).__name__} is no estimator of torpca: give a fitted OutlierRobustPCA, "
            "TORP, NoisyTORP or GaussianTORP, or a pipeline that ends in one."
        )
    check_is_fitted(
        model, "offset_", msg="%(name)s is not fitted, so call fit(X) before drawing it."
    )
    ids = np.asarray(X.index) if hasattr(X, "index") and hasattr(X, "iloc") else None
    columns = getattr(X, "columns", None)
    if steps and len(steps) > 1:
        before = estimator[:-1]
        X = None if X is None else before.transform(X)
        columns = getattr(X, "columns", None)
        if columns is None and hasattr(before, "get_feature_names_out"):
            columns = before.get_feature_names_out()
    names = getattr(model, "feature_names_in_", columns)
    return Subject(model, X, ids, None if names is None else np.asarray(names))


def distances_and_types(it: Subject) -> tuple[Floats, Floats, npt.NDArray[np.str_]]:
    """Both distances (n,) and kinds (n,) of the rows; of the training rows if there are none."""
    model = it.model
    fitted = model.subspace_
    score, orthogonal = fitted.training if it.X is None else model._distances(*model._check(it.X))
    return score, orthogonal, fitted.limits.types(score, orthogonal)


def limits_of(model: RobustSubspaceEstimator) -> dict[str, float]:
    """Distances beyond which rows are flagged.

    These are `cutoffs_`, unless `contamination` asks for some share of the rows: then both
    are stretched or shrunk alike until so many are beyond.
    """
    with np.errstate(over="ignore"):
        return {name: float(-model.offset_ * limit) for name, limit in model.cutoffs_.items()}


def plain_pca(it: Subject, k: int) -> OrdinaryPCA:
    """Ordinary PCA of the rows, scaled if the model scales, with at most `k` directions."""
    source, _ = it.model._check(it.X)
    k = min(k, *source.shape)
    return ordinary_pca(source, k, bool(it.model.center), it.model.subspace_.scale)


# ---- plain numbers, given by hand ----------------------------------------------------------------


def numbers(values: Any, name: str, ndim: int = 1) -> Floats:
    """`values` as a float64 array of `ndim` dimensions, all finite."""
    array = np.asarray(to_numpy(values), dtype=np.float64)
    if array.ndim != ndim:
        raise ValueError(
            f"{name} has shape {array.shape}, but must have {ndim} dimension{'s' * (ndim != 1)}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} has entries that are not finite, which cannot be drawn.")
    return array


def same_length(n: int, **columns: Any) -> None:
    """Hold all columns against the number of rows."""
    for name, values in columns.items():
        if values is not None and len(values) != n:
            raise ValueError(f"{name} has {len(values)} entries, but there are {n} rows.")


def both_limits(cutoffs: Mapping[str, float]) -> dict[str, float]:
    """The two limits among `cutoffs`."""
    missing = {"score", "orthogonal"} - set(cutoffs)
    if missing:
        raise ValueError(
            f"cutoffs has {sorted(cutoffs)}, but must have the limits 'score' and 'orthogonal', "
            "as cutoffs_ of an estimator has."
        )
    return {name: float(cutoffs[name]) for name in ("score", "orthogonal")}


def types_beyond(
    score: Floats, orthogonal: Floats, limits: Mapping[str, float]
) -> npt.NDArray[np.str_]:
    """What kind of row each is, by its two distances and the limits."""
    beyond = (score > limits["score"]).astype(int), (orthogonal > limits["orthogonal"]).astype(int)
    types: npt.NDArray[np.str_] = TYPES[beyond]
    return types


def known_types(types: Any) -> npt.NDArray[np.str_]:
    """`types` as an array of the four kinds, and of nothing else."""
    array = np.asarray(types, dtype=str)
    kinds = TYPES.ravel().tolist()
    unknown = sorted(set(np.unique(array).tolist()) - set(kinds))
    if unknown:
        raise ValueError(
            f"types has {unknown[0]!r}, but a row is one of {', '.join(map(repr, kinds))}."
        )
    return array


def with_scaling(name: str, scaled: bool | None) -> str:
    """Name of an axis in the unit of the columns, and whether these were scaled, if it is known."""
    return name if scaled is None else f"{name} (columns {'' if scaled else 'not '}scaled)"


def names_of(given: Sequence[str] | None, known: Any, d: int) -> tuple[str, ...]:
    """Names of d features: those given, else those known, else x0, x1, ..."""
    names = given if given is not None else known
    if names is None:
        return feature_names(d)
    if len(names) != d:
        raise ValueError(
            f"feature_names has {len(names)} names, but there are {d} features: give one for each."
        )
    return tuple(str(name) for name in names)
