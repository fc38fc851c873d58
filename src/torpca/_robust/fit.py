"""Outlier-robust PCA: start on a sample, TORP iterations on all rows, reweighting, consistency."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from torpca._core.frame import without_long_rows
from torpca._core.problem import check_finite
from torpca._options import Options
from torpca._robust.describe import RobustFit, describe
from torpca._robust.exact import settle_exactly
from torpca._robust.large import NEAR, fit_large, rows_to_begin_with
from torpca._robust.settle import Settled, settle_on_all
from torpca._robust.wide import is_wide, settle_in_span
from torpca._sources import RowSource, as_source
from torpca._sources.base import BLOCK_BYTES, MIN_BLOCK_ROWS, Floats


def robust_fit(
    source: RowSource, options: Options, sample_weight: Floats, rng: np.random.Generator
) -> RobustFit:
    """Principal components of the good rows of `source`.

    1. Start: on a sample, concentrate several halves, and choose the one whose rows agree best.
    2. Leverage: rows far out inside its subspace stay out if they tilt it.
    3. Iterate on all rows: fit a subspace to the kept rows, then keep the rows near it. As in TORP,
       except that the cut-off is estimated from the rows, and rows near it are kept in part.
    4. Inside the subspace, find the scatter of the rows that are not far out in it.

    Of many rows, a part goes through all of this first; then all of them are passed over a few
    times, with what was learned from the part (`torpca._robust.large`).
    """

    def settle(
        rows: RowSource, weights: Floats, options: Options, *, polish: bool = True
    ) -> Settled:
        found = None
        if is_wide(rows):
            short = partial(
                settle_on_all, options=options, sample_weight=weights, rng=rng, polish=polish
            )
            found = settle_in_span(rows, short, center=options.center, polish=polish)
        return found or settle_on_all(rows, options, weights, rng, polish=polish)

    if options.trim is None and options.max_iter > 1:  # one for the part, one for all rows
        rows = rows_to_begin_with(source.shape, sample_weight, options.rank, rng)
        if rows is not None:
            numbers = source.take(rows)
            if not np.all(np.isfinite(numbers)):
                check_finite(source)  # says which rows of all
            few = max(MIN_BLOCK_ROWS, BLOCK_BYTES // (8 * source.shape[1]))
            part = as_source(without_long_rows(numbers), block_rows=few)
            nearly = replace(options, tol=max(options.tol, NEAR), max_iter=options.max_iter - 1)
            settled = settle(part, sample_weight[rows], nearly, polish=False)
            found = fit_large(source, sample_weight, rows, part, settled, options, rng)
            if found is not None:
                return found
            exact = settle_exactly(source, sample_weight, rows, settled)
            if exact is not None:
                return describe(exact, rng, options.beyond)
    return describe(settle(source, sample_weight, options), rng, options.beyond)
