"""What the methods for bad entries share: a fit of low rank, a first cut, and what they report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from torpca._core.problem import check_real
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Table

EPS = float(np.finfo(np.float64).eps)
# The threshold falls by no less than this factor, and by no more than that, in an iteration.
FASTEST, SLOWEST = 0.5, 0.95
# Tried on random tables: with 2 the threshold overtook the error at many shapes, with 3 at hardly
# fewer than with 2.5.
LEAN = 2.5
# A stage has done its work when the falling part of the threshold is this share of the rest.
ENOUGH = 0.01


def about_column_medians(X: Floats, center: bool) -> tuple[Floats, Floats | None]:
    """Rows of X (n, d) about the median of each column, and the medians; NaN does not count.

    X and None without centring. Not the spatial median: every row may have bad entries.
    """
    if not isinstance(center, bool | np.bool_):
        raise TypeError(f"center={center!r} must be True or False. Give one of these.")
    if not center:
        return X, None
    mean = np.nanmedian(X, axis=0)
    return X - mean, mean


def best_fit(A: Floats, k: int) -> tuple[Floats, Floats, Floats]:
    """Best fit of rank k to A (n, d), all singular values of A and a zero, k directions (d, k)."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    return (U[:, :k] * s[:k]) @ Vt[:k], np.append(s, 0.0), Vt[:k].T


def check_beta(beta: Any, shape: tuple[int, int]) -> float:
    """Largest good entry as a share of the largest singular value: `beta` or the usual one.

    That of a random table uv' with long vectors u and v of length one: the largest entry of a
    random one of length m is sqrt(2 log m/m).
    """
    if beta is not None:
        return check_real("beta", beta, 0.0)
    return float(np.prod([min(1.0, np.sqrt(2.0 * np.log(max(m, 2)) / m)) for m in shape]))


def check_decay(decay: Any, rank: int, shape: tuple[int, int], n_seen: int) -> float:
    """Factor by which the threshold falls in an iteration: `decay` or the usual one.

    A threshold must not fall faster than the error, or good entries are cut. The error falls by
    about the root of the number of unknowns per number seen.
    """
    if decay is None:
        pace = LEAN * float(np.sqrt(rank * sum(shape) / n_seen))
        return min(SLOWEST, max(FASTEST, pace))
    factor = check_real("decay", decay, 0.0)
    if not 0 < factor < 1:
        raise ValueError(
            f"decay={factor:g} must lie between 0 and 1: the threshold falls by this factor in an "
            "iteration. Leave decay out for its default."
        )
    return factor


def first_cut(M: Floats, beta: float) -> Floats:
    """M (n, d) with its gross entries, those above beta ||M||_2, set to zero.

    Gross entries inflate the norm they are compared with. So the cut is made again as long as it
    halves the norm; good tables lose little of theirs and are cut once. Where the cut ends then
    does not depend on how gross the entries are.
    """
    size, rest = np.inf, M
    while True:
        norm = float(np.linalg.norm(rest, 2))
        if not norm < 0.5 * size:
            return rest
        size, rest = norm, np.where(np.abs(M) > beta * norm, 0.0, M)


def directions(L: Floats) -> Floats:
    """Directions (d, k) in which L (n, d) is more than rounding."""
    _, s, Vt = np.linalg.svd(L, full_matrices=False)
    V: Floats = Vt[s > max(L.shape) * EPS * s[0]].T
    return V


def with_low_rank(table: Table, L: Floats, mean: Floats | None) -> Table:
    """The table with its low-rank part L (n, d), about `mean`, in place of the rows.

    Bad entries would decide over the singular values and the order of the directions.
    """
    return replace(table, X=L if mean is None else L + mean)


def parts(table: Table, L: Floats, rest: Floats, bad: Mask) -> tuple[Any, Any]:
    """L (n, d), and what it leaves where an entry is bad, as the user should get them."""
    with np.errstate(over="ignore"):  # what no float can hold is infinite
        S = table.unit * np.where(bad, rest, 0.0)
        return table.source.export(table.unit * L), table.source.export(S)
