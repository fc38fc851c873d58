"""Groups that rows fall into: directions that show them, and where they part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torpca._sources.base import Floats, Mask

# Fixed-point iterations for directions of extreme kurtosis.
AXIS_ITERATIONS = 20
# They end when no axis turns by more: one minus the cosine.
NEARLY = 1e-4


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
    for _ in range(AXIS_ITERATIONS):
        on = core @ M
        left, _, right = np.linalg.svd(weighted @ (on * on * on) - 3 * M)
        M, old = left @ right, M
        # An axis is the same whichever way it points.
        if np.min(np.abs(np.sum(M * old, axis=0))) > 1 - NEARLY:
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
