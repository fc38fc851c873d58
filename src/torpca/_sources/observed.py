"""Rows that tell how far a pass over them has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torpca._sources.base import Array, Floats, Kernel, Mask, Rows, RowSource
from torpca._sources.views import View

Tell = Callable[[int, int], None]
"""Called with the number of the pass, counted from 1, and of rows done in it; from any thread."""


class Observed(View):
    """The same rows; `tell` hears of every block of a pass over all of them."""

    def __init__(self, source: RowSource, tell: Tell) -> None:
        super().__init__(source)
        self.tell = tell
        self.passes = 0

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """The block as it is."""
        return block

    def blocks(self, keep: Mask | None = None) -> Iterator[tuple[Any, Rows, Array]]:
        """Blocks of the rows."""
        self.passes += 1
        done, number = 0, self.passes
        for xp, rows, block in self.source.blocks(keep):
            yield xp, rows, block
            done += block.shape[0]
            self.tell(number, done)

    def sweep(self, kernel: Kernel, keep: Mask | None = None, native: Any = None) -> Any:
        """Run `kernel` over the rows as their own kind does it, on blocks as that kind has them."""
        self.passes += 1
        done, number = [0], self.passes

        def telling(xp: Any, rows: Rows, block: Array) -> Any:
            out = kernel(xp, rows, block)
            done[0] += block.shape[0]  # a lost addition between threads costs a bar some of it
            self.tell(number, done[0])
            return out

        return self.source.sweep(telling, keep, native)

    def band(self, keep: Mask, features: slice) -> Floats | None:
        """Some features of the kept rows."""
        return self.source.band(keep, features)
