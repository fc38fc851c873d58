"""One pass over rows: weigh each of them, and add up what the good ones are."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.measure import Measure
from torpca._robust.reference import Inside, Reference, Scales
from torpca._sources import RowSource
from torpca._sources.base import MIN_BLOCK_ROWS, Array, Floats, Rows, place, row_squares
from torpca._sources.tall import tall_rmatmul
from torpca._stats.scatter import consistency


@dataclass(frozen=True)
class Summary:
    """All that a pass over rows adds up, against one reference.

    Sums over some rows plus sums over the others are sums over all of them.
    """

    squares: Floats
    """Sum of the weighted squares of the residuals."""
    moments: Floats
    """Weighted sum (k + q + 1,) of the rows' coordinates y = V'(x - mean), then of 1."""
    products: Floats
    """Weighted sum (d, k + q + 1) of x y', then of x."""
    less: Floats
    """Weight, ..."""
    less_scores: Floats
    """... sum (k,) ..."""
    less_squares: Floats
    """... and products (k, k) of the scores that rows far out in the subspace have too much."""
    n_far: Floats
    """Number of rows that have no weight because of their residuals, ..."""
    n_kept: Floats
    """... and of those that have some."""

    def __add__(self, other: Summary) -> Summary:
        """Sums over the rows of both."""
        return Summary(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def weight(self) -> float:
        """Weight of the rows in the subspace."""
        return float(self.moments[-1])

    def mean(self, at: Reference) -> Floats:
        """Weighted mean (d,) of the rows; the reference's point if rows are not centred."""
        return self.products[:, -1] / self.weight if at.centered else at.mean

    def gram_times(self, at: Reference) -> Floats:
        """(X - mean)' W (X - mean) V, (d, k + q), about the weighted mean."""
        AV = self.products[:, :-1] - np.outer(at.mean, self.moments[:-1])
        moved = self.mean(at) - at.mean
        about: Floats = AV - self.weight * np.outer(moved, moved @ at.V)
        return about

    def inside(self, at: Reference) -> Inside:
        """Where the good rows are inside the subspace, in the axes of the reference."""
        k = at.rank
        # What all rows have in the subspace, less what those far out inside it have too much.
        second = at.V[:, :k].T @ (self.products[:, :k] - np.outer(at.mean, self.moments[:k]))
        second = (second + second.T) / 2 - self.less_squares
        total = self.weight - float(self.less)
        center = (self.moments[:k] - self.less_scores) / total if at.centered else np.zeros(k)
        covariance = (second - total * np.outer(center, center)) / max(
            total - at.centered, 0.5 * total
        )
        return Inside(center, consistency(k) * covariance, at.inside.spread, at.inside.shrink)


@dataclass(frozen=True)
class Measured:
    """What a pass says of each row, and of all."""

    keep: Floats
    """Weight of each row, (n,), ..."""
    part: Floats
    """... and how often it counts in the subspace."""
    summary: Summary


def measure(
    rows: RowSource, at: Reference, before: Floats, counts: Floats | None = None
) -> Measured:
    """Weigh rows by what is known of good ones, and add up what the good ones are.

    `before` (n,) are the weights the rows had so far, `counts` (n,) how often each counts; None:
    once.
    """
    k = at.rank
    coordinates, scales = at.measure(), Scales(at)

    def kernel(xp: Any, numbers: Rows, block: Array) -> Any:
        P, squares = coordinates(xp, block)
        # Rows may hold anything, even what is too large to be squared: those are far off.
        finite = xp.isfinite(squares)
        all_finite = bool(xp.all(finite))
        if not all_finite:
            P = xp.where(finite[:, None], P, xp.zeros_like(P))
            squares = xp.where(finite, squares, xp.full_like(squares, xp.inf))
        found = scales.weigh(xp, P[:, :-1], squares, place(xp, before[numbers], P))
        w = part = found.over(squares.shape[0])
        if not all_finite:
            squares = xp.where(finite, squares, xp.zeros_like(squares))
        less, far = found.weight - found.inside, found.near == 0
        if counts is not None:
            c = place(xp, counts[numbers], P)
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
            xp.sum(xp.astype(w > 0, P.dtype)),
        )
        return (w,), sums

    with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at what came out
        native = None if at.formed or at.exact else np.float32 if at.single else np.float64
        (w,), sums = rows.sweep(kernel, native=native)
    part = w if counts is None else counts * w
    squares, moments, products, *rest = sums
    return Measured(w, part, Summary(squares, moments, products.T, *rest))


def distances(rows: RowSource, at: Reference) -> tuple[Floats, Floats]:
    """Distance of each row inside the subspace, in standard deviations, and from it, (n,) each."""
    k = at.rank
    coordinates = Measure(at.mean, at.V[:, :k], k, at.formed or at.exact)
    whiten = at.inside.whiten()

    def kernel(xp: Any, numbers: Rows, block: Array) -> Any:
        P, squares = coordinates(xp, block)
        if at.exact:
            zero = at.rounding(xp, P[:, :k], squares)
            squares = xp.where(zero, xp.zeros_like(squares), squares)
        about = P[:, :-1] - place(xp, at.inside.center, P)
        about = (place(xp, whiten.T, P) @ about.T).T
        return (row_squares(xp, about) ** 0.5, squares**0.5), ()

    native = None if at.formed or at.exact else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        score, orthogonal = rows.sweep(kernel, native=native)[0]
    long = np.flatnonzero(~(np.isfinite(score) & np.isfinite(orthogonal)))
    score[long], orthogonal[long] = _distances_of_long(rows, at, long)
    return score, orthogonal


def _distances_of_long(
    rows: RowSource, at: Reference, numbers: npt.NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """The same for numbered rows whose squares are beyond every float: each in its own unit.

    What no float can hold is infinite.
    """
    score, orthogonal = np.zeros(len(numbers)), np.zeros(len(numbers))
    V, whiten = at.V[:, : at.rank], at.inside.whiten()
    center = at.mean + V @ at.inside.center
    for i in range(0, len(numbers), MIN_BLOCK_ROWS):
        some = slice(i, i + MIN_BLOCK_ROWS)
        X = rows.take(numbers[some])
        size = np.max(np.abs(X), axis=1)
        C = X / size[:, None] - center / size[:, None]
        Y = C @ V
        with np.errstate(over="ignore"):
            score[some] = size * np.linalg.norm(Y @ whiten, axis=1)
            orthogonal[some] = size * np.linalg.norm(C - Y @ V.T, axis=1)
    return score, orthogonal
