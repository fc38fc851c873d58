"""The door: what the algorithms are given, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from torpca._core.subspace import SubspaceFinder
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats


@dataclass(frozen=True)
class Problem:
    """Checked input of an algorithm: finite rows, a possible rank, a way to find subspaces."""

    source: RowSource
    rank: int
    center: bool
    finder: SubspaceFinder

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.source.shape[0]


def open_problem(X: Any, rank: Any, center: bool) -> Problem:
    """Check `X` and `rank`; X is passed over once, to see that it is finite and how large it is."""
    source = as_source(X)
    n, d = source.shape
    if isinstance(rank, bool) or not isinstance(rank, Integral):
        raise TypeError(f"rank={rank!r} must be a whole number between 1 and {min(n, d)}.")
    if not 1 <= int(rank) <= min(n, d):
        raise ValueError(
            f"rank={rank} must be between 1 and min(n_samples, n_features) = {min(n, d)} for X of "
            f"shape {source.shape} (n_samples = {n}, n_features = {d}). Ask for a smaller rank."
        )
    magnitudes = check_finite(source)
    return Problem(source, int(rank), bool(center), SubspaceFinder(source, magnitudes, center))


def check_finite(source: RowSource) -> Floats:
    """Largest absolute entry of each row, (n_rows,), after checking that all of them are finite."""
    magnitudes = source.magnitudes()
    bad = np.flatnonzero(~np.isfinite(magnitudes))
    if len(bad):
        raise ValueError(
            f"Input X contains NaN or infinity in {len(bad)} of {source.shape[0]} rows, first in "
            f"row {bad[0]}. All entries must be finite: drop or impute those rows first."
        )
    return magnitudes


def check_rho(rho: Any, n: int, rank: int, criteria: int) -> float:
    """Check rho in (0, 1/2), and that dropping `criteria` * ceil(rho n) rows leaves enough."""
    rho = check_real("rho", rho)
    if not 0 < rho < 0.5:
        raise ValueError(
            f"rho={rho} must lie in (0, 1/2): it is the fraction of rows dropped by each "
            "criterion. Give a little more than the share of bad rows you expect."
        )
    left = n - criteria * max(1, int(np.ceil(rho * n - 1e-9)))
    if left < rank:
        raise ValueError(
            f"rho={rho} may drop all but {max(left, 0)} of n_samples = {n} rows, fewer than the "
            f"rank={rank} needs. Use a smaller rho or rank, or more rows."
        )
    return rho


def check_real(name: str, value: Any, low: float = -np.inf) -> float:
    """Check that `value` is a finite real number, at least `low`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a real number.")
    if not np.isfinite(float(value)) or float(value) < low:
        bound = "finite" if low == -np.inf else f"finite and at least {low:g}"
        raise ValueError(f"{name}={value} must be {bound}.")
    return float(value)


def check_count(name: str, value: Any) -> int:
    """Check that `value` is a whole number, at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be a whole number, at least 1.")
    if value < 1:
        raise ValueError(f"{name}={value} must be at least 1.")
    return int(value)
