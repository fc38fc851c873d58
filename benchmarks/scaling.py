"""How the time of OutlierRobustPCA grows with rows, features and components, beside PCA's.

Run from the repository root:

    python -m benchmarks.scaling              # about three minutes, under 4 GB
    python -m benchmarks.scaling --quick      # a tenth of the rows, fewer repeats
    python -m benchmarks.scaling --against n

Times are medians; all sizes of a sweep and both methods take turns. An exponent is the slope of a
least-squares line through log time against log size: over all sizes, and over the larger half of
them, where what every fit costs whatever the size counts for less. It stands on the line of the
largest size. The claim is that neither exponent of ours exceeds the limit. PCA chooses its own
solver. 5 % of the rows are bad.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_info

from benchmarks._report import report
from benchmarks._spectra import make
from benchmarks._timing import interleaved
from torpca import OutlierRobustPCA

# What grows: n, d, r with the sizes in one of the places, and the largest exponent claimed.
SWEEPS: dict[str, tuple[Sequence[tuple[int, int, int]], float]] = {
    "n": (
        [(n, 50, 5) for n in (10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)],
        1.05,
    ),
    "d": ([(40_000, d, 5) for d in (20, 50, 100, 200, 500, 1000, 2000)], 1.1),
    "r": ([(100_000, 300, r) for r in (1, 2, 5, 10, 20, 50, 100)], 1.1),
}
COLUMNS = (
    "against",
    "n",
    "d",
    "r",
    "threads",
    "ours, s",
    "PCA, s",
    "ratio",
    "exponent",
    "larger half",
    "PCA's",
    "PCA's larger half",
    "limit",
    "holds",
)


def blas_threads() -> int:
    return max(entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas")


def exponent(sizes: Sequence[int], times: Any) -> float:
    """Slope of log time on log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def sweep(against: str, shapes: Sequence[tuple[int, int, int]], limit: float, repeats: int) -> Any:
    """One line for each size, the exponents on the last."""
    calls: list[Any] = []
    for n, d, r in shapes:
        X = make(n, d, r, "gap", "5% mixed").X
        calls += [partial(OutlierRobustPCA(r).fit, X), partial(PCA(r).fit, X)]
    times = interleaved(calls, repeats)
    ours, pca = times[:, ::2], times[:, 1::2]
    sizes = [shape["ndr".index(against)] for shape in shapes]
    half = len(sizes) // 2
    for i, (n, d, r) in enumerate(shapes):
        yield {
            "against": against,
            "n": n,
            "d": d,
            "r": r,
            "threads": blas_threads(),
            "ours, s": float(np.median(ours[:, i])),
            "PCA, s": float(np.median(pca[:, i])),
            "ratio": float(np.median(ours[:, i] / pca[:, i])),
            **dict.fromkeys(COLUMNS[-6:]),
            **(summary(sizes, half, ours, pca, limit) if i == len(shapes) - 1 else {}),
            "times": {"ours": ours[:, i].tolist(), "PCA": pca[:, i].tolist()},
        }


def summary(sizes: Sequence[int], half: int, ours: Any, pca: Any, limit: float) -> dict[str, Any]:
    """The exponents, and whether ours are as claimed."""
    ours, pca = np.median(ours, axis=0), np.median(pca, axis=0)
    found = exponent(sizes, ours), exponent(sizes[half:], ours[half:])
    return {
        "exponent": found[0],
        "larger half": found[1],
        "PCA's": exponent(sizes, pca),
        "PCA's larger half": exponent(sizes[half:], pca[half:]),
        "limit": limit,
        "holds": max(found) <= limit,
    }


def lines(against: Sequence[str], quick: bool, repeats: int) -> Iterator[Any]:
    for name in against:
        shapes, limit = SWEEPS[name]
        if quick:
            shapes = [(n // 10, d, r) for n, d, r in shapes]
        for found in sweep(name, shapes, limit, repeats):
            print({column: found[column] for column in COLUMNS}, flush=True)
            yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--against", nargs="*", choices=list(SWEEPS), default=list(SWEEPS))
    args = parser.parse_args()
    rows = list(lines(args.against, args.quick, 3 if args.quick else args.repeats))
    report("scaling", rows, COLUMNS)
    missed = [row for row in rows if row["holds"] is False]
    print(f"\n{len(rows)} lines, {len(missed)} missed")


if __name__ == "__main__":
    main()
