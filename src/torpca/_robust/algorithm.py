"""Outlier-robust PCA, from top to bottom.

Of rows x (n, d), find the principal subspace of the good ones: a mean, directions V (d, k), and
which rows are near.

1. **The part.** Work on rows held in memory: all of a small table, some thousand of a large one.
   Equal rows become one; more numbers than rows go into a basis of their span. -> `part`
2. **Candidates.** Halves of the rows that may be all good: least outlying along lines through pairs
   of rows; each side of an axis of low kurtosis; nearest to a subspace through few rows.
   -> `halves`, `start`
3. **Concentration.** Fit k directions to a half, keep the rows near the fit, and once more. A row
   is near by its residual R = |(I - VV')(x - mean)|, studentised, and along the next directions:
   where their tails hold more than Gaussian ones do, they are cut. -> `concentration`, `beside`
4. **Choice.** With a gap behind the k-th variance: the candidate that leaves least along the next
   direction. Without one: the first. The earlier wins unless the later is clearly better. The
   number k itself: a gap, or 90 % of the variance. -> `choice`, `rank`
5. **Leverage.** Rows far out inside the subspace, by an MCD of the scores V'(x - mean), are left
   out, and the subspace is found once more. Those near it come back, unless there is a gap
   and together they tilt it. -> `leverage`, `tilt`
6. **The loop.** Measure all rows against the subspace and update it, until it stands (TORP,
   Algorithm 1, with cut-offs estimated from the rows, and rows near them kept in part). Rows that a
   clean start left out for nothing come back, unless together they tilt the subspace, or draw it
   away from the nearest half of all rows. -> `settle`, `tilt`
7. **Passes.** Of a large table, the part then stands for what a good row is, and the same loop goes
   over all rows: a pass adds up a `Summary` against a `Reference`, and an update finds the next
   reference from it. -> `reference`, `measure`, `update`, `passes`
8. **Description.** Robust scatter inside the subspace, both distances of each row, limits for good
   ones. -> `describe`
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from torpca._core.frame import LARGEST, SMALLEST
from torpca._core.problem import check_finite, check_sums
from torpca._options import Options
from torpca._robust.choice import has_gap
from torpca._robust.concentration import ROUGHLY
from torpca._robust.describe import RobustFit, describe, describe_passes
from torpca._robust.leverage import tested_for_leverage
from torpca._robust.part import Part, Places, draw_part
from torpca._robust.passes import settle_in_passes
from torpca._robust.settle import At, Settled, inner, settle_on_part, settled_in_features
from torpca._robust.start import Start, find_start
from torpca._robust.tuning import tuning
from torpca._robust.update import MAX_FEATURES
from torpca._select.rank import RankRule
from torpca._sources import RowSource, Scaled, as_source
from torpca._sources.base import Floats
from torpca._stats.draw import some_rows
from torpca._stats.lines import SETTLED, weighted_quantile

# Coordinates in the span are good to the root of a unit of rounding. Residuals must be this many
# times larger beside their rows to be told from that.
TOLD_APART = 1e-5
# The subspace of the part need not move by less than this, where passes follow.
NEAR = 0.03
# There must be this many times as many rows for a part of them to be worth it, and so many rows
# where features are so many that no Gram matrix of theirs is formed.
WORTH_IT, FEWEST_LONG = 2.0, 800


def robust_fit(
    source: RowSource, options: Options, sample_weight: Floats, rng: np.random.Generator
) -> RobustFit:
    """Principal components of the good rows of `source`, in the steps above."""
    rows = rows_to_learn_from(source.shape, sample_weight, options, rng)
    if rows is None:
        part, found, start, magnitudes = learn(source, sample_weight, options, rng, SETTLED)
        return describe(source, magnitudes, part, found, start, options, sample_weight, rng)
    few = as_source(source.take(rows))
    unit = usual_unit(few)
    if unit != 1.0:  # squares of such rows are beyond every float
        few, source = (Scaled(s, np.full(s.shape[0], 1.0 / unit)) for s in (few, source))
    # One iteration is for all rows.
    nearly = replace(options, tol=max(options.tol, NEAR), max_iter=options.max_iter - 1)
    part, found, start, _ = learn(few, sample_weight[rows], nearly, rng, ROUGHLY)
    if part.span is not None:
        part, found = settled_in_features(part, found, few)
    passed, found = settle_in_passes(source, sample_weight, rows, part, found, options, rng)
    fit = describe_passes(source, passed, found, start, options, sample_weight, rng)
    return fit if unit == 1.0 else fit.in_unit(unit)


def learn(
    source: RowSource,
    sample_weight: Floats,
    options: Options,
    rng: np.random.Generator,
    settled: float,
) -> tuple[Part, Settled, Start, Floats]:
    """Steps 1 to 6 on all rows of `source`. Spreads are found to a share of `settled`."""
    magnitudes = check_finite(source)
    check_sums(magnitudes)
    part = draw_part(source, magnitudes, sample_weight, rng, center=options.center)
    best, rival, start = find_start(part, rows_to_start_with(options), options.rank, rng)
    leverage = tested_for_leverage(part, best, rng)
    anchor = np.inf if has_gap(best, best) else best.half
    begin = At(leverage.keep / part.votes, leverage, anchor)
    found = settle_on_part(part, begin, best.choice, options, settled)
    if rival is not None and not found.trimmed:  # where two answers are as good, say so
        begin = At(rival.keep / part.votes, leverage.forgotten())
        other = settle_on_part(part, begin, rival.choice, options, settled)
        apart = part.votes @ np.abs(inner(part, other) - inner(part, found)) / part.total
        start = replace(start, tied=float(apart))
    if part.span is not None and cannot_tell(part, found):
        part = part.in_features(source)
        found = settle_on_part(part, At(found.keep, leverage), found.choice, options, settled)
    return part, found, start, magnitudes


def usual_unit(rows: RowSource) -> float:
    """A power of two in which the middle row has a usual size; 1 if it has one as it is."""
    size = float(np.median(rows.magnitudes()))
    if not 0 < size < np.inf or SMALLEST <= size <= LARGEST:
        return 1.0
    return float(np.ldexp(1.0, max(int(np.frexp(size)[1]), -1021)))


def rows_to_learn_from(
    shape: tuple[int, int], sample_weight: Floats, options: Options, rng: np.random.Generator
) -> Places | None:
    """Numbers of the rows to hold in memory and learn from; None if all of them are few enough."""
    if learned_whole(int(np.count_nonzero(sample_weight)), shape[1], options):
        return None
    return some_rows(sample_weight, part_size(shape[1], options.rank), rng)


def learned_whole(n_rows: int, n_features: int, options: Options) -> bool:
    """Whether all rows of a table are held in memory and learned from."""
    # One iteration is for the part, and one for all rows.
    at_once = options.trim is not None or options.max_iter == 1
    return at_once or n_rows < WORTH_IT * part_size(n_features, options.rank)


def part_size(d: int, rank: RankRule) -> int:
    """Number of rows of d numbers to learn from."""
    fewest, most = tuning().part_rows
    count = FEWEST_LONG
    if d <= MAX_FEATURES:
        count = min(max(tuning().part_numbers // d, fewest), most)
    return max(count, tuning().rows_per_direction * (rank.given or 0))


def rows_to_start_with(options: Options) -> int:
    """Number of rows on which candidates are found."""
    t = tuning()
    return options.n_sample or max(t.first_rows, t.rows_per_direction * (options.rank.given or 0))


def cannot_tell(part: Part, found: Settled) -> bool:
    """Whether most rows are so close to the subspace that coordinates in their span cannot tell."""
    size = np.linalg.norm(part.Z, axis=1)
    middle = weighted_quantile(found.at.fit.residuals, part.votes, 0.5)
    return bool(0 < middle <= TOLD_APART * weighted_quantile(size, part.votes, 0.5))
