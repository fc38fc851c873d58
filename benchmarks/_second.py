"""Planted tables with a second population near the good rows, leverage, or unlike scales.

A `Cell` says how to draw one table after the other: `cell.draw(seed)`. `NEAR`, `LEVERAGE` and
`SCALED` are the lists that `python -m benchmarks.recovery near leverage scaled` goes through. They
are no full product: every value is there, and the pairs of values that matter.

Signal length is the root of the mean square of the good rows' distances from their centre before
noise, which is the norm of the vector of their singular scales.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Size = tuple[int, int, int]


class Table(NamedTuple):
    """Rows (n, d), the mask of the bad ones (n,), and the basis of the good ones (d, r).

    The basis is None where the good rows have no subspace of their own: they are curved, are
    counts, or have no gap in their spectrum.
    """

    X: Array
    bad: NDArray[np.bool_]
    basis: Array | None


@dataclass(frozen=True)
class Cell:
    """One line of a table: what the rows are, and how to draw them with a seed."""

    part: str
    data: str
    size: Size
    fraction: float
    noise: float
    recipe: Callable[[np.random.Generator], Table]

    @property
    def name(self) -> str:
        """All that the rows depend on but the seed, as text."""
        n, d, r = self.size
        return f"{self.part}: {self.data}, {n} x {d}, r = {r}, {self.fraction:.0%}, {self.noise:g}"

    def draw(self, seed: int) -> Table:
        return self.recipe(np.random.default_rng(seed))


# ---- good rows -----------------------------------------------------------------------------------


class Good(NamedTuple):
    """Good rows before noise, what is orthogonal to bad rows, and how noise comes to them.

    Attributes
    ----------
    signal : ndarray of shape (n, d)
    off : ndarray of shape (d, q)
        Orthonormal directions in which the good rows extend.
    observed : callable
        The rows (m, d) that are seen of signals (m, d).
    basis : ndarray of shape (d, r) or None
        The subspace to be found, if there is one.
    """

    signal: Array
    off: Array
    observed: Callable[[Array], Array]
    basis: Array | None

    @property
    def centre(self) -> Array:
        return np.mean(self.signal, axis=0)

    @property
    def length(self) -> float:
        return float(np.sqrt(np.mean(np.sum((self.signal - self.centre) ** 2, axis=1))))


def _basis(rng: np.random.Generator, d: int, r: int) -> Array:
    return np.linalg.qr(rng.standard_normal((d, r)))[0]


def _scales(r: int) -> Array:
    return 1 / np.sqrt(np.arange(1, r + 1))


def _beside(rng: np.random.Generator, V: Array) -> Array:
    """A random unit vector (d,) orthogonal to span(V)."""
    w = rng.standard_normal(len(V))
    w -= V @ (V.T @ w)
    return w / np.linalg.norm(w)


def _with_noise(rng: np.random.Generator, S: Array, noise: float) -> Array:
    return S + noise * rng.standard_normal(S.shape)


def _in_subspace(rng: np.random.Generator, C: Array, d: int, noise: float) -> Good:
    """Rows with coefficients C (n, r), scaled, and isotropic Gaussian noise."""
    V = _basis(rng, d, C.shape[1])
    S = (C * _scales(C.shape[1])) @ V.T
    return Good(S, V, lambda S: _with_noise(rng, S, noise), V)


def gaussian(rng: np.random.Generator, size: Size, noise: float) -> Good:
    n, d, r = size
    return _in_subspace(rng, rng.standard_normal((n, r)), d, noise)


def skewed_noise(rng: np.random.Generator, size: Size, noise: float) -> Good:
    """Noise of each entry is exponential, less its mean."""
    good = gaussian(rng, size, noise)
    return good._replace(observed=lambda S: S + noise * (rng.exponential(1.0, S.shape) - 1))


def proportional_noise(rng: np.random.Generator, size: Size, noise: float) -> Good:
    """Noise in proportion to the length of the row, as from an instrument with a relative error."""
    good = gaussian(rng, size, noise)
    length = good.length

    def observed(S: Array) -> Array:
        sizes = np.linalg.norm(S, axis=1, keepdims=True) / length
        return S + noise * sizes * rng.standard_normal(S.shape)

    return good._replace(observed=observed)


def curved(rng: np.random.Generator, size: Size, noise: float) -> Good:
    """The first coefficient bends the rows out of the subspace: 0.15 (c^2 - 1)."""
    good = gaussian(rng, size, noise)
    w = _beside(rng, good.off)
    c = good.signal @ good.off[:, 0]
    S = good.signal + 0.15 * np.outer(c**2 - 1, w)
    return Good(S, np.column_stack([good.off, w]), good.observed, None)


def power_law(rng: np.random.Generator, size: Size, noise: float) -> Good:
    """Singular scales 1, 1/2, ..., 1/d: the rank is where one stops, not where there is a gap."""
    n, d, r = size
    Q = _basis(rng, d, d)
    S = (rng.standard_normal((n, d)) / np.arange(1, d + 1)) @ Q.T
    return Good(S, Q[:, :r], lambda S: _with_noise(rng, S, noise), None)


def three_groups(rng: np.random.Generator, size: Size, noise: float) -> Good:
    """Good rows about three places in the subspace."""
    n, d, r = size
    places = 1.5 * rng.standard_normal((3, r))
    C = places[rng.integers(3, size=n)] + 0.5 * rng.standard_normal((n, r))
    return _in_subspace(rng, C, d, noise)


def one_hot(rng: np.random.Generator, size: Size, noise: float) -> Good:
    """One coefficient of each row is 1 and the others are 0, or all are: r + 1 kinds of rows."""
    n, d, r = size
    C = np.eye(r + 1)[rng.integers(r + 1, size=n)][:, :r]
    return _in_subspace(rng, np.sqrt(r + 1) * C, d, noise)


def counts(rng: np.random.Generator, size: Size, noise: float) -> Good:
    """Poisson counts, the logarithms of their means in a subspace; 1 / noise^2 on average."""
    good = gaussian(rng, size, noise)
    return good._replace(
        observed=lambda S: rng.poisson(np.exp(S) / noise**2).astype(float), basis=None
    )


def student(freedom: int) -> Callable[[np.random.Generator, Size, float], Good]:
    """Coefficients with heavy tails: a row's are Gaussian, divided by one chi for all of them."""

    def good(rng: np.random.Generator, size: Size, noise: float) -> Good:
        n, d, r = size
        C = rng.standard_normal((n, r)) / np.sqrt(rng.chisquare(freedom, (n, 1)) / freedom)
        return _in_subspace(rng, C, d, noise)

    return good


