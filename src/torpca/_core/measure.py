"""Coordinates and residuals of the rows of a block, and products with their Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources import RowSource
from torpca._sources.base import MIN_BLOCK_ROWS, Array, Floats, Rows, place, row_squares
from torpca._sources.tall import tall_matmul, tall_rmatmul


@dataclass(frozen=True)
class Measure:
    """V'(x - mean) of rows, then 1, and their squared distances from the first k directions."""

    mean: Floats
    V: Floats
    k: int
    exact: bool

    def __call__(self, xp: Any, block: Array) -> tuple[Array, Array]:
        """Of the rows of a block."""
        k, V, mean = self.k, self.V, self.mean
        if self.exact:
            block = block - place(xp, mean, block)
            P = tall_matmul(xp, block, np.column_stack([V, np.zeros(len(mean))]))
            P[:, -1] = 1.0
            return P, row_squares(xp, block - P[:, :k] @ place(xp, V[:, :k], block).T)
        P = tall_matmul(xp, block, np.column_stack([V, mean]))
        P[:, :-1] -= place(xp, mean @ V, P)
        squares = xp.astype(row_squares(xp, block), xp.float64, copy=False)
        squares = squares - 2 * P[:, -1] + (float(mean @ mean) - row_squares(xp, P[:, :k]))
        P[:, -1] = 1.0
        return P, xp.clip(squares, 0.0, None)


def product(
    source: RowSource, mean: Floats, part: Floats, V: Floats, *, centered: bool, single: bool
) -> Floats:
    """(X - mean)' W (X - mean) V for rows of weights `part` (n,) and their weighted mean."""
    shift = mean @ V

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        w = place(xp, part[rows], block)
        Y = tall_matmul(xp, block, V)
        Y = w[:, None] * (Y - place(xp, shift, Y))
        if not bool(xp.all(xp.isfinite(Y))):  # as in `_robust.measure`
            Y = xp.where(w[:, None] > 0, Y, xp.zeros_like(Y))
        return (), (tall_rmatmul(xp, block, Y), xp.sum(Y, axis=0))

    with np.errstate(over="ignore", invalid="ignore"):
        products, total = source.sweep(kernel, native=np.float32 if single else np.float64)[1]
    return products.T - np.outer(mean, total) if centered else products.T


def lengths_of_long(
    source: RowSource, rows: npt.NDArray[np.intp], center: Floats, V: Floats, whiten: Floats
) -> tuple[Floats, Floats]:
    """|W'V'c| and |c - VV'c| of numbered rows less `center` whose squares are beyond every float.

    Each in its own unit. What no float can hold is infinite.
    """
    inside, beyond = np.zeros(len(rows)), np.zeros(len(rows))
    for i in range(0, len(rows), MIN_BLOCK_ROWS):
        some = slice(i, i + MIN_BLOCK_ROWS)
        X = source.take(rows[some])
        size = np.max(np.abs(X), axis=1)
        C = X / size[:, None] - center / size[:, None]
        Y = C @ V
        with np.errstate(over="ignore"):
            inside[some] = size * np.linalg.norm(Y @ whiten, axis=1)
            beyond[some] = size * np.linalg.norm(C - Y @ V.T, axis=1)
    return inside, beyond
