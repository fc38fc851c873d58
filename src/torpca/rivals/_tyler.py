"""Tyler's M-estimator of scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, hand_back, open_table
from torpca.rivals._location import about_median
from torpca.rivals._span import row_space, unit_rows

# Eigenvalues below this share of the largest are rounding: they are raised to it, so that rows in a
# subspace to which the scatter shrinks keep a finite distance.
LEAST = 1e-15
# Share of the identity where rows are no more than dimensions: it only has to settle which of many
# solutions is meant.
SHRINKAGE = 0.1
ADVICE = (
    "Allow more iterations with max_iter; if that does not help, more rows lie along one direction "
    "than this method can bear, and another one should be tried."
)


def tyler(
    X: Any,
    rank: int,
    *,
    shrinkage: float | None = None,
    center: bool = False,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> RobustSubspace:
    """Top eigenvectors of Tyler's scatter matrix, which does not see the lengths of rows.

    Solves S = (m/n) sum_i x_i x_i' / (x_i' S^-1 x_i) with tr S = m by repeating it, from the
    identity; m is the number of dimensions the rows span. Over all elliptical distributions its
    largest asymptotic variance is the least there can be. Without noise it finds the subspace of
    the good rows if they are more than a share rank/m of all and no other subspace has more than
    its share; S then shrinks to that subspace. A line with more than a share 1/m of the rows is as
    strong.

    With no more rows than dimensions every choice of weights solves the equation. Then, or when
    told to, a share of the identity is mixed in before the trace is set,
    S <- (1 - shrinkage) (m/n) sum_i x_i x_i' / (x_i' S^-1 x_i) + shrinkage I, which has one
    solution for any number of rows.

    Cost: n m^2 + m^3 per iteration, tens of iterations. Prefer it where directions are isotropic
    up to a linear map, as bad rows in all directions are; not where they form lines or clusters.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    shrinkage : float in [0, 1), optional
        Share of the identity. Default: 0 with more rows than dimensions they span, else 0.1.
    center : bool
        Whether rows are measured from their spatial median; else from zero.
    max_iter : int
        Iterations allowed.
    tol : float
        The loop ends when the subspace turns by an angle with a smaller sine, and the scatter
        matrix changes by less than this share of its norm.

    Returns
    -------
    RobustSubspace
        No row is dropped. The objectives of its history are mean_i log(x_i' S^-1 x_i) +
        log(det S)/m for rows of length one, which fall without shrinkage.

    References
    ----------
    Tyler: A distribution-free M-estimator of multivariate scatter, Annals of Statistics 15 (1987).
    Zhang: Robust subspace recovery by Tyler's M-estimator, Information and Inference 5 (2016).
    Chen, Wiesel, Hero: Robust shrinkage estimation of high-dimensional covariance matrices, IEEE
    Transactions on Signal Processing 59 (2011).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import tyler
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.4, random_state=0)
    >>> subspace_error(tyler(X, 2).components.T, V) < 1e-9
    True
    """
    table = open_table(X, rank)
    tol, max_iter = check_real("tol", tol, 0.0), check_count("max_iter", max_iter)
    C, mean = about_median(table.X, center)
    U, length = unit_rows(C, mean)
    Q = row_space(U)
    Y = (U @ Q)[length > 0]
    n, m = Y.shape
    if shrinkage is None:
        shrinkage = 0.0 if n > m else SHRINKAGE
    shrinkage = check_shrinkage(shrinkage)

    run, converged = Progress(table), False
    S, away = np.eye(m), np.ones(n)
    for _ in range(max_iter):
        before, S = S, (1 - shrinkage) * scatter(Y, away) + shrinkage * np.eye(m)
        S *= m / max(float(np.trace(S)), LEAST)  # with no rows at all it is zero
        lam, E = eigenpairs(S)
        away = squared_distances(Y, lam, E)
        turned = run.note(Q @ E[:, : table.rank], misfit(away, lam))
        # Both, as S hardly changes any more when it shrinks to a part of the subspace.
        if turned <= tol and np.linalg.norm(S - before) <= tol * np.linalg.norm(S):
            converged = True
            break
    return hand_back(
        table,
        Q @ E[:, : table.rank],
        mean=mean,
        history=run.history,
        converged=converged,
        advice=ADVICE,
        parameters={"shrinkage": shrinkage},
    )


def scatter(Y: Floats, away: Floats) -> Floats:
    """m times the mean of y y' / away, (m, m)."""
    S: Floats = Y.T @ (Y / away[:, None])
    S *= Y.shape[1] / max(len(Y), 1)
    return S


def eigenpairs(S: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (m,) of a scatter matrix S, largest first and none zero, and eigenvectors."""
    lam, E = np.linalg.eigh(S)
    return np.maximum(lam, LEAST * np.max(lam, initial=0.0))[::-1], E[:, ::-1]


def squared_distances(Y: Floats, lam: Floats, E: Floats) -> Floats:
    """y' S^-1 y of every row, (n,), for S = E diag(lam) E'."""
    away: Floats = np.sum((Y @ E) ** 2 / lam, axis=1)
    return away


def misfit(away: Floats, lam: Floats) -> float:
    """Mean log of y' S^-1 y, plus that of the eigenvalues of S: what Tyler's S minimises."""
    return float(np.sum(np.log(away)) / max(len(away), 1) + np.sum(np.log(lam)) / max(len(lam), 1))


def check_shrinkage(value: Any) -> float:
    """Check that `value` can be a share of the identity."""
    share = check_real("shrinkage", value, 0.0)
    if share >= 1:
        raise ValueError(
            f"shrinkage={share:g} must be at least 0 and less than 1: it is the share of the "
            "identity in the scatter matrix. Leave shrinkage out for none where there are rows "
            "enough."
        )
    return share
