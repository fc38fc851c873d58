"""An array whose number of rows is known only when the last one has come."""

from __future__ import annotations

import numpy as np

from torpca._files.scratch import Scratch
from torpca._sources.base import Floats


class Growing:
    """Rows of float64 that come in blocks: in memory, or on disk once they are many.

    Text is parsed once, however many passes follow: a pass over numbers on disk takes a small part
    of the time of parsing them.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes
        self._n_rows = self._width = self._bytes = 0
        self._blocks: list[Floats] = []
        self._scratch = Scratch()

    @property
    def on_disk(self) -> bool:
        """Whether the rows are in a file."""
        return self._scratch.used

    def add(self, block: Floats) -> None:
        """Take over the rows `block`."""
        self._n_rows += len(block)
        self._width = block.shape[1]
        self._bytes += block.nbytes
        self._blocks.append(block)
        if self._bytes > self.memory_bytes:
            while self._blocks:
                self._scratch.write(np.ascontiguousarray(self._blocks.pop(0)).data)

    def finish(self) -> Floats:
        """All rows as one array, or as a file mapped into memory, of which reading is allowed."""
        shape = (self._n_rows, self._width)
        if self.on_disk:
            return self._scratch.mapped(np.float64, shape)
        out, start = np.empty(shape), 0
        # A block goes when its rows are copied, so that both are never held in full.
        self._blocks.reverse()
        while self._blocks:
            block = self._blocks.pop()
            out[start : start + len(block)] = block
            start += len(block)
        return out

    def close(self) -> None:
        """Close the file, if there is one."""
        self._scratch.close()
