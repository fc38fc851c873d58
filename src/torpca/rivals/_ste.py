"""Subspace-constrained Tyler's estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, hand_back, open_table
from torpca.rivals._scatter import ADVICE, LEAST, eigenpairs, top_of_scatter
from torpca.rivals._span import rows_in_span


def ste(
    X: Any,
    rank: int,
    *,
    gamma: float = 1 / 3,
    center: bool = False,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> RobustSubspace:
    """Tyler's scatter matrix, made round and small outside a subspace in every iteration.

    Repeats S <- sum_i x_i x_i' / (x_i' S^-1 x_i), then replaces the d - rank smallest eigenvalues
    of S by `gamma` times their mean, and returns the top eigenvectors. Being round outside, it
    weighs rows by their distance from the subspace, as `fms` does; being small, it does so sooner.
    With n1 rows in the subspace and n0 beyond it in all directions, Tyler's estimator finds it
    without noise when (n1/rank) / (n0/(d - rank)) is more than 1, this one when it is more than
    gamma.

    Cost: n m^2 + m^3 per iteration, where m is the number of dimensions the rows span; tens of
    iterations. Prefer it to `tyler` for subspaces. Lines and clusters with more rows than one
    direction of the good ones still win.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    gamma : float in (0, 1]
        Factor on the eigenvalues beyond the subspace. Smaller values find it among more bad rows,
        and are quicker to settle on a wrong one.
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
        No row is dropped. The objectives of its history are Tyler's, mean_i log(x_i' S^-1 x_i) +
        log(det S)/m for rows of length one; they need not fall.

    References
    ----------
    Yu, Zhang, Lerman: A subspace-constrained Tyler's estimator and its applications to structure
    from motion, CVPR (2024).
    Lerman, Zhang: Theoretical guarantees for the subspace-constrained Tyler's estimator,
    arXiv:2403.18658 (2024).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import ste
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.8, random_state=0)
    >>> subspace_error(ste(X, 2).components.T, V) < 1e-9
    True
    """
    table = open_table(X, rank)
    gamma, tol = check_gamma(gamma), check_real("tol", tol, 0.0)
    max_iter = check_count("max_iter", max_iter)
    rows = rows_in_span(table.X, center)
    beyond = table.X.shape[1] - rows.Y.shape[1]

    def constrained(S: Floats) -> tuple[Floats, Floats, Floats]:
        lam, E = eigenpairs(S)
        lam = constrain(lam, table.rank, beyond, gamma)
        return (E * lam) @ E.T, lam, E

    run = Progress(table)
    V, converged = top_of_scatter(rows, constrained, run, max_iter=max_iter, tol=tol)
    return hand_back(
        table,
        V,
        mean=rows.mean,
        history=run.history,
        converged=converged,
        advice=ADVICE,
        parameters={"gamma": gamma},
    )


def constrain(lam: Floats, rank: int, beyond: int, gamma: float) -> Floats:
    """Eigenvalues, largest first, with those after the first `rank` made equal and small; sum 1.

    All of them count in the mean, also those `beyond` the dimensions the rows span, which are zero.
    """
    small = gamma * np.sum(lam[rank:]) / max(len(lam) - rank + beyond, 1)
    small = max(small, LEAST * np.max(lam, initial=0.0))
    lam = np.append(lam[:rank], np.full(len(lam[rank:]), small))
    return lam / np.sum(lam)


def check_gamma(gamma: Any) -> float:
    """Check that `gamma` leaves something beyond the subspace, and no more than there is."""
    factor = check_real("gamma", gamma)
    if not 0 < factor <= 1:
        raise ValueError(
            f"gamma={factor:g} must be more than 0 and at most 1: it multiplies the eigenvalues "
            "beyond the subspace. Leave gamma out for 1/3."
        )
    return factor
