"""Outlier Pursuit, with missing entries and noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Progress, check_share, checked_table, hand_back
from torpca.rivals._gaps import leaving, observed, open_with_gaps
from torpca.rivals._location import about_column_medians, about_median
from torpca.rivals._nuclear import check_weight
from torpca.rivals._row_sparse import Rows, cut_rows, outlier_part, pursue
from torpca.rivals._row_weight import choose_weight, theorem_weight
from torpca.rivals._span import number_of_directions, row_lengths
from torpca.rivals._split import Split, split

# A row is near the subspace up to this share of its length, or this many times the distance of
# the row in the middle.
EXACT, NOISY = 1e-6, 3.0


def outlier_pursuit(
    X: Any,
    rank: int,
    *,
    lam: float | None = None,
    fraction: float | None = None,
    noise: float = 0.0,
    missing: bool = False,
    center: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-9,
    random_state: int = 0,
) -> Split:
    """Low-rank part of the rows by convex optimisation: Outlier Pursuit.

    Minimises ||L||_* + lam sum_i ||c_i|| over X = L + C, or over ||X - L - C||_F <= eps with noise,
    where c_i are the rows of C. With missing entries both conditions apply to the observed entries.
    Without noise, L has the directions of the good rows and C is zero on these rows if the share of
    bad rows is at most 9/(9 + 121 mu r), whatever they are (mu is the incoherence of the good rows,
    r their rank). If bad rows do not agree in a direction, this often holds for more of them.

    Cost: O(n d min(n, d)) in each iteration and about 15 arrays of the size of X; usually 30 to 150
    iterations for each lam tried. Prefer it if bad rows are few and may lie anywhere, if entries
    are missing, or if you need the repaired rows themselves.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Number of directions to return. The optimisation problem does not depend on it.
    lam : float, optional
        Weight of the outlier part: L is zero for lam <= 1/sqrt(n), has fewer than `rank` directions
        for lam < sqrt(rank/n), and is X for lam >= 1. By default the theorem's
        value if `fraction` is given, otherwise the best of a geometric grid; see
        `RobustSubspace.grid`. A smaller lam shortens long good rows more in L; their directions
        stay.
    fraction : float in [0, 1/2), optional
        Share of bad rows: lam = 3/(7 sqrt(fraction n)). Shares above 9/(9 + 121 rank), the most
        that the theorem covers at any incoherence, count as that share, because a smaller lam would
        lose directions of L.
    noise : float
        Standard deviation of the noise in an entry; eps is `noise` times the root of the number of
        entries. Zero means X = L + C. Noise is then part of C, which affects the directions little.
    missing : bool
        Whether NaN means missing. Every row and feature then needs an observed entry. Otherwise NaN
        is an error.
    center : bool
        Whether to measure rows from their spatial median or, if entries are missing, from the
        medians of the features, instead of from zero.
    max_iter : int
        Largest number of iterations for the final lam.
    tol : float
        Accuracy of the two parts, as a share of the median size of a row.
    random_state : int
        Seed for drawing the rows on which the grid is tried, if there are more than 4000.

    Returns
    -------
    Split
        `low_rank` is L, `rest` is C, both about `mean`. `support` are the rows that have no
        outlier part or are near the subspace all the same: within 3 times the median distance from
        it, or within 1e-6 of their length.

    References
    ----------
    Xu, Caramanis, Sanghavi: Robust PCA via Outlier Pursuit, IEEE Transactions on Information
    Theory 58 (2012). Chen, Xu, Caramanis, Sanghavi: Matrix completion with column manipulation,
    IEEE Transactions on Information Theory 62 (2016), for missing entries, without its trimming.

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import outlier_pursuit
    >>> X, V, bad, mu = make_outlier_subspace(300, 20, 2, 0.05, outliers="line", random_state=0)
    >>> found = outlier_pursuit(X, 2)
    >>> subspace_error(found.components.T, V) < 1e-6
    True
    >>> bool((found.support == ~bad).all())
    True
    """
    noise = check_real("noise", noise, 0.0)
    max_iter, tol = check_count("max_iter", max_iter), check_real("tol", tol, 0.0)
    if missing:
        table, seen = open_with_gaps(X, rank)
        A, mean = about_column_medians(table.X, center, seen)
    else:
        table, seen = checked_table(X, rank), None
        A, mean = about_median(table.X, center)
    n_seen = A.size if seen is None else np.count_nonzero(seen)
    rows = Rows(A, seen, noise / table.unit * float(np.sqrt(n_seen)))

    grid = None
    if lam is not None:
        lam = check_weight(lam)
    elif fraction is not None:
        lam = theorem_weight(check_share("fraction", fraction), len(A), table.rank)
    else:
        lam, grid = choose_weight(rows, table.rank, np.random.default_rng(random_state))

    run = Progress(table)

    def watch(L: Floats, s: Floats, V: Floats) -> None:
        rest = outlier_part(observed(A - L, seen), rows.noise)
        run.note(V[:, : table.rank], float(np.sum(s) + lam * np.sum(row_lengths(rest))))

    found = pursue(rows, lam, max_iter=max_iter, tol=tol, watch=watch)
    V = found.directions(number_of_directions(A, table.rank))
    left = observed(A - found.L, seen)
    # Good rows differ from L by the accuracy; their multiplier tells that it should be nothing.
    cut = cut_rows(found.Y, lam)
    rest = np.where(cut[:, None], outlier_part(left, rows.noise), 0.0)
    result = hand_back(
        table if seen is None else replace(table, X=filled(table.X, found.L, mean, seen)),
        V,
        mean=mean,
        # An outlier part is no sign of a bad row if it is noise, or a good row made shorter, which
        # is what happens where lam is small: both stay near the subspace.
        keep=~(cut & far_from(V, A, seen)),
        history=run.history,
        converged=found.converged,
        parameters={"lam": lam, "noise": noise},
    )
    return split(replace(result, grid=grid), table, found.L, rest)


def far_from(V: Floats, X: Floats, seen: Mask | None) -> Mask:
    """Rows that leave the subspace V by more than noise and the accuracy can explain, (n,)."""
    away = leaving(X, V, seen)
    far: Mask = away > np.maximum(NOISY * float(np.median(away)), EXACT * row_lengths(X))
    return far


def filled(X: Floats, L: Floats, mean: Floats | None, seen: Mask) -> Floats:
    """X, with the low-rank part where nothing is seen."""
    return np.where(seen, X, L if mean is None else L + mean)
