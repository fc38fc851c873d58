"""The convex problem of Outlier Pursuit: nuclear norm plus the sum of the lengths of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from torpca._sources.base import Floats, Mask
from torpca.rivals._gaps import observed
from torpca.rivals._nuclear import LowRank, Multiplier, Watch, low_rank_part
from torpca.rivals._span import row_lengths

# Penalty of the splitting, in units in which rows and multipliers have length one.
PENALTY = 2.0
# Rounding in the length of a row of the multiplier.
CUT = 1e-12


@dataclass(frozen=True)
class Rows:
    """Rows to be split."""

    X: Floats
    """Rows (n, d) about their centre, zero where not seen."""
    seen: Mask | None
    """Which entries are known, (n, d); None if all are."""
    noise: float
    """Frobenius norm of the noise, in the unit of X."""

    def some(self, rows: Any) -> Rows:
        """The rows with these numbers, with their share of the noise."""
        share = np.sqrt(len(rows) / len(self.X))
        seen = None if self.seen is None else self.seen[rows]
        return Rows(self.X[rows], seen, share * self.noise)


def pursue(
    rows: Rows, lam: float, *, max_iter: int, tol: float, watch: Watch | None = None
) -> LowRank:
    """Minimiser L of ||L||_* + lam sum_i ||c_i|| over ||X - L - C||_F <= noise, in what is seen."""
    length = row_lengths(rows.X)
    # Rows of zeros have no part in it, and are no measure of the others. Nor are bad rows, if they
    # are long: the middle row is a good one.
    length = length[length > 0] if np.any(length > 0) else np.ones(1)
    typical = float(np.median(length))
    # No row of a multiplier with singular values of at most one is longer than that.
    lam = min(lam, 1.0)
    return low_rank_part(
        rows.X,
        row_multiplier(lam, rows.noise, rows.seen),
        PENALTY * lam / typical,
        float(np.sqrt(len(length))) * typical,
        max_iter=max_iter,
        tol=tol,
        watch=watch,
    )


def row_multiplier(lam: float, noise: float, seen: Mask | None) -> Multiplier:
    """Step of the multiplier: rows of length lam at most, and zero where nothing is seen.

    With noise the function is g(R) = min lam sum ||c_i|| over ||R - C||_F <= noise, and its
    conjugate adds noise ||Y||_F: then Y is made shorter by a factor found from one equation.
    """

    def multiplier(B: Floats, mu: float) -> Floats:
        B = observed(B, seen)
        length = row_lengths(B)
        spread = spread_of(length, lam, mu, noise)
        far = length > lam * spread
        factor = np.full(len(B), 1.0 / spread)
        factor[far] = lam / length[far]
        return factor[:, None] * B

    return multiplier


def spread_of(length: Floats, lam: float, mu: float, noise: float) -> float:
    """The a >= 1/mu for which rows as long as min(length/a, lam), times a - 1/mu, are the noise.

    B = C + N + Y/mu with N proportional to Y, so B = C + a Y: rows of Y are those of B/a, cut at
    length lam, and N is (a - 1/mu) Y. Infinite where noise explains all of B.
    """
    if noise == 0.0:
        return 1.0 / mu
    if noise >= np.linalg.norm(length):
        return np.inf

    def excess(b: float) -> float:  # increases with b = a mu
        return (1.0 - 1.0 / b) * float(np.linalg.norm(np.minimum(length, b * lam / mu))) - noise

    high = 2.0
    while excess(high) < 0.0:
        high *= 2.0
    return float(brentq(excess, 1.0, high, xtol=1e-15 * high, rtol=1e-14)) / mu


def outlier_part(left: Floats, noise: float) -> Floats:
    """Rows C (n, d), least sum of lengths, ||left - C||_F <= noise: `left`, all cut by as much.

    sum_i min(length_i, cut)^2 = noise^2, where the rows shorter than the cut vanish.
    """
    if noise == 0.0:
        return left
    length = row_lengths(left)
    if noise >= np.linalg.norm(length):
        return np.zeros_like(left)
    ordered = np.sort(length)
    # Cut if the rows from the j-th on are the longer ones; the first that is not too long is it,
    # and the last one if rounding made all of them too long.
    below = noise**2 - np.concatenate([[0.0], np.cumsum(ordered**2)[:-1]])
    cuts = np.sqrt(np.maximum(below, 0.0) / np.arange(len(ordered), 0, -1))
    cut = cuts[np.argmax(np.append(cuts[:-1] <= ordered[:-1], True))]
    longer = length > cut
    share = np.zeros(len(left))
    share[longer] = 1.0 - cut / length[longer]
    return share[:, None] * left


def cut_rows(Y: Floats, lam: float) -> Mask:
    """Rows of the multiplier that are as long as they may be, (n,): those with an outlier part."""
    cut: Mask = row_lengths(Y) >= (1.0 - CUT) * lam
    return cut
