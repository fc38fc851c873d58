"""Top eigenvectors of X'X when it is too large to form: block Krylov with thick restarts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask

OVERSAMPLING = 8  # extra columns in a block: directions just below the wanted ones
MAX_BLOCKS = 8  # blocks in the basis before it is compressed to its best one
MAX_EXPANSIONS = 300
TOLERANCE = 1e-13  # of the largest eigenvalue; rounding in X'(XV) sits a decade below


def krylov_subspace(
    rows: RowSource, keep: Mask, k: int, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Top `k` right singular vectors (d, k) and values (k,) of the kept rows.

    `start` (d, any) is a guess, such as the answer for a nearly equal set of rows.
    """
    d = rows.shape[1]
    width = min(k + OVERSAMPLING, d)
    # A fixed seed: the answer does not depend on the start, its last digits do.
    block = np.random.default_rng(0).standard_normal((d, width))
    if start is not None:
        block = np.hstack([start, block])[:, :width]
    Q = np.linalg.qr(block)[0]

    def multiply(V: Floats) -> Floats:
        return rows.gram_matmul(keep, V)

    def found(theta: Floats, wrong: Floats) -> bool:
        return bool(np.all(wrong[:k] <= TOLERANCE * max(theta[0], 0.0)))

    V, theta, _ = expanded(multiply, Q, multiply(Q), found)
    return V[:, :k], np.sqrt(np.maximum(theta[:k], 0.0))


def expanded(
    multiply: Callable[[Floats], Floats],
    Q: Floats,
    P: Floats,
    found: Callable[[Floats, Floats], bool],
) -> tuple[Floats, Floats, Floats]:
    """Top eigenvectors (d, width) of A, from an orthonormal Q (d, width) and P = A Q.

    Rayleigh-Ritz on a growing basis that is expanded by the residuals of its own best vectors;
    each expansion is one product `multiply(fresh)` with A. It ends when `found` says so of the
    eigenvalues (width,) and the norms (width,) of the residuals A v - theta v, which come last.
    """
    d, width = Q.shape
    for _ in range(MAX_EXPANSIONS):
        theta, U = np.linalg.eigh((Q.T @ P + P.T @ Q) / 2)
        theta, U = theta[::-1][:width], U[:, ::-1][:, :width]
        V, PV = Q @ U, P @ U
        residual = PV - V * theta
        wrong = np.linalg.norm(residual, axis=0)
        if found(theta, wrong):
            break
        if Q.shape[1] + width > min(d, MAX_BLOCKS * width):
            Q, P = V, PV
        fresh = _orthonormal_beside(Q, residual, TOLERANCE * theta[0])
        if fresh.shape[1] == 0:
            break
        Q, P = np.hstack([Q, fresh]), np.hstack([P, multiply(fresh)])
    return V, theta, wrong


def _orthonormal_beside(Q: Floats, block: Floats, smallest: float) -> Floats:
    """Orthonormal basis of what `block` adds to span(Q), columns below `smallest` left out."""
    block = block - Q @ (Q.T @ block)
    U, s, _ = np.linalg.svd(block, full_matrices=False)
    U = U[:, s > smallest]
    U = U - Q @ (Q.T @ U)  # twice is enough
    fresh: Floats = np.linalg.qr(U)[0]
    return fresh[:, : max(0, Q.shape[0] - Q.shape[1])]
