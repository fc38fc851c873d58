"""What the commands do, without the command line."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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


# ---- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """A table in a file and how to read it, as it was typed."""

    path: str
    id_column: str | None = None
    columns: str | None = None
    missing: str = "error"
    delimiter: str | None = None

    @property
    def title(self) -> str:
        """What the table is called."""
        return "standard input" if self.path == "-" else Path(self.path).name

    def read(self, names: Sequence[str] | None = None) -> FileTable:
        """The table; `names` are the columns to use if none were typed."""
        columns = None if names is None else list(names)
        if self.columns is not None:
            columns = [name.strip() for name in self.columns.split(",")]
        with reading(self.path) as progress:
            return read_table(
                self.path,
                columns=columns,
                id_column=self.id_column,
                missing=self.missing,
                delimiter=self.delimiter,
                progress=progress,
            )

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON, with a path that holds in other folders too."""
        path = self.path if self.path == "-" else str(Path(self.path).resolve())
        return {**asdict(self), "path": path}


def rank_of(text: str) -> int | float | str:
    """Number of components from what was typed: a whole number, a share, or "auto"."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        share = float(text)
    except ValueError:
        share = float("nan")
    if not 0 < share < 1:
        raise ValueError(
            f"-k {text} must be a whole number of components, a share of the variance between 0 "
            "and 1, or auto. Leave it out for auto."
        )
    return share


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
                names=table.names,
                title=title,
                notes=table.notes,
                warnings=list(dict.fromkeys(str(w.message) for w in caught)),
            )
    # Of rows without names a fit knows none; with them, columns of new rows are found by name.
    model.feature_names_in_ = np.array(table.names, dtype=object)
    return Fitted(model, told)


def write_all(fitted: Fitted, folder: Path, *, table: str, data: Data, force: bool) -> None:
    """Write everything into `folder`, all of it or nothing; `table` is "parquet" or "csv"."""
    with atomic_folder(folder, force=force, names=RESULTS) as parts:
        write_scores(fitted.answer, parts / f"scores.{table}")
        save_model(fitted.model, parts / MODEL)
        write_report(fitted.answer, parts / REPORT)
        content = {**summary(fitted.answer), "data": data.to_dict()}
        (parts / SUMMARY).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


# ---- a model that is there -----------------------------------------------------------------------


def judged(
    model: Path,
    data: Data,
    *,
    title: str | None = None,
    notes: Sequence[str] | None = None,
    warnings: Sequence[str] = (),
) -> Answer:
    """What a saved model, or the one in a folder of results, says of the rows of a file."""
    fitted = load_model(model / MODEL if model.is_dir() else model)
    names = getattr(fitted, "feature_names_in_", None)
    table = data.read(None if names is None else [str(name) for name in names])
    if names is not None:
        del fitted.feature_names_in_  # they are in order, and the rows have no names any more
    with watched(table.X, "judging") as X:
        return answer(
            fitted,
            X,
            ids=table.ids,
            names=table.names,
            title=title or data.title,
            new=True,
            notes=table.notes if notes is None else notes,
            warnings=warnings,
        )


def judged_again(folder: Path, model: Path) -> Answer:
    """What a model says of the rows it was fitted to, which lie where they lay then."""
    try:
        content = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        data, title = Data(**content["data"]), str(content["title"])
        notes, said = ([str(text) for text in content[name]] for name in ("notes", "warnings"))
    except (OSError, ValueError, KeyError, TypeError):
        data = Data("-")
    if data.path == "-":
        raise ValueError(f"{folder} does not say what its data is. Give DATA as second argument.")
    return judged(model, data, title=title, notes=notes, warnings=said)
