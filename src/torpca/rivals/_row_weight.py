"""How much the outlier part of Outlier Pursuit weighs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from torpca._core.grid import lead, log_residuals
from torpca._sources.base import Floats
from torpca.rivals._gaps import leaving
from torpca.rivals._row_sparse import Rows, cut_rows, pursue
from torpca.rivals._span import number_of_directions, row_lengths

# A lam of the grid is tried on so many rows at most, to this accuracy, in so many iterations.
PART, COARSE, FEW = 4000, 1e-6, 150
# Rows this near to a subspace found so, as a share of their length, may be in it; and distances
# from two of them that agree to this share are equal.
NEAR, ALIKE = 1e-5, 1e-3
# Ratio of neighbours on the grid. Where bad rows lie on a line, the lam that leave them out and
# keep the weakest direction may differ by less than a factor of two.
RATIO = 2.0 ** (1 / 3)


def theorem_weight(fraction: float, n: int, rank: int) -> float:
    """3/(7 sqrt(fraction n)), for no larger fraction than the theorem allows, and at most 1."""
    covered = min(fraction, 9.0 / (9.0 + 121.0 * rank))
    return 1.0 if covered == 0.0 else min(1.0, 3.0 / (7.0 * float(np.sqrt(covered * n))))


def choose_weight(
    rows: Rows, rank: int, rng: np.random.Generator
) -> tuple[float, tuple[Mapping[str, float], ...]]:
    """The lam of a grid whose subspace most rows are nearest to, and the evidence for it.

    The grid goes up from one step below what the theorem gives for the most bad rows it covers. The
    least to try would be sqrt(rank/n), which is a little less: for `rank` directions Y needs as
    many singular values of one, and n rows of length lam have no more than n lam^2 in all.

    Candidates are compared as those of `torp` are: each row votes for the subspace it is nearer to,
    and most rows are good. The grid ends where no row has an outlier part, as then it has none for
    any larger lam, or with two candidates that have lost: rows that are let in stay in. Of those
    that the best one does not beat by more than two standard errors, the middle one is taken: a
    small lam lets directions tilt, a large one lets bad rows in.
    """
    n = len(rows.X)
    if n > PART:
        rows = rows.some(np.sort(rng.choice(n, PART, replace=False)))
    m = len(rows.X)
    k = number_of_directions(rows.X, rank)
    floor = NEAR * row_lengths(rows.X)
    tried: list[dict[str, float]] = []
    logs: list[Floats] = []
    lam = theorem_weight(1.0, m, rank) / RATIO
    while True:
        found = pursue(rows, lam, max_iter=FEW, tol=COARSE)
        n_outliers = int(np.count_nonzero(cut_rows(found.Y, lam)))
        # lam goes with 1/sqrt(n), so that the one for all rows is less than that for some.
        facts = {"lam": float(lam * np.sqrt(m / n)), "rank": found.rank, "n_outliers": n_outliers}
        tried.append(facts)
        away = log_residuals([leaving(rows.X, found.directions(k), rows.seen)], floor)[0]
        logs.append(ALIKE * np.round(away / ALIKE))
        duels = [[lead(a, b) for b in logs] for a in logs]
        best = max(range(len(logs)), key=lambda i: (min(share for share, _ in duels[i]), i))
        lost = [share > 2 * error for share, error in duels[best]]
        if n_outliers == 0 or lam >= 1.0 or (len(lost) > 1 and all(lost[-2:])):
            break
        lam = min(RATIO * lam, 1.0)
    equal = np.flatnonzero(~np.array(lost))
    chosen = equal[(len(equal) - 1) // 2]
    evidence = tuple(
        {**facts, "lead": float(-share), "standard_error": error}
        for facts, (share, error) in zip(tried, duels[best], strict=True)
    )
    return tried[chosen]["lam"], evidence
