"""TORP-N and TORP-BIN: Algorithms 2 and 4 of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torpca._core.grid import choose_rho
from torpca._core.inner import Thresholds, inner_loop
from torpca._core.loop import Callback, Iteration, Run
from torpca._core.problem import Problem, check_count, check_mu, check_real, check_rho, open_problem
from torpca._core.result import RobustSubspace
from torpca._core.theorems import theorem_eta, theorem_iterations, theorem_rho
from torpca._core.threshold import fraction_count
from torpca._core.torp import finish

Attempt = Callable[[int], Run]


@dataclass(frozen=True)
class Search:
    """Largest rank that passed (0: none did), its run, and the ranks tried on the way."""

    rank: int
    run: Run
    tried: tuple[int, ...]


def linear_search(attempt: Attempt, rank: int) -> Search:
    """Outer loop of Algorithm 2: k = 1, 2, ... up to the first that fails."""
    best, run = 0, None
    for k in range(1, rank + 1):
        now = attempt(k)
        run = run or now
        if now.halted:
            return Search(best, run, tuple(range(1, k + 1)))
        best, run = k, now
    assert run is not None
    return Search(best, run, tuple(range(1, rank + 1)))


def binary_search(attempt: Attempt, rank: int) -> Search:
    """Outer loop of Algorithm 4: bisection on k, at most floor(log2 rank) + 1 runs."""
    low, high = 1, rank
    best, run, tried = 0, None, []
    while low <= high:
        k = (low + high) // 2
        tried.append(k)
        now = attempt(k)
        run = run or now
        if now.halted:
            high = k - 1
        else:
            low = k + 1
            best, run = k, now
    assert run is not None
    return Search(best, run, tuple(tried))


def torp_n(
    X: Any,
    rank: int,
    *,
    rho: float | None = None,
    eta: float | None = None,
    mu: float | None = None,
    tol: float = 1e-12,
    max_iter: int | None = None,
    center: bool = False,
    callback: Callback | None = None,
) -> RobustSubspace:
    """Principal subspace of noisy good rows, with its rank: Algorithm 2 (TORP-N).

    For k = 1, 2, ... the inner loop drops the fraction 2 `rho` of the rows with the largest
    incoherence and the fraction `rho` with the largest residual. It stops at the first k for which,
    in some iteration, at least 2 `rho` n rows have an incoherence of `eta` or more, because the
    noise then hides the k-th direction. The subspace of the last k that passed is returned.
    With at most n/(128 mu^2 r) bad rows and the theorem's parameters,
    ||L(I - VV')||_F <= 60 sqrt(r) ||N||_F + tol ||X||_2 (Theorem 2) for good rows L + N, and
    <= 3 ||L(I - V_k V_k')||_F + 9 ||N||_F + tol ||X||_2 / (10 n) for any k with
    ||N||_F <= sigma_k / 16 (Theorem 4).

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row. It is never copied or changed.
    rank : int
        Largest rank to try, r in the paper.
    rho : float in (0, 1/2), optional
        Fraction of the rows to drop by residual; twice as many are dropped by incoherence. By
        default 1/(128 mu^2 rank) if `mu` is given (Theorem 2), otherwise the best of a geometric
        grid.
    eta : float, optional
        Incoherence that counts as too large. By default 2 mu sqrt(rank/n) (Theorem 2).
    mu : float, at least 1, optional
        Incoherence of the good rows. If `eta` needs it, the default is the incoherence of the rows
        that TORP keeps at the same rho.
    tol, max_iter, center, callback
        As in `torp`. The theorem's T is log2(20 n / tol) here, for each rank.

    Returns
    -------
    RobustSubspace
        It has `ranks_tried`. If not even k = 1 passes, `components` has no rows.

    See Also
    --------
    torp_bin : the same with a binary search for the rank.

    References
    ----------
    Cherapanamjeri, Jain, Netrapalli: Thresholding based Efficient Outlier Robust PCA,
    arXiv:1702.05571 (COLT 2017, PMLR 65:593-628), Algorithm 2, Theorems 2 and 4.

    Examples
    --------
    >>> from torpca import torp_n
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, V, bad, mu = make_outlier_subspace(
    ...     500, 20, 2, 0.01, outliers="line", noise=1e-3, random_state=0
    ... )
    >>> torp_n(X, 2).components.shape
    (2, 20)
    """
    return _search(X, rank, linear_search, rho, eta, mu, tol, max_iter, center, callback)


def torp_bin(
    X: Any,
    rank: int,
    *,
    rho: float | None = None,
    eta: float | None = None,
    mu: float | None = None,
    tol: float = 1e-12,
    max_iter: int | None = None,
    center: bool = False,
    callback: Callback | None = None,
) -> RobustSubspace:
    """Principal subspace of noisy good rows, rank found by bisection: Algorithm 4 (TORP-BIN).

    The inner loop, parameters, guarantee and result are those of `torp_n`. It tries at most
    floor(log2 rank) + 1 ranks instead of `rank`.

    Parameters
    ----------
    X, rank, rho, eta, mu, tol, max_iter, center, callback
        As in `torp_n`.

    Returns
    -------
    RobustSubspace

    References
    ----------
    Cherapanamjeri, Jain, Netrapalli: Thresholding based Efficient Outlier Robust PCA,
    arXiv:1702.05571 (COLT 2017, PMLR 65:593-628), Algorithm 4 and Theorem 7 (Appendix D).

    Examples
    --------
    >>> from torpca import torp_bin
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 4, 0.01, noise=1e-3, random_state=0)
    >>> torp_bin(X, 4).ranks_tried
    (2, 3, 4)
    """
    return _search(X, rank, binary_search, rho, eta, mu, tol, max_iter, center, callback)


def _search(
    X: Any,
    rank: int,
    search: Callable[[Attempt, int], Search],
    rho: float | None,
    eta: float | None,
    mu: float | None,
    tol: float,
    max_iter: int | None,
    center: bool,
    callback: Callback | None,
) -> RobustSubspace:
    problem = open_problem(X, rank, center, callback)
    tol = check_real("tol", tol, 0.0)
    limit = theorem_iterations(problem.n, tol, factor=20.0)
    limit = limit if max_iter is None else check_count("max_iter", max_iter)
    rho, eta, grid = _parameters(problem, rho, eta, mu, tol, max_iter)
    cut = Thresholds(
        n_residual=fraction_count(rho, problem.n),
        n_incoherence=fraction_count(2 * rho, problem.n),
        eta=eta,
        max_influential=fraction_count(2 * rho, problem.n),
    )
    histories: list[Iteration] = []

    def attempt(k: int) -> Run:
        run = inner_loop(problem, k, cut, max_iter=limit, tol=tol, callback=callback)
        histories.extend(run.history)
        return run

    found = search(attempt, problem.rank)
    run = Run(found.run.keep, tuple(histories), found.run.converged, found.rank == 0)
    return finish(
        problem, run, found.rank, {"rho": rho, "eta": eta}, ranks_tried=found.tried, grid=grid
    )


def _parameters(
    problem: Problem,
    rho: float | None,
    eta: float | None,
    mu: float | None,
    tol: float,
    max_iter: int | None,
) -> tuple[float, float, Any]:
    """rho and eta as given, else from mu as the theorem has them, else from the data."""
    n, r = problem.n, problem.rank
    if rho is not None:
        rho = check_rho(rho, n, r, criteria=3)
    if mu is not None:
        mu = check_mu(mu, n)
        rho = rho or check_rho(theorem_rho(mu, r), n, r, criteria=3)
    grid = None
    if rho is None or (mu is None and eta is None):
        choice = choose_rho(problem, tol, max_iter, rho, criteria=3)
        grid = choice.evidence if rho is None else None
        rho, mu = choice.rho, choice.mu if mu is None else mu
    if eta is None:
        assert mu is not None
        eta = theorem_eta(mu, r, n)
    return rho, check_real("eta", eta, 0.0), grid
