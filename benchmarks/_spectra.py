"""Rows with a known spectrum at any shape, and bad rows among them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import idct
from scipy.sparse import csr_array

Array = NDArray[Any]

NOISE = 0.01
SPECTRA = ("gap", "slow", "deficient")
SHARES = {"none": 0.0, "5% mixed": 0.05, "30% cluster": 0.3}
OUTLIERS = tuple(SHARES)


class Rows(NamedTuple):
    """Rows (n, d), the true directions (d, r), and the mask of the bad rows."""

    X: Any
    basis: Array
    bad: NDArray[np.bool_]


def deviations(spectrum: str, d: int, r: int) -> Array:
    """Standard deviations of the good rows along the d true directions."""
    j = np.arange(1, d + 1)
    if spectrum == "slow":  # no gap anywhere
        return 1 / np.sqrt(j)
    signal = np.where(j <= r, 1 / np.sqrt(j), 0.0)
    if spectrum == "gap":
        return np.where(j <= r, signal, NOISE)
    return np.where(j <= r, signal, np.where(j <= 3 * r, NOISE, 0.0))  # 3r directions and no more


def make(
    n: int,
    d: int,
    r: int,
    spectrum: str,
    outliers: str,
    dtype: type = np.float64,
    order: Any = "C",
    seed: int = 0,
) -> Rows:
    """Rows whose true directions are those of a cosine transform with random signs."""
    rng = np.random.default_rng(seed)
    sizes = deviations(spectrum, d, r)
    signs = rng.choice([-1.0, 1.0], d)
    X = np.empty((n, d), dtype=dtype, order=order)
    for i in range(0, n, step := max(1, 2**22 // d)):
        Y = rng.standard_normal((min(step, n - i), d)) * sizes
        X[i : i + step] = idct(Y, norm="ortho", axis=1) * signs
    basis = idct(np.eye(d, r).T, norm="ortho", axis=1).T * signs[:, None]
    bad = np.zeros(n, dtype=bool)
    bad[rng.permutation(n)[: round(SHARES[outliers] * n)]] = True
    # Far enough to be told from good rows whose residuals are large.
    length = 2 * float(np.linalg.norm(sizes))
    for part, rows in enumerate(np.array_split(np.flatnonzero(bad), 3)):
        X[rows] = _bad_rows(rng, part if outliers == "5% mixed" else 2, len(rows), d, length, seed)
    return Rows(X, basis, bad)


def make_sparse(
    n: int,
    d: int,
    r: int,
    spectrum: str,
    outliers: str,
    dtype: type = np.float64,
    density: float = 0.01,
    seed: int = 0,
) -> Rows:
    """Rows of a CSR matrix: most of their entries in a few features, the others anywhere.

    As words are in texts. The few features have a spectrum as in `make`, beside the largest
    variance that all others have; bad rows have entries anywhere, as many and as large.
    """
    rng = np.random.default_rng(seed)
    each = round(density * d)
    few = 4 * each // 5
    features = rng.permutation(d)
    sizes = deviations(spectrum, few, r)
    Q = np.linalg.qr(rng.standard_normal((few, few)))[0]
    values = NOISE * rng.standard_normal((n, each))
    values[:, :few] = (rng.standard_normal((n, few)) * sizes) @ Q.T
    columns = features[rng.integers(few, d, (n, each))]
    columns[:, :few] = features[:few]
    bad = np.zeros(n, dtype=bool)
    bad[rng.permutation(n)[: round(SHARES[outliers] * n)]] = True
    columns[bad] = rng.integers(0, d, (int(bad.sum()), each))
    if outliers == "30% cluster":  # one heap
        columns[bad] = columns[bad][:1]
    length = 2 * float(np.linalg.norm(sizes))
    values[bad] = rng.choice([-1.0, 1.0], (int(bad.sum()), each)) * length / np.sqrt(each)
    if outliers == "30% cluster":
        values[bad] = values[bad][:1] * (1 + 0.01 * rng.standard_normal((int(bad.sum()), each)))
    X = csr_array(
        (values.astype(dtype).ravel(), columns.ravel(), np.arange(0, n * each + 1, each)),
        shape=(n, d),
    )
    X.sum_duplicates()
    basis = np.zeros((d, r))
    basis[features[:few]] = Q[:, :r]
    return Rows(X, basis, bad)


def _bad_rows(
    rng: np.random.Generator, kind: int, m: int, d: int, length: float, seed: int
) -> Array:
    """Bad rows in all directions (0), on a line (1) or in a heap (2)."""
    if kind == 0:
        U = rng.standard_normal((m, d))
        return length * U / np.linalg.norm(U, axis=1, keepdims=True)
    u = np.random.default_rng(1000 + seed).standard_normal(d)
    u *= length / np.linalg.norm(u)
    if kind == 1:
        t = rng.standard_normal((m, 1))
        return (t + np.sign(t)) * u[::-1]
    return u + 0.01 * length / np.sqrt(d) * rng.standard_normal((m, d))


def captured(X: Any, V: Array) -> float:
    """Sum of the variances of the rows of X along the orthonormal columns of V."""
    total = np.zeros(V.shape[1])
    square = 0.0
    n = X.shape[0]
    for i in range(0, n, 2**14):
        Y = np.asarray(X[i : i + 2**14] @ V, dtype=np.float64)
        total += Y.sum(axis=0)
        square += float(np.sum(Y * Y))
    return (square - float(total @ total) / n) / (n - 1)
