"""Tables in NumPy's own files, .npy and .npz."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from torpca._files.choose import Wanted
from torpca._files.errors import TableError, reason_of, shown
from torpca._files.ids import texts_of_numbers
from torpca._files.scratch import Scratch
from torpca._files.stored import Numbers, StoredArray
from torpca._names import feature_names
from torpca._words import counted, first_of

SUFFIXES = (".npy", ".npz")
# Names of an array of an .npz file that holds the names of the columns.
NAMES = ("feature_names", "columns")
PIECE_BYTES = 2**20  # unpacked at a time


@dataclass(frozen=True)
class Header:
    """What the beginning of an .npy file says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize

    @property
    def order(self) -> Any:
        """NumPy's letter for the order of the numbers."""
        return "F" if self.fortran else "C"


def read_npy(path: str | Path, **options: Any) -> StoredArray:
    """The array of an .npy file, mapped into memory."""
    title = str(path)
    with open(path, "rb") as file:
        head = header(file, title)
        check_table(head, title)
        size = file.seek(0, 2) - head.offset
    if size != head.nbytes:
        what = "is cut off" if size < head.nbytes else "is damaged, or holds several arrays"
        raise TableError(
            f"{title} {what}: it holds {counted(size, 'byte')} of numbers, and an array of shape "
            f"{head.shape} takes {counted(head.nbytes, 'byte')}. Copy it again, or write one array "
            "with numpy.save."
        )
    array = np.memmap(
        path, dtype=head.dtype, mode="r", offset=head.offset, shape=head.shape, order=head.order
    )
    return from_array(array, title, **options)


def read_npz(path: str | Path, *, memory_bytes: int, **options: Any) -> StoredArray:
    """The table among the arrays of an .npz file: the only one with rows and columns."""
    title = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            heads = {}
            for name in members:
                with archive.open(name) as file:
                    heads[name.removesuffix(".npy")] = header(file, f"{name} in {title}")
            name = the_table(heads, title)
            array = extracted(archive, f"{name}.npy", heads[name], memory_bytes)
            names = names_inside(archive, heads, array.shape[1])
    except (TableError, PermissionError, MemoryError):
        raise
    except Exception as error:  # of zipfile and of NumPy, which promise no kind
        raise TableError(
            f"{title} could not be read as an .npz file ({reason_of(error)}). It may have been "
            "copied or written only in part; copy it again."
        ) from error
    others = [shown(other) for other in heads if other != name]
    notes = [f"The table is array {shown(name)} of the file."] if others else []
    if others:
        notes.append(f"Other arrays of the file were left out: {first_of(others)}.")
    return from_array(array, title, names=names, notes=tuple(notes), **options)


def header(file: IO[bytes], title: str) -> Header:
    """Shape and type of the array in a file in NumPy's format."""
    try:
        version = np.lib.format.read_magic(file)
        reads = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in reads:
            raise TableError(
                f"{title} is written in version {version[0]}.{version[1]} of NumPy's format, "
                "which is for arrays of records. Save a two-dimensional array of numbers."
            )
        shape, fortran, dtype = reads[version](file)
    except TableError:
        raise
    except Exception as error:  # NumPy lets Python parse the header, and promises no kind of error
        raise TableError(
            f"{title} is empty, cut off or not in NumPy's format ({reason_of(error)}). Copy it "
            "again, or write it with numpy.save."
        ) from error
    return Header(shape, dtype, fortran, file.tell())


def check_table(head: Header, title: str) -> None:
    """Raise an error unless the array is a table of numbers."""
    reason = why_no_numbers(head.dtype)
    if reason:
        raise TableError(f"{title} holds {reason}. Save a two-dimensional array of numbers.")
    if len(head.shape) != 2:
        raise TableError(
            f"{title} holds an array with {counted(len(head.shape), 'dimension')} (shape "
            f"{head.shape}); 2 are needed, one row per sample. Reshape it before saving it."
        )
    if 0 in head.shape:
        raise TableError(
            f"{title} holds an empty array (shape {head.shape}). Save one with rows and columns."
        )


def why_no_numbers(dtype: np.dtype[Any]) -> str:
    """What an array of `dtype` holds instead of numbers, "" if it holds numbers."""
    words = {
        "O": "Python objects (a pickle), which are not loaded because loading them can run code",
        "c": "complex numbers",
        "M": "dates",
        "m": "times",
        "V": "records",
    }
    return "" if dtype.kind in "biuf" else words.get(dtype.kind, "text")


def the_table(heads: dict[str, Header], title: str) -> str:
    """Name of the only array with two dimensions that holds numbers."""
    tables = [
        name for name, h in heads.items() if len(h.shape) == 2 and not why_no_numbers(h.dtype)
    ]
    if len(tables) > 1:
        raise TableError(
            f"{title} holds {len(tables)} tables: {first_of(map(shown, tables))}. Save the one to "
            "use alone, for example as .npy."
        )
    if not tables and len(heads) == 1:
        (name,) = heads
        check_table(heads[name], f"Array {shown(name)} of {title}")
    if not tables:
        words = first_of(f"{shown(n)} ({h.dtype}, shape {h.shape})" for n, h in heads.items())
        raise TableError(
            f"{title} holds no two-dimensional array of numbers"
            f"{', but ' + words if heads else ', nor any other'}. Save one with numpy.savez."
        )
    check_table(heads[tables[0]], f"Array {shown(tables[0])} of {title}")
    return tables[0]


def extracted(archive: zipfile.ZipFile, member: str, head: Header, memory_bytes: int) -> Numbers:
    """An array of an .npz file; a large one is unpacked to disk and mapped into memory."""
    with archive.open(member) as file:
        if head.nbytes <= memory_bytes:
            loaded: Numbers = np.lib.format.read_array(file, allow_pickle=False)
            return loaded
        with closing(Scratch()) as scratch:
            while piece := file.read(PIECE_BYTES):
                scratch.write(piece)
            return scratch.mapped(head.dtype, head.shape, head.order, head.offset)


def names_inside(
    archive: zipfile.ZipFile, heads: dict[str, Header], d: int
) -> tuple[str, ...] | None:
    """Names of the columns, if the file holds them beside the table."""
    for name in NAMES:
        head = heads.get(name)
        if head is not None and head.shape == (d,) and head.dtype.kind == "U":
            with archive.open(f"{name}.npy") as file:
                values = np.lib.format.read_array(file, allow_pickle=False)
            return tuple(str(value) for value in values)
    return None


def from_array(
    array: Numbers,
    title: str,
    *,
    wanted: Wanted,
    chunk_bytes: int,
    names: Sequence[str] | None = None,
    notes: tuple[str, ...] = (),
) -> StoredArray:
    """Columns of an array, called x0, x1, ... unless they have names."""
    if names is None:
        names = feature_names(array.shape[1])
    wanted = wanted.checked(title, names)
    chosen = wanted.choose(title, names, [""] * len(names))
    places = {name: list(names).index(name) for name in wanted.beside}
    return StoredArray(
        array,
        chosen.names,
        columns=chosen.places,
        beside={name: [texts_of_numbers(array[:, j])] for name, j in places.items()},
        left_out=chosen.left_out,
        notes=notes,
        chunk_bytes=chunk_bytes,
    )
