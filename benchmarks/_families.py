"""Planted data that are hard in different ways, beyond the families of `torpca.datasets`.

Each function takes (rng, n, d, r, fraction, noise) and returns the rows, the true basis (d, r) and
the mask of the bad rows. Good rows have singular values 1, 1/sqrt(2), ..., as in
`make_outlier_subspace`, unless their family says otherwise.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Those of `torpca.datasets`, by the letters that tables use.
FAMILIES = {"a": "isotropic", "b": "line", "c": "cluster", "d": "small", "e": "mixed"}


class Planted(NamedTuple):
    """Rows (n, d), the basis of the good ones (d, r), and the mask of the bad ones (n,)."""

    X: Array
    basis: Array
    bad: NDArray[np.bool_]


Family = Callable[[np.random.Generator, int, int, int, float, float], Planted]


def _basis(rng: np.random.Generator, d: int, r: int) -> Array:
    return np.linalg.qr(rng.standard_normal((d, r)))[0]


def _scales(r: int) -> Array:
    return 1 / np.sqrt(np.arange(1, r + 1))


def _beside(rng: np.random.Generator, V: Array, count: int) -> Array:
    """Random orthonormal directions orthogonal to span(V), as columns."""
    W = rng.standard_normal((len(V), count))
    return np.linalg.qr(W - V @ (V.T @ W))[0]


def _length(r: int) -> float:
    return float(np.linalg.norm(_scales(r)))


def _isotropic(rng: np.random.Generator, m: int, d: int, r: int) -> Array:
    U = rng.standard_normal((m, d))
    lengths = np.linalg.norm(rng.standard_normal((m, r)) * _scales(r), axis=1)
    return U * (lengths / np.linalg.norm(U, axis=1))[:, None]


def _cluster(rng: np.random.Generator, m: int, V: Array, distance: float) -> Array:
    plane = _beside(rng, V, 2)
    places = np.array([distance, 0.0]) + 0.007 * rng.standard_normal((m, 2))
    return _length(V.shape[1]) * places @ plane.T


def _plant(
    rng: np.random.Generator, good: Array, V: Array, fraction: float, draw: Callable[[int], Array]
) -> Planted:
    """Replace a random fraction of the good rows by what `draw` draws."""
    m = round(fraction * len(good))
    bad = np.zeros(len(good), dtype=bool)
    bad[rng.permutation(len(good))[:m]] = True
    X = good.copy()
    X[bad] = draw(m)
    return Planted(X, V, bad)


def _rows(rng: np.random.Generator, coefficients: Array, V: Array, noise: float) -> Array:
    n, d = len(coefficients), len(V)
    return coefficients @ V.T + noise * rng.standard_normal((n, d))


def heavy_tails(rng, n, d, r, fraction, noise) -> Planted:
    """Good rows with t3 tails: the farthest of them say most about the subspace. A cluster."""
    V = _basis(rng, d, r)
    C = rng.standard_normal((n, r)) / np.sqrt(rng.chisquare(3, n) / 3)[:, None]
    good = _rows(rng, C * _scales(r), V, noise)
    return _plant(rng, good, V, fraction, lambda m: _cluster(rng, m, V, 2.0))


def discrete(rng, n, d, r, fraction, noise) -> Planted:
    """Coefficients 0, 1 or 2, two thirds of them 0, as allele counts: ties everywhere."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.binomial(2, 0.2, (n, r)) * _scales(r), V, noise)
    return _plant(rng, good, V, fraction, lambda m: _isotropic(rng, m, d, r))


def rare_directions(rng, n, d, r, fraction, noise) -> Planted:
    """Each direction is used by 15 % of the good rows: a minority supports each of them."""
    V = _basis(rng, d, r)
    C = 2 * rng.standard_normal((n, r)) * (rng.random((n, r)) < 0.15)
    good = _rows(rng, C * _scales(r), V, noise)
    return _plant(rng, good, V, fraction, lambda m: 0.5 * _isotropic(rng, m, d, r))


def coloured_noise(rng, n, d, r, fraction, noise) -> Planted:
    """Noise of 4 to 0.1 times the level, by direction."""
    Q = _basis(rng, d, d)
    sizes = np.concatenate([_scales(r), 4 * noise * np.geomspace(1, 1 / 40, d - r)])
    good = (rng.standard_normal((n, d)) * sizes) @ Q.T
    return _plant(rng, good, Q[:, :r], fraction, lambda m: 0.5 * _isotropic(rng, m, d, r))


def heavy_noise(rng, n, d, r, fraction, noise) -> Planted:
    """Noise with t3 tails in every entry. Small isotropic bad rows."""
    V = _basis(rng, d, r)
    good = (rng.standard_normal((n, r)) * _scales(r)) @ V.T + noise * rng.standard_t(3, (n, d))
    return _plant(rng, good, V, fraction, lambda m: 0.3 * _isotropic(rng, m, d, r))


def noisy_rows(rng, n, d, r, fraction, noise) -> Planted:
    """Each row has its own noise level, log-normal: no one cut-off fits all. A cluster."""
    V = _basis(rng, d, r)
    E = np.exp(0.5 * rng.standard_normal((n, 1))) * rng.standard_normal((n, d))
    good = (rng.standard_normal((n, r)) * _scales(r)) @ V.T + noise * E
    return _plant(rng, good, V, fraction, lambda m: _cluster(rng, m, V, 1.0))


