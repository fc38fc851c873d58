"""The PCA side of an estimator: rows to coordinates and back, and the covariance they imply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from torpca._core.problem import check_finite
from torpca._sources import Columns, RowSource, as_source
from torpca._sources.base import Floats, to_numpy
from torpca._sources.frames import library_of


class Coordinates(TransformerMixin):
    """What `sklearn.decomposition.PCA` offers, from a fitted subspace.

    Uses the private float64 attributes `_mean` (d,), `_feature_scale` (d,), `_basis` (d, k) and
    `_deviations` (k,): a row x has the coordinates _basis'((x - _mean) / _feature_scale).

    It is scikit-learn's mixin itself, not beside it: `set_output` reaches only a `transform` that
    is defined in a subclass of that mixin.
    """

    _mean: Floats
    _feature_scale: Floats | None
    _basis: Floats
    _deviations: Floats
    noise_variance_: float
    center: bool
    whiten: bool
    components_: npt.NDArray[Any]
    mean_: npt.NDArray[Any]
    singular_values_: npt.NDArray[Any]
    n_samples_: int
    n_features_in_: int
    _check: Callable[[Any], tuple[RowSource, Floats]]
    _distances: Callable[[RowSource, Floats], tuple[Floats, Floats]]

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Return the coordinates of rows in the subspace.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to project.

        Returns
        -------
        array or DataFrame of shape (n_samples, n_components_)
            With `whiten`, divided by the standard deviations of the good rows. It is a DataFrame
            if `set_output` asks for one.
        """
        return self._coordinates(X)

    def inverse_transform(self, X: Any) -> npt.NDArray[Any]:
        """Return the rows that have these coordinates, in the original features.

        Parameters
        ----------
        X : array of shape (n_samples, n_components_)
            Coordinates, as from `transform`.

        Returns
        -------
        array of shape (n_samples, n_features_in_)
        """
        check_is_fitted(self)
        V = self._basis
        if V.shape[1] == 0:  # no coordinates: every row is the mean
            return (X.to_numpy() if library_of(X) else X) @ self.components_ + self.mean_
        source = as_source(X)
        if source.shape[1] != V.shape[1]:
            raise ValueError(
                f"X has {source.shape[1]} columns, but {type(self).__name__} found {V.shape[1]} "
                "components. Give coordinates as `transform` returns them."
            )
        check_finite(source)
        back = V.T if not self.whiten else self._deviations[:, None] * V.T
        back = back if self._feature_scale is None else back * self._feature_scale
        return source.export(source.matmul(back) + self._mean)

    def get_covariance(self) -> npt.NDArray[np.float64]:
        """Return the covariance of the good rows: the fitted directions plus isotropic noise.

        Returns
        -------
        ndarray of shape (n_features_in_, n_features_in_)
        """
        check_is_fitted(self)
        extra = np.square(self._deviations) - self.noise_variance_
        C = (self._basis * extra) @ self._basis.T + self.noise_variance_ * np.eye(len(self._basis))
        return C if self._feature_scale is None else C * np.outer(*[self._feature_scale] * 2)

    def get_precision(self) -> npt.NDArray[np.float64]:
        """Return the inverse of `get_covariance`, or its pseudo-inverse if there is no noise.

        Returns
        -------
        ndarray of shape (n_features_in_, n_features_in_)
        """
        check_is_fitted(self)
        rest = self.noise_variance_
        variances = np.square(self._deviations)
        if not rest > 0 or not np.all(variances > 0):
            return np.linalg.pinv(self.get_covariance(), hermitian=True).astype(np.float64)
        extra = 1.0 / variances - 1.0 / rest
        P = (self._basis * extra) @ self._basis.T + np.eye(len(self._basis)) / rest
        return P if self._feature_scale is None else P / np.outer(*[self._feature_scale] * 2)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of rows under the Gaussian model of the good rows.

        The model has the covariance `get_covariance` (probabilistic PCA). Without noise, rows off
        the subspace would be impossible, so a variance as small as rounding is used there.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to score. Outliers among them count.
        y : ignored

        Returns
        -------
        float
        """
        source, magnitudes = self._check(X)
        score, orthogonal = self._distances(source, magnitudes)
        d, k = self._basis.shape
        variances = np.square(self._deviations)
        floor = float(np.finfo(np.float64).eps) * float(np.max(variances, initial=0.0))
        noise = max(self.noise_variance_, floor, float(np.finfo(np.float64).tiny))
        log_det = float(np.sum(np.log(np.maximum(variances, noise)))) + (d - k) * np.log(noise)
        if self._feature_scale is not None:
            log_det += 2 * float(np.sum(np.log(self._feature_scale)))
        with np.errstate(over="ignore"):
            far = np.square(score) + (np.square(orthogonal) / noise if d > k else 0.0)
            far = far[~np.isnan(far)]  # a row of too few cells says nothing
            mean = float(np.mean(far)) if len(far) else np.nan
        return float(-0.5 * (d * np.log(2 * np.pi) + log_det + mean))

    def to_sklearn(self) -> Any:
        """Return the fit as an ordinary fitted scikit-learn transformer.

        Returns
        -------
        sklearn.decomposition.PCA or sklearn.pipeline.Pipeline
            A PCA that gives the same coordinates; with `scale=True`, after a StandardScaler. It
            does not need torpca: you can pickle it, store it with skops or export it to ONNX, and
            use it where torpca is not installed.
        """
        from sklearn.decomposition import PCA  # noqa: PLC0415 (its import is slow)
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

        check_is_fitted(self)
        k = self._basis.shape[1]
        pca = PCA(n_components=k, whiten=self.whiten)
        for name in ("components", "explained_variance", "explained_variance_ratio"):
            setattr(pca, f"{name}_", np.array(to_numpy(getattr(self, f"{name}_"))))
        pca.singular_values_ = np.array(to_numpy(self.singular_values_))
        pca.noise_variance_ = self.noise_variance_
        pca.n_components_, pca.n_samples_ = k, self.n_samples_
        pca.n_features_in_ = self.n_features_in_
        pca.mean_ = np.array(to_numpy(self.mean_))
        if self._feature_scale is not None:
            scaler = StandardScaler()
            scaler.mean_, scaler.scale_ = pca.mean_, self._feature_scale.astype(pca.mean_.dtype)
            scaler.var_, scaler.n_samples_seen_ = np.square(scaler.scale_), self.n_samples_
            scaler.n_features_in_ = self.n_features_in_
            pca.mean_ = np.zeros_like(pca.mean_)
        first = pca if self._feature_scale is None else scaler
        if hasattr(self, "feature_names_in_"):
            first.feature_names_in_ = self.feature_names_in_
        return pca if self._feature_scale is None else make_pipeline(scaler, pca)

    # ---- what these stand on -------------------------------------------------------------------

    def _coordinates(self, X: Any) -> npt.NDArray[Any]:
        """What `transform` returns, whatever `set_output` asks for."""
        source, _ = self._check(X)
        Y = self._standardized(source).matmul(self._basis)
        if self.whiten:
            Y = Y / np.where(self._deviations > 0, self._deviations, 1.0)
        return source.export(Y)

    def _standardized(self, source: RowSource) -> RowSource:
        """View of rows as the basis sees them."""
        rows = source.centered(self._mean) if self.center else source
        return rows if self._feature_scale is None else Columns(rows, 1.0 / self._feature_scale)

    @property
    def _n_features_out(self) -> int:
        return int(self._basis.shape[1])
