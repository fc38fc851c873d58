"""Tables in Parquet files."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._files.choose import Wanted
from torpca._files.errors import TableError, need, reason_of, shown
from torpca._files.ids import texts
from torpca._files.stored import Numbers, Stored, Texts, rows_of
from torpca._sources.base import Mask
from torpca._words import counted

SUFFIXES = (".parquet", ".pq")
PYARROW = ("pyarrow", "pyarrow.parquet")
# Every column is read through a buffer of its own, and there may be thousands.
BUFFER_BYTES = 2**16


class StoredParquet(Stored):
    """Columns of numbers of a Parquet file, decoded a batch of rows at a time."""

    def __init__(
        self,
        path: str | Path,
        *,
        wanted: Wanted,
        chunk_bytes: int,
    ) -> None:
        pa = need("pyarrow", "cli", "Reading Parquet files")
        self.path = path
        with self._opened() as file:
            schema, groups = file.schema_arrow, rows_of_groups(file.metadata, str(path))
        # Once each: Arrow makes a list of all columns whenever it is asked.
        names, kinds = schema.names, schema.types
        if not names:
            raise TableError(f"{path} has no columns. Give a file with columns of numbers.")
        wanted = wanted.checked(str(path), names)
        self._beside = wanted.beside
        self.id_column = wanted.id_column
        reasons = [
            "" if wanted.empty_too and pa.types.is_null(kind) else why_no_numbers(pa, kind)
            for kind in kinds
        ]
        if wanted.columns is None:  # an index of numbers is a feature if somebody says so
            index = index_columns(schema)
            reasons = [
                "it is the index that pandas stored" if name in index else reason
                for name, reason in zip(names, reasons, strict=True)
            ]
        chosen = wanted.choose(str(path), names, reasons)
        self.names, self.left_out = chosen.names, chosen.left_out
        # Numbers of the rows at which the row groups begin, and of the end.
        self.edges = np.concatenate([[0], np.cumsum(groups)]).astype(np.intp)
        self.shape = (int(self.edges[-1]), len(self.names))
        if self.shape[0] == 0:
            raise TableError(f"{path} has columns and no rows. Give a file with rows.")
        single = {kinds[i] for i in chosen.places} <= {pa.float16(), pa.float32()}
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._step = rows_of(chunk_bytes, len(self.names))

    def stream(self, wanted: Mask | None = None) -> Iterator[tuple[int, Numbers]]:
        """Yield batches of rows; row groups without a wanted row are skipped."""
        pc = need("pyarrow.compute", "cli", "Reading Parquet files")
        pa = need("pyarrow", "cli", "Reading Parquet files")
        kind = pa.float32() if self.dtype == np.float32 else pa.float64()
        place = {name: j for j, name in enumerate(self.names)}
        for start, batch in self._batches(self.names, wanted):
            block = np.empty((batch.num_rows, len(self.names)), dtype=self.dtype)
            # They come in the order of the file. To ask for each by its name takes longer.
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                # Not safe: an integer beyond 2^53 is rounded, as every float is.
                numbers = pc.cast(column, kind, safe=False)
                block[:, place[name]] = numbers.to_numpy(zero_copy_only=False)
            yield start, block

    def beside(self) -> dict[str, list[Texts]]:
        """Values of the columns that name rows or tell times, each of which is read alone."""
        pa = need("pyarrow", "cli", "Reading Parquet files")
        found: dict[str, list[Texts]] = {}
        for name in self._beside:
            try:
                found[name] = [texts(b.column(0)) for _, b in self._batches([name])]
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                purpose = "name the rows" if name == self.id_column else "tell times"
                raise TableError(
                    f"Column {shown(name)} of {self.path} cannot {purpose}: its values cannot be "
                    f"written as text ({reason_of(error)}). Choose another column."
                ) from error
        return found

    def _batches(
        self, names: Sequence[str], wanted: Mask | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield (number of the first row, record batch with the columns `names`)."""
        with self._opened() as file:
            for groups in self._runs(wanted):
                first, stop = int(self.edges[groups[0]]), int(self.edges[groups[-1] + 1])
                start = first
                for batch in file.iter_batches(
                    self._step, row_groups=groups.tolist(), columns=list(names)
                ):
                    if start + batch.num_rows <= stop:
                        yield start, batch
                    start += batch.num_rows
                if start != stop:  # the numbers of rows are one thing, and the rows another
                    raise damaged(
                        self.path, f"{counted(start - first, 'row')} where {stop - first} should be"
                    )
                check_columns(file.metadata, self.path, int(groups[-1]), set(names))

    def _runs(self, wanted: Mask | None) -> list[npt.NDArray[np.intp]]:
        """Numbers of the row groups with a wanted row, in runs of neighbours."""
        groups = np.flatnonzero(np.diff(self.edges))
        if wanted is not None:
            # Rows wanted before each edge; a group has some if that number grows.
            before = np.concatenate([[0], np.cumsum(wanted)])[self.edges]
            groups = np.flatnonzero(np.diff(before))
        runs = np.split(groups, np.flatnonzero(np.diff(groups) > 1) + 1)
        return [run for run in runs if len(run)]

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file, with errors in words."""
        pa, parquet = (need(m, "cli", "Reading Parquet files") for m in PYARROW)
        try:
            # Not read ahead: a row group may be as large as the file.
            file = parquet.ParquetFile(
                self.path,
                buffer_size=BUFFER_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,  # of files that have them
            )
            with file:
                yield file
        except PermissionError:
            raise  # the file may be as it should be
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise damaged(self.path, reason_of(error)) from error


def damaged(path: str | Path, why: str) -> TableError:
    """The error of a file that is not as it was written."""
    return TableError(
        f"{path} could not be read as a Parquet file ({why}). It may have been copied or written "
        "only in part; copy it again."
    )


def rows_of_groups(metadata: Any, path: str | Path) -> list[int]:
    """Numbers of rows of the row groups, if they add up to that of the file."""
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    if min(groups, default=0) < 0 or sum(groups) != metadata.num_rows:
        raise damaged(path, f"it says both {metadata.num_rows} and {sum(groups)} rows")
    return groups


def check_columns(metadata: Any, path: str | Path, group: int, names: Collection[str]) -> None:
    """Raise an error unless a row group agrees with the file about the columns called `names`.

    Only for columns that have been read: Arrow ends the process when it is asked about a column
    that a row group lacks.
    """
    schema, parts = metadata.schema, metadata.row_group(group)
    # The columns end where the footer, its length and four letters begin.
    end = os.path.getsize(path) - metadata.serialized_size - 8
    for j in range(metadata.num_columns):
        column = schema.column(j)
        if column.path == column.name and column.name in names:  # not a part of a record
            part = parts.column(j)
            said, kind = column.physical_type, part.physical_type
            if said != kind:
                raise damaged(path, f"column {shown(column.name)} is {said} here, and {kind} there")
            start = part.data_page_offset
            if part.has_dictionary_page:
                start = min(start, part.dictionary_page_offset)
            if start + part.total_compressed_size > end:
                raise damaged(path, f"column {shown(column.name)} reaches into what follows it")


def why_no_numbers(pa: Any, kind: Any) -> str:
    """Why a column of an Arrow type is not used, "" if it holds numbers."""
    types = pa.types
    if any(test(kind) for test in (types.is_integer, types.is_floating, types.is_boolean)):
        return ""
    if types.is_decimal(kind):
        return ""
    if types.is_temporal(kind):
        return f"dates or times ({kind})"
    if types.is_dictionary(kind):
        return "categories"
    if types.is_null(kind):
        return "it has no values"
    if any(test(kind) for test in (types.is_string, types.is_large_string)):
        return "text"
    return f"values of type {kind}"


def index_columns(schema: Any) -> set[str]:
    """Names of the columns that are the index of a pandas data frame."""
    try:
        index = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    except (ValueError, AttributeError):
        return set()  # written by something else; it says nothing then
    return {name for name in index if isinstance(name, str)}
