"""Time and accuracy of OutlierRobustPCA beside scikit-learn's PCA on the same array.

Run from the repository root:

    python -m benchmarks.vs_pca            # every shape, spectrum and kind of bad rows: hours
    python -m benchmarks.vs_pca --quick    # float64, one kind of bad rows, fewer repeats
    python -m benchmarks.vs_pca --shapes 200000x200,5 --dtypes float32

PCA chooses its own solver. The two take turns, and the ratio is the median of the ratios of
neighbours. Errors are sines of the largest angle to the true directions; "to oracle" is our error
over that of PCA on the true good rows. Where there are no bad rows, "to PCA" is the sine of the
angle to the subspace of a full SVD and "variance lost" the share of its variance that ours does
not capture. "passes" counts how often all rows were read, "memory" is the largest extra memory as
a share of X.
"""

import argparse
import tracemalloc
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_info

from benchmarks._report import report
from benchmarks._spectra import OUTLIERS, SPECTRA, Rows, captured, make, make_sparse
from benchmarks._timing import interleaved
from torpca import OutlierRobustPCA
from torpca._sources.array import ArraySource
from torpca._sources.sparse import SparseSource
from torpca.metrics import subspace_error

SHAPES = (
    (2000, 50, 5),
    (1_000_000, 50, 5),
    (200_000, 200, 5),
    (200_000, 200, 20),
    (40_000, 1000, 10),
    (20_000, 2000, 10),
    (5000, 5000, 20),
    (500, 50_000, 10),
)
# ... and, as a CSR matrix with one entry in a hundred:
SPARSE = (100_000, 5000, 5)
# Bytes of tables that are over before one notices, and the largest ratios of times: of those, of
# short or sparse rows, of long rows, and of any in float32.
SMALL, SMALL_RATIO, SHORT_RATIO, LONG_RATIO, SINGLE_RATIO = 10e6, 30.0, 1.5, 1.0, 2.0
LONG = 500
COLUMNS = (
    "n x d, r",
    "type",
    "spectrum",
    "outliers",
    "PCA, s",
    "ours, s",
    "ratio",
    "passes",
    "memory",
    "ours",
    "PCA",
    "oracle",
    "to oracle",
    "to PCA",
    "variance lost",
    "holds",
)


def passes(X: Any, rank: int) -> float:
    """How often a fit reads all rows."""
    read = [0.0]
    kind = SparseSource if issparse(X) else ArraySource
    sweep, take = kind.sweep, kind.take

    def counting_sweep(self: Any, kernel: Any, keep: Any = None, native: Any = None) -> Any:
        if self.shape == X.shape:
            read[0] += 1.0 if keep is None else float(np.mean(keep))
        return sweep(self, kernel, keep, native)

    def counting_take(self: Any, rows: Any) -> Any:
        if self.shape == X.shape:
            read[0] += len(rows) / X.shape[0]
        return take(self, rows)

    kind.sweep, kind.take = counting_sweep, counting_take  # type: ignore
    try:
        fit(X, rank)
    finally:
        kind.sweep, kind.take = sweep, take  # type: ignore
    return read[0]


def fit(X: Any, rank: int) -> OutlierRobustPCA:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return OutlierRobustPCA(rank).fit(X)


def extra_memory(X: Any, rank: int) -> float:
    """Largest extra memory of a fit, as a share of X."""
    tracemalloc.start()
    fit(X, rank)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / size(X)


def size(X: Any) -> int:
    """Bytes of the numbers of X, and of their places if it is sparse."""
    return int(sum(a.nbytes for a in ((X.data, X.indices, X.indptr) if issparse(X) else (X,))))


def bound(X: Any) -> float:
    """Ratio that should hold."""
    if size(X) < SMALL:
        return SMALL_RATIO
    if X.dtype == np.float32:
        return SINGLE_RATIO
    return SHORT_RATIO if issparse(X) or X.shape[1] < LONG else LONG_RATIO


def line(shape: tuple[int, int, int], made: Rows, kind: tuple[str, str, str], repeats: int) -> Any:
    """Everything about one table of rows."""
    n, d, rank = shape
    X, basis, bad = made
    times = interleaved([lambda: PCA(rank).fit(X), lambda: fit(X, rank)], repeats)
    model, plain = fit(X, rank), PCA(rank).fit(X)
    # Exact, or converged to rounding.
    solver = "full" if n < d else "covariance_eigh" if d <= 2000 else "arpack"
    oracle = PCA(rank, svd_solver=solver).fit(X[~bad])
    errors = [subspace_error(m.components_.T.astype(float), basis) for m in (model, plain, oracle)]
    ratio = float(np.median(times[:, 1] / times[:, 0]))
    to_oracle = 1.0 if errors[0] < 1e-10 else errors[0] / errors[2]
    out: dict[str, Any] = {
        "n x d, r": f"{n} x {d}, {rank}",
        "type": kind[0],
        "spectrum": kind[1],
        "outliers": kind[2],
        "PCA, s": float(np.median(times[:, 0])),
        "ours, s": float(np.median(times[:, 1])),
        "ratio": ratio,
        "passes": passes(X, rank),
        "memory": extra_memory(X, rank),
        "ours": errors[0],
        "PCA": errors[1],
        "oracle": errors[2],
        "to oracle": to_oracle,
        "to PCA": None,
        "variance lost": None,
        "threads": max(e["num_threads"] for e in threadpool_info() if e["user_api"] == "blas"),
    }
    holds = ratio <= bound(X) and to_oracle <= 1.05
    if not bad.any():
        V, W = (m.components_.T.astype(float) for m in (model, oracle))
        out["to PCA"] = subspace_error(V, W)
        out["variance lost"] = 1 - captured(X, np.linalg.qr(V)[0]) / captured(X, np.linalg.qr(W)[0])
        digits = 1e-6 if X.dtype == np.float64 else 1e-4
        if kind[1] == "slow":
            holds &= out["variance lost"] <= digits
        else:
            holds &= out["to PCA"] <= digits
    return {**out, "holds": bool(holds)}


def lines(args: argparse.Namespace) -> Iterator[Any]:
    cases = [(shape, order) for shape in SHAPES for order in args.orders]
    for (shape, order), *kind in product(
        [*cases, (SPARSE, "csr")], args.dtypes, args.spectra, args.outliers
    ):
        if args.shapes and "{}x{},{}".format(*shape) not in args.shapes:
            continue
        dtype, spectrum, outliers = kind
        how = (*shape, spectrum, outliers, np.dtype(dtype).type)
        made = make_sparse(*how) if order == "csr" else make(*how, order)
        found = line(shape, made, (f"{dtype} {order}", spectrum, outliers), args.repeats)
        print({k: found[k] for k in COLUMNS}, flush=True)
        yield found
        del made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--shapes", nargs="*", default=[])
    parser.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    parser.add_argument("--orders", nargs="*", default=["C", "F"])
    parser.add_argument("--spectra", nargs="*", default=list(SPECTRA))
    parser.add_argument("--outliers", nargs="*", default=list(OUTLIERS))
    args = parser.parse_args()
    if args.quick:
        args.dtypes, args.orders, args.outliers = ["float64"], ["C"], ["5% mixed"]
        args.repeats = 3
    rows = list(lines(args))
    report("vs_pca", rows, COLUMNS)
    missed = [row for row in rows if not row["holds"]]
    print(f"\n{len(rows)} lines, {len(missed)} missed")


if __name__ == "__main__":
    main()
