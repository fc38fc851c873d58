"""Clean Gaussian rows across the sizes at which the fit goes another way.

Run from the repository root:

    python -m benchmarks.clean             # 20 seeds, about half an hour on two cores
    python -m benchmarks.clean --seeds 3

No row is bad, so one in a hundred should be flagged, and the variances should be those of
scikit-learn's PCA and of the scores of the same rows. `strong` directions are ten times as long as
the others; k is below, at and above their number. A line holds if, over all seeds, .4 to 2 % of
the rows are flagged and no variance is off by more than 5 %.
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from benchmarks._report import report
from torpca import OutlierRobustPCA

# Many rows are learned from a part of them: from 10 000 on, or from 1600 on if they are longer
# than 700; few rows are worked on in their own span if they hold 2^20 numbers.
BORDERS = {
    "rows": [(n, d) for n in (9000, 9999, 10_000, 11_000) for d in (5, 10, 20, 50)],
    "features": [(n, d) for n in (1599, 1600) for d in (699, 700, 701)],
    "span": [(n, 1100) for n in (953, 954)],
}
STRONG = (0, 3)
COMPONENTS = ("auto", 1, 2, 3, 4, 6)
COLUMNS = ["border", "size", "strong", "k", "flagged", "of PCA's", "of the scores", "holds"]


def line(border: str, n: int, d: int, strong: int, k: int | str, seeds: int) -> dict[str, Any]:
    """What clean rows give, over the seeds."""
    flagged, of_pca, of_scores = [], [], []
    for seed in range(seeds):
        X = np.random.default_rng(seed).standard_normal((n, d))
        X[:, :strong] *= 10
        with warnings.catch_warnings():
            # Fifty directions that are all alike have no rank to find, and the fit says so.
            warnings.filterwarnings("ignore", ".*found no gap in the variances")
            model = OutlierRobustPCA(k).fit(X)
        plain = PCA(model.n_components_, svd_solver="covariance_eigh").fit(X).explained_variance_
        scores = np.var(model.transform(X), axis=0, ddof=1)
        flagged.append(float(np.mean(model.predict(X) == -1)))
        of_pca.extend(model.explained_variance_ / plain)
        of_scores.extend(model.explained_variance_ / scores)
    ratios = np.concatenate([of_pca, of_scores])
    # With as many components as features there is one distance, and half of one in a hundred.
    holds = min(flagged) >= 0.004 and max(flagged) <= 0.02 and np.max(np.abs(ratios - 1)) <= 0.05
    return {
        "border": border,
        "size": f"{n} x {d}",
        "strong": strong,
        "k": str(k),
        "flagged": f"{min(flagged):.2%} to {max(flagged):.2%}",
        "of PCA's": f"{min(of_pca):.3f} to {max(of_pca):.3f}",
        "of the scores": f"{min(of_scores):.3f} to {max(of_scores):.3f}",
        "holds": bool(holds),
    }


def lines(
    seeds: int,
    borders: Sequence[str] = tuple(BORDERS),
    components: Sequence[int | str] = COMPONENTS,
) -> Iterator[dict[str, Any]]:
    """One line for each size, number of strong directions and k."""
    for border in borders:
        for n, d in BORDERS[border]:
            for strong in STRONG:
                # Long rows without strong directions have no rank to find.
                chosen = components if d <= 50 else [k for k in components if k in (2, 3, 4)]
                for k in chosen:
                    if k == "auto" or int(k) < d:
                        yield line(border, n, d, strong, k, seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--borders", nargs="+", choices=tuple(BORDERS), default=tuple(BORDERS))
    args = parser.parse_args()
    found = list(lines(args.seeds, args.borders))
    report("clean", found, COLUMNS)
    missed = [entry for entry in found if not entry["holds"]]
    print(f"\n{len(found)} lines, {len(missed)} missed")
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
