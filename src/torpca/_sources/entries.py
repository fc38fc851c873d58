"""Entries that are not numbers: what they are, where they are, and what to try."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

ALLOWED = (
    "X must be a table of real numbers with one sample per row: a NumPy array or memory map, a "
    "SciPy sparse matrix, a Dask array, a torch tensor or another array-API array, a data frame "
    "or a list of lists"
)
AS_FLOATS = "Convert it to numbers first, with numpy.asarray(X).astype(float)."
# Advice names so many columns; of more, all that are numbers are picked instead.
NAMED = 5


def is_number(value: Any) -> bool:
    """Whether an object is a real number; text that could be read as one is not."""
    return isinstance(value, Real | np.bool_)


def no_number(value: Any, where: str, advice: str) -> TypeError:
    """The error for an entry that is not a number."""
    return TypeError(
        f"X holds {value!r} of type {type(value).__name__}{where}; argument must be a number, not "
        f"a string or other object. {ALLOWED}. {advice}"
    )


def converts(convert: Callable[[Any], Any], what: Any) -> bool:
    """Whether `convert(what)` works, without a warning."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            convert(what)
    except Exception:  # of whatever library the column is from
        return False
    return True


def from_objects(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Objects that are numbers, as float64. Numbers written as text are refused, not guessed."""
    for place, value in enumerate(array.flat):
        if not is_number(value):
            raise _in_array(array, place, value)
    try:
        return array.astype(np.float64)
    except OverflowError as error:
        raise too_large() from error


def too_large() -> ValueError:
    """The error of a whole number that no float can hold."""
    return ValueError(
        "X holds an integer beyond the largest float, 1.8e308. Divide X by a common factor."
    )


def of_text(array: np.ndarray[Any, Any]) -> Exception:
    """The error of an array of text, with the first entry that cannot be read as a number."""
    for place, value in enumerate(array.flat):
        if not converts(float, value):
            return _in_array(array, place, value.item(), f" of dtype {array.dtype}")
    return TypeError(f"X has dtype {array.dtype}. {ALLOWED}. {AS_FLOATS}")


def _in_array(array: np.ndarray[Any, Any], place: int, value: Any, kind: str = "") -> TypeError:
    if array.ndim != 2:
        return no_number(value, kind, "Give it numbers.")
    row, column = divmod(place, array.shape[1])
    text = [j for j in range(array.shape[1]) if not converts(array[:, j].astype, np.float64)]
    if not text:
        advice = AS_FLOATS
    elif len(text) < array.shape[1] and len(text) <= NAMED:
        advice = (
            "Leave out the columns that are not numeric, with "
            f"numpy.delete(X, {text}, axis=1).astype(float), or convert them to numbers first."
        )
    else:
        advice = "Leave out or convert what is not a number first; then use astype(float)."
    return no_number(value, f" in row {row}, column {column}{kind}", advice)


def wrong_type(dtype: Any) -> Exception:
    """The error of an array whose type is none of real numbers."""
    name = str(dtype)
    if "complex" in name:
        return complex_numbers(f"X has dtype {name}")
    if getattr(dtype, "names", None):
        fields = "numpy.column_stack([X[name] for name in X.dtype.names])"
        advice = f"Give its fields as columns, with {fields}."
    else:
        advice = (
            "Convert it to numbers first, for example with X.astype(float), and leave out columns "
            "for which that fails."
        )
    return TypeError(f"X has dtype {name}. {ALLOWED}. {advice}")


def complex_numbers(what: str) -> ValueError:
    """The error of complex numbers."""
    return ValueError(
        f"{what}. Complex data not supported: stack real and imaginary parts as columns."
    )
