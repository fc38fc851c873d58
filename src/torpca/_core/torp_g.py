"""TORP-G: Algorithm 3 of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from torpca._core.ellipsoid import project_coordinates
from torpca._core.grid import Choice, choose_rho
from torpca._core.loop import Callback, Step, iterate
from torpca._core.problem import check_count, check_mu, check_real, open_problem
from torpca._core.result import RobustSubspace
from torpca._core.subspace import RESIDUAL_ULPS, norm
from torpca._core.theorems import influential_rows_allowed, theorem_eta, zeta1, zeta2
from torpca._core.torp import finish
from torpca._sources.base import Mask


def torp_g(
    X: Any,
    rank: int,
    *,
    mu: float | None = None,
    sigma: float | None = None,
    max_iter: int | None = None,
    center: bool = False,
    callback: Callback | None = None,
) -> RobustSubspace:
    """Principal subspace of good rows with Gaussian noise: Algorithm 3 (TORP-G).

    Each iteration fits rank + 1 directions to the rows kept so far, projects these rows' fits
    VV'x onto the ellipsoid {V diag(s) z : |z| <= 2 mu sqrt(r/n)} of fits that are typical of good
    rows, and permanently removes the rows whose fit moves by zeta_1 or more. If more rows than
    noise explains move by zeta_2 or more, it removes these too. With N(0, sigma^2) noise N, at most
    n/(1024 mu^2 r) bad rows and enough rows, ||L(I - VV')||_2 <= 4 sqrt(log d) ||N||_2 (Theorem 3).

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row. It is never copied or changed.
    rank : int
        Dimension of the subspace, r in the paper.
    mu : float, at least 1, optional
        Incoherence of the good rows. By default the incoherence of the rows that `torp` keeps.
    sigma : float, optional
        Standard deviation of the noise in each entry. By default it is estimated from the median
        residual of `torp`. Give it if you know it.
    max_iter : int, optional
        Largest number of iterations. By default the number of rows, which is always enough.
    center, callback
        As in `torp`.

    Returns
    -------
    RobustSubspace
        It has the first `rank` of the rank + 1 directions, to which the theorem's bound applies.

    Notes
    -----
    The paper bounds the run time by O(n^2 d), n times that of PCA, because each iteration may
    remove only one row. It leaves a faster algorithm open. Here each iteration removes all rows
    that qualify, as the paper's rule allows. No better bound is known, but it can be measured. With
    1 % bad rows and 3125, 12,500, 50,000 and 200,000 rows (100 features, rank 5), there are 20, 22,
    44 and 35 iterations if bad rows lie in all directions, 4 or 5 if they lie on a line, 4 to 7 for
    a mixture, and at most 3 for a cluster or short rows. They grow far more slowly than n. The Gram
    matrix is updated with the removed rows only, so the n d^2 of ordinary PCA is needed once
    (`python -m benchmarks.torp_speed`).

    References
    ----------
    Cherapanamjeri, Jain, Netrapalli: Thresholding based Efficient Outlier Robust PCA,
    arXiv:1702.05571 (COLT 2017, PMLR 65:593-628), Algorithm 3 and Theorem 3.

    Examples
    --------
    >>> from torpca import torp_g
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> X, V, bad, mu = make_outlier_subspace(
    ...     2000, 20, 2, 0.01, outliers="line", noise=0.01, random_state=0
    ... )
    >>> found = torp_g(X, 2, mu=mu, sigma=0.01)
    >>> subspace_error(found.components.T, V) < 0.01
    True
    """
    problem = open_problem(X, rank, center, callback)
    (n, d), r = problem.source.shape, problem.rank
    limit = n if max_iter is None else check_count("max_iter", max_iter)
    choice = None
    if mu is None or sigma is None:
        choice = choose_rho(problem, 1e-12)
    mu = choice.mu if choice and mu is None else check_mu(mu, n)
    sigma = noise_level(choice, d) if choice and sigma is None else check_real("sigma", sigma, 0.0)
    far, long = zeta2(mu, r, d, sigma), zeta1(mu, r, d, sigma)
    allowed = influential_rows_allowed(mu, r, n, d)
    radius = theorem_eta(mu, r, n)  # the ellipsoid's radius is Theorem 2's eta

    def step(keep: Mask) -> Step:
        fit = problem.finder.find(keep, min(r + 1, n, d))  # SVD_{r+1}(M - C^(t))
        unit = fit.frame.unit
        # L^(t), in the coordinates of V. Fits of less incoherence are in the ellipsoid and stay.
        outside = np.flatnonzero(problem.scorer.of(fit, keep).incoherent(radius) & keep)
        fits = fit.coordinates(outside)
        moved = np.linalg.norm(fits - project_coordinates(fits, fit.s / unit, radius), axis=1)
        # A fit that rounding alone moved has not moved: at sigma = 0 both thresholds are zero.
        moved *= moved > RESIDUAL_ULPS * fit.eps * np.linalg.norm(fits, axis=1)
        distance = np.zeros(n)
        distance[outside] = moved
        distance *= unit
        has_moved = distance > 0
        by_length = has_moved & (distance >= long)
        influential = has_moved & (distance > far)  # the set I of line 9
        by_influence = has_moved & (distance >= far)
        if np.count_nonzero(influential) < allowed:
            by_influence[:] = False
        left = keep & ~(by_length | by_influence)
        if np.count_nonzero(left) < r:
            raise ValueError(
                f"mu={mu:g} and sigma={sigma:g} remove all but {np.count_nonzero(left)} of {n} "
                f"rows, fewer than the rank={r} needs: the good rows vary more than that. Give a "
                "larger sigma or mu, or leave them out to have them estimated."
            )
        return Step(
            fit,
            left,
            dropped={
                "length": int(np.count_nonzero(by_length)),
                "influence": int(np.count_nonzero(by_influence)),
            },
            objective=norm(distance[keep]),
        )

    everyone = np.ones(n, dtype=bool)
    run = iterate(step, everyone, max_iter=limit, tol=None, callback=callback)
    # r + 1 directions are fitted and the first r returned: the proof bounds L(I - V_r V_r').
    return finish(
        problem, run, r, {"mu": mu, "sigma": sigma}, grid=choice.evidence if choice else None
    )


def noise_level(choice: Choice, d: int) -> float:
    """Estimate sigma from the median residual, that of sqrt(chi-square) with d - k degrees."""
    degrees = d - choice.fit.V.shape[1]
    if degrees == 0:
        return 0.0
    return float(choice.residual / np.sqrt(chi2.median(degrees)))
