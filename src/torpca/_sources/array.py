"""Rows in memory, or mapped into it, through the array API standard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import (
    Array,
    Floats,
    Mask,
    Rows,
    RowSource,
    default_block_rows,
    kept_slices,
    place,
    to_numpy,
)


class ArraySource(RowSource):
    """Rows of a two-dimensional array: NumPy (memory maps included), torch, CuPy, ...

    Blocks are slices; nothing but the block at hand is converted to float64, so integers,
    float32 and files mapped into memory cost one block of extra memory.
    """

    def __init__(
        self, X: Array, xp: Any, dtype: np.dtype[Any], block_rows: int | None = None
    ) -> None:
        self.X = X
        self.xp = xp
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        self.dtype = dtype
        self.block_rows = block_rows or default_block_rows(self.shape[1])

    def blocks(self, keep: Mask | None = None) -> Iterator[tuple[Any, Rows, Array]]:
        """Yield slices of the array as float64; kept rows are gathered before the conversion."""
        xp = self.xp
        for window, rows, index in kept_slices(self.shape[0], self.block_rows, keep):
            block = self.X[window, :]
            if index is not None:
                block = xp.take(block, place(xp, index, block), axis=0)
            yield xp, rows, xp.astype(block, xp.float64, copy=False)

    def take(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return the rows numbered `rows` as NumPy float64."""
        taken = self.xp.take(self.X, place(self.xp, rows, self.X), axis=0)
        return to_numpy(taken).astype(np.float64, copy=False)

    def export(self, array: npt.NDArray[Any]) -> Array:
        """Hand results back in the data's own library, type and device."""
        return place(self.xp, super().export(array), self.X)
