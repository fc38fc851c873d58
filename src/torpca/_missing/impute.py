"""A table with its holes filled, in the container it came in."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._missing.completion import Completion
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Mask, Rows, place
from torpca._sources.frames import library_of

# What data frames call numbers in single precision.
SINGLE = frozenset({"float32", "Float32"})


def impute_like(X: Any, source: RowSource, model: Completion, return_std: bool) -> Any:
    """X with its holes filled; with standard errors (n, d) if asked for."""
    filled, errors, changed = imputed(source, model, return_std)
    out = rebuilt(X, source, filled, changed)
    return (out, errors) if return_std else out


def imputed(
    source: RowSource, model: Completion, with_errors: bool = False
) -> tuple[Floats, Floats, Mask]:
    """Rows (n, d) with their holes filled, standard errors of these, and features that had some."""

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        missing = xp.isnan(block)
        f = model.fitted(xp, block)
        out = xp.where(missing, model.in_unit(xp, f.values), block)
        holes = (xp.sum(xp.astype(missing, xp.float64), axis=0),)
        if not with_errors:
            return (out,), holes
        return (out, xp.where(missing, errors_of(xp, model, f.observed), 0.0)), holes

    per_row, (holes,) = source.sweep(kernel)
    return per_row[0], per_row[1] if with_errors else np.zeros((0, 0)), holes > 0


def errors_of(xp: Any, model: Completion, observed: Array) -> Array:
    """Standard errors (n, d) of fitted cells, given ones where a cell is `observed` (n, d).

    With S = diag(noise variances) and L those of the scores, these are off by
    (V_o'V_o + P)^-1 (P y - V_o'e_o), of which the middle has the covariance P L P + V_o'S_oV_o.
    """
    V = place(xp, model.V, observed)
    noise = np.square(model.cell_noise)
    squares = xp.zeros_like(observed) + place(xp, noise, observed)
    if model.V.shape[1]:
        drawn = np.diag(np.square(model.prior * model.deviations) - model.prior)
        middle = model.normal(xp, observed * place(xp, noise, observed))[0]
        middle = middle + place(xp, drawn, observed)[:, :, None]
        inverse = xp.linalg.inv(xp.permute_dims(model.normal(xp, observed)[0], (2, 0, 1)))
        covariance = inverse @ xp.permute_dims(middle, (2, 0, 1)) @ inverse
        squares = squares + xp.sum((V @ covariance) * V, axis=2)
    errors = xp.sqrt(xp.clip(squares, 0.0, None))
    return errors if model.scale is None else errors * place(xp, model.scale, observed)


def rebuilt(X: Any, source: RowSource, filled: Floats, changed: Mask) -> Any:
    """Numbers (n, d) as the kind of table that X is; columns that have not `changed` are X's."""
    library = library_of(X)
    if not library:
        return source.export(filled)
    out = X.copy() if library == "pandas" else X
    for j in np.flatnonzero(changed):
        name = X.columns[j]
        single = str(X.dtypes.iloc[j] if library == "pandas" else X.dtypes[j]) in SINGLE
        column = filled[:, j].astype(np.float32 if single else np.float64)
        if library == "pandas":
            out.isetitem(j, column)
        else:
            out = out.with_columns(type(X[name])(name, column))
    return out
