"""Parameters chosen by a coarse grid, as the paper proposes when they are not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from torpca._core.inner import Thresholds, inner_loop
from torpca._core.loop import Run
from torpca._core.problem import Problem, part_of
from torpca._core.subspace import Fit
from torpca._core.theorems import theorem_iterations, theorem_rho
from torpca._core.threshold import fraction_count
from torpca._sources.base import Floats

# Relative difference of residuals below which a row has no opinion.
UNDECIDED = 1e-9
# Numbers in the part of many rows that is asked, the fewest and most rows of it, and how many times
# as many there must be; it has to show each direction.
PART_NUMBERS, FEWEST, MOST, WORTH_IT, ROWS_PER_DIRECTION = 2**21, 4000, 10_000, 3, 100


@dataclass(frozen=True)
class Choice:
    """A value of rho, what TORP makes of it, and the evidence for it."""

    rho: float
    run: Run
    fit: Fit
    mu: float
    """Incoherence of the rows that were kept."""
    residual: float
    """Residual of a row in the median."""
    evidence: tuple[Mapping[str, float], ...]


def rho_grid(n: int, rank: int, criteria: int = 2) -> list[float]:
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
    *,
    rho_alone: bool = False,
) -> Choice:
    """Best rho of the grid (or the one `given`), and what TORP makes of it.

    Neighbours on the grid differ by a factor of two, so that of many rows some thousand tell which
    is best. What TORP makes of it is then found on all rows, unless `rho_alone` is wanted.
    """
    rhos = rho_grid(problem.n, problem.rank, criteria) if given is None else [given]
    count = int(np.clip(PART_NUMBERS // problem.source.shape[1], FEWEST, MOST))
    many = problem.n >= WORTH_IT * count and count >= ROWS_PER_DIRECTION * problem.rank
    if not many or len(rhos) == 1:
        return best_of(rhos, problem, tol, max_iter)
    choice = best_of(rhos, part_of(problem, count), tol, max_iter)
    if rho_alone:
        return choice
    return replace(best_of([choice.rho], problem, tol, max_iter), evidence=choice.evidence)


def best_of(rhos: list[float], problem: Problem, tol: float, max_iter: int | None) -> Choice:
    """Run TORP at each rho and keep the best.

    Two candidates are compared row by row: each row votes for the subspace it is nearer to. Most
    rows are good, so no trimming level is needed, and a few enormous rows cannot buy a direction
    of their own as they can with any mean of residuals. The best candidate is the one whose worst
    duel is the least lost. Among those that it does not beat by more than two standard errors,
    the smallest rho wins: it spares most good rows.
    """
    runs, fits = [], []
    for rho in rhos:
        count = fraction_count(rho, problem.n)
        limit = max_iter or theorem_iterations(problem.n, tol)
        cut = Thresholds(n_residual=count, n_incoherence=count)
        runs.append(inner_loop(problem, problem.rank, cut, max_iter=limit, tol=tol))
        fits.append(problem.finder.find(runs[-1].keep, problem.rank))
    residuals, mus, floor = [], [], np.full(problem.n, np.inf)
    # Directions and means come from sums over the rows. Their rounding is the same for every row,
    # so that one candidate's luck would have all rows vote for it (seen: residuals of 110 units
    # with 5500 rows from whose sums rows of 1e20 had left).
    summed = np.sqrt(problem.n)
    for run, fit, (E, R) in zip(runs, fits, problem.scorer.of_each(fits), strict=True):
        residuals.append(R)
        np.minimum(floor, summed * fit.rounding(E, R), out=floor)
        mus.append(float(np.max(E[run.keep]) * np.sqrt(problem.n / problem.rank)))
    medians = [float(np.median(R)) for R in residuals]
    logs = log_residuals(residuals, floor)
    duels = [[lead(a, b) for b in logs] for a in logs]
    best = max(range(len(rhos)), key=lambda i: (min(share for share, _ in duels[i]), i))
    chosen = max(i for i, (share, error) in enumerate(duels[best]) if share <= 2 * error)
    evidence = tuple(
        {
            "rho": rho,
            "log_residual": float(log.mean()),
            "lead": -share,
            "standard_error": error,
            "n_kept": int(np.count_nonzero(run.keep)),
            "mu": mu,
        }
        for rho, log, run, mu, (share, error) in zip(
            rhos, logs, runs, mus, duels[best], strict=True
        )
    )
    mu = max(1.0, mus[chosen])
    return Choice(rhos[chosen], runs[chosen], fits[chosen], mu, medians[chosen], evidence)


def log_residuals(residuals: list[Floats], floor: Floats) -> list[Floats]:
    """Logarithm of each row's residual; residuals that are all rounding count as equal.

    The `floor` (n,) is that of the candidate that sees most sharply. Rows where it is zero are
    zero themselves; they say nothing and are left out.
    """
    told = floor > 0
    if not told.any():
        return [np.zeros(1) for _ in residuals]
    return [np.log(np.maximum(R[told], floor[told])) for R in residuals]


def lead(a: Floats, b: Floats) -> tuple[float, float]:
    """Share of rows nearer to a's subspace less the share nearer to b's, and its standard error.

    `a` and `b` are logarithms of residuals; rows that rounding cannot tell apart abstain.
    """
    nearer = np.count_nonzero(a < b - UNDECIDED)
    farther = np.count_nonzero(a > b + UNDECIDED)
    return (nearer - farther) / len(a), float(np.sqrt(nearer + farther) / len(a))
