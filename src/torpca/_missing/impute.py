"""A table with its missing cells filled, in the container it came in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._missing.cells import judged_cells
from torpca._missing.completion import Completion
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Mask, Rows, place
from torpca._sources.dask import is_dask_frame
from torpca._sources.frames import library_of

# What data frames call numbers in single precision.
SINGLE = frozenset({"float32", "Float32", "float[pyarrow]"})


def impute_like(
    X: Any,
    source: RowSource,
    model: Completion,
    *,
    cells: bool = False,
    bad_cells: bool = False,
    return_std: bool = False,
) -> Any:
    """X with its missing cells filled, as `imputed` says; with standard errors (n, d) if asked."""
    filled, errors, changed = imputed(
        source, model, cells=cells, bad_cells=bad_cells, with_errors=return_std
    )
    out = rebuilt(X, source, filled, changed)
    return (out, errors) if return_std else out


def imputed(
    source: RowSource,
    model: Completion,
    *,
    cells: bool = False,
    bad_cells: bool = False,
    with_errors: bool = False,
) -> tuple[Floats, Floats, Mask]:
    """Rows (n, d) with missing cells filled, standard errors of these, and features with some.

    With `cells`, bad cells have no part in what others are filled with, and stay as they are; with
    `bad_cells` they count as missing, too.
    """

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        good = block
        if cells or bad_cells:
            good = xp.where(judged_cells(xp, model, block)[1], np.nan, block)
        fill = xp.isnan(good if bad_cells else block)
        f = model.fitted(xp, good)
        out = xp.where(fill, model.in_unit(xp, f.values), block)
        counts = (xp.sum(xp.astype(fill, xp.float64), axis=0),)
        if not with_errors:
            return (out,), counts
        return (out, xp.where(fill, errors_of(xp, model, f.observed), 0.0)), counts

    per_row, (counts,) = source.sweep(kernel)
    return per_row[0], per_row[1] if with_errors else np.zeros((0, 0)), counts > 0


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
        out = source.export(filled)
        return np.ma.array(out) if isinstance(X, np.ma.MaskedArray) else out
    out = X.copy() if library == "pandas" else X
    for j in np.flatnonzero(changed):
        name = X.columns[j]
        kind = X.dtypes.iloc[j] if library == "pandas" else X.dtypes[j]
        column = filled[:, j].astype(np.float32 if str(kind) in SINGLE else np.float64)
        if library == "pandas":
            out.isetitem(j, as_nullable(column, kind))
        else:
            out = out.with_columns(type(X[name])(name, column))
    return out


def as_nullable(column: npt.NDArray[Any], kind: Any) -> Any:
    """Numbers (n,) for a column that was of `kind`: of a type that has nulls, if that had some."""
    if isinstance(kind, np.dtype):
        return column
    import pandas as pd  # noqa: PLC0415 (X is a frame of it)

    # Whole numbers cannot hold what the model expects: floats of the same family.
    if isinstance(kind, pd.ArrowDtype):
        name = "float[pyarrow]" if column.dtype == np.float32 else "double[pyarrow]"
    else:
        name = "Float32" if column.dtype == np.float32 else "Float64"
    return pd.array(column, dtype=name)


# ---- Dask ----------------------------------------------------------------------------------------


def impute_chunks(
    X: Any, dtype: np.dtype[Any], fill: Callable[..., Any], return_std: bool, *, marked: bool
) -> Any:
    """A Dask array or data frame with its cells filled by `fill`, chunk by chunk, when computed.

    `marked`: cells count as missing that are not NaN, so that whole numbers have some, too.
    """
    if not is_dask_frame(X):
        rows = X if X.numblocks[1] == 1 else X.rechunk({0: "auto", 1: -1})
        none = np.zeros((0, 0), dtype=dtype)
        made = [
            rows.map_blocks(partial(_chunk, fill, std), dtype=dtype, meta=none)
            for std in (False, True)
        ]
        return tuple(made) if return_std else made[0]
    # The same type in all partitions, though only some of them lack cells in a column.
    meta = X._meta.astype(
        {
            name: as_nullable(np.zeros(0), kind).dtype
            for name, kind in X._meta.dtypes.items()
            if kind.kind in "biu" and (marked or not isinstance(kind, np.dtype))
        }
    )
    filled = X.map_partitions(partial(_partition, fill, meta.dtypes.to_dict()), meta=meta)
    if not return_std:
        return filled
    errors = X.map_partitions(partial(_errors, fill), meta=X._meta.astype(np.float64))
    return filled, errors.to_dask_array(lengths=True)


def _chunk(fill: Callable[..., Any], std: bool, chunk: Any) -> Any:
    if not std:
        return fill(chunk) if len(chunk) else chunk
    return fill(chunk, return_std=True)[1] if len(chunk) else chunk


def _partition(fill: Callable[..., Any], kinds: dict[Any, Any], part: Any) -> Any:
    return (fill(part) if len(part) else part).astype(kinds)


def _errors(fill: Callable[..., Any], part: Any) -> Any:
    out = part.astype(np.float64)
    if len(part):
        out[:] = fill(part, return_std=True)[1]
    return out
