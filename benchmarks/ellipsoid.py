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
import json
import platform
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from torpca import project_to_ellipsoid

try:
    import threadpoolctl
except ImportError:  # then only the default number of threads is measured, and left unnamed
    threadpoolctl = None

RESULTS = Path(__file__).parent / "results" / "ellipsoid.json"
N_AXES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[10, 50, 100])
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()

    rows = []
    print(f"{'d':>4} {'outside':>8} {'threads':>8} {'X @ V, s':>9} {'ours, s':>9} {'ratio':>6}")
    for d in args.dimensions:
        X, V, scales = make_points(args.points, d)
        sizes = np.linalg.norm(X @ V / scales, axis=1)
        for radius in (np.median(sizes), 0.9 * sizes.min()):
            for threads in thread_counts():
                row = {"n": args.points, "d": d, "k": N_AXES, "threads": threads}
                row["outside"] = float(np.mean(sizes > radius))
                row |= measure(X, V, scales, radius, threads, args.repeats)
                rows.append(row)
                print(
                    f"{d:>4} {row['outside']:>8.0%} {threads or '?':>8} {row['product_s']:>9.3f} "
                    f"{row['ours_s']:>9.3f} {row['ratio']:>6.1f}",
                    flush=True,
                )
    environment = {"numpy": np.__version__, "python": platform.python_version()}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"environment": environment, "rows": rows}, indent=1) + "\n")


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
        times = np.array(
            [
                (
                    seconds(lambda: X @ V),
                    seconds(lambda: project_to_ellipsoid(X, V, scales, radius)),
                )
                for _ in range(repeats + 1)
            ]
        )[1:]  # the first round warms up
    product, ours = np.median(times, axis=0)
    ratio = np.median(times[:, 1] / times[:, 0])
    return {"product_s": float(product), "ours_s": float(ours), "ratio": float(ratio)}


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
