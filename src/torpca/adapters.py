"""The robust PCA under the interfaces of other libraries."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import erf
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted

from torpca._estimators.robust import OutlierRobustPCA
from torpca._tail import tail_probability

__all__ = ["PyODDetector"]

# How scores can become numbers between 0 and 1.
METHODS = ("tail", "linear", "unify")


class PyODDetector(MetaEstimatorMixin, OutlierMixin, BaseEstimator):
    """OutlierRobustPCA with the interface of a PyOD detector.

    Outliers have large scores and the label 1. It has the methods and attributes of
    `pyod.models.base.BaseDetector` that PyOD's ensembles and tools use. It does not need PyOD.

    Parameters
    ----------
    estimator : OutlierRobustPCA, default=None
        Estimator that finds the subspace. It is cloned before the fit. None means
        `OutlierRobustPCA()`.
    contamination : float in (0, 0.5] or "auto", default="auto"
        Share of the training rows to label as outliers, as in PyOD. "auto" labels the rows beyond a
        limit, as in `OutlierRobustPCA`. It replaces the `contamination` of the estimator.

    Attributes
    ----------
    decision_scores_ : ndarray of shape (n_samples,)
        Scores of the training rows: the larger of their two distances, each divided by its limit.
    threshold_ : float
        Score above which rows are outliers; 1 if `contamination` is "auto".
    labels_ : ndarray of shape (n_samples,)
        Labels of the training rows, 0 or 1.
    estimator_ : OutlierRobustPCA
        The fitted estimator, with components, distances and all other attributes.

    Notes
    -----
    Rows that have no more cells than there are components cannot be judged: their score is NaN and
    their label 0. If a tool checks for PyOD's base class, `BaseDetector.register(PyODDetector)`
    satisfies it.

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca.adapters import PyODDetector
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, _, bad, _ = make_outlier_subspace(
    ...     500, 20, 3, 0.4, outliers="isotropic", noise=0.01, mean=10.0, random_state=0
    ... )
    >>> detector = PyODDetector(OutlierRobustPCA(3)).fit(X)
    >>> bool((detector.labels_[bad] == 1).all())
    True
    >>> detector.predict_proba(X).shape
    (500, 2)
    """

    decision_scores_: npt.NDArray[np.float64]
    threshold_: float
    labels_: npt.NDArray[np.int_]
    estimator_: OutlierRobustPCA

    def __init__(
        self, estimator: OutlierRobustPCA | None = None, *, contamination: float | str = "auto"
    ) -> None:
        self.estimator = estimator
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the subspace of the good rows, and score all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One sample per row.
        y : ignored
            Present for use in pipelines.

        Returns
        -------
        self
        """
        model = OutlierRobustPCA() if self.estimator is None else clone(self.estimator)
        if not isinstance(model, OutlierRobustPCA):
            raise TypeError(
                f"estimator must be an OutlierRobustPCA, but is a {type(model).__name__}. Give an "
                "unfitted OutlierRobustPCA, or None."
            )
        self.estimator_ = model.set_params(contamination=self.contamination).fit(X)
        self.threshold_ = -float(self.estimator_.offset_)
        self.decision_scores_ = self.decision_function(X)
        self.labels_ = self._labels(self.decision_scores_)
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Score rows: larger is farther out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger of each row's two distances, each divided by its limit. Above 1 is beyond a
            limit.
        """
        check_is_fitted(self, "estimator_")
        return -self.estimator_.score_samples(X)

    def predict(self, X: Any) -> npt.NDArray[np.int_]:
        """Label rows: 0 for good rows, 1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._labels(self.decision_function(X))

    def predict_proba(self, X: Any, method: str = "tail") -> npt.NDArray[np.float64]:
        """Return scores between 0 and 1, which are not probabilities of being bad.

        Such a probability depends on how many bad rows there are and how far out they are, which no
        detector knows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.
        method : {"tail", "linear", "unify"}, default="tail"
            What the second column is. "tail": the share of good rows that are less far out, which
            is 1 minus `torpca.tail_probability` and .99 at a limit. The other two are PyOD's.
            "linear" is 0 at the smallest training score and 1 at the largest, so it depends on the
            worst row. "unify" is erf((score - mean) / (sd sqrt(2))), with mean and sd of the
            training scores, and 0 below the mean.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The first column is 1 minus the second.
        """
        if method not in METHODS:
            raise ValueError(f"method={method!r} must be one of {', '.join(METHODS)}.")
        check_is_fitted(self, "estimator_")
        if method == "tail":
            good = tail_probability(self.estimator_, X)
            return np.column_stack([good, 1.0 - good])
        # Where a limit is zero, scores are so large that their sums would be infinite.
        unit = float(np.nanmax(self.decision_scores_)) or 1.0
        scores, then = self.decision_function(X) / unit, self.decision_scores_ / unit
        if method == "linear":
            least, most = np.nanmin(then), np.nanmax(then)
            bad = np.clip((scores - least) / ((most - least) or 1.0), 0.0, 1.0)
        else:
            wide = float(np.nanstd(then)) * np.sqrt(2)
            bad = np.clip(erf((scores - np.nanmean(then)) / (wide or 1.0)), 0.0, 1.0)
        return np.column_stack([1.0 - bad, bad])

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.n_features_in_

    def _labels(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int_]:
        # NaN is beyond nothing.
        return (scores > self.threshold_).astype(np.int_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
