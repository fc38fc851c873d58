"""Every format of file: the same numbers, names, choices and gaps come back."""

import io

import numpy as np
import pytest

from tests._files import (
    numbers,
    write_csv,
    write_fortran,
    write_gzip,
    write_npy,
    write_npz,
    write_parquet,
    write_tsv,
    write_zarr,
    write_zarr_group,
    write_zarr_zip,
)
from torpca import OutlierRobustPCA
from torpca._files import FileTable, TableError, read_table
from torpca._files.chunked import ChunkedSource
from torpca.datasets import make_outlier_subspace

WRITERS = [write_csv, write_tsv, write_gzip, write_parquet, write_npy, write_fortran, write_npz]
WRITERS += [write_zarr, write_zarr_group, write_zarr_zip]
each_format = pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__[6:])


def rows_of(X):
    """The rows, whatever they are held in."""
    return X.take(np.arange(X.shape[0])) if isinstance(X, ChunkedSource) else np.asarray(X)


@each_format
@pytest.mark.parametrize("limit", [10**9, 100], ids=["in memory", "large"])
def test_numbers_come_back_to_the_last_bit(tmp_path, write, limit):
    X = numbers()
    table = read_table(write(tmp_path, X), chunk_bytes=400, memory_bytes=limit)
    assert isinstance(table, FileTable)
    assert table.X.shape == X.shape
    np.testing.assert_array_equal(rows_of(table.X), X)
    assert table.names == ("x0", "x1", "x2", "x3")
    assert table.ids.tolist() == [str(i) for i in range(1, 41)]
    assert table.ids.dtype == np.dtype("<U2")
    assert table.left_out == ()
    assert len(table.dropped) == 0


@each_format
@pytest.mark.parametrize("limit", [10**9, 100], ids=["in memory", "large"])
def test_rows_with_missing_values_are_dropped_and_named(tmp_path, write, limit):
    X = numbers()
    X[[2, 17, 39], [0, 3, 3]] = np.nan
    path = write(tmp_path, X)
    table = read_table(path, missing="drop-rows", chunk_bytes=400, memory_bytes=limit)
    np.testing.assert_array_equal(rows_of(table.X), np.delete(X, [2, 17, 39], axis=0))
    assert table.dropped.tolist() == [3, 18, 40]
    assert table.ids.tolist() == [str(i) for i in range(1, 41) if i not in (3, 18, 40)]
    assert any(
        "3 rows of 40 were left out" in note and "3, 18 and 40, counted from 1" in note
        for note in table.notes
    )
    with pytest.raises(TableError) as error:
        read_table(path, chunk_bytes=400, memory_bytes=limit)
    for part in (
        "3 missing values",
        "2 columns",
        "'x3': 2",
        "'x0': 1",
        "3, 18 and 40, counted from 1",
    ):
        assert part in str(error.value)
    assert "--missing drop-rows" in str(error.value)


@each_format
def test_infinite_values_are_an_error_even_if_rows_may_be_dropped(tmp_path, write):
    X = numbers()
    X[5, 1], X[7, 2] = np.inf, -np.inf
    with pytest.raises(
        TableError, match=r"2 infinite values, in 2 columns .* rows \(6 and 8, counted from 1\)"
    ):
        read_table(write(tmp_path, X), missing="drop-rows", chunk_bytes=400)


@each_format
@pytest.mark.parametrize("limit", [10**9, 100], ids=["in memory", "large"])
def test_columns_are_chosen_in_the_order_asked_for(tmp_path, write, limit):
    X = numbers()
    X[3, 0] = np.nan  # a column that is not asked for may lack values
    path = write(tmp_path, X)
    options = {"columns": ["x3", "x1"], "chunk_bytes": 400, "memory_bytes": limit}
    table = read_table(path, **options)
    assert table.names == ("x3", "x1")
    np.testing.assert_array_equal(rows_of(table.X), X[:, [3, 1]])
    with pytest.raises(TableError, match=r"no column 'X33'\. Did you mean 'x3'"):
        read_table(path, columns=["x0", "X33"])
    with pytest.raises(TableError, match="twice: 'x0'"):
        read_table(path, columns=["x0", "x0"])


