"""Data frames: their columns as numbers, or an error that names those that are not numeric."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from torpca._sources.entries import (
    ALLOWED,
    NAMED,
    complex_numbers,
    converts,
    is_number,
    no_number,
    too_large,
)

Numbers = np.ndarray[Any, Any]


def library_of(X: Any) -> str:
    """The package of a data frame, "" if X is none of those known here."""
    library = type(X).__module__.split(".")[0]
    return library if library in {"pandas", "polars"} and hasattr(X, "columns") else ""


def labels_of(X: Any) -> tuple[Any, ...]:
    """Names of the columns as Python has them, so that messages show what may be typed."""
    return tuple(str(label) if isinstance(label, str) else label for label in X.columns)


def from_frame(X: Any) -> Numbers:
    """The numbers of a data frame; what is missing is NaN, whatever the library writes for it."""
    return from_pandas(X) if library_of(X) == "pandas" else from_polars(X)


# ---- pandas --------------------------------------------------------------------------------------


def from_pandas(X: Any) -> Numbers:
    """The numbers of a pandas data frame, of its own types and of NumPy's."""
    dtypes = list(X.dtypes)
    if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes):
        return np.asarray(X)
    refused = [j for j in range(len(dtypes)) if not _holds_numbers(X.iloc[:, j])]
    if refused:
        every = labels_of(X)
        labels = [every[j] for j in refused]
        advice = _drop_from_pandas(labels)
        if all(converts(X.iloc[:, j].astype, float) for j in refused):
            advice = f"Convert it to numbers first, with X.astype({_pairs(labels, 'float')})."
        column = X.iloc[:, refused[0]]
        entry = _first_odd(column.tolist(), np.flatnonzero(column.notna()).tolist())
        raise _refused(labels, column.dtype, advice, entry)
    out = np.empty(X.shape)
    for j in range(out.shape[1]):
        try:
            out[:, j] = X.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
        except OverflowError as error:
            raise too_large() from error
    return out


def _drop_from_pandas(labels: list[Any]) -> str:
    if len(labels) > NAMED:
        return "Keep the columns of numbers, with X.select_dtypes('number')."
    return f"Leave out the columns that are not numeric, with X.drop(columns={labels!r})."


def _holds_numbers(column: Any) -> bool:
    """Whether the entries of a column of pandas are numbers, or missing."""
    if column.dtype.kind in "biuf":
        return True
    return column.dtype == object and all(is_number(value) for value in column.dropna())


def pandas_numbers_of_dask(X: Any) -> Any:
    """A Dask data frame of pandas whose columns are of NumPy's types; nothing is computed."""
    dtypes = list(X.dtypes)
    refused = [j for j, dtype in enumerate(dtypes) if dtype.kind not in "biuf"]
    if refused:
        every = labels_of(X)
        labels = [every[j] for j in refused]
        raise _refused(labels, dtypes[refused[0]], _drop_from_pandas(labels))
    if all(isinstance(dtype, np.dtype) for dtype in dtypes):
        return X
    return X.astype(np.float64)  # in which what is missing is NaN


# ---- polars --------------------------------------------------------------------------------------


def from_polars(X: Any) -> Numbers:
    """The numbers of a polars data frame; true and false are 1 and 0."""
    polars = sys.modules["polars"]
    others = (polars.Boolean, polars.Null)
    refused = [j for j, t in enumerate(X.dtypes) if not (t.is_numeric() or t in others)]
    if refused:
        labels = [X.columns[j] for j in refused]
        columns = [X.to_series(j) for j in refused]
        advice = f"Leave out the columns that are not numeric, with X.drop({labels!r})."
        if all(
            column.dtype == polars.String and converts(column.cast, polars.Float64)
            for column in columns
        ):
            pairs = _pairs(labels, "polars.Float64")
            advice = f"Convert it to numbers first, with X.cast({pairs})."
        elif len(labels) > NAMED:
            advice = "Keep the columns of numbers, with X.select(polars.selectors.numeric())."
        there = np.flatnonzero(columns[0].is_not_null().to_numpy()).tolist()
        raise _refused(labels, columns[0].dtype, advice, _first_odd(columns[0].to_list(), there))
    if any(t in others or t.is_decimal() for t in X.dtypes):
        X = X.cast(polars.Float64)
    return np.asarray(X)


# ---- columns that hold no numbers ----------------------------------------------------------------


def _pairs(labels: Sequence[Any], kind: str) -> str:
    return "{" + ", ".join(f"{label!r}: {kind}" for label in labels) + "}"


def _first_odd(values: Sequence[Any], there: Sequence[int]) -> tuple[int, Any]:
    """Row and value of the first entry that is not a number, of those that are there."""
    # Categories may be numbers, and still not be meant as such: then the first of all.
    row = next((i for i in there if not is_number(values[i])), there[0] if there else 0)
    return row, values[row]


def _refused(
    labels: Sequence[Any], dtype: Any, advice: str, entry: tuple[int, Any] | None = None
) -> Exception:
    """The error of the columns called `labels`; `entry` is the first of the first column."""
    where = f"column {labels[0]!r} of dtype {dtype}"
    if len(labels) > 1:
        where += f" (and {len(labels) - 1} more such columns)"
    if "complex" in str(dtype):
        return complex_numbers(f"X has {where}")
    if entry is None:
        return TypeError(f"X has {where}. {ALLOWED}. {advice}")
    row, value = entry
    return no_number(value, f" in row {row}, {where}", advice)
