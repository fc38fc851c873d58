"""Other methods, for the tables: each takes (X, rank, fraction) and returns a basis (d, rank)."""

import inspect
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from torpca import OutlierRobustPCA, rivals, torp
from torpca.rivals import mincovdet, spherical_pca

Array = NDArray[np.float64]
Method = Callable[[Array, int, float], Array]


def asks(name: str) -> bool:
    """Whether a rival of the package is told the fraction of bad rows."""
    return "fraction" in inspect.signature(getattr(rivals, name)).parameters


def of_package(name: str, **settings: object) -> Method:
    """A rival of the package, told the fraction of bad rows if it asks for it."""
    function = getattr(rivals, name)

    def method(X: Array, rank: int, fraction: float) -> Array:
        keywords = {"fraction": fraction} if asks(name) else {}
        return function(X, rank, **keywords, **settings).components.T

    return method


def ours(X: Array, rank: int, fraction: float) -> Array:
    return OutlierRobustPCA(rank).fit(X).components_.T


def pca(X: Array, rank: int, fraction: float) -> Array:
    return PCA(rank, svd_solver="full").fit(X).components_.T


def spherical(X: Array, rank: int, fraction: float) -> Array:
    return spherical_pca(X, rank).components.T


def torp_told(X: Array, rank: int, fraction: float) -> Array:
    """Algorithm 1 of the paper, told the fraction of bad rows."""
    rho = max(fraction, 1 / len(X))
    return torp(X, rank, rho=rho, center=True, max_iter=50).components.T


def min_cov_det(X: Array, rank: int, fraction: float) -> Array:
    return mincovdet(X, rank).components.T


ROBPCA = """
suppressMessages(library(rrcov))
for (file in commandArgs(TRUE)) {
  con <- file(file, "rb")
  size <- readBin(con, "integer", 5)
  X <- matrix(readBin(con, "double", size[1] * size[2]), size[1], size[2], byrow = TRUE)
  close(con)
  set.seed(size[5])
  time <- system.time(
    fit <- tryCatch(
      PcaHubert(X, k = size[3], kmax = max(25, size[3]), alpha = 0.5, mcd = size[4] == 1),
      error = function(e) NULL
    )
  )
  V <- if (is.null(fit)) matrix(0, size[2], size[3]) else getLoadings(fit)
  writeBin(as.double(V), paste0(file, ".out"))
  writeBin(time[["elapsed"]], paste0(file, ".time"))
  rows <- if (is.null(fit)) numeric(0) else c(fit@od, fit@sd, !fit@flag)
  writeBin(as.double(rows), paste0(file, ".rows"))
}
"""


class Hubert(NamedTuple):
    """A fit of PcaHubert: basis (d, rank), seconds, and three numbers (3, n) for the rows.

    These are orthogonal distance, score distance and whether the row is flagged. If it failed they
    are None and the basis is zero.
    """

    V: Array
    seconds: float
    rows: Array | None


def robpca(X: Array, rank: int, fraction: float) -> Array | None:
    """ROBPCA with alpha = 0.5: PcaHubert of R's rrcov; None where R is not installed."""
    if shutil.which("Rscript") is None:
        return None
    return robpca_fits([X], rank)[-1][0]


def robpca_fits(tables: Sequence[Array], rank: int) -> list[tuple[Array, float]]:
    """Basis and seconds of one fit after the other in one R; its start and the files are free."""
    return [(fit.V, fit.seconds) for fit in hubert_fits(tables, rank)]


def hubert_fits(
    tables: Sequence[Array], rank: int, mcd: bool = False, seeds: Sequence[int] | None = None
) -> list[Hubert]:
    """All there is of one fit after the other in one R.

    With `mcd`, its default, PcaHubert is MCD for at most kmax = 25 features and five rows for each.
    What it draws by chance it draws with a seed for each table, 0 if none are given.
    """
    seeds = [0] * len(tables) if seeds is None else seeds
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "robpca.R"
        script.write_text(ROBPCA)
        files = [Path(folder) / f"X{i}" for i in range(len(tables))]
        for file, X, seed in zip(files, tables, seeds, strict=True):
            with file.open("wb") as out:
                np.array([*X.shape, rank, mcd, seed], dtype=np.int32).tofile(out)
                np.ascontiguousarray(X, dtype=np.float64).tofile(out)
        command = ["Rscript", str(script), *map(str, files)]
        subprocess.run(command, check=True, capture_output=True)
        return [_read(str(file), X, rank) for file, X in zip(files, tables, strict=True)]


def _read(file: str, X: Array, rank: int) -> Hubert:
    rows = np.fromfile(f"{file}.rows")
    return Hubert(
        _loadings(np.fromfile(f"{file}.out"), X.shape[1], rank),
        float(np.fromfile(f"{file}.time")[0]),
        rows.reshape(3, len(X)) if len(rows) else None,
    )


def _loadings(V: Array, d: int, rank: int) -> Array:
    if len(V) != d * rank:  # fewer directions than asked for
        V = np.append(V, np.zeros(d * rank))[: d * rank]
    return V.reshape(rank, d).T


METHODS: dict[str, Method] = {
    "ours": ours,
    "PCA": pca,
    "spherical": spherical,
    "TORP, told": torp_told,
    "MCD": min_cov_det,
    "ROBPCA": robpca,
}

# Variants of rivals of the package, by what they are told beside the rank.
VARIANTS: dict[str, Method] = {
    "mincovdet, deterministic": of_package("mincovdet", start="deterministic"),
    "robpca, deterministic": of_package("robpca", start="deterministic"),
    "robpca, skew": of_package("robpca", skew=True),
}
