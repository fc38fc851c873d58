"""Rows of a SciPy sparse array or matrix, never made dense beyond a block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from torpca._sources.base import (
    Array,
    Floats,
    Kernel,
    Mask,
    Rows,
    RowSource,
    default_block_rows,
    gather,
    kept_slices,
)
from torpca._sources.parallel import blas_threads, in_order
from torpca._sources.views import Centered

# Nonzeros handled at a time, by each thread: 6 MB of values, indices and products.
SLAB_NONZEROS = 2**18

# ||x||^2 - ||V'x||^2 loses as many digits as it is smaller than ||x||^2. Above this share at most
# four of sixteen are lost; below it the row is made dense and its residual formed.
SAFE_SHARE = 1e-4


class SparseSource(RowSource):
    """Rows of a CSR or CSC matrix, less an optional common vector `offset`.

    The offset is carried through every product by algebra (a rank-one correction), so centred
    sparse rows cost what sparse rows cost. Products run over slabs of the stored format: rows of
    a CSR matrix, columns of a CSC matrix.
    """

    def __init__(self, X: Any, dtype: np.dtype[Any], offset: Floats | None = None) -> None:
        self.X = X
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        self.dtype = dtype
        self.offset = np.zeros(self.shape[1]) if offset is None else offset
        self.by_rows = X.format == "csr"
        # Cutting rows out of a CSC matrix reads all of it, so cut it into few, large blocks.
        self.block_rows = default_block_rows(*self.shape) * (1 if self.by_rows else 8)
        self._squares: Floats | None = None

    @property
    def takes_holes(self) -> bool:
        """No: filled rows would not be sparse."""
        return False

    @property
    def row_bytes(self) -> float:
        """Memory of a row's stored entries, values and column numbers, on average."""
        return float(self.X.data.nbytes + self.X.indices.nbytes) / self.shape[0]

    def centered(self, mean: Floats) -> RowSource:
        """View of the rows less `mean`: the same matrix with another offset.

        Rows that are mostly their mean would lose their digits in the algebra; they are not
        sparse either (with a share p of nonzeros ||mean||^2 is at most p ||x||^2), so they are
        centred in dense blocks.
        """
        offset = self.offset + mean
        with np.errstate(over="ignore"):  # rows of 1e160 are looked at through a `Scaled` view
            squares = self._row_squares()
            stored = squares[squares > 0]
            if len(stored) and offset @ offset > 0.5 * np.median(stored):
                return Centered(SparseSource(self.X, self.dtype), offset)
        view = SparseSource(self.X, self.dtype, offset)
        view._squares = self._squares
        return view

    # ---- dense blocks, for what algebra cannot do accurately ------------------------------------

    def blocks(self, keep: Mask | None = None) -> Iterator[tuple[Any, Rows, Array]]:
        """Yield dense float64 blocks."""
        for window, rows, index in kept_slices(self.shape[0], self.block_rows, keep):
            yield np, rows, self._dense(self.X[window if index is None else rows])

    def take(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return the rows numbered `rows`, dense."""
        return self._dense(self.X[rows])

    def _dense(self, block: Any) -> Floats:
        dense: Floats = block.toarray().astype(np.float64, copy=False) - self.offset
        return dense

    def sweep(self, kernel: Kernel, keep: Mask | None = None, native: Any = None) -> Any:
        """Run `kernel` over dense blocks or, if it takes them, over slabs of sparse rows."""
        if native is None or not self.by_rows or keep is not None or self.offset.any():
            return super().sweep(kernel, keep)

        def look(piece: tuple[slice, Any]) -> Any:
            return piece[0], *kernel(np, *piece)

        return gather(self.shape, kernel, in_order(look, self._slabs(), blas_threads()))

    # ---- products, by slabs of the stored format -----------------------------------------------

    def _slabs(self) -> Iterator[tuple[slice, Any]]:
        """Yield (range of rows or columns, that part of the matrix in float64)."""
        indptr = self.X.indptr
        start, last = 0, len(indptr) - 1
        while start < last:
            last_entry = (
                int(indptr[start]) + SLAB_NONZEROS
            )  # int: indptr may be close to int32's end
            stop = int(np.searchsorted(indptr, last_entry, side="right")) - 1
            part = slice(start, min(max(stop, start + 1), last))
            yield part, self._slab(part)
            start = part.stop

    def _slab(self, part: slice) -> Any:
        """Return these rows, or columns, in float64. Not by slicing, which copies them."""
        first, last = (int(self.X.indptr[i]) for i in (part.start, part.stop))
        count = part.stop - part.start
        n, d = self.shape
        values = self.X.data[first:last].astype(np.float64, copy=False)
        places = self.X.indptr[part.start : part.stop + 1] - first
        parts = (values, self.X.indices[first:last], places)
        if self.by_rows:
            return sp.csr_array(parts, shape=(count, d))
        return sp.csc_array(parts, shape=(n, count))

    def matmul(self, V: Floats) -> Floats:
        """X V, (n_rows, k)."""
        out = np.zeros((self.shape[0], V.shape[1]))
        for part, slab in self._slabs():
            if self.by_rows:
                out[part] = slab @ V
            else:
                out += slab @ V[part]
        return out - self.offset @ V

    def rmatmul(self, keep: Mask, Y: Floats) -> Floats:
        """X_keep' Y_keep, (n_features, k)."""
        Y = np.where(keep[:, None], Y, 0.0)
        out = np.zeros((self.shape[1], Y.shape[1]))
        for part, slab in self._slabs():
            if self.by_rows:
                out += slab.T @ Y[part]
            else:
                out[part] = slab.T @ Y
        return out - np.outer(self.offset, Y.sum(axis=0))

    def gram_matmul(self, keep: Mask, V: Floats) -> Floats:
        """X_keep' (X_keep V), (n_features, k)."""
        return self.rmatmul(keep, self.matmul(V))

    def total(self, keep: Mask) -> Floats:
        """Sum of the kept rows, (n_features,)."""
        return self.rmatmul(keep, np.ones((self.shape[0], 1)))[:, 0]

    def gram(self, keep: Mask) -> Floats:
        """X_keep' X_keep, (n_features, n_features)."""
        G = np.zeros((self.shape[1], self.shape[1]))
        if self.by_rows:
            for part, slab in self._slabs():
                inside = keep[part]
                kept = slab if inside.all() else slab[np.flatnonzero(inside)]
                _add_sparse(G, kept.T @ kept)
        else:
            kept_rows = sp.diags_array(keep.astype(np.float64), format="csr")
            for part, slab in self._slabs():
                kept = (kept_rows @ slab).tocsr()
                for other, left in self._slabs():
                    if other.start <= part.start:  # the rest follows by symmetry
                        product = (left.T @ kept).toarray()
                        G[other, part] = product
                        G[part, other] = product.T
        # sum (x-m)(x-m)' = sum xx' - t m' - m t' + n m m' with t the plain sum of the rows
        m, n_kept = self.offset, np.count_nonzero(keep)
        if m.any():
            t = self.total(keep) + n_kept * m
            G += n_kept * np.outer(m, m) - np.outer(t, m) - np.outer(m, t)
        return G

    def row_gram(self, keep: Mask) -> Floats:
        """X_keep X_keep', (n_kept, n_kept)."""
        if self.offset.any():  # few, long rows: dense blocks are exact and cheap enough
            return super().row_gram(keep)
        kept = self.X[np.flatnonzero(keep)].astype(np.float64, copy=False)
        dense: Floats = (kept @ kept.T).toarray()
        return dense

    # ---- numbers per row -------------------------------------------------------------------------

    def _entries(self) -> Iterator[tuple[npt.NDArray[np.intp], Floats]]:
        """Yield (row number, value) of the stored entries, a slab at a time."""
        for part, slab in self._slabs():
            if self.by_rows:
                counts = np.diff(slab.indptr)
                yield np.repeat(np.arange(part.start, part.stop), counts), slab.data
            else:
                yield slab.indices, slab.data

    def magnitudes(self) -> Floats:
        """Largest absolute entry of each row; the offset plays no part while it is zero."""
        if self.offset.any():
            return super().magnitudes()
        out = np.zeros(self.shape[0])
        for rows, values in self._entries():
            with np.errstate(invalid="ignore"):  # NaN is an answer here
                np.maximum.at(out, rows, np.abs(values))
        return out

    def _row_squares(self) -> Floats:
        """||x||^2 of the stored rows, offset left out; computed once."""
        if self._squares is None:
            self._squares = np.zeros(self.shape[0])
            for rows, values in self._entries():
                self._squares += np.bincount(rows, values * values, minlength=self.shape[0])
        return self._squares

    def scores(self, V: Floats, s: Floats, keep: Mask | None = None) -> tuple[Floats, Floats]:
        """Incoherence and residual of every row, the latter by difference where that is safe."""
        if keep is not None:  # a few rows
            return super().scores(V, s, keep)
        Y = self.matmul(np.column_stack([V, self.offset]))
        Y, along_offset = Y[:, :-1], Y[:, -1]  # V'(x-m) and m'(x-m)
        m2 = self.offset @ self.offset
        # ||x-m||^2 = ||x||^2 - 2 m'(x-m) - ||m||^2
        squares = self._row_squares() - 2 * along_offset - m2 - np.sum(Y * Y, axis=1)
        unsafe = np.flatnonzero(squares < SAFE_SHARE * (self._row_squares() + m2))
        R = np.sqrt(np.maximum(squares, 0.0))
        for i in range(0, len(unsafe), self.block_rows):
            rows = unsafe[i : i + self.block_rows]
            block = self.take(rows)
            R[rows] = np.linalg.norm(block - (block @ V) @ V.T, axis=1)
        return np.linalg.norm(Y / s, axis=1), R


def _add_sparse(G: Floats, product: Any) -> None:
    """G += product, where product is sparse with each entry stored once."""
    product = product.tocoo()
    G[product.row, product.col] += product.data
