"""Equal rows as one row."""

from __future__ import annotations

import numpy as np

from torpca._sources.base import Floats
from torpca._tuning import tuning


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


def without_heaps(R: Floats, weights: Floats) -> Floats:
    """Weights (n,) in which no heap of equal rows, told by their residuals, counts as many.

    As in the sample: a row that is there more often than some times the middle one.
    """
    unit = float(np.median(R[R > 0])) if np.any(R > 0) else 1.0
    # To the digits in which equal rows have equal residuals.
    _, copies = np.unique(np.float32(np.minimum(R / unit, 1e30)), return_inverse=True)
    counts = np.bincount(copies, weights)
    most = tuning().most_copies * float(np.median(counts))
    fewer = weights * np.minimum(1.0, most / np.maximum(counts, 1e-300))[copies]
    return np.where(R > 0, fewer, weights)  # rows in the subspace need not be equal
