"""A table of text that is open: its names, and its cells in batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torpca._files.dressed import check_thousands
from torpca._files.errors import TableError
from torpca._files.opened import encoding_of


@dataclass(frozen=True)
class TextOptions:
    """How to read text files and worksheets; see `torpca._files.read_table`."""

    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    header: bool = True
    skip_rows: int = 0
    encoding: str | None = None
    sheet: str | int | None = None

    def checked(self) -> TextOptions:
        """The same, if it makes sense by itself."""
        if self.decimal not in (".", ","):
            raise TableError(f"The decimal mark {self.decimal!r} is not allowed; give '.' or ','.")
        check_thousands(self.thousands, self.decimal)
        encoding_of(self.encoding)
        if isinstance(self.skip_rows, bool) or not (
            isinstance(self.skip_rows, int) and self.skip_rows >= 0
        ):
            raise TableError(
                f"skip_rows={self.skip_rows!r} must be a whole number of lines, 0 or more."
            )
        return self


@dataclass(frozen=True)
class Lines:
    """An open table of text."""

    title: str
    names: list[str]
    """Names of all columns."""
    batches: Callable[[Sequence[int]], Iterator[Any]]
    """Arrow record batches of text, with the columns of these numbers in their order; to be asked
    for once."""
    delimiter: str
    """What stands between the cells of a row."""
    notes: tuple[str, ...] = ()
    """What was assumed."""
