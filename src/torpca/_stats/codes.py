"""Columns of few values, such as answers yes or no: whether one value is what was flagged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torpca._sources.base import Floats, Mask

# A column of codes has at most so many different values, and each so often on average.
MOST_VALUES, REPEATED = 10, 2
# Shares of the flagged rows, at least, and of the others, at most, that have the value.
MOST_FLAGGED, FEW_OTHERS = 0.8, 0.1
# Fewer flagged rows, or a smaller share of all, are too few to be a group.
FEWEST, SMALLEST = 10, 0.03


def is_code(column: Floats) -> bool:
    """Whether a column (m,), NaN where a value is missing, has few values, each several times.

    Apart from the commonest, they must be there `REPEATED` times on average.

    Examples
    --------
    >>> is_code(np.array([0, 0, 0, 0, 1, 1, 2, 1, 2.0])), is_code(np.array([0, 0, 0, 0, 1e3, 1e5]))
    (True, False)
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    others = len(values) - 1
    if not 0 < others < MOST_VALUES:
        return False
    return bool(np.sum(counts) - np.max(counts) >= REPEATED * others)


class Code(NamedTuple):
    """A value that nearly all flagged rows have in a column of few values, and few others."""

    feature: int
    value: float
    among_flagged: float
    """Share of the flagged rows that have it, ..."""
    among_others: float
    """... and of the others."""


def code_of(X: Floats, flagged: Mask) -> Code | None:
    """The value by which rows X (m, d) are flagged; None if there is no such value.

    Where a table has a group with a value of its own in one column, and that column has a large
    part in the variance, the group leaves the subspace of the others like any group of bad rows.

    Examples
    --------
    >>> sex = np.repeat([0.0, 1.0], [70, 30])
    >>> X = np.column_stack([np.random.default_rng(0).standard_normal((100, 3)), sex])
    >>> code_of(X, sex == 1)
    Code(feature=3, value=1.0, among_flagged=1.0, among_others=0.0)
    """
    count = int(np.count_nonzero(flagged))
    if count < max(FEWEST, SMALLEST * len(X)) or 2 * count > len(X):
        return None
    inside, outside = X[flagged], X[~flagged]
    # A value that most of them have is the middle one.
    middle = np.sort(inside, axis=0)[count // 2]
    among_flagged, among_others = (np.mean(rows == middle, axis=0) for rows in (inside, outside))
    for j in np.argsort(among_others - among_flagged, kind="stable"):
        if among_flagged[j] < MOST_FLAGGED or among_others[j] > FEW_OTHERS:
            return None
        if is_code(X[:, j]):
            shares = float(among_flagged[j]), float(among_others[j])
            return Code(int(j), float(middle[j]), *shares)
    return None
