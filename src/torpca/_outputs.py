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
from torpca._bands import main_bands, shortened
from torpca._estimators.labels import UNKNOWN
from torpca._estimators.settled import still_moving
from torpca._estimators.words import reason_for_rank
from torpca._missing_words import how_much, missing_summary, what_was_done
from torpca._names import FROM_ONE
from torpca._numbers import counted, figures, whole

# Rows shown in a summary, and features for each of them in its text.
MOST_EXTREME, FEATURES_IN_TEXT = 10, 3
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
        "row", its id, or if it has none its number in the table, counted from 1;
        "label", "outlier" for all that `predict` labels -1, "unknown" for rows that cannot be
        judged, and else "inlier"; "type"; "score_distance"; "orthogonal_distance"; "pc1" to "pck",
        the coordinates on the components; "top_features", for outliers the features that made them
        so, each with its signed share of the squared distance, such as "x3 +61%, x7 -20%" (x3 is
        too large and x7 too small), and for others nothing.

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
    >>> list(scores_table(answer(OutlierRobustPCA(2).fit(X), X)))
    ['row', 'label', 'type', 'score_distance', 'orthogonal_distance', 'pc1', 'pc2', 'top_features']
    """
    top = np.full(len(answer.ids), "", dtype=object)
    top[answer.extreme] = [_features_text(features) for features in answer.features]
    label = np.where(answer.flagged, "outlier", "inlier")
    table: dict[str, npt.NDArray[Any]] = {
        "row": answer.ids,
        "label": np.where(answer.types == UNKNOWN, UNKNOWN, label),
        "type": answer.types,
        "score_distance": answer.score_distances,
        "orthogonal_distance": answer.orthogonal_distances,
        **{f"pc{j}": column for j, column in enumerate(answer.scores.T, start=1)},
        "top_features": top,
    }
    return _with_dropped(table, answer) if len(answer.dropped.ids) else table


def _with_dropped(table: dict[str, npt.NDArray[Any]], answer: Answer) -> dict[str, Any]:
    """The table with lines for the rows that were left out, where they were."""
    dropped, m = answer.dropped, len(answer.dropped.ids)
    order = np.argsort(np.concatenate([answer.numbers, dropped.numbers]), kind="stable")
    lines = {"row": dropped.ids, "label": np.full(m, UNKNOWN), "type": np.full(m, DROPPED)}
    lines["top_features"] = np.full(m, "", dtype=object)
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
            f"scores can be written to a file that ends in .csv or .parquet, not to {path}. Choose "
            "one of the two."
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
            if name in ("row", "top_features"):
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
        "flagged": "rows" in all, their "share", and the number of each type;
        "missing": how many "cells" are, as a "share" of all, in how many "rows", how many rows
        were "dropped" for it and how many have too few cells to be judged ("unknown"), the
        "columns" with most missing cells, and the shares of the cells that are missing in flagged
        and in other rows;
        "limits" on the two distances;
        "most_extreme": up to ten rows, each with its id ("row"), its "number" in the table,
        counted from 1, its "type", distances, how many "times_limit" the larger of them is, and
        the "features" that made it so, with signed shares of the squared distance;
        "variance_explained": in all and "by_component", "without_bad_rows" by our components
        and "with_bad_rows" by those of ordinary PCA;
        "angle_to_ordinary_pca": the largest angle between the two subspaces, in degrees; of new
        rows neither this nor the variance "with_bad_rows" says anything, and they are None;
        "iterations", "converged", "notes", "warnings": of the fit. What is infinite is None.

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca._answer import answer
    >>> from torpca.datasets import make_outlier_subspace
    >>> X = make_outlier_subspace(300, 6, 2, 0.2, noise=0.01, random_state=0).X
    >>> summary(answer(OutlierRobustPCA(2).fit(X), X))["rank"]["reason"]
    'as asked for'
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
            else "as more than half of the rows are equal",
            "gap": _number(rank.gap),
            "explained": _number(rank.explained),
        },
        "flagged": {
            "rows": flagged,
            "share": flagged / n if n else 0.0,
            **{kind: int(np.count_nonzero(answer.types == kind)) for kind in KINDS},
        },
        "missing": missing_summary(answer),
        "limits": {name: _number(limit) for name, limit in answer.cutoffs.items()},
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
        "type": str(answer.types[at]),
        "score_distance": _number(distances["score"]),
        "orthogonal_distance": _number(distances["orthogonal"]),
        "times_limit": _number(float(answer.times[at])),
        "features": [
            {"name": name, "share": _number(share)} for name, share in answer.features[place]
        ],
    }


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
        f"({flagged['share']:.1%}): "
        + ", ".join(f"{whole(flagged[kind])} {kind}" for kind in KINDS),
    }
    if told["missing"]["cells"]:
        facts["missing"] = f"{how_much(answer)}: {what_was_done(answer)}"
    if not answer.new:
        facts["variance explained"] = (
            f"{_percent(explained['without_bad_rows'])} without the bad rows; "
            f"{_percent(explained['with_bad_rows'])} with them, by ordinary PCA"
        )
        facts["angle"] = f"{answer.angle:.1f} degrees between ordinary PCA and ours"
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
    lines += ["", *_extreme_lines(answer, told)]
    for name in ("notes", "warnings"):
        if told[name]:
            lines += ["", name, *(f"  {printable(text, 1000)}" for text in told[name])]
    return "\n".join(lines)


def _extreme_lines(answer: Answer, told: dict[str, Any]) -> list[str]:
    """A small table of the most extreme rows."""
    rows = told["most_extreme"]
    if not rows:
        return ["no row is beyond a limit"]
    head = ("row", "type", "times its limit", "because of")
    cells = [
        (
            printable(row["row"], 24),
            row["type"],
            "beyond 0" if row["times_limit"] is None else figures(row["times_limit"]),
            _features_text(
                main_bands(shares, answer.names, FEATURES_IN_TEXT, lambda name: printable(name, 24))
            ),
        )
        for row, shares in zip(rows, answer.contributions, strict=False)  # of more rows
    ]
    widths = [max(len(line[j]) for line in [head, *cells]) for j in range(3)]
    more = told["flagged"]["rows"] - len(rows)
    return [
        "most extreme rows"
        + f" ({FROM_ONE})" * answer.numbered
        + f", and {whole(more)} more" * (more > 0),
        *(
            f"  {row:<{widths[0]}}  {kind:<{widths[1]}}  {times:>{widths[2]}}  {why}".rstrip()
            for row, kind, times, why in [head, *cells]
        ),
    ]


def _features_text(features: Any) -> str:
    """Names and signed shares in one line."""
    return ", ".join(f"{name} {_signed_percent(share)}" for name, share in features if share)


def _signed_percent(share: float) -> str:
    # Of thousands of features each has a small share, and rounding must not make it nothing.
    return f"{share:+.0%}" if abs(share) >= 0.095 else f"{100 * share:+.2g}%"


def _percent(share: float | None) -> str:
    return "an unknown share" if share is None else f"{share:.1%}"


def printable(text: str, width: int) -> str:
    """`text` in one line of at most `width` characters, with nothing that a terminal obeys."""
    safe = "".join(c if c.isprintable() else "?" for c in text)
    return shortened(safe, width)
