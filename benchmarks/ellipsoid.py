"""Time of `project_to_ellipsoid` in units of one product X @ V, the least any method must do.

Run from the repository root:

    python -m benchmarks.ellipsoid

Points are Gaussian with the shape of the ellipsoid, plus noise off the subspace. The radius decides
how many of them lie outside: half, where most are barely out, or all. The two contestants take
turns, and the ratio is the median of the ratios of neighbours, so that a slow spell hits both.

The product is spread over all threads of the BLAS library and the search for multipliers is not,
so the ratio grows with the number of threads; the table shows one thread beside all of them.
"""

import argparse
from contextlib import nullcontext

import numpy as np

from benchmarks._report import report
from benchmarks._timing import interleaved
from torpca import project_to_ellipsoid

try:
    import threadpoolctl
except ImportError:  # then only the default number of threads is measured, and left unnamed
    threadpoolctl = None

N_AXES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[10, 50, 100])
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()

    rows = []
    for d in args.dimensions:
        X, V, scales = make_points(args.points, d)
        sizes = np.linalg.norm(X @ V / scales, axis=1)
        for radius in (np.median(sizes), 0.9 * sizes.min()):
            for threads in thread_counts():
                row = {"points": args.points, "d": d, "k": N_AXES, "threads": threads}
                row["outside"] = float(np.mean(sizes > radius))
                rows.append(row | measure(X, V, scales, radius, threads, args.repeats))
    report("ellipsoid", rows, list(rows[0]))


def make_points(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(d, N_AXES)))[0]
    scales = np.geomspace(1.0, 0.1, N_AXES)
    X = 0.1 * rng.normal(size=(n, d))
    X += (rng.normal(size=(n, N_AXES)) * scales) @ V.T
    return X, V, scales


def thread_counts() -> list[int | None]:
    if threadpoolctl is None:
        return [None]
    pools = threadpoolctl.threadpool_info()
    return sorted({1} | {p["num_threads"] for p in pools if p["user_api"] == "blas"})


def measure(
    X: np.ndarray,
    V: np.ndarray,
    scales: np.ndarray,
    radius: float,
    threads: int | None,
    repeats: int,
) -> dict[str, float]:
    limit = threadpoolctl.threadpool_limits(threads, "blas") if threads else nullcontext()
    with limit:
        times = interleaved(
            [lambda: X @ V, lambda: project_to_ellipsoid(X, V, scales, radius)], repeats
        )
    product, ours = np.median(times, axis=0)
    ratio = np.median(times[:, 1] / times[:, 0])
    return {"X @ V, s": float(product), "ours, s": float(ours), "ratio": float(ratio)}


if __name__ == "__main__":
    main()
