"""Subspaces of parts of the sample, and how the rows of the sample lie beside them.

Rows longer than they are many are known by their products with each other, K = Z Z'. These are
formed once, and what any part of the rows says follows from them without the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigvalsh

from torpca._core.gram import leading_of_gram, near_top_of_gram
from torpca._robust.sample import Sample
from torpca._sources.base import Floats

# A residual this small beside its row comes from the Gram matrix of the sample, not from the row.
BLUR = 1e-7


@dataclass(frozen=True)
class Flat:
    """All rows of the sample beside the top directions of some of them."""

    scores: Floats
    """Scores (m, k) of the rows about the mean of those some."""
    variances: Floats
    """Variances (k,) of those some along the directions."""
    residuals: Floats
    """Distance (m,) of each row from the subspace; zero if of the size of rounding."""
    leverage: Floats
    rest: Floats
    """What is left of the rows, (m, p), or the products (m, m) of that with each other."""
    products: bool

    def beside(self, weights: Floats, count: int) -> Floats:
        """Projections (m, count) on the directions in which weighted rows leave the subspace most.

        The directions are found to a few digits.
        """
        inside = np.flatnonzero(weights > 0)
        root = np.sqrt(weights[inside])[:, None]
        if not self.products:
            C = self.rest[inside] * root
            return self.rest @ leading_of_gram(C.T @ C, count)[0]
        K = self.rest[:, inside]
        U, s = leading_of_gram(K[inside] * root * root.T, count)
        P: Floats = K @ (root * U / np.where(s > 0, s, np.inf))
        return P


def flat(sample: Sample, keep: Floats, rank: int) -> Flat:
    """Top `rank` directions of the rows of weights `keep` (m,), fewer if they have no more."""
    if sample.products is None:
        Z, G = _rows_about_mean(sample, keep)
        V, theta = _top(G, rank)
        Y = Z @ V
        rest = Z - Y @ V.T
        R = np.linalg.norm(rest, axis=1)
    else:
        K, G, inside, root = _products_about_mean(sample, keep)
        U, theta = _top(G, rank)
        Y = K[:, inside] @ (root * U / np.sqrt(theta))
        rest = K - Y @ Y.T
        R = np.sqrt(np.maximum(np.diag(rest), 0.0))
    # A direction of the Gram matrix is good to BLUR of the longest, and rows have that much of it.
    squares = np.square(Y)
    size = np.sqrt(np.sum(squares, axis=1)) + np.sqrt(max(np.trace(G), 0.0))
    leverage = np.minimum(squares @ (1.0 / theta) / np.sum(keep), 1e100)
    residuals = np.where(BLUR * size >= R, 0.0, R)
    return Flat(Y, theta, residuals, leverage, rest, sample.products is not None)


def principal_variances(sample: Sample, keep: Floats) -> Floats:
    """Variances of the kept rows along their principal directions, largest first."""
    _, G, *_ = (_rows_about_mean if sample.products is None else _products_about_mean)(sample, keep)
    values: Floats = np.maximum(eigvalsh(G, check_finite=False)[::-1], 0.0)
    return values


def _rows_about_mean(sample: Sample, keep: Floats) -> tuple[Floats, Floats]:
    """All rows about the mean of the kept ones, (m, p), and the covariance (p, p) of those."""
    inside = keep > 0
    w = keep[inside] / np.sum(keep)
    Z = sample.Z - w @ sample.Z[inside] if sample.center else sample.Z
    C = Z[inside] * np.sqrt(w)[:, None]
    return Z, C.T @ C


def _products_about_mean(
    sample: Sample, keep: Floats
) -> tuple[Floats, Floats, npt.NDArray[np.intp], Floats]:
    """Products (m, m) of all rows about the mean of the kept ones, and of these times their roots.

    Also the numbers of the kept rows and the roots of their weights, (n_kept, 1).
    """
    K, w = sample.products, keep / np.sum(keep)
    assert K is not None
    if sample.center:
        along = K @ w
        K = K - (along[:, None] + (along - float(w @ along)))
    inside = np.flatnonzero(keep)
    root = np.sqrt(w[inside])[:, None]
    return K, K[np.ix_(inside, inside)] * root * root.T, inside, root


def _top(G: Floats, count: int) -> tuple[Floats, Floats]:
    """Top eigenvectors of G and their eigenvalues, none of them rounding."""
    U, s = near_top_of_gram(G, count)
    there = s > BLUR * s[0]
    return U[:, there], s[there] ** 2
