"""Random subsets of rows, and concentration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torpca._core.problem import check_count
from torpca._core.result import RobustSubspace
from torpca._core.threshold import fraction_count
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Progress, check_share, checked_table, hand_back
from torpca.rivals._location import about_median
from torpca.rivals._principal import principal, residual_squares, smallest

# Subsets that are improved by two quick steps, and those that are concentrated to the end: of all
# that are tried, the ones with the least objective. Bad rows among those drawn may well have less
# of it than good ones with noise, but not after the two steps.
IMPROVED, FINALISTS = 100, 10
# Rows that are searched, if there are more, but at least ten times those that are drawn.
SAMPLE = 2000

Subspace = tuple[Floats, Floats]


def ransac(
    X: Any,
    rank: int,
    *,
    fraction: float = 0.5,
    n_tries: int = 500,
    center: bool = False,
    max_iter: int = 100,
    random_state: Any = 0,
) -> RobustSubspace:
    """Subspace with the least sum of squared residuals of the nearest rows.

    min over V of sum_{i <= h} r_(i)^2, where r_(1) <= r_(2) <= ... are the distances
    ||x_i - VV'x_i|| in order and h = n - ceil(fraction n). Candidates are the subspaces through
    `rank` rows drawn at random (one more with centring). The best hundred are improved slightly,
    and the best ten of these are concentrated: fit to the h nearest rows, find these again, and
    repeat until they stay the same. No such step increases the objective. With more than 2000 rows,
    a sample is searched, and the result is concentrated on all rows.

    Cost: n_tries products of O(n d rank) on the sample, and an SVD of the kept rows per step.
    Prefer it for small ranks, if the share of bad rows is known. A subset has only good rows with
    probability (1 - fraction)^rank, which at rank 20 almost never happens. If more rows than
    `fraction` are bad, the rest of them stay in the fit. If `fraction` is too large, a subspace in
    which a line or cluster of bad rows replaces one good direction may have a smaller objective.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    fraction : float in [0, 1)
        Share of the rows to leave out, the farthest ones. It must be at least the share of bad
        rows.
    n_tries : int
        Number of subsets to draw.
    center : bool
        Whether to estimate a centre. Otherwise the subspace goes through zero.
    max_iter : int
        Largest number of concentration steps.
    random_state : int, Generator or None
        Seed of the subsets.

    Returns
    -------
    RobustSubspace
        `support` are the nearest rows. The objective in `history` is the sum above.

    References
    ----------
    Fischler, Bolles: Random sample consensus, Communications of the ACM 24 (1981).

    Rousseeuw, Van Driessen: A fast algorithm for the minimum covariance determinant estimator,
    Technometrics 41 (1999): concentration.

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import ransac
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.4, outliers="cluster", random_state=0)
    >>> found = ransac(X, 2, fraction=0.4)
    >>> subspace_error(found.components.T, V) < 1e-10
    True
    >>> bool((bad & found.support).any())
    False
    """
    table = checked_table(X, rank)
    fraction = check_share("fraction", fraction, 1.0)
    n_tries, max_iter = check_count("n_tries", n_tries), check_count("max_iter", max_iter)
    rng = np.random.default_rng(random_state)
    C, origin = about_median(table.X, center)
    n, size = len(C), table.rank + bool(center)
    h = min(n, max(n - fraction_count(fraction, n), size))

    m = min(n, max(SAMPLE, 10 * size))
    some = C if m == n else C[rng.choice(n, m, replace=False)]
    best = search(some, -(-h * m // n), table.rank, center, n_tries, max_iter, rng)
    if m < n:
        best = concentrate(C, best[-1].mean, best[-1].V, h, table.rank, center, max_iter)

    run = Progress(table)
    for step in best:
        run.note(step.V, step.objective, step.keep)
    last = best[-1]
    mean = None if origin is None else origin + last.mean
    return hand_back(
        table,
        last.V,
        mean=mean,
        keep=last.keep,
        history=run.history,
        converged=last.settled,
        parameters={"fraction": fraction, "n_tries": n_tries},
    )


@dataclass(frozen=True)
class Step:
    """Subspace V (d, k) through `mean` of the rows `keep`, and the objective it has."""

    mean: Floats
    V: Floats
    keep: Mask
    objective: float
    settled: bool


def search(
    C: Floats,
    h: int,
    rank: int,
    center: bool,
    n_tries: int,
    max_iter: int,
    rng: np.random.Generator,
) -> list[Step]:
    """Concentration, step by step, that ended with the least objective on the rows of C."""
    n, size = len(C), rank + bool(center)
    draws = [rng.choice(n, min(size, n), replace=False) for _ in range(n_tries)]
    tries = best_of([subspace_through(C[rows], center) for rows in draws], C, h, IMPROVED)
    for _ in range(2):
        tries = [improved(C, mean, V, h, center) for mean, V in tries]
    ends = [
        concentrate(C, mean, V, h, rank, center, max_iter)
        for mean, V in best_of(tries, C, h, FINALISTS)
    ]
    return min(ends, key=lambda steps: steps[-1].objective)


def subspace_through(rows: Floats, center: bool) -> Subspace:
    """Point (d,) and orthonormal basis (d, k) of the subspace through `rows`, (k or k + 1, d)."""
    # Of rows that are dependent Q has some other direction too, which does no harm to a start.
    if center:
        return rows[0], np.linalg.qr((rows[1:] - rows[0]).T)[0]
    return np.zeros(rows.shape[1]), np.linalg.qr(rows.T)[0]


def best_of(tries: Sequence[Subspace], C: Floats, h: int, count: int) -> list[Subspace]:
    """Select the `count` subspaces with the least sum of the `h` smallest squared residuals."""
    sums = [np.sum(np.partition(residual_squares(C, *one), h - 1)[:h]) for one in tries]
    return [tries[i] for i in np.argsort(sums, kind="stable")[:count]]


def improved(C: Floats, mean: Floats, V: Floats, h: int, center: bool) -> Subspace:
    """Subspace nearer to the `h` rows of C nearest to V: one power iteration in place of an SVD."""
    near = C[smallest(residual_squares(C, mean, V), h)]
    mean = np.mean(near, axis=0) if center else mean
    B = near - mean
    return mean, np.linalg.qr(B.T @ (B @ V))[0]


def concentrate(
    C: Floats, mean: Floats, V: Floats, h: int, rank: int, center: bool, max_iter: int
) -> list[Step]:
    """Fit to the `h` rows nearest to V, find the nearest anew, until they stay the same."""
    keep, before = smallest(residual_squares(C, mean, V), h), np.inf
    steps: list[Step] = []
    for _ in range(max_iter):
        mean, V = principal(C[keep], rank, center)
        R = residual_squares(C, mean, V)
        now = smallest(R, h)
        objective = float(np.sum(R[now]))
        # Rows exactly in the subspace change places for ever, by rounding: then nothing is gained.
        settled = bool(np.array_equal(now, keep)) or not objective < before
        steps.append(Step(mean, V, keep, objective, settled))
        if settled:
            break
        keep, before = now, objective
    return steps
