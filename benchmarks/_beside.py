"""Ours beside PcaHubert and MCD on the cells of `_second`, each a ratio to the oracle.

The oracle is PCA of the true good rows. Where these have a subspace of their own, the ratio is that
of the errors, the sine of the largest angle to it. Where they have none (curved, counts, no gap in
the spectrum) it is that of the variances left over: the mean square of the good rows' residuals,
about their own mean, to the subspace found and to the oracle's.

In the part `scaled` ours is told `scale=True`; the oracle is a StandardScaler and PCA on the good
rows, and the others get features divided by their median absolute deviation. A direction v found in
features divided by s is the direction s v of the features as they are, and s v / t where they are
divided by t: all subspaces, and the true one, are compared in the features that the oracle divided.
"""

import shutil
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import median_abs_deviation

from benchmarks._cache import Cache
from benchmarks._rivals import min_cov_det, pca, robpca_fits
from benchmarks._second import LEVERAGE, NEAR, SCALED, Cell, Table
from torpca import OutlierRobustPCA
from torpca.metrics import subspace_error

Array = NDArray[np.float64]
Line = dict[str, Any]

RIVALS = ("PCA", "PcaHubert", "MCD")
COLUMNS = (
    "part",
    "data",
    "size",
    "bad",
    "noise",
    "measure",
    "oracle",
    "ours",
    *RIVALS,
    "failed",
    "warned",
    "holds",
)
# Ratios of ours beyond these are failures: twice the error, a fifth more variance left over.
FAILED = {"sine": 2.0, "left over": 1.2}
# Ours may be this much above the oracle, and above the better of PcaHubert and MCD.
NEAR_ORACLE, NEAR_BEST = 1.1, 1.05
# With a larger error of the oracle there is nothing to claim.
USELESS = 0.5


class Judge:
    """Errors of subspaces found in a table, given the features' units they were found in."""

    def __init__(self, cell: Cell, table: Table) -> None:
        X, bad, basis = table
        self.rank = cell.size[2]
        self.units = np.std(X[~bad], axis=0) if cell.part == "scaled" else np.ones(X.shape[1])
        good = X[~bad] / self.units
        self.good = good - np.mean(good, axis=0)
        self.basis = None if basis is None else np.linalg.qr(basis / self.units[:, None])[0]
        self.measure = "left over" if basis is None else "sine"
        self.oracle = self.error(pca(good, self.rank, 0.0), self.units)

    def error(self, V: Array, units: Array | float = 1.0) -> float:
        """Error of span(V), V (d, r) found in features divided by `units`."""
        U, s, _ = np.linalg.svd(V * np.broadcast_to(units, len(V))[:, None], full_matrices=False)
        U, s, _ = np.linalg.svd(U[:, s > 1e-12 * s[0]] / self.units[:, None], full_matrices=False)
        if self.basis is not None:
            return float(subspace_error(U, self.basis))
        return float(np.mean(np.sum((self.good - (self.good @ U) @ U.T) ** 2, axis=1)))


def fit_ours(cell: Cell, X: Array) -> tuple[Array, Array | float, bool]:
    """Directions (d, r), what the features were divided by, and whether there was a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = OutlierRobustPCA(cell.size[2], scale=cell.part == "scaled").fit(X)
    units = 1.0 if model.scale_ is None else model.scale_
    return model.components_.T, units, any(issubclass(w.category, RuntimeWarning) for w in caught)


def rival_errors(
    cell: Cell, tables: Sequence[Table], judges: Sequence[Judge], name: str
) -> list[float | None]:
    """Error of a rival on each table; None where it cannot be run."""
    units = [
        median_abs_deviation(t.X, axis=0) if cell.part == "scaled" else np.ones(t.X.shape[1])
        for t in tables
    ]
    rows = [t.X / u for t, u in zip(tables, units, strict=True)]
    rank = cell.size[2]
    found: list[Array | None]
    if name == "PcaHubert":
        absent = shutil.which("Rscript") is None
        found = [None] * len(rows) if absent else [V for V, _ in robpca_fits(rows, rank)]
    elif name == "MCD" and len(rows[0]) < 2 * rows[0].shape[1]:
        found = [None] * len(rows)
    else:
        method = pca if name == "PCA" else min_cov_det
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [method(X, rank, 0.0) for X in rows]
    return [
        None if V is None else judge.error(V, u)
        for V, u, judge in zip(found, units, judges, strict=True)
    ]


def known_errors(
    cell: Cell, tables: Sequence[Table], judges: Sequence[Judge], name: str, cache: Cache
) -> list[float | None]:
    """Errors of a rival from the cache, or all of them anew in one call."""
    keys = [f"{cell.name}, seed {seed}, {name}" for seed in range(len(tables))]
    if not all(cache.has(key, t.X) for key, t in zip(keys, tables, strict=True)):
        found = rival_errors(cell, tables, judges, name)
        for key, table, error in zip(keys, tables, found, strict=True):
            if error is not None:
                cache.put(key, table.X, error)
        return found
    return [cache.known[key][1] for key in keys]


def line(cell: Cell, seeds: int, cache: Cache, rivals: Sequence[str] = RIVALS) -> Line:
    """Ratios to the oracle in one cell: the median over the seeds, the largest in brackets."""
    tables = [cell.draw(seed) for seed in range(seeds)]
    judges = [Judge(cell, table) for table in tables]
    fits = [fit_ours(cell, table.X) for table in tables]
    errors: dict[str, list[float | None]] = {
        "ours": [j.error(V, units) for j, (V, units, _) in zip(judges, fits, strict=True)]
    }
    for name in rivals:
        errors[name] = known_errors(cell, tables, judges, name, cache)
    ratios = {
        name: [e / j.oracle for e, j in zip(found, judges, strict=True) if e is not None]
        for name, found in errors.items()
    }
    measure = judges[0].measure
    failed = [ratio > FAILED[measure] for ratio in ratios["ours"]]
    warned = [w for f, (_, _, w) in zip(failed, fits, strict=True) if f]
    oracle = float(np.median([judge.oracle for judge in judges]))
    n, d, r = cell.size
    return {
        "part": cell.part,
        "data": cell.data,
        "size": f"{n} x {d}, r = {r}",
        "bad": f"{cell.fraction:.0%}",
        "noise": cell.noise,
        "measure": measure,
        "oracle": oracle,
        **{name: _shown(ratios.get(name, [])) for name in ("ours", *RIVALS)},
        "failed": f"{sum(failed)} of {seeds}",
        "warned": f"{sum(warned)} of {len(warned)}" if warned else "-",
        "holds": None if measure == "sine" and oracle > USELESS else holds(ratios),
        "ratios": ratios,
    }


def holds(ratios: dict[str, list[float]]) -> bool:
    """Ours is near the oracle, and near the better of PcaHubert and MCD."""
    middle = {name: float(np.median(found)) for name, found in ratios.items() if found}
    best = min((middle[name] for name in ("PcaHubert", "MCD") if name in middle), default=np.inf)
    return middle["ours"] <= min(NEAR_ORACLE, NEAR_BEST * best)


def _shown(ratios: Sequence[float]) -> str:
    return f"{np.median(ratios):.3g} ({max(ratios):.3g})" if ratios else "-"


def lines(
    cells: Sequence[Cell], cache: Cache, seeds: int = 5, alone: bool = False
) -> Iterator[Line]:
    """The lines of `cells`; with `alone` no other method is run."""
    for cell in cells:
        yield line(cell, seeds, cache, () if alone else RIVALS)


PARTS = {"near": NEAR, "leverage": LEVERAGE, "scaled": SCALED}