GOOD: dict[str, Callable[[np.random.Generator, Size, float], Good]] = {
    "Gaussian": gaussian,
    "skewed noise": skewed_noise,
    "proportional noise": proportional_noise,
    "curved": curved,
    "power law": power_law,
    "three groups": three_groups,
    "one-hot": one_hot,
    "counts": counts,
    "t3": student(3),
    "t5": student(5),
}


def _replaced(rng: np.random.Generator, n: int, fraction: float) -> NDArray[np.bool_]:
    """The mask of the rows that are bad."""
    bad = np.zeros(n, dtype=bool)
    bad[rng.permutation(n)[: round(fraction * n)]] = True
    return bad


# ---- near ----------------------------------------------------------------------------------------


def second_population(
    rng: np.random.Generator,
    good: str,
    size: Size,
    fraction: float,
    noise: float,
    distance: float,
    spread: float,
) -> Table:
    """Bad rows about one place off the subspace, seen through the noise that good rows have.

    Their place is `distance` signal lengths from the centre of the good rows, and `spread` is how
    large their noise is beside that of the good ones.
    """
    rows = GOOD[good](rng, size, noise)
    bad = _replaced(rng, size[0], fraction)
    place = rows.centre + distance * rows.length * _beside(rng, rows.off)
    X = rows.observed(rows.signal)
    seen = rows.observed(np.repeat(place[None], int(np.sum(bad)), axis=0))
    X[bad] = seen if spread == 1 else place + spread * (seen - place)
    return Table(X, bad, rows.basis)


def near(
    good: str, size: Size, fraction: float, noise: float, distance: float, spread: float = 1.0
) -> Cell:
    tight = "" if spread == 1 else f", tight {spread:g}"
    recipe = partial(
        second_population,
        good=good,
        size=size,
        fraction=fraction,
        noise=noise,
        distance=distance,
        spread=spread,
    )
    return Cell("near", f"{good}, at {distance:g}{tight}", size, fraction, noise, recipe)


