"""Time of the start of OutlierRobustPCA, and of a whole fit, beside scikit-learn's PCA.

Run from the repository root:

    python -m benchmarks.start

The start is what is done before the iterations, on rows held in memory: candidate halves,
concentration steps, the choice. Fits and PCA take turns; times are medians, ratios medians of the
ratios of neighbours. "holds": at most 15 times PCA for the start at 2000 x 50 and 0.4 times at
150000 x 180, at most 5 times for the whole fit at 10000 x 200.
"""

import argparse
import time
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from benchmarks._changes import replaced
from benchmarks._report import report
from benchmarks._timing import interleaved
from torpca import OutlierRobustPCA
from torpca._robust import algorithm
from torpca.datasets import make_outlier_subspace

# Rows, features, components; largest ratios to PCA of the start and of the fit.
CASES = (
    (2000, 50, 5, 15.0, np.inf),
    (150_000, 180, 5, 0.4, np.inf),
    (10_000, 200, 5, np.inf, 5.0),
)
COLUMNS = ("n x d, r", "PCA, s", "start, s", "to PCA", "fit, s", "fit to PCA", "holds")


def line(n: int, d: int, k: int, start: float, fit: float, repeats: int) -> dict[str, Any]:
    """One table of rows with 5 % of bad ones."""
    X = make_outlier_subspace(n, d, k, 0.05, outliers="mixed", noise=0.01, random_state=0).X
    starts: list[float] = []
    found = algorithm.find_start

    def timed(*arguments: Any, **options: Any) -> Any:
        before = time.perf_counter()
        try:
            return found(*arguments, **options)
        finally:
            starts.append(time.perf_counter() - before)

    with replaced(algorithm, "find_start", timed):
        both = [lambda: PCA(k).fit(X), lambda: OutlierRobustPCA(k).fit(X)]
        times = interleaved(both, repeats)
    # The first fits only warm up.
    begun = np.array(starts[-repeats:])
    ratios = float(np.median(begun / times[:, 0])), float(np.median(times[:, 1] / times[:, 0]))
    return {
        "n x d, r": f"{n} x {d}, {k}",
        "PCA, s": float(np.median(times[:, 0])),
        "start, s": float(np.median(begun)),
        "to PCA": ratios[0],
        "fit, s": float(np.median(times[:, 1])),
        "fit to PCA": ratios[1],
        "holds": bool(ratios[0] <= start and ratios[1] <= fit),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    rows = [line(*case, args.repeats) for case in CASES]
    report("start", rows, COLUMNS)
    print(f"\n{len(rows)} lines, {sum(not row['holds'] for row in rows)} missed")


if __name__ == "__main__":
    main()
