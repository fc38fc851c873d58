"""Principal Component Pursuit: robust PCA for bad entries instead of bad rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._location import about_median
from torpca.rivals._nuclear import check_weight, low_rank_part
from torpca.rivals._span import number_of_directions
from torpca.rivals._split import Split, split

# Penalty of the splitting, in units in which entries and multipliers have size one.
PENALTY = 1.0
# Rounding in an entry of the multiplier.
CUT = 1e-12


def principal_component_pursuit(
    X: Any,
    rank: int,
    *,
    lam: float | None = None,
    center: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-7,
) -> Split:
    """Low-rank part of a table with bad entries: Principal Component Pursuit.

    Minimises ||L||_* + lam sum_ij |s_ij| over X = L + S. With lam = 1/sqrt(max(n, d)) both parts
    are found exactly, with high probability, if the rank of L is at most a share of
    min(n, d)/log^2 max(n, d), its directions are spread over rows and features, and the places of
    the bad entries are random.

    Cost: O(n d min(n, d)) in each iteration and about 15 arrays of the size of X; 30 to 200
    iterations for such tables, hundreds or thousands for others. Prefer it if single entries of
    many rows are bad. It is not a method for whole bad rows: these are not sparse, and if they
    agree in a direction they have low rank. With few features, or directions close to a single
    feature, it is inaccurate even if no row is bad.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Number of directions to return. The optimisation problem does not depend on it.
    lam : float, optional
        Weight of the sparse part. Default: 1/sqrt(max(n_samples, n_features)).
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int
        Largest number of iterations.
    tol : float
        Accuracy of the two parts, as a share of the median size of an entry.

    Returns
    -------
    Split
        `low_rank` is L, `rest` is S, both about `mean`. No row is dropped. Singular values are
        those of all rows along the directions, including bad entries.

    References
    ----------
    Candes, Li, Ma, Wright: Robust principal component analysis?, Journal of the ACM 58 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from torpca.rivals import principal_component_pursuit
    >>> rng = np.random.default_rng(0)
    >>> L = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 60))
    >>> S = np.where(rng.random(L.shape) < 0.05, 1000.0, 0.0)
    >>> found = principal_component_pursuit(L + S, 2)
    >>> bool(np.abs(found.low_rank - L).max() < 1e-6)
    True
    >>> bool(((found.rest != 0) == (S != 0)).all())
    True
    """
    max_iter, tol = check_count("max_iter", max_iter), check_real("tol", tol, 0.0)
    table = checked_table(X, rank)
    C, mean = about_median(table.X, center)
    weight = 1.0 / float(np.sqrt(max(C.shape))) if lam is None else check_weight(lam)
    # Zeros are no measure of the other entries. Nor are bad ones: the middle entry is a good one.
    sizes = np.abs(C[C != 0]) if np.any(C != 0) else np.ones(1)
    typical = float(np.median(sizes))
    # No entry of a multiplier with singular values of at most one is larger than that.
    bound = min(weight, 1.0)
    run = Progress(table)

    def multiplier(B: Floats, mu: float) -> Floats:
        return np.clip(mu * B, -bound, bound)

    def watch(L: Floats, s: Floats, V: Floats) -> None:
        run.note(V[:, : table.rank], float(np.sum(s) + weight * np.sum(np.abs(C - L))))

    found = low_rank_part(
        C,
        multiplier,
        PENALTY * bound / typical,
        float(np.sqrt(len(sizes))) * typical,
        max_iter=max_iter,
        tol=tol,
        watch=watch,
    )
    V = found.directions(number_of_directions(C, table.rank))
    # Good entries differ from L by the accuracy; their multiplier tells that it should be nothing.
    rest = np.where(np.abs(found.Y) >= (1.0 - CUT) * weight, C - found.L, 0.0)
    result = hand_back(
        table,
        V,
        mean=mean,
        history=run.history,
        converged=found.converged,
        parameters={"lam": weight},
    )
    return split(result, table, found.L, rest)
