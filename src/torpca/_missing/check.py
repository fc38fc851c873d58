"""Whether there is anything to go by in a table with missing cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from torpca._core.problem import check_finite
from torpca._missing.completion import unjudged, zero_where
from torpca._names import FROM_ZERO
from torpca._robust.rank import RankRule
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Rows, place
from torpca._warn import warn
from torpca._words import counted, figures, first_of, whole

# What only the message about such rows says.
TOO_FEW = "too few cells to be judged"


class Cells(NamedTuple):
    """Where cells are there."""

    n_observed: npt.NDArray[np.intp]
    """Number of cells that each row has, (n,)."""
    shares: Floats
    """Share of the rows of weight that have each feature, (d,)."""
    sizes: Floats
    """Largest absolute entry of each row that is there, (n,); zero if none is."""


def check_cells(source: RowSource, weights: Floats) -> Cells:
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
    return Cells(by_row.astype(np.intp), shares, sizes)


def check_sizes(sizes: Floats) -> None:
    """Raise if squares of numbers of the `sizes` (n,) of most rows are beyond the floats."""
    middle = float(np.median(sizes)) if len(sizes) else 1.0
    # So that residuals, down to a unit of rounding, can be squared as well as the numbers.
    floats = np.finfo(np.float64)
    largest = float(floats.eps * np.sqrt(floats.max))
    if middle > 0 and not 1 / largest <= middle <= largest:
        raise ValueError(
            f"Most rows of X have entries of about {middle:.0e}, and some are missing: squares of "
            "such numbers are beyond the floats, and missing cells are filled by them. Divide X by "
            "a number of that size first."
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
    few = np.flatnonzero(shares < 0.5)
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
    which = first_of(map(whole, few.tolist()))
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


def judged(
    sample_weight: Floats, n_observed: npt.NDArray[np.intp], rank: RankRule, k: int, d: int
) -> Floats:
    """Weights (n,) of rows, zero where k scores explain all cells that a row has.

    `rank` is what the user asked for, and k what came of it.
    """
    weights = np.where(unjudged(n_observed, k, d), 0.0, sample_weight)
    count = int(np.count_nonzero(weights))
    if count < enough_for(k):
        raise too_few(n_observed[sample_weight > 0], count, rank, k, d)
    return weights


def enough_for(k: int) -> int:
    """Number of rows that it takes at least to find k components."""
    return max(2, k + 1)


def too_few(
    n_observed: npt.NDArray[np.intp], count: int, rank: RankRule, k: int, d: int
) -> ValueError:
    """The error of a table of which only `count` rows have enough of their d cells."""
    one = count <= 1
    said = (
        f"{'Only ' + counted(count, 'row') if count else 'No row'} of X {'has' if one else 'have'}"
    )
    said += f" enough cells for {counted(k, 'component')}, which is more than {k} or all {d}."
    if rank.given is None and k > 1:
        there = float(np.mean(n_observed))
        asked = "'auto'" if rank.share is None else f"{rank.share:g}"
        said += (
            f" n_components={asked} led to this number, but {1 - there / d:.0%} of "
            f"the cells are missing, and a row has {figures(there)} on average."
        )
    fewer = fewer_components(n_observed, k, d)
    ask = f"Give n_components={fewer}{' or less' if fewer > 1 else ''}, leave" if fewer else "Leave"
    return ValueError(f"{said} {ask} columns with many holes out, or give rows with more cells.")


def fewer_components(n_observed: npt.NDArray[np.intp], k: int, d: int) -> int:
    """Most components, fewer than k, for which half of the rows have enough cells.

    If there are none, one component, if rows have enough cells for that; otherwise 0.
    """
    counts = {j: np.count_nonzero(~unjudged(n_observed, j, d)) for j in range(1, k)}
    possible = {j: count for j, count in counts.items() if count >= enough_for(j)}
    half = [j for j, count in possible.items() if 2 * count >= len(n_observed)]
    return max(half, default=min(possible, default=0))


def columns(source: RowSource, which: npt.NDArray[np.intp]) -> str:
    """Names of a few of the columns numbered `which`, in words."""
    names = first_of(repr(name_of(source, int(j))) for j in which)
    return f"column {names}" if len(which) == 1 else f"columns {names}"


def name_of(source: RowSource, column: int) -> Any:
    """Name of a feature, or its number."""
    return column if source.feature_names is None else source.feature_names[column]
