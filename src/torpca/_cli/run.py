"""What the commands do, without the command line."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path

from torpca._answer import Answer, answer
from torpca._atomic import atomic_folder
from torpca._cli.progress import with_progress
from torpca._estimators.robust import OutlierRobustPCA
from torpca._files import FileTable
from torpca._model_file import save_model
from torpca._outputs import summary, write_scores
from torpca._report import write_report

MODEL, REPORT, SUMMARY = "model.npz", "report.html", "summary.json"
# What a folder of results may hold.
RESULTS = ("scores.csv", "scores.parquet", MODEL, REPORT, SUMMARY)


@dataclass(frozen=True)
class Fitted:
    """A model and what it says about the rows it was fitted to."""

    model: OutlierRobustPCA
    answer: Answer


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


def fit(table: FileTable, rank: int | float | str, *, scale: bool, title: str) -> Fitted:
    """Fit a table, and say what there is to say about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with with_progress(table.X, "fitting") as X:
            model = OutlierRobustPCA(rank, scale=scale).fit(X)
        with with_progress(table.X, "describing") as X:
            told = answer(
                model,
                X,
                ids=table.ids,
                names=table.names,
                title=title,
                notes=table.notes,
                warnings=list(dict.fromkeys(str(w.message) for w in caught)),
            )
    return Fitted(model, told)


def write_all(fitted: Fitted, folder: Path, *, table: str, data: str, force: bool) -> None:
    """Write everything into `folder`, all of it or nothing; `table` is "parquet" or "csv"."""
    with atomic_folder(folder, force=force, names=RESULTS) as parts:
        write_scores(fitted.answer, parts / f"scores.{table}")
        save_model(fitted.model, parts / MODEL)
        write_report(fitted.answer, parts / REPORT)
        content = {**summary(fitted.answer), "data": data}
        (parts / SUMMARY).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
