"""Directions of rows, the space they span, and the top of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torpca._core.gram import top_of_gram
from torpca._core.subspace import EPS64
from torpca._sources.base import Floats
from torpca.rivals._location import about_median


@dataclass(frozen=True)
class Spanned:
    """Rows about a centre, those of zeros left out, in coordinates of the space they span."""

    Y: Floats
    """Coordinates (n, m)."""
    length: Floats
    """Lengths of the rows about the centre, (n,), also where those of Y are one."""
    Q: Floats
    """Orthonormal basis (d, m) of the space."""
    mean: Floats | None
    """Centre (d,) of the rows; None if it is zero."""


def rows_in_span(X: Floats, center: bool, spherise: bool = True) -> Spanned:
    """Rows of X (n, d), about their spatial median if `center` and of length one if `spherise`.

    Methods that weigh rows work in the span: it has no more than n dimensions.
    """
    C, mean = about_median(X, center)
    U, length = unit_rows(C, mean)
    Q = row_space(U)
    there = length > 0
    return Spanned(((U if spherise else C) @ Q)[there], length[there], Q, mean)


def row_lengths(X: Floats) -> Floats:
    """Euclidean length of each row of X (n, d), (n,)."""
    length: Floats = np.linalg.norm(X, axis=1)
    return length


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
    length[length <= (0.0 if mean is None else 4.0 * EPS64 * np.linalg.norm(mean))] = 0.0
    U[length == 0] = 0.0
    return U / np.where(ratio > 0, ratio, 1.0)[:, None], length


def row_space(X: Floats) -> Floats:
    """Orthonormal basis (d, m) of the space that the rows of X (n, d) span, longest first.

    What is rounding beside the longest is left out. So give rows of length one where short rows
    count as much as long ones for what is spanned.
    """
    s, V = right_svd(X)
    return V[:, s > max(X.shape) * EPS64 * np.max(s, initial=0.0)]


def number_of_directions(X: Floats, rank: int) -> int:
    """`rank`, or less where the rows of X (n, d) have no more directions."""
    return min(rank, row_space(unit_rows(X)[0]).shape[1])


def top_directions(A: Floats, rank: int) -> Floats:
    """Top right singular vectors (m, k) of A (n, m), k = min(n, m, rank)."""
    return right_svd(A)[1][:, :rank]


def leading(G: Floats, rank: int) -> Floats:
    """Top eigenvectors (d, k) of a Gram matrix G (d, d), as many as `rank`, or as it has."""
    V, s = top_of_gram(G, rank)
    return V[:, s * s > len(G) * EPS64 * s[0] ** 2]


def residuals(Y: Floats, V: Floats) -> tuple[Floats, Floats, Floats]:
    """Coordinates YV (n, k), what they leave of the rows (n, m), and its lengths (n,)."""
    C = Y @ V
    # Never by Pythagoras: of a row in the subspace nothing but rounding would be left.
    R = Y - C @ V.T
    return C, R, row_lengths(R)


def right_svd(A: Floats) -> tuple[Floats, Floats]:
    """Singular values and right singular vectors of A, through its triangular factor if tall.

    As accurate as from A, and left vectors are not computed. A'A would square what differs in size.
    """
    R = np.linalg.qr(A, mode="r") if A.shape[0] > A.shape[1] else A
    _, s, Vt = np.linalg.svd(R, full_matrices=False)
    return s, Vt.T
