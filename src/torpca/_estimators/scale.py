"""A robust scale for each feature: from a sample at first, then from the rows that a fit kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.moments import weighted_total
from torpca._missing.check import check_cells
from torpca._robust.draw import some_rows
from torpca._robust.lines import EQUAL, describe_lines
from torpca._sources import Columns, RowSource
from torpca._sources.base import Array, Floats, Rows, place
from torpca._sources.views import Zeroed

# Rows looked at: scales to two percent. Fewer if they are long, to hold no more numbers than this.
SCALE_ROWS, FEWEST_ROWS, MOST_NUMBERS = 2000, 100, 2**26
# Binary digits of a scale.
DIGITS = 36
# Share of its mean below which the deviation of a feature is rounding.
ROUNDING = 1e-13
# Numbers handled at a time.
AT_A_TIME = 2**20


def feature_scales(source: RowSource, weights: Floats, rng: np.random.Generator) -> Floats:
    """Standard deviation of the good rows in each feature, (n_features,).

    From the tightest half of a sample. A feature that is equal in more than half of the rows has
    no such scale and gets its plain standard deviation; one that is constant gets 1.
    """
    d = source.shape[1]
    count = min(SCALE_ROWS, max(FEWEST_ROWS, MOST_NUMBERS // d))
    rows = some_rows(weights, count, rng)
    S, w = source.take(rows), weights[rows]
    if np.isinf(S).any():
        check_cells(source, weights)  # says where, and that NaN would do
    if np.isnan(S).any():
        S = with_others_in_holes(S, rng)
    scales = np.empty(d)
    step = max(1, AT_A_TIME // len(S))
    for at in range(0, d, step):
        part = slice(at, min(at + step, d))
        P = S[:, part]
        size = np.max(np.abs(P), axis=0)
        P = P / np.where(size > 0, size, 1.0)
        lines = describe_lines(P, w)
        mean = (w @ P) / np.sum(w)
        plain = np.sqrt((w @ np.square(P - mean)) / np.sum(w))
        found = np.where(lines.inner > EQUAL, lines.inner, plain)
        scales[part] = np.where(found > EQUAL, found * size, 1.0)
    return rounded(scales)


def with_others_in_holes(S: Floats, rng: np.random.Generator) -> Floats:
    """Rows S (m, d) with numbers of other rows where a cell is missing, column by column.

    Columns are to be looked at one by one, and have the same spread as before.
    """
    S = S.copy()
    for column in S.T:
        missing = np.isnan(column)
        others = column[~missing]
        column[missing] = rng.choice(others, np.count_nonzero(missing)) if len(others) else 0.0
    return S


def scales_of_kept(
    source: RowSource, weights: Floats, before: Floats, *, holes: bool = False
) -> Floats:
    """Standard deviation of the rows of `weights` (n,) in each feature, (n_features,).

    As `sklearn.preprocessing.StandardScaler` has it, of the cells that are there if the rows have
    `holes`. A feature in which they are all equal keeps the scale it had `before`.
    """

    def there(rows: RowSource) -> RowSource:
        return Zeroed(rows) if holes else rows

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        return (), (place(xp, weights[rows], block) @ (block * block),)

    total: Any = float(np.sum(weights))
    if holes:
        total = np.maximum(weight_of_cells(source, weights), 1.0)
    # In the unit of the earlier scales no square of a kept row is beyond every float.
    rows = Columns(source, 1.0 / before)
    mean = weighted_total(there(rows), weights) / total
    # About the mean, in a pass of its own: a difference of large sums would be rounding.
    (squares,) = there(rows.centered(mean)).sweep(kernel, weights > 0)[1]
    deviations = np.sqrt(squares / total)
    # Numbers that are equal differ from their mean by its rounding.
    spread = deviations > np.maximum(EQUAL, ROUNDING * np.abs(mean))
    return np.where(spread, rounded(before * deviations), before)


def weight_of_cells(source: RowSource, weights: Floats) -> Floats:
    """Weight of the rows of `weights` (n,) that have a cell of each feature, (n_features,)."""

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        observed = xp.astype(~xp.isnan(block), xp.float64)
        return (), (place(xp, weights[rows], block) @ observed,)

    return source.sweep(kernel, weights > 0)[1][0]


def rounded(scales: Floats) -> Floats:
    """Scales without their last digits, in which sums in another order differ.

    So equal rows stay equal, and a row of weight two is that row twice, digit by digit.
    """
    mantissa, exponent = np.frexp(scales)
    return np.ldexp(np.round(mantissa * 2.0**DIGITS) / 2.0**DIGITS, exponent)
