"""A table in a file, and how to read it, as it was typed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torpca._cli.progress import reading
from torpca._cli.typed import split_names
from torpca._cli.words import translated
from torpca._files import FileTable, read_table
from torpca._files.read import kind_of


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
    thousands: str | None = None
    encoding: str | None = None
    skip_rows: int | None = None
    sheet: str | None = None
    time_column: str | None = None

    @property
    def title(self) -> str:
        """What the table is called."""
        return "standard input" if self.path == "-" else Path(self.path).name

    def check(self) -> None:
        """Raise an error if there is no such file, or none that can be read."""
        if self.path != "-":
            kind_of(Path(self.path))

    @property
    def text_options(self) -> dict[str, Any]:
        """How text and worksheets are read, as `read_table` takes it."""
        return {
            "delimiter": self.delimiter,
            "decimal": self.decimal or ".",
            "header": self.header is not False,
            "thousands": self.thousands,
            "encoding": self.encoding,
            "skip_rows": self.skip_rows or 0,
            "sheet": self.sheet,
        }

    def read(
        self,
        names: Sequence[str] | None = None,
        id_if_there: bool = False,
        time_if_there: bool = False,
    ) -> FileTable:
        """The table, with the columns `names` if they are given, else with those typed."""
        with reading(self.path) as progress:
            table = read_table(
                self.path,
                columns=split_names(self.columns) if names is None else names,
                exclude=(split_names(self.exclude) or ()) if names is None else (),
                id_column=self.id_column,
                id_if_there=id_if_there,
                missing=self.missing or "model",
                na_values=self.na_values or (),
                empty_too=names is not None,  # a model knows what belongs there
                time_column=self.time_column,
                time_if_there=time_if_there,
                progress=progress,
                **self.text_options,
            )
        return replace(table, notes=tuple(map(translated, table.notes)))

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON, with a path that holds in other folders too; a pipe has none."""
        path = Path(self.path)
        lasting = self.path != "-" and (path.is_file() or path.is_dir())
        return {**asdict(self), "path": str(path.resolve()) if lasting else "-"}


def keep_inputs(
    results: Iterable[Path], inputs: Iterable[str | Path], option: str = "--out"
) -> None:
    """Raise an error if a result would replace what it is made from, wanted or not."""
    there = [Path(path).resolve() for path in inputs if str(path) != "-"]
    for path in results:
        # A table may be a folder, of which no part may be replaced either.
        for one in there:
            if path.resolve() == one:
                raise ValueError(
                    f"{path} is an input, which must not be replaced. Give another {option}."
                )
            if path.resolve().is_relative_to(one):
                raise ValueError(
                    f"{path} would be inside {one.name}, which is an input. Give another {option}."
                )
