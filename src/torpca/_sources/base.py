"""The contract of a row source, with every verb written once on blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.parallel import blas_threads, in_order

Array = Any  # a block of rows, in whatever library the rows live in
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Rows = slice | npt.NDArray[np.intp]

# A kernel looks at one block of rows and returns what it has to say about each of them
# (arrays whose first axis runs over the block) and what it adds to a total over all rows.
Kernel = Callable[[Any, Rows, Array], tuple[tuple[Array, ...], tuple[Array, ...]]]

# Blocks are sized to stay in a processor's cache while a kernel works on them, so that the
# residual of a block never travels to main memory.
BLOCK_BYTES = 2**22
# Kernels that only multiply make no copies of a block. Theirs are this many times larger: less time
# is spent in Python, where threads wait for each other.
LARGER_FOR_PRODUCTS = 2
MIN_BLOCK_ROWS = 8
# Tables up to this size are one block: starting threads would cost more than the cache saves.
SMALL_BYTES = 2**24
# So many rows are picked at a time; for more, some kinds make a pass.
FEW_ROWS = 1024


def default_block_rows(n_rows: int, n_features: int) -> int:
    """Rows per block: all of a small table, else as many as take about BLOCK_BYTES in float64."""
    if 8 * n_rows * n_features <= SMALL_BYTES:
        return n_rows
    return max(MIN_BLOCK_ROWS, BLOCK_BYTES // (8 * max(1, n_features)))


def place(xp: Any, array: npt.NDArray[Any], block: Array) -> Array:
    """NumPy `array`, moved beside `block`."""
    if xp is np:
        return array
    # A copy: torch takes no negative strides, not even of an axis of length one, and warns of
    # arrays it may not write to.
    return xp.asarray(np.array(array, order="C"), device=block.device)


def to_numpy(array: Array) -> npt.NDArray[Any]:
    """`array` as a NumPy array in host memory."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "cpu"):  # torch
        array = array.detach().cpu()
    elif hasattr(array, "get"):  # CuPy
        array = array.get()
    return np.asarray(array)


def row_squares(xp: Any, block: Array) -> Array:
    """Sum of squares of each row of `block`."""
    if hasattr(block, "tocsr"):  # SciPy sparse: a block of a native sweep
        squared = block.copy()
        squared.data *= squared.data
        return np.asarray(squared @ np.ones(block.shape[1]))
    if xp is not np:
        return xp.sum(block * block, axis=1)
    # Along the rows, or along the columns of a block in Fortran's order.
    along_rows = block.strides[0] >= block.strides[1]
    return np.vecdot(block, block) if along_rows else np.einsum("ij,ij->i", block, block)


def cube_root(xp: Any, values: Array) -> Array:
    """Cube roots."""
    return np.cbrt(values) if xp is np else xp.sign(values) * xp.abs(values) ** (1 / 3)


def picked(xp: Any, mask: Callable[[], Array]) -> Any:
    """Numbers of the rows of a mask, to look at them alone; or all rows, where that costs more.

    An accelerator works on all rows of a block sooner than it finds some of them.
    """
    return np.flatnonzero(mask()) if xp is np else slice(None)


def row_norms(xp: Any, block: Array) -> Array:
    """Euclidean norm of each row of `block`."""
    return xp.sqrt(row_squares(xp, block))


def score_rows(xp: Any, block: Array, V: Floats, s: Floats) -> tuple[Array, Array]:
    """Incoherence ||diag(1/s) V'x|| and residual ||x - VV'x|| of each row of `block`."""
    basis = place(xp, V, block)
    Y = block @ basis
    # The residual is formed, never taken as ||x||^2 - ||V'x||^2: at noise 1e-9 that difference is
    # all rounding error.
    rest = Y @ basis.T
    rest -= block
    return row_norms(xp, Y / place(xp, s, block)), row_norms(xp, rest)


def dtype_of(block: Array) -> Any:
    """Type of the numbers of `block`, NumPy's name for it."""
    if isinstance(block, np.ndarray):
        return np.float32 if block.dtype == np.float32 else np.float64
    return np.float32 if "float32" in str(block.dtype) else np.float64


