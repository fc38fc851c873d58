"""The input once more: its good rows, or all of its rows with labels."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

import click
import numpy as np
import numpy.typing as npt

from torpca._answer import Answer
from torpca._atomic import atomic_write, refuse_file
from torpca._cli.data import Data, keep_inputs
from torpca._cli.imputed import write_batches
from torpca._estimators.limits import UNKNOWN
from torpca._files.errors import need
from torpca._files.lines import TextOptions
from torpca._files.opened import can_be_read_again
from torpca._files.raw import Raw, raw_table
from torpca._files.text import TABS
from torpca._outputs import DROPPED

WHAT = "Copying rows of a table"
FLAGS = ("outlier", "type", "times_limit")


@dataclass(frozen=True)
class Copies:
    """Files to write beside the results."""

    clean: Path | None
    """Where the good rows go."""
    flags: Path | None
    """Where all rows go, with labels."""

    @property
    def places(self) -> dict[str, Path]:
        """Those that are wanted, by option."""
        both = {"clean": self.clean, "flags": self.flags}
        return {name: path for name, path in both.items() if path is not None}

    def check(self, data: str, others: Sequence[Path], force: bool) -> None:
        """Raise an error if they cannot be written, before the work.

        `others` are files that are read or written besides.
        """
        for name, path in self.places.items():
            if path.suffix.lower() not in (".csv", ".parquet"):
                raise ValueError(f"--{name} {path} must end in .csv or .parquet.")
            if data == "-" or (Path(data).exists() and not _twice(data)):
                raise click.UsageError(
                    f"--{name} reads DATA a second time, and a pipe can be read only once. Save "
                    "it to a file first."
                )
            keep_inputs([path], [data, *others], f"--{name}")
            refuse_file(path, force)
            if not path.parent.is_dir():
                raise ValueError(
                    f"could not write {path}: there is no such folder. Make the folder first, or "
                    "choose another."
                )
        if self.clean is not None and self.flags is not None:
            keep_inputs([self.clean], [self.flags], "--clean")

    def write(self, data: Data, features: Sequence[str], found: Answer, force: bool) -> None:
        """Write them, each of them whole or not at all."""
        labels = Labels.of(found)
        for name, path in self.places.items():
            keep = labels.good if name == "clean" else None
            copy = Copy(data, tuple(features), labels, keep)
            atomic_write(path, copy.writer(path), force=force)


def _twice(data: str) -> bool:
    return Path(data).is_dir() or can_be_read_again(data)


@dataclass(frozen=True)
class Labels:
    """What became of each row of a file, (n,) each."""

    good: npt.NDArray[np.bool_]
    """Rows that were judged, and are regular."""
    outlier: npt.NDArray[Any]
    """True, False, or None for rows that were not judged."""
    types: npt.NDArray[Any]
    times: npt.NDArray[np.float64]
    """NaN for rows that were not judged."""

    @classmethod
    def of(cls, found: Answer) -> Labels:
        """Those of all rows, also of such as were left out."""
        n = len(found.ids) + len(found.dropped.ids)
        good, times = np.zeros(n, dtype=bool), np.full(n, np.nan)
        outlier, types = np.full(n, None, dtype=object), np.full(n, DROPPED, dtype=object)
        at = found.numbers - 1
        types[at] = found.types
        good[at] = found.types == "regular"
        judged = found.types != UNKNOWN
        outlier[at[judged]] = found.flagged[judged]
        times[at] = found.times
        return cls(good, outlier, types, times)


@dataclass(frozen=True)
class Copy:
    """Rows of a file, to be written to another."""

    data: Data
    features: tuple[str, ...]
    labels: Labels
    keep: npt.NDArray[np.bool_] | None
    """Rows to write; None: all of them, with labels."""

    def writer(self, path: Path) -> Callable[[IO[bytes]], None]:
        """What writes them to an open file."""
        return self._write_csv if path.suffix.lower() == ".csv" else self._write_parquet

    def _batches(self, raw: Raw, as_numbers: bool) -> Iterator[list[Any]]:
        """Columns of the rows to write, a few rows at a time."""
        pa = need("pyarrow", "cli", WHAT)
        features, start, n = set(self.features), 0, len(self.labels.good)
        for columns in raw.batches:
            now = slice(start, start + len(columns[0]))
            if as_numbers:
                columns = [
                    raw.numbers(name, cells, start) if name in features else cells
                    for name, cells in zip(raw.names, columns, strict=True)
                ]
            if now.stop <= n:
                if self.keep is None:
                    times = pa.array(self.labels.times[now], from_pandas=True)
                    yield [
                        *columns,
                        pa.array(self.labels.outlier[now].tolist(), pa.bool_()),
                        pa.array(self.labels.types[now].tolist(), pa.string()),
                        times,
                    ]
                else:
                    yield [cells.filter(pa.array(self.keep[now])) for cells in columns]
            start = now.stop
        if start != n:
            raise ValueError(
                f"{self.data.path} now has {start} rows, but had {n} when it was judged. Run "
                "the command again when the file no longer changes."
            )

    def _names(self, raw: Raw) -> list[str]:
        """Names of the columns; those of labels are none of the others."""
        names = list(raw.names)
        for name in FLAGS if self.keep is None else ():
            while name in names:
                name += "_"
            names.append(name)
        return names

    def _options(self) -> TextOptions:
        return TextOptions(**self.data.text_options)

    def _write_csv(self, file: IO[bytes]) -> None:
        """Write them so that the options that read the input read this, too."""
        with raw_table(self.data.path, self._options()) as raw:
            options = self._options()
            same = options if raw.is_text else TextOptions()
            text = TextIOWrapper(
                file, encoding=same.encoding or "utf-8", errors="backslashreplace", newline=""
            )
            between = same.delimiter or ","
            writer = csv.writer(text, delimiter=TABS.get(between, between))
            if options.header or not raw.is_text or self.keep is None:
                writer.writerow(self._names(raw))
            for columns in self._batches(raw, as_numbers=False):
                writer.writerows(zip(*map(as_texts, columns), strict=True))
            text.flush()
            text.detach()  # the file is not ours to close

    def _write_parquet(self, file: IO[bytes]) -> None:
        """Write them with features as numbers and all else as it is."""
        with raw_table(self.data.path, self._options()) as raw:
            write_batches(file, self._names(raw), self._batches(raw, as_numbers=True))


def as_texts(column: Any) -> list[str]:
    """Cells of an Arrow array as text, "" where there is none."""
    pa, pc = (need(module, "cli", WHAT) for module in ("pyarrow", "pyarrow.compute"))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    try:
        column = column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists and the like
        return ["" if value is None else str(value) for value in column.to_pylist()]
    return ["" if value is None else value for value in column.to_pylist()]
