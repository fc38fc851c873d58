"""Non-convex robust PCA by alternating projections (AltProj)."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._entrywise import (
    Stages,
    best_fit,
    check_beta,
    check_decay,
    first_cut,
    gross,
    with_low_rank,
)
from torpca.rivals._location import about_column_medians
from torpca.rivals._span import row_space
from torpca.rivals._split import Split, split


def altproj(
    X: Any,
    rank: int,
    *,
    beta: float | None = None,
    decay: float | None = None,
    center: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> Split:
    """Low-rank part of a table with bad entries: alternating projections.

    Splits X = L + S with L of the given rank and S sparse. In turn, L is the best fit of rank k
    to X - S, and S consists of the entries of X - L above a threshold

        zeta_t = beta (sigma_{k+1} + decay^t sigma_k),   sigma = singular values of X - S,

    for k = 1, 2, ... up to the rank. So the largest directions settle first, before the smaller
    ones, which gross entries could hide. L is found exactly, however large S is, if S has at most a
    share 1/(512 mu^2 rank) of every row and column and L is spread over rows and columns (leverages
    of at most mu^2 rank/n and mu^2 rank/d). The error then falls by a constant factor in each
    iteration.

    Cost: one SVD, O(n d min(n, d)), in each iteration, and usually 50 to 300 iterations. Prefer it
    if single entries are bad and the rank is known. It is not made for whole bad rows. Bad rows in
    all directions that are no longer than the others are cut entry by entry. If they are long or
    agree in a direction, they enter L and determine the subspace.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Rank of L.
    beta : float, optional
        Size of the largest good entry as a share of the largest singular value. By default
        sqrt(2 log n log d/(n d)). The theorem uses 4 mu^2 rank/sqrt(n d).
    decay : float between 0 and 1, optional
        Factor by which the threshold falls. By default 2.5 sqrt(rank (n + d)/(n d)), but at least
        1/2, as in the paper, and at most 0.95.
    center : bool
        Whether to subtract the median of each column first.
    max_iter : int
        Largest number of iterations, over all k.
    tol : float
        The iterations end when L moves by less than this share of its size and the threshold has
        fallen by as much.

    Returns
    -------
    Split
        `low_rank` is L and `rest` is S, both about `mean`. Directions and singular values are
        those of L. No row is dropped: `support` is all of them.

    See Also
    --------
    robust_matrix_completion : the same for tables with missing entries.
    rpca_gd : gradient descent instead of SVDs.

    Notes
    -----
    Departures from the paper, measured on 24 tables with bad entries, of 2 shapes, ranks 2 and 5,
    shares of 0.05 to 0.2, and as large as the largest good entry or 1000 times that. All 24 are
    found; `tests/test_rivals_entrywise.py` has a table for the theorem's beta, the decay, the one
    cut and the floor.

    - beta: beyond the theorem's share of bad entries, its constant is too large, and with the true
      mu no table is found. The authors' code uses 1/sqrt(d), which finds 22. The default needs no
      mu: it is about 0.7 times the value for random directions.
    - decay: with the paper's 1/2 the threshold falls faster than the error if there are many
      unknowns, and 22 tables are found. The authors' code lowers its threshold by 0.9 when the
      residual stops falling. Using 0.9 in every iteration finds all tables, in nearly four times as
      many iterations.
    - The first threshold is beta times the largest singular value of what it leaves, not of X. With
      the largest singular value of X, 12 tables are found, but none with huge entries.
    - No threshold is below three standard deviations of the good entries about L, estimated from
      their median. Otherwise noise would be cut until nothing is left. Without noise this changes
      nothing.
    - A stage ends when the falling part of its threshold is a hundredth of the rest, and the last
      stage ends when L has settled. The paper derives a larger number of iterations from the
      required accuracy.

    References
    ----------
    Netrapalli, Niranjan, Sanghavi, Anandkumar, Jain: Non-convex robust PCA, Advances in Neural
    Information Processing Systems 27 (2014), Algorithm 1 and Theorem 1; the authors' ncrpca.m.

    Examples
    --------
    >>> import numpy as np
    >>> from torpca.rivals import altproj
    >>> rng = np.random.default_rng(0)
    >>> L = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 60))
    >>> S = np.where(rng.random(L.shape) < 0.05, 1000.0, 0.0)
    >>> found = altproj(L + S, 2)
    >>> bool(np.abs(found.low_rank - L).max() < 1e-10)
    True
    >>> bool(((found.rest != 0) == (S != 0)).all())
    True
    """
    max_iter, tol = check_count("max_iter", max_iter), check_real("tol", tol, 0.0)
    table = checked_table(X, rank)
    M, mean = about_column_medians(table.X, center)
    beta = check_beta(beta, M.shape)
    decay = check_decay(decay, table.rank, M.shape, M.size)
    run = Progress(table)
    # X - S: bad entries replaced by those of L.
    clean, L = first_cut(M, beta), np.zeros_like(M)
    stages = Stages(1, table.rank, beta, decay, tol)
    while not stages.converged and len(run.history) < max_iter:
        before, (L, s, V) = L, best_fit(clean, stages.k)
        rest = M - L
        bad = gross(rest, None, stages.threshold(s))
        # Not M - S with S = M - L: of L it would keep no more digits than a huge entry has.
        clean = np.where(bad, L, M)
        run.note(V, float(np.linalg.norm(rest[~bad])))
        stages.go_on(s, L, before, stages.k + 1)
    found = hand_back(
        with_low_rank(table, L, mean),
        row_space(L),
        mean=mean,
        history=run.history,
        converged=stages.converged,
        parameters={"beta": beta, "decay": decay},
    )
    return split(found, table, L, np.where(bad, rest, 0.0))
