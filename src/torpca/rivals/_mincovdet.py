"""Minimum covariance determinant."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from torpca._core.result import RobustSubspace
from torpca._core.subspace import EPS64
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Progress, hand_back, open_table
from torpca.rivals._location import about_median
from torpca.rivals._principal import residual_squares
from torpca.rivals._span import row_space, unit_rows


def mincovdet(X: Any, rank: int, *, center: bool = True, random_state: Any = 0) -> RobustSubspace:
    """Principal directions of the rows whose covariance has the least determinant.

    min over subsets H of h = (n + d + 1)/2 rows of det cov(X_H); then the covariance of all rows
    near it, and the top eigenvectors of that. Computed by scikit-learn's `MinCovDet` (FAST-MCD) in
    the coordinates of the subspace that all rows lie in.

    Cost: hundreds of covariances and inverses, O(n d^2 + d^3) each: seconds for 2000 x 50, minutes
    for 10 000 x 200. Prefer it at few features, when the whole covariance is wanted. Bad rows on a
    line or in a tight cluster have a small determinant too, and from 20 % on win at 50 features.
    If h rows lie in a subspace exactly every such subset has determinant zero, and it is chance
    which one is found.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row. At least twice as many rows as dimensions they lie in.
    rank : int
        Dimension of the subspace.
    center : bool
        Whether the rows have a location; else it is zero.
    random_state : int, Generator, RandomState or None
        Seed of the subsets to start from.

    Returns
    -------
    RobustSubspace
        `support` are the rows near the covariance found first. Not `converged`: the determinants
        were zero. The objective in `history` is the sum of squared residuals of the support.

    References
    ----------
    Rousseeuw: Multivariate estimation with high breakdown point, Mathematical Statistics and
    Applications B (1985).

    Rousseeuw, Van Driessen: A fast algorithm for the minimum covariance determinant estimator,
    Technometrics 41 (1999).

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
    table = open_table(X, rank)
    C, origin = about_median(table.X, center)
    basis = row_space(unit_rows(C)[0])
    check_tall(table.X.shape, basis.shape[1])
    if isinstance(random_state, np.random.Generator):  # which scikit-learn does not take
        random_state = int(random_state.integers(2**31))
    covariance, location, keep, regular = robust_covariance(C @ basis, center, random_state)
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
            f"X of shape ({n}, {d}) has n_samples = {n} rows in {q} dimensions, and the minimum "
            f"covariance determinant needs twice as many rows as dimensions: at least {2 * q}. "
            "Use more rows, fewer features, or robpca."
        )


def robust_covariance(
    Z: Floats, center: bool, random_state: Any
) -> tuple[Floats, Floats, Mask, bool]:
    """Covariance (q, q), location (q,) and mask of its rows; whether determinants were regular."""
    from sklearn.covariance import MinCovDet  # noqa: PLC0415 (its import is slow)

    n, q = Z.shape
    if q == 0:  # all rows are equal
        return np.zeros((0, 0)), np.zeros(0), np.ones(n, dtype=bool), True
    model = MinCovDet(assume_centered=not center, random_state=random_state)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(Z)
        except ValueError as error:
            if "equal to 0" not in str(error):
                raise
            raise ValueError(
                f"Half of the n_samples = {n} rows of X are equal and have no covariance. The "
                "minimum covariance determinant needs rows that differ. Use spherical_pca."
            ) from error
    return model.covariance_, model.location_, model.support_, not caught
