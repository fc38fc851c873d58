"""Generated data with a known answer: good rows near a subspace, and some bad rows.

Each family of bad rows is easy for some robust methods and fatal for others.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .metrics import incoherence

__all__ = ["OutlierSubspace", "make_outlier_subspace"]

Array = NDArray[np.float64]
T = TypeVar("T")
Seed = int | np.random.Generator | np.random.RandomState | None

LINE_LENGTH = 1000.0  # line outliers, in lengths of good rows
SMALL_LENGTH = 0.3  # small outliers, in lengths of good rows
CLUSTER_SPREAD = 0.01  # distance from the cluster's centre, in lengths of good rows
ADVERSARIAL_SHARE = 0.02  # of the good rows carry all of the adversarial noise


@dataclass(frozen=True, eq=False)
class OutlierSubspace:
    """Rows near a subspace, some of them replaced by bad rows, and the truth about them.

    ``X = low_rank + noise + bad rows + mean``. Unpacks as ``X, basis, outliers, mu``.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The data.
    basis : ndarray of shape (d, r)
        Orthonormal columns spanning the rows of `low_rank`.
    outliers : ndarray of bool of shape (n,)
        True at the bad rows.
    mu : float
        Incoherence of `low_rank`, with n counting all rows.
    low_rank : ndarray of shape (n, d)
        The paper's L: rank-r part of the good rows, without the mean; zero at the bad rows.
    noise : ndarray of shape (n, d)
        The paper's N: the rest of the good rows; zero at the bad rows.
    mean : ndarray of shape (d,)
        Vector that was added to every row, good or bad.
    """

    X: Array
    basis: Array
    outliers: NDArray[np.bool_]
    mu: float
    low_rank: Array
    noise: Array
    mean: Array

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.basis, self.outliers, self.mu))


def make_outlier_subspace(
    n: int,
    d: int,
    r: int,
    fraction: float,
    *,
    outliers: str = "isotropic",
    noise: float = 0.0,
    noise_kind: str = "gaussian",
    mean: ArrayLike = 0.0,
    singular_values: ArrayLike | None = None,
    random_state: Seed = None,
) -> OutlierSubspace:
    """Generate rows near a random r-dimensional subspace, and replace some by bad rows.

    Good rows have independent Gaussian coefficients on a random orthonormal basis. With the same
    integer `random_state`, data sets that differ only in `outliers` have the same good rows. Data
    sets that differ only in `noise`, `noise_kind`, `mean` or `fraction` have good rows with the
    same signal, and a larger `fraction` replaces more of the same rows.

    Parameters
    ----------
    n : int
        Number of rows (samples), good and bad.
    d : int
        Number of columns (features).
    r : int
        Dimension of the subspace, at most the number of good rows and at most `d`.
    fraction : float
        Fraction of bad rows, in [0, 1). There are ``round(fraction * n)`` bad rows, but at least
        one if it is positive, at random positions.
    outliers : str, default="isotropic"
        Family of the bad rows, by name or by its letter in the benchmarks:

        - "isotropic" or "a": directions uniform in all of R^d, lengths as for good rows;
        - "line" or "b": 1000 times longer, all on one side of one random line;
        - "cluster" or "c": a tight cluster in a random plane orthogonal to the subspace. Its
          centre is as far out as a good row, and the rows are within about 1 % of that distance
          around it;
        - "small" or "d": isotropic, 0.3 times as long as good rows;
        - "mixed" or "e": a third each of line, cluster and small.
    noise : float, default=0.0
        Root-mean-square entry of the noise added to good rows.
    noise_kind : {"gaussian", "uniform", "adversarial"}, default="gaussian"
        - "gaussian": independent N(0, noise^2) entries. `low_rank` is the signal before noise
          (Theorem 3 of the paper);
        - "uniform": independent, bounded entries;
        - "adversarial": all noise lies along one direction orthogonal to the signal, on the 2 % of
          good rows furthest out along the weakest signal direction, in proportion to their
          coefficient there. So a few rows tilt that direction as far as they can.

        For the last two, `low_rank` is the best rank-r approximation of signal plus noise, and
        `basis`, `mu` and `noise` follow from it (Theorem 2). The Frobenius norm of the added noise
        is then ``noise * sqrt(n_good * d)`` (on average for "uniform"). The returned `noise` is
        what the approximation leaves over, so its norm is smaller.
    mean : float or array-like of shape (d,), default=0.0
        Vector to add to every row, good or bad. A number means a vector in a random direction, with
        this length in multiples of the root-mean-square length of the signal.
    singular_values : array-like of shape (r,), optional
        Standard deviations of the coefficients, positive. By default 1, 1/sqrt(2), ...,
        1/sqrt(r).
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Source of random numbers. The same int gives the same data, while a generator advances.

    Returns
    -------
    OutlierSubspace
        The data and the truth about it; unpacks as ``X, basis, outliers, mu``.

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import frobenius_residual
    >>> X, V, bad, mu = make_outlier_subspace(200, 10, 2, 0.1, outliers="line", random_state=0)
    >>> X.shape, V.shape, int(bad.sum())
    ((200, 10), (10, 2), 20)
    >>> frobenius_residual(V, X[~bad], relative=True) < 1e-14
    True
    """
    n, d, r = (_check_size(name, size) for name, size in (("n", n), ("d", d), ("r", r)))
    n_bad = _count_bad(n, d, r, fraction)
    noise = _check_real("noise", noise)
    draw_bad_rows = _look_up(_FAMILIES | _LETTERS, "outliers", outliers)
    draw_noise = _look_up(_NOISES, "noise_kind", noise_kind)
    scales = _check_scales(singular_values, r)
    # One stream for each part of the data, so that changing one part leaves the others alone.
    position_rng, signal_rng, noise_rng, bad_rng, mean_rng = _streams(random_state, 5)

    bad_at = position_rng.permutation(n)[:n_bad]
    bad = np.zeros(n, dtype=bool)
    bad[bad_at] = True

    basis = np.linalg.qr(signal_rng.standard_normal((d, r)))[0]
    # Drawn for all n rows, so that a good row is the same one whichever others are bad.
    unscaled = signal_rng.standard_normal((n, r))
    unscaled[bad] = 0.0
    coefficients = unscaled * scales
    low_rank = coefficients @ basis.T
    mu = incoherence(unscaled, r)  # spans the columns of low_rank, and is better conditioned

    rest = np.zeros((n, d))
    if noise > 0:
        rest[~bad] = noise * draw_noise(noise_rng, coefficients, basis, n - n_bad)[~bad]
    X = low_rank + rest
    if noise > 0 and noise_kind != "gaussian":
        low_rank, basis, mu = _best_approximation(X, ~bad, r)
        rest = X - low_rank

    X[bad_at] = draw_bad_rows(bad_rng, n_bad, scales, basis)
    shift = _mean_vector(mean_rng, mean, scales, d)
    X += shift
    return OutlierSubspace(X, basis, bad, mu, low_rank, rest, shift)


# Families of bad rows: (rng, number of rows m, scales (r,), basis (d, r)) -> rows (m, d).
Family = Callable[[np.random.Generator, int, Array, Array], Array]


def _isotropic(rng: np.random.Generator, m: int, scales: Array, basis: Array) -> Array:
    """Uniform directions, lengths as those of good rows."""
    return _lengths(rng, m, scales)[:, None] * _directions(rng, m, len(basis))


def _line(rng: np.random.Generator, m: int, scales: Array, basis: Array) -> Array:
    """Very long rows, all on one side of one line."""
    return LINE_LENGTH * _lengths(rng, m, scales)[:, None] * _directions(rng, 1, len(basis))


def _cluster(rng: np.random.Generator, m: int, scales: Array, basis: Array) -> Array:
    """A tight cluster in a plane orthogonal to the subspace."""
    plane = _orthogonal_directions(rng, basis, 2, "outliers='cluster' or 'mixed'")
    # The first of two random directions is as good a place for the centre as any.
    spread = CLUSTER_SPREAD / math.sqrt(2) * rng.standard_normal((m, 2))
    return _rms_length(scales) * (np.array([1.0, 0.0]) + spread) @ plane.T


def _small(rng: np.random.Generator, m: int, scales: Array, basis: Array) -> Array:
    """Isotropic, but shorter than good rows."""
    return SMALL_LENGTH * _isotropic(rng, m, scales, basis)


def _mixed(rng: np.random.Generator, m: int, scales: Array, basis: Array) -> Array:
    """A third each of line, cluster and small, the first ones taking what is left over."""
    families = (_line, _cluster, _small)
    sizes = [(m + 2 - i) // 3 for i in range(3)]
    return np.vstack([f(rng, k, scales, basis) for f, k in zip(families, sizes, strict=True)])


_FAMILIES: dict[str, Family] = {
    "isotropic": _isotropic,
    "line": _line,
    "cluster": _cluster,
    "small": _small,
    "mixed": _mixed,
}
_LETTERS = dict(zip("abcde", _FAMILIES.values(), strict=True))

# Kinds of noise: (rng, coefficients (n, r) zero at bad rows, basis (d, r), number of good rows)
# -> noise (n, d) whose good rows have root-mean-square entry 1.
Noise = Callable[[np.random.Generator, Array, Array, int], Array]


def _gaussian(rng: np.random.Generator, coefficients: Array, basis: Array, n_good: int) -> Array:
    """Independent standard normal entries."""
    return rng.standard_normal((len(coefficients), len(basis)))


def _uniform(rng: np.random.Generator, coefficients: Array, basis: Array, n_good: int) -> Array:
    """Independent uniform entries."""
    return math.sqrt(3) * rng.uniform(-1.0, 1.0, (len(coefficients), len(basis)))


def _adversarial(rng: np.random.Generator, coefficients: Array, basis: Array, n_good: int) -> Array:
    """One direction off the subspace, on the rows with most of the weakest direction."""
    direction = _orthogonal_directions(rng, basis, 1, "noise_kind='adversarial'")
    weakest = coefficients[:, np.abs(coefficients).sum(axis=0).argmin()]
    n_rows = _at_least_one(ADVERSARIAL_SHARE, n_good)
    furthest = np.argsort(-np.abs(weakest), kind="stable")[:n_rows]
    weights = np.zeros(len(weakest))
    # Proportional to the coefficient: of all weights of one norm on these rows, these have the
    # largest product with the coefficients, which is what tilts the direction.
    weights[furthest] = weakest[furthest] / np.abs(weakest).max()
    weights *= math.sqrt(n_good * len(basis)) / np.linalg.norm(weights)
    return weights[:, None] * direction.T


_NOISES: dict[str, Noise] = {
    "gaussian": _gaussian,
    "uniform": _uniform,
    "adversarial": _adversarial,
}


def _best_approximation(D: Array, good: NDArray[np.bool_], r: int) -> tuple[Array, Array, float]:
    """Best rank-r approximation of the good rows of D, zero elsewhere, its basis and its mu."""
    U, s, Vt = np.linalg.svd(D[good], full_matrices=False)
    left = np.zeros((len(D), r))
    left[good] = U[:, :r]
    return (left * s[:r]) @ Vt[:r], Vt[:r].T.copy(), incoherence(left, r)


def _mean_vector(rng: np.random.Generator, mean: ArrayLike, scales: Array, d: int) -> Array:
    """The vector (d,) to add to every row."""
    if np.ndim(mean) == 0:
        length = _check_real("mean", mean) * _rms_length(scales)
        return length * _directions(rng, 1, d).ravel()
    vector = np.array(mean, dtype=np.float64)
    if vector.shape != (d,) or not np.isfinite(vector).all():
        raise ValueError(
            f"mean must be a length or a finite vector of shape ({d},); got shape {vector.shape}"
            f"{'' if np.isfinite(vector).all() else ' with NaN or infinity'}. "
            "Give one entry for each of the d columns."
        )
    return vector


def _lengths(rng: np.random.Generator, m: int, scales: Array) -> Array:
    """Lengths (m,) distributed as those of good rows."""
    unit = scales.max()  # so that squares neither overflow nor vanish
    coefficients = rng.standard_normal((m, len(scales))) * (scales / unit)
    lengths: Array = unit * np.linalg.norm(coefficients, axis=1)
    return lengths


def _rms_length(scales: Array) -> float:
    """Root-mean-square length of good rows."""
    return math.hypot(*scales)


def _directions(rng: np.random.Generator, m: int, d: int) -> Array:
    """Unit rows (m, d), uniform on the sphere."""
    rows = rng.standard_normal((m, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _orthogonal_directions(rng: np.random.Generator, basis: Array, k: int, what: str) -> Array:
    """Random orthonormal columns (d, k), orthogonal to those of basis."""
    d, r = basis.shape
    if d - r < k:
        raise ValueError(
            f"{what}: {k} dimensions orthogonal to the subspace are needed, but d={d} and r={r} "
            f"leave {d - r}. Take d >= {r + k}, a smaller r, or another kind."
        )
    together = np.hstack([basis, rng.standard_normal((d, k))])
    return np.linalg.qr(together)[0][:, r:]


def _streams(random_state: Seed, k: int) -> list[np.random.Generator]:
    """Independent generators, k of them, seeded by draws from random_state."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**63, dtype=np.int64))
    if random_state is not None and not isinstance(random_state, (Integral, np.random.Generator)):
        raise TypeError(
            "random_state must be None, an integer, a numpy.random.Generator or a "
            f"numpy.random.RandomState; got {random_state!r}. Try random_state=0."
        )
    if isinstance(random_state, Integral) and random_state < 0:
        raise ValueError(
            f"random_state must not be negative; got {random_state}. Try random_state=0."
        )
    rng = np.random.default_rng(random_state)
    # Seeds drawn rather than rng.spawn: a generator put back to an earlier state repeats itself.
    return [np.random.default_rng(seed) for seed in rng.integers(2**63, size=k)]


