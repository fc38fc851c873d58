"""The robust fit of rows with holes: complete the rows, fit them, complete them by the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.problem import NotFiniteError
from torpca._core.subspace import subspace_change
from torpca._missing.cells import WithoutCells, cell_scales, without_bad_cells
from torpca._missing.check import check_holes
from torpca._missing.completion import Completion, Filled, count_observed, unjudged
from torpca._missing.em import chance, settled, to_come
from torpca._missing.screen import Screen
from torpca._missing.start import first_completion
from torpca._options import Options
from torpca._robust.algorithm import robust_fit
from torpca._robust.describe import RobustFit
from torpca._robust.draw import some_rows
from torpca._robust.limits import LEVEL
from torpca._robust.rank import RankRule
from torpca._sources import RowSource, as_source
from torpca._sources.base import Array, Floats, Rows, place
from torpca._words import counted, figures

# Looks at the cells by the model, at most, and share of them that may change in the end.
CELL_ROUNDS, FEW_CELLS = 3, 1e-3
# Fits, each of rows that the one before completes, at most.
ROUNDS = 4
# Share of the rows whose weights may change in the end, ...
SETTLED = 0.002
# ... or of the error that chance makes by which the subspace may move, in the end and before.
NEAR_CHANCE, ROUGHLY = 0.3, 1.0
# ... of which a completion by a part of the rows is to leave so much room.
SAFELY = 2 / 3
# Share of the residuals of the fit before that is left in the end.
STANDS = 0.1
# Largest share of missing cells that is taken for the rate at which moves of EM shrink.
MOST_MISSING = 0.95
# Of many rows, a part that holds so many numbers, or rows at least, is fitted first.
NUMBERS, FEWEST, WORTH_A_PART = 2**20, 2000, 3
# Rows in which holes are looked for before a fit.
FIRST_ROWS = 20
# Rows of a view are held if they take no more than this; else they are made in every pass.
MOST_BYTES = 2**26


@dataclass(frozen=True)
class RowsFit:
    """A fit, and what it says of cells that are missing."""

    fit: RobustFit
    rows: RowSource
    """The rows it is a fit of: without holes."""
    completion: Completion | None = None
    """How holes are filled by it; None: there were none."""
    observed: RowSource | None = None
    """The rows as they were, NaN where a cell is missing or bad; None: no cell is."""
    n_observed: npt.NDArray[np.intp] | None = None
    """Number of cells that each row had, (n,); None: all of them."""
    shares: Floats | None = None
    """Share of the rows that have each feature, (d,); None: all have all."""
    sizes: Floats | None = None
    """Largest absolute entry of each row that is there, (n,); None: nobody has looked."""


def fit_rows(
    source: RowSource, options: Options, sample_weight: Floats, rng: np.random.Generator
) -> RowsFit:
    """The robust fit of rows with holes or without."""
    if not begins_with_holes(source):
        try:
            return RowsFit(robust_fit(source, options, sample_weight, rng), source)
        except NotFiniteError:  # to look for NaN beforehand would cost rows without it a pass
            pass
    holes = check_holes(source, sample_weight)
    found = fit_with_holes(source, holes.n_observed, options, sample_weight, rng)
    return replace(found, shares=holes.shares, sizes=holes.sizes)


def begins_with_holes(source: RowSource) -> bool:
    """Whether a cell of the first rows is missing, where looking at them costs nothing."""
    few = np.arange(min(FIRST_ROWS, source.shape[0]))
    return source.in_memory and bool(np.isnan(source.take(few)).any())


def fit_with_holes(
    source: RowSource,
    n_observed: npt.NDArray[np.intp],
    options: Options,
    sample_weight: Floats,
    rng: np.random.Generator,
) -> RowsFit:
    """Principal components of the good rows of `source`, NaN where a cell is missing.

    1. A first completion by more directions than are asked for, from rows of equal length.
    2. A robust fit of the completed rows. It knows nothing of holes.
    3. With the weights that it gave the rows: complete and fit in turn until the subspace settles
       (EM for PCA: Roweis 1998), which is the maximum of the likelihood of the cells that are
       there, were the noise the same in all of them.
    4. Again from 2, until the weights stay, or the subspace.

    Of many rows, a part goes through all of this first.
    """
    rank, center = options.rank.given, options.center
    weights = judged(sample_weight, n_observed, options.rank, rank or 1, source.shape[1])
    few = max(FEWEST, NUMBERS // source.shape[1])
    if np.count_nonzero(weights) <= WORTH_A_PART * few:
        begun = first_completion(source, weights, rank, rng, center=center)
        return rounds(source, n_observed, begun, options, sample_weight, rng)
    rows = some_rows(weights, few, rng)
    part = as_source(source.take(rows))
    # Where a row ends to be an inlier for the user plays no part in the fit.
    usual = replace(options, beyond=LEVEL)
    found = fit_with_holes(part, n_observed[rows], usual, sample_weight[rows], rng)
    assert found.completion is not None
    # The part has told bad rows from good ones: what is left is EM, and comes nearer as EM does.
    rate = missing_share(part, weights[rows])
    begun, enough = found.completion, enough_rows(rate) * np.count_nonzero(weights)
    if enough > len(rows):
        begun = settled(
            source,
            begun,
            only(weights, some_rows(weights, int(enough), rng)),
            center=center,
            within=found.fit.limits.orthogonal,
            share=ROUGHLY,
            rate=rate,
        )
    return rounds(source, n_observed, begun, options, sample_weight, rng, rate)


def rounds(
    source: RowSource,
    n_observed: npt.NDArray[np.intp],
    completion: Completion,
    options: Options,
    sample_weight: Floats,
    rng: np.random.Generator,
    rate: float = 0.5,
) -> RowsFit:
    """Steps 2 to 4 from a first completion, where each move is `rate` times the one before."""
    seed = int(rng.integers(2**62))  # for all fits: what changes is the cells
    rank = options.rank
    weights = judged(sample_weight, n_observed, rank, rank.given or 1, source.shape[1])
    kept, noise = None, np.inf
    for _ in range(ROUNDS):
        filled = completed(source, completion)
        fit = robust_fit(filled, options, weights, np.random.default_rng(seed))
        weights = judged(sample_weight, n_observed, rank, *fit.V.shape[::-1])
        before, kept = kept, fit.weights * weights
        n = float(np.sum(kept))
        same = before is not None and float(np.sum(np.abs(kept - before))) <= SETTLED * n
        moved = subspace_change(completion.V, fit.V)
        near = moved * to_come(rate) <= NEAR_CHANCE * chance(by_fit(fit, completion), n)
        # While residuals shrink fast, they are what completion has left, and no noise.
        near, noise = near and fit.left_over > STANDS * noise, fit.left_over
        # The first completion is none by rows that a fit kept.
        if completion.freedom is not None and (same or near):
            break
        completion = completion_of(source, fit, kept, options)
    return RowsFit(fit, filled, by_fit(fit, completion), source, n_observed)


def fit_cells(
    source: RowSource, options: Options, sample_weight: Floats, rng: np.random.Generator
) -> RowsFit:
    """The robust fit of rows in which single cells may be bad, too.

    Cells that their row's other cells do not predict count as missing: first by columns in pairs
    (Rousseeuw and Van den Bossche 2018), then by the fitted model, until they stay.
    """
    holes = check_holes(source, sample_weight)
    screen = Screen.of(source, sample_weight, rng)
    rows = held(WithoutCells(source, screen.bad))
    n_observed = count_observed(rows)
    found = fit_with_holes(rows, n_observed, options, sample_weight, rng)
    for _ in range(CELL_ROUNDS):
        assert found.completion is not None
        kept = found.fit.weights * sample_weight
        noise = cell_scales(rows, found.completion, kept, sample_weight, rng)
        model = replace(found.completion, noise=noise)
        rows, before = held(without_bad_cells(source, model)), n_observed
        n_observed = count_observed(rows)
        found = rounds(rows, n_observed, model, options, sample_weight, rng)
        changed = float(sample_weight @ np.abs(n_observed - before))
        if changed <= FEW_CELLS * float(np.sum(sample_weight)) * source.shape[1]:
            break
    assert found.completion is not None
    completion = replace(found.completion, noise=model.noise)
    return replace(found, completion=completion, shares=holes.shares, sizes=holes.sizes)


def completed(source: RowSource, completion: Completion) -> RowSource:
    """The rows with their holes filled."""
    return held(Filled(source, completion))


def held(rows: RowSource) -> RowSource:
    """Rows of a view as an array, if what they are a view of is one, and not too large."""
    if not rows.in_memory or 8 * rows.shape[0] * rows.shape[1] > MOST_BYTES:
        return rows
    (numbers,), _ = rows.sweep(lambda xp, _, block: ((block,), ()))
    source = as_source(numbers)
    source.feature_names = rows.feature_names
    return source


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


def missing_share(source: RowSource, weights: Floats) -> float:
    """Share of the cells of rows of `weights` (n,) that are missing.

    EM comes nearer by the share of the information that is missing (Dempster, Laird and Rubin
    1977), which for many cells in each row is about that of the cells: column by column, of which
    this is the root mean square.
    """

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        return (), (place(xp, weights[rows], block) @ xp.astype(xp.isnan(block), xp.float64),)

    shares = source.sweep(kernel)[1][0] / float(np.sum(weights))
    return min(float(np.sqrt(np.mean(np.square(shares)))), MOST_MISSING)


def enough_rows(rate: float) -> float:
    """Share of the rows from which a completion is near enough to that from all of them.

    It is off by the error of chance, 1 / share^(1/2) times that of all rows. Of it, the fit of all
    rows that it completes takes over `to_come(rate)`, which is to be less than NEAR_CHANCE.
    """
    return min(1.0, (to_come(rate) / (SAFELY * NEAR_CHANCE)) ** 2)


def only(weights: Floats, rows: npt.NDArray[np.intp]) -> Floats:
    """The weights (n,) of some rows, zero for all others."""
    out = np.zeros_like(weights)
    out[rows] = weights[rows]
    return out


def completion_of(
    source: RowSource, fit: RobustFit, weights: Floats, options: Options
) -> Completion:
    """The completion by the rows that a fit kept, of `weights` (n,)."""
    begun = by_fit(fit, Completion(np.zeros(0), fit.V, fit.scales, np.zeros(0)))
    d = fit.V.shape[0]
    begun = replace(begun, noise=np.full(d, fit.left_over / np.sqrt(d)), freedom=None)
    found = settled(source, begun, weights, center=options.center)
    return replace(found, freedom=freedom_of(fit.orthogonal_distances, weights, *fit.V.shape))


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
