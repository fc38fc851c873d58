"""The door: what the algorithms are given, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.frame import LARGEST, SMALLEST
from torpca._core.scores import Scorer
from torpca._core.subspace import SubspaceFinder
from torpca._core.threshold import fraction_count
from torpca._names import FROM_ZERO
from torpca._sources import RowSource, as_source
from torpca._sources.base import FEW_ROWS, Floats
from torpca._words import whole

# What to try when a number is refused.
REMEDY = {
    "rho": "Give a little more than the share of bad rows you expect.",
    "mu": "Leave mu out to have it estimated.",
    "eta": "Leave eta out to have it set as the theorem does.",
    "sigma": "Leave sigma out to have it estimated.",
}


@dataclass(frozen=True)
class Problem:
    """Checked input: finite rows, a possible rank, ways to find subspaces and to score rows."""

    source: RowSource
    rank: int
    center: bool
    finder: SubspaceFinder
    scorer: Scorer

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.source.shape[0]


def open_problem(X: Any, rank: Any, center: Any, callback: Any) -> Problem:
    """Check what was given; X is passed over once, to see that it is finite and how large it is."""
    source = as_source(X)
    rank = check_rank(rank, source.shape)
    check_center(center)
    if callback is not None and not callable(callback):
        raise TypeError(
            f"callback={callback!r} must be callable with one Iteration, or None. Give a function."
        )
    squares = source.squares()
    lengths = np.sqrt(squares)
    # Where squares say how long rows are, no need to look at entries one by one.
    if not (np.min(lengths) >= SMALLEST and np.max(lengths) <= LARGEST):
        lengths = check_finite(source)
    finder = SubspaceFinder(source, lengths, bool(center))
    return Problem(source, rank, bool(center), finder, Scorer(finder, rank, squares))


def check_center(center: Any) -> bool:
    """Check that `center` is True or False."""
    if not isinstance(center, bool | np.bool_):
        raise TypeError(f"center={center!r} must be True or False. Give one of these.")
    return bool(center)


def check_rank(rank: Any, shape: tuple[int, int]) -> int:
    """Check that rows of this `shape` can have a subspace of this rank."""
    n, d = shape
    if isinstance(rank, bool) or not isinstance(rank, Integral):
        raise TypeError(
            f"rank={rank!r} must be a whole number between 1 and {min(n, d)}. Try int(rank)."
        )
    if not 1 <= int(rank) <= min(n, d):
        raise ValueError(
            f"rank={rank} must be between 1 and min(n_samples, n_features) = {min(n, d)} for X of "
            f"shape {shape} (n_samples = {n}, n_features = {d}). Ask for a smaller rank."
        )
    return int(rank)


def part_of(problem: Problem, count: int) -> Problem:
    """The same problem on `count` of the rows, drawn with a fixed seed."""
    rows = np.random.default_rng(0).choice(problem.n, count, replace=False)
    some = problem.source.take(np.sort(rows).astype(np.intp))
    return open_problem(some, problem.rank, problem.center, None)


class NotFiniteError(ValueError):
    """Rows with entries that are not finite."""


def check_finite(source: RowSource) -> Floats:
    """Largest absolute entry of each row, (n_rows,), after checking that all of them are finite."""
    magnitudes = source.magnitudes()
    bad = np.flatnonzero(~np.isfinite(magnitudes))
    if len(bad):
        raise not_finite(source, bad)
    return magnitudes


def not_finite(source: RowSource, bad: npt.NDArray[np.intp]) -> NotFiniteError:
    """The error of the rows numbered `bad`, (n_bad,): where entries are not finite."""
    wrong = ~np.isfinite(source.take(bad[:FEW_ROWS]))
    first, worst = int(np.argmax(wrong[0])), int(np.argmax(np.count_nonzero(wrong, axis=0)))
    names = range(source.shape[1]) if source.feature_names is None else source.feature_names
    # A column that spoils most rows is worth less than they are.
    remedy = "drop or impute those rows first."
    if 2 * len(bad) > source.shape[0]:
        remedy = f"drop column {names[worst]!r}, where most are not, or impute them first."
    return NotFiniteError(
        f"Input X contains NaN or infinity in {whole(len(bad))} of {whole(source.shape[0])} rows, "
        f"first in row {bad[0]}, column {names[first]!r}. All entries must be finite: {remedy} "
        f"Rows are {FROM_ZERO}."
    )


def check_rho(rho: Any, n: int, rank: int, criteria: int) -> float:
    """Check rho in (0, 1/2), and that dropping `criteria` * ceil(rho n) rows leaves enough."""
    rho = check_real("rho", rho)
    if not 0 < rho < 0.5:
        raise ValueError(
            f"rho={rho} must lie in (0, 1/2): it is the fraction of rows dropped by each "
            "criterion. Give a little more than the share of bad rows you expect."
        )
    left = n - criteria * fraction_count(rho, n)
    if left < rank:
        raise ValueError(
            f"rho={rho} may drop all but {max(left, 0)} of n_samples = {n} rows, fewer than the "
            f"rank={rank} needs. Use a smaller rho or rank, or more rows."
        )
    return rho


def check_mu(mu: Any, n: int) -> float:
    """Check that mu can be an incoherence: mu^2 rank / n is a leverage, from rank / n to 1."""
    mu = check_real("mu", mu)
    if not 1.0 <= mu <= np.sqrt(n):
        raise ValueError(
            f"mu={mu:g} must be between 1 and sqrt(n_samples) = {np.sqrt(n):.4g} for "
            f"n_samples = {n}: mu^2 rank / n is the largest leverage of a good row. Leave mu out "
            "to have it estimated."
        )
    return mu


def check_real(name: str, value: Any, low: float = -np.inf) -> float:
    """Check that `value` is a finite real number, at least `low`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a real number. {_remedy(name)}")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        number = np.inf
    if not np.isfinite(number) or number < low:
        bound = "finite" if low == -np.inf else f"finite and at least {low:g}"
        raise ValueError(f"{name}={number} must be {bound}. {_remedy(name)}")
    return number


def check_count(name: str, value: Any) -> int:
    """Check that `value` is a whole number, at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be a whole number, at least 1. {_remedy(name)}")
    if value < 1:
        raise ValueError(f"{name}={value} must be at least 1. {_remedy(name)}")
    return int(value)


def _remedy(name: str) -> str:
    return REMEDY.get(name, f"Leave {name} out for its default.")


# A row may have entries as large as any float, but not most rows: they are added up.
TOO_LARGE = 1e305


def check_sums(magnitudes: Floats) -> None:
    """Raise an error if most rows have entries that cannot be added up."""
    if np.median(magnitudes) > TOO_LARGE:
        raise ValueError(
            f"Most rows of X have entries beyond {TOO_LARGE:g}, the largest "
            f"{np.max(magnitudes):.3g}: their sums are beyond every float. Divide X by a number "
            "of that size first."
        )
