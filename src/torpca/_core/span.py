"""Few, long rows: all that matters of them is in their products with each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import lstsq
from scipy.linalg.lapack import dpstrf

from torpca._core.frame import Frame, frame_of_size
from torpca._sources import RowSource
from torpca._sources.base import Floats

# Coordinates in a span come from products of the rows: they have half of the digits.
SPAN_EPS = 1e-9
# Products of rows of unit length that add less than this lie in the span of the others.
SPANNED = 1e-13


@dataclass(frozen=True)
class Span:
    """Where rows in a basis of their own span come from: row j is row `first[j]` of a table."""

    frame: Frame
    origin: Floats | None
    first: npt.NDArray[np.intp]

    def in_features(self, Z: Floats, directions: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Orthonormal directions (p, q) of the span as those of features, (d, q), and a mean (d,).

        Z (m, p) are the rows in the span, in any unit, and `weights` (m,) those of the mean. A
        basis E (d, p) of the span has Z = (X - origin) E, so E = (X - origin)' Z (Z'Z)^-1.
        """
        rows = self.frame.about(self.origin)
        Y = np.zeros((rows.shape[0], directions.shape[1] + 1))
        Y[self.first, -1] = weights / np.sum(weights)
        if directions.shape[1]:
            # By a pivoted QR decomposition: five times as fast as by singular values.
            Y[self.first, :-1] = lstsq(
                Z.T, directions, cond=1e-12, lapack_driver="gelsy", check_finite=False
            )[0]
        there = np.zeros(rows.shape[0], dtype=bool)
        there[self.first] = True
        B = rows.rmatmul(there, Y)
        mean = np.zeros(len(B)) if self.origin is None else self.origin + B[:, -1] * self.frame.unit
        Q, upper = np.linalg.qr(B[:, :-1])
        return Q * np.sign(np.diag(upper)), mean


def span_of(
    source: RowSource,
    magnitudes: Floats,
    rows: npt.NDArray[np.intp],
    origin: Floats | None,
) -> tuple[Floats, Frame]:
    """Coordinates (m, p) of the numbered rows, less `origin` (d,), in a basis of their own span.

    Also the frame that says in which unit they are. From their products with each other: few, long
    rows are never held all at once. A pivoted Cholesky decomposition of the products treats each
    row by itself, so that rows far out do not drown the digits of the others; it is good to the
    root of a unit of rounding.
    """
    keep = np.zeros(source.shape[0], dtype=bool)
    keep[rows] = True
    frame = frame_of_size(source, magnitudes, float(np.median(magnitudes[rows])))
    place = np.argsort(np.argsort(rows))
    G = frame.about(origin).row_gram(keep)[np.ix_(place, place)]
    size = np.sqrt(np.diag(G))
    safe = np.where(size > 0, size, 1.0)
    L, pivots, rank, _ = dpstrf(G / np.outer(safe, safe), tol=SPANNED, lower=1)
    Z = np.zeros((len(rows), max(rank, 1)))
    Z[pivots - 1, :rank] = np.tril(L)[:, :rank]
    return Z * size[:, None], frame
