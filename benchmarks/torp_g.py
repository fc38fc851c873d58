"""Cost of TORP-G in units of one ordinary PCA by full SVD, the paper's open problem.

Run from the repository root:

    python -m benchmarks.torp_g

The paper's TORP-G takes O(n^2 d), a factor n more than PCA. Here all rows that qualify are
removed at once and the Gram matrix is updated by the removed rows alone. The two contestants take
turns and the ratio is the median of the ratios of neighbours, so that a slow spell hits both.
"""

import argparse

import numpy as np
from sklearn.decomposition import PCA

from benchmarks._report import report
from benchmarks._timing import interleaved
from torpca import torp_g
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

RANK, NOISE = 5, 0.01
FAMILIES = ("isotropic", "line", "cluster", "small", "mixed")


def measure(n: int, d: int, family: str, repeats: int) -> dict[str, object]:
    """Time both with half of n/(4 mu^2 r) bad rows, as far as TORP-G goes in practice."""
    mu = make_outlier_subspace(n, d, RANK, 0.0, noise=NOISE, random_state=0).mu
    X, V, bad, mu = make_outlier_subspace(
        n, d, RANK, 1 / (8 * mu**2 * RANK), outliers=family, noise=NOISE, random_state=0
    )
    oracle = PCA(RANK, svd_solver="full").fit(X[~bad])
    found = torp_g(X, RANK, mu=mu, sigma=NOISE)
    times = interleaved(
        [
            lambda: PCA(RANK, svd_solver="full").fit(X),
            lambda: torp_g(X, RANK, mu=mu, sigma=NOISE),
        ],
        repeats,
    )
    return {
        "n x d": f"{n} x {d}",
        "outliers": family,
        "bad rows": int(bad.sum()),
        "iterations": found.n_iter,
        "PCA, s": float(np.median(times[:, 0])),
        "torp_g, s": float(np.median(times[:, 1])),
        "ratio": float(np.median(times[:, 1] / times[:, 0])),
        "error / oracle": subspace_error(found.components.T, V)
        / subspace_error(oracle.components_.T, V),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    rows = [measure(20_000, 100, family, args.repeats) for family in FAMILIES]
    report("torp_g", rows, list(rows[0]))


if __name__ == "__main__":
    main()
