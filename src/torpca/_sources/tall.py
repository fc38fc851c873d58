"""Products of blocks of many rows with few vectors, whatever the blocks are."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._sources.base import Array, Floats, dtype_of, place

# OpenBLAS multiplies up to a million numbers without packing them first, which takes half the time.
AT_ONCE = 900_000


def tall_matmul(xp: Any, block: Array, V: Floats) -> Array:
    """Block times V (d, p), in float64.

    In NumPy the columns are contiguous: what is done with each of them next runs along the rows.
    """
    V = place(xp, V.astype(dtype_of(block), copy=False), block)
    if not isinstance(block, np.ndarray):
        return xp.astype(block @ V, xp.float64, copy=False)
    out = np.empty((V.shape[1], len(block)))
    pieces, rest = _in_pieces(block, V.size)
    whole = len(block) - len(rest)
    out[:, :whole] = (pieces @ V).reshape(whole, len(out)).T
    out[:, whole:] = (rest @ V).T
    return out.T


def tall_rmatmul(xp: Any, block: Array, Y: Array) -> Array:
    """Y' times the block, (p, d), for Y of shape (rows of the block, p)."""
    Y = xp.astype(Y, block.dtype, copy=False)
    if not isinstance(block, np.ndarray):
        return (block.T @ Y).T
    size = Y.shape[1] * block.shape[1]
    pieces, rest = _in_pieces(block, size)
    sides, side = _in_pieces(Y, size)
    total = np.asarray(side.T @ rest, dtype=np.float64)
    total += np.sum(sides.transpose(0, 2, 1) @ pieces, axis=0, dtype=np.float64)
    return total


def _in_pieces(block: Array, size: int) -> tuple[Array, Array]:
    """Rows of a block in pieces (count, rows, d) of AT_ONCE over `size` rows, and those left over.

    Products of all pieces are one call, in which other threads may work.
    """
    step = max(1, AT_ONCE // max(1, size))
    count = len(block) // step
    pieces = block[: count * step].reshape(count, step, block.shape[1])
    return pieces, block[count * step :]
