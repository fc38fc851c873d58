"""The contract of a row source as tests, for authors of new sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.testing import assert_allclose, assert_array_equal

from torpca._sources import Centered, Deflated, RowSource, Scaled
from torpca._sources.base import Array, Floats, Mask, Rows, place, to_numpy

__all__ = ["RowSourceContract"]

N_ROWS, N_FEATURES, RANK = 37, 7, 2
# Residuals as small as 1e-9 of their row must still be good to this.
RESIDUAL_TOLERANCE = 1e-6

Pair = tuple[str, RowSource, Floats]


class RowSourceContract:
    """Tests that a kind of `RowSource` must pass; subclass it once for each kind.

    A subclass defines how to make a source from a NumPy array. Every ``test_*`` method then
    compares one method of the source with dense NumPy on small tables, for the source itself and
    for centred, scaled and deflated views of it. The tests take no arguments and use plain asserts,
    so both pytest and unittest run them. Name the subclass ``Test...`` so that pytest finds it. To
    leave out a test that does not apply, set it to None in the subclass.

    Attributes
    ----------
    tolerance : float
        Largest error allowed, as a share of the largest number that went into the result.

    Examples
    --------
    A source that reads every second row of an array with twice as many:

    >>> import numpy as np
    >>> from torpca import RowSource
    >>> from torpca.testing import RowSourceContract
    >>> class EverySecond(RowSource):
    ...     def __init__(self, Z):
    ...         self.Z = Z
    ...         self.shape = (len(Z) // 2, Z.shape[1])
    ...         self.dtype = np.dtype(np.float32 if Z.dtype == np.float32 else np.float64)
    ...
    ...     def blocks(self, keep=None):
    ...         for i in range(self.shape[0]):
    ...             if keep is None or keep[i]:
    ...                 yield np, slice(i, i + 1), self.Z[2 * i : 2 * i + 1].astype(np.float64)
    ...
    ...     def take(self, rows):
    ...         return self.Z[2 * rows].astype(np.float64)
    >>> class TestEverySecond(RowSourceContract):
    ...     def make_source(self, X):
    ...         return EverySecond(np.repeat(X, 2, axis=0))
    >>> TestEverySecond().test_gram()  # pytest calls this and all the others
    """

    tolerance: float = 1e-12

    # ---- what a subclass says -----------------------------------------------------------------

    def make_source(self, X: npt.NDArray[Any]) -> RowSource:
        """Return a source over the rows of `X`.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float64 or float32
            The table. About half of its entries are zero, and so is one row.

        Returns
        -------
        RowSource
            The source under test, over the numbers that `stored` returns for the same `X`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define make_source(self, X): return your RowSource over "
            "the rows of the NumPy array X."
        )

    def stored(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the numbers that ``make_source(X)`` holds, in the type in which it holds them.

        This is `X` itself, unless a subclass stores something else, such as float32 or integers.
        Exported results must be float32 if this is float32, and otherwise float64.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float64 or float32
            The table.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        return X

    # ---- the source itself --------------------------------------------------------------------

    def test_shape_and_dtype(self) -> None:
        """Shape is two ints; dtype is float32 for float32 data and float64 for all other."""
        for dtype in (np.float64, np.float32):
            X = table().astype(dtype)
            for name, source, dense in self.pairs(X):
                assert source.shape == dense.shape, f"{name}: shape is {source.shape}"
                assert all(type(size) is int for size in source.shape), f"{name}: {source.shape}"
                assert isinstance(source.dtype, np.dtype), f"{name}: dtype is {source.dtype!r}"
                assert source.dtype == self.result_dtype(X), f"{name}: dtype is {source.dtype}"

    def test_repr(self) -> None:
        """The repr names the kind, the shape and the type."""
        for name, source, _ in self.pairs():
            text = repr(source)
            for part in (type(source).__name__, str(N_ROWS), str(N_FEATURES), str(source.dtype)):
                assert part in text, f"{name}: repr {text} does not say {part}"

    def test_blocks(self) -> None:
        """Blocks hold the kept rows once each, in order, as float64 of the library they name."""
        for name, source, dense in self.pairs():
            for which, keep in [("every row", None), *masks(N_ROWS)]:
                label = f"{name}, {which} kept"
                numbers, rows_seen = [np.arange(0)], [dense[:0]]
                for xp, rows, block in source.blocks(keep):
                    numbers.append(np.arange(N_ROWS)[rows])
                    rows_seen.append(to_numpy(block))
                    assert rows_seen[-1].dtype == np.float64, f"{label}: block is {block.dtype}"
                    self.close(to_numpy(xp.sum(block, axis=0)), rows_seen[-1].sum(axis=0), label)
                wanted = np.arange(N_ROWS) if keep is None else np.flatnonzero(keep)
                assert_array_equal(np.concatenate(numbers), wanted, err_msg=label)
                self.close(np.concatenate(rows_seen), dense[wanted], label)

    def test_take(self) -> None:
        """Rows come back in the order asked for, as often as asked for, and none if none."""
        for name, source, dense in self.pairs():
            for rows in ([3], [0, 8, N_ROWS - 1], [9, 2, 2, 30], []):
                taken = source.take(np.array(rows, dtype=np.intp))
                self.close(taken, dense[rows], f"{name}, rows {rows}")

    def test_sample(self) -> None:
        """A sample is of different rows, in order, drawn from the generator it is given."""
        for name, source, dense in self.pairs():
            for m, size in ((5, 5), (N_ROWS, N_ROWS), (10 * N_ROWS, N_ROWS)):
                label = f"{name}, {m} asked for"
                rows, taken = source.sample(m, np.random.default_rng(m))
                assert rows.shape == (size,), f"{label}: {rows.shape}"
                assert np.all(np.diff(rows) > 0), f"{label}: rows {rows} are not in order"
                self.close(taken, dense[rows], label)
                again, _ = source.sample(m, np.random.default_rng(m))
                assert_array_equal(again, rows, err_msg=f"{label}, same seed")

    def test_export(self) -> None:
        """Floats are handed back in the data's type, masks and counts as they are."""
        for dtype in (np.float64, np.float32):
            X = table().astype(dtype)
            for name, source, dense in self.pairs(X):
                for array in (dense[:3], dense[0]):
                    back = to_numpy(source.export(array))
                    assert back.dtype == self.result_dtype(X), f"{name}: {back.dtype}"
                    assert_array_equal(back, array.astype(back.dtype), err_msg=name)
                for exact in (np.arange(4) > 1, np.arange(4)):
                    back = to_numpy(source.export(exact))
                    assert back.dtype.kind == exact.dtype.kind, f"{name}: {back.dtype}"
                    assert_array_equal(back, exact, err_msg=name)

    # ---- passes -------------------------------------------------------------------------------

    def test_sweep(self) -> None:
        """A kernel's numbers land in the rows they are about, and its totals are added up."""
        weights = np.linspace(1.0, 2.0, N_ROWS)

        def kernel(xp: Any, rows: Rows, block: Array) -> Any:
            weighted = block * place(xp, weights[rows], block)[:, None]
            per_row = (xp.sum(weighted, axis=1), weighted[:, :2])
            return per_row, (xp.sum(weighted, axis=0), block.T @ weighted)

        for name, source, dense in self.pairs():
            for which, keep in [("every row", None), *masks(N_ROWS)]:
                label = f"{name}, {which} kept"
                inside = np.ones(N_ROWS, dtype=bool) if keep is None else keep
                weighted = np.where(inside[:, None], weights[:, None] * dense, 0.0)
                (sums, first), (total, product) = source.sweep(kernel, keep)
                self.close(sums, weighted.sum(axis=1), label)
                self.close(first, weighted[:, :2], label)
                self.close(total, weighted.sum(axis=0), label)
                self.close(product, dense.T @ weighted, label)

    def test_sweep_with_one_kind_of_answer(self) -> None:
        """A kernel may have something to say of rows only, or of totals only."""

        def of_rows(xp: Any, rows: Rows, block: Array) -> Any:
            return (xp.sum(block, axis=1),), ()

        def of_totals(xp: Any, rows: Rows, block: Array) -> Any:
            return (), (xp.sum(block, axis=0),)

        for name, source, dense in self.pairs():
            per_row, totals = source.sweep(of_rows)
            assert (len(per_row), len(totals)) == (1, 0), name
            self.close(per_row[0], dense.sum(axis=1), name)
            per_row, totals = source.sweep(of_totals)
            assert (len(per_row), len(totals)) == (0, 1), name
            self.close(totals[0], dense.sum(axis=0), name)

    # ---- verbs --------------------------------------------------------------------------------

    def test_magnitudes(self) -> None:
        """Largest absolute entry of each row, which may be a negative one or zero."""
        for name, source, dense in self.pairs():
            self.close(source.magnitudes(), np.abs(dense).max(axis=1), name)

    def test_magnitudes_of_rows_that_are_not_finite(self) -> None:
        """NaN and infinity anywhere in a row show in its magnitude, and only there."""
        X = table()
        X[4, 0], X[4, 1], X[11, -1], X[N_ROWS - 1, 3] = np.nan, 1e9, -np.inf, np.nan
        bad = ~np.isfinite(X).all(axis=1)
        source = self.make_source(X.copy())
        for name, seen in (("source", source), ("centred", source.centered(mean()))):
            assert_array_equal(~np.isfinite(seen.magnitudes()), bad, err_msg=name)

    def test_squares(self) -> None:
        """Sum of squares of each row."""
        for name, source, dense in self.pairs():
            self.close(source.squares(), np.square(dense).sum(axis=1), name)

    def test_row_bytes(self) -> None:
        """Memory of a row is no more than that of its numbers and their places."""
        for name, source, _ in self.pairs():
            assert 0 < source.row_bytes <= 16 * N_FEATURES, name

    def test_total_and_mean(self) -> None:
        """Sum and mean of the kept rows; both are zero when there are none."""
        for name, source, dense in self.pairs():
            for which, keep in masks(N_ROWS):
                label = f"{name}, {which} kept"
                total = dense[keep].sum(axis=0)
                self.close(source.total(keep), total, label)
                self.close(source.mean(keep), total / max(1, keep.sum()), label)

    def test_gram(self) -> None:
        """X_keep' X_keep."""
        for name, source, dense in self.pairs():
            for which, keep in masks(N_ROWS):
                self.close(source.gram(keep), dense[keep].T @ dense[keep], f"{name}, {which} kept")

    def test_row_gram(self) -> None:
        """X_keep X_keep', of the kept rows only."""
        for name, source, dense in self.pairs():
            for which, keep in masks(N_ROWS):
                wanted = dense[keep] @ dense[keep].T
                self.close(source.row_gram(keep), wanted, f"{name}, {which} kept")

    def test_matmul(self) -> None:
        """X V for one column, several and none."""
        for name, source, dense in self.pairs():
            for k in (1, 3, 0):
                V = numbers(N_FEATURES, k)
                self.close(source.matmul(V), dense @ V, f"{name}, {k} columns")

    def test_rmatmul(self) -> None:
        """X_keep' Y_keep; Y's other rows play no part."""
        for name, source, dense in self.pairs():
            for which, keep in masks(N_ROWS):
                for k in (3, 1, 0) if which == "some" else (2,):
                    Y = numbers(N_ROWS, k)
                    label = f"{name}, {which} kept, {k} columns"
                    self.close(source.rmatmul(keep, Y), dense[keep].T @ Y[keep], label)

    def test_gram_matmul(self) -> None:
        """X_keep' (X_keep V)."""
        V = numbers(N_FEATURES, 3)
        for name, source, dense in self.pairs():
            for which, keep in masks(N_ROWS):
                wanted = dense[keep].T @ (dense[keep] @ V)
                self.close(source.gram_matmul(keep, V), wanted, f"{name}, {which} kept")

    def test_scores_and_residuals(self) -> None:
        """Incoherence and residual of every row, also about a subspace of dimension 1 and 0."""
        for name, source, dense in self.pairs():
            for k in (3, 1, 0):
                label = f"{name}, {k} directions"
                V, s = basis(k), np.array([7.0, 2.0, 0.5])[:k]
                Y = dense @ V
                rest = np.linalg.norm(dense - Y @ V.T, axis=1)
                E, R = source.scores(V, s)
                self.close(E, np.linalg.norm(Y / s, axis=1), label)
                # Squares that cancel leave the square root of rounding.
                self.close(R**2, rest**2, label)
                self.close(source.residuals(V) ** 2, rest**2, label)
                for which, keep in masks(N_ROWS):
                    E, R = source.scores(V, s, keep)
                    kept = f"{label}, {which} kept"
                    self.close(E[keep], np.linalg.norm(Y / s, axis=1)[keep], kept)
                    self.close(R[keep] ** 2, rest[keep] ** 2, kept)
                    E, R = source.scores_of(np.flatnonzero(keep), V, s)
                    self.close(E, np.linalg.norm(Y / s, axis=1)[keep], kept)
                    self.close(R**2, rest[keep] ** 2, kept)

    # ---- accuracy -----------------------------------------------------------------------------

    def test_residuals_of_rows_nearly_in_the_subspace(self) -> None:
        """A residual 1e-9 times its row is right to 1e-6: formed, not a difference of squares."""
        X, V, m = nearly_flat()
        for name, source, dense in self._flat_pairs(X, m):
            rest = np.linalg.norm(dense - (dense @ V) @ V.T, axis=1)
            s = np.array([3.0, 2.0, 1.0])
            for R in (source.scores(V, s)[1], source.residuals(V)):
                assert_allclose(R, rest, rtol=RESIDUAL_TOLERANCE, atol=1e-6, err_msg=name)

    def test_deflated_rows_nearly_in_the_subspace(self) -> None:
        """What is left of rows when a subspace is taken out is right to 1e-6, however little."""
        X, V, m = nearly_flat()
        W = hadamard()[:, [4, 3]]
        keep = np.arange(len(X)) % 3 != 1
        for name, source, dense in self._flat_pairs(X, m):
            rest = dense - (dense @ V) @ V.T
            seen = Deflated(source, V)
            largest = float(np.max(np.abs(rest)))
            for got, wanted, size in (
                (seen.take(np.arange(len(X))), rest, largest),
                (seen.magnitudes(), np.abs(rest).max(axis=1), largest),
                (seen.matmul(W), rest @ W, largest),
                (seen.gram(keep), rest[keep].T @ rest[keep], largest**2),
                (seen.gram_matmul(keep, W), rest[keep].T @ (rest[keep] @ W), largest**2),
            ):
                assert_allclose(
                    got,
                    wanted,
                    rtol=RESIDUAL_TOLERANCE,
                    atol=RESIDUAL_TOLERANCE * size,
                    err_msg=name,
                )

    def test_sums_of_float32_rows_are_taken_in_float64(self) -> None:
        """Rows are widened before anything is added up."""
        X = table().astype(np.float32)
        everyone = np.ones(N_ROWS, dtype=bool)
        for name, source, dense in self.pairs(X):
            self.close(source.gram(everyone), dense.T @ dense, name)
            self.close(source.total(everyone), dense.sum(axis=0), name)
            self.close(source.matmul(basis(3)), dense @ basis(3), name)
            self.close(source.scores(basis(3), np.ones(3))[0], dense @ basis(3), name, norm=True)

    # ---- edges --------------------------------------------------------------------------------

    def test_one_row_and_one_feature(self) -> None:
        """Tables of a single row, a single feature, a single number."""
        for X in (table()[:1], table()[:, :1], table()[:1, :1]):
            source, dense = self.make_source(X.copy()), self.dense(X)
            n, d = X.shape
            V, s, everyone = np.eye(d)[:, :1], np.ones(1), np.ones(n, dtype=bool)
            label = f"{n} rows, {d} features"
            assert source.shape == (n, d), label
            for seen, wanted in (
                (source, dense),
                (source.centered(dense.mean(axis=0)), dense - dense.mean(axis=0)),
            ):
                rest = np.linalg.norm(wanted[:, 1:], axis=1)
                self.close(seen.take(np.arange(n)), wanted, label)
                self.close(seen.magnitudes(), np.abs(wanted).max(axis=1), label)
                self.close(seen.gram(everyone), wanted.T @ wanted, label)
                self.close(seen.row_gram(everyone), wanted @ wanted.T, label)
                self.close(seen.rmatmul(everyone, wanted), wanted.T @ wanted, label)
                self.close(seen.scores(V, s)[0], np.abs(wanted[:, 0]), label)
                self.close(seen.residuals(V) ** 2, rest**2, label)

    def test_arguments_of_any_layout(self) -> None:
        """Arrays given to a verb may be read-only, reversed or strided, and are left alone."""
        source, dense = self.make_source(table()), self.dense(table())
        keep = dict(masks(N_ROWS))["some"]
        s, m, factors, Y = np.ones(3), mean(), row_factors(), numbers(N_ROWS, 3)
        for layout in (read_only, backwards, columns_reversed, strided):
            V, name = layout(basis(3)), layout.__name__
            # Strides of an axis of length one may be anything.
            self.close(source.matmul(layout(basis(1))), dense @ basis(1), name)
            self.close(source.matmul(V), dense @ V, name)
            self.close(source.gram_matmul(layout(keep), V), dense[keep].T @ dense[keep] @ V, name)
            self.close(source.rmatmul(layout(keep), layout(Y)), dense[keep].T @ Y[keep], name)
            self.close(source.scores(V, layout(s))[0], dense @ V, name, norm=True)
            self.close(source.gram(layout(keep)), dense[keep].T @ dense[keep], name)
            self.close(source.centered(layout(m)).matmul(V), (dense - m) @ V, name)
            self.close(Centered(source, layout(m)).matmul(V), (dense - m) @ V, name)
            scaled = Scaled(source, layout(factors)).matmul(V)
            self.close(scaled, (factors[:, None] * dense) @ V, name)
            self.close(Deflated(source, V).matmul(V), np.zeros((N_ROWS, 3)), name)
            rows = np.array([5, 1, 30])
            self.close(source.take(layout(rows)), dense[rows], name)

    def test_data_is_not_changed(self) -> None:
        """No verb changes the rows: what comes back afterwards is the same to the last bit."""
        X = table()
        source = self.make_source(X)
        everything = np.arange(N_ROWS)
        before = source.take(everything)
        keep = dict(masks(N_ROWS))["some"]
        V, s, Y = basis(3), np.ones(3), numbers(N_ROWS, 2)
        for seen in (
            source,
            source.centered(mean()),
            Scaled(source, row_factors()),
            Deflated(source, basis(RANK)),
        ):
            seen.take(everything)[:] = 1e6  # what is handed out belongs to the caller
            seen.magnitudes(), seen.total(keep), seen.mean(keep)
            seen.gram(keep), seen.row_gram(keep), seen.matmul(V), seen.rmatmul(keep, Y)
            seen.gram_matmul(keep, V), seen.scores(V, s), seen.residuals(V)
            seen.sample(3, np.random.default_rng(0)), seen.export(V), repr(seen)
        assert_array_equal(X, table(), err_msg="the array the source was made from")
        assert_array_equal(source.take(everything), before)
        assert_array_equal(self.make_source(X).take(everything), before)

    # ---- what is compared with what -------------------------------------------------------------

    def pairs(self, X: npt.NDArray[Any] | None = None) -> Iterator[Pair]:
        """Yield (name, source, dense array it should equal): the source and views of it."""
        X = table() if X is None else X
        source, dense = self.make_source(X.copy()), self.dense(X)
        m, factors, V = mean(), row_factors(), basis(RANK)
        centred, scaled = dense - m, factors[:, None] * dense
        yield "source", source, dense
        yield "centred", source.centered(m), centred
        yield "centred twice", source.centered(m).centered(2 * m), centred - 2 * m
        yield "Centered", Centered(source, m), centred
        yield "Scaled", Scaled(source, factors), scaled
        yield "Deflated", Deflated(source, V), dense - dense @ V @ V.T
        yield "centred Scaled", Scaled(source, factors).centered(m), scaled - m
        both = factors[:, None] * centred
        seen = Deflated(Scaled(source.centered(m), factors), V)
        yield "Deflated Scaled centred", seen, both - both @ V @ V.T

    def _flat_pairs(self, X: Floats, m: Floats) -> Iterator[Pair]:
        yield "source", self.make_source(X), self.dense(X)
        shifted = X + m
        source, dense = self.make_source(shifted), self.dense(shifted) - m
        factors = np.ldexp(1.0, np.arange(len(X)) % 3)
        yield "centred", source.centered(m), dense
        yield "Scaled centred", Scaled(source.centered(m), factors), factors[:, None] * dense

    def dense(self, X: npt.NDArray[Any]) -> Floats:
        """The numbers a source over `X` should show, in float64."""
        return self.stored(X).astype(np.float64)

    def result_dtype(self, X: npt.NDArray[Any]) -> np.dtype[Any]:
        """The type a source over `X` should have and export."""
        return np.dtype(np.float32 if self.stored(X).dtype == np.float32 else np.float64)

    def close(self, got: Any, wanted: Floats, label: str, *, norm: bool = False) -> None:
        """Check type, shape and values of `got`; with `norm`, against the norms of rows."""
        wanted = np.linalg.norm(wanted, axis=1) if norm else wanted
        assert isinstance(got, np.ndarray), f"{label}: {type(got)} is not a NumPy array"
        assert got.dtype == np.float64, f"{label}: {got.dtype} is not float64"
        assert got.shape == wanted.shape, f"{label}: shape {got.shape} is not {wanted.shape}"
        size = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
        assert_allclose(got, wanted, rtol=0, atol=self.tolerance * size, err_msg=label)


# ---- tables and masks, the same at every call ---------------------------------------------------


def table() -> Floats:
    """Numbers of a few units, half of them zero, one row and one feature nearly so."""
    rng = np.random.default_rng(20)
    X = 4.0 * rng.standard_normal((N_ROWS, N_FEATURES))
    X *= rng.random(X.shape) < 0.5
    X[6] = 0.0
    X[:, 5] = 0.0
    X[12, 5] = 3.0
    X[N_ROWS - 2] = X[1]
    return X


def numbers(n: int, k: int) -> Floats:
    """Random matrix of shape (n, k)."""
    return np.random.default_rng(n).standard_normal((n, 5))[:, :k]


def basis(k: int) -> Floats:
    """Orthonormal matrix of shape (N_FEATURES, k)."""
    V: Floats = np.linalg.qr(numbers(N_FEATURES, 5))[0]
    return np.ascontiguousarray(V[:, :k])


def mean() -> Floats:
    """Something to centre on that is no row, with a zero among its entries."""
    return np.linspace(-1.0, 2.0, N_FEATURES) * (np.arange(N_FEATURES) != 3)


def row_factors() -> Floats:
    """A number for every row, positive and of different sizes."""
    return np.linspace(0.25, 3.0, N_ROWS)


def masks(n: int) -> list[tuple[str, Mask]]:
    """Rows kept: all, some, a run that skips whole blocks, one, none."""
    everyone, nobody = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    some, run, last = np.arange(n) % 3 != 1, nobody.copy(), nobody.copy()
    run[n // 2 : n // 2 + 4] = True
    last[-1] = True
    return [("all", everyone), ("some", some), ("a run", run), ("one", last), ("no row", nobody)]


def hadamard() -> Floats:
    """Orthonormal matrix of shape (16, 16) with entries +-1/4."""
    H = np.ones((1, 1))
    for _ in range(4):
        H = np.block([[H, H], [H, -H]])
    return H / 4


def nearly_flat() -> tuple[Floats, Floats, Floats]:
    """Rows nearly in span(V), V of shape (16, 3), and a mean to shift them by.

    All are whole numbers below 2^40 and V's entries are +-1/4, so float64 makes no rounding error
    in x - VV'x: the residuals, from 2^-31 to 2^-3 of their rows, are known exactly.
    """
    rng = np.random.default_rng(3)
    H = hadamard()
    n = 29
    inside = 2.0**32 * rng.integers(1, 9, (n, 3))
    outside = 2.0 ** np.arange(2, n + 2)
    X = inside @ H[:, :3].T + outside[:, None] * H[:, 3 + np.arange(n) % 5].T
    m: Floats = np.float64(2**31) * rng.integers(-3, 4, 16)
    return X, H[:, :3], m


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array`, which nobody may write to."""
    array = array.copy()
    array.flags.writeable = False
    return array


def backwards(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` with negative strides."""
    return np.flip(np.flip(array).copy())


def columns_reversed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` with a negative stride along its last axis."""
    return array[..., ::-1].copy()[..., ::-1]


def strided(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` with gaps between its entries."""
    return np.repeat(array, 2, axis=0)[::2]
