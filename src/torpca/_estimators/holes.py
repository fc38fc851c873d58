"""Rows with holes: an estimator judges them by the cells they have, and fills them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torpca._core.problem import check_finite
from torpca._estimators.stability import Probe
from torpca._missing.check import infinite
from torpca._missing.completion import Completion, Filled
from torpca._missing.fit import RowsFit, freedom_of
from torpca._missing.impute import impute_like
from torpca._sources import RowSource
from torpca._sources.base import Floats

# Rows whose distances tell how much these vary.
MOST_ROWS = 20_000


class Holes:
    """What a fitted subspace says of cells that are missing (NaN)."""

    _mean: Floats
    _feature_scale: Floats | None
    _basis: Floats
    _deviations: Floats
    _feature_noise: Floats
    """Root mean square of the residuals of good rows in each feature, (d,)."""
    _freedom: float
    """Degrees of freedom of their sums."""
    _opened: Callable[[Any], RowSource]

    def impute(self, X: Any, *, return_std: bool = False) -> Any:
        """Fill the cells that are missing with what the model expects there.

        Parameters
        ----------
        X : array-like, Dask array or tensor, of shape (n_samples, n_features)
            Rows; NaN, or a null of a data frame, where a cell is missing.
        return_std : bool, default=False
            Whether to return standard errors as well.

        Returns
        -------
        X_filled : the kind of X, of shape (n_samples, n_features)
            All other cells are as they were. A Dask array becomes a NumPy array.
        std : ndarray of shape (n_samples, n_features), if `return_std`
            Standard error of each filled cell for good rows: of its own noise and of the scores
            found from the cells that are there. Zero elsewhere.

        Examples
        --------
        >>> import numpy as np
        >>> from torpca import OutlierRobustPCA
        >>> from torpca.datasets import make_outlier_subspace
        >>> X = make_outlier_subspace(300, 10, 2, 0.2, noise=0.01, random_state=0).X
        >>> holed = X.copy()
        >>> holed[5, 3] = np.nan
        >>> model = OutlierRobustPCA(2).fit(holed)
        >>> bool(abs(model.impute(holed)[5, 3] - X[5, 3]) < 0.05)
        True
        """
        source = self._opened(X)
        self._whole(source)
        return impute_like(X, source, self._completion(), return_std)

    # ---- how ------------------------------------------------------------------------------------

    def _completion(self) -> Completion:
        """How holes of rows are filled."""
        return Completion(
            mean=self._mean,
            V=self._basis,
            deviations=self._deviations,
            noise=self._feature_noise,
            freedom=self._freedom,
            scale=self._feature_scale,
        )

    def _whole(self, source: RowSource) -> tuple[RowSource, Floats]:
        """The rows, their holes filled, and their magnitudes."""
        magnitudes = source.magnitudes()
        if np.all(np.isfinite(magnitudes)):
            return source, magnitudes
        if not source.takes_holes:
            check_finite(source)  # says where
        filled = Filled(source, self._completion())
        magnitudes = filled.magnitudes()
        bad = np.flatnonzero(~np.isfinite(magnitudes))
        if len(bad):
            raise infinite(source, bad)
        return filled, magnitudes

    def _keep_noise(self, found: RowsFit, probe: Probe | None, weights: Floats) -> None:
        """Remember how far good rows are from the subspace, feature by feature."""
        fit = found.fit
        d, k = fit.V.shape
        if found.completion is not None:
            assert found.completion.freedom is not None
            self._feature_noise = found.completion.noise
            self._freedom = found.completion.freedom
            return
        if probe is None or not probe.in_features:
            some = slice(MOST_ROWS)
            self._feature_noise = np.full(d, fit.left_over / np.sqrt(d))
            w = (fit.weights * weights)[some]
            self._freedom = freedom_of(fit.orthogonal_distances[some], w, d, k)
            return
        w = fit.weights[probe.rows] * probe.weights
        C = probe.Z if fit.mean is None else probe.Z - fit.mean
        E = (C - (C @ fit.V) @ fit.V.T)[w > 0]
        w = w[w > 0]
        unit = float(np.max(np.abs(E), initial=0.0)) or 1.0
        squares = np.square(E / unit)
        self._feature_noise = unit * np.sqrt(w @ squares / max(float(np.sum(w)), 1e-300))
        self._freedom = freedom_of(np.sqrt(np.sum(squares, axis=1)), w, d, k)
