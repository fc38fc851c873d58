"""What the methods for bad entries share: fits of low rank, thresholds, and what they report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._core.problem import check_real
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Table

# In an iteration the threshold falls by a factor between these.
FASTEST, SLOWEST = 0.5, 0.95
# Tried on random tables, complete and incomplete: with less the threshold overtook the error at
# many shapes, with more at hardly fewer.
LEAN, LEANER = 2.5, 3.0
# A stage has done its work when the falling part of the threshold is this share of the rest.
ENOUGH = 0.01
# Entries of noise farther out than this many standard deviations are rare; a standard deviation is
# this many medians of their sizes.
FAR_OUT, NORMAL = 3.0, 1.4826


def best_fit(A: Floats, k: int) -> tuple[Floats, Floats, Floats]:
    """Best fit of rank k to A (n, d), all singular values of A and a zero, k directions (d, k)."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    return (U[:, :k] * s[:k]) @ Vt[:k], np.append(s, 0.0), Vt[:k].T


def check_beta(beta: Any, shape: tuple[int, int]) -> float:
    """Largest good entry as a share of the largest singular value: `beta` or the usual one.

    For a random table uv', with vectors of length one, this is about 2 sqrt(log n log d/(n d)).
    A root of two less did better: few good entries are that large, and more bad ones are found.
    """
    if beta is not None:
        return check_real("beta", beta, 0.0)
    spread = [min(1.0, np.sqrt(2.0 * np.log(max(m, 2)) / m)) for m in shape]
    return float(np.sqrt(0.5) * np.prod(spread))


def check_decay(decay: Any, rank: int, shape: tuple[int, int], n_seen: int) -> float:
    """Factor by which the threshold falls in an iteration: `decay` or the usual one.

    A threshold must not fall faster than the error, or good entries are cut. The error falls by
    about the root of the number of unknowns per number seen.
    """
    if decay is None:
        slack = LEAN if n_seen == shape[0] * shape[1] else LEANER
        return min(SLOWEST, max(FASTEST, slack * float(np.sqrt(rank * sum(shape) / n_seen))))
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


def gross(rest: Floats, seen: Mask | None, threshold: float) -> Mask:
    """Entries of `rest` (n, d) above the threshold, or above what noise makes likely.

    Without that floor noise is cut, which lowers the threshold, which cuts more of it. Without
    noise the floor goes to zero as the good entries of the rest do.
    """
    size = np.abs(rest)
    scale = NORMAL * float(np.median(size if seen is None else size[seen]))
    return size > max(threshold, FAR_OUT * scale)


@dataclass
class Stages:
    """Rank k of the fits, which grows, and the threshold, which falls in every stage.

    After t iterations of a stage it is beta (sigma_{k+1} + decay^t sigma_k).
    """

    k: int
    rank: int
    """The last k."""
    beta: float
    decay: float
    tol: float
    t: int = 0
    converged: bool = False
    """Whether the last stage is over, and L has come to rest."""

    def threshold(self, s: Floats) -> float:
        """Size of entries that are bad, given the singular values s of what L was fitted to."""
        return self.beta * float(s[self.k] + self._falling(s))

    def go_on(self, s: Floats, L: Floats, before: Floats, following: int) -> None:
        """End an iteration that took L (n, d) from `before`; the stage after has rank `following`.

        A smaller rank than was asked for is enough where nothing is left for a larger one.
        """
        falling = self._falling(s)
        still = bool(np.linalg.norm(L - before) <= self.tol * np.linalg.norm(L))
        last = self.k == self.rank or bool(s[self.k] <= self.tol * s[0])
        self.converged = last and still and bool(falling <= self.tol * s[0])
        self.t += 1
        if self.k < self.rank and falling <= ENOUGH * s[self.k]:
            self.k, self.t = following, 0

    def _falling(self, s: Floats) -> float:
        return float(self.decay**self.t * s[self.k - 1])


def with_low_rank(table: Table, L: Floats, mean: Floats | None) -> Table:
    """The table with its low-rank part L (n, d), about `mean`, in place of the rows.

    Bad entries would decide over the singular values and the order of the directions.
    """
    return replace(table, X=L if mean is None else L + mean)
