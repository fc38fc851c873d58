"""An answer as a table of all rows, as JSON and as a few lines of text."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from io import TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from torpca._answer import Answer
from torpca._atomic import atomic_write
from torpca._causes import because_of, brief_reasons, cause_words, kinds_words, span_words
from torpca._estimators.limits import UNKNOWN
from torpca._estimators.settled import still_moving
from torpca._estimators.words import reason_for_rank, stability_words
from torpca._missing_words import how_much, missing_summary, what_was_done
from torpca._names import FROM_ONE
from torpca._times import one_time, shown_times
from torpca._words import counted, figures, percent, printable, whole

# Rows and causes in a summary, and causes in its text.
MOST_EXTREME, MOST_CAUSES, CAUSES_IN_TEXT = 10, 20, 6
# Rows made into text at a time, so that a long table takes little memory.
ROWS_AT_ONCE = 20_000
KINDS = ("bad leverage", "orthogonal", "good leverage")
# The type of rows that were left out; they are neither inliers nor outliers.
DROPPED = "dropped"
# What a spreadsheet takes for the beginning of a formula, also in full width.
FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
A_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


# ---- all rows -----------------------------------------------------------------------------------


def scores_table(answer: Answer) -> dict[str, npt.NDArray[Any]]:
    """Columns of a table with one line for each row.

    Parameters
    ----------
    answer : Answer
        Of n rows and k components.

    Returns
    -------
    dict of ndarray of shape (n,)
        "row", its id, or if it has none its number in the table, counted from 1; "time", if
        it is known when rows were measured;
        "label", "outlier" for rows off the model, "extreme" for those that are only far out in it
        (good leverage), "unknown" for rows that cannot be judged, and else "inlier": `predict`
        labels the first two -1; "type"; "times_limit", the larger of the two distances in units of
        its limit; "score_distance"; "orthogonal_distance"; "pc1" to "pck", the coordinates on the
        components; "top_features", for the first two the features that explain them, such as
        "rpm 0, usually 1,390 to 1,510 given the others", and for others nothing.

    Notes
    -----
    All rows are there, in the order of the table. Those with too few cells have the type "unknown";
    those that were left out the type "dropped" and no coordinates. Distances of both are NaN.

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca._answer import answer
    >>> from torpca.datasets import make_outlier_subspace
    >>> X = make_outlier_subspace(300, 6, 2, 0.2, noise=0.01, random_state=0).X
    >>> list(scores_table(answer(OutlierRobustPCA(2).fit(X), X)))  # doctest: +NORMALIZE_WHITESPACE
    ['row', 'label', 'type', 'times_limit', 'score_distance', 'orthogonal_distance', 'pc1', 'pc2',
    'top_features']
    """
    why = np.full(len(answer.ids), "", dtype=object)
    known = range(len(answer.features))
    why[answer.extreme[: len(known)]] = [because_of(answer, i, str) for i in known]
    label = np.where(answer.flagged, "outlier", "inlier")
    label = np.where(answer.types == "good leverage", "extreme", label)
    table: dict[str, npt.NDArray[Any]] = {
        "row": answer.ids,
        **({} if answer.times_of_rows is None else {"time": answer.times_of_rows}),
        "label": np.where(answer.types == UNKNOWN, UNKNOWN, label),
        "type": answer.types,
        "times_limit": np.where(answer.types == UNKNOWN, np.nan, answer.times),
        "score_distance": answer.score_distances,
        "orthogonal_distance": answer.orthogonal_distances,
        **{f"pc{j}": column for j, column in enumerate(answer.scores.T, start=1)},
        "top_features": why,
    }
    return _with_dropped(table, answer) if len(answer.dropped.ids) else table


def _with_dropped(table: dict[str, npt.NDArray[Any]], answer: Answer) -> dict[str, Any]:
    """The table with lines for the rows that were left out, where they were."""
    dropped, m = answer.dropped, len(answer.dropped.ids)
    order = np.argsort(np.concatenate([answer.numbers, dropped.numbers]), kind="stable")
    lines = {"row": dropped.ids, "label": np.full(m, UNKNOWN), "type": np.full(m, DROPPED)}
    lines["top_features"] = np.full(m, "", dtype=object)
    if "time" in table:
        none = np.full(m, np.datetime64("NaT") if table["time"].dtype.kind == "M" else "")
        lines["time"] = none if dropped.times is None else dropped.times
    nothing = np.full(m, np.nan)
    return {
        name: np.concatenate([column, lines.get(name, nothing)])[order]
        for name, column in table.items()
    }


def write_scores(answer: Answer, path: str | os.PathLike[str], *, force: bool = True) -> Path:
    """Path of a file with the table of `scores_table`, complete or not there at all.

    Parameters
    ----------
    answer : Answer
        What to write.
    path : path
        Ending in .parquet, for which pyarrow must be installed, or in .csv. Without an ending,
        the first of these that can be written is added.
    force : bool, default=True
        Whether to replace a file that is there.

    Returns
    -------
    Path

    Notes
    -----
    A spreadsheet takes text that begins with =, +, - or @ for a formula, and runs it. In a CSV
    file such ids and names of features have an apostrophe in front, unless they are plain numbers
    such as -5; a Parquet file has them as they are.
    """
    path = Path(path)
    if not path.suffix:
        path = path.with_suffix(".parquet" if find_spec("pyarrow") else ".csv")
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise ValueError(
            f"scores can be written to a .csv or .parquet file, not to {path}. Choose one of the "
            "two endings."
        )
    table = scores_table(answer)
    if ending == ".csv":
        return atomic_write(path, lambda file: _write_csv(table, file), force=force)
    try:
        import pyarrow.parquet  # noqa: PLC0415 (optional, and its import is slow)
    except ImportError as error:
        raise ImportError(
            f'{path} needs pyarrow: pip install "torpca[cli]", or choose a name that ends in .csv.'
        ) from error
    columns = pyarrow.table({name: _arrow(pyarrow, column) for name, column in table.items()})
    return atomic_write(path, lambda file: pyarrow.parquet.write_table(columns, file), force=force)


def _write_csv(table: dict[str, npt.NDArray[Any]], file: IO[bytes]) -> None:
    # A text that is no proper Unicode is no reason to lose the table.
    text = TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    writer = csv.writer(text)
    writer.writerow(table)
    for block in _blocks(table):
        writer.writerows(zip(*block, strict=True))
    text.flush()
    text.detach()  # the file is not ours to close


def _blocks(table: dict[str, npt.NDArray[Any]]) -> Iterator[list[list[Any]]]:
    """Columns as lists, a few rows at a time, with no text that a spreadsheet would run."""
    n = len(table["row"])
    for start in range(0, n, ROWS_AT_ONCE):
        parts = [column[start : start + ROWS_AT_ONCE] for column in table.values()]
        block = [part.tolist() for part in parts]
        for place, name in enumerate(table):
            if parts[place].dtype.kind == "M":
                block[place] = shown_times(parts[place]).tolist()
            elif name in ("row", "top_features", "time"):
                block[place] = [no_formula(text) for text in block[place]]
            elif parts[place].dtype.kind == "f" and np.isnan(parts[place]).any():
                # What is not known is an empty cell.
                block[place] = ["" if value != value else value for value in block[place]]
        yield block


def no_formula(text: str) -> str:
    """`text` with an apostrophe in front if a spreadsheet would take it for a formula."""
    risky = text.lstrip().startswith(FORMULA) or text.startswith(("\t", "\r", "\n"))
    return f"'{text}" if risky and not A_NUMBER.fullmatch(text) else text


def _arrow(pyarrow: Any, column: npt.NDArray[Any]) -> Any:
    """A column as pyarrow has it."""
    if column.dtype.kind == "M":  # Arrow's days are no moments, and other programs want one kind
        return pyarrow.array(column.astype("M8[us]"))
    if column.dtype.kind == "f":
        return pyarrow.array(np.ascontiguousarray(column), from_pandas=True)  # NaN is null
    try:
        return pyarrow.array(column, type=pyarrow.string())
    except UnicodeError:
        proper = [text.encode("utf-8", "backslashreplace").decode() for text in column.tolist()]
        return pyarrow.array(proper, type=pyarrow.string())


# ---- in short -----------------------------------------------------------------------------------


def summary(answer: Answer) -> dict[str, Any]:
    """Return what matters of an answer, as JSON can hold it.

    Parameters
    ----------
    answer : Answer
        What to sum up.

    Returns
    -------
    dict
        "title", "rows", "features": what was looked at;
        "rank": "components", the "rule" that chose their number, that rule in words ("reason"),
        the "gap" after the last of them and the share "explained" of the variance that the rank
        was chosen from;
        "flagged": "rows" in all, their "share", how many are "off_the_model" and how many
        "merely_extreme" (far out in it), and the number of each type; how many rows ordinary PCA
        flags with limits of the same kind ("by_ordinary_pca") and how many are flagged "by_both",
        or for new rows the "share_at_fit", None if the model does not know it;
        "missing": how many "cells" are, as a "share" of all, in how many "rows", how many rows
        were "dropped" for it and how many have too few cells to be judged ("unknown"), the
        "columns" with most missing cells, and the shares of the cells that are missing in flagged
        and in other rows;
        "scaled": whether columns were divided by robust standard deviations;
        "limits" on the two distances;
        "causes": the flagged rows by what is wrong with them, the commonest first: the "cause", its
        "features", how many "rows", and "where" they are;
        "most_extreme": up to ten rows, each with its id ("row"), its "number" in the table,
        counted from 1, its "time" if it is known, its "type", distances, how many "times_limit"
        the larger of them is, and the "features" that explain it, each with its "value", what was
        "expected", the usual range from "low" to "high", and its "share" of the squared distance;
        of spectra, bands, each with a share that is negative where it is too low;
        "variance_explained": in all and "by_component", "without_bad_rows" by our components
        and "with_bad_rows" by those of ordinary PCA;
        "angle_to_ordinary_pca": the largest angle between the two subspaces, in degrees; of new
        rows neither this nor the variance "with_bad_rows" says anything, and they are None;
        "advice": what a look at the columns suggests;
        "iterations", "converged", "notes", "warnings": of the fit. What is infinite is None.

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca._answer import answer
    >>> from torpca.datasets import make_outlier_subspace
    >>> X = make_outlier_subspace(300, 6, 2, 0.2, noise=0.01, random_state=0).X
    >>> summary(answer(OutlierRobustPCA(2).fit(X), X))["rank"]["reason"]
    'as requested'
    """
    n, flagged = len(answer.ids), int(np.count_nonzero(answer.flagged))
    rank = answer.rank
    return {
        "title": answer.title,
        "rows": n,
        "features": len(answer.names),
        "rank": {
            "components": int(rank.rank),
            "rule": rank.rule,
            "reason": reason_for_rank(rank.rule, rank.gap, rank.explained)
            if rank.rank
            else "because more than half of the rows are equal",
            "gap": _number(rank.gap),
            "explained": _number(rank.explained),
        },
        "flagged": {
            "rows": flagged,
            "share": flagged / n if n else 0.0,
            "off_the_model": int(np.count_nonzero(np.isin(answer.types, KINDS[:2]))),
            "merely_extreme": int(np.count_nonzero(answer.types == KINDS[2])),
            **({"share_at_fit": _share_at_fit(answer)} if answer.new else _by_ordinary_pca(answer)),
            **{kind: int(np.count_nonzero(answer.types == kind)) for kind in KINDS},
        },
        "missing": missing_summary(answer),
        "scaled": answer.scaled,
        "limits": {name: _number(limit) for name, limit in answer.cutoffs.items()},
        "causes": [
            {
                "cause": cause.words,
                "features": list(cause.features),
                "rows": len(cause.rows),
                "where": span_words(answer, cause.rows),
            }
            for cause in answer.causes[:MOST_CAUSES]
        ],
        "most_extreme": [
            _row(answer, place) for place in range(len(answer.extreme))[:MOST_EXTREME]
        ],
        "variance_explained": {
            "without_bad_rows": _number(np.sum(answer.explained)),
            "with_bad_rows": None if answer.new else _number(np.sum(answer.plain_explained)),
            "by_component": {
                "without_bad_rows": [_number(share) for share in answer.explained],
                "with_bad_rows": None
                if answer.new
                else [_number(share) for share in answer.plain_explained],
            },
        },
        "angle_to_ordinary_pca": None if answer.new else _number(answer.angle),
        "iterations": len(answer.history),
        "converged": bool(answer.converged),
        "advice": list(answer.advice),
        "notes": list(answer.notes),
        "warnings": list(answer.warnings),
    }


def _row(answer: Answer, place: int) -> dict[str, Any]:
    """One of the most extreme rows."""
    at = int(answer.extreme[place])
    distances = {
        "score": float(answer.score_distances[at]),
        "orthogonal": float(answer.orthogonal_distances[at]),
    }
    return {
        "row": str(answer.ids[at]),
        "number": int(answer.numbers[at]),
        **_time(answer, at),
        "type": str(answer.types[at]),
        "score_distance": _number(distances["score"]),
        "orthogonal_distance": _number(distances["orthogonal"]),
        "times_limit": _number(float(answer.times[at])),
        "features": _features(answer, place),
    }


def _features(answer: Answer, place: int) -> list[dict[str, Any]]:
    """What explains one of the most extreme rows."""
    if answer.profile:
        return [{"name": name, "share": _number(share)} for name, share in answer.features[place]]
    found = answer.explanation
    return [
        {
            "name": answer.names[found.features[place, s]],
            "value": _number(found.values[place, s]),
            "expected": _number(found.expected[place, s]),
            "low": _number(found.low[place, s]),
            "high": _number(found.high[place, s]),
            "share": _number(found.shares[place, s]),
        }
        for s in range(int(found.count[place]))
    ]


def _by_ordinary_pca(answer: Answer) -> dict[str, int]:
    """How many rows ordinary PCA flags with limits of the same kind, and how many both do."""
    if answer.plain_flagged is None:
        return {}
    both = np.count_nonzero(answer.plain_flagged & answer.flagged)
    return {
        "by_ordinary_pca": int(np.count_nonzero(answer.plain_flagged)),
        "by_both": int(both),
    }


def _share_at_fit(answer: Answer) -> float | None:
    """Share of the rows of the fit that were flagged, if that is known."""
    return None if answer.baseline is None else answer.baseline.share


def _time(answer: Answer, at: int) -> dict[str, str]:
    """When a row was measured, if that is known."""
    times = answer.times_of_rows
    return {} if times is None else {"time": str(shown_times(times[at : at + 1])[0])}


def _number(value: Any) -> float | None:
    """A float as JSON can hold it."""
    value = float(value)
    return value if isfinite(value) else None


# ---- in words -----------------------------------------------------------------------------------


def summary_text(answer: Answer) -> str:
    """Return what matters of an answer in a few aligned lines of plain text, for a terminal.

    Parameters
    ----------
    answer : Answer
        What to sum up.

    Returns
    -------
    str
        Without a line break at its end. Ids and names are shortened, and characters that a
        terminal would obey are left out.
    """
    told = summary(answer)
    rank, flagged, explained = told["rank"], told["flagged"], told["variance_explained"]
    facts = {
        "components": f"{rank['components']}, {rank['reason']}",
        "flagged": f"{whole(flagged['rows'])} of {counted(told['rows'], 'row')} "
        f"({percent(flagged['share'])})" + f": {kinds_words(answer)}" * bool(flagged["rows"]),
        "columns": "scaled" if answer.scaled else "not scaled",
    }
    if answer.baseline is not None:
        facts["compared"] = (
            f"{percent(flagged['share'])} flagged now, {percent(answer.baseline.share)} at the fit"
        )
    if told["missing"]["cells"]:
        facts["missing"] = f"{how_much(answer)}: {what_was_done(answer)}"
    if not answer.new:
        facts["variance explained"] = (
            f"{percent(explained['without_bad_rows'])} without the bad rows; "
            f"{percent(explained['with_bad_rows'])} with them, by ordinary PCA"
        )
        if "by_both" in flagged:
            facts["ordinary PCA"] = (
                f"flags {counted(flagged['by_ordinary_pca'], 'row')}, "
                f"{whole(flagged['by_both'])} of these {whole(flagged['rows'])}"
            )
        facts["angle"] = f"{answer.angle:.1f} degrees between ordinary PCA and torpca"
    moved = still_moving(answer.converged, answer.history)
    if moved is not None:
        facts["iterations"] = (
            f"{whole(told['iterations'])}, and the subspace still moved by {moved:.1e}"
        )
    width = max(map(len, facts))
    title = printable(told["title"], 60)
    size = f"{counted(told['rows'], 'row')} of {counted(told['features'], 'feature')}"
    lines = [f"{title}: {size}", ""]
    lines += [f"  {name:<{width}}  {value}" for name, value in facts.items()]
    for sentence in stability_words(answer.stability, len(answer.ids)):
        lines.append(f"  {sentence.replace('this number', 'the number of components')}")
    if answer.causes:
        lines += ["", "causes", *(f"  {line}" for line in _cause_lines(answer))]
    lines += ["", *_extreme_lines(answer, told)]
    for name in ("advice", "notes", "warnings"):
        if told[name]:
            lines += ["", name, *(f"  {printable(text, 1000)}" for text in told[name])]
    return "\n".join(lines)


def _cause_lines(answer: Answer) -> list[str]:
    """The commonest causes, a line each."""
    shown = answer.causes[:CAUSES_IN_TEXT]
    counts = [counted(len(cause.rows), "row") for cause in shown]
    said = [cause_words(answer, cause, lambda text: printable(text, 90)) for cause in shown]
    width = max(map(len, counts))
    lines = [f"{count:>{width}}  {words}" for count, words in zip(counts, said, strict=True)]
    others = answer.causes[CAUSES_IN_TEXT:]
    if others:
        rows = sum(len(cause.rows) for cause in others)
        lines.append(f"and {counted(len(others), 'more cause')} of {counted(rows, 'row')}")
    return lines


def _extreme_lines(answer: Answer, told: dict[str, Any]) -> list[str]:
    """A small table of the most extreme rows."""
    rows = told["most_extreme"]
    if not rows:
        return ["No row is beyond a limit."]
    what = "share of the distance" if answer.profile else "usually, given the others"
    times = answer.times_of_rows
    head = ["row", *(["time"] if times is not None else []), "type", "times its limit"]
    cells = [
        [
            printable(row["row"], 24),
            *([] if times is None else [printable(one_time(times[answer.extreme[i]]), 24)]),
            row["type"],
            "beyond 0" if row["times_limit"] is None else figures(row["times_limit"]),
        ]
        for i, row in enumerate(rows)
    ]
    why = [brief_reasons(answer, i, lambda name: printable(name, 24)) for i in range(len(rows))]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    more = told["flagged"]["rows"] - len(rows)
    return [
        "most extreme rows"
        + f" ({FROM_ONE})" * answer.numbered
        + f", and {whole(more)} more" * (more > 0),
        *(
            "  ".join(
                ["", *map(str.ljust, line[:-1], widths[:-1]), line[-1].rjust(widths[-1]), reason]
            ).rstrip()
            for line, reason in zip([head, *cells], [f"because of ({what})", *why], strict=True)
        ),
    ]
