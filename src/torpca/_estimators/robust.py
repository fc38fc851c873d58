"""The estimator people use."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from torpca._core.subspace import MEAN_ULPS, norm
from torpca._estimators.base import RobustSubspaceEstimator
from torpca._estimators.codes import warn_of_codes
from torpca._estimators.doubts import Fitted, doubts
from torpca._estimators.fitting import checked_fit
from torpca._estimators.holes import Holes
from torpca._estimators.origin import far_origin
from torpca._estimators.scaled import scaled_fit
from torpca._estimators.stability import Probe, Stability
from torpca._missing.cells import cell_outliers
from torpca._missing.check import warn_of_few, warn_of_unjudged
from torpca._missing.fit import RowsFit, fit_cells, fit_rows
from torpca._names import FROM_ZERO
from torpca._options import Options
from torpca._robust.algorithm import learned_whole
from torpca._robust.rank import RankChoice, RankRule
from torpca._robust.start import Start
from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask, to_numpy
from torpca._sources.parallel import single_threaded_blas
from torpca._sources.views import Zeroed
from torpca._warn import warn


class OutlierRobustPCA(Holes, RobustSubspaceEstimator):
    """Principal component analysis of the good rows, which are found from the data.

    It aims at what `sklearn.decomposition.PCA` would give if someone had removed the bad rows
    first, and labels these rows. You need not know how many there are or how far out they are.
    More than half of the rows must be good and lie near a subspace.

    Parameters
    ----------
    n_components : int, float in (0, 1) or "auto", default="auto"
        Number of components, or the share of the good rows' variance that they explain. "auto"
        looks for a gap in the variances and otherwise explains 90 %; see `rank_`.
    trim : float in [0, 0.5) or "auto", default="auto"
        Share of the rows that the fit leaves out, the farthest from the subspace. 0 leaves out none
        and gives the subspace of ordinary PCA. "auto" leaves out rows that are farther than the
        spread of the others allows. It does not affect the labels.
    contamination : float in (0, 0.5] or "auto", default="auto"
        Share of the rows to label as outliers. "auto" labels the rows beyond a limit; see `limit`.
        It does not affect the fit.
    limit : float in [0.5, 1), default=0.99
        Share of good rows within both limits, if they are Gaussian. By default one in a hundred is
        beyond a limit, of as many rows of the fit as new ones: after a fit of few rows, a little
        fewer of its own rows, and a little more of new ones. It does not affect the fit.
    center : bool, default=True
        Whether to subtract the mean of the good rows.
    scale : bool, default=False
        Whether to divide each feature by its standard deviation among the rows that the fit keeps.
        Scales and rows are found in turn, in at most three fits.
    cells : bool, default=False
        Whether to look for single bad cells as well as bad rows. A cell that does not match the
        rest of its row then counts as missing, and the row is judged by its other cells. `impute`
        fills from these, too.
    missing_values : number or list of numbers, default=None
        Numbers that mean missing, such as -999. NaN always does.
    whiten : bool, default=False
        Whether `transform` divides by the standard deviations of the good rows.
    sample_size : int or "auto", default="auto"
        Number of rows on which halves of the rows that may be all good are looked for. "auto" is
        600, and at least 20 for each component asked for. What they lead to is compared on all
        rows of a small table, or on some thousand of a large one.
    tol : float, default=1e-8
        The iterations end when the subspace turns by less than this, as the sine of an angle.
        Passes over many rows end when it turns by less than a fifth of its own sampling error.
    max_iter : int, default=100
        Largest number of iterations. Five are usual.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=0
        For drawing a part of the rows of a large table; the user guide says which are large. All
        others are fitted from the same directions each time, and `stability_` tries others.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        Principal directions of the good rows. The largest entry of each, in size, is positive.
    mean_ : array of shape (n_features_in_,)
        Centre of the good rows; zero without centring.
    explained_variance_, explained_variance_ratio_, singular_values_ : array of (n_components_,)
        As in `sklearn.decomposition.PCA`, for the good rows.
    noise_variance_ : float
        Variance of the good rows outside the subspace, per remaining dimension.
    scale_ : array of shape (n_features_in_,) or None
        What each feature was divided by.
    n_components_, n_samples_, n_features_in_ : int
        Numbers of components found, of rows and of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.
    support_ : array of bool of shape (n_samples,)
        Rows that took part in the fit of the subspace.
    weights_ : array of shape (n_samples,)
        How much each row counted, from 0 to 1. Rows near the cut-off count in part.
    score_distances_, orthogonal_distances_ : array of shape (n_samples,)
        Distances of the training rows inside the subspace, in standard deviations, and from it.
    cutoffs_ : dict
        Limits on the two distances, "score" and "orthogonal", for rows of the fit and new rows.
    outlier_type_ : ndarray of str of shape (n_samples,)
        "regular", "good leverage", "orthogonal" or "bad leverage"; see `outlier_types`.
    cell_outliers_ : scipy.sparse.csr_array of shape (n_samples, n_features_in_)
        Bad cells, with `cells=True`: 1 if a cell is too large, -1 if it is too small. Rows that are
        bad as a whole have none.
    offset_ : float
        `decision_function` is `score_samples` minus this.
    rank_ : RankChoice
        How many components and why: `rule`, `variances` of the good rows as shares, the `gap`
        after the last component and the share `explained`.
    start_ : Start
        Where the fit started: `name` of the chosen candidate ("pairs", "strict", "side" or
        "subsets"); `n_candidates`, between which there was a choice, found on `n_sample` rows;
        `n_points`, the different rows that make up half of these; `tied`, the share of the rows
        that only one of the chosen start and another one as good leads to keep inside the
        subspace; `others`, the share of the rows that agree better on another subspace than on this
        one.
    route_ : str
        How the fit was computed: "rows", on all rows at once; "span", the same in the span of few,
        long rows; "passes", on a part of many rows and then in passes over all; "exact", the same
        for rows without noise.
    stability_ : Stability
        How many rows are flagged, and how far the subspace moves, with one component fewer, with
        one more, and from other starts. It has `n_flagged` of the fit, and `refits`, each with
        `what` was different, `n_components`, `n_flagged`, `share_changed` of the labels and
        `subspace_change`. It is computed when first used, on at most 2000 rows, which the model
        keeps for this. Here rows beyond a limit count as flagged, whatever `contamination` is.
    history_ : tuple of Iteration
        One record per iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the subspace settled. If not, there is a warning if it still turned by more than
        1e-4 in the last iteration, as the sine of an angle.

    See Also
    --------
    TORP, NoisyTORP, GaussianTORP : the algorithms of the paper, with its guarantees.

    Notes
    -----
    The iterations are those of Algorithm 1 of Cherapanamjeri, Jain, Netrapalli: Thresholding
    based Efficient Outlier Robust PCA, arXiv:1702.05571 (COLT 2017, PMLR 65:593-628), with a start
    from a half of some rows and with cut-offs estimated from the rows instead of known fractions.
    The user guide says how, and when it fails.

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> X, V, bad, mu = make_outlier_subspace(
    ...     500, 20, 3, 0.4, outliers="isotropic", noise=0.01, mean=10.0, random_state=0
    ... )
    >>> model = OutlierRobustPCA().fit(X)
    >>> model.n_components_
    3
    >>> subspace_error(model.components_.T, V) < 0.02
    True
    >>> bool((model.predict(X[bad]) == -1).all())
    True
    """

    _parameter_constraints = {
        **RobustSubspaceEstimator._parameter_constraints,
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"auto"}),
        ],
        "trim": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="left")],
        "limit": [Interval(Real, 0.5, 1, closed="left")],
        "scale": ["boolean"],
        "cells": ["boolean"],
        "missing_values": [None, Real, "array-like"],
        "sample_size": [StrOptions({"auto"}), Interval(Integral, 4, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    scale_: npt.NDArray[Any] | None
    weights_: npt.NDArray[Any]
    rank_: RankChoice
    start_: Start
    route_: str
    _probe: Probe | None = None
    _stability: Stability | None = None
    _rows_by_type: dict[str, int] | None = None  # of the fit, as a file says

    def __init__(
        self,
        n_components: int | float | str = "auto",
        *,
        trim: float | str = "auto",
        contamination: float | str = "auto",
        limit: float = 0.99,
        center: bool = True,
        scale: bool = False,
        cells: bool = False,
        missing_values: Any = None,
        whiten: bool = False,
        sample_size: int | str = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.trim = trim
        self.contamination = contamination
        self.limit = limit
        self.center = center
        self.scale = scale
        self.cells = cells
        self.missing_values = missing_values
        self.whiten = whiten
        self.sample_size = sample_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @checked_fit
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, leave_out: Any = None
    ) -> Self:
        """Find the principal components of the good rows of `X`.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            One sample per row. It is never copied or changed. NaN is a missing cell: a row is
            judged by the cells it has. Sparse matrices must not contain NaN.
        y : ignored
            Present for use in pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts. A row of weight 2 counts twice, a row of weight 0 is left
            out of the fit.
        leave_out : array-like, optional
            Rows to leave out of the fit: a boolean mask, row numbers, or labels of the index if X
            is a pandas DataFrame. They get distances and labels like the others.

        Returns
        -------
        self
        """
        source = self._open(X)
        weights = _row_weights(X, source.shape, sample_weight, leave_out)
        self._check_rank(int(np.count_nonzero(weights)), source.shape[1])
        rng = self._generator(int(np.count_nonzero(weights)), source.shape[1])
        origin = far_origin(source, weights) if self.center else None
        rows = source if origin is None else source.centered(origin)
        self._counts = None if np.all(weights == 1.0) else weights
        # Most products are small, and threads that wait for each other take longer over them
        # than one; blocks of rows are worked on several at a time all the same.
        with single_threaded_blas:
            fit = fit_cells if self.cells else fit_rows
            scaled = scaled_fit(rows, self._options(), weights, rng, fit) if self.scale else None
            found = scaled.found if scaled else fit(rows, self._options(), weights, rng)
            self._feature_scale = scaled.scales if scaled else None
            self._probe = Probe.of(found.rows, found.fit, weights, self._options())
            self._stability = None
            self._keep_noise(found, self._probe, weights)
            n_observed = self._keep_fit(source, found, origin)
            about = Fitted(
                fit=found.fit,
                weights=weights,
                distances=-self._fitted_limits.scores(*self._training),
                limit=self.cutoffs_["orthogonal"],
                trimmed=not isinstance(self.trim, str),
                scales_agreed=scaled is None or scaled.agreed,
                probe=self._probe,
                cells=bool(self.cells),
            )
            for doubt in doubts(about):
                warn(f"{type(self).__name__}: {doubt}.", RuntimeWarning)
        if found.shares is not None:
            warn_of_few(source, found.shares)
        if n_observed is not None:
            k, d = self._basis.shape[::-1]
            warn_of_unjudged(n_observed, weights, k, d, cells=bool(self.cells))
        if self._probe is not None:
            self._warn_of_sentinels(source, self._probe.rows)
            warn_of_codes(source, self._probe, type(self).__name__)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _generator(self, n_rows: int, n_features: int) -> np.random.Generator:
        """For drawing rows, and directions through some of them.

        A table that is learned whole has one answer: only directions would be drawn, and they are
        the same each time.
        """
        options = self._options()
        if learned_whole(n_rows, n_features, options):
            return np.random.default_rng(0)
        if isinstance(self.random_state, np.random.RandomState):
            return np.random.default_rng(self.random_state.randint(0, 2**31, size=4))
        return np.random.default_rng(self.random_state)

    def _options(self) -> Options:
        """Parameters as plain Python numbers: below, nobody asks what kind they are."""
        return Options(
            rank=RankRule.of(self.n_components),
            trim=None if isinstance(self.trim, str) else float(self.trim),
            center=bool(self.center),
            n_sample=None if isinstance(self.sample_size, str) else int(self.sample_size),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            # 1 - 0.99 is not 0.01, and the default has the limits of 0.01 to the last digit.
            beyond=round(1.0 - float(self.limit), 15),
        )

    def _keep_fit(
        self, source: RowSource, found: RowsFit, origin: Floats | None
    ) -> npt.NDArray[np.intp] | None:
        """Keep what was found; number of cells by which each row is judged (n,), None: all."""
        fit = found.fit
        mean, rounding, deviations = fit.mean, 0.0, fit.scales
        if mean is not None:  # taking it off again rounds again
            eps = float(np.finfo(source.dtype).eps)
            rounding = MEAN_ULPS * eps * norm(np.abs(mean))
            # A spread that this rounding makes is none.
            deviations = np.where(deviations > eps * np.max(np.abs(mean)), deviations, 0.0)
        if mean is not None and self._feature_scale is not None:
            mean = mean * self._feature_scale
        if mean is not None and origin is not None:
            mean = origin + mean
        self._store(
            source,
            mean=mean,
            basis=fit.V,
            deviations=deviations,
            left_over=fit.left_over,
            n_kept=fit.n_good,
            support=source.export(fit.weights > 0),
        )
        self.scale_ = None if self._feature_scale is None else source.export(self._feature_scale)
        distances = fit.score_distances, fit.orthogonal_distances
        if found.completion is None:
            # As `predict` measures them. Passes do so, too, and many rows take long.
            if fit.route != "passes":
                distances = self._distances(source, source.magnitudes())
                # Rows that are in the subspace up to rounding stay in it, measured again.
                inside = (fit.orthogonal_distances == 0.0) & (fit.weights > 0)
                rounding = max(rounding, 2 * float(np.max(distances[1][inside], initial=0.0)))
        else:  # rows as this fit completes them, not the one before
            if self.cells:
                self.cell_outliers_ = cell_outliers(source, self._completion())
            magnitudes = found.sizes
            if magnitudes is None or origin is not None or self._feature_scale is not None:
                magnitudes = Zeroed(source).magnitudes()  # in the unit of the data
            source = self._view(source, None if self.cells else found.n_observed)
            distances = self._distances(source, magnitudes)
        self._store_distances(
            source,
            *distances,
            fit.limits,
            rounding,
        )
        self.weights_ = source.export(fit.weights)
        self.rank_, self.start_, self.route_ = fit.rank, fit.start, fit.route
        self.history_, self.n_iter_, self.converged_ = fit.history, len(fit.history), fit.converged
        return source.n_observed()

    def _types_at_fit(self) -> dict[str, int] | None:
        """Number of training rows of each type; None where a file does not say it."""
        if not hasattr(self, "score_distances_"):
            return self._rows_by_type
        kinds, counts = np.unique(self.outlier_type_, return_counts=True)
        return dict(zip(kinds.tolist(), counts.tolist(), strict=True))

    @property
    def stability_(self) -> Stability:
        """How the fit changes with other choices; computed when first used."""
        check_is_fitted(self)
        if self._stability is None and self._probe is None:
            raise AttributeError(
                "stability_ is computed by fitting some of the rows again, but this model has no "
                "rows: it was loaded from a file, or its rows cannot be picked without a pass over "
                "all of them. Fit a part of the rows, as a NumPy array."
            )
        if self._stability is None and self._probe is not None:
            with single_threaded_blas:
                self._stability = self._probe.stability()
        assert self._stability is not None
        return self._stability

    def _check_rank(self, n: int, d: int) -> None:
        if n < 2:
            raise ValueError(
                f"n_samples = {n} row{'s' * (n != 1)} in the fit, but a subspace needs at least 2. "
                "Give more rows, or leave out fewer."
            )
        k = self.n_components
        if isinstance(k, Integral) and int(k) > min(n, d):
            raise ValueError(
                f"n_components={k} must be between 1 and min(n_samples, n_features) = {min(n, d)} "
                f"for X of {n} rows in the fit and {d} features. Ask for fewer, or for "
                "n_components='auto'."
            )


def _row_weights(X: Any, shape: tuple[int, int], sample_weight: Any, leave_out: Any) -> Floats:
    """Weight of each row, (n_rows,), zero for those left out."""
    n = shape[0]
    weights = np.ones(n)
    if sample_weight is not None:
        try:
            weights = _as_column(sample_weight).astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"sample_weight must be numbers, one for each row; got {sample_weight!r}."
            ) from error
        if weights.ndim == 0:
            weights = np.full(n, float(weights))
        if weights.shape != (n,):
            raise ValueError(
                f"sample_weight.shape == {weights.shape}, expected {(n,)}: one weight for each row "
                "of X."
            )
        if not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise ValueError(
                "sample_weight must be finite and not negative, because it says how often each row "
                "counts. Give 0 to leave a row out."
            )
        if not np.any(weights):
            raise ValueError(
                "sample_weight is zero for every row, so no row is left to fit. Give some rows a "
                "positive weight."
            )
        if np.sum(weights) <= 1:
            raise ValueError(
                f"sample_weight sums to {np.sum(weights):g}, but it counts rows: a row of weight 2 "
                "counts twice. Multiply the weights so that they sum to the number of rows."
            )
    if leave_out is not None:
        weights[_named_rows(X, n, leave_out)] = 0.0
    return weights


def _as_column(values: Any) -> npt.NDArray[Any]:
    """Return `values`, of any kind, as a NumPy array of its own."""
    # A pandas Series has a `get`, as CuPy arrays do, and is no array of another library.
    return np.array(values if hasattr(values, "iloc") else to_numpy(values))


def _named_rows(X: Any, n: int, names: Any) -> Mask:
    """Mask of the rows that `names` names: a mask, row numbers, or labels of X's index."""
    names = list(names) if isinstance(names, set | frozenset) else names
    wanted = _as_column(names)
    mask = np.zeros(n, dtype=bool)
    if wanted.dtype == bool:
        if wanted.shape != (n,):
            raise ValueError(
                f"leave_out has shape {wanted.shape} as a mask, but X has {n} rows. Give one "
                "truth value for each row, or the numbers of the rows."
            )
        return wanted
    unknown: list[Any] = []
    if hasattr(X, "index") and hasattr(X, "iloc"):  # pandas
        allowed = "labels of the index of X"
        for label in [names] if wanted.ndim == 0 else names:
            try:
                mask[X.index.get_loc(label)] = True
            except (KeyError, TypeError):
                unknown.append(label)
    elif wanted.size and wanted.dtype.kind not in "iu":
        allowed = "row numbers or a mask (X has no index to look names up in)"
        unknown = list(np.atleast_1d(wanted))
    else:
        allowed = f"row numbers below {n}, {FROM_ZERO}"
        numbers = np.atleast_1d(wanted).astype(np.intp)
        there = (numbers >= -n) & (numbers < n)
        mask[numbers[there]] = True
        unknown = list(numbers[~there])
    if unknown:
        raise ValueError(
            f"leave_out names {len(unknown)} rows that do not exist, first {unknown[0]!r}. Give "
            f"{allowed}."
        )
    return mask
