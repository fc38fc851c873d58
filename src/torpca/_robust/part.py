"""The rows held in memory: all of a table, or some that stand for a large one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from torpca._core.order import DIGITS, in_unit, invariant_order, middle
from torpca._core.span import Span, span_of
from torpca._robust.draw import capped, merged_copies
from torpca._robust.tuning import tuning
from torpca._sources import RowSource
from torpca._sources.base import Floats
from torpca._sources.digests import row_digests

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """Different rows of a table, in a convenient unit and basis: Z = (X - origin) E / unit."""

    Z: Floats
    """The rows (m, p) less one of them, in a unit in which the middle one has size one."""
    counts: Floats
    """How often each of them counts in sums, (m,), ..."""
    votes: Floats
    """... and in medians and quantiles: copies of a row have no more votes than a few rows. One on
    average: a table in which every row is there twice is no more certain of anything."""
    each: float
    """Weight in the table of a row that counts once."""
    center: bool
    first: Places
    """Number in the table of the first of the equal rows behind each row of Z, (m,)."""
    copies: Places
    """Row of Z of each row of the table; -1 for rows of no weight."""
    unit: float
    origin: Floats | None
    """The row (d,) that was taken off; None: rows are not centred."""
    span: Span | None
    """Where Z comes from if it is in a basis of the rows' span; None: Z is in the features."""

    @property
    def total(self) -> float:
        """Weight of the rows in votes."""
        return float(np.sum(self.votes))

    def some(self, count: int) -> Part:
        """The first rows, which are in a random order, as a part of their own."""
        copies = np.where(self.copies < count, self.copies, -1)
        Z, counts, votes = (x[:count] for x in (self.Z, self.counts, self.votes))
        first = self.first[:count]
        return replace(self, Z=Z, counts=counts, votes=votes, first=first, copies=copies)

    def with_features(self, source: RowSource) -> Part:
        """The same rows as they are in `source`, and not in their span."""
        Z = source.take(self.first)
        Z = (Z if self.origin is None else Z - self.origin) / self.unit
        return replace(self, Z=Z, span=None)

    def in_features(
        self, mean: Floats, directions: Floats, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Directions (p, q) as those of features, (d, q), and the mean (d,) in the table's unit.

        `weights` (m,) are those of the rows of which `mean` (p,) is the mean.
        """
        if self.span is not None:
            return self.span.in_features(self.Z, directions, weights)
        return directions, self.unit * mean + (0.0 if self.origin is None else self.origin)

    def of_table(self, values: Floats) -> Floats:
        """Numbers (m,) of the different rows as those of the table's rows, zero without weight."""
        out: Floats = np.where(self.copies >= 0, values[self.copies], 0.0)
        return out

    def points_of_half(self) -> int:
        """Number of different rows, the most frequent first, that make up half of them all."""
        counts = np.sort(merged_copies(np.round(self.Z, DIGITS), self.votes)[1])[::-1]
        return int(np.searchsorted(np.cumsum(counts), 0.5 * np.sum(counts) * (1 - 1e-12))) + 1


def draw_part(
    source: RowSource,
    magnitudes: Floats,
    weights: Floats,
    rng: np.random.Generator,
    *,
    center: bool,
    in_span: bool | None = None,
) -> Part:
    """All rows of positive weight; equal rows become one.

    Their order is random, but the same for the same table: it depends on how far rows are from
    their mean, which no permutation, shift, rotation or unit changes. `magnitudes` (n_rows,) are
    those of `source.magnitudes()`. Rows of more than twice as many numbers as there are rows go
    into their span, unless `in_span` says no.
    """
    there = np.flatnonzero(weights > 0)
    digests = row_digests(source, magnitudes, there)
    _, first, merged_in = np.unique(digests, return_index=True, return_inverse=True)
    merged = np.bincount(merged_in.reshape(-1), weights[there], len(first)).astype(float)
    different = there[first]
    # Any point among the rows will do to centre on: it only keeps digits from cancelling.
    origin = None
    if center:
        nearest = different[middle(magnitudes[different], merged)]
        origin = source.take(np.array([nearest]))[0]
    frame = None
    if source.shape[1] > 2 * len(different) if in_span is None else in_span:
        Z, frame = span_of(source, magnitudes, different, origin)
    else:
        Z = source.take(different)
        Z = Z if origin is None else Z - origin
    Z, unit = in_unit(Z, merged)
    order = invariant_order(Z, merged)[rng.permutation(len(Z))]
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    copies = np.full(len(weights), -1)
    copies[there] = place[merged_in.reshape(-1)]
    votes = capped(merged[order])
    each = float(np.mean(votes))
    return Part(
        Z=Z[order],
        counts=merged[order] / each,
        votes=votes / each,
        each=each,
        center=center,
        first=different[order],
        copies=copies,
        unit=unit if frame is None else unit * frame.unit,
        origin=origin,
        span=None if frame is None else Span(frame, origin, different[order]),
    )


def part_size(d: int, rank: int | None) -> int:
    """Number of rows of d features to hold in memory of a large table."""
    t = tuning()
    fewest, most = t.part_rows
    return max(min(max(t.part_numbers // d, fewest), most), t.rows_per_dimension * (rank or 0))
