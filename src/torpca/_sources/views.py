"""Views: rows seen shifted, stretched or deflated, without touching them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Array, Floats, Kernel, Mask, Rows, RowSource, place


class View(RowSource):
    """A source whose blocks are another source's blocks, transformed on the way."""

    def __init__(self, source: RowSource) -> None:
        self.source = source
        self.shape = source.shape
        self.dtype = source.dtype
        self.feature_names = source.feature_names

    @property
    def picks_rows(self) -> bool:
        """As the source does."""
        return self.source.picks_rows

    @property
    def row_bytes(self) -> float:
        """Memory that a row of the source takes."""
        return self.source.row_bytes

    @property
    def takes_holes(self) -> bool:
        """As the source does."""
        return self.source.takes_holes

    @property
    def in_memory(self) -> bool:
        """As the source is."""
        return self.source.in_memory

    def n_observed(self) -> npt.NDArray[np.intp] | None:
        """As the source says."""
        return self.source.n_observed()

    def missing_cells(self) -> Mask | None:
        """As the source says."""
        return self.source.missing_cells()

    @abstractmethod
    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """Return the block as this view shows it; `rows` says which rows it holds."""

    def blocks(self, keep: Mask | None = None) -> Iterator[tuple[Any, Rows, Array]]:
        """Yield the source's blocks, transformed."""
        for xp, rows, block in self.source.blocks(keep):
            yield xp, rows, self.transform(xp, rows, block)

    def sweep(self, kernel: Kernel, keep: Mask | None = None, native: Any = None) -> Any:
        """Run `kernel` on transformed blocks, walking the rows as the source does."""

        def through(xp: Any, rows: Rows, block: Array) -> Any:
            return kernel(xp, rows, self.transform(xp, rows, block))

        return self.source.sweep(through, keep)

    def take(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return single rows, transformed."""
        taken: Floats = self.transform(np, rows, self.source.take(rows))
        return taken

    def export(self, array: npt.NDArray[Any]) -> Array:
        """Hand results back as the source does."""
        return self.source.export(array)


class Centered(View):
    """The rows less a common vector `mean` of shape (n_features,)."""

    def __init__(self, source: RowSource, mean: Floats) -> None:
        super().__init__(source)
        self.offset = mean

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """x - mean."""
        return block - place(xp, self.offset, block)

    def band(self, keep: Mask, features: slice) -> Floats | None:
        """Some features of the kept rows, less their means."""
        band = self.source.band(keep, features)
        return None if band is None else band - self.offset[features]


class Scaled(View):
    """Each row times its own number, `factors` of shape (n_rows,)."""

    def __init__(self, source: RowSource, factors: Floats) -> None:
        super().__init__(source)
        self.factors = factors

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """x times the factor of its row."""
        return block * place(xp, self.factors[rows], block)[:, None]

    def band(self, keep: Mask, features: slice) -> Floats | None:
        """Some features of the kept rows, times the rows' factors."""
        band = self.source.band(keep, features)
        return None if band is None else band * self.factors[keep][:, None]


class Weighted(Scaled):
    """The rows times the roots of their weights (n_rows,), so that squares carry the weights.

    Most weights are 1, and those rows go through the products their own kind does best; only
    the rows with other weights are looked at block by block.
    """

    def __init__(self, source: RowSource, weights: Floats) -> None:
        super().__init__(source, np.sqrt(weights))
        self.whole = weights == 1.0

    def _split(self, keep: Mask, product: Callable[[RowSource, Mask], Floats]) -> Floats:
        part = keep & ~self.whole
        out = product(self.source, keep & self.whole)
        return out + product(Scaled(self.source, self.factors), part) if part.any() else out

    def gram(self, keep: Mask) -> Floats:
        """X_keep' W X_keep."""
        return self._split(keep, lambda rows, kept: rows.gram(kept))

    def gram_matmul(self, keep: Mask, V: Floats) -> Floats:
        """X_keep' W X_keep V."""
        return self._split(keep, lambda rows, kept: rows.gram_matmul(kept, V))

    def rmatmul(self, keep: Mask, Y: Floats) -> Floats:
        """X_keep' W^(1/2) Y_keep."""
        return self.source.rmatmul(keep, self.factors[:, None] * Y)


class Columns(View):
    """Each feature times its own number, `factors` of shape (n_features,)."""

    def __init__(self, source: RowSource, factors: Floats) -> None:
        super().__init__(source)
        self.factors = factors

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """x times the factors of its features."""
        return block * place(xp, self.factors, block)

    def band(self, keep: Mask, features: slice) -> Floats | None:
        """Some features of the kept rows, times their factors."""
        band = self.source.band(keep, features)
        return None if band is None else band * self.factors[features]


class Deflated(View):
    """The rows' residuals x - VV'x for an orthonormal V of shape (n_features, k)."""

    def __init__(self, source: RowSource, V: Floats) -> None:
        super().__init__(source)
        self.basis = V

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """x - VV'x, taken twice: the second removes what rounding left of the first."""
        V = place(xp, self.basis, block)
        block = block - (block @ V) @ V.T
        return block - (block @ V) @ V.T


class Zeroed(View):
    """The rows with zeros in place of NaN."""

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """x, zero where nothing is there."""
        return xp.where(xp.isnan(block), 0.0, block)
