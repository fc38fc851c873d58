"""The inner loop shared by TORP, TORP-N and TORP-BIN."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from torpca._core.loop import Callback, Run, Step, iterate
from torpca._core.problem import Problem
from torpca._sources.base import Mask


@dataclass(frozen=True)
class Thresholds:
    """Rows dropped by residual and by incoherence, and TORP-N's rule for giving up."""

    n_residual: int
    n_incoherence: int
    eta: float = math.inf
    max_influential: float = math.inf


def inner_loop(
    problem: Problem,
    k: int,
    cut: Thresholds,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Run:
    """Lines 2-9 of Algorithm 1, 3-12 of Algorithm 2, 5-14 of Algorithm 4, at rank `k`."""

    def step(keep: Mask) -> Step:
        fit = problem.finder.find(keep, k)  # SVD_k(M - C^(t))
        scores = problem.scorer.of(fit, keep)
        by_residual = scores.largest_residuals(cut.n_residual)  # HT_rho(R)
        by_incoherence = scores.largest_incoherences(cut.n_incoherence)  # HT_rho(E), HT_2rho(M, E)
        influential = int(np.count_nonzero(scores.incoherent(cut.eta)))
        keep = ~(by_residual | by_incoherence)  # the complement of CS^(t+1)
        return Step(
            fit,
            keep,
            dropped={"residual": cut.n_residual, "incoherence": cut.n_incoherence},
            objective=scores.left_over(keep),
            halt=influential >= cut.max_influential,  # tau; it never becomes false again
        )

    everyone = np.ones(problem.n, dtype=bool)
    return iterate(step, everyone, max_iter=max_iter, tol=tol, callback=callback)
