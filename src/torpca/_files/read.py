"""The one function that reads a table, whatever the file is."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torpca._files import excel, npy, parquet, text, zarr
from torpca._files.choose import Wanted
from torpca._files.errors import TableError, reason_of, shown, similar
from torpca._files.lines import TextOptions
from torpca._files.marks import Marked
from torpca._files.stored import Stored
from torpca._files.table import FileTable, assemble
from torpca._files.worded import read_text

READABLE = (
    f"What can be read: {', '.join(text.SUFFIXES)} (also with .gz), {', '.join(parquet.SUFFIXES)}, "
    f"{', '.join(npy.SUFFIXES)}, {', '.join(excel.SUFFIXES)}, and Zarr, a folder or .zip"
)
# Numbers held at a time while a file is read, and the most that a table may take in memory.
CHUNK_BYTES, MEMORY_BYTES = 2**23, 10**9
MISSING = ("model", "drop-rows", "error")


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
    id_if_there: bool = False,
    missing: str = "error",
    na_values: Sequence[str | float] = (),
    empty_too: bool = False,
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
    thousands: str | None = None,
    encoding: str | None = None,
    skip_rows: int = 0,
    sheet: str | int | None = None,
    time_column: str | None = None,
    time_if_there: bool = False,
    chunk_bytes: int = CHUNK_BYTES,
    memory_bytes: int = MEMORY_BYTES,
    progress: Callable[[int, int | None], None] | None = None,
) -> FileTable:
    r"""Read the columns of numbers of a file.

    Parameters
    ----------
    path : str or path
        A CSV or TSV file (gzip too), a Parquet file, .npy, .npz, .xlsx or Zarr, told apart by the
        ending of the name; or "-" for CSV from standard input. A pipe is read as CSV too. A Zarr
        array that lacks a chunk is an error unless its fill value is NaN, which is a missing value.
    columns : sequence of str, optional
        Columns to use, in this order. By default all columns of numbers: integers, floats,
        decimals, true and false. Text and dates are left out. A column of a text file that holds
        numbers and a few words is an error, because to leave it out would change the answer.
    exclude : sequence of str, default=()
        Columns not to use.
    id_column : str, optional
        Column that names the rows. By default they are counted from 1.
    id_if_there : bool, default=False
        Whether rows are numbered, too, if there is no such column.
    missing : {"error", "drop-rows", "model"}, default="error"
        What to do about missing values: raise an error that says where they are, leave out the
        rows that have some, or keep them as NaN, for a model that judges rows by the cells they
        have. Columns without any value are left out in all cases.
    na_values : sequence of str or float, default=()
        What means missing besides empty cells, NA and the like: numbers, such as -999, and for
        text files any text. Nothing is taken for missing without being named here.
    empty_too : bool, default=False
        Whether `columns` without any value are kept, as NaN, where `missing` is "model": rows
        that a model judges may be few.
    delimiter : str, optional
        What separates the cells of a text file. By default a tab for .tsv and .tab, else a comma.
    decimal : {".", ","}, default="."
        What stands before the decimals of numbers in a text file.
    header : bool, default=True
        Whether a text file begins with a line of names; without, columns are called x0, x1, ...
    thousands : {",", ".", "'", " ", "_"}, optional
        What stands between the thousands of numbers in a text file. By default a comma (a point if
        `decimal` is a comma) is read so where it can be nothing else: 12,032.1. Where 1,234 could
        also be 1.234, other numbers of the file decide, and a note says so; it is an error if there
        are none that do.
    encoding : str, optional
        Encoding of a text file, such as "latin-1". By default UTF-8.
    skip_rows : int, default=0
        Lines of a text file or rows of a worksheet to leave out before the line of names.
    sheet : str or int, optional
        Name or number, counted from 1, of a worksheet of an Excel file. By default the first that
        is not empty.
    time_column : str, optional
        Column of dates, times or numbers that says when the rows were measured. It is no feature.
    time_if_there : bool, default=False
        Whether a table may be without that column.
    chunk_bytes : int, default=2**23
        Numbers (in bytes) read at a time.
    memory_bytes : int, default=10**9
        Tables that take more than this as float64 are not held in memory. Parquet and Zarr are
        then read again at every pass; text and .npz are copied once, as numbers, to a temporary
        file without a name.
    progress : callable, optional
        Called as ``progress(rows_so_far, rows_in_all)`` after each chunk; `rows_in_all` is None as
        long as it is not known.

    Returns
    -------
    FileTable
        Rows `X` of shape (n_rows, n_features), as every estimator takes them, `names`, `ids`,
        and what was left out: `left_out`, `dropped`, `notes`.

    Raises
    ------
    TableError
        A ValueError: there is no such file, or no table of numbers in it. One or two sentences
        say why and what to try.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "rows.npy")
    >>> np.save(path, [[1.0, 2.0, 5.0], [3.0, np.nan, 6.0], [0.5, 4.0, 7.0]])
    >>> table = read_table(path, missing="drop-rows")
    >>> table.X.shape, table.names, table.ids.tolist()
    ((2, 3), ('x0', 'x1', 'x2'), ['1', '3'])
    >>> print(table.notes[0])
    1 row of 3 was left out because a value is missing: 2, counted from 1.
    >>> folder.cleanup()
    """
    na_values = [na_values] if isinstance(na_values, str | float | int) else na_values
    wanted = wanted_of(
        columns,
        exclude,
        missing,
        id_column=id_column,
        id_if_there=id_if_there,
        empty_too=empty_too,
        time_column=time_column,
        time_if_there=time_if_there,
    )
    how = TextOptions(delimiter, decimal, thousands, header, skip_rows, encoding, sheet).checked()
    title = "standard input" if path == "-" else os.fspath(path)
    try:
        stored = open_table(
            os.fspath(path),
            how=how,
            memory_bytes=memory_bytes,
            progress=progress,
            na_values=na_values,
            wanted=wanted,
            chunk_bytes=chunk_bytes,
        )
        return assemble(
            stored,
            title,
            wanted=wanted,
            missing=missing,
            memory_bytes=memory_bytes,
            progress=progress,
        )
    except MemoryError as error:
        raise TableError(
            f"{title} could not be read: {reason_of(error)}. It is larger than memory, or damaged "
            "where it says how large it is. Copy it again, or store it in smaller chunks."
        ) from error
    except OSError as error:
        raise TableError(
            f"{title} could not be read: {error.strerror or error}. "
            + (
                "Check its permissions."
                if error.errno in {errno.EACCES, errno.EPERM}
                else "Check the file and the disk it lies on."
            )
        ) from error
    finally:
        release()


def wanted_of(
    columns: Sequence[str] | None, exclude: Sequence[str], missing: str, **others: Any
) -> Wanted:
    """What was asked for, checked as far as that can be without a file."""
    if missing not in MISSING:
        raise TableError(
            f"missing={missing!r} must be 'model', 'drop-rows' or 'error'. Use 'model' to keep all "
            "rows."
        )
    columns = [columns] if isinstance(columns, str) else columns
    exclude = [exclude] if isinstance(exclude, str) else exclude
    if columns is not None and not columns:
        raise TableError(
            "columns is empty. Name at least two, or leave it out to use all columns of numbers."
        )
    if missing != "model":  # such columns have no row that is complete
        others["empty_too"] = False
    return Wanted(None if columns is None else tuple(columns), tuple(exclude), **others)


def release() -> None:
    """Give back the memory that Arrow holds for the next file: the fit that follows needs it."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()


