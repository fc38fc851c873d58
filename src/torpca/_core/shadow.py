"""What is kept of every row between iterations, and the bounds on scores that follow from it.

Rows are multiplied once with a few directions W. As long as the subspace V stays near span(W) the
coordinates W'x bound both scores of every row. With x = W y + z and V = W A + P,

    V'x = A'y + P'z,    |P'z| <= |P| |z|,    ||x - VV'x||^2 = ||x||^2 - ||V'x||^2,

where ||z||^2 = ||x||^2 - ||y||^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torpca._core.subspace import EPS64, Fit, norm
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Rows, place
from torpca._sources.tall import tall_matmul

# Units of rounding, at most, in a coordinate of a row of length one (seen: up to 4).
ULPS = 64.0
# Rows whose bounds are worked out at a time: they stay in a cache.
AT_A_TIME = 2**14


@dataclass(frozen=True)
class Shadow:
    """What is kept of every row: its coordinates in a few directions, and its length."""

    origin: Floats
    W: Floats
    """Orthonormal directions (d, m)."""
    Y: Floats
    """Coordinates W'(x - origin), (n, m)."""
    squares: Floats
    """||x - origin||^2, (n,)."""
    beside2: Floats
    """No less than the squared length of what W does not show, (n,)."""
    typical: float
    """Length of that, in the median."""
    o2: float
    """||origin||^2, whose rounding is in all of these."""

    def sine(self, fit: Fit) -> float:
        """Sine of the largest angle between the fit and W."""
        return float(np.linalg.norm(fit.V - self.W @ (self.W.T @ fit.V), 2))


def cast_shadow(source: RowSource, origin: Floats, W: Floats, squares: Floats) -> Shadow:
    """Pass over the rows once, for their coordinates along W; `squares` (n,) are their lengths."""
    m, o2 = W.shape[1], float(origin @ origin)

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        return (tall_matmul(xp, block, W),), ()

    def centered(xp: Any, rows: Rows, block: Array) -> Any:
        P = tall_matmul(xp, block, np.column_stack([W, origin]))
        return (P[:, :m] - place(xp, origin @ W, P), o2 - 2 * P[:, m]), ()

    if origin.any():
        (Y, about), _ = source.sweep(centered, native=np.float64)
        about += squares
    else:
        (Y,), _ = source.sweep(kernel, native=np.float64)
        about = squares
    beside2 = about - np.einsum("ij,ij->i", Y, Y)
    np.maximum(beside2, 0.0, out=beside2)
    typical = float(np.sqrt(np.median(beside2)))
    beside2 += ULPS * EPS64 * 2 * o2
    beside2 += ULPS * EPS64 * about
    return Shadow(origin, W, Y, about, beside2, typical, 2 * o2)


def square_bounds(shadow: Shadow, fit: Fit, n_kept: float, out: Floats | None) -> Floats:
    """Least and largest squared incoherence, least and largest squared residual, (4, n).

    A product 2 x y of two numbers of a row is at most t x^2 + y^2/t for any t, which spares
    roots; the t below are right for a row like the kept ones. `out` is written to, if given.
    """
    W, V, s = shadow.W, fit.V, fit.s
    n, k = len(shadow.Y), len(s)
    out = np.empty((4, n)) if out is None else out
    A = W.T @ V
    P = V - W @ A
    sine, scaled_sine = float(np.linalg.norm(P, 2)), float(np.linalg.norm(P / s, 2))
    # The mean moves too: by `move`, of which W shows W a.
    move = (0.0 if fit.mean is None else fit.mean) - shadow.origin
    a, shift, move2 = W.T @ move, V.T @ move, float(move @ move)
    move_beside = float(np.linalg.norm(move - W @ a))
    # What a row like the others is: its part c in the subspace, z beside W, and rounding.
    c, unit = norm(s) / np.sqrt(n_kept), ULPS * EPS64
    z = max(shadow.typical, unit * c)
    wrong = scaled_sine * z + unit * (c + z) / s[-1]
    e = float(wrong / np.sqrt(k / n_kept))
    # |R^2 - what the shadow says| <= 2 |Pc| z + |P|^2 z^2 + 2 |move beside W| z
    R_c2, R_z2, R_1 = sine * z / c, sine * c / z + sine**2 + move_beside / z, move_beside * z
    # |E - what the shadow says| <= |P/s| z + rounding / s_k
    E_z2, E_error = 2 * (1 + 1 / e) * scaled_sine**2, 2 * (1 + 1 / e) * unit / s[-1] ** 2
    # A residual below its rounding ties at zero when it is looked at.
    F_R, F_E, F_1 = (3 * weight**2 for weight in fit.rounding_weights)
    weights = np.stack([np.ones(k), 1 / s**2])
    C, spare = np.empty((k, AT_A_TIME)), np.empty((4, AT_A_TIME))
    for i in range(0, n, AT_A_TIME):
        part = slice(i, min(i + AT_A_TIME, n))
        width = part.stop - i
        Y, z2, squares = shadow.Y[part].T, shadow.beside2[part], shadow.squares[part]
        low_E, high_E, low_R, high_R = out[:, part]
        error, unknown = spare[:2, :width]
        np.add(squares, shadow.o2 + move2, out=error)
        error *= unit
        Z = np.matmul(A.T, Y, out=C[:, :width])
        Z -= shift[:, None]
        np.square(Z, out=Z)
        c2, E2 = np.matmul(weights, Z, out=spare[2:, :width])
        np.multiply(z2, R_z2, out=unknown)
        unknown += R_1
        unknown += np.multiply(error, 8, out=low_R)
        unknown += np.multiply(c2, R_c2, out=low_R)
        np.subtract(squares, c2, out=c2)
        if move2 > 0:
            c2 += move2 - 2 * (a @ Y)
        np.subtract(c2, unknown, out=low_R)
        np.add(c2, unknown, out=high_R)
        np.multiply(z2, E_z2, out=unknown)
        error *= E_error
        unknown += error
        unknown += np.multiply(E2, e, out=low_E)
        np.subtract(E2, unknown, out=low_E)
        np.add(E2, unknown, out=high_E)
        low_R -= np.multiply(high_R, F_R, out=unknown)
        low_R -= np.multiply(high_E, F_E, out=unknown)
        low_R -= F_1
    return out


def orthonormal(B: Floats) -> Floats:
    """Orthonormal basis of the columns of B, those that earlier ones explain left out."""
    basis = np.zeros((len(B), 0))
    for b in B.T:
        for _ in range(2):  # twice is enough
            b = b - basis @ (basis.T @ b)
        size = float(np.linalg.norm(b))
        if size > 1e-8:
            basis = np.column_stack([basis, b / size])
    return basis
