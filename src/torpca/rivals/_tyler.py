"""Tyler's M-estimator of scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._scatter import ADVICE, LEAST, Rule, eigenpairs, identity, settle
from torpca.rivals._span import rows_in_span

# Share of the identity where rows are no more than dimensions: it only has to settle which of many
# solutions is meant.
SHRINKAGE = 0.1


def tyler(
    X: Any,
    rank: int,
    *,
    shrinkage: float | None = None,
    center: bool = False,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> RobustSubspace:
    """Top eigenvectors of Tyler's scatter matrix, which does not depend on the lengths of rows.

    Solves S = (m/n) sum_i x_i x_i' / (x_i' S^-1 x_i) with tr S = m by fixed-point iteration from
    the identity, where m is the number of dimensions the rows span. Among all estimators, its
    largest asymptotic variance over elliptical distributions is the smallest. Without noise it
    finds the subspace of the good rows if they are more than a share rank/m of all rows and no
    other subspace has more than its share. S then shrinks to that subspace. A line with more than a
    share 1/m of the rows is just as strong.

    If there are no more rows than dimensions, every choice of weights solves the equation. Then, or
    if `shrinkage` is given, a share of the identity is added before the trace is set,
    S <- (1 - shrinkage) (m/n) sum_i x_i x_i' / (x_i' S^-1 x_i) + shrinkage I, which has one
    solution for any number of rows.

    Cost: n m^2 + m^3 per iteration, tens of iterations. Prefer it if bad rows are isotropic up
    to a linear map, not if they form lines or clusters.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    shrinkage : float in [0, 1), optional
        Share of the identity. Default: 0 with more rows than dimensions they span, else 0.1.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int
        Largest number of iterations.
    tol : float
        The loop ends when the subspace turns by an angle whose sine is smaller than this, and the
        scatter matrix changes by less than this share of its norm.

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
    table = checked_table(X, rank)
    tol, max_iter = check_real("tol", tol, 0.0), check_count("max_iter", max_iter)
    rows = rows_in_span(table.X, center)
    shrinkage = usual_shrinkage(rows.Y) if shrinkage is None else check_shrinkage(shrinkage)

    run = Progress(table)
    start = identity(rows.Y.shape[1])
    found = settle(rows, mixing(shrinkage), start, run, max_iter=max_iter, tol=tol)
    return hand_back(
        table,
        rows.Q @ found.E[:, : table.rank],
        mean=rows.mean,
        history=run.history,
        converged=found.settled,
        advice=ADVICE,
        parameters={"shrinkage": shrinkage},
    )


def mixing(shrinkage: float) -> Rule:
    """Rule that mixes a share of the identity into the sum and sets its trace."""

    def mixed(S: Floats) -> tuple[Floats, Floats, Floats]:
        m = len(S)
        S = (1 - shrinkage) * S + shrinkage * np.eye(m)
        S *= m / max(float(np.trace(S)), LEAST)  # with no rows at all it is zero
        return S, *eigenpairs(S)

    return mixed


def usual_shrinkage(Y: Floats) -> float:
    """Share of the identity for rows Y (n, m): none if they are more than dimensions."""
    n, m = Y.shape
    return 0.0 if n > m else SHRINKAGE


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
