"""Tyler's iteration for a scatter matrix, whatever is done to the matrix in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from torpca._sources.base import Floats
from torpca.rivals._door import Progress
from torpca.rivals._span import Spanned

# Eigenvalues below this share of the largest are rounding: they are raised to it, so that rows in a
# subspace to which the scatter shrinks keep a finite distance.
LEAST = 1e-15
ADVICE = (
    "Allow more iterations with max_iter; if that does not help, more rows lie along one direction "
    "than this method can bear, and another one should be tried."
)

Rule = Callable[[Floats], tuple[Floats, Floats, Floats]]
"""From Tyler's sum (m, m) to the next scatter matrix, its eigenvalues (m,) and eigenvectors."""


@dataclass(frozen=True)
class Scatter:
    """A scatter matrix of rows in m dimensions."""

    S: Floats
    """The matrix (m, m),"""
    lam: Floats
    """its eigenvalues (m,), the largest first and none zero,"""
    E: Floats
    """and its eigenvectors (m, m), as columns."""
    settled: bool = True
    """Whether the iteration that led to it came to rest."""


def identity(m: int) -> Scatter:
    """The scatter of m dimensions of which nothing is known."""
    return Scatter(np.eye(m), np.ones(m), np.eye(m))


def settle(
    rows: Spanned, rule: Rule, start: Scatter, run: Progress, *, max_iter: int, tol: float
) -> Scatter:
    """The scatter matrix S that the rule makes of its own sum.

    Repeats S = rule(m mean_i y_i y_i' / (y_i' S^-1 y_i)), from `start`.
    """
    S, away = start.S, squared_distances(rows.Y, start.lam, start.E)
    for _ in range(max_iter):
        before, (S, lam, E) = S, rule(scatter(rows.Y, away))
        away = squared_distances(rows.Y, lam, E)
        turned = run.note(rows.Q @ E[:, : run.table.rank], misfit(away, lam))
        # Both, as S hardly changes any more when it shrinks to a part of the subspace.
        if turned <= tol and np.linalg.norm(S - before) <= tol * np.linalg.norm(S):
            return Scatter(S, lam, E)
    return Scatter(S, lam, E, settled=False)


def scatter(Y: Floats, away: Floats) -> Floats:
    """m times the mean of y y' / away over the rows y of Y (n, m), (m, m)."""
    S: Floats = Y.T @ (Y / away[:, None])
    S *= Y.shape[1] / max(len(Y), 1)
    return S


def eigenpairs(S: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (m,) of a scatter matrix S, largest first and none zero, and eigenvectors."""
    lam, E = np.linalg.eigh(S)
    return np.maximum(lam, LEAST * np.max(lam, initial=0.0))[::-1], E[:, ::-1]


def squared_distances(Y: Floats, lam: Floats, E: Floats) -> Floats:
    """y' S^-1 y of every row of Y (n, m), (n,), for S = E diag(lam) E'."""
    away: Floats = np.sum((Y @ E) ** 2 / lam, axis=1)
    return away


def misfit(away: Floats, lam: Floats) -> float:
    """Mean log of y' S^-1 y, plus that of the eigenvalues of S: what Tyler's S minimises."""
    return float(np.sum(np.log(away)) / max(len(away), 1) + np.sum(np.log(lam)) / max(len(lam), 1))
