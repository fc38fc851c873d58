"""Equal rows as one row."""

from __future__ import annotations

import numpy as np

from torpca._robust.tuning import tuning
from torpca._sources.base import Floats


def merged_copies(Y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Different rows of Y (m, k), in lexicographic order, and the sum of the weights of each."""
    if Y.shape[1]:
        order = np.argsort(Y[:, 0], kind="stable")
        first = Y[order, 0]
        # Rows that differ in their first number need no further look, and most data are such.
        if np.all(first[1:] > first[:-1]):
            return Y[order], weights[order]
    S, copies = np.unique(Y, axis=0, return_inverse=True)
    return S, np.bincount(copies.reshape(-1), weights, minlength=len(S)).astype(float)


def capped(counts: Floats) -> Floats:
    """Counts of different rows, (m,), none of them many times the middle one.

    A heap of copies lies near any subspace that passes through it. It may, but has no vote, unless
    heaps are most of the rows.
    """
    most = tuning().most_copies * float(np.median(counts))
    if 2 * float(np.sum(counts[counts > most])) >= float(np.sum(counts)):
        return counts
    return np.minimum(counts, most)
