"""MacroPCA: ROBPCA of a table in which cells that deviate or are missing are filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from torpca._core.problem import check_center, check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._sources.base import Floats, Mask
from torpca.rivals._concentration import ROUNDING
from torpca.rivals._ddc import CellOutliers, check_enough_rows, deviating_cells
from torpca.rivals._door import Progress, hand_back
from torpca.rivals._gaps import open_with_gaps
from torpca.rivals._principal import principal, residual_squares, smallest
from torpca.rivals._robpca import (
    check_alpha,
    directions,
    distance_limit,
    location_inside,
    outlyingness,
)
from torpca.rivals._span import row_lengths

# Rows are at most this outlying, so that those that are bad come after all others.
FARTHEST = 1e300
# Mean (d,) and directions (d, k) of rows (m, d).
Fit = Callable[[Floats], tuple[Floats, Floats]]


def macropca(
    X: Any,
    rank: int,
    *,
    alpha: float = 0.5,
    n_directions: int = 250,
    center: bool = True,
    max_iter: int = 100,
    tol: float = 0.005,
    random_state: Any = 0,
) -> RobustSubspace:
    """Principal subspace of the good rows of a table with missing cells, bad cells and bad rows.

    `ddc` finds cells and rows that deviate. Among the other rows, the h least outlying ones are
    found as in `robpca`, with missing cells filled in, and also bad cells in rows that have few. A
    subspace is fitted to these rows, with missing and bad cells predicted by the previous subspace,

        x_ij = (mean + V V'(x_i - mean))_j   for bad or missing j,

    until it settles. Then the rows near it that do not deviate give the final subspace, and the
    minimum covariance determinant gives the mean inside it.

    Cost: the cost of `ddc`, O(n d^2) and more, O(n_directions n (d + log n)), and an SVD of
    O(n d min(n, d)) in each iteration. Prefer it if most rows have bad or missing cells, and some
    rows are bad as a whole.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row. NaN is a missing cell. Every row and every column needs an observed
        cell, and there must be at least 10 rows.
    rank : int
        Dimension of the subspace.
    alpha : float in [1/2, 1]
        Share of the rows that are surely good except for single cells:
        h = max(alpha n, (n + rank + 1) / 2).
    n_directions : int
        Number of pairs of rows to draw; all pairs if there are fewer.
    center : bool
        Whether to estimate a location. Otherwise the subspace goes through zero; `ddc` measures
        cells from the location of their column in any case.
    max_iter : int
        Largest number of times that cells are filled in.
    tol : float
        The iterations end when the sine of the largest angle between successive subspaces is at
        most this.
    random_state : int, Generator or None
        Seed of the pairs.

    Returns
    -------
    RobustSubspace
        `support` are the regular rows: within the cut-offs on both distances, from the subspace
        and inside it, and not flagged by `ddc`. Singular values are those of these rows with cells
        filled in. The objective in `history` is the sum of squared residuals of the rows
        the subspace was fitted to.

    See Also
    --------
    ddc : the cells themselves.
    robpca : the same for tables without bad cells.
    robust_matrix_completion : for tables of low rank without noise.

    Notes
    -----
    Departures from the paper. The paper first divides columns by robust scales. Here, as in all
    rivals, they are left as they are; divide by `ddc(X).scale` to do the same. Cut-offs and the
    mean inside the subspace are those of `robpca`, so 97.5 % of good rows are within each cut-off
    and the minimum covariance determinant starts from the least outlying rows. The paper has 99 %
    and the deterministic MCD. This affects the subspace only through the rows near it. Up to 100
    iterations are allowed, with a warning if they are not enough, instead of 20 without a warning.
    Cells are not flagged again from their distances to the subspace, and no rank is chosen. See
    also the Notes of `ddc` and `robpca`.

    Rows beyond the h least outlying ones are measured with their bad cells, as in the paper, so
    many of them are not in `support` because of a single cell.

    References
    ----------
    Hubert, Rousseeuw, Van den Bossche: MacroPCA: An all-in-one PCA method allowing for missing
    values as well as cellwise and rowwise outliers, Technometrics 61 (2019), section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import macropca
    >>> X, V, bad, mu = make_outlier_subspace(
    ...     500, 20, 2, 0.1, outliers="line", noise=0.01, random_state=0
    ... )
    >>> rng = np.random.default_rng(0)
    >>> X[rng.random(X.shape) < 0.05] = 5.0
    >>> X[rng.random(X.shape) < 0.05] = np.nan
    >>> found = macropca(X, 2)
    >>> subspace_error(found.components.T, V) < 0.05
    True
    >>> bool((bad & found.support).any())
    False
    """
    max_iter, tol = check_count("max_iter", max_iter), check_real("tol", tol, 0.0)
    alpha, n_directions = check_alpha(alpha), check_count("n_directions", n_directions)
    center = check_center(center)
    rng = np.random.default_rng(random_state)
    table, seen = open_with_gaps(X, rank)
    n = len(table.X)
    check_enough_rows(n)
    h = min(n, max(int(alpha * n), (n + table.rank + 1) // 2))
    cells = deviating_cells(np.where(seen, table.X, np.nan))
    origin = cells.location if center else np.zeros(len(cells.location))
    full, given = cells.imputed - origin, np.where(seen, table.X, cells.imputed) - origin
    bad = rows_that_deviate(cells, h)

    mixed = np.where(rows_with_few(cells.cells, bad, h)[:, None], full, given)
    lengths = row_lengths(mixed)
    slack = ROUNDING * (lengths + np.median(lengths))
    D = directions(mixed, n_directions, center, rng)
    out = outlyingness(mixed, D, h, slack, center)
    start = smallest(np.where(bad, np.inf, np.minimum(out, FARTHEST)), h)
    run, fit = Progress(table), partial(principal, rank=table.rank, center=center)
    full, settled = filled_in(full, cells.cells | ~seen, start, fit, run, max_iter, tol)

    given = np.where(seen, given, full)
    mean, V = fit(full[start])
    away = np.sqrt(residual_squares(np.where(start[:, None], full, given), mean, V))
    near = (away <= distance_limit(away, h) + slack) & ~bad
    mean, V = fit(full[near])
    run.note(V, float(np.sum(residual_squares(full[near], mean, V))), near)
    first = start & near if np.any(start & near) else near
    middle, regular = location_inside((full - mean) @ V, near, first, slack, center)
    return hand_back(
        replace(table, X=full + origin),
        V,
        mean=origin + mean + V @ middle if center else None,
        keep=regular,
        history=run.history,
        converged=settled,
        parameters={"alpha": alpha, "h": h, "n_directions": n_directions},
    )


def rows_that_deviate(cells: CellOutliers, h: int) -> Mask:
    """Mask (n,) of rows flagged as a whole, the most outlying n - h of them at most."""
    farthest = ~smallest(cells.row_scores, h)
    return cells.rows & farthest


def rows_with_few(cells: Mask, bad: Mask, h: int) -> Mask:
    """Mask (n,) of the h rows that have the fewest `cells` (n, d), and of those with as few.

    Rows that are `bad` (n,) have all.
    """
    count = np.where(bad, cells.shape[1], np.count_nonzero(cells, axis=1))
    return count <= np.partition(count, h - 1)[h - 1]


def filled_in(
    full: Floats, fill: Mask, rows: Mask, fit: Fit, run: Progress, max_iter: int, tol: float
) -> tuple[Floats, bool]:
    """The table `full` (n, d) with cells `fill` (n, d) on the principal subspace of `rows` (n,).

    Filled in and fitted in turn; also whether the subspace settled.
    """
    settled = False
    while not settled and len(run.history) < max_iter:
        mean, V = fit(full[rows])
        objective = float(np.sum(residual_squares(full[rows], mean, V)))
        settled = run.note(V, objective, rows) <= tol or not fill.any()
        full = np.where(fill, mean + ((full - mean) @ V) @ V.T, full)
    return full, settled
