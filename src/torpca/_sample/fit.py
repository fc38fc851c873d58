"""Subspaces of parts of the sample, and how the rows of the sample lie beside them.

Rows longer than they are many are known by their products with each other, K = Z Z'. These are
formed once, and what any part of the rows says follows from them without the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh

from torpca._core.gram import leading, leading_of_gram, near_top, near_top_of_gram, top_of_gram
from torpca._sample.draw import Sample
from torpca._sources.base import Floats
from torpca._stats.lines import EQUAL
from torpca._stats.rule import free_part

# A residual this small beside its row comes from the Gram matrix of the sample, not from the row.
BLUR = 1e-7


@dataclass(frozen=True)
class SampleFit:
    """All rows of the sample beside the top directions of some of them."""

    scores: Floats
    """Scores (m, k) of the rows about the mean of those some."""
    variances: Floats
    """Variances (k,) of those some along the directions."""
    residuals: Floats
    """Distance (m,) of each row from the subspace; zero if of the size of rounding."""
    studentised: Floats
    """The same on equal terms for rows of any leverage, in the fit or not."""
    leverage: Floats
    part: SamplePart
    V: Floats

    @property
    def noise(self) -> float:
        """Mean variance of those some along the directions beyond the subspace."""
        beyond = self.part.total - float(np.sum(self.variances))
        return max(beyond, 0.0) / max(self.part.dimension - len(self.variances), 1)

    def next_directions(self, weights: Floats, count: int) -> tuple[Floats, Floats]:
        """Projections (m, count) on the directions in which weighted rows leave the subspace most.

        Also the mean squares (count,) of the weighted rows along them. To a few digits.
        """
        if count == 0:
            return np.zeros((len(weights), 0)), np.zeros(0)
        P, squares = self.part.beside(self, weights, count)
        return P, squares / max(float(np.sum(weights)), 1e-300)


class SamplePart(ABC):
    """All rows of the sample about the mean of some of them, and the covariance of those."""

    total: float
    """Sum of the variances of those some."""
    dimension: int
    """Number of directions they may have."""

    @abstractmethod
    def top(self, rank: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Directions, their variances, scores (m, k) of all rows and squares (m,) of the rest."""

    @abstractmethod
    def sphered(self, count: int) -> Floats:
        """Coordinates (m, at most count) of all rows on the leading principal axes of those some.

        In units of their standard deviations there. Axes that stand out are found, others about.
        """

    @abstractmethod
    def beside(self, fit: SampleFit, weights: Floats, count: int) -> tuple[Floats, Floats]:
        """See `SampleFit.next_directions`."""

    @abstractmethod
    def cosines(self, V: Floats, other: SamplePart, W: Floats) -> Floats:
        """V'W for directions V of this part and W of another of the same sample."""

    @abstractmethod
    def largest_product(self, fit: SampleFit, T: Floats) -> float:
        """Largest squared singular value of T' times what is left of the rows, for T (m, any)."""

    @abstractmethod
    def covariance(self) -> Floats:
        """A matrix with the variances of those some for its eigenvalues."""


