"""How many cells of a table are missing, where, and whether that goes with being flagged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources import RowSource
from torpca._sources.base import Array, Mask, Rows

Counts = npt.NDArray[np.int64]

# Two shares differ when they are so many standard errors apart, and one is so many times the other,
# in groups of at least so many rows: of a million rows every difference is beyond chance.
STANDARD_ERRORS, TIMES, FEWEST = 3.0, 1.5, 5


@dataclass(frozen=True)
class MissingCells:
    """How many cells of a table are missing, and where."""

    of_columns: Counts = field(repr=False)
    """Missing cells of each feature, (d,), in all rows of the table."""
    of_rows: Counts = field(repr=False)
    """Missing cells of each row that is looked at, (n,)."""
    n_dropped: int = 0
    """Rows of the table that are not, because a cell is missing."""

    @property
    def cells(self) -> int:
        """Missing cells of the table."""
        return int(np.sum(self.of_columns))

    @property
    def total(self) -> int:
        """All cells of the table."""
        return (len(self.of_rows) + self.n_dropped) * len(self.of_columns)

    @property
    def share(self) -> float:
        """Missing cells as a share of all."""
        return self.cells / self.total if self.total else 0.0

    @property
    def rows(self) -> int:
        """Rows of the table with a missing cell."""
        return int(np.count_nonzero(self.of_rows)) + self.n_dropped

    @property
    def worst(self) -> npt.NDArray[np.intp]:
        """Numbers of the features in which cells are missing, those with most of them first."""
        order = np.argsort(-self.of_columns, kind="stable")
        return order[self.of_columns[order] > 0]


def none_missing(n: int, d: int) -> MissingCells:
    """Those of a table (n, d) that has all of its cells."""
    return MissingCells(np.zeros(d, dtype=np.int64), np.zeros(n, dtype=np.int64))


def missing_cells(source: RowSource) -> MissingCells:
    """The missing cells of a source: one pass, and another if there are some."""
    if np.all(np.isfinite(source.magnitudes())):
        return none_missing(*source.shape)

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        missing = xp.astype(xp.isnan(block), xp.float64)
        return (xp.sum(missing, axis=1),), (xp.sum(missing, axis=0),)

    (by_row,), (by_feature,) = source.sweep(kernel)
    return MissingCells(by_feature.astype(np.int64), by_row.astype(np.int64))


@dataclass(frozen=True)
class Together:
    """Shares of the cells that are missing in two groups of rows, and how far they are apart."""

    flagged: float
    others: float
    z: float
    """Their difference in standard errors."""
    fewest: int
    """Rows of the smaller group."""

    @property
    def large(self) -> bool:
        """Whether they differ by more than chance, and by enough to matter."""
        low, high = sorted((self.flagged, self.others))
        return self.fewest >= FEWEST and abs(self.z) > STANDARD_ERRORS and high > TIMES * low


def together(of_rows: Counts, d: int, flagged: Mask, judged: Mask) -> Together | None:
    """Whether cells of flagged rows are missing more often; None if there is nothing to compare.

    A test of two proportions in which a row is one observation, the share of its cells that is
    missing: z = (p1 - p0) / sqrt(s^2 (1/n1 + 1/n0)), where s^2 is the variance of these shares
    over all rows. Were the cells of a row missing independently of each other, s^2 would be
    p (1 - p) / d, and this the usual test on cells; but often they are missing together, and each
    cell would count as evidence of its own.
    """
    first, second = of_rows[judged & flagged] / d, of_rows[judged & ~flagged] / d
    if not len(first) or not len(second) or not (np.any(first) or np.any(second)):
        return None
    variance = float(np.var(np.concatenate([first, second]), ddof=1))
    error = np.sqrt(variance * (1 / len(first) + 1 / len(second)))
    p1, p0 = float(np.mean(first)), float(np.mean(second))
    z = (p1 - p0) / error if error > 0 else 0.0
    return Together(p1, p0, float(z), min(len(first), len(second)))
