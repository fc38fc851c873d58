"""Rows of a file that are read again at every pass, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._files.stored import Stored
from torpca._sources.base import (
    Array,
    Floats,
    Mask,
    Rows,
    RowSource,
    default_block_rows,
    kept_slices,
)


class ChunkedSource(RowSource):
    """Rows of a table in a file, of which no more than a chunk is in memory.

    Parameters
    ----------
    stored : Stored
        The file.
    rows : ndarray of shape (n_rows,), optional
        Numbers of the rows used, ascending. By default all.
    columns : ndarray of shape (n_features,), optional
        Places of the columns used, among those that `stored` yields. By default all.
    """

    def __init__(
        self,
        stored: Stored,
        rows: npt.NDArray[np.intp] | None = None,
        columns: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self.stored, self.rows, self.columns = stored, rows, columns
        n, d = stored.shape
        self.shape = (n if rows is None else len(rows), d if columns is None else len(columns))
        self.dtype = stored.dtype

    @property
    def picks_rows(self) -> bool:
        """Whether picking is cheap: a chunk is decoded whole, however few rows are asked for."""
        return False

    def blocks(self, keep: Mask | None = None) -> Iterator[tuple[Any, Rows, Array]]:
        """Yield the kept rows of one chunk after the other, in blocks that fit a cache."""
        step = default_block_rows(*self.shape)
        for first, chunk in self._chunks(keep):
            inside = None if keep is None else keep[first : first + len(chunk)]
            for window, rows, index in kept_slices(len(chunk), step, inside):
                block = chunk[window] if index is None else chunk[window][index]
                if isinstance(rows, slice):
                    rows = slice(rows.start + first, rows.stop + first)
                else:
                    rows = rows + first
                yield np, rows, block.astype(np.float64, copy=False)

    def take(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return the rows numbered `rows` as NumPy float64; one pass, whatever their number."""
        out = np.zeros((len(rows), self.shape[1]))
        wanted = np.zeros(self.shape[0], dtype=bool)
        wanted[rows] = True
        order = np.argsort(rows, kind="stable")
        ascending = np.asarray(rows)[order]
        for first, chunk in self._chunks(wanted):
            here = slice(*np.searchsorted(ascending, (first, first + len(chunk))))
            out[order[here]] = chunk[ascending[here] - first]
        return out

    def _chunks(self, wanted: Mask | None) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield (number of the first row among those used, rows) of chunks with a wanted row."""
        if wanted is not None and not wanted.any():
            return
        for start, chunk in self.stored.stream(self._in_the_file(wanted)):
            first = start
            if self.rows is not None:
                first, stop = np.searchsorted(self.rows, (start, start + len(chunk))).tolist()
                chunk = chunk[self.rows[first:stop] - start]
            if len(chunk):
                yield first, chunk if self.columns is None else chunk[:, self.columns]

    def _in_the_file(self, wanted: Mask | None) -> Mask | None:
        """The mask of rows used as one of rows of the file."""
        if self.rows is None:
            return wanted
        inside = np.zeros(self.stored.shape[0], dtype=bool)
        inside[self.rows if wanted is None else self.rows[wanted]] = True
        return inside