@each_format
def test_a_column_names_the_rows(tmp_path, write):
    X = numbers()
    X[:, 1] = np.arange(40)[::-1]
    X[4, 0] = np.nan
    path = write(tmp_path, X)
    table = read_table(path, id_column="x1", missing="drop-rows", chunk_bytes=400)
    assert table.names == ("x0", "x2", "x3")
    np.testing.assert_array_equal(rows_of(table.X), np.delete(X, 4, axis=0)[:, [0, 2, 3]])
    wanted = [str(i) for i in range(39, -1, -1) if i != 35]
    # A text file's cells are taken as they are written.
    assert [value.removesuffix(".0") for value in table.ids] == wanted
    with pytest.raises(TableError, match="no column 'x9' to name rows by"):
        read_table(path, id_column="x9")


@each_format
def test_a_column_without_values_is_left_out(tmp_path, write):
    X = numbers()
    X[:, 2] = np.nan
    X[7, 0] = np.nan
    path = write(tmp_path, X)
    table = read_table(path, missing="drop-rows", chunk_bytes=400)
    assert table.names == ("x0", "x1", "x3")
    assert table.left_out == (("x2", "it has no values"),)
    assert table.dropped.tolist() == [8]
    np.testing.assert_array_equal(rows_of(table.X), np.delete(X, 7, axis=0)[:, [0, 1, 3]])
    with pytest.raises(TableError, match=r"no values in .*: 'x2'"):
        read_table(path, columns=["x0", "x1", "x2"], missing="drop-rows")


@pytest.mark.parametrize("write", [write_parquet, write_npy, write_npz, write_zarr])
def test_single_precision_stays(tmp_path, write):
    X = numbers().astype(np.float32)
    path = write(tmp_path, X)
    for limit in (10**9, 100):
        table = read_table(path, chunk_bytes=400, memory_bytes=limit)
        assert table.X.dtype == np.float32
        np.testing.assert_array_equal(rows_of(table.X), X)


def test_what_the_rows_are_held_in(tmp_path):
    X = numbers()
    assert isinstance(read_table(write_npy(tmp_path, X)).X, np.memmap)
    for write, large in (
        (write_csv, np.memmap),
        (write_parquet, ChunkedSource),
        (write_npz, np.memmap),
        (write_zarr, ChunkedSource),
    ):
        path = write(tmp_path, X)
        assert type(read_table(path).X) is np.ndarray
        table = read_table(path, memory_bytes=100)
        assert type(table.X) is large
    assert "read again at every pass" in table.notes[-1]


@each_format
def test_progress_is_told(tmp_path, write):
    calls = []
    path = write(tmp_path, numbers())
    read_table(path, chunk_bytes=400, progress=lambda *rows: calls.append(rows))
    assert calls[-1] == (40, 40)
    assert len(calls) > 2


@each_format
def test_a_fit_takes_it_in_chunks_or_whole(tmp_path, write):
    data = make_outlier_subspace(300, 6, 2, 0.2, noise=0.01, random_state=0)
    path = write(tmp_path, data.X)
    whole = OutlierRobustPCA(2).fit(data.X)
    for limit in (10**9, 1000):
        model = OutlierRobustPCA(2).fit(read_table(path, chunk_bytes=4000, memory_bytes=limit).X)
        np.testing.assert_allclose(
            np.abs(model.components_ @ whole.components_.T), np.eye(2), atol=1e-9
        )
        np.testing.assert_array_equal(model.outlier_type_, whole.outlier_type_)


def test_a_temporary_copy_that_does_not_fit_is_told(tmp_path, monkeypatch):
    import tempfile

    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    for write in (write_csv, write_npz):
        with pytest.raises(TableError, match=r"No space left on device.*TMPDIR"):
            read_table(write(tmp_path, numbers()), memory_bytes=100)
