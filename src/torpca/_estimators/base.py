"""What every estimator shares: a robust subspace as a transformer and an outlier detector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OutlierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from torpca._core.loop import Iteration
from torpca._core.problem import check_finite
from torpca._core.result import RobustSubspace
from torpca._core.subspace import RESIDUAL_ULPS, norm
from torpca._estimators.coordinates import Coordinates
from torpca._estimators.explain import Explanations
from torpca._estimators.fitting import checked_fit
from torpca._estimators.html import NotebookSummary
from torpca._estimators.labels import Labels
from torpca._estimators.limits import clear_of_ties
from torpca._estimators.subspace import FittedSubspace
from torpca._missing.completion import Completion
from torpca._robust.limits import Limits
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats, to_numpy


class RobustSubspaceEstimator(
    ClassNamePrefixFeaturesOutMixin,
    Coordinates,
    Labels,
    Explanations,
    OutlierMixin,
    NotebookSummary,
    BaseEstimator,
):
    """Base of the estimators: subclasses say how the subspace is found.

    A row is as far out as the larger of its two distances, each divided by its limit: the score
    distance inside the subspace and the orthogonal distance to it.
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "center": ["boolean"],
        "whiten": ["boolean"],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
    }

    n_components: Any
    n_components_: int
    feature_names_in_: npt.NDArray[np.object_]
    explained_variance_: npt.NDArray[Any]
    explained_variance_ratio_: npt.NDArray[Any]
    support_: npt.NDArray[np.bool_]
    history_: tuple[Iteration, ...]
    n_iter_: int
    converged_: bool
    # What scikit-learn's classes add: it has no types, and a type checker knows nothing of them.
    fit_transform: Callable[..., npt.NDArray[Any]]
    fit_predict: Callable[..., npt.NDArray[np.int_]]
    get_feature_names_out: Callable[..., npt.NDArray[np.object_]]
    set_output: Callable[..., Self]
    set_params: Callable[..., Self]

    def _store(
        self,
        source: RowSource,
        *,
        mean: Floats | None,
        basis: Floats,
        deviations: Floats,
        left_over: float,
        n_kept: float,
        support: Any,
    ) -> None:
        """Set the fitted attributes of a PCA.

        `basis` (d, k) and `deviations` (k,) are the principal directions and standard deviations,
        `left_over` is the root-mean-square distance of the kept rows from the subspace.
        """
        d, k = basis.shape
        self._mean = np.zeros(d) if mean is None else np.asarray(mean, dtype=np.float64)
        self._basis, self._deviations = basis, deviations
        self._feature_scale = getattr(self, "_feature_scale", None)
        self.components_ = source.export(np.ascontiguousarray(basis.T))
        self.mean_ = source.export(self._mean)
        self.support_ = support
        self.n_components_ = k
        self.n_samples_ = source.shape[0]
        self._n_good = float(n_kept)
        freedom = max(1.0, n_kept - self.center)
        # Squares of very long or short rows are beyond every float; their ratios are not.
        total = norm(np.append(deviations, left_over)) or 1.0
        rest = min(n_kept, d) - k
        with np.errstate(over="ignore"):
            self.singular_values_ = source.export(deviations * np.sqrt(freedom))
            self.explained_variance_ = source.export(np.square(deviations))
            self.noise_variance_ = float(np.square(left_over) / rest) if rest > 0 else 0.0
        self.explained_variance_ratio_ = source.export(np.square(deviations / total))

    def _store_distances(
        self,
        source: RowSource,
        score: Floats,
        orthogonal: Floats,
        limits: Limits,
        rounding: float = 0.0,
    ) -> None:
        """Set the fitted attributes of an outlier detector.

        An orthogonal distance that `rounding` can produce is none.
        """
        self.score_distances_ = source.export(score)
        self.orthogonal_distances_ = source.export(orthogonal)
        # Rows that are in the subspace up to rounding are never too far from it.
        spread = limits.score * float(np.max(self._deviations, initial=0.0))
        ulps = RESIDUAL_ULPS * float(np.finfo(source.dtype).eps)
        least = rounding + 2 * ulps * spread
        self.cutoffs_ = {
            "score": clear_of_ties(limits.score, score),
            "orthogonal": clear_of_ties(max(limits.orthogonal, least), orthogonal),
        }
        # In float64 whatever the data: labels cut again later must be the same.
        self._training = score, orthogonal
        self.offset_ = -1.0
        self.offset_ = self._offset(self.contamination)

    @property
    def subspace_(self) -> FittedSubspace:
        """Centre, directions, spread, noise and limits of the good rows, in NumPy and float64."""
        known = self._completion()
        return FittedSubspace(
            center=known.mean,
            basis=known.V,
            deviations=known.deviations,
            scale=known.scale,
            noise=known.noise,
            freedom=self._residual_freedom,
            n_good=self._n_good,
            limits=self._fitted_limits,
            training=self._training,
        )

    def _completion(self) -> Completion:
        """How holes of rows are filled; known before the limits are."""
        check_is_fitted(self)
        # As much in one feature as in another.
        even = np.full(len(self._basis), np.sqrt(self.noise_variance_))
        return Completion(
            mean=self._mean,
            V=self._basis,
            deviations=self._deviations,
            noise=getattr(self, "_feature_noise", even),
            freedom=self._residual_freedom,
            scale=self._feature_scale,
        )

    @property
    def _residual_freedom(self) -> float:
        d, k = self._basis.shape
        return float(getattr(self, "_freedom", max(d - k, 1)))

    # ---- the scikit-learn protocol --------------------------------------------------------------

    def _open(self, X: Any) -> RowSource:
        """Return a source over X, and take note of its features."""
        source = self._marked(as_source(X))
        validate_data(self, X, skip_check_array=True)
        # Not every input knows its number of features before it is an array.
        self.n_features_in_ = source.shape[1]
        return source

    def _marked(self, source: RowSource) -> RowSource:
        """Return the rows, NaN where a value is missing."""
        return source

    def _check(self, X: Any) -> tuple[RowSource, Floats]:
        """Return a source over X and the magnitudes of its rows, all finite."""
        return self._whole(self._opened(X))

    def _whole(self, source: RowSource) -> tuple[RowSource, Floats]:
        """Return the rows and their magnitudes, all finite."""
        return source, check_finite(source)

    def _opened(self, X: Any) -> RowSource:
        """Return a source over rows for a fitted model."""
        check_is_fitted(self)
        source = self._marked(as_source(X))
        validate_data(self, X, skip_check_array=True, reset=False)
        if source.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {source.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return source

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PaperEstimator(RobustSubspaceEstimator):
    """Base of the estimators named after the paper's algorithms.

    Unless `contamination` says how many rows to label, the limits are the largest distances
    among the rows the fit kept.
    """

    _parameter_constraints = {
        **RobustSubspaceEstimator._parameter_constraints,
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "callback": [None, callable],
    }

    parameters_: Mapping[str, float]
    grid_: tuple[Mapping[str, float], ...] | None

    def _find_subspace(self, source: RowSource) -> RobustSubspace:
        raise NotImplementedError

    @checked_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the principal subspace of the good rows of `X`.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            One sample per row.
        y : ignored
            Present for use in pipelines.

        Returns
        -------
        self
        """
        source = self._open(X)
        found = self._find_subspace(source)
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        self.history_ = found.history
        self.parameters_ = found.parameters
        self.grid_ = found.grid

        support = to_numpy(found.support)
        n_kept = int(np.count_nonzero(support))
        freedom = max(1, n_kept - self.center)
        # Components are orthonormal to the precision of the data; residuals need float64.
        self._basis = np.linalg.qr(to_numpy(found.components).astype(np.float64).T)[0]
        self._basis *= np.sign(np.sum(self._basis * to_numpy(found.components).T, axis=0))
        self._deviations = to_numpy(found.singular_values).astype(np.float64) / np.sqrt(freedom)
        self._mean = np.zeros(source.shape[1])
        if found.mean is not None:
            self._mean = to_numpy(found.mean).astype(np.float64)
        self._feature_scale = None
        score, orthogonal = self._distances(source, source.magnitudes())
        self._store(
            source,
            mean=self._mean,
            basis=self._basis,
            deviations=self._deviations,
            left_over=norm(orthogonal[support]) / np.sqrt(freedom),
            n_kept=n_kept,
            support=found.support,
        )
        # To the last digit what the function of the same name returns.
        self.components_, self.singular_values_ = found.components, found.singular_values
        kept = score[support], orthogonal[support]
        limits = Limits(*map(self._limit, kept))
        self._store_distances(source, score, orthogonal, limits)
        return self

    def _limit(self, distances: Floats) -> float:
        """Limit on distances of one kind, from those of the kept rows."""
        return float(np.max(distances))
