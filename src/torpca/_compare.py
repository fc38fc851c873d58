"""Several methods on the same rows, side by side."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from torpca import rivals
from torpca._core.problem import check_center
from torpca._core.threshold import fraction_count
from torpca._core.torp import torp
from torpca._estimators.robust import OutlierRobustPCA
from torpca._ordinary import largest_angle, ordinary_pca
from torpca._sources.base import Floats, to_numpy
from torpca._words import whole
from torpca.rivals._door import Table, check_share, checked_table
from torpca.rivals._principal import residual_squares

# What is run when nothing is said: each of them takes about a second for 2000 x 50.
USUAL = ("OutlierRobustPCA", "PCA", "torp", "spherical_pca", "fms", "robpca")
# Share of the rows left out of the trimmed residual if the share of bad ones is not given.
TRIMMED = 0.5


def compare(
    X: Any,
    rank: int,
    methods: Sequence[str] | None = None,
    *,
    center: bool = True,
    random_state: Any = 0,
    fraction: float | None = None,
) -> Comparison:
    """Run several methods on the same rows and compare their results and times.

    There is no truth to compare with. Agreement between methods of different kinds is better
    evidence than small residuals. Bad rows on one line are near every subspace that contains the
    line, so a wrong subspace may have smaller residuals. If a method fails, this is reported, and
    the others still run.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    methods : sequence of str, optional
        "OutlierRobustPCA", "PCA", "torp" and names of functions in `torpca.rivals`. By default six
        fast methods.
    center : bool
        Whether to centre the rows, for methods with this option.
    random_state : int, Generator or None
        Seed of each method that uses random numbers.
    fraction : float in [0, 1/2), optional
        Share of bad rows, for methods that can use it (`rho` of `torp`). It is also the share of
        rows left out of the trimmed residual, which is one half by default.

    Returns
    -------
    Comparison
        Print it for a table.

    See Also
    --------
    torpca.metrics : how far a result is from the truth, if it is known.

    Examples
    --------
    >>> from torpca import compare
    >>> from torpca.datasets import make_outlier_subspace
    >>> made = make_outlier_subspace(500, 20, 2, 0.2, outliers="line", noise=0.01, random_state=0)
    >>> found = compare(made.X, 2, ["OutlierRobustPCA", "PCA", "spherical_pca"])
    >>> [row.method for row in found.table]
    ['OutlierRobustPCA', 'PCA', 'spherical_pca']
    >>> bool(found.angles[0, 1] > 80)  # ordinary PCA follows the bad rows
    True
    >>> found.table[0].n_dropped >= 100  # all bad rows, and one good one in a hundred
    True
    """
    table = checked_table(X, rank)
    share = None if fraction is None else check_share("fraction", fraction)
    given = {"center": check_center(center), "random_state": random_state}
    if share is not None:
        given["fraction"] = share
    trimmed = TRIMMED if share is None else share
    rows = [measured(name, run, X, table, given, trimmed) for name, run in chosen(methods).items()]
    return Comparison(tuple(rows), angles_between(rows), trimmed)


# ---- what comes back -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """Results of one method. If it failed, most of them are None."""

    method: str
    seconds: float
    rank: int | None = None
    """Number of directions found, at most the rank asked for."""
    n_dropped: int | None = None
    """Number of rows that are not in the support. For OutlierRobustPCA, of the outliers."""
    residual: float | None = None
    """Mean distance of the rows that were not dropped from the subspace."""
    trimmed_residual: float | None = None
    """Mean distance of the nearest rows from the subspace, for the same number of rows with all
    methods."""
    converged: bool | None = None
    error: str | None = None
    """Error that the method raised."""
    warnings: tuple[str, ...] = ()
    components: Any = field(default=None, repr=False, compare=False)
    """Orthonormal basis of the subspace, (rank, n_features), in NumPy."""
    dropped: Any = field(default=None, repr=False, compare=False)
    """Mask (n_samples,) of the rows that are not in the support, in NumPy."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of `compare`. Print it for a table."""

    table: tuple[Compared, ...]
    """One record per method."""
    angles: Floats
    """Largest principal angle between the subspaces of each pair of methods, in degrees,
    (n_methods, n_methods): 90 if one has more directions than the other, NaN if one failed."""
    share: float
    """Share of the rows, the farthest ones, that the trimmed residual leaves out."""

    def __str__(self) -> str:
        head = ["", "method", "seconds", "rank", "dropped", "residual", "trimmed", "converged"]
        lines = [[f"{i}", *_cells(row)] for i, row in enumerate(self.table, 1)]
        numbers = [f"{i}" for i in range(1, len(self.table) + 1)]
        angles = [
            [f"{i}", row.method, *("-" if np.isnan(a) else f"{a:.2g}" for a in line)]
            for i, (row, line) in enumerate(zip(self.table, self.angles, strict=True), 1)
        ]
        notes = [
            f"{row.method}: {note}"
            for row in self.table
            for note in ([row.error] if row.error else row.warnings)
        ]
        return "\n".join(
            [
                *_aligned([head, *lines]),
                "",
                "residual: mean distance of the rows that were not dropped from the subspace;",
                f"trimmed: mean distance of the nearest {1 - self.share:.0%} of all rows.",
                "",
                "Largest angle between two subspaces, in degrees:",
                *_aligned([["", "method", *numbers], *angles]),
                *([""] if notes else []),
                *notes,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain Python values, for JSON.

        Returns
        -------
        dict
            `share`, `methods` (a list of dicts) and `angles` (a list of lists, None for NaN).
        """
        return {
            "share": self.share,
            "methods": [_record(row) for row in self.table],
            "angles": [[None if np.isnan(a) else float(a) for a in line] for line in self.angles],
        }

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, one method per row, without the angles.

        Returns
        -------
        pandas.DataFrame
        """
        try:
            import pandas as pd  # noqa: PLC0415 (optional)
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas.") from error
        return pd.DataFrame([_record(row) for row in self.table]).set_index("method")


def _record(row: Compared) -> dict[str, Any]:
    arrays = ("components", "dropped")
    kept = {f.name: getattr(row, f.name) for f in fields(row) if f.name not in arrays}
    return {**kept, "warnings": list(row.warnings)}


def _cells(row: Compared) -> list[str]:
    if row.error is not None:
        return [row.method, f"{row.seconds:.3f}", *["-"] * 4, "failed"]
    return [
        row.method,
        f"{row.seconds:.3f}",
        f"{row.rank}",
        "-" if row.n_dropped is None else whole(row.n_dropped),
        f"{row.residual:.3g}",
        f"{row.trimmed_residual:.3g}",
        "yes" if row.converged else "no",
    ]


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of text whose cells stand in columns: the second to the left, others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i == 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


# ---- running -------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What a method says: directions (k, d), mean (d,) or None, rows it keeps (n,)."""

    components: Any
    mean: Any
    keep: Any
    converged: bool


Run = Callable[[Any, Table, Mapping[str, Any]], Found]


def chosen(methods: Sequence[str] | None) -> dict[str, Run]:
    """Methods by name, in the order given; an error that lists them if one is not there."""
    # What is loaded when it is first used must not count as time of the method.
    import sklearn.covariance  # noqa: F401, PLC0415 (its import is slow)

    there: dict[str, Run] = {"OutlierRobustPCA": run_ours, "PCA": run_pca, "torp": run_torp}
    for name in rivals.__all__:
        function = getattr(rivals, name)
        if inspect.isfunction(function) and "rank" in inspect.signature(function).parameters:
            there[name] = as_run(function)
    names = [methods] if isinstance(methods, str) else list(USUAL if methods is None else methods)
    unknown = [name for name in names if name not in there]
    if unknown or not names:
        what = f"there is no method {unknown[0]!r}" if unknown else "no method was given"
        raise ValueError(f"methods={methods!r}: {what}. Give one or more of {', '.join(there)}.")
    return {name: there[name] for name in names}


def as_run(function: Callable[..., Any]) -> Run:
    """Rival that is given those keywords it has."""
    accepted = inspect.signature(function).parameters

    def run(X: Any, table: Table, given: Mapping[str, Any]) -> Found:
        keywords = {name: value for name, value in given.items() if name in accepted}
        found = function(X, table.rank, **keywords)
        return Found(found.components, found.mean, found.support, found.converged)

    return run


def run_ours(X: Any, table: Table, given: Mapping[str, Any]) -> Found:
    """OutlierRobustPCA; the rows it calls outliers are those it drops."""
    model = OutlierRobustPCA(
        table.rank, center=given["center"], random_state=given["random_state"]
    ).fit(X)
    keep = model.outlier_type_ == "regular"
    return Found(model.components_, model.mean_, keep, model.converged_)


def run_pca(X: Any, table: Table, given: Mapping[str, Any]) -> Found:
    """Ordinary PCA, which drops nothing; without centring, the top right singular vectors."""
    found = ordinary_pca(table.source, table.rank, given["center"])
    return Found(found.V.T, found.mean, np.ones(len(table.X), dtype=bool), True)


def run_torp(X: Any, table: Table, given: Mapping[str, Any]) -> Found:
    """Algorithm 1, told the fraction of bad rows if it is known."""
    rho = given.get("fraction")
    rho = None if rho is None else max(rho, 1 / len(table.X))
    found = torp(X, table.rank, rho=rho, center=given["center"])
    return Found(found.components, found.mean, found.support, found.converged)


def measured(
    name: str, run: Run, X: Any, table: Table, given: Mapping[str, Any], share: float
) -> Compared:
    """Record of one run, whatever happens in it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            found, error = run(X, table, given), None
        except Exception as raised:  # the other methods are to be seen all the same
            found, error = None, f"{type(raised).__name__}: {raised}"
        seconds = time.perf_counter() - start
    said = tuple(dict.fromkeys(str(entry.message) for entry in caught))
    if found is None:
        return Compared(name, seconds, error=error, warnings=said)
    components = np.asarray(to_numpy(found.components), dtype=np.float64)
    basis = np.linalg.qr(components.T)[0]  # rounded to float32 they may be no longer orthonormal
    mean = np.zeros(table.X.shape[1]) if found.mean is None else to_numpy(found.mean) / table.unit
    distances = np.sqrt(residual_squares(table.X, mean, basis))
    keep = to_numpy(found.keep).astype(bool)
    n_nearest = len(distances) - fraction_count(share, len(distances))
    return Compared(
        method=name,
        seconds=seconds,
        rank=len(components),
        n_dropped=int(np.count_nonzero(~keep)),
        residual=_mean(distances[keep]) * table.unit,
        trimmed_residual=_mean(np.sort(distances)[:n_nearest]) * table.unit,
        converged=bool(found.converged),
        warnings=said,
        components=basis.T,
        dropped=~keep,
    )


def _mean(distances: Floats) -> float:
    return float(np.mean(distances)) if len(distances) else 0.0


def angles_between(rows: Sequence[Compared]) -> Floats:
    """Largest principal angle of each pair, in degrees."""
    angles = np.full((len(rows), len(rows)), np.nan)
    for i, one in enumerate(rows):
        for j, other in enumerate(rows[:i]):
            if one.error is None and other.error is None:
                angles[i, j] = angles[j, i] = largest_angle(one.components.T, other.components.T)
        angles[i, i] = 0.0 if one.error is None else np.nan
    return angles
