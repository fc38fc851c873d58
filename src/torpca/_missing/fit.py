"""The robust fit of rows with missing cells: complete the rows, fit them, complete them anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.subspace import subspace_change
from torpca._missing.cells import WithoutCells, cell_scales, without_bad_cells
from torpca._missing.check import check_cells, judged
from torpca._missing.completion import Completion, Filled, count_observed
from torpca._missing.em import chance, settled, to_come
from torpca._missing.screen import Screen
from torpca._missing.start import first_completion
from torpca._missing.tuning import (
    FEW_CELLS,
    FITS,
    HELD_BYTES,
    NEAR_CHANCE,
    NUMBERS,
    ROWS,
    SLOWEST,
    STANDS,
)
from torpca._options import Options
from torpca._robust.algorithm import robust_fit
from torpca._robust.describe import RobustFit
from torpca._robust.draw import some_rows
from torpca._robust.tuning import LEVEL
from torpca._sources import RowSource, as_source
from torpca._sources.base import Array, Floats, Rows, dtype_of, place

Counts = npt.NDArray[np.intp]


@dataclass(frozen=True)
class RowsFit:
    """A fit, and what it says of cells that are missing."""

    fit: RobustFit
    rows: RowSource
    """The rows it is a fit of: none of their cells is missing."""
    completion: Completion | None = None
    """How missing cells are filled by it; None: there were none."""
    observed: RowSource | None = None
    """The rows as they were, NaN where a cell is missing or bad; None: no cell is."""
    n_observed: Counts | None = None
    """Number of cells that each row had, (n,); None: all of them."""
    shares: Floats | None = None
    """Share of the rows that have each feature, (d,); None: all have all."""
    sizes: Floats | None = None
    """Largest absolute entry of each row that is there, (n,); None: nobody has looked."""


@dataclass(frozen=True)
class Table:
    """Rows with missing cells, as a fit is to see them."""

    source: RowSource
    """The rows as given."""
    rows: RowSource
    """The rows with NaN in place of bad cells, too."""
    n_observed: Counts
    """Number of cells that each of these rows has, (n,)."""
    sample_weight: Floats
    """How often each row counts, (n,)."""
    cells: bool = False
    """Whether single cells may be bad."""

    def part(self, rows: Counts) -> Table:
        """The rows of these numbers, held in memory."""
        source = as_source(self.source.take(rows))
        seen = as_source(self.rows.take(rows)) if self.cells else source
        weights = self.sample_weight[rows]
        return replace(
            self, source=source, rows=seen, n_observed=self.n_observed[rows], sample_weight=weights
        )

    def without(self, bad: RowSource) -> Table:
        """The table with the rows of the view `bad`, which lacks bad cells."""
        rows = held(bad)
        return replace(self, rows=rows, n_observed=count_observed(rows))

    def few_differ(self, other: Table) -> bool:
        """Whether nearly as many cells of each row are there as in another table of the rows."""
        changed = float(self.sample_weight @ np.abs(self.n_observed - other.n_observed))
        return changed <= FEW_CELLS * float(np.sum(self.sample_weight)) * self.source.shape[1]


def fit_rows(
    source: RowSource, options: Options, sample_weight: Floats, rng: np.random.Generator
) -> RowsFit:
    """The robust fit of rows, whether cells are missing or not: see `fit_incomplete`."""
    if not lacks_cells(source):
        return RowsFit(robust_fit(source, options, sample_weight, rng), source)
    found = check_cells(source, sample_weight)
    table = Table(source, source, found.n_observed, sample_weight)
    fit = fit_incomplete(table, options, rng)
    return replace(fit, shares=found.shares, sizes=found.sizes)


def fit_cells(
    source: RowSource, options: Options, sample_weight: Floats, rng: np.random.Generator
) -> RowsFit:
    """The robust fit of rows in which single cells may be bad, too: see `fit_incomplete`.

    Cells that their row's other cells do not predict count as missing: first by columns in pairs
    (Rousseeuw and Van den Bossche 2018), then by the fitted model, until they stay.
    """
    found = check_cells(source, sample_weight)
    screen = Screen.of(source, sample_weight, rng)
    table = Table(source, source, found.n_observed, sample_weight, cells=True)
    fit = fit_incomplete(table.without(WithoutCells(source, screen.bad)), options, rng)
    return replace(fit, shares=found.shares, sizes=found.sizes)


def lacks_cells(source: RowSource) -> bool:
    """Whether a cell is missing, or infinite, which `check_cells` refuses: one quick pass.

    Zero times such a number is NaN, and zero times all others is zero.
    """
    zeros = np.zeros(source.shape[1])

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        products = block @ place(xp, zeros.astype(dtype_of(block)), block)
        return (), (xp.sum(xp.astype(xp.isnan(products), xp.float64))[None],)

    with np.errstate(invalid="ignore"):
        return bool(source.sweep(kernel, native=np.float32)[1][0][0] > 0)


def fit_incomplete(table: Table, options: Options, rng: np.random.Generator) -> RowsFit:
    """Principal components of the good rows of a table, NaN where a cell is missing.

    1. A first completion by more directions than are asked for, from rows of equal length.
    2. A robust fit of the completed rows. It knows nothing of missing cells.
    3. With the weights that it gave the rows: complete and fit in turn until the subspace settles
       (EM for PCA: Roweis 1998), which is the maximum of the likelihood of the cells that are
       there, were the noise the same in all of them.
    4. Where single cells may be bad: look for them by this model, and take them out.
    5. Again from 2, until the subspace stands, and the bad cells.

    That is FITS robust fits at most. Of many rows, a part goes through all of this first: as many
    fits of the part, and as many of the table.
    """
    rank, center = options.rank.given, options.center
    n, d = table.source.shape
    weights = judged(table.sample_weight, table.n_observed, options.rank, rank or 1, d)
    count, few = np.count_nonzero(weights), max(ROWS, NUMBERS // d)
    if count <= 3 * few:
        begun = first_completion(table.rows, weights, rank, rng, center=center)
        return fit_in_turns(table, begun, options, rng)
    drawn = some_rows(weights, few, rng)
    part = table.part(drawn)
    # Where a row ends to be an inlier for the user plays no part in the fit.
    found = fit_incomplete(part, replace(options, beyond=LEVEL), rng)
    assert found.completion is not None
    begun = found.completion
    if table.cells:
        table = table.without(without_bad_cells(table.source, begun))
    # The part has told bad rows from good ones: what is left is EM, and comes nearer as EM does.
    rate = missing_share(part.rows, weights[drawn])
    # Of m rows it is off by (n/m)^(1/2) times the error of chance of all n. The fit of those, which
    # it completes, takes over `to_come(rate)` of that: half of what may be off in the end.
    enough = min(1.0, (to_come(rate) / (NEAR_CHANCE / 2)) ** 2) * count
    if enough > few:
        some = np.zeros(n)
        chosen = some_rows(weights, int(enough), rng)
        some[chosen] = weights[chosen]
        within = found.fit.limits.orthogonal
        begun = settled(table.rows, begun, some, center=center, within=within, share=1.0, rate=rate)
    return fit_in_turns(table, begun, options, rng, rate, found.fit)


def missing_share(source: RowSource, weights: Floats) -> float:
    """Share of the cells of rows of `weights` (n,) that are missing.

    EM comes nearer by the share of the information that is missing (Dempster, Laird and Rubin
    1977), which for many cells in each row is about that of the cells: column by column, of which
    this is the root mean square.
    """

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        return (), (place(xp, weights[rows], block) @ xp.astype(xp.isnan(block), xp.float64),)

    shares = source.sweep(kernel)[1][0] / float(np.sum(weights))
    return min(float(np.sqrt(np.mean(np.square(shares)))), SLOWEST)


def fit_in_turns(
    table: Table,
    completion: Completion,
    options: Options,
    rng: np.random.Generator,
    rate: float = 0.5,
    last: RobustFit | None = None,
) -> RowsFit:
    """Steps 2 to 5 from a first completion, where each move is `rate` times the one before.

    `last` is the fit, of a part of the rows, that the completion is by.
    """
    seed = int(rng.integers(2**62))  # for all fits: what changes is the cells
    d, k = table.source.shape[1], options.rank.given or 1
    for _ in range(FITS):
        filled, seen = held(Filled(table.rows, completion)), table
        weights = judged(table.sample_weight, table.n_observed, options.rank, k, d)
        fit = robust_fit(filled, options, weights, np.random.default_rng(seed))
        k = fit.V.shape[1]
        weights = judged(table.sample_weight, table.n_observed, options.rank, k, d)
        kept = fit.weights * weights
        # The first completion is none by rows that a fit kept.
        stands = completion.freedom is not None and near(completion, last, fit, kept, rate)
        if not stands:
            completion = updated(table.rows, fit, kept, options.center)
        if table.cells:
            model = by_fit(fit, completion) if stands else completion
            table, completion = looked_through(table, model, kept, rng)
            stands = stands and seen.few_differ(table)
        if stands:
            break
        last = fit
    return RowsFit(fit, filled, by_fit(fit, completion), seen.rows, seen.n_observed)


def near(
    completion: Completion, last: RobustFit | None, fit: RobustFit, kept: Floats, rate: float
) -> bool:
    """Whether a fit, and all that would follow, move less than chance moves fits to such rows.

    `completion` is that by which the rows were filled. While residuals shrink fast since the `last`
    fit, they are what it has left, and no noise.
    """
    noise = last is not None and fit.left_over > STANDS * last.left_over
    to_go = subspace_change(completion.V, fit.V) * to_come(rate)
    return noise and to_go <= NEAR_CHANCE * chance(by_fit(fit, completion), float(np.sum(kept)))


def updated(rows: RowSource, fit: RobustFit, kept: Floats, center: bool) -> Completion:
    """The completion by the rows that a fit kept, of weights (n,), from where the fit is."""
    d, k = fit.V.shape
    noise = np.full(d, fit.left_over / np.sqrt(d))
    begun = by_fit(fit, Completion(np.zeros(0), fit.V, fit.scales, noise))
    freedom = freedom_of(fit.orthogonal_distances, kept, d, k)
    return replace(settled(rows, begun, kept, center=center), freedom=freedom)


def looked_through(
    table: Table, completion: Completion, kept: Floats, rng: np.random.Generator
) -> tuple[Table, Completion]:
    """The table without the cells that a model finds bad, and the model with the noise of cells."""
    noise = cell_scales(table.rows, completion, kept, table.sample_weight, rng)
    model = replace(completion, noise=noise)
    return table.without(without_bad_cells(table.source, model)), model


def held(rows: RowSource) -> RowSource:
    """Rows of a view as an array, if what they are a view of is one, and not too large."""
    if not rows.in_memory or 8 * rows.shape[0] * rows.shape[1] > HELD_BYTES:
        return rows
    (numbers,), _ = rows.sweep(lambda xp, _, block: ((block,), ()))
    source = as_source(numbers)
    source.feature_names = rows.feature_names
    return source


def by_fit(fit: RobustFit, completion: Completion) -> Completion:
    """The completion with centre, directions and variances of a fit."""
    mean = np.zeros(fit.V.shape[0]) if fit.mean is None else fit.mean
    return replace(completion, mean=mean, V=fit.V, deviations=fit.scales)


def freedom_of(R: Floats, weights: Floats, d: int, k: int) -> float:
    """Degrees of freedom of squared residuals of good rows: 2 mean^2 / variance (Box 1954).

    R (n,) are residuals, `weights` (n,) those of the good rows, in d features beyond k components.
    """
    most, total = float(max(d - k, 1)), float(np.sum(weights))
    unit = float(np.max(R[weights > 0], initial=0.0))
    if not (unit > 0 and total > 0):
        return most
    squares = np.square(np.minimum(R / unit, 1.0))
    mean = float(weights @ squares) / total
    variance = float(weights @ np.square(squares - mean)) / total
    return float(np.clip(2 * mean**2 / variance, 1.0, most)) if variance > 0 else most