def _at_least_one(fraction: float, n: int) -> int:
    """round(fraction * n), but at least one for a positive fraction."""
    return max(round(fraction * n), 1) if fraction > 0 else 0


def _count_bad(n: int, d: int, r: int, fraction: float) -> int:
    """Number of bad rows, when they leave enough good ones to span r dimensions."""
    fraction = _check_real("fraction", fraction)
    if fraction >= 1:
        raise ValueError(
            f"fraction must be in [0, 1); got {fraction}. For 5 % bad rows pass fraction=0.05."
        )
    if r > min(n, d):
        raise ValueError(
            f"r must be at most min(n, d) = {min(n, d)}; got r={r} with n={n}, d={d}. "
            "Take a smaller r, or more rows and columns."
        )
    n_bad = _at_least_one(fraction, n)
    if n - n_bad < r:
        raise ValueError(
            f"fraction={fraction} of n={n} rows leaves {n - n_bad} good rows, but r={r} dimensions "
            f"need at least {r}. Take a larger n, a smaller fraction or a smaller r."
        )
    return n_bad


def _check_size(name: str, size: int) -> int:
    """An integer of at least one."""
    if isinstance(size, bool) or not isinstance(size, Integral):
        raise TypeError(
            f"{name} must be an integer; got {size!r} of type {type(size).__name__}. "
            f"Try int({name})."
        )
    if size < 1:
        raise ValueError(f"{name} must be at least 1; got {size}. Try {name}=1 or more.")
    return int(size)


def _check_real(name: str, value: Any) -> float:
    """A finite number of at least zero."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, Real):
        raise TypeError(
            f"{name} must be a number; got {value!r} of type {type(value).__name__}. "
            f"Try {name}=0.0."
        )
    number = float(value)
    if not 0 <= number < math.inf:  # NaN fails this too
        raise ValueError(f"{name} must be finite and at least 0; got {value}. Try {name}=0.0.")
    return number


def _check_scales(singular_values: ArrayLike | None, r: int) -> Array:
    """Standard deviations (r,) of the coefficients."""
    if singular_values is None:
        return 1.0 / np.sqrt(np.arange(1, r + 1))
    scales = np.array(singular_values, dtype=np.float64)
    if scales.shape != (r,) or not (np.isfinite(scales) & (scales > 0)).all():
        raise ValueError(
            f"singular_values must be r={r} positive finite numbers; got {singular_values!r}. "
            "For fewer directions take a smaller r."
        )
    return scales


def _look_up(table: dict[str, T], name: str, key: str) -> T:
    """The entry of a table, or a ValueError that lists what there is."""
    if not isinstance(key, str) or key not in table:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, table))}; got {key!r}. Try "
            f"{name}={next(iter(table))!r}."
        )
    return table[key]