USUAL: Size = (2000, 50, 5)
NEAR = (
    # Share and distance at one size, then noise.
    *(near("Gaussian", USUAL, 0.4, 0.05, at) for at in (0.3, 0.5, 0.75, 1.0, 1.5, 2.0)),
    *(near("Gaussian", USUAL, share, 0.05, 0.5) for share in (0.1, 0.2, 0.3, 0.45)),
    near("Gaussian", USUAL, 0.45, 0.05, 1.0),
    *(near("Gaussian", USUAL, 0.4, 0.02, at) for at in (0.3, 0.5, 1.0)),
    near("Gaussian", USUAL, 0.45, 0.02, 0.5),
    near("Gaussian", USUAL, 0.1, 0.1, 0.5),
    near("Gaussian", USUAL, 0.2, 0.1, 0.3),
    *(near("Gaussian", USUAL, 0.3, 0.1, at) for at in (0.5, 0.6, 0.75, 1.0)),
    *(near("Gaussian", USUAL, 0.4, 0.1, at) for at in (0.5, 0.75, 1.5)),
    # Clusters tighter than the noise of the good rows.
    near("Gaussian", USUAL, 0.3, 0.1, 0.75, 0.1),
    near("Gaussian", USUAL, 0.4, 0.05, 0.5, 0.1),
    near("Gaussian", (200, 20, 2), 0.3, 0.05, 0.75, 0.1),
    # Other sizes and ranks.
    near("Gaussian", (30, 5, 1), 0.2, 0.05, 1.0),
    near("Gaussian", (30, 5, 2), 0.3, 0.1, 1.5),
    near("Gaussian", (30, 20, 2), 0.2, 0.05, 1.0),
    near("Gaussian", (50, 10, 2), 0.4, 0.05, 0.75),
    near("Gaussian", (50, 60, 2), 0.3, 0.05, 1.0),
    near("Gaussian", (100, 10, 2), 0.3, 0.1, 0.75),
    near("Gaussian", (100, 50, 5), 0.2, 0.05, 0.5),
    near("Gaussian", (200, 20, 5), 0.4, 0.05, 0.75),
    near("Gaussian", (200, 60, 15), 0.2, 0.02, 0.75),
    near("Gaussian", (500, 20, 2), 0.45, 0.05, 0.75),
    near("Gaussian", (500, 60, 15), 0.3, 0.05, 0.75),
    near("Gaussian", (1000, 30, 15), 0.4, 0.05, 1.0),
    near("Gaussian", (1000, 50, 1), 0.4, 0.1, 0.5),
    near("Gaussian", (1000, 60, 30), 0.2, 0.05, 1.0),
    near("Gaussian", (2000, 60, 30), 0.3, 0.02, 0.5),
    near("Gaussian", (2000, 5, 2), 0.4, 0.1, 1.0),
    # Other good rows: many of them, fewer, and another rank.
    *(
        near(good, *rest)
        for good in GOOD
        if good not in ("Gaussian", "one-hot", "t3", "t5")
        for rest in (
            (USUAL, 0.4, 0.05, 0.5),
            ((500, 20, 2), 0.3, 0.1, 0.75),
            ((100, 20, 2), 0.2, 0.05, 1.0),
        )
    ),
    near("skewed noise", (1000, 60, 15), 0.3, 0.05, 0.75),
    near("proportional noise", (1000, 30, 1), 0.4, 0.1, 1.0),
    near("curved", (1000, 30, 1), 0.3, 0.05, 1.5),
    near("power law", (2000, 60, 15), 0.3, 0.02, 0.75),
    near("three groups", (200, 20, 5), 0.2, 0.05, 1.0),
    # A subspace of the same rank holds the bad rows and all kinds of good ones but one, so the bad
    # rows must be fewer than each kind: else it holds most rows and is the better answer.
    near("one-hot", USUAL, 0.1, 0.05, 0.5),
    near("one-hot", (500, 20, 2), 0.2, 0.1, 0.75),
    near("one-hot", (100, 20, 2), 0.2, 0.05, 1.0),
    near("one-hot", (1000, 30, 1), 0.3, 0.05, 0.75),
    near("counts", (2000, 60, 15), 0.2, 0.05, 1.0),
)


# ---- leverage ------------------------------------------------------------------------------------


def far_inside(
    rng: np.random.Generator,
    size: Size,
    fraction: float,
    noise: float,
    far: float,
    directions: int,
    aside: float,
) -> Table:
    """Some rows `far` standard deviations out inside the subspace and `aside` noise levels off it.

    They are out along the last `directions` of the subspace, all about one place and off to one
    side, so that together they tilt it. With `aside` 0 they are good rows like the others.
    """
    n, _, r = size
    rows = gaussian(rng, size, noise)
    V = rows.off
    out = _replaced(rng, n, fraction)
    C = far / np.sqrt(directions) + 0.2 * rng.standard_normal((int(np.sum(out)), directions))
    S = rows.signal.copy()
    S[out] = (C * _scales(r)[-directions:]) @ V[:, -directions:].T
    S[out] += aside * noise * _beside(rng, V)
    return Table(rows.observed(S), out if aside else np.zeros(n, dtype=bool), V)


