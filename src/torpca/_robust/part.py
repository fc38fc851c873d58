"""The rows held in memory: all of a table, or some that stand for a large one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
from scipy.linalg import lstsq

from torpca._robust.span import Span, span_of
from torpca._sources import RowSource
from torpca._sources.base import Floats
from torpca._stats.copies import capped, merged_copies

Places = npt.NDArray[np.intp]

# Rows of more numbers than this many times their number are brought into a basis of their span.
AS_THEY_ARE = 2
# Digits in which different rows differ, and those of the quantities by which rows are put in order.
ROUNDED = 9
# ... of which there are no more than so many.
MOST_KEYS = 3
# Numbers handled at a time.
AT_A_TIME = 2**20
# Rows longer than this many times the middle one are shortened: their squares must not overflow.
FAR = 2.0**200


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
    """The basis of the rows' span in which Z is; None: Z is in the features."""

    @property
    def total(self) -> float:
        """Weight of the rows in votes."""
        return float(np.sum(self.votes))

    def some(self, count: int) -> Part:
        """The first rows, which are in a random order, as a part of their own."""
        if len(self.Z) <= count:
            return self
        copies = np.where(self.copies < count, self.copies, -1)
        return replace(
            self,
            Z=self.Z[:count],
            counts=self.counts[:count],
            votes=self.votes[:count],
            first=self.first[:count],
            copies=copies,
        )

    def in_features(self, source: RowSource) -> Part:
        """The same rows as they are in `source`, and not in their span."""
        Z = source.take(self.first)
        Z = (Z if self.origin is None else Z - self.origin) / self.unit
        return replace(self, Z=Z, span=None)

    def of_table(self, values: Floats) -> Floats:
        """Numbers (m,) of the different rows as those of the table's rows, zero without weight."""
        out: Floats = np.where(self.copies >= 0, values[self.copies], 0.0)
        return out

    def points_of_half(self) -> int:
        """Number of different rows, the most frequent first, that make up half of them all."""
        counts = np.sort(merged_copies(np.round(self.Z, ROUNDED), self.votes)[1])[::-1]
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
    those of `source.magnitudes()`; long rows go into their span unless `in_span` says no.
    """
    there = np.flatnonzero(weights > 0)
    _, first, merged_in = np.unique(
        _digests(source, magnitudes, there), return_index=True, return_inverse=True
    )
    merged = np.bincount(merged_in.reshape(-1), weights[there], len(first)).astype(float)
    different, d = there[first], source.shape[1]
    # Any point among the rows will do to centre on: it only keeps digits from cancelling.
    middle = different[_middle(magnitudes[different], merged)] if center else None
    origin = None if middle is None else source.take(np.array([middle]))[0]
    span = None
    if in_span is None:
        in_span = d > AS_THEY_ARE * len(different)
    if in_span:
        span = span_of(source, magnitudes, different, middle)
        Z = span.Z
    else:
        Z = source.take(different)
        Z = Z if origin is None else Z - origin
    Z, unit = _in_unit(Z, merged)
    unit = unit if span is None else unit * span.frame.unit
    order = _order(Z, merged)[rng.permutation(len(Z))]
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
        unit=unit,
        origin=origin,
        span=span,
    )


def _order(Z: Floats, counts: Floats) -> npt.NDArray[np.intp]:
    """An order of the rows (m, p) that only depends on how they lie to each other.

    That of c'c, and where rows tie of c'SSc and so on, where c are the rows less their mean and S
    is their covariance: no shift, rotation or unit changes them.
    """
    w = counts / np.sum(counts)
    C = Z - w @ Z
    S: Floats | None = None
    keys: list[Floats] = []
    for _ in range(MOST_KEYS):
        values = np.einsum("ij,ij->i", C, C)
        unit = float(np.median(values))
        keys.append(np.round(values / unit, ROUNDED) if 0 < unit < np.inf else values)
        if len(np.unique(keys[-1])) == len(Z):
            break
        S = (C * w[:, None]).T @ C if S is None else S
        C = C @ S / max(float(np.trace(S)), 1e-300)
    return np.lexsort(keys[::-1])


def _digests(source: RowSource, magnitudes: Floats, rows: Places) -> npt.NDArray[np.uint64]:
    """Return a number for each row, the same for equal rows and, but for chance, for no others.

    Of a million different rows, two have the same number with a chance of one in thirty million.
    """
    # Rows that differ in their largest entry differ: only the others are looked at.
    sizes, which, counts = np.unique(magnitudes[rows], return_inverse=True, return_counts=True)
    out = sizes.view(np.uint64)[which.reshape(-1)]
    alike = np.flatnonzero(counts[which.reshape(-1)] > 1)
    step = max(1, AT_A_TIME // source.shape[1])
    for i in range(0, len(alike), step):
        some = alike[i : i + step]
        block = source.take(rows[some]) + 0.0  # -0.0 and 0.0 are equal numbers
        digests = b"".join(blake2b(row.tobytes(), digest_size=8).digest() for row in block)
        out[some] = np.frombuffer(digests, dtype=">u8")
    return out


def _middle(size: Floats, weights: Floats) -> int:
    """Return the place of the middle one of the sizes."""
    order = np.argsort(size, kind="stable")
    mass = np.cumsum(weights[order])
    return int(order[np.searchsorted(mass, 0.5 * mass[-1] * (1 - 1e-12))])


def _in_unit(Z: Floats, weights: Floats) -> tuple[Floats, float]:
    """Rows in a unit in which the middle one has size one, the farthest ones shortened."""
    size = np.max(np.abs(Z), axis=1)
    if not size.any():
        return Z, 1.0
    unit = size[_middle(size, weights)]
    unit = unit if unit > 0 else float(np.min(size[size > 0]))
    # A power of two: changing the unit changes no digit.
    exponent = int(np.frexp(unit)[1])
    Z, size = np.ldexp(Z, -exponent), np.ldexp(size, -exponent)
    far = size > FAR
    if far.any():
        Z[far] *= (FAR / size[far])[:, None]
    return Z, float(np.ldexp(1.0, exponent))


def from_span(part: Part, rows: Floats, directions: Floats) -> Floats:
    """Orthonormal directions (p, q) of the span of the part as those of features, (d, q).

    `rows` (d, m) are its rows less their origin, as columns, in any unit. A basis E (d, p) of the
    span has Z = (X - origin) E, so E = (X - origin)' Z (Z'Z)^-1.
    """
    if directions.shape[1] == 0:
        return np.zeros((len(rows), 0))
    # By a pivoted QR decomposition: five times as fast as by singular values.
    solved = lstsq(part.Z.T, directions, cond=1e-12, lapack_driver="gelsy", check_finite=False)[0]
    Q, upper = np.linalg.qr(rows @ solved)
    turned: Floats = Q * np.sign(np.diag(upper))
    return turned
