"""A Gram matrix that is known on a subspace, and for the rest of which another stands in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torpca._core.gram import top_of_gram
from torpca._core.krylov import expanded
from torpca._core.moments import weighted
from torpca._sources import RowSource
from torpca._sources.base import Floats

# A gap: the next variance is this many times smaller.
GAP = 2.0
# A subspace of which nothing is left to chance stands when it moves by less than this.
STILL = 1e-6


def has_gap(theta: Floats, k: int) -> bool:
    """Whether the eigenvalues `theta` drop behind the k-th, or end there."""
    return len(theta) == k or bool(theta[k - 1] > GAP * theta[k])


def gram_about(source: RowSource, mean: Floats, part: Floats, *, centered: bool) -> Floats:
    """Gram matrix (d, d) of the rows about `mean`, with weights `part` (n,)."""
    rows, mask = weighted(source.centered(mean) if centered else source, part)
    return rows.gram(mask)


def with_next(V: Floats, W: Floats) -> Floats:
    """Orthonormal directions (d, k + q): the subspace V (d, k), then what W (d, q) has beyond it.

    The next directions stay: those of rows that were left out for it are not in A.
    """
    return np.hstack([V, beside_of(V, W)])


def beside_of(V: Floats, W: Floats) -> Floats:
    """Orthonormal directions (d, q): what W (d, q) has beyond the subspace V (d, k)."""
    beyond = W - V @ (V.T @ W)
    return np.linalg.qr(np.hstack([V, beyond]))[0][:, V.shape[1] :]


def top_directions(B: Floats, V: Floats, AV: Floats) -> tuple[Floats, Floats]:
    """As many top directions and eigenvalues of A as V (d, p) has columns, as far as A is known.

    A is known on span(V), where it is AV; beyond, B stands in for it.
    """
    BV = B @ V
    beyond = B - V @ BV.T - BV @ V.T + V @ (V.T @ BV) @ V.T
    T = V.T @ AV
    A = beyond + AV @ V.T + V @ AV.T - V @ ((T + T.T) / 2) @ V.T
    W, s = top_of_gram((A + A.T) / 2, V.shape[1])
    return W, s**2


def exact_directions(V: Floats, AV: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Directions (d, k) of rows that lie in a subspace, and their eigenvalues.

    One step of subspace iteration from V (d, k), with singular values s (k,): nothing is beyond.
    """
    Q, _ = np.linalg.qr(AV / np.square(s))
    T = Q.T @ V @ (V.T @ AV) @ (V.T @ Q)
    theta, U = np.linalg.eigh((T + T.T) / 2)
    return Q @ U[:, ::-1], theta[::-1]


def expanded_directions(
    multiply: Callable[[Floats], Floats],
    V: Floats,
    AV: Floats,
    k: int,
    aim: Callable[[Floats], float],
) -> tuple[Floats, Floats]:
    """Top directions (d, p) and eigenvalues of A by more products with it, from V (d, p) and A V.

    Until the first k are wrong by no more than `aim` says of the eigenvalues.
    """

    def found(theta: Floats, wrong: Floats) -> bool:
        if len(theta) == k:
            return True
        # The next eigenvalue may be larger than it looks by as much as its vector is wrong.
        gap = theta[k - 1] - theta[k] - wrong[k]
        return bool(np.linalg.norm(wrong[:k]) <= aim(theta) * gap)

    V, theta, _ = expanded(multiply, V, AV, found)
    return V, theta


def stand_in_error(theta: Floats, k: int, weight: float, d: int) -> float:
    """How far the subspace would move next, as a share of how far it moved.

    What is not known of A is its part beyond span(V), where a Gram matrix of rows of this
    `weight` stands in for it. Along a direction that is off by one part in sqrt(weight), and twice
    that times the root of their number if all directions beyond are alike.
    """
    if len(theta) == k:
        return 0.0
    off = theta[k] / np.sqrt(weight) / max(theta[k - 1] - theta[k], 1e-300)
    if has_gap(theta, k):
        off *= 2 * np.sqrt(d)
    return min(float(off), 1.0)


def goal(theta: Floats, *, k: int, weight: float, whole: bool, d: int, share: float) -> float:
    """Change of the subspace below which it stands, given eigenvalues `theta` (k + q,).

    That is a `share` of its error by chance, of rows of d features and this `weight` together;
    `whole` if hardly one of them lost any.
    """
    if len(theta) == k or not 0 < theta[k] < theta[k - 1]:
        return STILL
    gap = has_gap(theta, k)
    if gap and whole:
        return STILL
    # Beyond a gap there is noise in all directions; without one, the next direction matters most.
    directions = d - k if gap else 1
    chance = np.sqrt(directions / weight) * np.sqrt(theta[k - 1]) * np.sqrt(theta[k])
    return max(STILL, min(share * float(chance / (theta[k - 1] - theta[k])), 1.0))
