"""Features and good rows that depend on each other: scales of the good rows, rows by the scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from torpca._estimators.scale import feature_scales, rounded, scales_of_kept
from torpca._missing.fit import RowsFit, fit_rows
from torpca._options import Options
from torpca._sources import Columns, RowSource
from torpca._sources.base import Floats

# Times that scales are found anew from the rows that were kept. The first scales are good enough to
# tell good rows from bad; those of the good rows change little after one more fit.
ROUNDS = 2
# Scales that differ by less are the same, but for rounding.
SAME = 1e-9
# A fit that drops more than this share of what the one before kept is no better one of the same
# rows: it is a fit of others.
LOST = 0.1


@dataclass(frozen=True)
class ScaledFit:
    """A fit in features divided by the standard deviations of the rows that it keeps."""

    found: RowsFit
    scales: Floats
    """What each feature was divided by, (d,)."""
    agreed: bool
    """Whether the last scales keep the rows from which they were found."""


def scaled_fit(
    source: RowSource,
    options: Options,
    sample_weight: Floats,
    rng: np.random.Generator,
    fit: Callable[..., RowsFit] = fit_rows,
) -> ScaledFit:
    """Scales of the features and good rows, found in turn.

    Robust scales of a sample come first. They are off by a few percent, and by more where bad rows
    crowd on one side of a feature; the standard deviations of the kept rows are what a
    StandardScaler makes of the good rows alone.
    """
    scales = feature_scales(source, sample_weight, rng)
    seed = int(rng.integers(2**62))  # for all fits: what changes is the scales

    def fitted(scales: Floats) -> RowsFit:
        rows = Columns(source, 1.0 / scales)
        return fit(rows, options, sample_weight, np.random.default_rng(seed))

    found = fitted(scales)
    for _ in range(ROUNDS):
        kept = found.fit.weights * sample_weight
        if found.observed is None:
            finer = scales_of_kept(source, kept, scales)
        else:  # in the unit of the last scales, without bad cells
            ones = np.ones(len(scales))
            finer = rounded(scales * scales_of_kept(found.observed, kept, ones, holes=True))
        if np.allclose(finer, scales, rtol=SAME, atol=0.0):
            break
        again = fitted(finer)
        lost = np.maximum(found.fit.weights - again.fit.weights, 0.0)
        if kept @ lost > LOST * np.sum(kept):
            return ScaledFit(found, scales, agreed=False)
        found, scales = again, finer
    return ScaledFit(found, scales, agreed=True)
