"""Results that are there: a model, and what it says of the same rows or of others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torpca._answer import Answer, Dropped, answer
from torpca._cli.data import Data
from torpca._cli.progress import watched
from torpca._cli.provenance import provenance
from torpca._cli.run import MODEL, SUMMARY
from torpca._cli.typed import split_names
from torpca._files import excel
from torpca._model_file import load_model
from torpca._words import counted, whole

# How the data of a fit was read, which holds for new rows too.
REMEMBERED = (
    *("id_column", "time_column", "missing", "na_values", "delimiter", "decimal", "header"),
    *("thousands", "encoding", "skip_rows", "sheet"),
)


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
        return self._judge(
            self.as_then(data),
            title=data.title,
            new=True,
            id_if_there=data.id_column is None,
            time_if_there=data.time_column is None,
        )

    def as_then(self, data: Data) -> Data:
        """`data`, read as that of the fit was, as far as that is known, unless said otherwise."""
        then = self.data
        if then is None:
            return data
        same = {name: getattr(then, name) for name in REMEMBERED if getattr(data, name) is None}
        if Path(data.path).suffix.lower() not in excel.SUFFIXES:
            same.pop("sheet", None)
        return replace(data, **same)

    def judge_again(self) -> Answer:
        """What the model says of the rows it was fitted to, which lie where they lay then."""
        then = self.data
        if then is None or then.path == "-":
            raise ValueError(
                f"{self.model.parent} does not say where its data is. Give DATA as the second "
                "argument."
            )
        found = self._judge(
            then,
            title=self.summary["title"],
            notes=self.summary["notes"],
            warnings=self.summary["warnings"],
        )
        n = self.summary.get("rows")
        if len(found.ids) != n:
            then_rows = whole(n) if isinstance(n, int) else "an unknown number"
            raise ValueError(
                f"{then.path} now has {counted(len(found.ids), 'row')}, but had {then_rows} when "
                "the model was fitted. Give it as DATA to judge the rows as new ones."
            )
        return found

    def _judge(
        self,
        data: Data,
        *,
        title: str,
        notes: Sequence[str] | None = None,
        warnings: Sequence[str] = (),
        new: bool = False,
        id_if_there: bool = False,
        time_if_there: bool = False,
    ) -> Answer:
        fitted = load_model(self.model)
        names = getattr(fitted, "feature_names_in_", None)
        if names is not None:
            names = [str(name) for name in names]
            typed = split_names(data.columns)
            unwanted = set(split_names(data.exclude) or ()) & set(names)
            if new and unwanted:
                raise ValueError(
                    f"--exclude names {', '.join(sorted(unwanted))}, which the model needs. Leave "
                    "it out."
                )
            if typed is not None and set(typed) != set(names):
                raise ValueError(
                    f"--columns names {counted(len(typed), 'column')} that are not those of the "
                    f"model, {', '.join(names[:5])}{', ...' * (len(names) > 5)}. Leave it out: "
                    "columns are found by their names."
                )
            del fitted.feature_names_in_  # rows are read in this order, and have no names then
        table = data.read(names, id_if_there, time_if_there)
        with watched(table.X, "judging", table.names) as X:
            found = answer(
                fitted,
                X,
                ids=table.ids,
                numbers=table.numbers,
                names=table.names,
                title=title,
                new=new,
                notes=table.notes if notes is None else notes,
                warnings=warnings,
                missing=table.missing,
                dropped=Dropped(table.dropped_ids, table.dropped, table.dropped_times),
                times_of_rows=table.times,
            )
        made = provenance(data, self.model.parent, self.model)
        return replace(found, provenance=made)
