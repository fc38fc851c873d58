"""Rows in an order, and in a unit, that only depend on how they lie to each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torpca._core.frame import SHORTENED
from torpca._sources.base import Floats

# Digits in which different rows differ.
DIGITS = 9


def invariant_order(Z: Floats, counts: Floats) -> npt.NDArray[np.intp]:
    """An order of the rows (m, p) that only depends on how they lie to each other.

    That of c'c, and where rows tie of c'SSc and so on, where c are the rows less their mean and S
    is their covariance: no shift, rotation or unit changes them.
    """
    w = counts / np.sum(counts)
    C = Z - w @ Z
    S: Floats | None = None
    keys: list[Floats] = []
    for _ in range(3):
        values = np.einsum("ij,ij->i", C, C)
        unit = float(np.median(values))
        keys.append(np.round(values / unit, DIGITS) if 0 < unit < np.inf else values)
        if len(np.unique(keys[-1])) == len(Z):
            break
        S = (C * w[:, None]).T @ C if S is None else S
        C = C @ S / max(float(np.trace(S)), 1e-300)
    return np.lexsort(keys[::-1])


def middle(size: Floats, weights: Floats) -> int:
    """Return the place of the middle one of the sizes."""
    order = np.argsort(size, kind="stable")
    mass = np.cumsum(weights[order])
    return int(order[np.searchsorted(mass, 0.5 * mass[-1] * (1 - 1e-12))])


def in_unit(Z: Floats, weights: Floats) -> tuple[Floats, float]:
    """Rows in a unit in which the middle one has size one, the farthest ones shortened."""
    size = np.max(np.abs(Z), axis=1)
    if not size.any():
        return Z, 1.0
    unit = size[middle(size, weights)]
    # A power of two: changing the unit changes no digit.
    exponent = int(np.frexp(unit if unit > 0 else np.min(size[size > 0]))[1])
    Z, size = np.ldexp(Z, -exponent), np.ldexp(size, -exponent)
    long = size > SHORTENED
    if long.any():
        Z[long] *= (SHORTENED / size[long])[:, None]
    return Z, float(np.ldexp(1.0, exponent))
