"""Rows in a Dask array, chunk by chunk, in whatever scheduler the user runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Array, Floats, Kernel, Mask, Rows, RowSource, gather
from torpca._warn import warn


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or data frame."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "to_delayed")


def is_dask_frame(X: Any) -> bool:
    """Whether X is a Dask data frame."""
    return is_dask(X) and not hasattr(X, "numblocks")


class DaskSource(RowSource):
    """Rows of a Dask array. One task per chunk does a whole sweep over that chunk's rows."""

    def __init__(self, X: Any, dtype: np.dtype[Any]) -> None:
        if np.isnan(X.shape[0]) or np.isnan(X.shape[1]):
            raise ValueError(
                f"X is a Dask array of unknown shape {X.shape}; its number of rows and columns "
                "must be known. Call X.compute_chunk_sizes() first."
            )
        if X.numblocks[1] > 1:
            warn(
                f"X is a Dask array with its columns split into {X.numblocks[1]} chunks "
                f"{X.chunks[1]}; rows are needed whole, so it is rechunked by rows at every pass. "
                "Store it with X.rechunk({1: -1}) to save that work.",
                UserWarning,
            )
            X = X.rechunk({0: "auto", 1: -1})
        self.X = X
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        self.dtype = dtype
        self.edges = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(int)

    @property
    def picks_rows(self) -> bool:
        """Whether picking is cheap: a chunk is computed whole, however few rows are asked for."""
        return False

    def sweep(self, kernel: Kernel, keep: Mask | None = None, native: Any = None) -> Any:
        """Run `kernel` on every chunk, one task each."""
        return gather(self.shape, kernel, self._results(self._tasks(kernel, keep)))

    def _results(self, tasks: list[tuple[slice, Any]]) -> Iterator[Any]:
        """Compute `tasks` in waves, so that only a few chunks and totals are alive at a time.

        Results come in chunk order: the scheduler's timing never shows in the last digits.
        """
        import dask  # noqa: PLC0415 (an extra)

        width = 2 * (os.cpu_count() or 1)
        for i in range(0, len(tasks), width):
            wave = tasks[i : i + width]
            done = dask.compute(*(task for _, task in wave))
            yield from ((rows, *result) for (rows, _), result in zip(wave, done, strict=True))

    def _tasks(self, kernel: Kernel, keep: Mask | None) -> list[tuple[slice, Any]]:
        import dask  # noqa: PLC0415 (an extra)

        sweep_chunk = dask.delayed(_sweep_chunk, pure=False)
        tasks = []
        for i, part in enumerate(self.X.to_delayed()[:, 0]):
            rows = slice(int(self.edges[i]), int(self.edges[i + 1]))
            inside = None if keep is None else keep[rows]
            if rows.stop > rows.start and (inside is None or inside.any()):
                tasks.append((rows, sweep_chunk(part, rows.start, kernel, inside)))
        return tasks

    def blocks(self, keep: Mask | None = None) -> Iterator[tuple[Any, Rows, Array]]:
        """Yield the blocks of one chunk after the other."""
        for i in range(len(self.edges) - 1):
            start, stop = self.edges[i], self.edges[i + 1]
            inside = None if keep is None else keep[start:stop]
            if stop > start and (inside is None or inside.any()):
                chunk = _chunk_source(self.X.blocks[i].compute())
                for xp, rows, block in chunk.blocks(inside):
                    yield xp, _shifted(rows, start), block

    def take(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return the rows numbered `rows` as NumPy float64."""
        if len(rows) == 0:
            return np.zeros((0, self.shape[1]))
        return _chunk_source(self.X[rows].compute()).take(np.arange(len(rows)))


def _sweep_chunk(chunk: Array, start: int, kernel: Kernel, keep: Mask | None) -> Any:
    """Sweep one chunk whose first row is row `start` of the whole."""

    def shifted(xp: Any, rows: Rows, block: Array) -> Any:
        return kernel(xp, _shifted(rows, start), block)

    # The plain sweep: Dask already runs one chunk per core.
    return RowSource.sweep(_chunk_source(chunk), shifted, keep)


def _chunk_source(chunk: Array) -> RowSource:
    """Wrap a computed chunk: NumPy, or whatever array library the Dask array is made of."""
    from torpca._sources.wrap import as_source  # noqa: PLC0415 (wrap knows this module)

    return as_source(chunk)


def _shifted(rows: Rows, start: int) -> Rows:
    if isinstance(rows, slice):
        return slice(rows.start + start, rows.stop + start)
    return rows + start
