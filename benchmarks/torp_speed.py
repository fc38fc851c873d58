"""Time of the paper's algorithms beside scikit-learn's PCA on the same rows.

Run from the repository root:

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.torp_speed    # a quarter of an hour
    python -m benchmarks.torp_speed --part growth             # TORP-G against n: two minutes

PCA chooses its own solver. The two take turns and the ratio is the median of the ratios of
neighbours, so that a slow spell hits both. "given" is what the algorithm is told: without it
parameters are found by a grid of eight values of rho. "error / oracle" is the sine of the largest
angle to the true subspace over that of PCA on the true good rows; it is left out where the
algorithm chose another rank.

The second part is the paper's open problem: TORP-G is bounded by O(n^2 d), a factor n more than
PCA, because each iteration may remove one row. All rows that qualify are removed at once here; how
often that takes is a matter of data, so it is counted while n grows at a fixed share of bad rows.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_info

from benchmarks._families import FAMILIES
from benchmarks._report import report
from benchmarks._timing import interleaved
from torpca import torp, torp_bin, torp_g
from torpca.datasets import OutlierSubspace, make_outlier_subspace
from torpca.metrics import subspace_error

RANK, NOISE = 5, 0.01
SHAPE = (200_000, 200)
# Share and family of bad rows, and rho: a little more than the share.
DATA = ((0.05, "mixed", 0.06), (0.0, "none", 0.01), (0.3, "cluster", 0.31))
GROWTH, FEATURES, SHARE = (3125, 12_500, 50_000, 200_000), 100, 0.01


def rows(n: int, d: int, share: float, family: str) -> OutlierSubspace:
    family = "mixed" if family == "none" else family
    return make_outlier_subspace(n, d, RANK, share, outliers=family, noise=NOISE, random_state=0)


def line(
    name: str, given: str, fit: Callable[[], Any], data: OutlierSubspace, repeats: int
) -> dict[str, Any]:
    X, V, bad, _ = data
    found = fit()
    times = interleaved([lambda: PCA(RANK).fit(X), fit], repeats)
    oracle = subspace_error(PCA(RANK).fit(X[~bad]).components_.T, V)
    whole = len(found.components) == RANK
    return {
        "algorithm": name,
        "given": given,
        "n x d": f"{X.shape[0]} x {X.shape[1]}",
        "bad rows": int(bad.sum()),
        "iterations": found.n_iter,
        "PCA, s": float(np.median(times[:, 0])),
        "ours, s": float(np.median(times[:, 1])),
        "ratio": float(np.median(times[:, 1] / times[:, 0])),
        "error / oracle": subspace_error(found.components.T, V) / oracle if whole else None,
        "threads": max(e["num_threads"] for e in threadpool_info() if e["user_api"] == "blas"),
    }


def calls(data: OutlierSubspace, rho: float) -> list[tuple[str, str, Callable[[], Any]]]:
    """Algorithm, what it is told, and the call."""
    X, mu = data.X, data.mu
    return [
        ("torp", "rho", lambda: torp(X, RANK, rho=rho)),
        ("torp_bin", "rho, mu", lambda: torp_bin(X, RANK, rho=rho, mu=mu)),
        ("torp_g", "mu, sigma", lambda: torp_g(X, RANK, mu=mu, sigma=NOISE)),
        ("torp_bin", "rho", lambda: torp_bin(X, RANK, rho=rho)),
        ("torp", "nothing", lambda: torp(X, RANK)),
        ("torp_bin", "nothing", lambda: torp_bin(X, RANK)),
        ("torp_g", "nothing", lambda: torp_g(X, RANK)),
    ]


def cost(repeats: int) -> Iterator[dict[str, Any]]:
    """Each algorithm, told its parameters and not, on three tables."""
    for share, family, rho in DATA:
        data = rows(*SHAPE, share, family)
        for name, given, fit in calls(data, rho):
            yield {"outliers": family, **line(name, given, fit, data, repeats)}


def growth(repeats: int) -> Iterator[dict[str, Any]]:
    """TORP-G on more and more rows, a fixed share of them bad."""
    for family in FAMILIES.values():
        for n in GROWTH:
            data = rows(n, FEATURES, SHARE, family)
            name, given, fit = calls(data, SHARE)[2]
            yield {"outliers": family, **line(name, given, fit, data, repeats)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--part", choices=["cost", "growth", "both"], default="both")
    args = parser.parse_args()
    lines = []
    for name, part in (("cost", cost), ("growth", growth)):
        if args.part in (name, "both"):
            for found in part(args.repeats):
                print(found, flush=True)
                lines.append(found)
    order = ["algorithm", "given", "outliers", *list(lines[0])[3:-1]]
    report("torp_speed", lines, order)


if __name__ == "__main__":
    main()
