"""Columns of few values, such as answers yes or no."""

from __future__ import annotations

import numpy as np

from torpca._sources.base import Floats

# A column of codes has at most so many different values, and each so often on average.
MOST_VALUES, REPEATED = 10, 2


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
