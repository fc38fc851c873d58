"""What `torpca compare` prints: several methods on the same rows, and where they disagree."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torpca._cli.data import Data
from torpca._cli.words import translated
from torpca._compare import Compared, Comparison
from torpca._disputed import disputed
from torpca._estimators.robust import OutlierRobustPCA
from torpca._files import FileTable
from torpca._names import FROM_ONE
from torpca._words import counted, printable, whole

# Disputed rows that are shown, and that JSON has.
SHOWN, IN_JSON = 20, 1000


def complete(data: Data) -> FileTable:
    """The table, in which nothing is missing: most methods that are compared could not do it."""
    # Read as for a model, so that the error does not name an option that would not help here.
    allowed = data.missing == "drop-rows"
    rows = (data if allowed else replace(data, missing="model")).read()
    if not allowed and rows.missing is not None and rows.missing.cells:
        raise ValueError(
            f"{data.title} has {counted(rows.missing.cells, 'missing value')}, in "
            f"{counted(rows.missing.rows, 'row')}, and methods are compared on complete rows. "
            "Leave those rows out with --missing drop-rows, or columns with --exclude."
        )
    return rows


def components_of(X: Any, rank: float | str) -> int:
    """Number of components that OutlierRobustPCA finds; its warnings come when it is compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return int(OutlierRobustPCA(rank).fit(X).n_components_)


def in_words(found: Comparison) -> Comparison:
    """The same with messages that name options."""
    table = tuple(
        replace(
            row,
            error=None if row.error is None else translated(row.error),
            warnings=tuple(map(translated, row.warnings)),
        )
        for row in found.table
    )
    return replace(found, table=table)


def disputes_for_json(table: Sequence[Compared], rows: FileTable) -> dict[str, Any]:
    """Rows that some methods drop and others keep, for scripts.

    The "methods" that have a say, how many "rows" they disagree on, and the "most_disputed".
    """
    found = disputed(table)
    methods = [table[i].method for i in found.places]
    return {
        "methods": methods,
        "rows": len(found.rows),
        "most_disputed": [
            {
                "row": str(rows.ids[row]),
                "number": int(rows.numbers[row]),
                "dropped_by": [name for name, yes in zip(methods, votes, strict=True) if yes],
                "kept_by": [name for name, yes in zip(methods, votes, strict=True) if not yes],
            }
            for row, votes in zip(
                found.rows[:IN_JSON].tolist(), found.dropped[:IN_JSON].tolist(), strict=True
            )
        ],
    }


def dispute_lines(table: Sequence[Compared], rows: FileTable) -> list[str]:
    """The same as a table of rows by methods, which have the numbers of the table above."""
    found = disputed(table)
    if len(found.places) < 2:
        return ["Fewer than two of the methods drop rows, so there is nothing to disagree on."]
    if not len(found.rows):
        return ["The methods that drop rows agree on every row."]
    names = [printable(str(rows.ids[row]), 24) for row in found.rows[:SHOWN].tolist()]
    counted_rows = "row" if any(rows.ids != rows.numbers.astype(str)) else f"row, {FROM_ONE}"
    width = max(map(len, [counted_rows, *names]))
    numbers = [f"{i + 1:>3}" for i in found.places]
    lines = [
        f"  {name:<{width}}"
        + "".join(f"{'x' if yes else '.':>3}" for yes in votes)
        + f"  dropped by {sum(votes)} of {len(votes)}"
        for name, votes in zip(names, found.dropped[:SHOWN].tolist(), strict=True)
    ]
    more = len(found.rows) - len(lines)
    return [
        f"Rows on which the methods disagree, most disputed first (x: dropped): "
        f"{whole(len(found.rows))} of {whole(len(rows.ids))}",
        f"  {counted_rows:<{width}}{''.join(numbers)}",
        *lines,
        *([f"  and {counted(more, 'more row')}; --json lists them"] if more else []),
    ]
