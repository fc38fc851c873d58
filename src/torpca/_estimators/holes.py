"""Cells that are missing, or bad: an estimator judges rows by the others, and fills them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from torpca._core.problem import check_finite
from torpca._estimators.sentinels import sentinels
from torpca._estimators.stability import Probe
from torpca._missing.cells import WithoutCells, judged_cells, without_bad_cells
from torpca._missing.check import infinite, name_of
from torpca._missing.completion import Completion, Filled
from torpca._missing.fit import RowsFit, freedom_of
from torpca._missing.impute import impute_chunks, impute_like
from torpca._sources import RowSource, as_source
from torpca._sources.base import Array, Floats, Rows
from torpca._sources.dask import is_dask
from torpca._sources.views import Zeroed
from torpca._warn import warn
from torpca._words import counted

# Rows whose distances tell how much these vary, and numbers that tell it of single features, ...
MOST_ROWS, PROBE_NUMBERS = 20_000, 2**15
# ... and numbers among which those are looked for that may stand for missing values; but so many
# rows at least.
MOST_NUMBERS, FEWEST_ROWS = 2**16, 50


class Holes:
    """What a fitted subspace says of single cells: those that are missing (NaN), and bad ones."""

    cells: bool
    missing_values: Sequence[float] | float | None
    cell_outliers_: sparse.csr_array
    _mean: Floats
    _feature_scale: Floats | None
    _basis: Floats
    _deviations: Floats
    _feature_noise: Floats
    """Root mean square of the residuals of good rows in each feature, (d,)."""
    _freedom: float
    _completion: Callable[[], Completion]
    """Degrees of freedom of their sums."""
    _opened: Callable[[Any], RowSource]

    def impute(self, X: Any, *, bad_cells: bool = False, return_std: bool = False) -> Any:
        """Fill missing cells with the values that the model expects.

        A cell is filled from the other cells of its row. With `cells=True`, only from those that
        are not bad, so that one bad cell does not spoil what the row is filled with. Where more
        than a quarter of the cells of a row are bad, the whole row is: then none of them is left
        out, and what it is filled with is no better than they are.

        Parameters
        ----------
        X : array-like, Dask array or tensor, of shape (n_samples, n_features)
            Rows to fill. Missing cells are NaN, or null in a data frame.
        bad_cells : bool, default=False
            Whether to replace bad cells too, those that do not match the rest of their row; see
            `cell_residuals`. Without it they stay as they are. A model without `cells=True` looks
            for them only if this is asked for, and else fills from all cells of a row.
        return_std : bool, default=False
            Whether to return standard errors too.

        Returns
        -------
        X_filled : the kind of X, of shape (n_samples, n_features)
            All other cells are unchanged. Chunks of Dask are filled when they are computed.
        std : array of shape (n_samples, n_features), if `return_std`
            Standard error of each filled cell for good rows, from the noise of the cell and from
            the scores, which are estimated from the cells that it is filled from. Zero elsewhere.

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
        if is_dask(X):
            fill = partial(self._impute, bad_cells=bad_cells)
            marked = bad_cells or self.missing_values is not None
            return impute_chunks(X, source.dtype, fill, return_std, marked=marked)
        return self._impute(X, bad_cells=bad_cells, return_std=return_std)

    def cell_residuals(self, X: Any) -> npt.NDArray[Any]:
        """Return the standardised distance of each cell from what the rest of its row predicts.

        Parameters
        ----------
        X : array-like, Dask array or tensor, of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array of shape (n_samples, n_features)
            Positive for cells that are too large, NaN for missing cells. A cell beyond 3.5 is not
            used to predict others, unless more than a quarter of the row is: then the whole row
            is bad.
        """
        source = self._opened(X)
        self._whole(source)
        model = self._completion()

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return (judged_cells(xp, model, block)[0],), ()

        return source.export(source.sweep(kernel)[0][0])

    # ---- how ------------------------------------------------------------------------------------

    def _impute(self, X: Any, *, bad_cells: bool, return_std: bool = False) -> Any:
        """`impute` of rows that were looked at before."""
        return impute_like(
            X,
            self._marked(as_source(X)),
            self._completion(),
            cells=bool(self.cells),
            bad_cells=bad_cells,
            return_std=return_std,
        )

    def _marked(self, source: RowSource) -> RowSource:
        """The rows, NaN where a number stands for a missing value."""
        if self.missing_values is None:
            return source
        values = np.atleast_1d(np.asarray(self.missing_values, dtype=np.float64))

        def rule(xp: Any, block: Array) -> Array:
            stands = xp.isnan(block)
            for value in values.tolist():
                stands = stands | (block == value)
            return stands

        return WithoutCells(source, rule)

    def _view(self, source: RowSource, n_observed: npt.NDArray[np.intp] | None = None) -> Filled:
        """The rows without bad cells, if these are looked for, and with their holes filled."""
        model = self._completion()
        rows = without_bad_cells(source, model) if self.cells else source
        return Filled(rows, model, n_observed)

    def _whole(self, source: RowSource) -> tuple[RowSource, Floats]:
        """The rows, their holes filled, and their magnitudes."""
        magnitudes = source.magnitudes()
        whole = bool(np.all(np.isfinite(magnitudes)))
        if whole and not self.cells:
            return source, magnitudes
        if not source.takes_holes:
            check_finite(source)  # says where
        if not whole:
            magnitudes = Zeroed(source).magnitudes()
            bad = np.flatnonzero(~np.isfinite(magnitudes))
            if len(bad):
                raise infinite(source, bad)
        return self._view(source), magnitudes

    def _warn_of_sentinels(self, source: RowSource, rows: npt.NDArray[np.intp]) -> None:
        """Warn of numbers among some rows that may stand for missing values."""
        few = max(FEWEST_ROWS, MOST_NUMBERS // source.shape[1])
        found = sentinels(source.take(rows[:: 1 + len(rows) // few]))
        if not found:
            return
        feature, value, count = found[0]
        more = f", and {counted(len(found) - 1, 'more column')} likewise" if len(found) > 1 else ""
        values = sorted({f"{s.value:g}" for s in found})
        warn(
            f"{type(self).__name__}: column {name_of(source, feature)!r} has {value:g} in "
            f"{counted(count, 'row')}, far from all its other numbers{more}. If that means "
            f"missing, give missing_values=[{', '.join(values)}] "
            f"(--na-values={','.join(values)}).",
            RuntimeWarning,
        )

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
        most = max(FEWEST_ROWS, PROBE_NUMBERS // d)
        few = np.flatnonzero(w)[:: 1 + np.count_nonzero(w) // most]
        Z, w = probe.Z[few], w[few]
        C = Z if fit.mean is None else Z - fit.mean
        E = C - (C @ fit.V) @ fit.V.T
        unit = float(np.max(np.abs(E), initial=0.0)) or 1.0
        squares = np.square(E / unit)
        self._feature_noise = unit * np.sqrt(w @ squares / max(float(np.sum(w)), 1e-300))
        self._freedom = freedom_of(np.sqrt(np.sum(squares, axis=1)), w, d, k)
