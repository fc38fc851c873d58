"""The low-rank part of a table: least nuclear norm plus a norm of what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from torpca._core.problem import check_real
from torpca._sources.base import Floats

# Past steps an extrapolation combines. More gave fewer iterations, but none that were cheaper.
MEMORY = 4
# The past steps are nearly parallel towards the end; this share of their size keeps them apart.
RIDGE = 1e-10
# A change of F that is this share of F is rounding: divided by it, a step would lead anywhere.
STILL = 1e-12
# The penalty is looked at every so many iterations of the first ones. Later it stays as it is, for
# with a penalty that keeps changing the iterations need not converge.
LOOK_EVERY, LOOK_UNTIL = 10, 100
# It changes where one side settles this many times faster than the other, by no more than a factor.
UNEVEN, LARGEST_TURN = 5.0, 10.0
# In all it grows by no more than this: a large one keeps L where it is, which looks like settling.
LARGEST_PENALTY = 10.0
# Rounding in W, as a share of the size of L: no residual gets below it. Also that in rows of
# length one.
ROUNDING = 1e-14

Multiplier = Callable[[Floats, float], Floats]
"""From B (n, d) and the penalty mu to the multiplier (n, d); see `low_rank_part`."""
Watch = Callable[[Floats, Floats, Floats], None]
"""Told of every L (n, d), its singular values (k,) and directions (d, m), those of L first."""


@dataclass(frozen=True)
class LowRank:
    """Where the iterations ended."""

    L: Floats
    """Low-rank part, (n, d)."""
    Y: Floats
    """Multiplier of X = L + rest, (n, d): a subgradient of ||L||_* and of g at the rest."""
    W: Floats
    """L + Y/mu, (n, d), of which L is the part with large singular values; mu is the penalty."""
    rank: int
    """Rank of L."""
    n_iter: int
    converged: bool

    def directions(self, k: int) -> Floats:
        """Directions (d, k) of L and, where it has fewer, the ones that would enter it next.

        These are singular vectors of W: the multiplier has singular value one along the directions
        of L and less along all others, the more the nearer they are to paying for themselves.
        """
        return np.linalg.svd(self.W, full_matrices=False)[2][:k].T


def low_rank_part(
    X: Floats,
    multiplier: Multiplier,
    mu: float,
    size: float,
    *,
    max_iter: int,
    tol: float,
    watch: Watch | None = None,
) -> LowRank:
    """Minimiser of ||L||_* + g(X - L) over L (n, d), by Douglas-Rachford splitting.

    These are the iterations of ADMM with penalty mu on the two copies L = P. `multiplier(B, mu)`
    stands for the convex function g: the Y with the largest <Y, B> - g*(Y) - ||Y||^2/(2 mu), which
    is the point nearest to mu B in a ball if g is a norm.

    An entry of X enters an iteration through the multiplier alone, and that has no large entries.
    So P goes from 0 towards X in steps of bounded length: rows that are not of low rank, however
    long, are never subtracted from anything small, and do not appear in the size of a residual.
    It ends when ||P - L||_F <= tol size, where `size` is that of the good rows of X, and the
    multipliers of the two sides differ by tol ||Y||_F.
    """
    W = np.zeros_like(X)
    highest = LARGEST_PENALTY * mu
    walk, before = Extrapolation(), None
    for t in range(max_iter):
        L, s, V = shrink_singular_values(W, 1.0 / mu)
        R = 2.0 * L - W
        Y = multiplier(X - R, mu)
        if watch is not None:
            watch(L, s, V)
        F = Y / mu + R - L  # P - L, with P = 2 L - W + Y/mu
        gap = float(np.linalg.norm(F))
        of_L = float(np.sqrt(np.sum(s * s)))
        of_Y = float(np.linalg.norm(Y))
        if gap <= tol * size + ROUNDING * of_L and mu * gap <= (tol + ROUNDING) * of_Y:
            return LowRank(L, Y, W, len(s), t + 1, True)
        W_of_L = W  # the next one is no longer what L was made of
        if before is not None:
            turned = min(mu * turn(L, mu * (W - L), *before, size), highest)
            before = None
            if turned != mu:
                W = L + (W - L) * (mu / turned)
                mu = turned
                walk.forget()
                continue
        elif t % LOOK_EVERY == LOOK_EVERY - 2 and t < LOOK_UNTIL:
            before = L, mu * (W - L)
        W = walk.step(W, F, gap)
    return LowRank(L, Y, W_of_L, len(s), max_iter, False)


def shrink_singular_values(W: Floats, by: float) -> tuple[Floats, Floats, Floats]:
    """W (n, d) with singular values less `by`, those left (k,), and the directions of W (d, m).

    There are m = min(n, d) directions, by falling singular values: the first k are those kept.
    From the Gram matrix of the smaller side. Its square roots have no digits below 1e-8 of the
    largest, but no singular value below `by` is asked for.
    """
    n, d = W.shape
    values, E = eigh(W.T @ W if d <= n else W @ W.T, check_finite=False)
    s, E = np.sqrt(np.maximum(values[::-1], 0.0)), E[:, ::-1]
    k = int(np.count_nonzero(s > by))
    share = 1.0 - by / s[:k]
    if d <= n:
        V = E
        L = (W @ (V[:, :k] * share)) @ V[:, :k].T
    else:
        L = (E[:, :k] * share) @ (E[:, :k].T @ W)
        V = W.T @ E / np.where(s > 0, s, 1.0)
    return L, s[:k] - by, V


def turn(L: Floats, Y: Floats, L_before: Floats, Y_before: Floats, size: float) -> float:
    """Factor for the penalty: less where L moves more than Y does, both as shares of their size.

    An L that is next to nothing counts as being of the `size` of the rows.
    """
    of_L = float(np.linalg.norm(L - L_before)) * float(np.linalg.norm(Y))
    of_Y = float(np.linalg.norm(Y - Y_before)) * max(float(np.linalg.norm(L)), size)
    if of_L > UNEVEN * of_Y:
        return 1.0 / min(np.sqrt(of_L / of_Y), LARGEST_TURN) if of_Y > 0 else 1.0
    if of_Y > UNEVEN * of_L:
        return float(min(np.sqrt(of_Y / of_L), LARGEST_TURN)) if of_L > 0 else 1.0
    return 1.0


class Extrapolation:
    """Steps to the fixed point of W -> W + F(W), by Anderson's acceleration.

    Long rows make the iterations slow: where the multiplier of a row is all direction, it turns by
    as much less as the row is longer. Of a few past steps the combination is taken that would have
    had the least F. A plain step never makes F larger, so a combination that does is undone.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew: F is about to become another function."""
        self.last: tuple[Floats, Floats] | None = None
        self.gap = np.inf
        self.plain: Floats | None = None
        # Changes of F, those of W + F that came with them, and inner products of the former.
        self.changes: list[Floats] = []
        self.moves: list[Floats] = []
        self.G = np.zeros((0, 0))

    def step(self, W: Floats, F: Floats, gap: float) -> Floats:
        """Where to go from W, where F has the norm `gap`."""
        if self.plain is not None and gap > self.gap:
            back = self.plain
            self.forget()
            return back
        ahead = W + F
        self.plain, self.gap = None, gap
        if self.last is not None:
            change = F - self.last[1]
            if float(np.linalg.norm(change)) > STILL * gap:
                self.remember(W - self.last[0], change)
        self.last = W, F
        size = float(np.trace(self.G))
        if size > 0.0:
            self.plain = ahead.copy()
            g = np.array([np.vdot(change, F) for change in self.changes])
            for share, move in zip(
                np.linalg.solve(self.G + RIDGE * size * np.eye(len(g)), g), self.moves, strict=True
            ):
                ahead -= share * move
        return ahead

    def remember(self, step: Floats, change: Floats) -> None:
        """Add a step and what it changed F by, in place of the oldest."""
        self.changes = [*self.changes, change][-MEMORY:]
        self.moves = [*self.moves, step + change][-MEMORY:]
        m = len(self.changes)
        G = np.zeros((m, m))
        kept = min(m - 1, len(self.G))
        G[:kept, :kept] = self.G[-kept:, -kept:] if kept else 0.0
        G[-1] = G[:, -1] = [np.vdot(change, other) for other in self.changes]
        self.G = G


def check_weight(lam: Any) -> float:
    """Check that lam, the weight of what is left, is a number above zero."""
    weight = check_real("lam", lam, 0.0)
    if weight == 0.0:
        raise ValueError(
            "lam=0 must be more than 0: what weighs nothing takes all of X. Leave lam out for its "
            "default."
        )
    return weight
