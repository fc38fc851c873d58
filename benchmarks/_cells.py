"""Every method on the same cells: how many it solves, in what time, and where it beats ours.

The cells are families a to e of bad rows at 5, 20 and 40 %, one seed each: small, 2000 x 50, with
and without noise, and large, 10 000 x 200, with noise. "At oracle" is a cell where log10 of the
error is within 0.2 of that of PCA on the true good rows, "exact" one without noise where it is
below 1e-8. Methods marked "told" are given the true share of bad rows. "x PCA" is the median, over
the large cells, of the time beside that of scikit-learn's covariance_eigh on the same rows.
"ahead" lists the cells with noise where a method's error is more than 5 % below ours.
"""

import inspect
import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from benchmarks._families import FAMILIES
from benchmarks._rivals import VARIANTS, Method, asks, of_package, ours
from torpca import rivals, torp
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

Array = NDArray[np.float64]

FRACTIONS = (0.05, 0.2, 0.4)
SIZES = {"small": (2000, 50, 5), "large": (10_000, 200, 5)}
NOISE, AT_ORACLE, EXACT, AHEAD = 0.01, 0.2, 1e-8, 0.95
# A method that takes longer than this on a large cell, in seconds, is run on no more of them.
TOO_LONG = 60.0
COLUMNS = ("method", "told", "at oracle", "exact", "large: at oracle", "x PCA", "ahead", "holds")


def pca(X: Array, rank: int, fraction: float) -> Array:
    return PCA(rank, svd_solver="covariance_eigh").fit(X).components_.T


def torp_told(X: Array, rank: int, fraction: float) -> Array:
    return torp(X, rank, rho=max(fraction, 1 / len(X)), max_iter=50).components.T


def takes_rank(function: object) -> bool:
    """Whether it is a method for subspaces: `ddc`, for one, is not."""
    return inspect.isfunction(function) and "rank" in inspect.signature(function).parameters


def methods() -> dict[str, Method]:
    """Every method there is, by name."""
    found = {"OutlierRobustPCA": ours, "PCA": pca, "torp": torp_told}
    functions = {name: getattr(rivals, name) for name in rivals.__all__}
    names = [name for name, function in functions.items() if takes_rank(function)]
    return {**found, **{name: of_package(name) for name in names}, **VARIANTS}


def error_and_seconds(
    method: Method, X: Array, rank: int, fraction: float, basis: Array
) -> tuple[float, float]:
    """Sine of the largest angle to the truth, 1 if the method fails, and its time."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            V = method(X, rank, fraction)
        except (ValueError, np.linalg.LinAlgError):
            return 1.0, time.perf_counter() - start
    seconds = time.perf_counter() - start
    if V.shape[1] != rank or np.linalg.matrix_rank(V) < rank:
        return 1.0, seconds
    return float(subspace_error(np.linalg.qr(V)[0], basis)), seconds


def cells(size: str, noise: float, chosen: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Errors and times of the chosen methods, a record for each cell."""
    n, d, r = SIZES[size]
    every, slow = methods(), set[str]()
    for family, fraction in product(FAMILIES, FRACTIONS):
        made = make_outlier_subspace(
            n, d, r, fraction, outliers=family, noise=noise, random_state=0
        )
        X, basis = made.X, made.basis
        oracle = error_and_seconds(pca, X[~made.outliers], r, 0.0, basis)[0]
        for name in chosen:
            if name in slow:
                continue
            # Neighbours in time: the machine is the same for both.
            base = np.median([error_and_seconds(pca, X, r, 0.0, basis)[1] for _ in range(3)])
            error, seconds = error_and_seconds(every[name], X, r, fraction, basis)
            if seconds > TOO_LONG:
                slow.add(name)
            record = {"size": size, "noise": noise, "cell": f"{family} {fraction:.0%}"}
            record |= {"method": name, "error": error, "oracle": oracle}
            record |= {"seconds": seconds, "x PCA": seconds / float(base)}
            print(record, flush=True)
            yield record


def summary(records: Sequence[dict[str, Any]], chosen: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A line for each method."""
    by_cell: dict[tuple[Any, ...], float] = {
        (r["size"], r["noise"], r["cell"], r["method"]): r["error"] for r in records
    }
    for name in chosen:
        mine = [r for r in records if r["method"] == name]
        noisy = [r for r in mine if r["noise"] > 0]
        counts = {size: count([r for r in noisy if r["size"] == size]) for size in SIZES}
        exact = [r["error"] < EXACT for r in mine if r["noise"] == 0]
        ahead = [
            f"{r['size']} {r['cell']}"
            for r in noisy
            if r["error"] < AHEAD * by_cell[r["size"], r["noise"], r["cell"], "OutlierRobustPCA"]
        ]
        yield {
            "method": name,
            "told": "yes" if name == "torp" or (name in rivals.__all__ and asks(name)) else "-",
            "at oracle": counts["small"],
            "exact": f"{sum(exact)}/{len(exact)}",
            "large: at oracle": counts["large"],
            "x PCA": float(np.median([r["x PCA"] for r in noisy if r["size"] == "large"])),
            "ahead": ", ".join(ahead) or "-",
            "holds": not ahead,
            "cells": mine,
        }


def count(records: Sequence[dict[str, Any]]) -> str:
    """How many cells are at the oracle, of how many."""
    at = [np.log10(max(r["error"], 1e-16)) <= np.log10(r["oracle"]) + AT_ORACLE for r in records]
    return f"{sum(at)}/{len(at)}"


def table(chosen: Sequence[str]) -> list[dict[str, Any]]:
    """Run the chosen methods, or all of them, and ours."""
    every = methods()
    chosen = list(every) if list(chosen) == ["all"] else list(chosen)
    unknown = sorted(set(chosen) - set(every))
    if unknown:
        raise SystemExit(f"no such method: {', '.join(unknown)}. There are: {', '.join(every)}")
    if "OutlierRobustPCA" not in chosen:
        chosen = ["OutlierRobustPCA", *chosen]
    runs = [("small", NOISE), ("small", 0.0), ("large", NOISE)]
    records = [record for size, noise in runs for record in cells(size, noise, chosen)]
    return list(summary(records, chosen))
