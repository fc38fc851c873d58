"""RANSAC+: random subsets in a small space that holds the subspace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._core.threshold import fraction_count
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, check_share, checked_table, hand_back
from torpca.rivals._location import about_median
from torpca.rivals._principal import principal, residual_squares, smallest
from torpca.rivals._span import residuals, row_space, top_directions, unit_rows

# Subsets are enough when one of them has good rows alone with this probability; but so many are
# drawn at least and at most, and looked at together.
SURE, LEAST, MOST, TOGETHER = 0.99, 100, 30_000, 1000
# A median distance below this share of the median length is rounding.
ROUNDING = 1e-12


def ransac_plus(
    X: Any,
    rank: int,
    *,
    fraction: float = 0.25,
    threshold: float | None = None,
    n_tries: int | None = None,
    refit: bool = True,
    center: bool = False,
    random_state: Any = 0,
) -> RobustSubspace:
    """Subspace of the random subset of rows that comes closest to having `rank` directions.

    The first stage finds a coarse space: the span of a few rows drawn at random. Their number is
    doubled until the median distance of the other rows from the span is small. The span contains
    the subspace as soon as enough of the drawn rows are good. The second stage draws subsets and
    projects them onto it. The subset whose sample covariance there has the smallest eigenvalue
    number rank + 1 has only good rows, and its top eigenvectors are the directions. If noise or bad
    rows have many dimensions, the first stage removes most of them, and the second works in a few
    dimensions.

    Cost: n d times a few rank for the first stage; eigenvalues of n_tries small matrices for the
    second. Subsets have b = 2 rank / (1 - 2 fraction) rows, and only good ones with probability
    (1 - fraction)^b, so prefer it for small ranks and few bad rows. With more bad rows, b is
    reduced as far as `n_tries` requires, and bad rows in few directions win: the eigenvalue is as
    small for a subset of fewer than `rank` good rows and others on a line.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    fraction : float in [0, 1/2)
        Expected share of bad rows, which determines the sizes and the number of the subsets.
    threshold : float, optional
        Median distance that ends the first stage, in the unit of X: a small multiple of the noise
        of a whole row. By default the batch is doubled as long as this halves the distance.
    n_tries : int, optional
        Number of subsets in the second stage. By default so many that one of them has only good
        rows with probability 0.99, but at least 100 and at most 30,000.
    refit : bool
        Whether to fit the directions to all rows near the subspace, all but `fraction`, instead of
        to the subset.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    random_state : int, Generator or None
        Seed of the subsets.

    Returns
    -------
    RobustSubspace
        `support` are the rows that were fitted. The objective in `history` is the least eigenvalue
        number rank + 1; `parameters` has the dimension of the coarse space.

    Notes
    -----
    This was written from the published description of the two stages, not from the paper's listing.
    The paper does not assume that the rank is known. It begins with batches of two rows, stops at a
    threshold computed from the covariance of the noise, and finds the rank from the drop in the
    smallest eigenvalues over all subsets. Here the rank is given, as for the other methods, so the
    eigenvalue is known, and batches begin with 2 rank / (1 - fraction) rows. The following are
    ours: these and the other sizes and numbers, the rule without a threshold, the refit, and
    leaving out rows of zeros, which lie in every subspace.

    References
    ----------
    Chen, Ma, Fattahi: RANSAC revisited: an improved algorithm for robust subspace recovery under
    adversarial and noisy corruptions, arXiv:2504.09648 (2025).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import ransac_plus
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.2, outliers="line", random_state=0)
    >>> found = ransac_plus(X, 2)
    >>> subspace_error(found.components.T, V) < 1e-9
    True
    >>> bool((bad & found.support).any())
    False
    """
    table = checked_table(X, rank)
    fraction = check_share("fraction", fraction)
    if threshold is not None:
        threshold = check_real("threshold", threshold, 0.0) / table.unit
    if n_tries is not None:
        n_tries = check_count("n_tries", n_tries)
    size = subset_size(table.rank, fraction, n_tries or MOST)
    n_tries = n_tries or tries_needed(size, fraction)
    rng = np.random.default_rng(random_state)
    C, origin = about_median(table.X, center)
    there = np.flatnonzero(unit_rows(C, origin)[1] > 0)
    rows, mean = C[there], np.zeros(C.shape[1])

    V = coarse_space(rows, math.ceil(2 * table.rank / (1 - fraction)), threshold, rng)
    coarse = V.shape[1]
    Z = rows @ V
    subset, least = best_subset(Z, min(size, len(Z)), table.rank, n_tries, rng)
    V = V @ top_directions(Z[subset], min(table.rank, coarse))
    if refit:
        h = len(rows) - fraction_count(fraction, len(rows))
        subset = np.flatnonzero(smallest(residual_squares(rows, mean, V), h))
        mean, V = principal(rows[subset], table.rank, center)
    keep = np.zeros(len(C), dtype=bool)
    keep[there[subset]] = True

    run = Progress(table)
    run.note(V, least, keep)
    return hand_back(
        table,
        V,
        mean=None if origin is None else origin + mean,
        keep=keep,
        history=run.history,
        parameters={"fraction": fraction, "n_tries": n_tries, "coarse_rank": coarse},
    )


def coarse_space(
    rows: Floats, size: int, threshold: float | None, rng: np.random.Generator
) -> Floats:
    """Orthonormal basis (d, m) of the span of some of the rows (n, d), near which the median is.

    Batches have `size` rows, then twice as many, and so on, until the median distance of the others
    is at most `threshold`; if that is None, until twice as many do not halve it.
    """
    n, d = rows.shape
    nothing = ROUNDING * float(np.median(np.linalg.norm(rows, axis=1))) if n else 0.0
    last, before = np.zeros((d, 0)), np.inf
    while True:
        batch = rng.choice(n, min(size, n), replace=False)
        V = row_space(unit_rows(rows[batch])[0])
        away = np.delete(residuals(rows, V)[2], batch)
        median = float(np.median(away)) if len(away) else 0.0
        if median <= (nothing if threshold is None else threshold):
            return V
        # For each dimension that is left: of noise alone, a larger space leaves less as well.
        median /= math.sqrt(max(d - V.shape[1], 1))
        if threshold is None and median > before / 2:
            return last
        last, before, size = V, median, 2 * size


def best_subset(
    Z: Floats, size: int, rank: int, n_tries: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], float]:
    """Subset of `size` rows of Z (n, m) whose covariance has the least eigenvalue number rank + 1.

    Its rows, and the eigenvalue; that of no more than `rank` dimensions is zero.
    """
    n, m = Z.shape
    best, least = rng.choice(n, size, replace=False), np.inf
    if min(size, m) <= rank:
        return best, 0.0
    for start in range(0, n_tries, TOGETHER):
        count = min(TOGETHER, n_tries - start)
        draws = np.array([rng.choice(n, size, replace=False) for _ in range(count)])
        A = Z[draws]
        At = np.swapaxes(A, 1, 2)
        # The smaller of the two products has the same eigenvalues, but for zeros.
        lam = np.linalg.eigvalsh(A @ At if size < m else At @ A)[:, -rank - 1] / size
        if np.min(lam) < least:
            best, least = draws[np.argmin(lam)], float(np.min(lam))
    return best, least


def subset_size(rank: int, fraction: float, limit: int) -> int:
    """Rows in a subset: so many that it has good rows enough, but that one may have no others.

    With 2 rank / (1 - 2 fraction) of them few subsets have less than `rank` good rows; with more
    than a certain number none of `limit` subsets has good rows alone.
    """
    wanted = math.ceil(2 * rank / (1 - 2 * fraction))
    if fraction == 0:
        return wanted
    bearable = math.floor(math.log(-limit / math.log(1 - SURE)) / -math.log1p(-fraction))
    return max(min(wanted, bearable), rank + 1)


def tries_needed(size: int, fraction: float) -> int:
    """How many subsets of `size` rows to draw, so that one of them has good rows alone."""
    good = (1 - fraction) ** size
    needed = 0.0 if good == 1 else math.log(1 - SURE) / math.log1p(-max(good, 1 / MOST))
    return min(max(math.ceil(needed), LEAST), MOST)
