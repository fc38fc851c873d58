"""Rows that some methods drop and others keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from torpca._compare import Compared

# It says so if it finds all rows good; of others that drop no row, that is how they are made.
OURS = "OutlierRobustPCA"


@dataclass(frozen=True)
class Disputed:
    """Rows on which methods disagree, the most disputed first."""

    places: tuple[int, ...]
    """Numbers, from 0, of the methods that have a say among those compared."""
    rows: npt.NDArray[np.intp] = field(repr=False)
    """Numbers (m,) of the rows, from 0."""
    dropped: npt.NDArray[np.bool_] = field(repr=False)
    """Which of the methods drop them, (m, n_methods)."""


def disputed(table: Sequence[Compared]) -> Disputed:
    """Rows that are neither dropped nor kept by all methods that drop rows at all.

    The nearer the methods are to a tie, the more a row is disputed; of rows that are alike in
    that, those come first that more methods drop.

    Examples
    --------
    >>> import numpy as np
    >>> one = Compared("robpca", 0.1, dropped=np.array([True, True, False, False]))
    >>> other = Compared("fms", 0.1, dropped=np.array([True, False, False, True]))
    >>> none = Compared("PCA", 0.1, dropped=np.zeros(4, dtype=bool))
    >>> found = disputed([one, other, none])
    >>> found.places, found.rows.tolist()
    ((0, 1), [1, 3])
    """
    places = tuple(
        i
        for i, row in enumerate(table)
        if row.dropped is not None and (row.method == OURS or np.any(row.dropped))
    )
    if len(places) < 2:
        n_rows = np.zeros(0, dtype=np.intp)
        return Disputed(places, n_rows, np.zeros((0, len(places)), dtype=bool))
    votes = np.stack([table[i].dropped for i in places], axis=1)
    count = np.count_nonzero(votes, axis=1)
    fewer = np.minimum(count, len(places) - count)
    rows = np.flatnonzero(fewer)
    rows = rows[np.lexsort((rows, -count[rows], -fewer[rows]))]
    return Disputed(places, rows, votes[rows])
