"""What a look at the columns of a table suggests, before or beside a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Floats
from torpca._words import counted, figures, first_of, percent

# Rows that are looked at, and columns at most: of more, nobody reads what is said of single ones.
LOOKED_AT, MOST_COLUMNS = 20_000, 5_000
# A few columns, at most this part of them, with this share of the variance decide, if the spread of
# the largest of them is so many times the middle one.
A_FEW, NEARLY_ALL, ORDERS = 1 / 3, 0.95, 100.0
# Fewer rows than this tell little.
FEW_ROWS = 10
# Values of a column of classes, at most, and of the others, at least.
CLASSES, VALUES = 10, 30
TARGETS = frozenset({"target", "label", "labels", "class", "y", "outcome", "response", "category"})
# Columns named in a sentence.
NAMED = 3


def advice(
    X: Floats,
    names: Sequence[str],
    *,
    scaled: bool,
    numbers: npt.NDArray[np.intp] | None = None,
) -> list[str]:
    """Sentences about columns of some rows X (m, d) that may spoil a fit; NaN where one is missing.

    `numbers` (m,) are those of the rows in their table, if some were left out.

    About units, constant columns, columns that count rows, columns that look like a target, and
    few rows. What may stand for a missing value is a warning of the fit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.arange(50.0), rng.standard_normal((50, 3)) * [1, 1, 1000]])
    >>> first, second = advice(X, ["id", "a", "b", "c"], scaled=False)
    >>> first
    'Column id counts the rows. Leave it out, or name the rows by it.'
    >>> second.split(":")[0]
    'Column c holds more than 99.9% of the variance'
    """
    m, d = X.shape
    said = []
    if m < FEW_ROWS:
        said.append(
            f"{counted(m, 'row')} {'is' if m == 1 else 'are'} too few to tell bad rows from good "
            "ones. Do not rely on the results for single rows."
        )
    if m < 3 or d == 0 or d > MOST_COLUMNS:
        return said
    there = ~np.isnan(X)
    full = np.where(there, X, 0.0)
    constant = np.array([len(np.unique(X[t, j])) < 2 for j, t in enumerate(there.T)])
    if constant.any():
        said.append(
            f"{_columns(names, np.flatnonzero(constant))} the same value in all rows, without "
            "effect on the components. A row with quite another value may be flagged for it."
        )
    counts = _counting(full, there, np.arange(m) if numbers is None else numbers) & ~constant
    if counts.any():
        one = int(np.count_nonzero(counts)) == 1
        which = _names(names, np.flatnonzero(counts))
        said.append(
            f"Column{'s' * (not one)} {which} count{'s' * one} the rows. Leave "
            f"{'it' if one else 'them'} out, or name the rows by {'it' if one else 'one'}."
        )
    targets = _targets(X, there, names) & ~constant & ~counts
    if targets.any():
        which = _names(names, np.flatnonzero(targets))
        said.append(
            f"Column {which} may be a target or a class, because it has few different values. "
            "Leave it out to judge rows by the other columns."
        )
    if not scaled:
        said += _units(X, there, names, counts | constant)
    return said


def _names(names: Sequence[str], which: npt.NDArray[np.intp]) -> str:
    """Names of a few columns."""
    return first_of((names[j] for j in which[:NAMED]), len(which), NAMED)


def _columns(names: Sequence[str], which: npt.NDArray[np.intp]) -> str:
    """Names of a few columns that have something."""
    one = len(which) == 1
    return f"Column{'s' * (not one)} {_names(names, which)} {'has' if one else 'have'}"


def _counting(
    X: Floats, there: npt.NDArray[np.bool_], numbers: npt.NDArray[np.intp]
) -> npt.NDArray[np.bool_]:
    """Columns that go up, or down, by the same step from row to row."""
    steps = np.diff(X, axis=0) / np.diff(numbers)[:, None]
    same = np.all(np.abs(steps - steps[0]) <= 1e-9 * np.abs(steps[0]), axis=0)
    return np.asarray(same & (steps[0] != 0) & there.all(axis=0))


def _targets(
    X: Floats, there: npt.NDArray[np.bool_], names: Sequence[str]
) -> npt.NDArray[np.bool_]:
    """Columns of few whole numbers that are called like a target, or stand at an end alone."""
    values = [np.unique(X[t, j]) for j, t in enumerate(there.T)]
    few = np.array([len(v) <= CLASSES and bool(np.all(v == np.round(v))) for v in values])
    called = np.array([name.strip().lower() in TARGETS for name in names])
    others = np.array([len(v) >= VALUES for v in values])
    at_end = np.zeros(len(names), dtype=bool)
    for end, rest in ((0, slice(1, None)), (-1, slice(None, -1))):
        at_end[end] |= len(names) > 2 and bool(np.all(others[rest]))
    return np.asarray(few & (called | at_end))


def _units(
    X: Floats,
    there: npt.NDArray[np.bool_],
    names: Sequence[str],
    left_out: npt.NDArray[np.bool_],
) -> list[str]:
    """Whether a few columns decide because of their unit."""
    # By quartiles: a bad row must not make a unit.
    columns = np.flatnonzero(~left_out)
    if len(columns) < 2:
        return []
    spread = np.array(
        [np.subtract(*np.percentile(X[there[:, j], j], [75, 25])) / 1.349 for j in columns]
    )
    spread = np.where(np.isfinite(spread), spread, 0.0)
    middle = float(np.median(spread))
    if not middle > 0:
        return []
    order = np.argsort(-spread, kind="stable")
    shares = np.square(spread / spread[order[0]])
    share = np.cumsum(shares[order]) / np.sum(shares)
    count = int(np.searchsorted(share, NEARLY_ALL)) + 1
    if count > max(1, A_FEW * len(columns)) or spread[order[0]] < ORDERS * middle:
        return []
    one = count == 1
    much = percent(float(share[count - 1]))
    return [
        f"Column{'s' * (not one)} {_names(names, columns[order[:count]])} hold{'s' * one} {much} "
        f"of the variance: {'its' if one else 'their'} numbers spread "
        f"{figures(float(spread[order[0]]) / middle)} times as far as those of the median column. "
        "Use scale=True unless all columns have the same unit."
    ]
