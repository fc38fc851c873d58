"""One pass over rows: weigh each of them, and add up what the good ones are."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from torpca._core.measure import lengths_of_long
from torpca._robust.reference import Inside, Reference, weights_inside
from torpca._robust.rule import free_part
from torpca._robust.scatter import consistency
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Rows, picked, place, row_squares
from torpca._sources.tall import tall_rmatmul


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
    far_out: Floats
    """Weighted sum (k + 1, k + 1) of products of (y, 1), by the weight that rows far out in the
    subspace have in it, and not in the scatter of good rows."""
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
        """Where the good rows are inside the subspace, in the axes of the reference.

        What all rows have in the subspace, less what those far out inside it have too much.
        """
        k = at.rank
        second = at.V[:, :k].T @ (self.products[:, :k] - np.outer(at.mean, self.moments[:k]))
        second = (second + second.T) / 2 - self.far_out[:k, :k]
        total = self.weight - float(self.far_out[k, k])
        first = self.moments[:k] - self.far_out[k, :k]
        center = first / total if at.centered else np.zeros(k)
        freedom = max(total - at.centered, 0.5 * total)
        covariance = (second - total * np.outer(center, center)) / freedom
        return Inside(center, consistency(k) * covariance, at.inside.spread, at.inside.shrink)


@dataclass(frozen=True)
class Measured:
    """What a pass says of each row, and of all."""

    keep: Floats
    """Weight of each row, (n,), between 0 and 1, ..."""
    counts: Floats
    """... and how often it counts in the subspace."""
    n_rows: int
    """Number of rows that count."""
    summary: Summary


def measure(
    rows: RowSource, at: Reference, before: Floats, counts: Floats | None = None
) -> Measured:
    """Weigh rows by what is known of good ones, and add up what the good ones are.

    `before` (n,) are the weights the rows had so far, `counts` (n,) how often each counts; None:
    once.
    """
    k, coordinates = at.rank, at.coordinates(at.V.shape[1])
    whiten = at.inside.whiten(at.inside.shrink)

    def kernel(xp: Any, numbers: Rows, block: Array) -> Any:
        P, squares = coordinates(xp, block)
        # Rows may hold anything, even what is too large to be squared: those are far off.
        finite = xp.isfinite(squares)
        all_finite = bool(xp.all(finite))
        if not all_finite:
            P = xp.where(finite[:, None], P, xp.zeros_like(P))
            squares = xp.where(finite, squares, xp.full_like(squares, xp.inf))
        prior = place(xp, before[numbers], P)
        some, near, w, inside = row_weights(xp, at, P[:, :-1], squares, prior, whiten)
        part, less, far = w, w - inside, near == 0
        if not isinstance(some, slice):  # all other rows have whole weight
            part = np.ones(len(squares))
            part[some] = w
        keep = part
        if not all_finite:
            squares = xp.where(finite, squares, xp.zeros_like(squares))
        if counts is not None:
            c = place(xp, counts[numbers], P)
            part, less, far = c * part, c[some] * less, far & (c[some] > 0)
            keep = xp.where(c > 0, keep, xp.zeros_like(keep))
        scores = xp.concat([P[some, :k], P[some, -1:]], axis=1)
        weighted = part[:, None] * P
        sums = (
            part @ squares,
            xp.sum(weighted, axis=0),
            tall_rmatmul(xp, block, weighted),
            (less[:, None] * scores).T @ scores,
            xp.sum(xp.astype(far, P.dtype)),
            xp.sum(xp.astype(keep > 0, P.dtype)),
        )
        return (keep,), sums

    with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at what came out
        (keep,), sums = rows.sweep(kernel, native=at.native())
    n_rows = len(keep) if counts is None else int(np.count_nonzero(counts))
    squares, moments, products, *rest = sums
    summary = Summary(squares, moments, products.T, *rest)
    return Measured(keep, keep if counts is None else counts * keep, n_rows, summary)


def row_weights(
    xp: Any, at: Reference, Y: Array, squares: Array, prior: Array, whiten: Floats
) -> tuple[Any, Array, Array, Array]:
    """Numbers of some rows of a block, and their weights; the others have whole weight.

    By their residuals alone, by all there is, and in the scatter inside the subspace. Given the
    coordinates Y (any, k + q) and squared residuals of all, and the weights `prior` (any,) before.
    """
    k = at.rank
    inner = at.inner_squares(xp, Y[:, :k], whiten)
    some: Any = slice(None)
    if at.exact:
        near = w = xp.astype(at.rounding(xp, Y[:, :k], squares), squares.dtype)
    else:
        some = picked(xp, lambda: at.suspects(Y, squares, inner))
        Y, squares, inner, prior = Y[some, :], squares[some], inner[some], prior[some]
        h = row_squares(xp, Y[:, :k] * place(xp, 1.0 / at.s, Y))
        near, w = at.rule.weights(xp, squares / free_part(h, prior, xp), Y[:, k:])
    in_subspace, in_scatter = weights_inside(at, inner, xp)
    w = w * in_subspace
    return some, near, w, w * in_scatter


def distances(rows: RowSource, at: Reference) -> tuple[Floats, Floats]:
    """Distance of each row inside the subspace, in standard deviations, and from it, (n,) each."""
    coordinates, whiten = at.coordinates(at.rank), at.inside.whiten()

    def kernel(xp: Any, numbers: Rows, block: Array) -> Any:
        P, squares = coordinates(xp, block)
        if coordinates.exact:
            zero = at.rounding(xp, P[:, :-1], squares)
            squares = xp.where(zero, xp.zeros_like(squares), squares)
        return (at.inner_squares(xp, P[:, :-1], whiten) ** 0.5, squares**0.5), ()

    native = None if coordinates.exact else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        score, orthogonal = rows.sweep(kernel, native=native)[0]
    long = np.flatnonzero(~(np.isfinite(score) & np.isfinite(orthogonal)))
    V = at.V[:, : at.rank]
    center = at.mean + V @ at.inside.center
    score[long], orthogonal[long] = lengths_of_long(rows, long, center, V, whiten)
    return score, orthogonal
