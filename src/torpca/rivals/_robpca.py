"""ROBPCA: projection pursuit for the least outlying rows, then PCA of the rows near them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._robust.lines import window_consistency
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Progress, hand_back, open_table
from torpca.rivals._location import about_median
from torpca.rivals._principal import principal, residual_squares, smallest
from torpca.rivals._span import row_space, unit_rows

# Of good rows, one in forty is beyond a cut-off.
INSIDE = 0.975
# Share of the rows' length that is rounding: what differs by less is equal.
ROUNDING = 1e-12
# Directions projected on at a time; what they take in memory is that times n.
AT_A_TIME = 25
MAX_STEPS = 100
# Variances are at least the square of this.
TINY = 1e-100


def robpca(
    X: Any,
    rank: int,
    *,
    alpha: float = 0.5,
    n_directions: int = 250,
    center: bool = True,
    random_state: Any = 0,
) -> RobustSubspace:
    """Principal subspace of the rows that are near that of the least outlying ones.

    The outlyingness of a row is max_v |x'v - m(Xv)| / s(Xv) over directions v through pairs of
    rows, where m and s are location and scale of the tightest h numbers (univariate MCD). The h
    rows with the smallest give a first subspace, and the rows near that give the second one: those
    with ||x - mean - VV'(x - mean)||^(2/3) below location + 1.96 scale of all of them, as it is
    about Gaussian (Wilson and Hilferty). Inside the subspace the mean is that of the minimum
    covariance determinant of these rows.

    Cost: O(n_directions n (d + log n)) and three SVDs of O(n d min(n, d)). Prefer it when
    nothing is known about the bad rows and n and d are small.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    alpha : float in [1/2, 1]
        Share of the rows that are surely good: h = max(alpha n, (n + rank + 1) / 2). Fewer bad
        rows than the rest are withstood; more good rows in the start make it more accurate.
    n_directions : int
        Pairs of rows drawn; all pairs if there are no more.
    center : bool
        Whether the rows have a location. Without it, directions go through zero and a row, and
        location is zero throughout; not in the paper.
    random_state : int, Generator or None
        Seed of the pairs.

    Returns
    -------
    RobustSubspace
        `support` are the regular rows: within the cut-offs on both distances, from the subspace
        and inside it. The objective in `history` is the sum of squared residuals of the rows the
        subspace was fitted to.

    Notes
    -----
    It departs from the paper in three places. If h rows agree along a direction the scale is zero
    there, and all others are infinitely outlying; the paper projects all rows on the hyperplane
    and begins anew. The covariance inside the subspace is that of the rows near it; the paper has
    all rows, among which a tight cluster far off may win. And it is concentrated from the least
    outlying rows alone, without random starts. Only the first has a part in the subspace.

    References
    ----------
    Hubert, Rousseeuw, Vanden Branden: ROBPCA: A new approach to robust principal component
    analysis, Technometrics 47 (2005).

    Engelen, Hubert, Vanden Branden: A comparison of three procedures for robust PCA in high
    dimensions, Austrian Journal of Statistics 34 (2005): the rows near the first subspace.

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import robpca
    >>> X, V, bad, mu = make_outlier_subspace(
    ...     500, 20, 2, 0.4, outliers="line", noise=0.01, random_state=0
    ... )
    >>> found = robpca(X, 2)
    >>> subspace_error(found.components.T, V) < 0.02
    True
    >>> bool((bad & found.support).any())
    False
    """
    table = open_table(X, rank)
    alpha = check_alpha(alpha)
    n_directions = check_count("n_directions", n_directions)
    rng = np.random.default_rng(random_state)
    C, origin = about_median(table.X, center)
    basis = row_space(unit_rows(C)[0])
    Z = C @ basis
    n, q = Z.shape
    h = min(n, max(int(alpha * n), (n + table.rank + 1) // 2))
    slack = ROUNDING * (np.linalg.norm(Z, axis=1) + np.median(np.linalg.norm(Z, axis=1)))
    run = Progress(table)

    outlying = outlyingness(Z, directions(Z, n_directions, center, rng), h, slack, center)
    least = smallest(outlying, h)
    mean, V = principal(Z[least], table.rank, center)
    R = residual_squares(Z, mean, V)
    run.note(basis @ V, float(np.sum(R[least])), least)

    near = np.ones(n, dtype=bool)
    if V.shape[1] < q:  # else no row is off the subspace
        near = np.sqrt(R) <= distance_limit(np.sqrt(R), h) + slack
        mean, V = principal(Z[near], table.rank, center)
        R = residual_squares(Z, mean, V)
        run.note(basis @ V, float(np.sum(R[near])), near)

    start = least & near if np.any(least & near) else near
    middle, regular = location_inside((Z - mean) @ V, near, start, slack, center)
    return hand_back(
        table,
        basis @ V,
        mean=None if origin is None else origin + basis @ (mean + V @ middle),
        keep=regular,
        history=run.history,
        parameters={"alpha": alpha, "h": h, "n_directions": n_directions},
    )


def check_alpha(alpha: Any) -> float:
    """Check that `alpha` is a share of the rows: the half of them, up to all."""
    alpha = check_real("alpha", alpha, 0.5)
    if alpha > 1:
        raise ValueError(
            f"alpha={alpha:g} must be at least 0.5 and at most 1: it is the share of the rows that "
            "are surely good. Leave alpha out for 0.5."
        )
    return float(alpha)


# ---- outlyingness ------------------------------------------------------------------------------


def directions(Z: Floats, count: int, center: bool, rng: np.random.Generator) -> Floats:
    """Unit directions (m, q), m <= count, through pairs of rows of Z (n, q), or zero and a row."""
    n = len(Z)
    if not center:
        D = Z if n <= count else Z[rng.choice(n, count, replace=False)]
    elif n * (n - 1) // 2 <= count:
        i, j = np.triu_indices(n, 1)
        D = Z[i] - Z[j]
    else:
        i = rng.integers(n, size=count)
        j = (i + rng.integers(1, n, size=count)) % n  # not the same row
        D = Z[i] - Z[j]
    length = np.linalg.norm(D, axis=1)
    unit: Floats = D[length > 0] / length[length > 0, None]
    return unit


def outlyingness(Z: Floats, D: Floats, h: int, slack: Floats, center: bool) -> Floats:
    """Largest |z'v - location| / scale of each row of Z (n, q) over the rows v of D (m, q).

    What differs by less than `slack` (n,) is equal.
    """
    largest = np.zeros(len(Z))
    for start in range(0, len(D), AT_A_TIME):
        P = Z @ D[start : start + AT_A_TIME].T
        location, scale = tightest(P, h, center)
        away = np.abs(P - location)
        flat = scale <= np.min(slack)
        out = away / np.where(flat, 1.0, scale)
        out[:, flat] = np.where(away[:, flat] > slack[:, None], np.inf, 0.0)
        largest = np.maximum(largest, np.max(out, axis=1))
    return largest


def tightest(P: Floats, h: int, center: bool = True) -> tuple[Floats, Floats]:
    """Location and scale (m,) of the tightest `h` numbers of each column of P (n, m), reweighted.

    Univariate MCD: mean and standard deviation, consistent for Gaussian numbers, of the window of
    `h` numbers with the least variance; then those of all numbers within 2.24 standard deviations.
    """
    n = len(P)
    if center:
        location, variance = window_of_least_variance(np.sort(P.T, axis=1), h)
    else:
        location, variance = np.zeros(P.shape[1]), np.mean(np.sort(P**2, axis=0)[:h], axis=0)
    scale = np.sqrt(variance * window_consistency(h / n))
    away = P - location
    inside = np.abs(away) <= np.sqrt(chi2.ppf(INSIDE, 1)) * scale
    away[~inside] = 0.0
    count = np.maximum(np.count_nonzero(inside, axis=0), 1)
    shift = np.sum(away, axis=0) / count if center else np.zeros(len(location))
    variance = np.sum(away**2, axis=0) / count - shift**2
    return location + shift, np.sqrt(np.maximum(variance, 0.0) * window_consistency(INSIDE))


def window_of_least_variance(S: Floats, h: int) -> tuple[Floats, Floats]:
    """Mean and variance (m,) of the `h` successive numbers with the least one, in S (m, n) sorted.

    The variances of all windows come from running sums.
    """
    lines = np.arange(len(S))
    # The middle number is in every window, or next to it: sums about it cancel nothing.
    origin = S[:, S.shape[1] // 2]
    # A window with numbers D apart has a variance of at least D^2 / 2h. That of the shortest, of
    # length L, has at most L^2 / 4. What is farther out than L sqrt(h) is in no window of interest,
    # and brought nearer its square cannot drown the others.
    shortest = np.min(S[:, h - 1 :] - S[:, : S.shape[1] - h + 1], axis=1)
    reach = (np.sqrt(h) * shortest)[:, None]
    C = np.clip(S - origin[:, None], -reach, reach)
    sums = np.zeros((2, len(S), S.shape[1] + 1))
    np.cumsum([C, C**2], axis=2, out=sums[:, :, 1:])
    mean, square = (sums[:, :, h:] - sums[:, :, :-h]) / h
    variance = np.maximum(square - mean**2, 0.0)
    best = np.argmin(variance, axis=1)
    return origin + mean[lines, best], variance[lines, best]


# ---- cut-offs ------------------------------------------------------------------------------------


def distance_limit(distances: Floats, h: int) -> float:
    """Limit of the `distances` (n,) of good rows: their powers 2/3 are about Gaussian."""
    location, scale = tightest(np.cbrt(distances**2)[:, None], h)
    return float((location[0] + norm.ppf(INSIDE) * scale[0]) ** 1.5)


def location_inside(
    T: Floats, near: Mask, keep: Mask, slack: Floats, center: bool
) -> tuple[Floats, Mask]:
    """Location (k,) of the coordinates T (n, k) of the `near` rows, and mask of those about it.

    Minimum covariance determinant: from the rows `keep` on, the same number of rows nearest to the
    ones before, as their covariance measures it, until its determinant falls no more.
    """
    k, n_near = T.shape[1], int(np.count_nonzero(near))
    if k == 0:
        return np.zeros(0), near
    h, limit, before = int(np.count_nonzero(keep)), chi2.ppf(INSIDE, k), np.inf
    for _ in range(MAX_STEPS):
        _, squares, log_det = distances_from(T, keep, slack, center)
        now = smallest(np.where(near, squares, np.inf), h)
        if np.array_equal(now, keep) or not log_det < before:
            break
        keep, before = now, log_det
    inside = near & (squares <= limit * trimming(h / n_near, k))
    location, squares, _ = distances_from(T, inside, slack, center)
    return location, near & (squares <= limit * trimming(INSIDE, k))


def trimming(share: float, k: int) -> float:
    """Variance of Gaussian rows in k dimensions over that of the central `share` of them."""
    if share >= 1.0:
        return 1.0
    return share / float(chi2.cdf(chi2.ppf(share, k), k + 2))


def distances_from(
    T: Floats, keep: Mask, slack: Floats, center: bool
) -> tuple[Floats, Floats, float]:
    """Mean (k,) of the kept rows of T, squared distances (n,) in their covariance, its log det."""
    mean = np.mean(T[keep], axis=0) if center else np.zeros(T.shape[1])
    C = T - mean
    values, E = np.linalg.eigh(C[keep].T @ C[keep] / np.count_nonzero(keep))
    # Where the kept rows do not spread at all the others are far, but not infinitely.
    floor = max(ROUNDING * np.sqrt(max(values[-1], 0.0)), float(np.min(slack)), TINY)
    values = np.maximum(values, floor**2)
    squares: Floats = np.sum((C @ E) ** 2 / values, axis=1)
    return mean, squares, float(np.sum(np.log(values)))
