"""What a map of cells shows: the rows that matter, and their cells in few enough columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._missing.cells import judged_cells
from torpca._missing.tuning import HELD_BYTES, MAX_ROWS
from torpca._sources.base import Array, Floats, Mask, Rows
from torpca._words import counted, whole

# Kinds of rows, from the top of a map down.
FLAGGED, WITH_BAD_CELLS, OTHER = GROUPS = ("flagged", "bad cells", "other")


@dataclass(frozen=True)
class ChosenRows:
    """Rows of a map, from the top down: flagged ones, those with bad cells, a few of the others."""

    rows: npt.NDArray[np.intp]
    """Their numbers among all rows, (m,)."""
    groups: npt.NDArray[np.str_]
    """Which of GROUPS each belongs to, (m,)."""
    totals: dict[str, int]
    """How many rows there are of each group, drawn or not."""


@dataclass(frozen=True)
class CellMap:
    """Standardised residuals of the cells of some rows."""

    chosen: ChosenRows
    residuals: Floats
    """(m, d), NaN where a cell is missing."""
    bad: Mask
    """Cells that the others of their row do not bear out, (m, d)."""


def cell_map(
    model: Any, X: Any, flagged: Mask, extremeness: Floats, max_rows: int = MAX_ROWS
) -> CellMap:
    """Cells of rows X (n, d) as a fitted OutlierRobustPCA judges them.

    Rows that are not `flagged` (n,) are searched for bad cells only if the model looks for such:
    without that, one bad cell is enough to flag its row.
    """
    source, completion = model._opened(X), model.subspace_.completion()
    worst = np.zeros(len(flagged))
    if model.cells:

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            z, bad = judged_cells(xp, completion, block)
            return (xp.max(xp.where(bad, xp.abs(z), 0.0), axis=1),), ()

        worst = source.sweep(kernel, keep=~flagged)[0][0]
    chosen = choose_rows(flagged, extremeness, worst, max_rows)
    residuals, bad = judged_cells(np, completion, source.take(chosen.rows))
    return CellMap(chosen, residuals, bad)


def notable_cells(model: Any, X: Any, flagged: Mask, extremeness: Floats) -> CellMap | None:
    """`cell_map`, or None where a model does not look for bad cells and flagged rows have none."""
    if not (model.cells or np.any(flagged)):
        return None
    most = max(len(GROUPS), min(MAX_ROWS, HELD_BYTES // (8 * model.n_features_in_)))
    found = cell_map(model, X, flagged, extremeness, most)
    of_flagged = found.bad[found.chosen.groups == FLAGGED]
    return found if model.cells or np.any(of_flagged) else None


def choose_rows(flagged: Mask, extremeness: Floats, worst: Floats, max_rows: int) -> ChosenRows:
    """Rows of a map, given how far out each is (n,) and the size of its worst bad cell (n,), or 0.

    Of the others a third of `max_rows` are drawn at most: they are there to compare with.
    """
    if max_rows < 1:
        raise ValueError(f"max_rows={max_rows} must be 1 or more, the number of rows to draw.")
    with_bad_cells = ~flagged & (worst > 0)
    there = {
        FLAGGED: by_size(np.flatnonzero(flagged), extremeness),
        WITH_BAD_CELLS: by_size(np.flatnonzero(with_bad_cells), worst),
        OTHER: np.flatnonzero(~flagged & ~with_bad_cells),
    }
    totals = {name: len(rows) for name, rows in there.items()}
    room = shared_out(totals, max_rows)
    others = there[OTHER]
    if len(others) > room[OTHER]:
        # The same rows in every picture of the same data.
        draw = np.random.default_rng(0).choice(len(others), room[OTHER], replace=False)
        there[OTHER] = others[np.sort(draw)]
    parts = [there[name][: room[name]] for name in GROUPS]
    groups = np.repeat(GROUPS, [len(part) for part in parts])
    return ChosenRows(np.concatenate(parts), groups, totals)


def by_size(rows: npt.NDArray[np.intp], sizes: Floats) -> npt.NDArray[np.intp]:
    """The rows, those of the largest of all `sizes` (n,) first."""
    return rows[np.argsort(-sizes[rows], kind="stable")]


def shared_out(totals: Mapping[str, int], max_rows: int) -> dict[str, int]:
    """Rows to draw of each group: a third each, and what is left to those with bad cells.

    Examples
    --------
    >>> shared_out({"flagged": 200, "bad cells": 5, "other": 800}, 60)
    {'flagged': 35, 'bad cells': 5, 'other': 20}
    """
    third = max_rows // 3
    room = {name: min(totals[name], third) for name in GROUPS}
    for name in (FLAGGED, WITH_BAD_CELLS):
        room[name] = min(totals[name], room[name] + max_rows - sum(room.values()))
    if not any(room.values()):  # of one or two rows a third is none
        room[OTHER] = min(totals[OTHER], max_rows)
    return room


# ---- columns ------------------------------------------------------------------------------------


def first_columns(d: int, most: int) -> npt.NDArray[np.intp]:
    """The first of each of the bins, at most `most`, into which d neighbouring columns go.

    All have the same number of columns, but for the last one.

    Examples
    --------
    >>> first_columns(10, 4)
    array([0, 3, 6, 9])
    """
    return np.arange(0, d, -(-d // max(most, 1)), dtype=np.intp)


def farthest_within(residuals: Floats, starts: npt.NDArray[np.intp]) -> Floats:
    """The residual (m, b) of largest size, with its sign, between each of the starts and the next.

    NaN where all are missing.
    """
    if len(starts) == residuals.shape[1]:
        return residuals
    above = np.fmax.reduceat(residuals, starts, axis=1)
    below = np.fmin.reduceat(residuals, starts, axis=1)
    return np.where(above >= -below, above, below)


# ---- words --------------------------------------------------------------------------------------


def group_words(groups: npt.NDArray[np.str_], totals: Mapping[str, int]) -> list[str]:
    """What the rows of a map are, one phrase for each group from the top down.

    Examples
    --------
    >>> group_words(np.array(["flagged", "other"]), {"flagged": 9, "bad cells": 0, "other": 1})
    ['the most extreme of 9 flagged rows', '1 other row']
    """
    phrases = []
    for name in GROUPS:
        drawn, total = int(np.count_nonzero(groups == name)), totals.get(name, 0)
        if drawn == 0:
            continue
        kind = {FLAGGED: "flagged row", WITH_BAD_CELLS: "row with bad cells", OTHER: "other row"}
        many = kind[name] if name != OTHER or drawn < len(groups) else "row, none of them flagged"
        plural = many.replace("row", "rows", 1)
        if drawn >= total:
            phrases.append(counted(drawn, many, plural))
        elif name == OTHER:
            phrases.append(f"{whole(drawn)} of {counted(total, many, plural)}")
        else:
            which = "" if drawn == 1 else f"{whole(drawn)} "
            phrases.append(f"the {which}most extreme of {counted(total, many, plural)}")
    return phrases
