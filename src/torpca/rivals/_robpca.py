"""ROBPCA: projection pursuit for the least outlying rows, then PCA of the rows near them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from torpca._core.problem import check_center, check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._robust.lines import window_consistency
from torpca._sources.base import Floats, Mask
from torpca.rivals._adjusted import adjusted_limit, adjusted_outlyingness
from torpca.rivals._concentration import ROUNDING, concentrate, distances_from, trimming
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._initial import axes_to_start_with, check_start, standardised
from torpca.rivals._location import about_median
from torpca.rivals._principal import principal, residual_squares, smallest
from torpca.rivals._span import row_space, unit_rows

# Of good rows, one in forty is beyond a cut-off.
INSIDE = 0.975
# Directions projected on at a time; what they take in memory is that times n.
AT_A_TIME = 25


def robpca(
    X: Any,
    rank: int,
    *,
    alpha: float = 0.5,
    n_directions: int = 250,
    start: str = "random",
    skew: bool = False,
    center: bool = True,
    random_state: Any = 0,
) -> RobustSubspace:
    """Principal subspace of the rows near the subspace of the least outlying rows.

    The outlyingness of a row is max_v |x'v - m(Xv)| / s(Xv) over directions v through pairs of
    rows, where m and s are location and scale of the tightest h numbers (univariate MCD). The h
    least outlying rows give a first subspace, and the rows near it give the second one. These are
    the rows with ||x - mean - VV'(x - mean)||^(2/3), which is nearly Gaussian (Wilson and
    Hilferty), below location + 1.96 scale. Inside the subspace, the mean comes from the minimum
    covariance determinant of these rows.

    Cost: O(n_directions n (d + log n)) and three SVDs of O(n d min(n, d)); with deterministic
    directions O(min(n, d)^2 n) more. Prefer it if nothing is known about the bad rows and n and d
    are small. Use `skew` if good rows are skewed, as amounts and concentrations are.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    alpha : float in [1/2, 1]
        Share of the rows that are surely good: h = max(alpha n, (n + rank + 1) / 2). A smaller
        alpha withstands more bad rows, a larger one is more accurate.
    n_directions : int
        Number of pairs of rows to draw; all pairs if there are fewer. If `start` is
        "deterministic", the number of rows used.
    start : "random" or "deterministic"
        Directions through random pairs of rows, or deterministic ones. With these, the result
        depends neither on `random_state` nor on the order of rows.
    skew : bool
        Whether good rows may be skewed. Then outlyingness is measured on each side of the median by
        the whisker of the adjusted boxplot, and both cut-offs are such whiskers. It withstands less
        than a quarter of bad rows, whatever `alpha` is.
    center : bool
        Whether to estimate a location. Otherwise directions go through zero and a row, and the
        location is zero throughout, which is not in the paper. `skew` needs it, because skewness is
        measured about a median.
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
    It departs from the paper in three places. If h rows agree along a direction, the scale there is
    zero and all other rows are infinitely outlying. The paper projects all rows onto the hyperplane
    and starts again. The covariance inside the subspace is that of the rows near it. The paper uses
    all rows, and a tight distant cluster may win. Concentration starts only from the least outlying
    rows, not from random subsets. Only the first of these affects the subspace.

    Deterministic directions are ours. They are the eigenvectors, at most n/5 each, of the six
    scatter estimates of the deterministic MCD (see `mincovdet`), and the directions from the
    spatial median to `n_directions` rows, evenly spaced in the order of their distances from it.
    They withstood a tight cluster of 40 % of the rows with forty rows per feature (2000 x 50), but
    not always with ten (500 x 50) or fewer. Then pairs of rows are better.

    With `skew` it is the method of Hubert, Rousseeuw and Verdonck (2009). Adjusted outlyingness
    finds the first h rows. The largest distance inside the upper fence of the adjusted boxplot
    bounds the rows near their subspace. Inside the subspace, the mean is that of the h rows with
    the least adjusted outlyingness there. Two things are ours: directions through pairs of rows
    inside the subspace too, and adjusted outlyingness among the near rows only.

    References
    ----------
    Hubert, Rousseeuw, Vanden Branden: ROBPCA: A new approach to robust principal component
    analysis, Technometrics 47 (2005).

    Engelen, Hubert, Vanden Branden: A comparison of three procedures for robust PCA in high
    dimensions, Austrian Journal of Statistics 34 (2005): the rows near the first subspace.

    Hubert, Rousseeuw, Verdonck: Robust PCA for skewed data and its outlier map, Computational
    Statistics and Data Analysis 53 (2009).

    Hubert, Rousseeuw, Verdonck: A deterministic algorithm for robust location and scatter, Journal
    of Computational and Graphical Statistics 21 (2012).

    Hubert, Vandervieren: An adjusted boxplot for skewed distributions, Computational Statistics and
    Data Analysis 52 (2008).

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
    table = checked_table(X, rank)
    alpha = check_alpha(alpha)
    n_directions = check_count("n_directions", n_directions)
    start, skew = check_start(start), check_skew(skew, center)
    rng = np.random.default_rng(random_state)
    C, origin = about_median(table.X, center)
    basis = row_space(unit_rows(C)[0])
    Z = C @ basis
    n, q = Z.shape
    h = min(n, max(int(alpha * n), (n + table.rank + 1) // 2))
    slack = ROUNDING * (np.linalg.norm(Z, axis=1) + np.median(np.linalg.norm(Z, axis=1)))
    run = Progress(table)

    def lines(rows: Floats) -> Floats:
        if start == "random":
            return directions(rows, n_directions, center, rng)
        return deterministic_directions(rows, n_directions, center)

    D = lines(Z)
    out = adjusted_outlyingness(Z, D, slack) if skew else outlyingness(Z, D, h, slack, center)
    least = smallest(out, h)
    mean, V = principal(Z[least], table.rank, center)
    R = residual_squares(Z, mean, V)
    run.note(basis @ V, float(np.sum(R[least])), least)

    near = np.ones(n, dtype=bool)
    if V.shape[1] < q:  # else no row is off the subspace
        away = np.sqrt(R)
        near = away <= (adjusted_limit(away) if skew else distance_limit(away, h)) + slack
        mean, V = principal(Z[near], table.rank, center)
        R = residual_squares(Z, mean, V)
        run.note(basis @ V, float(np.sum(R[near])), near)

    T = (Z - mean) @ V
    if skew:
        middle, regular = skewed_location_inside(T, near, lines(T[near]), h, slack)
    else:
        first = least & near if np.any(least & near) else near
        middle, regular = location_inside(T, near, first, slack, center)
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
            f"alpha={alpha:g} must be at least 0.5 and at most 1, because it is the share of the "
            "rows that are surely good. Leave alpha out for 0.5."
        )
    return float(alpha)


def check_skew(skew: Any, center: bool) -> bool:
    """Check that `skew` is True or False, and not True without a location."""
    if not isinstance(skew, bool | np.bool_):
        raise TypeError(f"skew={skew!r} must be True or False. Give one of these.")
    if skew and not check_center(center):
        raise ValueError(
            "skew=True needs center=True: skewness is one about a median, and center=False says "
            "that there is none. Leave one of them out."
        )
    return bool(skew)


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
    return of_length_one(D)


def deterministic_directions(Z: Floats, count: int, center: bool) -> Floats:
    """Unit directions (m, q) of Z (n, q) that neither chance nor the order of rows has a part in.

    Axes of six robust scatters, and from the spatial median to `count` rows near and far.
    """
    n = len(Z)
    S, _, scale = standardised(Z, center)
    # A covariance wants five rows to a dimension: the axes that come last are those of chance.
    axes = [E[:, : max(n // 5, 1)].T / scale for E in axes_to_start_with(S, center)]
    C, _ = about_median(Z, center)
    order = np.argsort(np.linalg.norm(C, axis=1), kind="stable")
    rows = order[np.linspace(0, n - 1, min(n, count)).round().astype(np.intp)]
    return of_length_one(np.concatenate([*axes, C[rows]]))


def of_length_one(D: Floats) -> Floats:
    """Rows of D (m, q) that are not zero, scaled to length one; in one dimension all are alike."""
    U, length = unit_rows(D)
    U = U[length > 0]
    return U[:1] if D.shape[1] == 1 else U


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
    h, limit = int(np.count_nonzero(keep)), chi2.ppf(INSIDE, k)
    floor = float(np.min(slack))
    keep = keep.copy()
    keep[near] = concentrate(T[near], keep[near], h, floor, center)[0]
    _, squares, _ = distances_from(T, keep, floor, center)
    inside = near & (squares <= limit * trimming(h / n_near, k))
    location, squares, _ = distances_from(T, inside, floor, center)
    return location, near & (squares <= limit * trimming(INSIDE, k))


def skewed_location_inside(
    T: Floats, near: Mask, D: Floats, h: int, slack: Floats
) -> tuple[Floats, Mask]:
    """The same by adjusted outlyingness along the rows of D (m, k), for skewed coordinates."""
    if T.shape[1] == 0:
        return np.zeros(0), near
    out = adjusted_outlyingness(T[near], D, slack[near])
    regular = near.copy()
    regular[near] = out <= adjusted_limit(out)
    return np.mean(T[near][smallest(out, h)], axis=0), regular
