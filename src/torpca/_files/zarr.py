"""Tables in Zarr stores, a folder or a zip file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from torpca._files.choose import Wanted
from torpca._files.errors import TableError, need, reason_of, shown
from torpca._files.ids import texts_of_numbers
from torpca._files.npy import Header, check_table, why_no_numbers
from torpca._files.stored import Numbers, Stored, Texts, result_dtype, rows_of, windows
from torpca._files.zarr_chunks import check_chunks, check_codecs
from torpca._names import feature_names
from torpca._sources.base import Mask
from torpca._words import counted, first_of

# Files that tell a Zarr folder from any other, of versions 3 and 2 of the format.
MARKS = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(path: Path) -> bool:
    """Whether a folder is a Zarr store."""
    return any((path / mark).is_file() for mark in MARKS)


class StoredZarr(Stored):
    """Columns of a Zarr array, unpacked a few chunks at a time."""

    def __init__(
        self,
        path: str | Path,
        *,
        wanted: Wanted,
        chunk_bytes: int,
    ) -> None:
        self.path = path
        with self._opened() as array:
            n, d = array.shape
            names = feature_names(d)
            wanted = wanted.checked(str(path), names)
            self._beside = wanted.beside
            chosen = wanted.choose(str(path), names, [""] * d)
            others = [names.index(name) for name in wanted.beside]
            read = np.array([*chosen.places, *others], dtype=np.intp)
            check_chunks(array, path, str(path), read)
            self.shape, self.dtype = (n, len(chosen.names)), result_dtype(np.dtype(array.dtype))
            # A chunk is unpacked whole, so pieces end where chunks do.
            height = int(array.chunks[0])
            self._step = height * max(1, rows_of(chunk_bytes, d) // height)
            inside = getattr(array, "name", "").strip("/")
        self.names, self.places = chosen.names, chosen.places
        if inside:
            self.notes = (f"The table is array {shown(inside)} of the group.",)

    def stream(self, wanted: Mask | None = None) -> Iterator[tuple[int, Numbers]]:
        """Yield slices of the array; chunks without a wanted row are not read."""
        every = len(self.places) and np.array_equal(self.places, np.arange(len(self.places)))
        with self._opened() as array:
            every = every and array.shape[1] == len(self.places)
            for rows in windows(self.shape[0], self._step, wanted):
                block = np.asarray(array[rows])
                yield rows.start, block if every else block[:, self.places]

    def beside(self) -> dict[str, list[Texts]]:
        """Values of the columns that name rows or tell times."""
        if not self._beside:
            return {}
        with self._opened() as array:
            places = {name: feature_names(array.shape[1]).index(name) for name in self._beside}
            return {name: [texts_of_numbers(np.asarray(array[:, j]))] for name, j in places.items()}

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """The array with two dimensions, with errors in words."""
        zarr = need("zarr", "io", "Reading Zarr stores")
        store: Any = None
        try:
            if Path(self.path).is_dir():
                root = zarr.open(str(self.path), mode="r")
            else:
                store = need("zarr.storage", "io", "Reading Zarr stores").ZipStore(
                    self.path, mode="r"
                )
                root = zarr.open(store, mode="r")
            array = the_table(zarr, root, str(self.path))
            check_codecs(array, str(self.path))
            yield array
        except (TableError, PermissionError, MemoryError):
            raise
        except Exception as error:  # codecs come from many libraries, which promise no kind of it
            raise TableError(
                f"{self.path} could not be read as a Zarr store ({reason_of(error)}). It may have "
                "been copied or written only in part; copy it again."
            ) from error
        finally:
            with suppress(AttributeError):  # what could not be opened cannot be closed
                store.close()


def the_table(zarr: Any, root: Any, title: str) -> Any:
    """The array itself, or the only one with two dimensions of a group."""
    if isinstance(root, zarr.Array):
        check_table(Header(tuple(root.shape), np.dtype(root.dtype), False, 0), title)
        return root
    arrays = dict(root.arrays())
    tables = [a for a in arrays.values() if a.ndim == 2 and not why_no_numbers(np.dtype(a.dtype))]
    if len(tables) != 1:
        words = first_of(f"{shown(name)} (shape {a.shape})" for name, a in arrays.items())
        found = f": {words}" if arrays else ""
        raise TableError(
            f"{title} is a group with {counted(len(tables), 'two-dimensional array')} of numbers; "
            f"there must be one{found}. Name the folder of the array itself."
        )
    check_table(Header(tuple(tables[0].shape), np.dtype(tables[0].dtype), False, 0), title)
    return tables[0]
