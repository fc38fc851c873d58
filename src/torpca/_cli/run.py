"""What the commands do, without the command line."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from torpca._answer import Answer, answer
from torpca._atomic import atomic_folder
from torpca._cli.progress import reading, watched
from torpca._estimators.robust import OutlierRobustPCA
from torpca._files import FileTable, read_table
from torpca._model_file import load_model, save_model
from torpca._outputs import summary, write_scores
from torpca._report import write_report

MODEL, REPORT, SUMMARY = "model.npz", "report.html", "summary.json"
# What a folder of results may hold.
RESULTS = ("scores.csv", "scores.parquet", MODEL, REPORT, SUMMARY)
# A column is all there is to a component if this is its part in it, and that of the variance.
ALONE, MOST = 0.999, 0.9


# ---- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """A table in a file and how to read it, as it was typed; None is what was not."""

    path: str
    id_column: str | None = None
    columns: str | None = None
    exclude: str | None = None
    missing: str | None = None
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
                missing=self.missing or "error",
                delimiter=self.delimiter,
                decimal=self.decimal or ".",
                header=self.header is not False,
                progress=progress,
            )

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON, with a path that holds in other folders too."""
        path = self.path if self.path == "-" else str(Path(self.path).resolve())
        return {**asdict(self), "path": path}


def listed(typed: str | None) -> list[str] | None:
    """Names that were typed with commas between them, those that hold a comma in quotes."""
    if typed is None:
        return None
    return [name.strip() for name in next(csv.reader([typed], skipinitialspace=True), [])]


def keep_inputs(results: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """Raise an error if a result would replace what it is made from, wanted or not."""
    there = {Path(path).resolve() for path in inputs if str(path) != "-"}
    for path in results:
        if path.resolve() in there:
            raise ValueError(f"{path} is what the results are made from. Give another --out.")


def rank_of(text: str) -> int | float | str:
    """Number of components from what was typed: a whole number, a share, or "auto"."""
    if text == "auto":
        return text
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(text)
            if number >= 1 if kind is int else 0 < number < 1:
                return number
    raise ValueError(
        f"{text} must be a whole number of components from 1 on, a share of the variance between 0 "
        "and 1, or auto. Leave it out for auto."
    )


# ---- fitting -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """A model and what it says about the rows it was fitted to."""

    model: OutlierRobustPCA
    answer: Answer


def fit(table: FileTable, rank: int | float | str, *, scale: bool, title: str) -> Fitted:
    """Fit a table, and say what there is to say about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with watched(table.X, "fitting") as X:
            model = OutlierRobustPCA(rank, scale=scale).fit(X)
        with watched(table.X, "describing") as X:
            told = answer(
                model,
                X,
                ids=table.ids,
                numbers=table.numbers,
                names=table.names,
                title=title,
                notes=[*table.notes, *about_units(model, table.names)],
                warnings=list(dict.fromkeys(str(w.message) for w in caught)),
            )
    # Of rows without names a fit knows none; with them, columns of new rows are found by name.
    model.feature_names_in_ = np.array(table.names, dtype=object)
    return Fitted(model, told)


def about_units(model: OutlierRobustPCA, names: Sequence[str]) -> list[str]:
    """A sentence if a component is one column and nothing else: its unit may be another."""
    if model.scale or len(names) < 3 or model.n_components_ == 0:
        return []
    first = np.abs(model.components_[0])
    j, share = int(np.argmax(first)), float(model.explained_variance_ratio_[0])
    if first[j] < ALONE or share < MOST:
        return []
    return [
        f"Component 1 is column {names[j]!r} alone, with {share:.1%} of the variance. If that is "
        "because of its unit, use --scale; if it is no feature, leave it out (--exclude)."
    ]


def write_all(fitted: Fitted, folder: Path, *, table: str, data: Data, force: bool) -> None:
    """Write everything into `folder`, all of it or nothing; `table` is "parquet" or "csv"."""
    with atomic_folder(folder, force=force, names=RESULTS) as parts:
        write_scores(fitted.answer, parts / f"scores.{table}")
        save_model(fitted.model, parts / MODEL)
        write_report(fitted.answer, parts / REPORT)
        content = {**summary(fitted.answer), "data": data.to_dict()}
        (parts / SUMMARY).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


# ---- a model that is there -----------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    """A model and, if it is in a folder of results, what these say of its data."""

    model: Path
    summary: Mapping[str, Any]

    @classmethod
    def at(cls, path: Path) -> Results:
        """Those of a model file, or of a folder with one."""
        folder = path if path.is_dir() else path.parent
        model = path / MODEL if path.is_dir() else path
        try:
            content = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
            Data(**content["data"]), str(content["title"])
            for name in ("notes", "warnings"):
                content[name] = [str(text) for text in content[name]]
        except (OSError, ValueError, KeyError, TypeError):
            content = {}
        return cls(model, content)

    @property
    def data(self) -> Data | None:
        """The table that the model was fitted to, as it was read then."""
        return Data(**self.summary["data"]) if self.summary else None

    def judge(self, data: Data) -> Answer:
        """What the model says of new rows, read as those of the fit were, unless said otherwise."""
        then = self.data
        if then is None:
            return self._judge(data, title=data.title, new=True)
        same = {
            name: getattr(then, name)
            for name in ("id_column", "missing", "delimiter", "decimal", "header")
            if getattr(data, name) is None
        }
        named_by_then = data.id_column is None
        return self._judge(
            replace(data, **same), title=data.title, new=True, id_if_there=named_by_then
        )

    def judge_again(self) -> Answer:
        """What the model says of the rows it was fitted to, which lie where they lay then."""
        then = self.data
        if then is None or then.path == "-":
            raise ValueError(
                f"{self.model.parent} does not say what its data is. Give DATA as second argument."
            )
        return self._judge(
            then,
            title=self.summary["title"],
            notes=self.summary["notes"],
            warnings=self.summary["warnings"],
        )

    def _judge(
        self,
        data: Data,
        *,
        title: str,
        notes: Sequence[str] | None = None,
        warnings: Sequence[str] = (),
        new: bool = False,
        id_if_there: bool = False,
    ) -> Answer:
        fitted = load_model(self.model)
        names = getattr(fitted, "feature_names_in_", None)
        if names is not None:
            names = [str(name) for name in names]
            typed = listed(data.columns)
            if typed is not None and set(typed) != set(names):
                raise ValueError(
                    f"--columns names {len(typed)} columns that are not those of the model, "
                    f"{', '.join(names[:5])}{', ...' * (len(names) > 5)}. Leave it out: columns "
                    "are found by their names."
                )
            del fitted.feature_names_in_  # rows are read in this order, and have no names then
        table = data.read(names, id_if_there)
        with watched(table.X, "judging") as X:
            return answer(
                fitted,
                X,
                ids=table.ids,
                numbers=table.numbers,
                names=table.names,
                title=title,
                new=new,
                notes=table.notes if notes is None else notes,
                warnings=warnings,
            )
