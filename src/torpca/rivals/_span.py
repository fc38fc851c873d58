"""Directions of rows, the space they span, and the top of it."""

from __future__ import annotations

import numpy as np

from torpca._sources.base import Floats

EPS = float(np.finfo(np.float64).eps)


def unit_rows(X: Floats, mean: Floats | None = None) -> tuple[Floats, Floats]:
    """Rows of X (n, d) scaled to length one, (n, d), and their lengths, (n,).

    A row of zeros stays one, and so does a row which is no more than what rounding left of it when
    `mean` (d,) was taken off.
    """
    # Twice, as the squares of tiny entries are zero.
    size = np.max(np.abs(X), axis=1, initial=0.0)
    U = X / np.where(size > 0, size, 1.0)[:, None]
    ratio = np.linalg.norm(U, axis=1)
    length = size * ratio
    length[length <= (0.0 if mean is None else 4.0 * EPS * np.linalg.norm(mean))] = 0.0
    U[length == 0] = 0.0
    return U / np.where(ratio > 0, ratio, 1.0)[:, None], length


def row_space(U: Floats) -> Floats:
    """Orthonormal basis (d, m) of the space that unit rows U (n, d) span.

    Methods that weigh rows work on their coordinates U @ basis: there are no more than n of them.
    Rows of length one, because short rows count as much as long ones for what is spanned.
    """
    s, V = right_svd(U)
    return V[:, s > max(U.shape) * EPS * np.max(s, initial=0.0)]


def top_directions(A: Floats, rank: int) -> Floats:
    """Top right singular vectors (m, k) of A (n, m), k = min(n, m, rank)."""
    return right_svd(A)[1][:, :rank]


def residuals(Y: Floats, V: Floats) -> tuple[Floats, Floats, Floats]:
    """Coordinates YV (n, k), what they leave of the rows (n, m), and its lengths (n,)."""
    C = Y @ V
    # Never by Pythagoras: of a row in the subspace nothing but rounding would be left.
    R = Y - C @ V.T
    return C, R, np.linalg.norm(R, axis=1)


def right_svd(A: Floats) -> tuple[Floats, Floats]:
    """Singular values and right singular vectors of A, through its triangular factor if tall.

    As accurate as from A, and left vectors are not computed. A'A would square what differs in size.
    """
    R = np.linalg.qr(A, mode="r") if A.shape[0] > A.shape[1] else A
    _, s, Vt = np.linalg.svd(R, full_matrices=False)
    return s, Vt.T
