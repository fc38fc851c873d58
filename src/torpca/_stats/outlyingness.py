"""How far out each row is along the direction in which it is farthest out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from torpca._robust.tuning import tuning
from torpca._sources.base import Floats
from torpca._stats.lines import EQUAL, describe_lines, rows_for_all

# Good rows are no longer than this, in the unit of the part.
LONGEST = 1e3
# Directions looked at together: so many fit in a processor's cache.
AT_A_TIME = 64


@dataclass(frozen=True)
class Outlyingness:
    """How far out rows are: first by `off`, then by `distance`, (m,) each."""

    off: Floats
    """Number of directions in which more than half of the rows are equal and this row is not.

    Rows that lie exactly on a subspace show in such directions and nowhere else.
    """
    distance: Floats
    """Largest |projection - location| / scale."""
    strict: Floats
    """The same by the scale of the tightest half alone.

    That tells rows which spread both ways from the midst of the others, and takes a heap of half of
    the rows for all of them.
    """

    def joined(self, other: Outlyingness) -> Outlyingness:
        """Over both sets of directions."""
        return Outlyingness(
            self.off + other.off,
            np.maximum(self.distance, other.distance),
            np.maximum(self.strict, other.strict),
        )

    def strictly(self) -> Outlyingness:
        """By the strict distances."""
        return replace(self, distance=self.strict)

    def nearest_half(self, weights: Floats) -> Floats:
        """Weights of the least outlying rows that make up half of the weight, zero elsewhere."""
        order = np.lexsort((self.distance, self.off))
        inside = np.cumsum(weights[order]) <= 0.5 * float(np.sum(weights)) * (1 + 1e-9)
        inside[0] = True
        out = np.zeros(len(weights))
        out[order[inside]] = weights[order[inside]]
        return out


def outlyingness(P: Floats, weights: Floats) -> Outlyingness:
    """Outlyingness of rows from their projections P (m, q) on q directions."""
    found = Outlyingness(*np.zeros((3, len(P))))
    for start in range(0, P.shape[1], AT_A_TIME):
        found = found.joined(_outlyingness(P[:, start : start + AT_A_TIME], weights))
    return found


def _outlyingness(P: Floats, weights: Floats) -> Outlyingness:
    some, counts = rows_for_all(weights, tuning().line_rows)
    lines = describe_lines(P[some], counts)
    away = np.abs(P - lines.location)
    # Rounding goes with a row's own length; those of the good rows are not far from one here.
    size = np.minimum(np.max(np.abs(P), axis=0), LONGEST)
    equal = lines.inner <= EQUAL * size
    off = np.count_nonzero(away[:, equal] > 10 * EQUAL * size[equal], axis=1).astype(np.float64)
    scales = np.maximum(lines.inner, lines.side)[~equal], lines.inner[~equal]
    away = away[:, ~equal]
    return Outlyingness(off, *(np.max(away / scale, axis=1, initial=0.0) for scale in scales))


def pair_projections(
    Z: Floats,
    weights: Floats,
    count: int,
    rng: np.random.Generator,
    products: Floats | None = None,
) -> Floats:
    """Projections (m, at most count) of rows Z (m, p) on directions through random pairs of them.

    The directions need no centre, and where the rows spread there they point. `products` are those
    of the rows with each other, if they are at hand.
    """
    chance = weights / np.sum(weights)
    ends = [rng.choice(len(Z), size=count, p=chance) for _ in range(2)]
    if products is None:
        D = (Z[ends[0]] - Z[ends[1]]).T
        P, squares, least = Z @ D, np.sum(np.square(D), axis=0), np.zeros(count)
    else:
        P = products[:, ends[0]] - products[:, ends[1]]
        squares = P[ends[0], range(count)] - P[ends[1], range(count)]
        # Differences of rows that are nearly equal are lost in the rounding of their products.
        size = np.diag(products)
        least = EQUAL * (size[ends[0]] + size[ends[1]])
    there = squares > least
    if not there.all():
        P, squares = P[:, there], squares[there]
    P /= np.sqrt(squares)
    return P
