"""A warning where the flagged rows are a group with a value of its own in a column of codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torpca._estimators.stability import Probe
from torpca._missing.check import name_of
from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask
from torpca._sources.codes import is_code
from torpca._warn import warn

# Numbers that are looked at, but so many rows at least. With more columns than this, one of them
# makes little difference to the distances.
MOST_NUMBERS, FEWEST_ROWS, MOST_COLUMNS = 2**17, 500, 1000
# Shares of the flagged rows, at least, and of the others, at most, that have the value.
MOST_FLAGGED, FEW_OTHERS = 0.8, 0.1
# Fewer flagged rows, or a smaller share of all, are too few to be a group.
FEWEST, SMALLEST = 10, 0.03


def warn_of_codes(source: RowSource, probe: Probe, who: str) -> None:
    """Warn if the flagged rows of `probe` have one value of a column; `who` warns."""
    if source.shape[1] > MOST_COLUMNS:
        return
    few = max(FEWEST_ROWS, MOST_NUMBERS // source.shape[1])
    some = slice(None, None, 1 + len(probe.rows) // (few + 1))
    found = code_of(source.take(probe.rows[some]), probe.flagged[some])
    if found is None:
        return
    warn(
        f"{who}: {found.among_flagged:.0%} of the flagged rows have {found.value:g} in column "
        f"{name_of(source, found.feature)!r}, and {found.among_others:.0%} of the others do. If "
        "this column is a code, such as yes or no, these rows are a group, and not bad. Leave the "
        "column out, or fit the groups separately.",
        RuntimeWarning,
    )


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
