"""TORP: Algorithm 1 of the paper."""

from __future__ import annotations

from typing import Any

from torpca._core.grid import choose_rho
from torpca._core.inner import Thresholds, inner_loop
from torpca._core.loop import Callback, Run
from torpca._core.problem import Problem, check_count, check_mu, check_real, check_rho, open_problem
from torpca._core.result import RobustSubspace
from torpca._core.theorems import theorem_iterations, theorem_rho
from torpca._core.threshold import fraction_count


def torp(
    X: Any,
    rank: int,
    *,
    rho: float | None = None,
    mu: float | None = None,
    tol: float = 1e-12,
    max_iter: int | None = None,
    center: bool = False,
    callback: Callback | None = None,
) -> RobustSubspace:
    """Principal subspace of the good rows by thresholding: Algorithm 1 (TORP).

    Each iteration fits a subspace to the rows kept so far, then drops, from all rows, the
    fraction `rho` with the largest residual ||x - VV'x|| and the fraction `rho` with the largest
    incoherence ||diag(1/s) V'x||. Without noise, with at most n/(128 mu^2 r) bad rows and the
    theorem's rho, ||X_good(I - VV')||_F <= tol ||X||_2 (Theorem 1).

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row. It is never copied or changed.
    rank : int
        Dimension of the subspace, r in the paper. Without noise it may be larger than the true
        dimension: directions in which the kept rows do not vary are left out.
    rho : float in (0, 1/2), optional
        Fraction of the rows that each of the two criteria drops. By default 1/(128 mu^2 rank) if
        `mu` is given (Theorem 1), otherwise the best of a geometric grid; see
        `RobustSubspace.grid`.
    mu : float, at least 1, optional
        Incoherence of the good rows: the largest leverage of one of them is mu^2 rank / n.
    tol : float
        Accuracy eps of Theorem 1 as a share of ||X||_2. The loop also ends when the subspace and
        its singular values move by less than this.
    max_iter : int, optional
        Largest number of iterations. By default the theorem's T + 1 with T = log2(10 n / tol).
    center : bool
        Whether to subtract the mean of the kept rows, updated in each iteration. The paper does
        not.
    callback : callable, optional
        Called with an `Iteration` after each iteration.

    Returns
    -------
    RobustSubspace

    See Also
    --------
    torp_n : the variant for noisy rows, which also chooses the rank.

    References
    ----------
    Cherapanamjeri, Jain, Netrapalli: Thresholding based Efficient Outlier Robust PCA,
    arXiv:1702.05571 (COLT 2017, PMLR 65:593-628), Algorithm 1 and Theorem 1.

    Examples
    --------
    >>> from torpca import torp
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.05, outliers="line", random_state=0)
    >>> found = torp(X, 2, rho=0.06)
    >>> subspace_error(found.components.T, V) < 1e-12
    True
    >>> bool((bad & found.support).any())
    False
    """
    problem = open_problem(X, rank, center, callback)
    tol = check_real("tol", tol, 0.0)
    limit = theorem_iterations(problem.n, tol)
    limit = limit if max_iter is None else check_count("max_iter", max_iter)
    mu = None if mu is None else check_mu(mu, problem.n)
    grid = None
    if rho is None and mu is None:
        choice = choose_rho(problem, tol, max_iter, rho_alone=True)
        rho, grid = choice.rho, choice.evidence
    elif rho is None and mu is not None:
        rho = theorem_rho(mu, rank)
    rho = check_rho(rho, problem.n, problem.rank, criteria=2)
    count = fraction_count(rho, problem.n)
    cut = Thresholds(n_residual=count, n_incoherence=count)
    run = inner_loop(problem, problem.rank, cut, max_iter=limit, tol=tol, callback=callback)
    return finish(problem, run, problem.rank, {"rho": rho}, grid=grid)


def finish(
    problem: Problem, run: Run, k: int, parameters: dict[str, float], **evidence: Any
) -> RobustSubspace:
    """Last line of the algorithms: SVD_k of the rows kept at the end, to full accuracy."""
    fit = problem.finder.find(run.keep, max(k, 1), polish=True)
    export = problem.source.export
    return RobustSubspace(
        components=export(fit.V.T[:k].copy()),
        singular_values=export(fit.s[:k]),
        support=export(run.keep),
        mean=None if fit.mean is None else export(fit.mean),
        n_iter=len(run.history),
        converged=run.converged,
        history=run.history,
        parameters=parameters,
        **evidence,
    )
