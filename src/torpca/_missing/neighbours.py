"""Columns that predict a column: those it is correlated with, whatever single cells are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from torpca._missing.one_step import robust_slopes, there, times
from torpca._missing.tuning import FEW_ROWS, ROUNDING, WRAP
from torpca._sources.base import Floats


def predictors(
    U: Floats, least: float, count: int, quantile: float, counts: Floats | None = None
) -> tuple[Floats, Floats]:
    """Weights and slopes (d, d) with which the rows of U (d, n) predict each other.

    The weight of h for j is their absolute correlation, zero unless it is at least `least` and h is
    among the `count` columns first thought to be correlated with j most. That of j for itself is
    one, and so is its slope. U are standardised columns as rows, NaN where nothing is there.
    `counts` (n,): how often the numbers of each place count, by default once.
    """
    rough = wrapped_correlations(U, counts)
    cut = float(np.sqrt(chi2.ppf(quantile, 1)))
    weights, slopes = np.eye(len(U)), np.eye(len(U))
    for j in range(len(U)):
        near = candidates(rough[j], j, least, count)
        exact = correlations_inside(U[j], U[near], rough[j, near], quantile, counts)
        strong = np.abs(exact) >= least
        near = near[strong]
        weights[j, near] = np.abs(exact[strong])
        slopes[j, near] = robust_slopes(U[j], U[near], cut, counts)
    return weights, slopes


def wrapped_correlations(U: Floats, weights: Floats | None = None) -> Floats:
    """Correlations (d, d) about zero of the rows of U (d, n), numbers far out drawn to zero.

    Zero for pairs with few numbers in common.
    """
    W = wrap(there(U))
    counts = (~np.isnan(U)).astype(float)
    weighted = times(counts, weights)
    squares = W**2 @ weighted.T
    both = np.sqrt(squares * squares.T)
    known = (counts @ weighted.T >= FEW_ROWS) & (both > 0)
    products = W @ times(W, weights).T
    R: Floats = np.where(known, products / np.where(known, both, 1.0), 0.0)
    # The ellipse about points on a line is never flatter than this.
    return np.clip(R, ROUNDING - 1.0, 1.0 - ROUNDING)


def wrap(P: Floats) -> Floats:
    """P, where numbers far out fall smoothly back to zero (Raymaekers and Rousseeuw 2021)."""
    start, end, height, steepness = WRAP
    size = np.abs(P)
    falling = height * np.tanh(steepness * np.maximum(end - size, 0.0))
    return np.where(size <= start, P, np.copysign(falling, P))


def candidates(rough: Floats, j: int, least: float, count: int) -> npt.NDArray[np.intp]:
    """Columns other than j, at most `count`, most correlated with it by the `rough` ones (d,)."""
    size = np.abs(rough)
    size[j] = 0.0  # a column is its own neighbour in any case
    # Rough correlations may be too small by a little, not by half.
    possible = np.flatnonzero(size > least / 2)
    order = np.argsort(-size[possible], kind="stable")
    return np.sort(possible[order[:count]])


def correlations_inside(
    y: Floats, A: Floats, rough: Floats, quantile: float, weights: Floats | None = None
) -> Floats:
    """Correlations (m,) about zero of y (n,) with each row of A (m, n), from points in an ellipse.

    The ellipse holds the share `quantile` of Gaussian points with the `rough` correlation (m,).
    """
    rho = rough[:, None]
    limit = chi2.ppf(quantile, 2) * (1.0 - rho**2)
    inside = (y * y + A * (A - 2.0 * rho * y)) <= limit  # not where a number is absent
    B, y = np.where(inside, A, 0.0), there(y)
    weighted = times(y, weights)
    squares = np.vecdot(times(B, weights), B) * (inside.astype(float) @ (weighted * y))
    return np.where(
        squares > 0, np.vecdot(B, weighted) / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0
    )
