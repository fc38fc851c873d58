"""The paper's algorithms as scikit-learn estimators."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from torpca._core.loop import Callback
from torpca._core.result import RobustSubspace
from torpca._core.torp import torp
from torpca._core.torp_g import torp_g
from torpca._core.torp_n import torp_bin, torp_n
from torpca._estimators.base import PaperEstimator
from torpca._sources import RowSource
from torpca._sources.base import Floats

LEVEL = 0.975

_FRACTION = [None, Interval(Real, 0, 0.5, closed="neither")]
_INCOHERENCE = [None, Interval(Real, 1, None, closed="left")]
_NONNEGATIVE = [None, Interval(Real, 0, None, closed="left")]


class TORP(PaperEstimator):
    """Outlier-robust PCA for good rows that lie (nearly) in a subspace: Algorithm 1, `torp`.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace.
    rho : float in (0, 1/2), optional
        Fraction of rows that each criterion drops. By default it follows from `mu`, or is chosen
        from a grid.
    mu : float, at least 1, optional
        Incoherence of the good rows, which sets rho as in Theorem 1.
    center : bool, default=True
        Whether to subtract the mean of the kept rows.
    whiten : bool, default=False
        Whether `transform` divides by the standard deviations of the kept rows.
    contamination : float in (0, 0.5] or "auto", default="auto"
        Share of the rows to label as outliers. "auto" labels the rows that are farther out than
        every row the fit kept. It does not affect the fit.
    tol : float, default=1e-12
        Accuracy, as a share of the data's norm.
    max_iter : int, optional
        Largest number of iterations. By default as many as the theorem asks for.
    callback : callable, optional
        Called with an `Iteration` after each iteration.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        Principal directions of the good rows.
    mean_ : array of shape (n_features_in_,)
        Mean of the kept rows; zero without centring.
    explained_variance_, explained_variance_ratio_, singular_values_ : array of (n_components_,)
        As in `sklearn.decomposition.PCA`, for the kept rows.
    noise_variance_ : float
        Variance of the kept rows outside the subspace, per remaining dimension.
    n_components_ : int
        Number of directions found. It is smaller than `n_components` if the kept rows vary in
        fewer directions.
    support_ : array of bool of shape (n_samples,)
        Rows the fit kept.
    score_distances_, orthogonal_distances_ : array of shape (n_samples,)
        Distances of the training rows.
    cutoffs_ : dict
        Limits on the two distances, "score" and "orthogonal".
    outlier_type_ : ndarray of str of shape (n_samples,)
        "regular", "good leverage", "orthogonal" or "bad leverage"; see `outlier_types`.
    offset_ : float
        `decision_function` is `score_samples` minus this.
    n_iter_, converged_, history_, parameters_, grid_
        How the fit went; see `RobustSubspace`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.

    Examples
    --------
    >>> from torpca import TORP
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.05, outliers="line", random_state=0)
    >>> model = TORP(n_components=2, rho=0.06).fit(X)
    >>> bool((model.predict(X[bad]) == -1).all())
    True
    """

    _parameter_constraints = {
        **PaperEstimator._parameter_constraints,
        "rho": _FRACTION,
        "mu": _INCOHERENCE,
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        rho: float | None = None,
        mu: float | None = None,
        center: bool = True,
        whiten: bool = False,
        contamination: float | str = "auto",
        tol: float = 1e-12,
        max_iter: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.rho = rho
        self.mu = mu
        self.center = center
        self.whiten = whiten
        self.contamination = contamination
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback

    def _find_subspace(self, source: RowSource) -> RobustSubspace:
        return torp(
            source,
            self.n_components,
            rho=self.rho,
            mu=self.mu,
            tol=self.tol,
            max_iter=self.max_iter,
            center=self.center,
            callback=self.callback,
        )


class NoisyTORP(PaperEstimator):
    """Outlier-robust PCA for noisy rows that also chooses the rank: `torp_n` and `torp_bin`.

    Parameters
    ----------
    n_components : int, default=2
        Largest dimension to try.
    search : {"binary", "linear"}, default="binary"
        How to find the dimension: TORP-BIN (Algorithm 4) or TORP-N (Algorithm 2).
    rho : float in (0, 1/2), optional
        Fraction of rows to drop by residual; twice as many are dropped by incoherence. By default
        it follows from `mu`, or is chosen from a grid.
    eta : float, optional
        Incoherence that counts as too large. By default it follows from `mu`.
    mu : float, at least 1, optional
        Incoherence of the good rows, which sets rho and eta as in Theorem 2.
    center, whiten, contamination, tol, max_iter, callback
        As in `TORP`.

    Attributes
    ----------
    n_components_ : int
        Dimension found.
    ranks_tried_ : tuple of int
        Dimensions tried, in order.
    components_, mean_, support_, and all others
        As in `TORP`.

    Examples
    --------
    >>> from torpca import NoisyTORP
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 3, 0.02, noise=1e-3, random_state=0)
    >>> NoisyTORP(n_components=3).fit(X).n_components_
    3
    """

    ranks_tried_: tuple[int, ...]

    _parameter_constraints = {
        **TORP._parameter_constraints,
        "search": [StrOptions({"binary", "linear"})],
        "eta": _NONNEGATIVE,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        search: str = "binary",
        rho: float | None = None,
        eta: float | None = None,
        mu: float | None = None,
        center: bool = True,
        whiten: bool = False,
        contamination: float | str = "auto",
        tol: float = 1e-12,
        max_iter: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.search = search
        self.rho = rho
        self.eta = eta
        self.mu = mu
        self.center = center
        self.whiten = whiten
        self.contamination = contamination
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback

    def _find_subspace(self, source: RowSource) -> RobustSubspace:
        algorithm = torp_bin if self.search == "binary" else torp_n
        found = algorithm(
            source,
            self.n_components,
            rho=self.rho,
            eta=self.eta,
            mu=self.mu,
            tol=self.tol,
            max_iter=self.max_iter,
            center=self.center,
            callback=self.callback,
        )
        self.ranks_tried_ = found.ranks_tried
        return found


class GaussianTORP(PaperEstimator):
    """Outlier-robust PCA for good rows with Gaussian noise: Algorithm 3, `torp_g`.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace.
    mu : float, at least 1, optional
        Incoherence of the good rows. By default it is estimated.
    sigma : float, optional
        Standard deviation of the noise in each entry. By default it is estimated.
    center, whiten, contamination, max_iter, callback
        As in `TORP`, with one difference: if `contamination` is "auto", the limits on the distances
        are the 97.5 % points of the kept rows, because the algorithm removes only rows that harm
        the subspace and keeps others that are far from it.

    Attributes
    ----------
    components_, mean_, support_, and all others
        As in `TORP`.

    Examples
    --------
    >>> from torpca import GaussianTORP
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, V, bad, mu = make_outlier_subspace(
    ...     2000, 20, 2, 0.01, outliers="line", noise=0.01, random_state=0
    ... )
    >>> model = GaussianTORP(n_components=2, sigma=0.01).fit(X)
    >>> bool(model.support_[bad].any())
    False
    """

    _parameter_constraints = {
        **PaperEstimator._parameter_constraints,
        "mu": _INCOHERENCE,
        "sigma": _NONNEGATIVE,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        mu: float | None = None,
        sigma: float | None = None,
        center: bool = True,
        whiten: bool = False,
        contamination: float | str = "auto",
        max_iter: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.sigma = sigma
        self.center = center
        self.whiten = whiten
        self.contamination = contamination
        self.max_iter = max_iter
        self.callback = callback

    def _find_subspace(self, source: RowSource) -> RobustSubspace:
        return torp_g(
            source,
            self.n_components,
            mu=self.mu,
            sigma=self.sigma,
            max_iter=self.max_iter,
            center=self.center,
            callback=self.callback,
        )

    def _limit(self, distances: Floats) -> float:
        """97.5 % point of the kept rows' distances."""
        return float(np.quantile(distances, LEVEL))
