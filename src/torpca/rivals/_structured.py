"""Sparse and non-negative PCA, made robust as HR-PCA makes PCA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torpca._core.problem import check_count
from torpca._core.result import RobustSubspace
from torpca._core.subspace import EPS64
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, check_share, checked_table, hand_back
from torpca.rivals._hr_pca import Removal, Solver, check_step, in_own_span, remove_rows
from torpca.rivals._location import about_median
from torpca.rivals._span import leading

# Power iterations of a start, which need not be sharp; the most for a direction, and the growth of
# its variance at which they end.
START_STEPS, MAX_STEPS, SETTLED = 30, 300, 1e-12
# Share of the dense directions' variance that as few entries as possible must keep.
ENOUGH = 0.95

Rule = Callable[[Floats], Floats]
"""From a vector (d,) to one of the kind looked for, with the largest product with it."""


def sparse_hr_pca(
    X: Any,
    rank: int,
    *,
    n_nonzero: int | None = None,
    fraction: float = 0.25,
    step: float = 0.01,
    center: bool = False,
    max_iter: int | None = None,
    random_state: int = 0,
) -> RobustSubspace:
    """Sparse directions of the good rows: HR-PCA around sparse PCA.

    This is the loop of `hr_pca` with sparse directions instead of principal ones. Each direction is
    a local maximum of

        v'Gv  over  ||v|| = 1, at most n_nonzero entries of v not zero

    where G is the Gram matrix of the remaining rows, found by power iterations that keep the
    n_nonzero largest entries. After each direction, G becomes (I - vv')G(I - vv').

    The bound of `hr_pca` holds with the variance along the best sparse directions instead of the
    largest possible variance, times the share of it that the iterations reach on these rows.

    Cost: O(t (n d rank + rank d^2 p)) with t of the order of 1/step and p power iterations, tens
    of them; memory d^2. Prefer it if you want to interpret directions, or if n is too small
    compared with d for dense ones.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Number of directions.
    n_nonzero : int, optional
        Number of nonzero entries of a direction. By default the smallest number with which the
        directions keep 95 % of the variance that the rows left by `hr_pca` have along their
        principal directions.
    fraction : float in [0, 1/2)
        Share of the rows that may be bad. With 0 this is ordinary sparse PCA.
    step : float in [0, 1)
        Share of the variance along the directions that leaves before they are computed again. 0
        removes one row at a time.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int, optional
        Largest number of iterations. By default as many as the theorem of `hr_pca` requires.
    random_state : int
        Seed of the draws.

    Returns
    -------
    RobustSubspace
        `components` have length one but are in general not orthogonal. `singular_values` are the
        lengths of the kept rows' coordinates ||Xv||, largest first. `support` are the rows that
        were left at this iterate.

    References
    ----------
    Yang, Xu: A Unified Framework for Outlier-Robust PCA-like Algorithms, ICML (2015).
    Yuan, Zhang: Truncated Power Method for Sparse Eigenvalue Problems, Journal of Machine Learning
    Research 14 (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from torpca.rivals import sparse_hr_pca
    >>> rng = np.random.default_rng(0)
    >>> X = 0.1 * rng.standard_normal((300, 10))
    >>> X[:, :3] += rng.standard_normal((300, 1))
    >>> X[:60, 5:] += 20.0
    >>> np.flatnonzero(sparse_hr_pca(X, 1, n_nonzero=3).components[0])
    array([0, 1, 2])
    """
    table = checked_table(X, rank)
    fraction = check_share("fraction", fraction)
    step = check_step(step)
    limit = None if max_iter is None else check_count("max_iter", max_iter)
    count = None if n_nonzero is None else check_count("n_nonzero", n_nonzero)
    C, mean = about_median(table.X, center)
    run = Progress(table)

    def remove(rows: Floats, solve: Solver, run: Progress) -> Removal:
        return remove_rows(rows, solve, fraction, step, limit, random_state, run)

    if count is None:
        dense = remove(in_own_span(C), lambda G: leading(G, table.rank), Progress(table))
        count = entries_needed(C[dense.keep], table.rank)
    best = remove(C, lambda G: directions(G, table.rank, largest_entries(count)), run)
    return hand_back(
        table,
        best.V,
        mean=mean,
        keep=best.keep,
        history=run.history,
        converged=best.complete,
        parameters={"fraction": fraction, "step": step, "n_nonzero": count},
        turn=False,
    )


def nonnegative_hr_pca(
    X: Any,
    rank: int,
    *,
    fraction: float = 0.25,
    step: float = 0.01,
    center: bool = False,
    max_iter: int | None = None,
    random_state: int = 0,
) -> RobustSubspace:
    """Non-negative directions of the good rows: HR-PCA around non-negative PCA.

    This is the loop of `hr_pca` with directions that have no negative entries. Each direction is a
    local maximum of

        v'Gv  over  ||v|| = 1, v >= 0

    where G is the Gram matrix of the remaining rows, found by power iterations that set negative
    entries to zero. After each direction, G becomes (I - vv')G(I - vv').

    The bound of `hr_pca` holds with the variance along the best non-negative directions instead of
    the largest possible variance, times the share of it that the iterations reach on these rows.

    Cost: O(t (n d rank + rank d^2 p)) with t of the order of 1/step and p power iterations, tens
    of them; memory d^2. Prefer it if rows are mixtures in which nothing is subtracted, such as
    spectra.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Number of directions.
    fraction : float in [0, 1/2)
        Share of the rows that may be bad. With 0 this is ordinary non-negative PCA.
    step : float in [0, 1)
        Share of the variance along the directions that leaves before they are computed again. 0
        removes one row at a time.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int, optional
        Largest number of iterations. By default as many as the theorem of `hr_pca` requires.
    random_state : int
        Seed of the draws.

    Returns
    -------
    RobustSubspace
        `components` have length one and no negative entry, and are in general not orthogonal.
        `singular_values` are the lengths of the kept rows' coordinates ||Xv||, largest first.
        `support` are the rows that were left at this iterate.

    References
    ----------
    Yang, Xu: A Unified Framework for Outlier-Robust PCA-like Algorithms, ICML (2015).
    Montanari, Richard: Non-negative Principal Component Analysis: Message Passing Algorithms and
    Sharp Asymptotics, IEEE Transactions on Information Theory 62 (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from torpca.rivals import nonnegative_hr_pca
    >>> rng = np.random.default_rng(0)
    >>> X = 0.1 * rng.standard_normal((300, 4)) + np.outer(rng.standard_normal(300), [2, 1, 0, 0])
    >>> X[:60] = [0.0, 30.0, -30.0, 0.0]
    >>> nonnegative_hr_pca(X, 1).components.round(1) + 0.0
    array([[0.9, 0.4, 0. , 0. ]])
    """
    table = checked_table(X, rank)
    fraction = check_share("fraction", fraction)
    step = check_step(step)
    limit = None if max_iter is None else check_count("max_iter", max_iter)
    C, mean = about_median(table.X, center)
    run = Progress(table)
    best = remove_rows(
        C,
        lambda G: directions(G, table.rank, positive_part),
        fraction,
        step,
        limit,
        random_state,
        run,
    )
    return hand_back(
        table,
        best.V,
        mean=mean,
        keep=best.keep,
        history=run.history,
        converged=best.complete,
        parameters={"fraction": fraction, "step": step},
        turn=False,
    )


# ---- the two kinds of direction ----------------------------------------------------------------


def largest_entries(count: int) -> Rule:
    """Rule that keeps the `count` entries of largest absolute value and sets others to zero."""

    def rule(u: Floats) -> Floats:
        out = np.zeros_like(u)
        # Of equal ones the first, so that the answer is the same everywhere.
        chosen = np.argsort(-np.abs(u), kind="stable")[:count]
        out[chosen] = u[chosen]
        return out

    return rule


def positive_part(u: Floats) -> Floats:
    """Keep entries above zero and set others to zero."""
    return np.maximum(u, 0.0)


def directions(G: Floats, rank: int, rule: Rule) -> Floats:
    """Directions (d, k) of the kind of the rule with large v'Gv, one after the other."""
    d = len(G)
    total = float(np.trace(G))
    found: list[Floats] = []
    # A unit in which products of products are numbers.
    G = G / total if total > 0 else G
    while len(found) < rank and total > 0:
        v = best_direction(G, rule)
        Gv = G @ v
        if v @ Gv <= d * EPS64:  # the rest is rounding
            break
        found.append(v)
        G = G - np.outer(v, Gv) - np.outer(Gv, v) + (v @ Gv) * np.outer(v, v)
    return np.column_stack(found) if found else np.zeros((d, 0))


def best_direction(G: Floats, rule: Rule) -> Floats:
    """The direction with the largest v'Gv of those that power iterations reach from four starts."""
    column = G[:, np.argmax(np.diagonal(G))]
    dense = climb(G, column, lambda u: u, START_STEPS)
    # Non-negative directions tell a vector from its negative.
    starts = [column, dense, -dense, np.sum(G, axis=1)]
    reached = [climb(G, rule(start), rule, MAX_STEPS) for start in starts]
    return max(reached, key=lambda v: float(v @ G @ v))


def climb(G: Floats, v: Floats, rule: Rule, max_steps: int) -> Floats:
    """Power iterations from v (d,), each made a direction of its kind; zero stays zero.

    v'Gv is convex, so that it never falls when v moves to the best direction for its gradient.
    """
    v = unit(v)
    height = 0.0
    for _ in range(max_steps):
        Gv = G @ v
        before, height = height, float(v @ Gv)
        if height <= before * (1 + SETTLED):
            break
        v = unit(rule(Gv))
    return v


def unit(v: Floats) -> Floats:
    """Vector v in length one, or zero if it is."""
    length = np.linalg.norm(v)
    return v / length if length > 0 else v


def entries_needed(X: Floats, rank: int) -> int:
    """Least number of entries with which sparse directions keep ENOUGH of the dense ones' variance.

    By bisection: more entries keep more, as far as local maxima go.
    """
    G = X.T @ X
    dense = leading(G, rank)
    goal = ENOUGH * np.sum((X @ dense) ** 2)
    low, high = 1, len(G)
    while low < high:
        middle = (low + high) // 2
        # Orthogonal directions, so that no variance counts twice.
        Q = np.linalg.qr(directions(G, rank, largest_entries(middle)))[0]
        if np.sum((X @ Q) ** 2) >= goal:
            high = middle
        else:
            low = middle + 1
    return high
