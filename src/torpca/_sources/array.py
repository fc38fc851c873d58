"""Rows in memory, or mapped into it, through the array API standard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import (
    LARGER_FOR_PRODUCTS,
    Array,
    Floats,
    Kernel,
    Mask,
    Rows,
    RowSource,
    default_block_rows,
    gather,
    kept_slices,
    place,
    to_numpy,
)
from torpca._sources.parallel import blas_threads, in_order


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
        # An accelerator wants few, large kernels; a processor wants blocks that fit its cache.
        larger = 1 if "cpu" in str(X.device).lower() else 128
        self.block_rows = block_rows or larger * default_block_rows(*self.shape)
        self.product_rows = block_rows or LARGER_FOR_PRODUCTS * self.block_rows

    @property
    def in_memory(self) -> bool:
        """Whether the array is one of NumPy that is not mapped from a file."""
        base = self.X
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        return self.xp is np and base is None

    def blocks(self, keep: Mask | None = None) -> Iterator[tuple[Any, Rows, Array]]:
        """Yield slices of the array as float64; kept rows are gathered before the conversion."""
        return map(self._load, kept_slices(self.shape[0], self.block_rows, keep))

    def _load(self, piece: tuple[slice, Rows, Any], native: Any = None) -> tuple[Any, Rows, Array]:
        window, rows, index = piece
        xp, block = self.xp, self.X[window, :]
        if index is not None:
            block = xp.take(block, place(xp, index, block), axis=0)
        if self._as_it_is(native):
            return xp, rows, block
        return xp, rows, xp.astype(block, xp.float64, copy=False)

    def _as_it_is(self, native: Any) -> bool:
        """Whether a kernel takes blocks of the array as they are."""
        kind = self.X.dtype
        return bool(kind == self.xp.float64 or (native is np.float32 and kind == self.xp.float32))

    def sweep(self, kernel: Kernel, keep: Mask | None = None, native: Any = None) -> Any:
        """Run `kernel` over the blocks, on several cores where NumPy leaves that to us."""

        def look(piece: tuple[slice, Rows, Any]) -> Any:
            xp, rows, block = self._load(piece, native)
            return rows, *kernel(xp, rows, block)

        copied = native is None or not self._as_it_is(native)
        step = self.block_rows if copied else self.product_rows
        pieces = list(kept_slices(self.shape[0], step, keep))
        workers = blas_threads() if self.xp is np and len(pieces) > 1 else 1
        return gather(self.shape, kernel, in_order(look, pieces, workers))

    def take(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return the rows numbered `rows` as NumPy float64."""
        # Not NumPy's take: it copies all of an array in Fortran's order first.
        xp = self.xp
        taken = self.X[rows] if xp is np else xp.take(self.X, place(xp, rows, self.X), axis=0)
        return to_numpy(self.xp.astype(taken, self.xp.float64, copy=False))

    def band(self, keep: Mask, features: slice) -> Floats | None:
        """Some features of the kept rows, of arrays in NumPy."""
        if self.xp is not np:
            return None
        band = self.X[:, features]
        return np.asarray(band if keep.all() else band[keep], dtype=np.float64)

    def export(self, array: npt.NDArray[Any]) -> Array:
        """Hand results back in the data's own library, type and device."""
        return place(self.xp, super().export(array), self.X)
