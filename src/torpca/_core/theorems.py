"""Parameters as the paper's theorems set them."""

from __future__ import annotations

import math

C1, C2 = 1 / 12288, 1 / 1536
"""Absolute constants of Theorem 3 (its proof, Appendix C)."""


def theorem_rho(mu: float, rank: int) -> float:
    """rho = 1/(128 mu^2 r) of Theorems 1 and 2."""
    return 1.0 / (128.0 * mu**2 * rank)


def theorem_eta(mu: float, rank: int, n: int) -> float:
    """eta = 2 mu sqrt(r/n) of Theorem 2."""
    return 2.0 * mu * math.sqrt(rank / n)


def theorem_iterations(n: int, tol: float, factor: float = 10.0) -> int:
    """T + 1 iterations with T = log2(10 n |X|_2 / eps) of Theorem 1 (20 for 10 in Theorem 2).

    `tol` is eps / |X|_2. The printed logarithm has no base; the proof halves the error in each
    iteration, so it is 2. "t = 0 to T" makes T + 1 iterations.
    """
    return max(0, math.ceil(math.log2(factor * n / max(tol, 1e-16)))) + 1


def zeta1(mu: float, rank: int, d: int, sigma: float) -> float:
    """Length threshold of Algorithm 3, line 3."""
    noise = math.sqrt(d) + 2 * d**0.25 * math.sqrt(math.log(mu**2 * rank / C2))
    return sigma * (1.25 * mu * math.sqrt(rank) + noise)


def zeta2(mu: float, rank: int, d: int, sigma: float) -> float:
    """Influence threshold of Algorithm 3, line 3."""
    spread = 2 * math.sqrt(math.log(mu**2 * rank**2 * d / C1))
    return sigma * math.sqrt(2 * rank) * (1.25 * mu + spread)


def influential_rows_allowed(mu: float, rank: int, n: int, d: int) -> float:
    """Rows beyond zeta2, twice what noise alone explains: Algorithm 3, line 11."""
    return 24 * n * C1 / (mu**2 * d * rank)
