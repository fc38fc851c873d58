"""One pass over all rows: weigh each by how near the subspace it is, and multiply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.measure import Measure
from torpca._sources import RowSource
from torpca._sources.base import (
    MIN_BLOCK_ROWS,
    Array,
    Floats,
    Mask,
    Rows,
    picked,
    place,
    row_squares,
)
from torpca._sources.tall import tall_rmatmul
from torpca._stats.cutoffs import taper
from torpca._stats.precision import Precision
from torpca._stats.rule import Rule, free_part
from torpca._stats.scatter import FAR_OUT
from torpca._stats.spread import Spread
from torpca._tuning import tuning

# A row of less leverage than this has its residual to within a hundredth whether it was in or not.
LITTLE = 0.01


@dataclass(frozen=True)
class Inside:
    """Where the good rows are inside the subspace."""

    center: Floats
    covariance: Floats
    spread: Spread
    """How distances spread that the covariance, times `shrink`, gives."""
    shrink: float

    def whiten(self, shrink: float = 1.0) -> Floats:
        """Matrix by which scores become standard deviations."""
        theta, Q = np.linalg.eigh(shrink * self.covariance)
        there = theta > 0
        whiten: Floats = Q[:, there] / np.sqrt(theta[there])
        return whiten


@dataclass(frozen=True)
class Frozen:
    """A subspace and what is known of the rows about it, before a pass over all of them."""

    mean: Floats
    """Point (d,) that rows are measured from: their mean, or zero if rows are not centred."""
    centered: bool
    V: Floats
    """Directions (d, k + q): the subspace, then the next ones, along which rows are looked at."""
    s: Floats
    """Singular values (k,) of the good rows along the first k."""
    rule: Rule
    law: Precision | None
    inside: Inside

    def suspects(self, Y: Floats, squares: Floats) -> Mask:
        """Mask of the rows of little leverage that may weigh less than 1: others need no root."""
        k, full = len(self.s), tuning().taper
        limit = (1 - 2 * LITTLE) * self.rule.residual.at(full * self.rule.cuts.residual) ** 2
        # Not ">": what is not a number is suspect.
        out: Mask = ~(squares <= limit)
        along = self.rule.along
        for j in range(Y.shape[1] - k):
            reach = full * self.rule.cuts.along * along.scale[j]
            out |= ~(np.abs(Y[:, k + j] - along.center[j]) <= reach)
        return out


@dataclass(frozen=True)
class Look:
    """What a pass saw."""

    keep: Floats
    """Weight of each row, (n,)."""
    n_far: int
    """Number of rows that have none because of their residuals."""
    part: Floats
    """Its part in the subspace."""
    weight: float
    """Sum of the rows' parts in the subspace."""
    left_over: float
    """Sum of the weighted squares of the residuals."""
    mean: Floats
    AV: Floats
    """(X - mean)' W (X - mean) V, (d, k + q)."""
    scores: tuple[float, Floats, Floats]
    """Weight, sum (k,) and products (k, k) of the scores of rows not far out in the subspace."""


def look(
    source: RowSource,
    at: Frozen,
    before: Floats,
    counts: Floats | None,
    *,
    exact: bool,
    single: bool,
) -> Look:
    """Pass over the rows: weigh them, and multiply the good ones with the subspace.

    `before` (n,) are the weights the rows had so far, `counts` (n,) how often each counts; None:
    once. `exact`: residuals are formed, for data that is nearly all signal; else they are
    differences of squares. `single`: float32 data may be multiplied as it is.
    """
    k = len(at.s)
    measure, scales = Measure(at.mean, at.V, k, exact), Scales(at)

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        P, squares = measure(xp, block)
        # Rows may hold anything, even what is too large to be squared: those are far off.
        finite = xp.isfinite(squares)
        all_finite = bool(xp.all(finite))
        if not all_finite:
            P = xp.where(finite[:, None], P, xp.zeros_like(P))
            squares = xp.where(finite, squares, xp.full_like(squares, xp.inf))
        found = scales.weigh(xp, P[:, :-1], squares, place(xp, before[rows], P))
        w, part = found.over(squares.shape[0])
        if not all_finite:
            squares = xp.where(finite, squares, xp.zeros_like(squares))
        less, far = found.part - found.inside, found.near == 0
        if counts is not None:
            c = place(xp, counts[rows], P)
            part, less = c * part, c[found.rows] * less
            w = xp.where(c > 0, w, xp.zeros_like(w))
            far = (found.near == 0) & (c[found.rows] > 0)
        scores = P[found.rows, :k]
        weighted = part[:, None] * P
        sums = (
            part @ squares,
            xp.sum(weighted, axis=0),
            tall_rmatmul(xp, block, weighted),
            xp.sum(less),
            less @ scores,
            (less[:, None] * scores).T @ scores,
            xp.sum(xp.astype(far, P.dtype)),
        )
        return (w,) if at.law is None else (w, part), sums

    with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at what came out
        native = None if exact else np.float32 if single else np.float64
        (w, *parts), sums = source.sweep(kernel, native=native)
    part = parts[0] if parts else w if counts is None else counts * w
    return seen(at, w, part, sums)


