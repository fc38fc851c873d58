"""REAPER: the sum of distances, over a convex set that holds all projectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._core.subspace import EPS64
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._fms import total
from torpca.rivals._span import right_svd, row_lengths, rows_in_span


def reaper(
    X: Any,
    rank: int,
    *,
    delta: float = 1e-10,
    spherise: bool = True,
    center: bool = False,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> RobustSubspace:
    """Subspace of the matrix P with the least sum of distances ||x_i - P x_i||.

    Minimises the sum over symmetric P with eigenvalues between 0 and 1 and trace `rank`, the convex
    hull of the projectors, by reweighted least squares. The directions are the top eigenvectors of
    P. The problem is convex, so there is one minimum and no start to choose. The minimum is a lower
    bound of the sum that `fms` minimises. It is a projector, and the subspace is exact, if good
    rows permeate their subspace and bad rows have no direction in common. With more bad rows, a P
    between the projectors has a smaller sum, long before `fms` fails.

    Cost: an SVD of the rows, n d^2, per iteration; tens of iterations, hundreds near the limit.
    Prefer it to `fms` if avoiding local minima matters more than withstanding many bad rows. Lines
    and clusters with more rows than one direction of the good rows win here too.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    delta : float
        Distances below this share of the median row length count as if they were that large.
    spherise : bool
        Whether rows are scaled to length one first, so that long bad rows have no more say: the
        paper's S-REAPER.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int
        Largest number of iterations.
    tol : float
        The loop ends when the subspace turns by an angle whose sine is smaller than this, and the
        sum falls by less than this share.

    Returns
    -------
    RobustSubspace
        No row is dropped. The objectives of its history are the sums of ||x - P x||, quadratic
        below delta as in `fms`. They never rise.

    References
    ----------
    Lerman, McCoy, Tropp, Zhang: Robust computation of linear models by convex relaxation,
    Foundations of Computational Mathematics 15 (2015). The iteration is that of Section 4, and the
    weighted problem is solved as there.

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import reaper
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.4, random_state=0)
    >>> subspace_error(reaper(X, 2).components.T, V) < 1e-9
    True
    """
    table = checked_table(X, rank)
    delta, tol = check_real("delta", delta, EPS64), check_real("tol", tol, 0.0)
    max_iter = check_count("max_iter", max_iter)
    rows = rows_in_span(table.X, center, spherise)
    Y, Q = rows.Y, rows.Q
    floor = delta * (float(np.median(rows.length)) if not spherise and len(Y) else 1.0)

    run, converged = Progress(table), False
    away, before = np.ones(len(Y)), np.inf
    for _ in range(max_iter):
        E, short = weighted_least_squares(Y / np.sqrt(away)[:, None], table.rank)
        lengths = row_lengths((Y @ E) * short)
        turned = run.note(Q @ E[:, : table.rank], value := total(lengths, 1.0, floor))
        if turned <= tol and before - value <= tol * value:
            converged = True
            break
        away, before = np.maximum(lengths, floor), value
    return hand_back(
        table,
        Q @ E[:, : table.rank],
        mean=rows.mean,
        history=run.history,
        converged=converged,
        parameters={"delta": delta},
    )


def weighted_least_squares(A: Floats, rank: int) -> tuple[Floats, Floats]:
    """Eigenvectors E (m, m) of the P that leaves the least sum of squares of the rows of A (n, m).

    Second come the eigenvalues of I - P, (m,), smallest first. With those of A'A, lam, largest
    first, they are min(1, theta/lam): P shortens each direction by what its rows can bear, and the
    level theta is the one at which the trace of P is `rank`.
    """
    s, E = right_svd(A)
    m = len(s)
    if m <= rank:
        return E, np.zeros(m)
    # 1 - theta/lam is not formed: of directions far above the level only rounding would be left.
    inverse = (np.max(s) / np.maximum(s, EPS64 * np.max(s))) ** 2
    # With the first k directions below 1, theta = (k - rank) / sum(1/lam): as many as are.
    levels = np.arange(1 - rank, m - rank + 1) / np.cumsum(inverse)
    k = max(int(np.count_nonzero(levels * inverse < 1.0)), rank)
    theta = max(levels[k - 1], 0.0)
    return E, np.minimum(1.0, theta * inverse)
