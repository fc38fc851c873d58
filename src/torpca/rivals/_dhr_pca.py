"""DHR-PCA: rows that stick out along the principal directions lose weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count
from torpca._core.result import RobustSubspace
from torpca._core.threshold import fraction_count, least_of_largest
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Progress, check_share, checked_table, hand_back
from torpca.rivals._hr_pca import check_step, in_own_span, robust_variance, share_to_remove
from torpca.rivals._location import about_median
from torpca.rivals._principal import principal
from torpca.rivals._span import leading


def dhr_pca(
    X: Any,
    rank: int,
    *,
    fraction: float = 0.25,
    step: float = 0.001,
    center: bool = False,
    max_iter: int = 1000,
) -> RobustSubspace:
    """Principal subspace of weighted rows; rows that carry its variance lose weight.

    Repeat: take the principal directions w_j of sum_i a_i x_i x_i', and lower every weight a_i,
    one at first, by the factor 1 - v_i/max v with v_i = sum_j (w_j'x_i)^2. The result is the
    iterate with the largest robust variance, sum_j of the (1 - fraction) n smallest
    (w_j'x)^2 among all rows, as in `hr_pca`.

    If bad rows carry more than k times as much of the variance along the directions as good rows,
    they also lose more than k times as much weight. So what holds on average for `hr_pca` is
    certain here: the same theorem, with the same bound, which is positive for any share of bad rows
    below one half.

    The paper's maximum is over the rows that still have weight, so if few rows are far out, they
    leave one at a time. Here rows beyond the maximum may together carry the share `step` of the
    variance and leave at once. Bad rows lose less weight by at most that much; see `hr_pca`.

    Cost: O(t (n d^2 + d^3)) with t iterations, some tens for any n. Prefer it to `hr_pca` if the
    result must not depend on chance or on the order of the rows.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    fraction : float in [0, 1/2)
        Share of the rows that may be bad. With 0 this is ordinary PCA.
    step : float in [0, 1)
        Share of the variance along the directions that may leave at once. 0 is as in the paper.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int
        Largest number of iterations.

    Returns
    -------
    RobustSubspace
        `support` are the (1 - fraction) n rows with the largest weights at the iterate returned,
        and all with the same weight. The objective in `history` is minus the robust variance.

    References
    ----------
    Feng, Xu, Yan: Robust PCA in High-dimension: A Deterministic Approach, ICML (2012).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import dhr_pca
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.2, outliers="line", random_state=0)
    >>> subspace_error(dhr_pca(X, 2).components.T, V) < 1e-3
    True
    """
    table = checked_table(X, rank)
    fraction = check_share("fraction", fraction)
    step = check_step(step)
    max_iter = check_count("max_iter", max_iter)
    C, mean = about_median(table.X, center)
    n, rows, run = len(C), in_own_span(C), Progress(table)
    n_bad = fraction_count(fraction, n)
    # The weight left when bad rows have lost theirs, or the theorem's iterate has been there.
    least = n * (1 - share_to_remove(fraction, step))
    weights = np.ones(n)
    best, most, complete = weights, -1.0, False
    while not complete and len(run.history) < max_iter:
        V = leading((rows.T * weights) @ rows, table.rank)
        squares = (V.T @ rows.T) ** 2
        variance = robust_variance(squares, n - n_bad)
        run.note(V, -variance, heaviest(weights, n - n_bad))
        if variance > most:
            best, most = weights, variance
        lower = lowered(weights, squares.sum(axis=0), step)
        complete = bool(weights.sum() <= least) or np.array_equal(lower, weights)
        weights = lower
    # From the rows themselves: a Gram matrix has half the digits.
    V = principal(np.sqrt(best)[:, None] * C, table.rank, False)[1]
    return hand_back(
        table,
        V,
        mean=mean,
        keep=heaviest(best, max(n - n_bad, V.shape[1])),
        history=run.history,
        converged=complete,
        parameters={"fraction": fraction, "step": step},
    )


def lowered(weights: Floats, spread: Floats, step: float) -> Floats:
    """Weights (n,) less what they lose to the `spread` (n,) of their rows along the directions."""
    order = np.argsort(-spread, kind="stable")
    carried = np.cumsum((weights * spread)[order])
    if carried[-1] == 0.0:
        return weights
    # The first row from the far end with which more than `step` is carried loses all it has, and
    # rows beyond it too.
    limit = spread[order[np.argmax(carried > step * carried[-1])]]
    lower: Floats = weights * np.maximum(1.0 - spread / limit, 0.0)
    return lower


def heaviest(weights: Floats, count: int) -> Mask:
    """Mask of the `count` largest weights (n,), and of those that equal the least of them."""
    mask: Mask = (weights > 0) & (weights >= least_of_largest(weights, max(count, 1)))
    return mask
