"""The table with its missing cells filled, as a file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from torpca._atomic import atomic_write
from torpca._cli.progress import watched
from torpca._estimators.robust import OutlierRobustPCA
from torpca._files import FileTable
from torpca._files.errors import need
from torpca._missing.impute import imputed
from torpca._outputs import no_formula
from torpca._sources import as_source
from torpca._sources.base import to_numpy

# What the names of the rows are called if they come from no column.
ROW = "row"


def write_imputed(
    model: OutlierRobustPCA, table: FileTable, path: Path, id_column: str | None
) -> Path:
    """Path of a .csv or .parquet file with the rows of `table`, their holes filled by `model`.

    The first column has the names of the rows, under that of the column they come from. All other
    cells are as they were; a block of rows is in memory at a time.
    """
    names = [id_name(id_column, table.names), *table.names]
    write = csv_file if path.suffix == ".csv" else parquet_file
    with watched(table.X, "filling") as rows:
        return atomic_write(path, lambda file: write(file, names, filled(model, rows, table)))


def id_name(id_column: str | None, names: tuple[str, ...]) -> str:
    """What the first column is called; none of the others is."""
    name = ROW if id_column is None else id_column
    while name in names:
        name += "_"
    return name


def filled(
    model: OutlierRobustPCA, rows: Any, table: FileTable
) -> Iterator[tuple[npt.NDArray[np.str_], npt.NDArray[Any]]]:
    """Names and rows (m, d), one block after the other, in the precision of the table."""
    completion = model.subspace_.completion()
    for _, at, block in rows.blocks():
        source = as_source(np.asarray(to_numpy(block)))
        whole = imputed(source, completion, cells=bool(model.cells))[0]
        yield table.ids[at], whole.astype(rows.dtype, copy=False)


def csv_file(file: IO[bytes], names: list[str], blocks: Iterator[Any]) -> None:
    """Write the blocks as CSV in which a spreadsheet finds nothing to run."""
    text = TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    writer = csv.writer(text)
    writer.writerow(map(no_formula, names))
    for ids, block in blocks:
        # A number of single precision has fewer digits as text of its own than as a Python float.
        cells = block.tolist() if block.dtype == np.float64 else block.astype(str).tolist()
        writer.writerows(
            [no_formula(name), *row] for name, row in zip(ids.tolist(), cells, strict=True)
        )
    text.flush()
    text.detach()  # the file is not ours to close


def parquet_file(file: IO[bytes], names: list[str], blocks: Iterator[Any]) -> None:
    """Write the blocks as Parquet."""
    pa = need("pyarrow", "cli", "Writing Parquet files")
    write_batches(
        file,
        names,
        (
            [
                pa.array(texts_of(ids), pa.string()),
                *map(pa.array, np.asfortranarray(block).T),
            ]
            for ids, block in blocks
        ),
    )


def texts_of(ids: npt.NDArray[Any]) -> list[str]:
    """Names of rows as text that can be written, whatever they hold."""
    return [name.encode("utf-8", "backslashreplace").decode() for name in ids.tolist()]


def write_batches(file: IO[bytes], names: list[str], batches: Iterable[list[Any]]) -> None:
    """Write Arrow columns, a list of arrays for each batch of rows, as Parquet."""
    pa, parquet = (
        need(module, "cli", "Writing Parquet files") for module in ("pyarrow", "pyarrow.parquet")
    )
    writer = None
    try:
        for columns in batches:
            batch = pa.record_batch(columns, names=names)
            writer = writer or parquet.ParquetWriter(file, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
