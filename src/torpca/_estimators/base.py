"""What every estimator shares: a robust subspace as a transformer and an outlier detector."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OutlierMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from torpca._core.frame import frame_of_size
from torpca._core.problem import check_finite
from torpca._core.result import RobustSubspace
from torpca._core.subspace import RESIDUAL_ULPS, norm
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats, to_numpy

# Limits lie this much beyond the farthest kept row, so that scoring the row again, in another
# block of rows, cannot put it on the other side.
SLACK = 1.0 + 1e-9


class RobustSubspaceEstimator(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    OutlierMixin,
    BaseEstimator,
):
    """Base of the estimators: subclasses say how the subspace is found.

    A row is as far out as the larger of its two distances, each divided by its limit: the score
    distance inside the subspace and the orthogonal distance to it. Unless `contamination` says
    how many rows to label, the limits are the largest distances among the rows the fit kept.
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "center": ["boolean"],
        "contamination": [None, Interval(Real, 0, 0.5, closed="right")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "callback": [None, callable],
    }

    n_components: int
    center: bool
    contamination: float | None

    def _find_subspace(self, source: RowSource) -> RobustSubspace:
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> RobustSubspaceEstimator:
        """Find the principal subspace of the good rows of `X`.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            One sample per row.
        y : ignored
            Present for the sake of pipelines.

        Returns
        -------
        self
        """
        source = as_source(X)
        validate_data(self, X, skip_check_array=True)
        # Not every input knows its number of features before it is an array.
        self.n_features_in_ = source.shape[1]
        self._store(source, self._find_subspace(source))
        return self

    def _store(self, source: RowSource, found: RobustSubspace) -> None:
        support = to_numpy(found.support)
        singular_values = to_numpy(found.singular_values).astype(np.float64)
        n_kept, d = int(np.count_nonzero(support)), source.shape[1]
        mean = np.zeros(d) if found.mean is None else to_numpy(found.mean)
        self.components_ = found.components
        self.singular_values_ = found.singular_values
        self.mean_ = source.export(mean)
        self.support_ = found.support
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        self.history_ = found.history
        self.parameters_ = found.parameters
        self.grid_ = found.grid
        self.n_components_ = int(self.components_.shape[0])
        self.n_samples_ = source.shape[0]

        score, orthogonal = self._distances(source, source.magnitudes())
        # Squares of very long or short rows are beyond every float; their ratios are not.
        freedom = max(1, n_kept - self.center)
        left_over = norm(orthogonal[support]) / np.sqrt(freedom)
        scale = singular_values / np.sqrt(freedom)
        total = norm(np.append(scale, left_over)) or 1.0
        rest = min(n_kept, d) - self.n_components_
        with np.errstate(over="ignore"):
            self.explained_variance_ = source.export(scale**2)
            self.noise_variance_ = float(np.square(left_over)) / rest if rest > 0 else 0.0
        self.explained_variance_ratio_ = source.export((scale / total) ** 2)

        self.score_distances_ = source.export(score)
        self.orthogonal_distances_ = source.export(orthogonal)
        self.cutoffs_ = self._limits(score[support], orthogonal[support])
        # Rows that are in the subspace up to rounding are never too far from it.
        spread = float(np.max(score[support])) * float(np.max(scale, initial=0.0))
        rounding = 2 * RESIDUAL_ULPS * float(np.finfo(source.dtype).eps) * spread
        self.cutoffs_["orthogonal"] = max(self.cutoffs_["orthogonal"], rounding)
        self.offset_ = -1.0
        if self.contamination is not None:
            training = self._scores(score, orthogonal)
            self.offset_ = float(np.percentile(training, 100.0 * self.contamination))

    # ---- distances and labels -----------------------------------------------------------------

    def _limits(self, score: Floats, orthogonal: Floats) -> dict[str, float]:
        """Limits on the distances, from those of the kept rows."""
        return {
            "score": SLACK * float(np.max(score)),
            "orthogonal": SLACK * float(np.max(orthogonal)),
        }

    def _distances(self, source: RowSource, magnitudes: Floats) -> tuple[Floats, Floats]:
        """Score and orthogonal distance of every row of `source`."""
        # Components are orthonormal to the precision of the data; residuals need float64.
        V = np.linalg.qr(to_numpy(self.components_).astype(np.float64).T)[0]
        n_kept = int(np.count_nonzero(to_numpy(self.support_)))
        scale = to_numpy(self.singular_values_) / np.sqrt(max(1, n_kept - self.center))
        mean = to_numpy(self.mean_).astype(np.float64)
        size = float(max(np.max(scale, initial=0.0), np.max(np.abs(mean))))
        frame = frame_of_size(source, magnitudes, size)
        rows = frame.about(mean if self.center else None)
        return frame.restore(*rows.scores(V, scale / frame.unit))

    def _scores(self, score: Floats, orthogonal: Floats) -> Floats:
        limits = self.cutoffs_["score"], self.cutoffs_["orthogonal"]
        out = np.zeros_like(score)
        with np.errstate(over="ignore"):
            for distance, limit in zip((score, orthogonal), limits, strict=True):
                beyond = np.where(distance > 0, np.inf, 0.0)
                out = np.maximum(out, distance / limit if limit > 0 else beyond)
        # Not infinite: differences and percentiles of scores stay numbers.
        return -np.minimum(out, np.finfo(np.float64).max)

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Minus the larger of each row's distances, in units of its limit.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            The lower, the farther out; below -1 beyond a limit.
        """
        return self._scores(*self._distances(*self._check(X)))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """`score_samples` less `offset_`: negative for outliers.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[np.int_]:
        """Label rows: +1 for good ones, -1 for outliers.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    # ---- coordinates --------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Coordinates of rows in the robust subspace.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to project.

        Returns
        -------
        array of shape (n_samples, n_components_)
        """
        source, _ = self._check(X)
        V = to_numpy(self.components_).astype(np.float64).T
        rows = source.centered(to_numpy(self.mean_).astype(np.float64)) if self.center else source
        return source.export(rows.matmul(V))

    def inverse_transform(self, X: Any) -> Any:
        """Rows of the original space from their coordinates.

        Parameters
        ----------
        X : array of shape (n_samples, n_components_)
            Coordinates, as from `transform`.

        Returns
        -------
        array of shape (n_samples, n_features_in_)
        """
        check_is_fitted(self)
        V = to_numpy(self.components_).astype(np.float64)
        if len(V) == 0:  # no coordinates: every row is the mean
            return X @ self.components_ + self.mean_
        source = as_source(X)
        if source.shape[1] != len(V):
            raise ValueError(
                f"X has {source.shape[1]} columns, but {type(self).__name__} found {len(V)} "
                "components. Give coordinates as `transform` returns them."
            )
        check_finite(source)
        return source.export(source.matmul(V) + to_numpy(self.mean_))

    def get_covariance(self) -> npt.NDArray[np.float64]:
        """Covariance of the good rows: the fitted directions plus isotropic noise.

        Returns
        -------
        ndarray of shape (n_features_in_, n_features_in_)
        """
        check_is_fitted(self)
        V = to_numpy(self.components_).astype(np.float64)
        extra = to_numpy(self.explained_variance_) - self.noise_variance_
        return (V.T * extra) @ V + self.noise_variance_ * np.eye(V.shape[1])

    # ---- the scikit-learn protocol --------------------------------------------------------------

    def _check(self, X: Any) -> tuple[RowSource, Floats]:
        """Return a source over X and the magnitudes of its rows, all finite."""
        check_is_fitted(self)
        source = as_source(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        if source.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {source.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return source, check_finite(source)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