def leverage(
    size: Size, fraction: float, noise: float, far: float, directions: int, aside: float
) -> Cell:
    along = "one direction" if directions == 1 else f"{directions} directions"
    kind = f"bad, {aside:g} noise off" if aside else "good"
    recipe = partial(
        far_inside,
        size=size,
        fraction=fraction,
        noise=noise,
        far=far,
        directions=directions,
        aside=aside,
    )
    return Cell("leverage", f"{kind}, {far:g} out in {along}", size, fraction, noise, recipe)


def heavy(law: str, size: Size, noise: float) -> Cell:
    """Good rows with heavy tails and no bad rows."""

    def recipe(rng: np.random.Generator) -> Table:
        rows = GOOD[law](rng, size, noise)
        return Table(rows.observed(rows.signal), np.zeros(size[0], dtype=bool), rows.basis)

    return Cell("leverage", f"{law} tails", size, 0.0, noise, recipe)


LEVERAGE = (
    *(leverage(USUAL, share, 0.05, 5, 1, 2) for share in (0.05, 0.1, 0.12, 0.14, 0.2)),
    *(leverage(USUAL, 0.12, 0.05, far, 1, 2) for far in (3, 10)),
    *(leverage(USUAL, 0.12, 0.05, far, 1, 1) for far in (5, 10)),
    *(leverage(USUAL, 0.12, 0.05, far, 5, 2) for far in (3, 5, 10)),
    leverage(USUAL, 0.12, 0.02, 5, 1, 2),
    leverage(USUAL, 0.12, 0.1, 5, 1, 2),
    leverage((200, 20, 2), 0.1, 0.05, 5, 2, 2),
    leverage((500, 30, 15), 0.14, 0.05, 5, 3, 2),
    leverage((1000, 10, 1), 0.12, 0.05, 5, 1, 2),
    *(leverage(USUAL, share, 0.05, 5, 1, 0) for share in (0.05, 0.12, 0.2)),
    leverage((200, 20, 2), 0.12, 0.05, 10, 2, 0),
    *(heavy(law, size, 0.05) for law in ("t3", "t5") for size in (USUAL, (200, 20, 2))),
)


# ---- scaled --------------------------------------------------------------------------------------


def unlike_features(
    rng: np.random.Generator, size: Size, fraction: float, noise: float, kind: str, decades: float
) -> Table:
    """Rows whose features are multiplied by powers of ten, over `decades` of them.

    The bad rows are isotropic, as long as the good ones, or a cluster at 1.5 signal lengths. The
    basis is that of the good rows as they are, with unlike features.
    """
    n, d, _ = size
    rows = gaussian(rng, size, noise)
    bad = _replaced(rng, n, fraction)
    S = rows.signal.copy()
    m = int(np.sum(bad))
    if kind == "cluster":
        S[bad] = rows.centre + 1.5 * rows.length * _beside(rng, rows.off)
    else:
        U = rng.standard_normal((m, d))
        S[bad] = rows.length * U / np.linalg.norm(U, axis=1, keepdims=True)
    units = 10 ** rng.uniform(-decades / 2, decades / 2, d)
    return Table(rows.observed(S) * units, bad, rows.off * units[:, None])


def scaled(
    size: Size, fraction: float, noise: float, kind: str = "isotropic", decades: float = 4
) -> Cell:
    recipe = partial(
        unlike_features, size=size, fraction=fraction, noise=noise, kind=kind, decades=decades
    )
    data = f"{kind if fraction else 'clean'}, {decades:g} decades"
    return Cell("scaled", data, size, fraction, noise, recipe)


SCALED = (
    scaled((1000, 20, 3), 0.0, 0.05),
    *(scaled((1000, 20, 3), share, 0.05) for share in (0.1, 0.25, 0.4)),
    *(scaled((1000, 20, 3), share, 0.05, "cluster", 6) for share in (0.1, 0.25, 0.4)),
    scaled((200, 10, 2), 0.25, 0.1, "cluster"),
    scaled((200, 10, 2), 0.4, 0.02),
    scaled(USUAL, 0.25, 0.05, "cluster"),
    scaled(USUAL, 0.4, 0.05, decades=6),
)
