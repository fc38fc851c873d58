"""Robust matrix completion: entries are missing, and some of those that are not are bad."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._core.subspace import EPS64
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, hand_back
from torpca.rivals._entrywise import (
    Stages,
    best_fit,
    check_beta,
    check_decay,
    first_cut,
    gross,
    with_low_rank,
)
from torpca.rivals._gaps import observed, open_with_gaps
from torpca.rivals._location import about_column_medians
from torpca.rivals._span import row_space
from torpca.rivals._split import Split, split


def robust_matrix_completion(
    X: Any,
    rank: int,
    *,
    beta: float | None = None,
    decay: float | None = None,
    center: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> Split:
    """Low-rank part of a table with missing and bad entries: projected gradients (PG-RMC).

    Finds L of the given rank and a sparse S with L + S = X where X is observed. NaN is an entry
    that was not observed. Let Omega be the observed places, a share p of all. An iteration is

        L = best fit of rank k to A,   A = L + (1/p) (X - L - S) on Omega, L elsewhere,

    a projected gradient step. S consists of the entries of X - L on Omega above a threshold

        zeta_t = beta (sigma_{k+1} + decay^t sigma_k),   sigma = singular values of A.

    The rank k grows in stages. Each stage adds all directions of at least half the size of the
    largest that is missing. L is found exactly, however large S is, if three conditions hold: the
    observed places are random and their number is of the order of mu^4 rank^2 max(n, d) times
    logarithms; S has at most a share of the order of 1/(mu^2 rank) of the observed entries of every
    row and column; and L is spread over rows and columns (leverages of at most mu^2 rank/n and
    mu^2 rank/d). The error then falls by a constant factor in each iteration.

    Cost: one SVD, O(n d min(n, d)), in each iteration, and usually 50 to 500 iterations, more if
    fewer entries are observed. Prefer it if entries are missing. Otherwise it does what `altproj`
    does. It is not made for whole bad rows. Bad rows in all directions that are no longer than the
    others are cut entry by entry. If they are long or agree in a direction, they enter L and
    determine the subspace.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row. NaN is an entry that was not observed. Every row and every column needs
        an observed entry. In a row with fewer than `rank` of them, L is a guess.
    rank : int
        Rank of L.
    beta : float, optional
        Size of the largest good entry as a share of the largest singular value. By default
        sqrt(2 log n log d/(n d)). The theorem uses a multiple of mu^2 rank/sqrt(n d).
    decay : float between 0 and 1, optional
        Factor by which the threshold falls. By default 3 sqrt(rank (n + d)/(p n d)), with 2.5
        instead of 3 if no entry is missing, but at least 1/2, as in the paper, and at most 0.95.
    center : bool
        Whether to subtract the median of the observed entries of each column first.
    max_iter : int
        Largest number of iterations, over all k.
    tol : float
        The iterations end when L moves by less than this share of its size and the threshold has
        fallen by as much.

    Returns
    -------
    Split
        `low_rank` is L, on all places, and `rest` is S, zero where nothing was observed; both are
        about `mean`. Directions and singular values are those of L. No row is dropped: `support`
        is all of them.

    See Also
    --------
    altproj : for tables without missing entries.

    Notes
    -----
    Departures from the paper. For its proof, the paper uses new observations in each iteration.
    Here, as in the authors' code, every iteration uses all observations. Thresholds and stages
    start and end as in `altproj`, for the same reasons. If entries are missing, decay has 3 instead
    of 2.5, because with less the threshold fell faster than the error for many shapes. Steps are
    shortened, from 1/p half way to 1, when the residual grows: if the observed places are not
    random, a step of 1/p may be too long, and L grows without bound
    (`tests/test_rivals_entrywise.py`). A step of 1 always reduces the residual.

    References
    ----------
    Cherapanamjeri, Gupta, Jain: Nearly optimal robust matrix completion, International Conference
    on Machine Learning 34 (2017), Algorithm 1 and Theorem 1; the authors' code, ncrmc.m.

    Examples
    --------
    >>> import numpy as np
    >>> from torpca.rivals import robust_matrix_completion
    >>> rng = np.random.default_rng(0)
    >>> L = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 60))
    >>> X = np.where(rng.random(L.shape) < 0.05, 1000.0, L)
    >>> X[rng.random(L.shape) < 0.3] = np.nan
    >>> found = robust_matrix_completion(X, 2)
    >>> bool(np.abs(found.low_rank - L).max() < 1e-10)
    True
    """
    max_iter, tol = check_count("max_iter", max_iter), check_real("tol", tol, 0.0)
    table, seen = open_with_gaps(X, rank)
    M, mean = about_column_medians(table.X, center, seen)
    n_seen = int(np.count_nonzero(seen))
    beta = check_beta(beta, M.shape)
    decay = check_decay(decay, table.rank, M.shape, n_seen)
    run = Progress(table)
    step = M.size / n_seen
    A, L, left = step * first_cut(M, step * beta), np.zeros_like(M), np.inf
    stages = Stages(next_rank(best_fit(A, 0)[1], 0, table.rank), table.rank, beta, decay, tol)
    while not stages.converged and len(run.history) < max_iter:
        before, (L, s, V) = L, best_fit(A, stages.k)
        rest = observed(M - L, seen)
        bad = gross(rest, seen, stages.threshold(s))
        good_rest = np.where(bad, 0.0, rest)
        before_left, left = left, float(np.linalg.norm(good_rest))
        # With a step of one the residual cannot grow, but for rounding.
        if left > before_left and left > M.size * EPS64 * s[0]:
            step = 1.0 + 0.5 * (step - 1.0)
        A = L + step * good_rest
        run.note(V, left)
        stages.go_on(s, L, before, next_rank(s, stages.k, table.rank))
    found = hand_back(
        with_low_rank(table, L, mean),
        row_space(L),
        mean=mean,
        history=run.history,
        converged=stages.converged,
        parameters={"beta": beta, "decay": decay, "observed": n_seen / M.size},
    )
    return split(found, table, L, np.where(bad, rest, 0.0))


def next_rank(s: Floats, k: int, rank: int) -> int:
    """Rank of the stage after that of rank k: directions at least half as large as the next one."""
    return min(rank, max(k + 1, int(np.count_nonzero(s[:rank] >= 0.5 * s[k]))))
