"""Whether there is anything to go by in a table with holes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from torpca._core.problem import check_finite
from torpca._missing.completion import unjudged, zero_where
from torpca._names import FROM_ZERO
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Rows, place
from torpca._warn import warn
from torpca._words import counted, listed, whole

# Share of the rows in which a feature is there, below which it is worth a word.
MOSTLY_EMPTY = 0.5
# Columns, or rows, that a message names.
NAMED = 3
# What only the message about such rows says.
TOO_FEW = "too few cells to be judged"
# Numbers up to this size, and down to its inverse, can be squared and added up.
SQUARED = 1e120


class Holes(NamedTuple):
    """Where cells are there."""

    n_observed: npt.NDArray[np.intp]
    """Number of cells that each row has, (n,)."""
    shares: Floats
    """Share of the rows of weight that have each feature, (d,)."""
    sizes: Floats
    """Largest absolute entry of each row that is there, (n,); zero if none is."""


def check_holes(source: RowSource, weights: Floats) -> Holes:
    """Where cells are there, after checking that rows of `weights` (n,) have some in every column.

    NaN is a cell that is missing; infinity is an error, and so is NaN in a sparse matrix.
    """
    if not source.takes_holes:
        check_finite(source)  # says where
    # Blocks in NumPy have fewer rows and features than float32 can count.
    there, ones = (w.astype(np.float32) for w in (weights > 0, np.ones(source.shape[1])))

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        missing, size = xp.isnan(block), xp.abs(block)
        observed = xp.astype(~missing, xp.float32 if xp is np else xp.float64)
        kind = np.float32 if xp is np else np.float64
        by_feature = place(xp, there[rows].astype(kind, copy=False), block) @ observed
        by_row = observed @ place(xp, ones.astype(kind, copy=False), block)
        if xp is np:  # passes NaN over
            return (by_row, np.fmax.reduce(size, axis=1, initial=0.0)), (by_feature,)
        return (by_row, xp.max(zero_where(xp, missing, size), axis=1)), (by_feature,)

    (by_row, sizes), (by_feature,) = source.sweep(kernel)
    endless = np.flatnonzero(np.isinf(sizes))
    if len(endless):
        raise infinite(source, endless)
    shares = by_feature / max(float(np.sum(there)), 1.0)
    check_columns(source, shares)
    check_sizes(sizes[(weights > 0) & (by_row > 0)])
    return Holes(by_row.astype(np.intp), shares, sizes)


def check_sizes(sizes: Floats) -> None:
    """Raise if squares of numbers of the `sizes` (n,) of most rows are beyond the floats."""
    middle = float(np.median(sizes)) if len(sizes) else 1.0
    if middle > 0 and not 1 / SQUARED < middle < SQUARED:
        raise ValueError(
            f"Most rows of X have entries of about {middle:.0e}, and some are missing: squares of "
            "such numbers are beyond the floats, and holes are filled by them. Divide X by a "
            "number of that size first."
        )


def infinite(source: RowSource, bad: npt.NDArray[np.intp]) -> ValueError:
    """The error of the rows numbered `bad`."""
    column = int(np.argmax(np.isinf(source.take(bad[:1])[0])))
    return ValueError(
        f"Input X contains infinity in {whole(len(bad))} of {whole(source.shape[0])} rows, first "
        f"in row {bad[0]}, column {name_of(source, column)!r}. NaN stands for a cell that is "
        f"missing, and all others must be finite: replace infinity by NaN. Rows are {FROM_ZERO}."
    )


def check_columns(source: RowSource, shares: Floats) -> None:
    """Raise if a feature is nowhere observed; `shares` (d,) of the rows have it."""
    empty = np.flatnonzero(shares == 0.0)
    if len(empty) == source.shape[1]:
        raise ValueError(
            f"Input X contains NaN only: none of its {whole(source.shape[0])} x "
            f"{whole(source.shape[1])} cells is there. Give at least some numbers."
        )
    if len(empty):
        raise ValueError(
            f"Input X contains NaN only in {columns(source, empty)}, so that nothing can be said "
            "about what belongs there. Leave columns without a number out."
        )


def warn_of_few(source: RowSource, shares: Floats) -> None:
    """Warn of features that are missing in most rows; `shares` (d,) of the rows have them."""
    few = np.flatnonzero(shares < MOSTLY_EMPTY)
    if len(few):
        warn(
            f"X has few numbers in {columns(source, few)}: up to {1 - np.min(shares):.0%} are "
            "missing. What is said of such columns rests on few rows. Leave them out if they are "
            "not needed.",
            RuntimeWarning,
        )


def warn_of_unjudged(
    n_observed: npt.NDArray[np.intp], weights: Floats, k: int, d: int, *, cells: bool
) -> None:
    """Warn of rows of `weights` (n,) whose cells are too few for k components; of d cells in all.

    `cells`: bad ones are not among the `n_observed` (n,).
    """
    few = np.flatnonzero(unjudged(n_observed, k, d) & (weights > 0))
    if len(few) == 0:
        return
    one, most = len(few) == 1, int(np.max(n_observed[few]))
    names = [whole(i) for i in few[:NAMED].tolist()]
    more = len(few) - NAMED
    which = listed(names if more <= 0 else [*names, f"{whole(more)} more"])
    has = counted(most, "good cell" if cells else "cell")
    # One component takes two cells of a row.
    fewer = "Ask for fewer components, or leave" if most > 1 else "Leave"
    warn(
        f"X has {counted(len(few), 'row')} with {TOO_FEW}: {which}, {FROM_ZERO}. "
        f"{'It has' if one else 'They have at most'} {has}, but at least {min(k + 1, d)} are "
        f"needed for {counted(k, 'component')}. {'Its' if one else 'Their'} type is 'unknown' and "
        f"{'its' if one else 'their'} distances are NaN. {fewer} "
        f"{'this row' if one else 'these rows'} out.",
        RuntimeWarning,
    )


def columns(source: RowSource, which: npt.NDArray[np.intp]) -> str:
    """Names of a few of the columns numbered `which`, in words."""
    names = ", ".join(repr(name_of(source, int(j))) for j in which[:NAMED])
    more = len(which) - NAMED
    text = f"column {names}" if len(which) == 1 else f"columns {names}"
    return f"{text} and {counted(more, 'more column')}" if more > 0 else text


def name_of(source: RowSource, column: int) -> Any:
    """Name of a feature, or its number."""
    return column if source.feature_names is None else source.feature_names[column]
