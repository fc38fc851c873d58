"""Time and accuracy of OutlierRobustPCA beside other robust methods on the same array.

Run from the repository root:

    python -m benchmarks.vs_rivals                                 # about ten minutes
    python -m benchmarks.vs_rivals --shapes 300x20,3 --repeats 2   # other sizes
    python -m benchmarks.vs_rivals --methods ours PCA ROBPCA

The methods take turns; "seconds" is the median, "to ours" the median of the ratios of neighbours.
One whose first fit takes more than a minute is not fitted again ("fits" is 1). "error" is the sine
of the largest angle to the true directions ("-": the method fails), "oracle" that of PCA on the
true good rows. PCA chooses its own solver, and TORP is told the fraction of bad rows. ROBPCA is
PcaHubert of R's rrcov with alpha = 0.5, timed inside R, which multiplies matrices with a library
of its own; robpy is the same method in Python, without its last step, which leaves the subspace as
it is. Either is left out where it is not installed.
"""

import argparse
import importlib.util
import logging
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_info

from benchmarks._report import report
from benchmarks._rivals import METHODS, Array, Method, of_package, robpca_fits
from benchmarks._spectra import Rows, make
from torpca.metrics import subspace_error

Fit = Callable[[Array, int, float], tuple[Array, float]]

SHAPES = ("2000x50,5", "10000x100,5", "2000x500,5")
KINDS = ("5% mixed", "30% cluster")
# Rivals of the package that look for a subspace of whole rows, beside those of `METHODS`.
PACKAGE = (
    "robpca",
    "ransac",
    "fms",
    "ste",
    "tyler",
    "dpcp",
    "coherence_pursuit",
    "hr_pca",
    "dhr_pca",
    "outlier_pursuit",
)
LIMIT = 60.0  # seconds
COLUMNS = (
    "n x d, r",
    "outliers",
    "method",
    "threads",
    "fits",
    "seconds",
    "to ours",
    "error",
    "oracle",
    "to oracle",
)


def blas_threads() -> int:
    return max(entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas")


def pca(X: Array, rank: int, fraction: float) -> Array:
    return PCA(rank).fit(X).components_.T


def robpy(X: Array, rank: int, fraction: float) -> Array:
    from robpy.pca import ROBPCA

    # The last step turns the axes within the subspace, and fails with new versions of scikit-learn.
    settings = {"alpha": 0.5, "final_MCD_step": False, "random_seed": 0}
    model = ROBPCA(n_components=rank, verbosity=logging.ERROR, **settings)
    return model.fit(X).components_


def timed(method: Method) -> Fit:
    def fit(X: Array, rank: int, fraction: float) -> tuple[Array, float]:
        start = time.perf_counter()
        V = method(X, rank, fraction)
        return V, time.perf_counter() - start

    return fit


def robpca_timed(X: Array, rank: int, fraction: float) -> tuple[Array, float]:
    return robpca_fits([X[:200], X], rank)[-1]  # the first fit in an R is slower than the others


def rrcov() -> str | None:
    """Versions of R's rrcov and of the library that multiplies matrices there, if installed."""
    if shutil.which("Rscript") is None:
        return None
    ask = 'cat(format(packageVersion("rrcov")), basename(extSoftVersion()["BLAS"]))'
    found = subprocess.run(["Rscript", "-e", ask], capture_output=True, text=True)
    return f"rrcov {found.stdout}" if found.returncode == 0 else None


def contestants() -> dict[str, Fit]:
    """What is installed, by name; prints what is not."""
    fits = {name: timed(method) for name, method in METHODS.items()}
    fits |= {name: timed(of_package(name, center=True)) for name in PACKAGE}
    fits["PCA"] = timed(pca)
    fits["ROBPCA"] = robpca_timed
    if (found := rrcov()) is None:
        del fits["ROBPCA"]
        print("ROBPCA is left out: R and its package rrcov are not installed")
    else:
        print(f"ROBPCA: {found}")
    if importlib.util.find_spec("robpy") is None:
        print("robpy is left out: it is not installed")
    else:
        fits["robpy"] = timed(robpy)
    return fits


def attempt(
    name: str, fit: Fit, X: Array, rank: int, fraction: float
) -> tuple[Array | None, float]:
    """Basis and seconds; no basis where the method fails."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fit(X, rank, fraction)
        except (ValueError, np.linalg.LinAlgError):
            if name == "ours":  # no exception is one of the claims
                raise
            return None, time.perf_counter() - start


def error(V: Array | None, basis: Array) -> float | None:
    if V is None or not np.isfinite(V).all() or not V.any():
        return None
    return float(subspace_error(V, basis))


def table(size: str, outliers: str, made: Rows, fits: dict[str, Fit], repeats: int) -> Any:
    """One line for each method."""
    X, basis, bad = made
    rank, fraction = basis.shape[1], float(np.mean(bad))
    oracle = error(METHODS["PCA"](X[~bad], rank, 0.0), basis)
    assert oracle is not None
    first = {name: attempt(name, fit, X, rank, fraction) for name, fit in fits.items()}
    again = {name: fit for name, fit in fits.items() if first[name][1] <= LIMIT}
    rounds = [
        {name: attempt(name, fit, X, rank, fraction)[1] for name, fit in again.items()}
        for _ in range(repeats)
    ]
    ours = [one["ours"] for one in rounds]
    for name, (V, once) in first.items():
        times = [one[name] for one in rounds] if name in again else [once]
        ratios = np.divide(times, ours if name in again else np.median(ours))
        found = error(V, basis)
        yield {
            "n x d, r": size,
            "outliers": outliers,
            "method": name,
            "threads": blas_threads(),
            "fits": len(times),
            "seconds": float(np.median(times)),
            "to ours": float(np.median(ratios)),
            "error": found,
            "oracle": oracle,
            "to oracle": None if found is None else found / oracle,
            "times": times,
        }


def lines(shapes: Sequence[str], kinds: Sequence[str], methods: Sequence[str], repeats: int) -> Any:
    known = contestants()
    fits = {name: fit for name, fit in known.items() if name in {"ours", *(methods or known)}}
    for shape in shapes:
        n, d, rank = (int(part) for part in shape.replace("x", ",").split(","))
        for outliers in kinds:
            made = make(n, d, rank, "gap", outliers)
            for found in table(f"{n} x {d}, {rank}", outliers, made, fits, repeats):
                print({column: found[column] for column in COLUMNS}, flush=True)
                yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--outliers", nargs="*", default=list(KINDS))
    parser.add_argument("--methods", nargs="*", default=[])
    args = parser.parse_args()
    rows = list(lines(args.shapes, args.outliers, args.methods, args.repeats))
    report("vs_rivals", rows, COLUMNS)


if __name__ == "__main__":
    main()
