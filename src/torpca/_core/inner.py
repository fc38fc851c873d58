"""The inner loop shared by TORP, TORP-N and TORP-BIN."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from torpca._core.loop import Callback, Run, Step, iterate
from torpca._core.problem import Problem
from torpca._core.subspace import norm
from torpca._core.threshold import largest
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
        E, R = fit.scores()
        # Residuals that rounding alone explains tie at zero. Without this the good rows of
        # noiseless data would be ranked by the order in which sums were taken.
        R = np.where(fit.rounding(E, R) >= R, 0.0, R)
        by_residual = largest(R, cut.n_residual)  # HT_rho(R)
        by_incoherence = largest(E, cut.n_incoherence)  # HT_rho(E) or HT_2rho(M, E)
        keep = ~(by_residual | by_incoherence)  # the complement of CS^(t+1)
        influential = int(np.count_nonzero(cut.eta <= E))
        return Step(
            fit,
            keep,
            dropped={"residual": cut.n_residual, "incoherence": cut.n_incoherence},
            objective=norm(R[keep]),
            halt=influential >= cut.max_influential,  # tau; it never becomes false again
        )

    everyone = np.ones(problem.n, dtype=bool)
    return iterate(step, everyone, max_iter=max_iter, tol=tol, callback=callback)
