"""A table with its holes filled, in the container it came in."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._missing.completion import Completion
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Rows, place
from torpca._sources.frames import library_of


def impute_like(X: Any, source: RowSource, model: Completion, return_std: bool) -> Any:
    """X with its holes filled; with standard errors (n, d) if asked for."""
    filled, errors = imputed(source, model, return_std)
    out = rebuilt(X, source, filled)
    return (out, errors) if return_std else out


def imputed(source: RowSource, model: Completion, with_errors: bool) -> tuple[Floats, Floats]:
    """Rows (n, d) with their holes filled, and standard errors of the filled cells."""

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        missing = xp.isnan(block)
        f = model.fitted(xp, block)
        out = xp.where(missing, model.in_unit(xp, f.values), block)
        if not with_errors:
            return (out,), ()
        return (out, xp.where(missing, errors_of(xp, model, f.observed), 0.0)), ()

    per_row = source.sweep(kernel)[0]
    return per_row[0], per_row[1] if with_errors else np.zeros((0, 0))


def errors_of(xp: Any, model: Completion, observed: Array) -> Array:
    """Standard errors (n, d) of fitted cells, given ones where a cell is `observed` (n, d).

    The scores have the covariance v (V_o'V_o + P)^-1 for noise of variance v in each cell.
    """
    V = place(xp, model.V, observed)
    noise = np.square(model.cell_noise)
    squares = xp.zeros_like(observed) + place(xp, noise, observed)
    if model.V.shape[1]:
        A = xp.permute_dims(model.normal(xp, observed)[0], (2, 0, 1))
        squares = squares + float(np.mean(noise)) * xp.sum((V @ xp.linalg.inv(A)) * V, axis=2)
    errors = xp.sqrt(squares)
    return errors if model.scale is None else errors * place(xp, model.scale, observed)


def rebuilt(X: Any, source: RowSource, filled: Floats) -> Any:
    """Numbers (n, d) as the kind of table that X is."""
    library = library_of(X)
    if library == "pandas":
        frame = type(X)(filled, index=X.index, columns=X.columns)
        # Columns without holes keep their types.
        whole = [name for name in X.columns if not X[name].isna().any()]
        return frame.astype({name: X[name].dtype for name in whole}) if whole else frame
    if library == "polars":
        return type(X)({name: filled[:, j] for j, name in enumerate(X.columns)})
    return source.export(filled)