class RowsOfPart(SamplePart):
    """By the rows themselves."""

    def __init__(self, sample: Sample, keep: Floats) -> None:
        inside = keep > 0
        w = keep[inside] / np.sum(keep)
        self.Z = sample.Z - w @ sample.Z[inside] if sample.center else sample.Z
        C = self.Z[inside]
        # In place: the rows were copied just now.
        C *= np.sqrt(w)[:, None]
        self.G = C.T @ C
        self.total = float(np.trace(self.G))
        self.dimension = len(self.G)

    def top(self, rank: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Through the covariance (p, p)."""
        V, theta = _there(*near_top_of_gram(self.G, rank))
        Y = self.Z @ V
        rest = self.Z - Y @ V.T
        return V, theta, Y, np.vecdot(rest, rest)

    def sphered(self, count: int) -> Floats:
        """Through the covariance (p, p)."""
        V, theta = _there(*leading_of_gram(self.G, count), EQUAL)
        Y: Floats = self.Z @ (V / np.sqrt(theta))
        return Y

    def beside(self, fit: SampleFit, weights: Floats, count: int) -> tuple[Floats, Floats]:
        """Through the Gram matrix (p, p) of the rest."""
        rest = self.Z - fit.scores @ fit.V.T
        inside = weights > 0
        C = rest[inside] * np.sqrt(weights[inside])[:, None]
        W, s = leading(lambda B: C.T @ (C @ B), C.shape[1], count)
        return rest @ W, s**2

    def cosines(self, V: Floats, other: SamplePart, W: Floats) -> Floats:
        """From the directions."""
        return V.T @ W

    def largest_product(self, fit: SampleFit, T: Floats) -> float:
        """From the rows."""
        rest = T.T @ self.Z - (T.T @ fit.scores) @ fit.V.T
        return float(np.linalg.norm(rest, 2) ** 2)

    def covariance(self) -> Floats:
        """Of the features."""
        return self.G


class ProductsOfPart(SamplePart):
    """By their products: K - a 1' - 1 a' + c about a mean, of which only products are needed."""

    def __init__(self, sample: Sample, keep: Floats) -> None:
        assert sample.products is not None
        self.K = sample.products
        w = keep / np.sum(keep)
        self.along = self.K @ w if sample.center else np.zeros(len(w))
        self.constant = float(w @ self.along)
        self.squares = np.diag(self.K) - 2 * self.along + self.constant
        self.root = np.sqrt(w)[:, None]
        self.mean = w[:, None] if sample.center else np.zeros((len(w), 1))
        self.total = float(w @ self.squares)
        self.dimension = len(w)

    def times(self, B: Floats) -> Floats:
        """Products of the rows about the mean, times B (m, any)."""
        sums = np.sum(B, axis=0)
        out: Floats = self.K @ B
        out -= np.outer(self.along, sums)
        out -= self.along @ B - self.constant * sums
        return out

    def weighted(self, U: Floats) -> Floats:
        """The same for rows times the roots of their weights."""
        return self.root * self.times(self.root * U)

    def top(self, rank: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Through the products (m, m) of the rows, each times the root of its weight."""
        found = near_top(self.weighted, len(self.K), rank, self.total)
        U, theta = _there(*(top_of_gram(self.covariance(), rank) if found is None else found))
        B = self.root * U / np.sqrt(theta)
        Y = self.times(B)
        return B, theta, Y, np.maximum(self.squares - np.sum(np.square(Y), axis=1), 0.0)

    def sphered(self, count: int) -> Floats:
        """Through the same products."""
        U, theta = _there(*leading(self.weighted, len(self.K), count), EQUAL)
        return self.times(self.root * U / theta)

    def beside(self, fit: SampleFit, weights: Floats, count: int) -> tuple[Floats, Floats]:
        """Through the products of the rest."""
        root, Y = np.sqrt(weights)[:, None], fit.scores

        def rest(B: Floats) -> Floats:
            return self.times(B) - Y @ (Y.T @ B)

        U, s = leading(lambda U: root * rest(root * U), len(self.K), count)
        return rest(root * U / np.where(s > 0, s, np.inf)), s**2

    def cosines(self, V: Floats, other: SamplePart, W: Floats) -> Floats:
        """From the products: a direction is a combination of rows about their mean."""
        assert isinstance(other, ProductsOfPart)
        A, B = V - self.mean * np.sum(V, axis=0), W - other.mean * np.sum(W, axis=0)
        cosines: Floats = A.T @ (self.K @ B)
        return cosines

    def largest_product(self, fit: SampleFit, T: Floats) -> float:
        """From the products."""
        rest = T.T @ self.times(T) - (T.T @ fit.scores) @ (fit.scores.T @ T)
        return float(np.linalg.norm(rest, 2))

    def covariance(self) -> Floats:
        """Of the rows."""
        K = self.K - (self.along[:, None] + (self.along - self.constant))
        return K * self.root * self.root.T


def sample_part(sample: Sample, keep: Floats) -> SamplePart:
    """The rows of weights `keep` (m,)."""
    return (RowsOfPart if sample.products is None else ProductsOfPart)(sample, keep)


def sample_fit(sample: Sample, keep: Floats, rank: int) -> SampleFit:
    """Top `rank` directions of the rows of weights `keep` (m,), fewer if they have no more."""
    part = sample_part(sample, keep)
    V, theta, Y, rest = part.top(rank)
    R = np.sqrt(rest)
    # A direction of the Gram matrix is good to BLUR of the longest, and rows have that much of it.
    squares = np.square(Y)
    size = np.sqrt(np.sum(squares, axis=1)) + np.sqrt(max(part.total, 0.0))
    leverage = np.minimum(squares @ (1.0 / theta) / np.sum(keep), 1e100)
    R = np.where(BLUR * size >= R, 0.0, R)
    inside = np.divide(keep, sample.weights, out=np.zeros(len(R)), where=sample.weights > 0)
    return SampleFit(Y, theta, R, R / np.sqrt(free_part(leverage, inside)), leverage, part, V)


def left_out(fit: SampleFit, other: SampleFit) -> float:
    """Largest variance that the rows of one fit have inside its subspace and beyond the other.

    That is the largest eigenvalue of L (I - V_o V_o') L, L the standard deviations along the
    directions of the one.
    """
    C = fit.part.cosines(fit.V, other.part, other.V)
    largest = 0.0
    for cosines, variances in ((C, other.variances), (C.T, fit.variances)):
        root = np.sqrt(variances)
        beyond = np.eye(len(root)) - cosines.T @ cosines
        largest = max(largest, float(np.linalg.eigvalsh(root[:, None] * beyond * root)[-1]))
    return largest


def principal_variances(sample: Sample, keep: Floats) -> Floats:
    """Variances of the kept rows along their principal directions, largest first."""
    G = sample_part(sample, keep).covariance()
    values: Floats = np.maximum(eigvalsh(G, check_finite=False)[::-1], 0.0)
    return values


def _there(U: Floats, s: Floats, least: float = BLUR**2) -> tuple[Floats, Floats]:
    """Eigenvectors and eigenvalues, without those below the share `least` of the largest."""
    there = s**2 > least * s[0] ** 2
    return U[:, there], s[there] ** 2
