"""Numbers that do not fit in memory, in a file without a name, mapped into it."""

from __future__ import annotations

import tempfile
from typing import IO, Any

import numpy as np

from torpca._files.errors import TableError
from torpca._files.stored import Numbers


class Scratch:
    """A temporary file that numbers are written to, once, and then read as an array.

    It has no name, so nothing is left of it when a run ends, however it ends.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    @property
    def used(self) -> bool:
        """Whether anything was written."""
        return self._file is not None

    def write(self, data: Any) -> None:
        """Write bytes at the end."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="torpca-")  # noqa: SIM115 (see close)
            self._file.write(data)
            self._file.flush()  # a full disk is told here, not when the array is read
        except OSError as error:
            raise TableError(
                "The table is too large for memory, and a temporary copy of its numbers could not "
                f"be written to {tempfile.gettempdir()}: {error.strerror or error}. Name a folder "
                "with more room in the variable TMPDIR, or store the table as Parquet, which needs "
                "no copy."
            ) from error

    def mapped(
        self, dtype: Any, shape: tuple[int, ...], order: Any = "C", offset: int = 0
    ) -> Numbers:
        """What was written, as an array that may only be read; it outlives the open file."""
        assert self._file is not None
        array: Numbers = np.memmap(self._file, dtype, "r", offset, shape, order)
        return array

    def close(self) -> None:
        """Close the file. Arrays that it is mapped to stay."""
        if self._file is not None:
            self._file.close()
