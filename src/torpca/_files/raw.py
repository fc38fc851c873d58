"""All columns of a table as they lie in the file, features or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpca._files import excel, parquet, text
from torpca._files.choose import Wanted
from torpca._files.errors import need
from torpca._files.lines import TextOptions
from torpca._files.read import CHUNK_BYTES, MEMORY_BYTES, kind_of, open_numbers
from torpca._files.worded import lines_of, text_column


@dataclass(frozen=True)
class Raw:
    """A table whose cells are what the file holds."""

    names: list[str]
    batches: Iterator[list[Any]]
    """Arrow arrays of all columns, a few rows at a time; of text files and worksheets, text."""
    numbers: Callable[[str, Any, int], Any]
    """Numbers, as an Arrow array, that a cell of a feature stands for: called with the name of the
    column, its cells and the number of the first row."""
    is_text: bool
    """Whether the file is one of text."""


@contextmanager
def raw_table(path: str, options: TextOptions) -> Iterator[Raw]:
    """The table in a file, to be walked over once."""
    pa = need("pyarrow", "cli", "Copying rows of a table")
    kind = kind_of(Path(path))
    if kind in (*text.SUFFIXES, *excel.SUFFIXES):
        with lines_of(path, kind, options, CHUNK_BYTES) as lines:

            def numbers(name: str, cells: Any, start: int) -> Any:
                column = text_column(name, lines, options, None)
                return pa.array(column.read(cells, start), from_pandas=True)

            everything = lines.batches(range(len(lines.names)))
            batches = (batch.columns for batch in everything)
            yield Raw(lines.names, batches, numbers, kind in text.SUFFIXES)
        return
    if kind in parquet.SUFFIXES:
        module = need("pyarrow.parquet", "cli", "Copying rows of a table")
        with module.ParquetFile(path) as file:
            batches = (batch.columns for batch in file.iter_batches())
            yield Raw(file.schema_arrow.names, batches, _as_they_are, False)
        return
    chosen = {"wanted": Wanted(), "chunk_bytes": CHUNK_BYTES}
    stored = open_numbers(path, kind, MEMORY_BYTES, chosen)
    batches = ([pa.array(column.copy()) for column in block.T] for _, block in stored.stream())
    yield Raw(list(stored.names), batches, _as_they_are, False)


def _as_they_are(name: str, cells: Any, start: int) -> Any:
    return cells
