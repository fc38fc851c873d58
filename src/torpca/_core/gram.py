"""Top eigenvectors of a Gram matrix, as closely as they are needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, eigh

from torpca._core.krylov import OVERSAMPLING, expanded
from torpca._sources.base import Floats

# Sides of a Gram matrix up to which all of its directions are found in no time, and how often
# larger ones are multiplied for a few of them.
EASY, POWERS = 100, 6
# Sides from which on, beside so many wanted directions, products are quicker than a decomposition,
# if so few of them are enough that directions spoil no more than this share of the rest.
SLOW, WIDEST, FEW_PRODUCTS, HARDLY = 120, 20, 8, 1e-3


def top_of_gram(G: Floats, k: int) -> tuple[Floats, Floats]:
    """Top `k` eigenvectors of G, and the square roots of its eigenvalues, largest first."""
    m = G.shape[0]
    k = min(k, m)
    try:
        theta, V = eigh(G, subset_by_index=[m - k, m - 1], check_finite=False)
    except LinAlgError:
        theta, V = np.zeros(0), np.zeros((m, 0))
    if len(theta) < k:
        # Where many eigenvalues are equal up to rounding, as in tables of zeros and ones, LAPACK's
        # search for some of them loses a few or gives up. Divide and conquer finds all.
        theta, V = eigh(G, driver="evd", check_finite=False)
        theta, V = theta[m - k :], V[:, m - k :]
    return V[:, ::-1], np.sqrt(np.maximum(theta[::-1], 0.0))


def near_top_of_gram(G: Floats, k: int) -> tuple[Floats, Floats]:
    """As `top_of_gram`, as well as need be: what is left beyond the directions is hardly larger."""
    m = G.shape[0]
    found = near_top(lambda V: G @ V, m, k, float(np.trace(G)))
    return top_of_gram(G, k) if found is None else found


def near_top(
    multiply: Callable[[Floats], Floats], m: int, k: int, total: float
) -> tuple[Floats, Floats] | None:
    """The same by products with a matrix (m, m) of trace `total`; None if few would not do."""
    if m < SLOW or WIDEST * k > m:
        return None
    # A fixed seed: the same matrix has the same directions.
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((m, k + OVERSAMPLING)))[0]
    tries, good = 0, False

    def found(theta: Floats, wrong: Floats) -> bool:
        nonlocal tries, good
        tries += 1
        # An angle of wrong / gap to the directions leaves its square times the largest in the rest.
        gap = theta[k - 1] - theta[k] - wrong[k]
        rest = max(total - float(np.sum(theta[:k])), 0.0)
        spoilt = float(np.linalg.norm(wrong[:k])) * np.sqrt(max(theta[0], 0.0))
        good = bool(spoilt < HARDLY * gap * np.sqrt(rest))
        return good or tries > FEW_PRODUCTS

    V, theta, _ = expanded(multiply, Q, multiply(Q), found)
    return (V[:, :k], np.sqrt(np.maximum(theta[:k], 0.0))) if good else None


def leading_of_gram(G: Floats, k: int) -> tuple[Floats, Floats]:
    """As `top_of_gram`, to a few digits: directions that stand out are found, others are not."""
    return leading(lambda V: G @ V, G.shape[0], k)


def leading(multiply: Callable[[Floats], Floats], m: int, k: int) -> tuple[Floats, Floats]:
    """The same by products with a matrix (m, m)."""
    if m <= EASY:
        G = multiply(np.eye(m))
        return top_of_gram((G + G.T) / 2, k)
    # A fixed seed: the same matrix has the same directions.
    Q = np.random.default_rng(0).standard_normal((m, min(2 * k + 2, m)))
    for _ in range(POWERS):
        Q = np.linalg.qr(multiply(Q))[0]
    T = Q.T @ multiply(Q)
    W, s = top_of_gram((T + T.T) / 2, k)
    return Q @ W, s
