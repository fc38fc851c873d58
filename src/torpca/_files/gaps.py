"""Values that are missing or infinite: how many, and where."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torpca._files.errors import TableError, shown
from torpca._files.stored import Numbers
from torpca._names import FROM_ONE
from torpca._sources.base import Mask
from torpca._words import NAMED, counted, first_of, whole


class Gaps:
    """Counts of missing and infinite values of a table that is seen piece by piece."""

    def __init__(self, n: int, d: int) -> None:
        self.of_rows = np.zeros(n, dtype=np.int32)  # missing values of each row, ...
        self.of_columns = np.zeros(d, dtype=np.int64)  # ... and of each column
        self.infinite_rows = np.zeros(n, dtype=bool)
        self.infinite = np.zeros(d, dtype=np.int64)

    def add(self, start: int, block: Numbers) -> None:
        """Look at the rows `block`, the first of which is row `start`."""
        if block.dtype.kind != "f":
            return  # an integer is always there, and finite
        finite = np.isfinite(block)
        if finite.all():
            return
        missing = np.isnan(block)
        infinite = ~(finite | missing)
        rows = slice(start, start + len(block))
        self.of_rows[rows] = np.count_nonzero(missing, axis=1)
        self.of_columns += np.count_nonzero(missing, axis=0)
        self.infinite_rows[rows] = infinite.any(axis=1)
        self.infinite += np.count_nonzero(infinite, axis=0)

    @property
    def empty_columns(self) -> Mask:
        """Columns (d,) in which every value is missing."""
        empty: Mask = self.of_columns == len(self.of_rows)
        return empty

    @property
    def incomplete_rows(self) -> Mask:
        """Rows (n,) in which a value is missing, of a column that has some."""
        incomplete: Mask = self.of_rows > np.count_nonzero(self.empty_columns)
        return incomplete

    def check(self, title: str, names: tuple[str, ...], missing: str) -> None:
        """Raise an error if a value is infinite, or missing and that is not allowed."""
        if self.infinite_rows.any():
            raise TableError(
                f"{title} has {counted(int(self.infinite.sum()), 'infinite value')}, "
                f"{self._where(names, self.infinite, self.infinite_rows)}. Correct them, or say "
                "with --na-values inf,-inf (na_values=...) that they mean missing."
            )
        incomplete = self.incomplete_rows
        if missing == "model" or not incomplete.any():
            return
        counts = np.where(self.empty_columns, 0, self.of_columns)
        where = self._where(names, counts, incomplete)
        total = counted(int(counts.sum()), "missing value")
        if missing == "error":
            raise TableError(
                f"{title} has {total}, {where}. Judge rows by the cells they have with --missing "
                "model (missing='model'), leave those rows out with --missing drop-rows "
                "(missing='drop-rows'), or columns with --exclude (exclude=...)."
            )
        if incomplete.all():
            raise TableError(
                f"{title} has {total}, {where}: no row is complete, so none would be left. Judge "
                "rows by the cells they have with --missing model (missing='model'), or leave "
                "columns with many missing values out with --exclude (exclude=...)."
            )

    def most_often_missing(self, names: tuple[str, ...]) -> str:
        """The columns in which most values are missing, in words."""
        counts = np.where(self.empty_columns, 0, self.of_columns)
        order = np.argsort(-counts, kind="stable")
        worst = order[2 * counts[order] > np.max(counts)]
        return first_of(f"{shown(names[j])} ({whole(counts[j])})" for j in worst)

    def _where(self, names: tuple[str, ...], counts: npt.NDArray[np.int64], rows: Mask) -> str:
        """``in 2 columns ('a': 3, 'b': 1) and 2 rows (2 and 5, counted from 1)``."""
        columns = np.argsort(-counts, kind="stable")
        columns = columns[counts[columns] > 0]
        worst = first_of(
            (f"{shown(names[j])}: {whole(counts[j])}" for j in columns[:NAMED]), len(columns)
        )
        n = int(np.count_nonzero(rows))
        first = first_of(np.flatnonzero(rows)[:NAMED] + 1, n)
        which = f"{counted(n, 'row')} ({first}, {FROM_ONE})"
        return f"in {counted(len(columns), 'column')} ({worst}) and {which}"
