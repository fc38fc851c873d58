"""What features and rows are called that have no names of their own.

Features are called x0, x1, ... everywhere, as scikit-learn calls them. Rows of a file are counted
from 1, by their lines of data, as people count lines; rows of an array from 0, as Python does.
Where rows are shown by number, a label says which: FROM_ONE or FROM_ZERO.
"""

from __future__ import annotations

FROM_ONE, FROM_ZERO = "counted from 1", "counted from 0"


def feature_names(d: int) -> tuple[str, ...]:
    """Names x0, x1, ... of d features.

    Examples
    --------
    >>> feature_names(3)
    ('x0', 'x1', 'x2')
    """
    return tuple(f"x{j}" for j in range(d))
