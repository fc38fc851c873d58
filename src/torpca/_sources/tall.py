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
    step = max(1, AT_ONCE // max(1, V.size))
    for i in range(0, len(block), step):
        out[:, i : i + step] = (block[i : i + step] @ V).T
    return out.T


def tall_rmatmul(xp: Any, block: Array, Y: Array) -> Array:
    """Y' times the block, (p, d), for Y of shape (rows of the block, p)."""
    Y = xp.astype(Y, block.dtype, copy=False)
    if not isinstance(block, np.ndarray):
        return (block.T @ Y).T
    total = np.zeros((Y.shape[1], block.shape[1]))
    step = max(1, AT_ONCE // max(1, total.size))
    for i in range(0, len(block), step):
        total += Y[i : i + step].T @ block[i : i + step]
    return total
