"""From a table to results in a folder."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from torpca._answer import Answer, Dropped, answer
from torpca._atomic import atomic_folder
from torpca._cli.data import Data
from torpca._cli.imputed import write_imputed
from torpca._cli.progress import watched
from torpca._cli.provenance import provenance
from torpca._cli.words import translated
from torpca._estimators.robust import OutlierRobustPCA
from torpca._files import FileTable
from torpca._missing.check import TOO_FEW
from torpca._model_file import save_model
from torpca._outputs import summary, write_scores
from torpca._report import write_report
from torpca._words import percent

MODEL, REPORT, SUMMARY = "model.npz", "report.html", "summary.json"
# What a folder of results may hold.
RESULTS = (
    *("scores.csv", "scores.parquet", "imputed.csv", "imputed.parquet"),
    *(MODEL, REPORT, SUMMARY),
)


@dataclass(frozen=True)
class Fitted:
    """A model and what it says about the rows it was fitted to."""

    model: OutlierRobustPCA
    answer: Answer
    table: FileTable


def fit_table(
    table: FileTable, rank: int | float | str, *, title: str, **parameters: Any
) -> Fitted:
    """Fit a table, and say what there is to say about it.

    `parameters` are those of the estimator; None for those that nobody asked for.
    """
    parameters = {name: value for name, value in parameters.items() if value is not None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with watched(table.X, "fitting", table.names) as X:
            model = OutlierRobustPCA(rank, **parameters).fit(X)
        with watched(table.X, "describing", table.names) as X:
            told = answer(
                model,
                X,
                ids=table.ids,
                numbers=table.numbers,
                names=table.names,
                title=title,
                notes=[*table.notes, *about_limits(parameters)],
                warnings=list(dict.fromkeys(translated(str(w.message)) for w in caught)),
                missing=table.missing,
                dropped=Dropped(table.dropped_ids, table.dropped, table.dropped_times),
                times_of_rows=table.times,
            )
    # Of rows without names a fit knows none; with them, columns of new rows are found by name.
    model.feature_names_in_ = np.array(table.names, dtype=object)
    told = replace(told, advice=tuple(map(translated, told.advice)))
    if told.missing.cells and not len(told.dropped.ids):  # the line about missing cells says it
        told = replace(told, warnings=tuple(w for w in told.warnings if TOO_FEW not in w))
    return Fitted(model, told, table)


def about_limits(parameters: Mapping[str, Any]) -> list[str]:
    """Sentences on labels that are not those of the usual limits."""
    told = []
    if "limit" in parameters:
        beyond = percent(1 - parameters["limit"])
        told.append(f"Of Gaussian good rows, {beyond} are beyond a limit (--limit).")
    if "contamination" in parameters:
        share = percent(parameters["contamination"])
        told.append(f"The farthest {share} of the rows are flagged, good or bad (--contamination).")
    return told


def write_all(
    fitted: Fitted,
    folder: Path,
    *,
    table: str,
    data: Data,
    force: bool,
    impute: bool = False,
    made_from: Mapping[str, Any] | None = None,
) -> None:
    """Write everything into `folder`, all of it or nothing; `table` is "parquet" or "csv".

    `made_from` is what the results are known by if they are made once more.
    """
    with atomic_folder(folder, force=force, names=RESULTS) as parts:
        write_scores(fitted.answer, parts / f"scores.{table}")
        if impute:
            filled = parts / f"imputed.{table}"
            write_imputed(fitted.model, fitted.table, filled, data.id_column)
        save_model(fitted.model, parts / MODEL)
        write_report(replace(fitted.answer, provenance=provenance(data, folder)), parts / REPORT)
        content = {**summary(fitted.answer), "data": data.to_dict(), "made_from": made_from}
        (parts / SUMMARY).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
