"""Single cells that the others of their row do not bear out, by a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm

from torpca._missing.completion import Completion, in_pieces
from torpca._missing.one_step import medians
from torpca._missing.tuning import CUT, FIRST, LEAST, LOOKS, MOST_BAD, rows_to_look_at
from torpca._robust.draw import some_rows
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Mask, Rows, place, to_numpy
from torpca._sources.views import View


def judged_cells(xp: Any, model: Completion, block: Array) -> tuple[Array, Array]:
    """Standardised residuals (n, d) of the cells of rows, and the mask (n, d) of bad ones.

    A cell is measured from what the good cells of its row predict. Residuals are NaN where a cell
    is missing.
    """
    found = [_judged(xp, model, block[at, :]) for at in in_pieces(xp, block)]
    if len(found) == 1:
        return found[0]
    z, bad = zip(*found, strict=True)
    return xp.concat(z), xp.concat(bad)


def _judged(xp: Any, model: Completion, block: Array) -> tuple[Array, Array]:
    z = standardised(xp, model, block, None)
    if xp is not np:  # an accelerator looks at all rows sooner than it finds some of them
        return _looked_at_again(xp, model, block, z)
    bad = np.abs(z) > CUT  # not where a cell is missing
    some = np.flatnonzero(np.any(bad, axis=1))
    if len(some):
        z[some], bad[some] = _looked_at_again(np, model, block[some], z[some])
    return z, bad


def _looked_at_again(xp: Any, model: Completion, block: Array, first: Array) -> tuple[Array, Array]:
    """Residuals and bad cells of rows, given their residuals with no cell left out."""
    observed = ~xp.isnan(block)
    z, bad = first, xp.zeros_like(observed)
    for _ in range(LOOKS):
        size = xp.where(observed, xp.abs(z), 0.0)
        # What was bad stays so while it is beyond; of the others the farthest join.
        farthest = xp.max(xp.where(bad, 0.0, size), axis=1)[:, None]
        now = (size > CUT) & (bad | (size >= FIRST * farthest))
        if bool(xp.all(now == bad)):
            break
        bad = now
        z = standardised(xp, model, block, bad)
    whole = too_many(xp, bad, observed)
    return xp.where(whole, first, z), bad & ~whole


def too_many(xp: Any, bad: Array, observed: Array) -> Array:
    """Rows (n, 1) of which more cells are `bad` than may be, of those `observed`, (n, d) each."""
    n_bad, n_observed = (xp.sum(xp.astype(m, xp.float64), axis=1) for m in (bad, observed))
    return (n_bad > MOST_BAD * n_observed)[:, None]


def standardised(xp: Any, model: Completion, block: Array, bad: Array | None) -> Array:
    """Residuals (n, d) of all cells of rows in standard deviations, by scores without `bad` ones.

    A cell that has a part in the scores has 1 - h of its noise left, another 1 + h, where
    h_j = v_j'(V_o'V_o + P)^-1 v_j.
    """
    k = model.V.shape[1]
    f = model.fitted(xp, block if bad is None else xp.where(bad, np.nan, block))
    C = block - place(xp, model.mean, block)
    C = C if model.scale is None else C / place(xp, model.scale, block)
    least = 1e-12 * float(np.max(model.deviations, initial=0.0)) or 1e-300
    unit = place(xp, np.maximum(model.cell_noise, least), block)
    left = xp.ones_like(C)
    if k:
        A = xp.permute_dims(model.normal(xp, f.observed)[0], (2, 0, 1))
        V = place(xp, model.V, block)
        h = xp.sum((V @ xp.linalg.inv(A)) * V, axis=2)
        left = xp.where(f.observed > 0, xp.clip(1.0 - h, LEAST, None), 1.0 + h)
    return (C - f.values) / (unit * xp.sqrt(left))


class WithoutCells(View):
    """Rows with NaN in place of cells that `rule` finds bad."""

    def __init__(self, source: RowSource, rule: Any) -> None:
        super().__init__(source)
        self.rule = rule

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """The rows, without their bad cells."""
        bad: Mask = self.rule(xp, block)
        return xp.where(bad, np.nan, block)


def without_bad_cells(source: RowSource, model: Completion) -> WithoutCells:
    """Rows without the cells that a model finds bad."""
    return WithoutCells(source, lambda xp, block: judged_cells(xp, model, block)[1])


class HolesFilled(View):
    """Rows with their missing cells filled from their good cells; bad cells stay as they are."""

    def __init__(self, source: RowSource, model: Completion) -> None:
        super().__init__(source)
        self.model = model

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """The rows, completed but for their bad cells."""
        bad = judged_cells(xp, self.model, block)[1]
        full = self.model.completed(xp, xp.where(bad, np.nan, block))
        lacking = xp.any(xp.isnan(block), axis=1)[:, None]
        return xp.where(lacking & ~bad, full, block)


def cell_outliers(source: RowSource, model: Completion) -> sparse.csr_array:
    """Bad cells of all rows, (n, d): 1 where too large, -1 where too small."""
    parts = []
    for xp, _, block in source.blocks():
        z, bad = judged_cells(xp, model, block)
        signs = xp.where(bad, xp.sign(z), 0.0)
        parts.append(sparse.csr_array(to_numpy(signs).astype(np.int8)))
    return sparse.vstack(parts, format="csr") if parts else sparse.csr_array(source.shape)


def cell_scales(
    source: RowSource,
    model: Completion,
    weights: Floats,
    sample_weight: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Noise (d,) of the cells of good rows of `weights` (n,), by the median size of residuals.

    Each of these rows counts as often as its `sample_weight` (n,) says.

    Bad cells that are still among them make a mean square large, and a median hardly. A feature in
    which most residuals are zero has the noise that the model has.
    """
    d, k = model.V.shape
    rows = some_rows(weights, rows_to_look_at(d), rng)
    f = model.fitted(np, source.take(rows))
    E = np.where(f.observed > 0, np.abs(f.rest), np.nan)
    # k of the cells of a row follow the noise.
    free = np.clip(1.0 - k / np.maximum(f.count, 1.0), LEAST, None)
    middle = medians((E / np.sqrt(free)[:, None]).T, sample_weight[rows]) / norm.ppf(0.75)
    return np.where(middle > 0, middle * np.sqrt(max(1.0 - k / d, 0.0)), model.noise)
