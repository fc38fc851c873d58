"""Few, long rows: all that matters of them is in their products with each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpstrf

from torpca._core.frame import Frame, frame_of_size
from torpca._sources import RowSource
from torpca._sources.base import Floats

# Products of rows of unit length that add less than this lie in the span of the others.
SPANNED = 1e-13


@dataclass(frozen=True)
class Span:
    """Rows in a basis of their own span."""

    Z: Floats
    """Coordinates (m, p) of the rows less the origin, in the unit of the frame."""
    frame: Frame
    origin: Floats | None


def span_of(
    source: RowSource,
    magnitudes: Floats,
    rows: npt.NDArray[np.intp],
    origin: np.intp | None,
) -> Span:
    """Coordinates of the numbered rows, less the row `origin`, in a basis of their own span.

    From their products with each other: few, long rows are never held all at once. A pivoted
    Cholesky decomposition of the products treats each row by itself, so that rows far out do not
    drown the digits of the others; it is good to the root of a unit of rounding.
    """
    keep = np.zeros(source.shape[0], dtype=bool)
    keep[rows] = True
    frame = frame_of_size(source, magnitudes, float(np.median(magnitudes[rows])))
    place = np.argsort(np.argsort(rows))
    point = None if origin is None else source.take(np.array([origin]))[0]
    G = frame.about(point).row_gram(keep)[np.ix_(place, place)]
    size = np.sqrt(np.diag(G))
    safe = np.where(size > 0, size, 1.0)
    L, pivots, rank, _ = dpstrf(G / np.outer(safe, safe), tol=SPANNED, lower=1)
    Z = np.zeros((len(rows), max(rank, 1)))
    Z[pivots - 1, :rank] = np.tril(L)[:, :rank]
    return Span(Z * size[:, None], frame, point)
