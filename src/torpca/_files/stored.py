"""A table as it lies in a file: what every format answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Mask

Numbers = npt.NDArray[Any]
Texts = npt.NDArray[np.str_]


class Stored(ABC):
    """Columns of numbers in a file, in which values may be missing.

    A format says how to walk over the rows (`stream`) and what is beside the numbers (`beside`);
    all that happens to rows after that is written once, on these two.

    Attributes
    ----------
    shape : tuple of int
        (n_rows, n_columns), of the columns used.
    dtype : numpy.dtype
        float32 or float64, as `torpca._sources.base.RowSource` has it.
    names : tuple of str
        Names of the columns used.
    left_out : tuple of (str, str)
        Other columns, each with the reason.
    notes : tuple of str
        What was assumed, one sentence each.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @abstractmethod
    def stream(self, wanted: Mask | None = None) -> Iterator[tuple[int, Numbers]]:
        """Yield (number of the first row, rows) in order; missing values are NaN.

        Pieces without a row of the mask `wanted` may be skipped.
        """

    def beside(self) -> dict[str, list[Texts]]:
        """Values of the columns that name rows or tell times, in pieces, "" where there is none."""
        return {}

    @property
    def whole(self) -> Numbers | None:
        """All rows and columns as one array, if the table is one already."""
        return None


class StoredArray(Stored):
    """Columns of an array in memory, or of a file mapped into it."""

    def __init__(
        self,
        array: Numbers,
        names: tuple[str, ...],
        *,
        columns: npt.NDArray[np.intp] | None = None,
        beside: dict[str, list[Texts]] | None = None,
        left_out: tuple[tuple[str, str], ...] = (),
        notes: tuple[str, ...] = (),
        chunk_bytes: int,
    ) -> None:
        self.array = array
        self.names, self.left_out, self.notes = names, left_out, notes
        every = columns is None or np.array_equal(columns, np.arange(array.shape[1]))
        self.columns = None if every else columns
        self.shape = (len(array), len(names))
        self.dtype = result_dtype(array.dtype)
        self._beside = beside or {}
        self._step = rows_of(chunk_bytes, array.shape[1])

    def stream(self, wanted: Mask | None = None) -> Iterator[tuple[int, Numbers]]:
        """Yield slices of the array."""
        for rows in windows(self.shape[0], self._step, wanted):
            block = self.array[rows]
            yield rows.start, block if self.columns is None else block[:, self.columns]

    def beside(self) -> dict[str, list[Texts]]:
        """Values of the columns that name rows or tell times."""
        return self._beside

    @property
    def whole(self) -> Numbers | None:
        """The array itself, if all of its columns are used."""
        return self.array if self.columns is None else None


def result_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 for float32, float64 for every other type of number."""
    return np.dtype(np.float32 if dtype.newbyteorder("=") == np.float32 else np.float64)


def rows_of(chunk_bytes: int, n_columns: int) -> int:
    """Rows that take `chunk_bytes` as float64, at least one."""
    return max(1, chunk_bytes // (8 * max(1, n_columns)))


def windows(n: int, step: int, wanted: Mask | None = None) -> Iterator[slice]:
    """Yield slices of `step` rows over 0..n, without those in which no row is `wanted`."""
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        if wanted is None or wanted[rows].any():
            yield rows