def seen(at: Frozen, w: Floats, part: Floats, sums: tuple[Floats, ...]) -> Look:
    """What a pass saw, from weights and parts (n,) of the rows and its sums over them."""
    k = len(at.s)
    left_over, weighted, products, *less, far = sums
    weight = float(weighted[-1])
    AV = products[:-1].T - np.outer(at.mean, weighted[:-1])
    # What all rows have in the subspace, less what those far out inside it have too much.
    second = at.V[:, :k].T @ AV[:, :k]
    inside = (weight - float(less[0]), weighted[:k] - less[1], (second + second.T) / 2 - less[2])
    # Sums about zero become sums about the new mean.
    moved = products[-1] / weight - at.mean if at.centered else np.zeros_like(at.mean)
    AV = AV - weight * np.outer(moved, moved @ at.V)
    return Look(w, int(far), part, weight, float(left_over), at.mean + moved, AV, inside)


class Scales:
    """A subspace and its scatter in the form in which rows of a block are weighed."""

    def __init__(self, at: Frozen) -> None:
        self.at = at
        self.whiten = at.inside.whiten(at.inside.shrink)
        self.center = at.inside.center @ self.whiten
        far_out = tuning().taper * min(FAR_OUT, at.rule.cuts.inside)
        self.reach = at.inside.spread.at(far_out) ** 2

    def weigh(self, xp: Any, Y: Array, squares: Array, prior: Array) -> Weighed:
        """Weigh rows with V'(x - mean), squared residuals and former weights."""
        at, k = self.at, len(self.at.s)
        inner = (place(xp, self.whiten.T, Y) @ Y[:, :k].T).T - place(xp, self.center, Y)
        inner = row_squares(xp, inner)
        some: Any = slice(None)
        if at.law is None:
            # Rows near the middle have no leverage to speak of: all others are looked at.
            some = picked(xp, lambda: at.suspects(Y, squares) | ~(inner <= self.reach))
        Y, squares, inner, prior = Y[some, :], squares[some], inner[some], prior[some]
        h = row_squares(xp, Y[:, :k] * place(xp, 1.0 / at.s, Y))
        squares = squares / free_part(h, prior, xp)
        near, w = at.rule.weights(xp, squares, Y[:, k:])
        z = at.inside.spread.z_of_squares(inner, xp)
        if np.isfinite(at.rule.cuts.inside):  # rows far out inside are off
            w = w * taper(z, at.rule.cuts.inside, xp)
        part = w if at.law is None else w * at.law.weights(squares**0.5)
        return Weighed(some, near, w, part, w * taper(z, FAR_OUT, xp))


@dataclass(frozen=True)
class Weighed:
    """Weights of some of the rows of a block; the others have all of theirs."""

    rows: Any
    """Their numbers in the block, or all of it."""
    near: Array
    """Their weights by their residuals alone."""
    weight: Array
    part: Array
    """Their part in the subspace, ..."""
    inside: Array
    """... and that in the scatter inside it."""

    def over(self, n_rows: int) -> tuple[Array, Array]:
        """Weight and part in the subspace of all `n_rows` rows of the block."""
        if isinstance(self.rows, slice):
            return self.weight, self.part
        w = np.ones(n_rows)
        w[self.rows] = self.weight
        return w, w


def distances(source: RowSource, at: Frozen, *, exact: bool) -> tuple[Floats, Floats]:
    """Distance of each row inside the subspace, in standard deviations, and from it, (n,) each."""
    k = len(at.s)
    measure = Measure(at.mean, at.V[:, :k], k, exact)
    whiten = at.inside.whiten()

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        P, squares = measure(xp, block)
        about = P[:, :-1] - place(xp, at.inside.center, P)
        about = (place(xp, whiten.T, P) @ about.T).T
        return (row_squares(xp, about) ** 0.5, squares**0.5), ()

    with np.errstate(over="ignore", invalid="ignore"):
        score, orthogonal = source.sweep(kernel, native=None if exact else np.float64)[0]
    return score, orthogonal


def distances_of_long(
    source: RowSource, at: Frozen, rows: npt.NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """The same for the numbered `rows`, whose squares are beyond every float: each in its own unit.

    What no float can hold is infinite.
    """
    score, orthogonal = np.zeros(len(rows)), np.zeros(len(rows))
    V, whiten = at.V[:, : len(at.s)], at.inside.whiten()
    center = at.mean + V @ at.inside.center
    for i in range(0, len(rows), MIN_BLOCK_ROWS):
        some = slice(i, i + MIN_BLOCK_ROWS)
        X = source.take(rows[some])
        size = np.max(np.abs(X), axis=1)
        C = X / size[:, None] - center / size[:, None]
        Y = C @ V
        with np.errstate(over="ignore"):
            score[some] = size * np.linalg.norm(Y @ whiten, axis=1)
            orthogonal[some] = size * np.linalg.norm(C - Y @ V.T, axis=1)
    return score, orthogonal
