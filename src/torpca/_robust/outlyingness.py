"""Directions that tell rows apart, and how far out along them, or in which group, each row is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torpca._robust.lines import describe_lines, rows_for_all
from torpca._robust.tuning import EQUAL, LONGEST, tuning
from torpca._sources.base import Floats, Mask


def outlyingness(P: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Largest |projection - location| / scale of each row, (m,), of projections P (m, q).

    By the larger of two scales, and by that of the shortest half alone. This tells rows which
    spread both ways from the midst of the others, and takes half of the rows for all of them if
    they are on one point. No scale is smaller than rounding: rows off a subspace in which more than
    half of them lie exactly are farther out than any in it.
    """
    some, counts = rows_for_all(weights, tuning().line_rows)
    lines = describe_lines(P[some], counts)
    away = np.abs(P - lines.location)
    # Rounding goes with a row's own length; those of the good rows are not far from one here.
    least = EQUAL * np.minimum(np.max(np.abs(P), axis=0), LONGEST)
    half = np.maximum(lines.inner, np.where(least > 0, least, 1.0))
    both = np.where(lines.inner > least, np.maximum(half, lines.side), half)
    of_both, of_half = (np.max(away * (1 / s), axis=1, initial=0.0) for s in (both, half))
    return of_both, of_half


def pair_projections(Z: Floats, weights: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Projections (m, at most count) of rows Z (m, p) on directions through random pairs of them.

    The directions need no centre, and where the rows spread there they point.
    """
    chance = weights / np.sum(weights)
    one, other = (rng.choice(len(Z), size=count, p=chance) for _ in range(2))
    D = (Z[one] - Z[other]).T
    lengths = np.linalg.norm(D, axis=0)
    there = lengths > 0
    return Z @ (D[:, there] / lengths[there])


def axes_of_extreme_kurtosis(
    Y: Floats, weights: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Projections (m, q) of sphered rows Y (m, q) on axes of extreme kurtosis, and the kurtosis.

    A group of a third or a half of the weighted rows makes the kurtosis small, a few far rows make
    it large (Pena and Prieto 2001). Symmetric fixed-point iteration (Hyvarinen 1999).
    """
    inside = weights > 0
    core, share = Y[inside], (weights[inside] / np.sum(weights))[:, None]
    M = np.linalg.qr(rng.standard_normal((Y.shape[1], Y.shape[1])))[0]
    weighted = (core * share).T
    for _ in range(tuning().rounds):
        on = core @ M
        left, _, right = np.linalg.svd(weighted @ (on * on * on) - 3 * M)
        M, old = left @ right, M
        # An axis is the same whichever way it points.
        if np.min(np.abs(np.sum(M * old, axis=0))) > 1 - EQUAL**0.5:
            break
    kurtosis = np.sum(share * np.square(np.square(core @ M)), axis=0)
    return Y @ M, kurtosis


@dataclass(frozen=True)
class Split:
    """Two groups of rows along a line."""

    above: Mask
    """Rows in the upper group, (m,)."""
    apart: float
    """Difference of the means in standard deviations within the groups."""


def best_split(x: Floats, weights: Floats) -> Split:
    """The two groups that the weighted rows fall into along `x` (m,), by least squares."""
    inside = np.flatnonzero(weights > 0)
    order = inside[np.argsort(x[inside], kind="stable")]
    if len(order) < 2:
        return Split(np.zeros(len(x), dtype=bool), 0.0)
    w, wx = np.cumsum(weights[order]), np.cumsum(weights[order] * x[order])
    left, right = w[:-1], w[-1] - w[:-1]
    difference = (wx[-1] - wx[:-1]) / right - wx[:-1] / left
    between = left * right / w[-1] * difference**2
    best = int(np.argmax(between))
    total = float(weights[order] @ np.square(x[order] - wx[-1] / w[-1]))
    within = np.sqrt(max(total - between[best], 1e-300) / w[-1])
    return Split(x > x[order[best]], float(difference[best] / within))
