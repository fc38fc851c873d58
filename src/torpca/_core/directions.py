"""Principal directions and variances of rows held in memory."""

from __future__ import annotations

import numpy as np
from scipy.linalg import svd

from torpca._core.gram import near_top, top_of_gram
from torpca._core.subspace import RESOLVED
from torpca._sources.base import Floats

# Variances below this share of the largest are rounding.
ROUNDING = 1e-13


def top_directions(B: Floats, rank: int, *, sharp: bool = False) -> tuple[Floats, Floats]:
    """Top right singular vectors of B (m, p) and the squares of its singular values.

    Through products with B'B, which are quick; directions too small beside the first for these to
    tell come from B itself. Those that are not to be `sharp` are good to a few digits.
    """
    p = B.shape[1]
    found = None
    if rank and not sharp:
        found = near_top(lambda V: B.T @ (B @ V), p, rank, float(np.vdot(B, B)))
    if found is not None:
        V, s = found
    elif p <= len(B):
        V, s = top_of_gram(B.T @ B, rank)
    else:
        U, s = top_of_gram(B @ B.T, rank)
        V = np.linalg.qr(B.T @ (U / np.where(s > 0, s, 1.0)))[0]
    if len(s) and s[-1] <= RESOLVED * s[0]:
        _, s, Vt = svd(B, full_matrices=False, check_finite=False)
        V, s = Vt[:rank].T, s[:rank]
    there = s**2 > ROUNDING * s[0] ** 2 if len(s) else np.zeros(0, dtype=bool)
    return V[:, there], s[there] ** 2


def principal_variances(B: Floats) -> Floats:
    """All eigenvalues of B'B, largest first, without those that are zero for their number."""
    G = B.T @ B if B.shape[1] <= B.shape[0] else B @ B.T
    found: Floats = np.maximum(np.linalg.eigvalsh(G)[::-1], 0.0)
    return found
