"""Values of rows as they are in the table, and what is usual for the good ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from torpca._sources import RowSource
from torpca._sources.base import Floats

if TYPE_CHECKING:
    from torpca._estimators.subspace import FittedSubspace

# Features of which values are kept: of more, some at equal steps.
FEATURES = 1200
# Numbers kept of single rows, and good rows behind the usual range, with as many numbers to read.
NUMBERS, GOOD, READ = 200_000, 4000, 2**26
# Percentiles between which values are usual.
LOW, HIGH = 1.0, 99.0
# The ninety-ninth of a Gaussian law, in standard deviations.
Z = 2.326


@dataclass(frozen=True)
class Usual:
    """Values (m, p) of some rows on p features, and the usual range of the good rows."""

    columns: npt.NDArray[np.intp]
    """Numbers of the features, (p,): all of them or, of many, some."""
    low: Floats
    """First percentile of the good rows, (p,); NaN where they have no value."""
    middle: Floats
    """Median."""
    high: Floats
    """Ninety-ninth percentile."""
    rows: npt.NDArray[np.intp]
    """Numbers of the rows, (m,): flagged ones, the most extreme first, then good ones."""
    values: Floats
    """Their values, (m, p); NaN where one is missing."""
    n_good: int
    """Good rows behind the percentiles; 0 if these are what a fit says."""


def usual_values(
    source: RowSource,
    extreme: npt.NDArray[np.intp],
    good: npt.NDArray[np.intp],
    fitted: FittedSubspace | None = None,
) -> Usual | None:
    """What is usual in rows `good`, and values of `extreme` and of them; None without good rows.

    Of new rows the good ones may have drifted, too: with `fitted`, what is usual is what it says of
    the good rows of its fit.
    """
    d = source.shape[1]
    columns = np.unique(np.linspace(0, d, min(d, FEATURES), endpoint=False).astype(np.intp))
    rows = np.concatenate([extreme, good])[: max(1, NUMBERS // len(columns))]
    if fitted is not None and len(rows):
        return Usual(columns, *range_of(fitted, columns), rows, taken(source, rows, columns), 0)
    if len(good) == 0:
        return None
    enough = max(100, min(GOOD, READ // d))
    step = max(1, len(good) // enough)
    seen = taken(source, good[::step][:enough], columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value
        low, middle, high = np.nanpercentile(seen, [LOW, 50.0, HIGH], axis=0)
    return Usual(columns, low, middle, high, rows, taken(source, rows, columns), len(seen))


def range_of(
    fitted: FittedSubspace, columns: npt.NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    """First percentile, middle and ninety-ninth of the good rows of a fit, if they are Gaussian."""
    middle = fitted.center[columns]
    along = fitted.basis[columns] * fitted.deviations
    with np.errstate(over="ignore", under="ignore"):
        wide = Z * np.sqrt(np.sum(along**2, axis=1) + fitted.noise[columns] ** 2)
        wide = wide if fitted.scale is None else wide * fitted.scale[columns]
    return middle - wide, middle, middle + wide


def taken(source: RowSource, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> Floats:
    """Values (m, p) of these rows and columns, a block of rows at a time."""
    d = source.shape[1]
    step = max(1, 2**22 // d)
    values = np.empty((len(rows), len(columns)))
    for start in range(0, len(rows), step):
        now = slice(start, start + step)
        block = source.take(rows[now])
        values[now] = block if len(columns) == d else block[:, columns]
    return values