class RowSource(ABC):
    """Rows of numbers from any kind of data, read in blocks.

    Algorithms use only this class. A subclass defines how to iterate over its rows in blocks
    (`blocks`) and how to pick single rows (`take`). All other methods follow from these two, and a
    subclass overrides one only if it can do better. Blocks are float64, whatever the type of the
    data. Methods return NumPy float64 arrays, which are small: a few numbers per row or a few
    vectors of n_features. Masks `keep` are boolean NumPy arrays of shape (n_rows,). The data itself
    is never copied or changed.

    Attributes
    ----------
    shape : tuple of int
        (n_rows, n_features).
    dtype : numpy.dtype
        float32 or float64: the type of the results for the caller.
    feature_names : tuple or None
        Names of the columns, if there are any.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    feature_names: tuple[Any, ...] | None = None

    @property
    def picks_rows(self) -> bool:
        """Whether picking rows one by one costs no more than their share of a pass."""
        return True

    @property
    def row_bytes(self) -> float:
        """Memory that a row takes where it lives, on average."""
        return float(self.shape[1] * self.dtype.itemsize)

    @property
    def takes_holes(self) -> bool:
        """Whether NaN may stand for a cell that is missing."""
        return True

    @property
    def in_memory(self) -> bool:
        """Whether the rows are held in memory, so that a copy of them may be as well."""
        return False

    def n_observed(self) -> npt.NDArray[np.intp] | None:
        """Number of cells that each row had before they were filled, (n,); None: all of them."""
        return None

    def missing_cells(self) -> Mask | None:
        """Mask (n, d) of the cells that were filled; None: there were none."""
        return None

    # ---- what a kind must say -----------------------------------------------------------

    @abstractmethod
    def blocks(self, keep: Mask | None = None) -> Iterator[tuple[Any, Rows, Array]]:
        """Yield (array namespace, rows, float64 block) over the kept rows, in row order."""

    @abstractmethod
    def take(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Return the rows numbered `rows`, of shape (len(rows), n_features), as NumPy float64."""

    # ---- one pass over the rows -----------------------------------------------------------

    def sweep(
        self, kernel: Kernel, keep: Mask | None = None, native: Any = None
    ) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """Run `kernel` over all kept rows: its numbers per row, in place, and its totals.

        Rows that are not kept read zero in the numbers per row. A kernel that asks no more of
        blocks than products and `row_squares` may have them `native`: sparse if the rows are, and
        in float32, if that is what it says and what the data is.
        """
        return gather(
            self.shape,
            kernel,
            ((rows, *kernel(xp, rows, block)) for xp, rows, block in self.blocks(keep)),
        )

    def pick(
        self, rows: npt.NDArray[np.intp], look: Callable[[Any, Array], tuple[Array, ...]]
    ) -> tuple[Floats, ...]:
        """What `look(namespace, block)` says of each of the rows numbered `rows`, ascending."""
        if len(rows) <= FEW_ROWS or self.picks_rows:
            pieces = [rows[i : i + FEW_ROWS] for i in range(0, len(rows), FEW_ROWS)] or [rows]
            parts = [look(np, self.take(piece)) for piece in pieces]
            return tuple(np.concatenate(numbers) for numbers in zip(*parts, strict=True))
        keep = np.zeros(self.shape[0], dtype=bool)
        keep[rows] = True
        per_row, _ = self.sweep(lambda xp, _, block: (look(xp, block), ()), keep)
        return tuple(numbers[rows] for numbers in per_row)

    # ---- verbs ------------------------------------------------------------------------------

    def magnitudes(self) -> Floats:
        """Largest absolute entry of each row, (n_rows,); not finite where the row is not."""

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return (xp.max(xp.abs(block), axis=1),), ()

        return self.sweep(kernel)[0][0]

    def squares(self) -> Floats:
        """Sum of squares of each row, (n_rows,); infinite where that is beyond every float."""

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return (row_squares(xp, block),), ()

        with np.errstate(over="ignore", invalid="ignore"):
            return self.sweep(kernel, native=np.float64)[0][0]

    def total(self, keep: Mask) -> Floats:
        """Sum of the kept rows, (n_features,)."""

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return (), (xp.sum(block, axis=0),)

        return self.sweep(kernel, keep)[1][0]

    def mean(self, keep: Mask) -> Floats:
        """Mean of the kept rows, (n_features,)."""
        return self.total(keep) / max(1, int(np.count_nonzero(keep)))

    def gram(self, keep: Mask) -> Floats:
        """X_keep' X_keep, (n_features, n_features)."""

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return (), (block.T @ block,)

        return self.sweep(kernel, keep)[1][0]

    def band(self, keep: Mask, features: slice) -> Floats | None:
        """Some features of the kept rows, (n_kept, width); None if whole rows cost no more."""
        return None

    def row_gram(self, keep: Mask) -> Floats:
        """X_keep X_keep', (n_kept, n_kept): the small Gram matrix when rows are few and long."""
        rows = np.flatnonzero(keep)
        out = np.zeros((len(rows), len(rows)))
        if self.band(keep, slice(0, 0)) is not None:
            width = max(64, 2 * BLOCK_BYTES // (8 * max(1, len(rows))))

            def products(i: int) -> Floats:
                band = self.band(keep, slice(i, min(i + width, self.shape[1])))
                assert band is not None
                return band @ band.T

            for part in in_order(products, range(0, self.shape[1], width), blas_threads()):
                out += part
            return out
        step = max(1, 32 * BLOCK_BYTES // (8 * self.shape[1]))
        pieces = [slice(i, min(i + step, len(rows))) for i in range(0, len(rows), step)]
        for i, left in enumerate(pieces):
            block = self.take(rows[left])
            out[left, left] = block @ block.T
            for right in pieces[:i]:
                out[left, right] = block @ self.take(rows[right]).T
                out[right, left] = out[left, right].T
        return out

    def matmul(self, V: Floats) -> Floats:
        """X V for V of shape (n_features, k): (n_rows, k)."""

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return (block @ place(xp, V, block),), ()

        return self.sweep(kernel)[0][0]

    def rmatmul(self, keep: Mask, Y: Floats) -> Floats:
        """X_keep' Y_keep for Y of shape (n_rows, k): (n_features, k)."""

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return (), (block.T @ place(xp, Y[rows], block),)

        return self.sweep(kernel, keep)[1][0]

    def gram_matmul(self, keep: Mask, V: Floats) -> Floats:
        """X_keep' (X_keep V), (n_features, k), in one pass and without the Gram matrix."""

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return (), (block.T @ (block @ place(xp, V, block)),)

        return self.sweep(kernel, keep)[1][0]

    def scores(self, V: Floats, s: Floats, keep: Mask | None = None) -> tuple[Floats, Floats]:
        """Incoherence ||diag(1/s) V'x|| and residual ||x - VV'x|| of every row, in one pass.

        With `keep`, of the kept rows; the others read zero.
        """

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            return score_rows(xp, block, V, s), ()

        E, R = self.sweep(kernel, keep)[0]
        return E, R

    def scores_of(self, rows: npt.NDArray[np.intp], V: Floats, s: Floats) -> tuple[Floats, Floats]:
        """Incoherence and residual of the rows numbered `rows`, in ascending order."""
        E, R = self.pick(rows, lambda xp, block: score_rows(xp, block, V, s))
        return E, R

    def residuals(self, V: Floats) -> Floats:
        """Orthogonal distance ||x - VV'x|| of every row, (n_rows,)."""
        return self.scores(V, np.ones(V.shape[1]))[1]

    def sample(self, m: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.intp], Floats]:
        """Draw `m` different rows (all of them if there are fewer): their numbers, and the rows."""
        n = self.shape[0]
        rows = np.sort(rng.choice(n, size=min(m, n), replace=False)).astype(np.intp)
        return rows, self.take(rows)

    # ---- views and exits ----------------------------------------------------------------------

    def centered(self, mean: Floats) -> RowSource:
        """View of the rows less `mean`, as this kind does it best."""
        from torpca._sources.views import Centered  # noqa: PLC0415 (views need this class)

        return Centered(self, mean)

    def export(self, array: npt.NDArray[Any]) -> Array:
        """`array` as the caller should get it: floats in the data's type, beside the data."""
        return array.astype(self.dtype, copy=False) if array.dtype.kind == "f" else array

    def __repr__(self) -> str:
        """Kind, shape and type, for error messages and notebooks."""
        n, d = self.shape
        return f"<{type(self).__name__} of {n} rows x {d} features, {self.dtype}>"


def gather(
    shape: tuple[int, int],
    kernel: Kernel,
    pieces: Iterable[tuple[Rows, tuple[Array, ...], tuple[Array, ...]]],
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Put together what `kernel` said of each piece: numbers per row in place, totals added."""
    # An empty block makes the kernel tell the shapes, so that no kept row is no special case.
    values, sums = kernel(np, slice(0, 0), np.zeros((0, shape[1])))
    per_row = tuple(np.zeros((shape[0], *v.shape[1:])) for v in values)
    totals: list[Array] | None = None
    for rows, values, parts in pieces:
        for out, value in zip(per_row, values, strict=True):
            out[rows] = to_numpy(value)
        # Totals stay in the rows' own library until the end: on a GPU each trip home costs.
        # They add up in float64, whatever the blocks are.
        parts = tuple(p if dtype_of(p) is np.float64 else _double(p) for p in parts)
        if totals is None:
            totals = list(parts)
        else:
            totals = [t + p for t, p in zip(totals, parts, strict=True)]
    return per_row, tuple(to_numpy(t) for t in (sums if totals is None else totals))


def _double(array: Array) -> Array:
    if isinstance(array, np.ndarray):
        return array.astype(np.float64)
    xp = array.__array_namespace__() if hasattr(array, "__array_namespace__") else None
    return to_numpy(array).astype(np.float64) if xp is None else xp.astype(array, xp.float64)


def kept_slices(n: int, step: int, keep: Mask | None) -> Iterator[tuple[slice, Rows, Any]]:
    """Walk 0..n, `step` kept rows at a time: (slice to read, row numbers, index into the slice).

    Few kept rows make few blocks, however far apart they are. The index is None where all rows of
    the slice are kept.
    """
    if keep is None or keep.all():
        for start in range(0, n, step):
            window = slice(start, min(start + step, n))
            yield window, window, None
        return
    kept = np.flatnonzero(keep)
    for start in range(0, len(kept), step):
        rows = kept[start : start + step]
        window = slice(int(rows[0]), int(rows[-1]) + 1)
        if window.stop - window.start == len(rows):
            yield window, window, None
        else:
            yield window, rows, rows - window.start
