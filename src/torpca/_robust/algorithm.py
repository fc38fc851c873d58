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
   where their tails hold more than Gaussian ones do, they are cut. -> `concentration`, `subspace`
4. **Choice.** With a gap behind the k-th variance: the candidate that leaves least along the next
   direction. Without one: the first. The earlier wins unless the later is clearly better. The
   number k itself: a gap, or 90 % of the variance. -> `choice`, `rank`
5. **Leverage.** Rows far out inside the subspace, by an MCD of the scores V'(x - mean), are left
   out, and the subspace is found once more. Those near it come back, unless there is a gap
   and together they tilt it. -> `leverage`
6. **The loop.** Find the subspace of the rows that are kept, and weigh all rows by it, until it
   stands (TORP, Algorithm 1, with cut-offs estimated from the rows, and rows near them kept in
   part). Rows that a clean start left out for nothing come back, unless together they tilt the
   subspace, or draw it away from the nearest half of all rows. -> `loop`
7. **Passes.** Of a large table, the part then stands for what a good row is, and the same loop goes
   over all rows: a pass adds up a `Summary` against a `Reference`, and the next reference follows
   from it. -> `reference`, `measure`, `passes`
8. **Description.** Robust scatter inside the subspace, both distances of each row, limits for good
   ones. -> `describe`
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from torpca._core.frame import LARGEST, SMALLEST
from torpca._core.problem import check_finite, check_sums
from torpca._core.span import SPAN_EPS
from torpca._options import Options
from torpca._robust.choice import has_gap
from torpca._robust.describe import RobustFit, describe, sharp_reference
from torpca._robust.draw import some_rows
from torpca._robust.leverage import tested_for_leverage
from torpca._robust.lines import weighted_quantile
from torpca._robust.loop import Settled, State, scatter_inside, settle, settle_on_part
from torpca._robust.part import Part, Places, draw_part, part_size
from torpca._robust.passes import OfTable, begin_passes, reference_of
from torpca._robust.start import Start, find_start
from torpca._robust.subspace import beside
from torpca._robust.tuning import ROUGHLY, SETTLED, tuning
from torpca._sources import RowSource, Scaled
from torpca._sources.array import ArraySource
from torpca._sources.base import Floats


def robust_fit(
    source: RowSource, options: Options, sample_weight: Floats, rng: np.random.Generator
) -> RobustFit:
    """Principal components of the good rows of `source`, in the steps above."""
    few, weights, rtol, limited = source, sample_weight, SETTLED, options
    rows = rows_to_learn_from(source.shape, sample_weight, options, rng)
    if rows is not None:
        few = ArraySource(source.take(rows), np, np.dtype(np.float64))
        # One iteration is for all rows, and the subspace of the part need not move by less.
        tol = max(options.tol, tuning().same_subspace)
        limited = replace(options, tol=tol, max_iter=options.max_iter - 1)
        weights, rtol = sample_weight[rows], ROUGHLY
    magnitudes = check_finite(few)
    check_sums(magnitudes)
    unit = usual_unit(magnitudes)
    if unit != 1.0:  # squares of such rows are beyond every float
        source, few = (Scaled(s, np.full(s.shape[0], 1.0 / unit)) for s in (source, few))
        magnitudes = magnitudes / unit
    part = draw_part(few, magnitudes, weights, rng, center=options.center)
    part, found, start = learn(part, few, limited, rng, rtol)
    if rows is None:
        at = sharp_reference(source, part, found, sample_weight)
    else:
        if part.span is not None:
            part, found = with_features(part, found, few)
        found = begin_passes(found)
        table = OfTable.of(source, rows, part, found, sample_weight)
        found = settle(table, part, found, options, ROUGHLY)
        at = reference_of(part, found.state, table.total).with_arithmetic(table.total)
    fit = describe(source, at, part, found, start, options, sample_weight, rng)
    return fit if unit == 1.0 else fit.in_unit(unit)


def learn(
    part: Part, few: RowSource, options: Options, rng: np.random.Generator, rtol: float
) -> tuple[Part, Settled, Start]:
    """Steps 2 to 6 on the rows of the part, which are those of `few`."""
    best, rival, start = find_start(part, rows_to_start_with(options), options.rank, rng)
    keep, leverage = tested_for_leverage(part, best, rng)
    begin = State(keep / part.votes, leverage, np.inf if has_gap(best, best) else best.half)
    found = settle_on_part(part, begin, best.choice, options, rtol)
    if rival is not None and options.trim is None:  # where two answers are as good, say so
        begin = State(rival.keep / part.votes, replace(leverage, off=0 * leverage.off, cut=np.inf))
        other = settle_on_part(part, begin, rival.choice, options, rtol)
        one, two = (scatter_inside(part, f.state).weights / part.counts for f in (found, other))
        start = replace(start, tied=float(part.votes @ np.abs(one - two)) / part.total)
    if part.span is not None and cannot_tell(part, found):
        part = part.with_features(few)
        begin = State(found.state.keep, leverage)
        found = settle_on_part(part, begin, found.choice, options, rtol)
    return part, found, start


def rows_to_learn_from(
    shape: tuple[int, int], sample_weight: Floats, options: Options, rng: np.random.Generator
) -> Places | None:
    """Numbers of the rows to hold in memory and learn from; None if all of them are few enough."""
    if learned_whole(int(np.count_nonzero(sample_weight)), shape[1], options):
        return None
    return some_rows(sample_weight, part_size(shape[1], options.rank.given), rng)


def learned_whole(n_rows: int, n_features: int, options: Options) -> bool:
    """Whether all rows of a table are held in memory and learned from."""
    # One iteration is for the part, and one for all rows.
    at_once = options.trim is not None or options.max_iter == 1
    return at_once or n_rows < 2 * part_size(n_features, options.rank.given)


def rows_to_start_with(options: Options) -> int:
    """Number of rows on which candidates are found."""
    t = tuning()
    return options.n_sample or max(t.first_rows, t.rows_per_dimension * (options.rank.given or 0))


def usual_unit(magnitudes: Floats) -> float:
    """A power of two in which the middle row has a usual size; 1 if it has one as it is."""
    size = float(np.median(magnitudes))
    if size == 0 or SMALLEST <= size <= LARGEST:
        return 1.0
    return float(np.ldexp(1.0, max(int(np.frexp(size)[1]), -1021)))


def with_features(part: Part, found: Settled, few: RowSource) -> tuple[Part, Settled]:
    """The part and what settled on it, in the features of `few` instead of the rows' span."""
    there, now, k = part.with_features(few), found.state.judged, found.state.judged.fit.rank
    kept, fit = found.state.keep * part.counts, now.fit
    D = part.in_features(fit.mean, np.hstack([fit.V, now.W]), kept)[0]
    mean = there.Z.T @ (kept / np.sum(kept)) if part.center else np.zeros(len(D))
    keep = found.state.keep
    new = beside(there, mean, D[:, :k], fit.variances, fit.weight, keep)
    now = replace(now, fit=replace(new, common=fit.common), W=D[:, k:])
    return there, replace(found, state=replace(found.state, now=now))


def cannot_tell(part: Part, found: Settled) -> bool:
    """Whether most rows are so close to the subspace that coordinates in their span cannot tell.

    These are good to the root of a unit of rounding, and residuals must be larger beside the rows.
    """
    size = np.linalg.norm(part.Z, axis=1)
    middle = weighted_quantile(found.state.judged.fit.residuals, part.votes, 0.5)
    return bool(0 < middle <= SPAN_EPS**0.5 * weighted_quantile(size, part.votes, 0.5))
