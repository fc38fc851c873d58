"""HR-PCA: rows that stick out along the principal directions are removed by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._core.threshold import fraction_count
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Progress, check_share, checked_table, hand_back
from torpca.rivals._location import about_median
from torpca.rivals._principal import principal
from torpca.rivals._span import leading

# The Gram matrix is formed anew when this share of its trace is left: what leaves it takes its
# rounding along, but that of a row a million times longer than the others stays behind.
STALE = 0.1

Solver = Callable[[Floats], Floats]
"""Directions (d, k), each of length one, of rows whose Gram matrix is (d, d)."""


def hr_pca(
    X: Any,
    rank: int,
    *,
    fraction: float = 0.25,
    step: float = 0.01,
    center: bool = False,
    max_iter: int | None = None,
    random_state: int = 0,
) -> RobustSubspace:
    """Principal subspace by random removal of rows that carry much of its variance.

    Repeat: take the principal directions w_j of the remaining rows, and remove rows with
    probabilities proportional to sum_j (w_j'x)^2. As long as bad rows carry most of the variance
    along the directions, mostly bad rows leave. The result is the iterate with the largest robust
    variance, sum_j of the (1 - fraction) n smallest (w_j'x)^2 among all rows.

    Theorem: let there be many rows x = Az + noise with Gaussian z and little noise, and let a share
    f < 1/2 be replaced by anything. Then the result has at least the following share of the largest
    possible variance of Az:

        max_q V(1 - q/(1 - f)) (1 - f/q) V(1 - f/(1 - f)),  f < q < 1 - f

    where V(a) is the part of a Gaussian's variance that comes from its middle share a, and q is the
    share of rows removed until bad rows are gone or no longer matter. It is positive, so one half
    is the breakdown point. The theorem does not say that the subspace itself is found.

    The paper removes one row for each eigendecomposition. Here rows are drawn one after the other
    until they have taken the share `step` of the variance along the directions. At each draw, bad
    rows have at most that much less of the variance, so the guarantee holds with f/q - step instead
    of f/q for the share of bad rows among those removed.

    Cost: O(t (n d rank + d^3)) with t of the order of 1/step, or t = q n without steps. Prefer it
    if all you know about the bad rows is that they are fewer than half.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    fraction : float in [0, 1/2)
        Share of the rows that may be bad. With 0 this is ordinary PCA.
    step : float in [0, 1)
        Share of the variance along the directions that leaves before they are computed again. 0
        removes one row at a time, as in the paper.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int, optional
        Largest number of iterations. By default until the share q of the theorem has been removed.
    random_state : int
        Seed of the draws.

    Returns
    -------
    RobustSubspace
        `support` are the rows that were left at this iterate. The objective in `history`
        is minus the robust variance.

    References
    ----------
    Xu, Caramanis, Mannor: Outlier-Robust PCA: The High-Dimensional Case, IEEE Transactions on
    Information Theory 59 (2013).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import hr_pca
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.2, outliers="line", random_state=0)
    >>> subspace_error(hr_pca(X, 2).components.T, V) < 1e-8
    True
    """
    table = checked_table(X, rank)
    fraction = check_share("fraction", fraction)
    step = check_step(step)
    limit = None if max_iter is None else check_count("max_iter", max_iter)
    C, mean = about_median(table.X, center)
    rows = in_own_span(C)
    run = Progress(table)
    best = remove_rows(
        rows, lambda G: leading(G, table.rank), fraction, step, limit, random_state, run
    )
    # From the rows themselves: a Gram matrix has half the digits.
    V = principal(C[best.keep], table.rank, False)[1]
    return hand_back(
        table,
        V,
        mean=mean,
        keep=best.keep,
        history=run.history,
        converged=best.complete,
        parameters={"fraction": fraction, "step": step},
    )


def check_step(value: Any) -> float:
    """Check that `value` is a share of variance: at least 0, less than 1."""
    step = check_real("step", value, 0.0)
    if step >= 1.0:
        raise ValueError(
            f"step={step:g} must be at least 0 and less than 1: it is a share of the variance "
            "along the directions. Leave step out for its default."
        )
    return step


@dataclass(frozen=True)
class Removal:
    """The best iterate of a run of removals."""

    keep: Mask
    """Rows that were left."""
    V: Floats
    """Directions (d, k) of these rows."""
    complete: bool
    """Whether rows were removed for as long as it may help."""


def remove_rows(
    X: Floats,
    solve: Solver,
    fraction: float,
    step: float,
    max_iter: int | None,
    random_state: int,
    run: Progress,
) -> Removal:
    """Remove rows of X (n, d) at random; return the iterate with the largest robust variance."""
    n = len(X)
    rng = np.random.default_rng(random_state)
    n_bad = fraction_count(fraction, n)
    n_last = n - fraction_count(share_to_remove(fraction, step), n)
    keep = np.ones(n, dtype=bool)
    gram = KeptGram(X)
    best, most, complete = Removal(keep.copy(), np.zeros((X.shape[1], 0)), False), -1.0, False
    while not complete and (max_iter is None or len(run.history) < max_iter):
        V = solve(gram.G)
        squares = (V.T @ X.T) ** 2
        variance = robust_variance(squares, n - n_bad)
        # Sparse directions are not orthogonal.
        run.note(np.linalg.qr(V)[0], -variance, keep)
        if variance > most:
            best, most = Removal(keep.copy(), V, False), variance
        share = np.where(keep, squares.sum(axis=0), 0.0)
        out = draw(share, step, rng)[: max(np.count_nonzero(keep) - n_last, 0)]
        complete = len(out) == 0
        keep[out] = False
        gram.drop(out, keep)
    return Removal(best.keep, best.V, complete)


def share_to_remove(f: float, step: float) -> float:
    """Share of the rows to remove when a share f is bad: the q at which the theorem is best.

    Of the rows removed until then a share f/q is bad, or f/q - step with long steps.
    """
    if f == 0.0:
        return 0.0
    best = minimize_scalar(lambda q: -expressed(q, f), bounds=(f, 1 - f), method="bounded")
    share = f / float(best.x) - step
    return 1 - f if share * (1 - f) <= f else f / share


def expressed(q: float, f: float) -> float:
    """Share of the good rows' variance along the answer, by the theorem.

    f is the share of bad rows, q that of the rows removed.
    """
    return middle_variance(1 - q / (1 - f)) * (1 - f / q) * middle_variance(1 - f / (1 - f))


def middle_variance(a: float) -> float:
    """Part of a Gaussian's variance that comes from its middle share a."""
    if not 0.0 < a < 1.0:
        return float(a >= 1.0)
    c = float(ndtri((1 + a) / 2))
    return a - c * float(np.sqrt(2 / np.pi) * np.exp(-c * c / 2))


def robust_variance(squares: Floats, n_good: int) -> float:
    """Sum over directions of the mean of the `n_good` smallest of their `squares` (k, n)."""
    if squares.size == 0:
        return 0.0
    smallest = np.partition(squares, n_good - 1, axis=1)[:, :n_good]
    return float(np.sum(smallest) / squares.shape[1])


def draw(share: Floats, step: float, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Numbers of rows drawn one after the other with probabilities proportional to `share` (n,).

    The last is the one with which they have taken more than `step` of the total.
    """
    # The order of log(share) + Gumbel noise is that of such draws.
    noise = rng.gumbel(size=len(share))
    there = np.flatnonzero(share > 0)
    order = there[np.argsort(-(np.log(share[there]) + noise[there]), kind="stable")]
    taken = np.append(0.0, np.cumsum(share[order]))
    return np.asarray(order[taken[:-1] <= step * taken[-1]], dtype=np.intp)


class KeptGram:
    """Gram matrix G (d, d) of the rows of X (n, d) that are left."""

    def __init__(self, X: Floats) -> None:
        self.X = X
        self._form(X)

    def drop(self, rows: npt.NDArray[np.intp], keep: Mask) -> None:
        """Take some `rows` out; `keep` are those left."""
        out = self.X[rows]
        self.G -= out.T @ out
        if np.trace(self.G) < STALE * self.trace:
            self._form(self.X[keep])

    def _form(self, rows: Floats) -> None:
        self.G = rows.T @ rows
        self.trace = float(np.trace(self.G))


def in_own_span(X: Floats) -> Floats:
    """Rows with the inner products of those of X (n, d), in min(n, d) dimensions."""
    n, d = X.shape
    # X' = QR: the columns of R are the rows, turned. Householder's R is as exact for a short
    # row as for a long one.
    return X if n >= d else np.ascontiguousarray(np.linalg.qr(X.T)[1].T)
