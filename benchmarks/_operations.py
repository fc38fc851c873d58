"""What should not change an answer: each operation, and how its rows are those of the table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

Array = npt.NDArray[np.float64]
# Blocks of rows of a Dask array.
CHUNKS = 7
# Relative differences up to which numbers of two fits are the same ...
SAME = 1e-6
# ... if digits were lost, or if the number of rows, which is in the formulas, is another one.
SAME_SINGLE, SAME_COUNTS = 1e-3, 0.05


@dataclass(frozen=True)
class Changed:
    """A table after an operation."""

    X: Any
    rows: npt.NDArray[np.intp]
    """For each of its rows, the number of that row in the table, (m,)."""
    unit: float = 1.0
    """Distances between its rows, divided by those in the table."""
    weights: Array | None = None

    @property
    def places(self) -> npt.NDArray[np.intp]:
        """Where each row of the table is, once for each copy, (copies, n)."""
        n = int(np.max(self.rows)) + 1
        copies = self.rows.reshape(-1, n)
        return np.argsort(copies, axis=1) + n * np.arange(len(copies))[:, None]


@dataclass(frozen=True)
class Operation:
    """Something that should not change an answer."""

    apply: Callable[[Array, np.random.Generator], Changed]
    kind: str
    """"table", "source", or "digits" if it is made to change digits of the table."""
    base: str = "plain"
    """Operation with whose answer it is compared."""
    moves_rows: bool = False
    """Whether other rows are drawn where a fit looks at a sample."""
    same: float = SAME
    """Relative differences up to which numbers are the same."""
    needs: str | None = None
    """Package without which it cannot be had."""

    @property
    def there(self) -> bool:
        return self.needs is None or find_spec(self.needs) is not None


def alike(X: Any, **more: Any) -> Changed:
    """The same rows in the same order."""
    return Changed(X, np.arange(X.shape[0]), **more)


def plain(X: Array, rng: np.random.Generator) -> Changed:
    return alike(X)


# ---- of the table -------------------------------------------------------------------------------


def row_order(X: Array, rng: np.random.Generator) -> Changed:
    rows = rng.permutation(len(X))
    return Changed(X[rows], rows)


def column_order(X: Array, rng: np.random.Generator) -> Changed:
    order = rng.permutation(X.shape[1])
    # Of two columns, every other order is the one they are in.
    order = np.roll(order, 1) if np.array_equal(order, np.arange(len(order))) else order
    return alike(np.ascontiguousarray(X[:, order]))


def signs(X: Array, rng: np.random.Generator) -> Changed:
    sign = rng.choice([-1.0, 1.0], X.shape[1])
    sign[0] = -1.0
    return alike(X * sign)


def shift(X: Array, rng: np.random.Generator) -> Changed:
    """By whole numbers, ten standard deviations or so, another one for each column."""
    return alike(X + np.rint(1 + 10 * np.std(X, axis=0) * rng.uniform(0.5, 1.5, X.shape[1])))


def power_of_two(X: Array, rng: np.random.Generator) -> Changed:
    return alike(X * 2.0**7, unit=2.0**7)


def rows_twice(X: Array, rng: np.random.Generator) -> Changed:
    return Changed(np.vstack([X, X]), np.tile(np.arange(len(X)), 2))


def weights_of_two(X: Array, rng: np.random.Generator) -> Changed:
    return alike(X, weights=np.full(len(X), 2.0))


def rotation(X: Array, rng: np.random.Generator) -> Changed:
    return alike(X @ np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0])


def float32(X: Array, rng: np.random.Generator) -> Changed:
    return alike(X.astype(np.float32))


# ---- of where it lives --------------------------------------------------------------------------


def columns_first(X: Array, rng: np.random.Generator) -> Changed:
    return alike(np.asfortranarray(X))


def on_disk(X: Array, rng: np.random.Generator) -> Changed:
    with tempfile.TemporaryFile() as file:  # the map outlives it
        file.write(np.ascontiguousarray(X).tobytes())
        file.flush()
        return alike(np.memmap(file, dtype=X.dtype, mode="r", shape=X.shape))


def sparse(X: Array, rng: np.random.Generator) -> Changed:
    return alike(scipy.sparse.csr_array(X))


def frame(X: Array, rng: np.random.Generator) -> Changed:
    import pandas as pd

    return alike(pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]))


def chunks(X: Array, rng: np.random.Generator) -> Changed:
    import dask.array

    rows = -(-len(X) // CHUNKS)
    return alike(dask.array.from_array(X, chunks=(rows, X.shape[1])))


of_table, of_source, of_digits = (
    partial(Operation, kind=kind) for kind in ("table", "source", "digits")
)
OPERATIONS = {
    "plain": of_table(plain),
    "row order": of_table(row_order, moves_rows=True),
    "column order": of_table(column_order),
    "signs of columns": of_table(signs),
    "shift": of_table(shift),
    "power of two": of_table(power_of_two),
    "rows twice": of_table(rows_twice, moves_rows=True, same=SAME_COUNTS),
    "weights of two": of_table(weights_of_two, base="rows twice", moves_rows=True),
    # In a process of its own: what BLAS does is decided when it is loaded.
    "two threads": of_source(plain),
    "Fortran order": of_source(columns_first),
    "memory map": of_source(on_disk),
    "sparse (CSR)": of_source(sparse),
    "data frame": of_source(frame, needs="pandas"),
    "Dask, seven chunks": of_source(chunks, needs="dask"),
    "rotation": of_digits(rotation),
    "float32": of_digits(float32, same=SAME_SINGLE),
}
