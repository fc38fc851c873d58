"""Minimum covariance determinant."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import chi2

from torpca._core.result import RobustSubspace
from torpca._core.subspace import EPS64
from torpca._sources.base import Floats, Mask
from torpca.rivals._concentration import ROUNDING, concentrate, distances_from, trimming
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._initial import (
    axes_to_start_with,
    check_start,
    scale_of_rows,
    standardised,
)
from torpca.rivals._location import about_median
from torpca.rivals._principal import residual_squares, smallest
from torpca.rivals._span import row_space, unit_rows

# Of good rows, one in forty is beyond the cut-off.
INSIDE = 0.975

Found = tuple[Floats, Floats, Mask, bool]
"""Covariance (q, q), location (q,) and mask of its rows; whether determinants were regular."""


def mincovdet(
    X: Any, rank: int, *, start: str = "random", center: bool = True, random_state: Any = 0
) -> RobustSubspace:
    """Principal directions of the rows whose covariance has the least determinant.

    It minimises det cov(X_H) over subsets H of h = (n + d + 1)/2 rows. The result is the top
    eigenvectors of the covariance of all rows near that subset. It works in coordinates of the
    subspace that contains all rows, with scikit-learn's `MinCovDet` (FAST-MCD) or from
    deterministic starts (DetMCD).

    Cost: hundreds of covariances and inverses, O(n d^2 + d^3) each: seconds for 2000 x 50, minutes
    for 10,000 x 200. From deterministic starts there are some tens, and 2 d^2 robust scales of n
    numbers. Prefer it for few features, if you want the whole covariance. Bad rows on a line or in
    a tight cluster have a small determinant too, and from 20 % on they win with 50 features. If h
    rows lie exactly in a subspace, every such subset has determinant zero, and chance decides which
    one is found.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row. There must be at least twice as many rows as dimensions that they span.
    rank : int
        Dimension of the subspace.
    start : "random" or "deterministic"
        Start of the concentration steps: random subsets, or six deterministic scatter estimates.
        With these, the result depends neither on `random_state` nor on the order of rows.
    center : bool
        Whether to estimate a location instead of using zero.
    random_state : int, Generator, RandomState or None
        Seed of the random subsets; not used for deterministic starts.

    Returns
    -------
    RobustSubspace
        `support` are the rows near the first covariance. `converged` is false if the determinants
        were zero. The objective in `history` is the sum of squared residuals of the support.

    Notes
    -----
    Deterministic starts are those of Hubert, Rousseeuw and Verdonck: correlations of hyperbolic
    tangents, of ranks and of normal scores, spatial sign covariance, covariance of the half nearest
    to the medians, and pairwise robust covariances (raw OGK). The eigenvectors of each, with robust
    scales along them, give distances of the rows. The nearest half starts the concentration steps,
    and the one with the least determinant among the six results wins.

    It departs from the paper in four places. Coordinates are the principal axes of the rows'
    directions (spherical PCA), not the columns, so the result rotates with the rows. Scales are
    tau-scales for any number of rows. The paper uses Qn for up to a thousand rows, which is zero
    for a column with two values, one in each half. Without centring, the starts are computed from
    the rows and their negatives. There is no small-sample factor.

    References
    ----------
    Rousseeuw: Multivariate estimation with high breakdown point, Mathematical Statistics and
    Applications B (1985).

    Rousseeuw, Van Driessen: A fast algorithm for the minimum covariance determinant estimator,
    Technometrics 41 (1999).

    Hubert, Rousseeuw, Verdonck: A deterministic algorithm for robust location and scatter, Journal
    of Computational and Graphical Statistics 21 (2012).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import mincovdet
    >>> X, V, bad, mu = make_outlier_subspace(
    ...     200, 5, 2, 0.2, outliers="isotropic", noise=0.05, random_state=0
    ... )
    >>> subspace_error(mincovdet(X, 2).components.T, V) < 0.05
    True
    """
    table = checked_table(X, rank)
    start = check_start(start)
    C, origin = about_median(table.X, center)
    basis = row_space(unit_rows(C)[0])
    check_tall(table.X.shape, basis.shape[1])
    Z = C @ basis
    if Z.shape[1] == 0:  # all rows are equal
        found: Found = np.zeros((0, 0)), np.zeros(0), np.ones(len(Z), dtype=bool), True
    elif start == "random":
        found = from_random_subsets(Z, center, random_state)
    else:
        found = from_six_scatters(Z, center)
    covariance, location, keep, regular = found
    values, E = np.linalg.eigh(covariance)
    k = min(table.rank, int(np.count_nonzero(values > len(values) * EPS64 * values[-1:])))
    V = basis @ E[:, ::-1][:, :k]
    mean = basis @ location
    run = Progress(table)
    run.note(V, float(np.sum(residual_squares(C[keep], mean, V))), keep)
    return hand_back(
        table,
        V,
        mean=None if origin is None else origin + mean,
        keep=keep,
        history=run.history,
        converged=regular,
        advice="Half of the rows lie in a subspace, where all determinants are zero: use robpca.",
    )


def check_tall(shape: tuple[int, ...], q: int) -> None:
    """Check that there are rows enough for a covariance in `q` dimensions of some of them."""
    n, d = shape
    if n < 2 * q:
        raise ValueError(
            f"X of shape ({n}, {d}) has n_samples = {n} rows in {q} dimensions, but the minimum "
            f"covariance determinant needs twice as many rows as dimensions: at least {2 * q}. "
            "Use more rows, fewer features, or robpca."
        )


def no_covariance(n: int) -> ValueError:
    """Error for rows of which half are equal."""
    return ValueError(
        f"Half of the n_samples = {n} rows of X are equal and have no covariance. The minimum "
        "covariance determinant needs rows that differ. Use spherical_pca."
    )


def from_random_subsets(Z: Floats, center: bool, random_state: Any) -> Found:
    """FAST-MCD of the rows of Z (n, q), by scikit-learn."""
    from sklearn.covariance import MinCovDet  # noqa: PLC0415 (its import is slow)

    if isinstance(random_state, np.random.Generator):  # which scikit-learn does not take
        random_state = int(random_state.integers(2**31))
    model = MinCovDet(assume_centered=not center, random_state=random_state)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(Z)
        except ValueError as error:
            if "equal to 0" not in str(error):
                raise
            raise no_covariance(len(Z)) from error
    return model.covariance_, model.location_, model.support_, not caught


def from_six_scatters(Z: Floats, center: bool) -> Found:
    """DetMCD of the rows of Z (n, q)."""
    n, q = Z.shape
    h = (n + q + 1) // 2
    best = subset_of_least_determinant(Z, h, center)
    location, squares, _ = distances_from(Z, best, 0.0, center)
    values = np.linalg.eigvalsh(covariance_about(Z[best], location))
    if values[-1] <= ROUNDING**2 * np.mean(Z[best] ** 2):
        raise no_covariance(n)
    near = squares <= chi2.ppf(INSIDE, q) * trimming(h / n, q)
    location = np.mean(Z[near], axis=0) if center else location
    regular = values[0] > EPS64 * values[-1]  # less is rounding of the covariance
    return covariance_about(Z[near], location), location, near, bool(regular)


def subset_of_least_determinant(Z: Floats, h: int, center: bool) -> Mask:
    """The `h` rows of Z (n, q) with the least determinant that six starts lead to."""
    S = standardised(Z, center)[0]
    best, least = np.ones(len(Z), dtype=bool), np.inf
    for E in axes_to_start_with(S, center):
        half = smallest(distances_along(S, E, center), (len(Z) + 1) // 2)
        # Of Z, not of S: there a column may have been enlarged until its rounding counts.
        keep, log_det = concentrate(Z, half, h, 0.0, center)
        if log_det < least:
            best, least = keep, log_det
    return best


def distances_along(S: Floats, E: Floats, center: bool) -> Floats:
    """Squared distances (n,) of standardised rows S (n, q), given axes E (q, q) of a scatter.

    The scatter is E diag(scales^2) E' with the robust scales along the axes, and the location is
    the median of the columns where that is the identity.
    """
    P = S @ E
    P /= scale_of_rows(P, center)
    if center:
        P -= np.median(P @ E.T, axis=0) @ E
    squares: Floats = np.vecdot(P, P)
    return squares


def covariance_about(T: Floats, location: Floats) -> Floats:
    """Mean product (q, q) of the rows of T (n, q) about `location` (q,)."""
    C = T - location
    S: Floats = C.T @ C / len(C)
    return S
