"""The outlier-detector side of an estimator: distances, limits, labels and what made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from torpca._core.frame import frame_of_size
from torpca._core.subspace import RESIDUAL_ULPS

# UNKNOWN is here as well for modules that take it from here.
from torpca._estimators.limits import UNKNOWN as UNKNOWN
from torpca._estimators.limits import FittedLimits, clear_of_ties
from torpca._missing.completion import unjudged
from torpca._sources import Columns, RowSource
from torpca._sources.base import Array, Floats, Rows, place


class Distances(NamedTuple):
    """Distances of rows, (n_samples,) each."""

    score: npt.NDArray[Any]
    """Inside the subspace, from the centre of the good rows, in standard deviations."""
    orthogonal: npt.NDArray[Any]
    """From the subspace, in the unit of the data."""


class Contributions(NamedTuple):
    """Parts of each row's squared distances, by feature, (n_samples, n_features) each."""

    score: npt.NDArray[Any]
    """Non-negative; the rows sum to the squared score distances."""
    orthogonal: npt.NDArray[Any]
    """Non-negative; the rows sum to the squared orthogonal distances."""


class Labels:
    """What an outlier detector offers, from a fitted subspace and limits on two distances."""

    score_distances_: npt.NDArray[Any]
    orthogonal_distances_: npt.NDArray[Any]
    cutoffs_: dict[str, float]
    offset_: float
    contamination: float | str
    _mean: Floats
    _feature_scale: Floats | None
    _basis: Floats
    _deviations: Floats
    center: bool
    _training: tuple[Floats, Floats]
    _n_good: float
    _check: Callable[[Any], tuple[RowSource, Floats]]
    _standardized: Callable[[RowSource], RowSource]

    def distances(self, X: Any) -> Distances:
        """Return the score distance and the orthogonal distance of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to measure, with the centre, directions and scales of the fit.

        Returns
        -------
        Distances
            Named tuple of two arrays of shape (n_samples,): `score` and `orthogonal`.
        """
        source, magnitudes = self._check(X)
        return Distances(*map(source.export, self._distances(source, magnitudes)))

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return minus the larger of each row's two distances, each divided by its limit.

        The limits are `cutoffs_`, for rows of the fit as for new ones.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            Lower is farther out. Rows below -1 are beyond a limit.
        """
        return self._fitted_limits.scores(*self._distances(*self._check(X)))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return `score_samples` minus `offset_`, which is negative for outliers.

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
        """Label rows: 1 for good rows, -1 for rows beyond a limit.

        Rows beyond a limit are of two kinds: rows off the model, and rows that fit it but are
        extreme ("good leverage"). `outlier_types` tells them apart, and `explain` says why.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to label: those of the fit, or new ones.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def outlier_types(self, X: Any) -> npt.NDArray[np.str_]:
        """Return the type of each row, by its two distances.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to judge: those of the fit, or new ones.

        Returns
        -------
        ndarray of str of shape (n_samples,)
            "regular": within both limits; "good leverage": near the subspace, but far out inside
            it; "orthogonal": off the subspace, but not far out inside it; "bad leverage": off the
            subspace and far out; "unknown": no more cells than components, so the row cannot be
            judged. `predict` labels all rows -1 except regular and unknown ones.
        """
        return self._fitted_limits.types(*self._distances(*self._check(X)))

    def set_contamination(self, contamination: float | str) -> Self:
        """Change the share of rows labelled as outliers, without fitting again.

        Parameters
        ----------
        contamination : float in (0, 0.5] or "auto"
            Share of the training rows to label as outliers. "auto" labels the rows beyond a limit.

        Returns
        -------
        self
            Only `contamination`, `offset_` and `outlier_type_` have changed.
        """
        check_is_fitted(self)
        if contamination != "auto" and not (
            isinstance(contamination, float | np.floating) and 0 < contamination <= 0.5
        ):
            raise ValueError(
                f"contamination={contamination!r} must be 'auto' or a float in (0, 0.5], the share "
                "of the rows to label as outliers. Try 'auto' to label the rows beyond a limit."
            )
        offset = self._offset(contamination)  # of a loaded model it may not be known
        self.contamination, self.offset_ = contamination, offset
        return self

    @property
    def outlier_type_(self) -> npt.NDArray[np.str_]:
        """Type of each training row; see `outlier_types`."""
        check_is_fitted(self)
        # Made when asked for: as text it takes more memory than all else that is kept of a row.
        return self._fitted_limits.types(*self._training)

    def contributions(self, X: Any) -> Contributions:
        """Split each row's squared distances among the features.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        Contributions
            Named tuple of two arrays of shape (n_samples, n_features), `score` and `orthogonal`.
            Entries are non-negative, and the entries of a row sum to its squared distance. For the
            orthogonal distance they are squared residuals. For the score distance they are squared
            entries of V diag(1/sd) V'(x - mean) (complete decomposition, Alcala and Qin 2009).
        """
        source, _ = self._check(X)
        V, sd = self._basis, np.where(self._deviations > 0, self._deviations, np.inf)

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            basis = place(xp, V, block)
            Y = block @ basis
            whitened = (Y / place(xp, sd, block)) @ basis.T
            return (whitened**2, (block - Y @ basis.T) ** 2), ()

        score, orthogonal = self._standardized(source).sweep(kernel)[0]
        missing = source.missing_cells()
        if missing is not None:  # a cell that is not there is no reason for a distance
            total = np.sum(orthogonal, axis=1, keepdims=True)
            orthogonal = np.where(missing, 0.0, orthogonal)
            left = np.sum(orthogonal, axis=1, keepdims=True)
            orthogonal = orthogonal * (total / np.where(left > 0, left, 1.0))
        return Contributions(source.export(score), source.export(orthogonal))

    # ---- how ----------------------------------------------------------------------------------

    @property
    def _fitted_limits(self) -> FittedLimits:
        check_is_fitted(self)
        return FittedLimits(**self.cutoffs_, offset=self.offset_)

    def _distances(self, source: RowSource, magnitudes: Floats) -> tuple[Floats, Floats]:
        """Score and orthogonal distance of every row of `source`."""
        scale, mean = self._deviations, self._mean
        if self._feature_scale is not None:
            source, mean = Columns(source, 1.0 / self._feature_scale), mean / self._feature_scale
            magnitudes = source.magnitudes()
        size = float(max(np.max(scale, initial=0.0), np.max(np.abs(mean))))
        frame = frame_of_size(source, magnitudes, size)
        rows = frame.about(mean if self.center else None)
        safe = np.where(scale > 0, scale, 1.0)
        score, orthogonal = frame.restore(*rows.scores(self._basis, safe / frame.unit))
        # What rounding alone can make of a row in the subspace is no distance from it.
        eps, largest = float(np.finfo(source.dtype).eps), float(np.max(scale, initial=0.0))
        with np.errstate(over="ignore"):
            rounding = RESIDUAL_ULPS * eps * (orthogonal + largest * score)
        tiny = (orthogonal < rounding) & np.isfinite(rounding)
        orthogonal = np.where(tiny, 0.0, orthogonal)
        n_observed = source.n_observed()
        if n_observed is not None:  # rows of too few cells lie in any subspace
            few = unjudged(n_observed, *self._basis.shape[::-1])
            score, orthogonal = (np.where(few, np.nan, both) for both in (score, orthogonal))
        return score, orthogonal

    def _offset(self, contamination: float | str) -> float:
        """Value of `score_samples` below which the wanted share of the training rows is."""
        if contamination == "auto":
            return -1.0
        scores = self._fitted_limits.scores(*self._training)
        return -clear_of_ties(-_quantile(scores, self._counts, float(contamination)), -scores)

    _counts: Floats | None = None  # how often each training row counts; None: once


def _quantile(values: Floats, counts: Floats | None, share: float) -> float:
    """`np.quantile` of values that are there, each repeated as often as its count says."""
    there = ~np.isnan(values)
    values, counts = values[there], None if counts is None else counts[there]
    if counts is None:
        return float(np.quantile(values, share))
    order = np.argsort(values, kind="stable")
    order = order[counts[order] > 0]
    last = np.cumsum(counts[order])
    at = share * (last[-1] - 1)
    low, high = (
        values[order[min(int(np.searchsorted(last, i, side="right")), len(order) - 1)]]
        for i in (np.floor(at), np.floor(at) + 1)
    )
    return float(low + (at - np.floor(at)) * (high - low))