def weak_direction(rng, n, d, r, fraction, noise) -> Planted:
    """Correlated features: singular values from 1 to 5 noise levels. A cluster close by."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * np.geomspace(1, 5 * noise, r), V, noise)
    return _plant(rng, good, V, fraction, lambda m: _cluster(rng, m, V, 0.3))


def duplicates(rng, n, d, r, fraction, noise) -> Planted:
    """All bad rows are one and the same row."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    one = 3 * _isotropic(rng, 1, d, r)
    return _plant(rng, good, V, fraction, lambda m: np.repeat(one, m, axis=0))


def parallel(rng, n, d, r, fraction, noise) -> Planted:
    """Bad rows near the subspace: a copy of the good ones, ten noise levels beside it."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    aside = 10 * noise * _beside(rng, V, 1).T
    return _plant(
        rng,
        good,
        V,
        fraction,
        lambda m: _rows(rng, rng.standard_normal((m, r)) * _scales(r), V, noise) + aside,
    )


def tilted(rng, n, d, r, fraction, noise) -> Planted:
    """Bad rows share all directions but the weakest, which is tilted by half a radian."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    W = V.copy()
    W[:, -1] = np.cos(0.5) * V[:, -1] + np.sin(0.5) * _beside(rng, V, 1)[:, 0]
    sizes = _scales(r) * np.append(np.ones(r - 1), 2.0)
    return _plant(
        rng, good, V, fraction, lambda m: _rows(rng, rng.standard_normal((m, r)) * sizes, W, noise)
    )


def two_subspaces(rng, n, d, r, fraction, noise) -> Planted:
    """Bad rows are good rows of another subspace."""
    V, W = _basis(rng, d, r), _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    return _plant(
        rng,
        good,
        V,
        fraction,
        lambda m: _rows(rng, rng.standard_normal((m, r)) * _scales(r), W, noise),
    )


def graded(rng, n, d, r, fraction, noise) -> Planted:
    """Isotropic bad rows of all sizes from 0.03 to a million."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    return _plant(
        rng,
        good,
        V,
        fraction,
        lambda m: _isotropic(rng, m, d, r) * 10 ** rng.uniform(-1.5, 6, (m, 1)),
    )


def skewed(rng, n, d, r, fraction, noise) -> Planted:
    """Exponential coefficients: the mean of the good rows is not their middle. A cluster."""
    V = _basis(rng, d, r)
    good = _rows(rng, (rng.exponential(1.0, (n, r)) - 1) * _scales(r), V, noise)
    return _plant(rng, good, V, fraction, lambda m: _cluster(rng, m, V, 1.5))


def short_line(rng, n, d, r, fraction, noise) -> Planted:
    """Bad rows on one half-line, from the middle of the good ones to a few lengths out."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    u = _basis(rng, d, 1).T
    return _plant(rng, good, V, fraction, lambda m: 3 * np.abs(rng.standard_normal((m, 1))) * u)


def both_ways(rng, n, d, r, fraction, noise) -> Planted:
    """Bad rows on one line through the middle of the good ones, on both sides of it."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    u = _basis(rng, d, 1).T
    return _plant(rng, good, V, fraction, lambda m: 3 * rng.standard_normal((m, 1)) * u)


def five_clusters(rng, n, d, r, fraction, noise) -> Planted:
    """Five tight clusters: together they span as many directions as the good rows."""
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    centres = 1.5 * _isotropic(rng, 5, d, r)
    return _plant(
        rng,
        good,
        V,
        fraction,
        lambda m: centres[rng.integers(5, size=m)] + 0.01 * rng.standard_normal((m, d)),
    )


def good_clusters(rng, n, d, r, fraction, noise) -> Planted:
    """Good rows in three clusters of their own. Isotropic bad rows."""
    V = _basis(rng, d, r)
    places = 2 * rng.standard_normal((3, r))
    C = places[rng.integers(3, size=n)] + 0.3 * rng.standard_normal((n, r))
    good = _rows(rng, C * _scales(r), V, noise)
    return _plant(rng, good, V, fraction, lambda m: _isotropic(rng, m, d, r))


def under_the_limit(rng, n, d, r, fraction, noise) -> Planted:
    """From one who has read the code: residuals as large as a good row's may be, all one way.

    Each is far out along the weakest direction and as far beside the subspace as two good rows
    in a hundred are by chance, but all beside it in one direction: together they tilt it.
    """
    V = _basis(rng, d, r)
    good = _rows(rng, rng.standard_normal((n, r)) * _scales(r), V, noise)
    aside = noise * (np.sqrt(d - r) + 1.4) * _beside(rng, V, 1).T
    far = 3 * _scales(r)[-1] * V[:, -1:].T
    return _plant(rng, good, V, fraction, lambda m: np.repeat(far + aside, m, axis=0))


HARD: dict[str, Family] = {
    family.__name__: family
    for family in (
        heavy_tails,
        discrete,
        rare_directions,
        coloured_noise,
        heavy_noise,
        noisy_rows,
        weak_direction,
        duplicates,
        parallel,
        tilted,
        two_subspaces,
        graded,
        skewed,
        short_line,
        both_ways,
        five_clusters,
        good_clusters,
        under_the_limit,
    )
}
