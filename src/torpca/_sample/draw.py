"""The sample of rows a fit is started on."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from torpca._sample.span import span_of
from torpca._select.rank import RankRule
from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask
from torpca._stats.copies import capped, merged_copies
from torpca._tuning import tuning

# Rows of more numbers than this many times their number are brought into a basis of their span.
AS_THEY_ARE = 2
# Rows of more coordinates than this share of their number are looked at by their products.
LONG = 0.8
# Digits in which different rows differ.
ROUNDED = 9
# Numbers handled at a time.
AT_A_TIME = 2**20
# Rows longer than this many times the middle one are shortened: their squares must not overflow.
FAR = 2.0**200


@dataclass(frozen=True)
class Sample:
    """Different rows of the sample in a convenient unit and basis, with their multiplicities."""

    Z: Floats
    weights: Floats
    center: bool
    copies: npt.NDArray[np.intp]
    """For each row drawn, its row of Z."""
    rows: npt.NDArray[np.intp]
    """Number of each row drawn, among all rows."""
    n_features: int
    products: Floats | None
    """Z Z', if the rows are long and few."""

    def first(self, count: int) -> Sample:
        """The first rows of Z, in a random order as they are, as a sample of their own."""
        if len(self.Z) <= count:
            return self
        drawn = self.copies < count
        return Sample(
            self.Z[:count],
            self.weights[:count],
            self.center,
            self.copies[drawn],
            self.rows[drawn],
            self.n_features,
            None if self.products is None else self.products[:count, :count],
        )

    def spread_out(self, inside: Floats, n: int) -> Mask:
        """Mask over all n rows of those whose row of Z has at least half of its weight `inside`."""
        mask = np.zeros(n, dtype=bool)
        mask[self.rows[(2 * inside >= self.weights)[self.copies]]] = True
        return mask

    def points_of_half(self) -> int:
        """Number of different rows, the most frequent first, that make up half of the sample."""
        # The rows are in a unit in which most have size one.
        counts = np.sort(merged_copies(np.round(self.Z, ROUNDED), self.weights)[1])[::-1]
        return int(np.searchsorted(np.cumsum(counts), 0.5 * np.sum(counts) * (1 - 1e-12))) + 1


def sample_size(d: int, rank: RankRule, given: int | None) -> int:
    """Number of rows of d numbers to draw, unless it is given or there are fewer."""
    if given is not None:
        return given
    t = tuning()
    count = int(np.clip(t.sample_numbers // d, t.fewest_rows, t.sample_rows))
    return max(count, t.rows_per_direction * (rank.given or 0))


def draw_sample(
    source: RowSource,
    magnitudes: Floats,
    rank: RankRule,
    center: bool,
    weights: Floats,
    n_sample: int | None,
    rng: np.random.Generator,
) -> Sample:
    """Draw rows by weight and bring them into a basis as short as they allow.

    Equal rows become one with their weights added, in an order that depends on their values
    alone: a sample that is all of the data is the same whatever the order of its rows, and
    a row of weight two is the same as that row twice.
    """
    d = source.shape[1]
    there = np.flatnonzero(weights > 0)
    n_sample = sample_size(d, rank, n_sample)
    if n_sample < len(there):
        chance = weights[there] / np.sum(weights[there])
        rows = np.sort(rng.choice(there, size=n_sample, replace=False, p=chance))
        counts = np.ones(n_sample)
    else:
        rows, counts = there, weights[there]
    # In the order of their digests, which depends on the values of the rows alone.
    _, first, copies = np.unique(_digests(source, rows), return_index=True, return_inverse=True)
    copies = copies.reshape(-1)
    merged: Floats = np.bincount(copies, counts, minlength=len(first)).astype(float)
    merged = capped(merged)
    different = rows[first]
    # Any point among the rows will do to centre on: it only keeps digits from cancelling.
    origin = different[_middle(magnitudes[different], merged)] if center else None
    coordinates = _as_they_are if d <= AS_THEY_ARE * len(different) else _in_their_span
    Z = coordinates(source, magnitudes, different, origin)
    Z = _in_unit(Z, merged)
    products = Z @ Z.T if Z.shape[1] > LONG * len(Z) else None
    return Sample(Z, merged, center, copies, rows, d, products)


def _digests(source: RowSource, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    """Return a number for each row, the same for equal rows and, but for chance, for no others.

    Of a million different rows, two have the same number with a chance of one in thirty million.
    """
    step = max(1, AT_A_TIME // source.shape[1])
    found = []
    for i in range(0, len(rows), step):
        block = source.take(rows[i : i + step]) + 0.0  # -0.0 and 0.0 are equal numbers
        found += [blake2b(row.tobytes(), digest_size=16).digest() for row in block]
    return np.frombuffer(b"".join(found), dtype=">u8")[::2].astype(np.uint64)


def _middle(size: Floats, weights: Floats) -> int:
    """Return the place of the middle one of the sizes."""
    order = np.argsort(size, kind="stable")
    mass = np.cumsum(weights[order])
    return int(order[np.searchsorted(mass, 0.5 * mass[-1] * (1 - 1e-12))])


def _as_they_are(
    source: RowSource,
    magnitudes: Floats,
    rows: npt.NDArray[np.intp],
    origin: np.intp | None,
) -> Floats:
    """Rows of the data, less the row `origin`, (m, d)."""
    S = source.take(rows)
    return S if origin is None else S - source.take(np.array([origin]))


def _in_their_span(
    source: RowSource,
    magnitudes: Floats,
    rows: npt.NDArray[np.intp],
    origin: np.intp | None,
) -> Floats:
    """Rows of the data, less the row `origin`, in a basis of their own span, (m, at most m)."""
    return span_of(source, magnitudes, rows, origin).Z


def _in_unit(Z: Floats, weights: Floats) -> Floats:
    """Rows in a unit in which the middle one has size one, the farthest ones shortened."""
    size = np.max(np.abs(Z), axis=1)
    if not size.any():
        return Z
    unit = size[_middle(size, weights)]
    unit = unit if unit > 0 else float(np.min(size[size > 0]))
    # A power of two: changing the unit changes no digit.
    exponent = int(np.frexp(unit)[1])
    Z, size = np.ldexp(Z, -exponent), np.ldexp(size, -exponent)
    far = size > FAR
    if far.any():
        Z[far] *= (FAR / size[far])[:, None]
    return Z
