"""A table in a file, and how to read it, as it was typed."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torpca._cli.progress import reading
from torpca._files import FileTable, read_table


@dataclass(frozen=True)
class Data:
    """A table in a file and how to read it, as it was typed; None is what was not."""

    path: str
    id_column: str | None = None
    columns: str | None = None
    exclude: str | None = None
    missing: str | None = None
    na_values: Sequence[str] | None = None
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None

    @property
    def title(self) -> str:
        """What the table is called."""
        return "standard input" if self.path == "-" else Path(self.path).name

    def read(self, names: Sequence[str] | None = None, id_if_there: bool = False) -> FileTable:
        """The table, with the columns `names` if they are given, else with those typed."""
        with reading(self.path) as progress:
            return read_table(
                self.path,
                columns=listed(self.columns) if names is None else names,
                exclude=(listed(self.exclude) or ()) if names is None else (),
                id_column=self.id_column,
                id_if_there=id_if_there,
                missing=self.missing or "model",
                na_values=self.na_values or (),
                empty_too=names is not None,  # a model knows what belongs there
                delimiter=self.delimiter,
                decimal=self.decimal or ".",
                header=self.header is not False,
                progress=progress,
            )

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON, with a path that holds in other folders too; a pipe has none."""
        path = Path(self.path)
        lasting = self.path != "-" and (path.is_file() or path.is_dir())
        return {**asdict(self), "path": str(path.resolve()) if lasting else "-"}


def listed(typed: str | None) -> list[str] | None:
    """Names that were typed with commas between them, those that hold a comma in quotes."""
    if typed is None:
        return None
    return [name.strip() for name in next(csv.reader([typed], skipinitialspace=True), [])]


def keep_inputs(results: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """Raise an error if a result would replace what it is made from, wanted or not."""
    there = [Path(path).resolve() for path in inputs if str(path) != "-"]
    for path in results:
        # A table may be a folder, of which no part may be replaced either.
        if any(path.resolve().is_relative_to(one) for one in there):
            raise ValueError(f"{path} is what the results are made from. Give another --out.")
