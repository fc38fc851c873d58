"""Ordinary PCA of some of the rows, and how to choose them."""

from __future__ import annotations

import numpy as np

from torpca._core.subspace import EPS64
from torpca._sources.base import Floats, Mask
from torpca.rivals._span import right_svd


def principal(X: Floats, rank: int, center: bool) -> tuple[Floats, Floats]:
    """Mean (d,) and top `rank` directions (d, k) of the rows of X (m, d).

    Fewer directions if the rows have no more. Without centring the mean is zero.
    """
    mean = np.mean(X, axis=0) if center else np.zeros(X.shape[1])
    s, V = right_svd(X - mean)
    # Equal rows differ from their mean by its rounding, which is no direction.
    largest = np.max(s, initial=0.0)
    rounding = EPS64 * (max(X.shape) * largest + np.sqrt(len(X)) * np.linalg.norm(mean))
    k = min(rank, int(np.count_nonzero(s > rounding)))
    return mean, V[:, :k]


def residual_squares(X: Floats, mean: Floats, V: Floats) -> Floats:
    """Squared distances (n,) of the rows of X (n, d) from the subspace V (d, k) through `mean`."""
    C = X - mean
    # Not ||c||^2 - ||V'c||^2: of rows near the subspace the difference has no digits.
    C -= (C @ V) @ V.T
    squares: Floats = np.vecdot(C, C)
    return squares


def smallest(values: Floats, count: int) -> Mask:
    """Mask of the `count` smallest `values` (n,), the first ones among equals."""
    keep = np.zeros(len(values), dtype=bool)
    keep[np.argsort(values, kind="stable")[:count]] = True
    return keep
