"""The sample of rows a fit is started on, and principal components of parts of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask

# Rows of the sample: as many as a product with their directions takes no time for.
SAMPLE_ROWS, SAMPLE_ROWS_LONG, LONG = 2000, 600, 500
# Rows of the sample for each direction asked for, at least.
ROWS_PER_DIRECTION = 10
# A residual this small beside its row comes from the Gram matrix of the sample, not from the row.
BLUR = 1e-7
# Rows longer than this many times the middle one are shortened: their squares must not overflow.
FAR = 2.0**200


@dataclass(frozen=True)
class Sample:
    """Different rows of the sample in a convenient unit and basis, with their multiplicities."""

    Z: Floats
    weights: Floats
    center: bool
    copies: npt.NDArray[np.intp]
    """For each row drawn, its row of Z."""
    rows: npt.NDArray[np.intp]
    """Number of each row drawn, among all rows."""

    def spread_out(self, inside: Floats, n: int) -> Mask:
        """Mask over all n rows of those whose row of Z is `inside`."""
        mask = np.zeros(n, dtype=bool)
        mask[self.rows[inside[self.copies] > 0]] = True
        return mask


def draw_sample(
    source: RowSource,
    n_components: int | float | str,
    center: bool,
    weights: Floats,
    n_sample: int | None,
    rng: np.random.Generator,
) -> Sample:
    """Draw rows by weight and bring them into a basis as short as they allow.

    Equal rows become one with their weights added, in an order that depends on their values
    alone: a sample that is all of the data is the same whatever the order of its rows, and
    a row of weight two is the same as that row twice.
    """
    d = source.shape[1]
    there = np.flatnonzero(weights > 0)
    if n_sample is None:
        n_sample = SAMPLE_ROWS if d <= LONG else SAMPLE_ROWS_LONG
        if not isinstance(n_components, str):
            n_sample = max(n_sample, ROWS_PER_DIRECTION * int(n_components))
    if n_sample < len(there):
        chance = weights[there] / np.sum(weights[there])
        rows = np.sort(rng.choice(there, size=n_sample, replace=False, p=chance))
        counts = np.ones(n_sample)
    else:
        rows, counts = there, weights[there]
    S, copies = np.unique(source.take(rows), axis=0, return_inverse=True)
    copies = copies.reshape(-1)
    merged: Floats = np.bincount(copies, counts, minlength=len(S)).astype(float)
    # Any point among the rows will do to centre on: it only keeps digits from cancelling.
    Z = S - S[_typical(S, merged)] if center else S
    Z = _shorter_basis(_in_unit(Z, merged))
    return Sample(Z, merged, center, copies, rows)


def _typical(S: Floats, weights: Floats) -> int:
    """Number of the row whose largest entry is the middle one."""
    size = np.max(np.abs(S), axis=1)
    order = np.argsort(size, kind="stable")
    mass = np.cumsum(weights[order])
    return int(order[np.searchsorted(mass, 0.5 * mass[-1] * (1 - 1e-12))])


def _in_unit(Z: Floats, weights: Floats) -> Floats:
    """Rows in a unit in which the middle one has size one, the farthest ones shortened."""
    size = np.max(np.abs(Z), axis=1)
    if not size.any():
        return Z
    unit = size[_typical(Z, weights)]
    unit = unit if unit > 0 else float(np.min(size[size > 0]))
    # A power of two: changing the unit changes no digit.
    exponent = int(np.frexp(unit)[1])
    Z, size = np.ldexp(Z, -exponent), np.ldexp(size, -exponent)
    far = size > FAR
    if far.any():
        Z[far] *= (FAR / size[far])[:, None]
    return Z


def _shorter_basis(Z: Floats) -> Floats:
    """Rows in a basis of their own span when they are fewer than their features."""
    m, d = Z.shape
    if d <= m:
        return Z
    # Rows far out would drown the digits of the others in one Gram matrix: a QR decomposition
    # treats each row by itself.
    R: Floats = np.linalg.qr(Z.T, mode="r")  # type: ignore[assignment]
    return R.T


# ---- principal components -----------------------------------------------------------------------


def _gram(sample: Sample, keep: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, kept rows about it times the roots of their weights, and their smaller Gram matrix."""
    inside = keep > 0
    w = keep[inside]
    Z = sample.Z[inside]
    mean = (w @ Z) / np.sum(w) if sample.center else np.zeros(Z.shape[1])
    C = (Z - mean) * np.sqrt(w / np.sum(w))[:, None]
    return mean, C, C.T @ C if C.shape[1] <= len(C) else C @ C.T


def principal_variances(sample: Sample, keep: Floats) -> Floats:
    """Variances of the kept rows along their principal directions, largest first."""
    _, _, G = _gram(sample, keep)
    values: Floats = np.maximum(eigh(G, eigvals_only=True, check_finite=False)[::-1], 0.0)
    return values


def residuals_of_fit(sample: Sample, keep: Floats, rank: int) -> tuple[Floats, Floats]:
    """Distance (m,) of all rows to the top `rank` directions of the kept ones, and what is left.

    Distances of rounding size are set to zero; what is left of the rows is (m, p).
    """
    mean, C, G = _gram(sample, keep)
    V = _top(C, G, rank)
    Z = sample.Z - mean
    Y = Z @ V
    rest = Z - Y @ V.T
    R = np.linalg.norm(rest, axis=1)
    # A direction of the Gram matrix is good to BLUR of the longest, and rows have that much of it.
    size = np.linalg.norm(Y, axis=1) + np.sqrt(max(np.trace(G), 0.0))
    return np.where(BLUR * size >= R, 0.0, R), rest


def leading_directions(rest: Floats, weights: Floats, count: int) -> Floats:
    """Directions (p, count) in which the weighted rows of `rest` are largest."""
    inside = weights > 0
    C = rest[inside] * np.sqrt(weights[inside])[:, None]
    return _top(C, C.T @ C if C.shape[1] <= len(C) else C @ C.T, count)


def _top(C: Floats, G: Floats, count: int) -> Floats:
    """Top right singular vectors of C as columns, from its smaller Gram matrix G."""
    m = len(G)
    theta, U = eigh(G, subset_by_index=[m - min(count, m), m - 1], check_finite=False)
    V = U if C.shape[1] <= len(C) else C.T @ U
    return np.linalg.qr(V[:, theta > BLUR**2 * theta[-1]])[0]