def open_table(
    path: str,
    *,
    how: TextOptions,
    memory_bytes: int,
    progress: Any,
    na_values: Sequence[str | float],
    **options: Any,
) -> Stored:
    """The table in a file, as its format stores it."""
    kind = ".csv" if path == "-" else kind_of(Path(path))
    if kind in (*text.SUFFIXES, *excel.SUFFIXES):
        return read_text(
            path,
            kind=kind,
            memory_bytes=memory_bytes,
            progress=progress,
            na_values=na_values,
            options=how,
            **options,
        )
    if how.sheet is not None:
        raise TableError(
            f"{path} is not an Excel file and has no sheets. Leave --sheet (sheet) out."
        )
    stored = open_numbers(path, kind, memory_bytes, options)
    return Marked(stored, na_values, path) if na_values else stored


def open_numbers(path: str, kind: str, memory_bytes: int, options: dict[str, Any]) -> Stored:
    """The table in a file that holds numbers, not text."""
    if kind in parquet.SUFFIXES:
        return parquet.StoredParquet(path, **options)
    if kind == ".npy":
        return npy.read_npy(path, **options)
    if kind == ".npz":
        return npy.read_npz(path, memory_bytes=memory_bytes, **options)
    return zarr.StoredZarr(path, **options)


def kind_of(path: Path) -> str:
    """The ending that tells the format of a file, or an error if there is none to read."""
    if not path.exists():
        there = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        near = similar(path.name, there) if there else ""
        hint = near if near.startswith("Did you mean") else "Check the name and the folder."
        raise TableError(f"There is no file {path}. {hint}")
    if path.is_dir():
        if zarr.is_zarr(path):
            return ".zarr"
        raise TableError(
            f"{path} is a folder, but not a Zarr store. Name a file in it. {READABLE}."
        )
    if not path.is_file():  # a pipe or a device
        return ".csv"
    name = path.name.lower()
    plain = Path(name.removesuffix(".gz")).suffix
    if name.endswith(".gz") and plain in text.SUFFIXES:
        return plain
    kind = path.suffix.lower()
    if kind in (*text.SUFFIXES, *parquet.SUFFIXES, *npy.SUFFIXES, *excel.SUFFIXES, ".zip"):
        if path.stat().st_size == 0:
            raise TableError(f"{path} is empty. Give a file with a table in it.")
        return kind
    what = f"ends in {shown(path.suffix)}" if path.suffix else "has no ending"
    raise TableError(
        f"{path} {what}, so its format is not known. {READABLE}; rename the file with the right "
        "ending, or pipe CSV to standard input and name it -."
    )
