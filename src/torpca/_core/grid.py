"""Parameters chosen by a coarse grid, as the paper proposes when they are not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from torpca._core.inner import Thresholds, inner_loop
from torpca._core.loop import Run
from torpca._core.problem import Problem
from torpca._core.subspace import Fit
from torpca._core.theorems import theorem_iterations, theorem_rho
from torpca._core.threshold import fraction_count
from torpca._sources.base import Floats


@dataclass(frozen=True)
class Choice:
    """A value of rho, what TORP makes of it, and the evidence for it."""

    rho: float
    run: Run
    fit: Fit
    mu: float
    """Incoherence of the rows that were kept."""
    evidence: tuple[Mapping[str, float], ...]


def rho_grid(n: int, rank: int, criteria: int) -> list[float]:
    """1/4, 1/8, ... down to the theorem's value at mu = 1, the least incoherence there is.

    Never below one row, and never so much that fewer than `rank` rows could be left when
    `criteria` times as many are dropped.
    """
    smallest = max(theorem_rho(1.0, rank), 1.0 / n)
    grid, rho = [], 0.25
    while rho >= smallest:
        if n - criteria * fraction_count(rho, n) >= rank:
            grid.append(rho)
        rho /= 2
    if not grid and n - criteria < rank:
        raise ValueError(
            f"n_samples = {n} rows are too few for rank={rank}: at least {criteria} are dropped, "
            f"so {rank + criteria} are needed. Use more rows or a smaller rank."
        )
    return grid or [1.0 / n]


def choose_rho(
    problem: Problem,
    tol: float,
    max_iter: int | None = None,
    given: float | None = None,
    criteria: int = 2,
) -> Choice:
    """Run TORP at each rho of the grid (or the one `given`) and keep the best.

    Candidates are judged by the geometric mean of all rows' residuals. It needs no trimming
    level of its own (a subspace is good when most rows are near it, however far the others
    are) and it does not depend on units. Among the values that cannot be told from the best, by
    two standard errors of the paired difference, the smallest rho wins: it spares most good rows.
    """
    rhos = rho_grid(problem.n, problem.rank, criteria) if given is None else [given]
    runs, fits, residuals, floors, mus = [], [], [], [], []
    for rho in rhos:
        count = fraction_count(rho, problem.n)
        limit = max_iter or theorem_iterations(problem.n, tol)
        cut = Thresholds(n_residual=count, n_incoherence=count)
        run = inner_loop(problem, problem.rank, cut, max_iter=limit, tol=tol)
        fit = problem.finder.find(run.keep, problem.rank)
        E, R = fit.scores()
        runs.append(run)
        fits.append(fit)
        residuals.append(R)
        floors.append(fit.rounding(E, R))
        mus.append(float(np.max(E[run.keep]) * np.sqrt(problem.n / problem.rank)))
    logs = log_residuals(residuals, floors)
    best = min(range(len(rhos)), key=lambda i: (logs[i].mean(), -rhos[i]))
    chosen = max(i for i in range(len(rhos)) if _not_worse(logs[i], logs[best]))
    evidence = tuple(
        {
            "rho": rho,
            "log_residual": float(log.mean()),
            "standard_error": _standard_error(log - logs[best]),
            "n_kept": int(np.count_nonzero(run.keep)),
            "mu": mu,
        }
        for rho, log, run, mu in zip(rhos, logs, runs, mus, strict=True)
    )
    return Choice(rhos[chosen], runs[chosen], fits[chosen], max(1.0, mus[chosen]), evidence)


def log_residuals(residuals: list[Floats], floors: list[Floats]) -> list[Floats]:
    """Logarithm of each row's residual; residuals that are all rounding count as equal.

    The floor is that of the candidate that sees most sharply. Rows where it is zero are zero
    themselves; they say nothing and are left out.
    """
    floor = np.min(floors, axis=0)
    told = floor > 0
    if not told.any():
        return [np.zeros(1) for _ in residuals]
    return [np.log(np.maximum(R[told], floor[told])) for R in residuals]


def _standard_error(difference: Floats) -> float:
    return float(np.std(difference) / np.sqrt(len(difference)))


def _not_worse(log: Floats, best: Floats) -> bool:
    difference = log - best
    return bool(difference.mean() <= 2 * _standard_error(difference) + 1e-12)
