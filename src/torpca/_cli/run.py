"""From a table to results in a folder."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from torpca._answer import Answer, Dropped, answer
from torpca._atomic import atomic_folder
from torpca._cli.data import Data
from torpca._cli.imputed import write_imputed
from torpca._cli.progress import watched
from torpca._estimators.robust import OutlierRobustPCA
from torpca._files import FileTable
from torpca._model_file import save_model
from torpca._outputs import summary, write_scores
from torpca._report import write_report

MODEL, REPORT, SUMMARY = "model.npz", "report.html", "summary.json"
# What a folder of results may hold.
RESULTS = (
    *("scores.csv", "scores.parquet", "imputed.csv", "imputed.parquet"),
    *(MODEL, REPORT, SUMMARY),
)
# A column is all there is to a component if this is its part in it, and that of the variance.
ALONE, MOST = 0.999, 0.9


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


@dataclass(frozen=True)
class Fitted:
    """A model and what it says about the rows it was fitted to."""

    model: OutlierRobustPCA
    answer: Answer
    table: FileTable


def fit(
    table: FileTable, rank: int | float | str, *, scale: bool, title: str, cells: bool = False
) -> Fitted:
    """Fit a table, and say what there is to say about it."""
    options: dict[str, Any] = {"cells": True} if cells else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with watched(table.X, "fitting", table.names) as X:
            model = OutlierRobustPCA(rank, scale=scale, **options).fit(X)
        with watched(table.X, "describing", table.names) as X:
            told = answer(
                model,
                X,
                ids=table.ids,
                numbers=table.numbers,
                names=table.names,
                title=title,
                notes=[*table.notes, *about_units(model, table.names)],
                warnings=list(dict.fromkeys(str(w.message) for w in caught)),
                missing=table.missing,
                dropped=Dropped(table.dropped_ids, table.dropped),
            )
    # Of rows without names a fit knows none; with them, columns of new rows are found by name.
    model.feature_names_in_ = np.array(table.names, dtype=object)
    return Fitted(model, told, table)


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


def write_all(
    fitted: Fitted, folder: Path, *, table: str, data: Data, force: bool, impute: bool = False
) -> None:
    """Write everything into `folder`, all of it or nothing; `table` is "parquet" or "csv"."""
    with atomic_folder(folder, force=force, names=RESULTS) as parts:
        write_scores(fitted.answer, parts / f"scores.{table}")
        if impute:
            filled = parts / f"imputed.{table}"
            write_imputed(fitted.model, fitted.table, filled, data.id_column)
        save_model(fitted.model, parts / MODEL)
        write_report(fitted.answer, parts / REPORT)
        content = {**summary(fitted.answer), "data": data.to_dict()}
        (parts / SUMMARY).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
