"""Missing cells of files: kept for a model, counted, and marked by values that somebody names."""

import numpy as np
import pytest

from tests._files import arrow_or_skip, numbers, write_csv, write_npy, write_npz, write_parquet
from tests.test_files_formats import each_format, rows_of
from torpca._files import TableError, read_table

limits = pytest.mark.parametrize("limit", [10**9, 100], ids=["in memory", "large"])


def csv(folder, text, name="rows.csv"):
    arrow_or_skip()
    path = folder / name
    path.write_text(text)
    return path


def holed():
    X = numbers()
    X[[2, 17, 39, 39], [0, 3, 3, 1]] = np.nan
    return X


# ---- kept ---------------------------------------------------------------------------------------


@each_format
@limits
def test_missing_cells_stay_and_are_counted(tmp_path, write, limit):
    X = holed()
    table = read_table(write(tmp_path, X), missing="model", chunk_bytes=400, memory_bytes=limit)
    np.testing.assert_array_equal(rows_of(table.X), X)
    assert len(table.ids) == 40
    assert len(table.dropped) == 0
    np.testing.assert_array_equal(table.missing.of_rows, np.isnan(X).sum(axis=1))
    np.testing.assert_array_equal(table.missing.of_columns, np.isnan(X).sum(axis=0))
    assert (table.missing.cells, table.missing.total, table.missing.rows) == (4, 160, 3)
    assert table.missing.worst.tolist() == [3, 0, 1]


@each_format
def test_a_column_without_values_is_left_out_and_not_counted(tmp_path, write):
    X = holed()
    X[:, 2] = np.nan
    table = read_table(write(tmp_path, X), missing="model", chunk_bytes=400)
    assert table.left_out == (("x2", "it has no values"),)
    np.testing.assert_array_equal(rows_of(table.X), X[:, [0, 1, 3]])
    assert (table.missing.cells, table.missing.total) == (4, 120)


@each_format
@limits
def test_columns_of_a_model_may_be_empty(tmp_path, write, limit):
    X = numbers(3)
    X[:, 2] = np.nan
    names = ["x3", "x2", "x1", "x0"]
    path = write(tmp_path, X)
    table = read_table(path, columns=names, missing="model", empty_too=True, memory_bytes=limit)
    np.testing.assert_array_equal(rows_of(table.X), X[:, ::-1])
    assert table.missing.of_columns.tolist() == [0, 3, 0, 0]
    for missing in ("drop-rows", "error"):
        with pytest.raises(TableError, match=r"no values in .*: 'x2'"):
            read_table(path, columns=names, missing=missing, empty_too=True)


def test_a_parquet_column_of_nulls_is_empty(tmp_path):
    pa = arrow_or_skip()
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1.0], "b": pa.nulls(1)}), tmp_path / "rows.parquet")
    options = {"columns": ["a", "b"], "missing": "model"}
    table = read_table(tmp_path / "rows.parquet", **options, empty_too=True)
    np.testing.assert_array_equal(rows_of(table.X), [[1.0, np.nan]])
    with pytest.raises(TableError, match="it has no values"):
        read_table(tmp_path / "rows.parquet", **options)


def test_rows_that_are_dropped_keep_their_names(tmp_path):
    path = csv(tmp_path, "id,a,b\nx,1,2\ny,,2\n,3,\nz,4,5\n")
    table = read_table(path, id_column="id", missing="drop-rows")
    assert table.ids.tolist() == ["x", "z"]
    assert table.numbers.tolist() == [1, 4]
    assert table.dropped_ids.tolist() == ["y", "row 3"]
    assert table.dropped.tolist() == [2, 3]
    assert (table.missing.cells, table.missing.total, table.missing.rows) == (2, 8, 2)
    assert not table.missing.of_rows.any()


# ---- values that mean missing --------------------------------------------------------------------


@each_format
@limits
def test_numbers_that_mean_missing(tmp_path, write, limit):
    X = holed()
    marked = X.copy()
    marked[[4, 5], [1, 2]] = -999, 1e30
    path = write(tmp_path, marked)
    options = {"missing": "model", "chunk_bytes": 400, "memory_bytes": limit}
    table = read_table(path, na_values=["-999", "1E30"], **options)
    expected = marked.copy()
    expected[[4, 5], [1, 2]] = np.nan
    np.testing.assert_array_equal(rows_of(table.X), expected)
    assert table.missing.cells == 6
    assert any("2 cells are missing because --na-values names" in note for note in table.notes)
    # Nothing is taken for missing by itself.
    np.testing.assert_array_equal(rows_of(read_table(path, **options).X), marked)


@pytest.mark.parametrize("write", [write_npy, write_npz, write_parquet])
@pytest.mark.parametrize("dtype", ["f4", "i2", "u1", "i8"])
def test_marks_of_every_type_of_number(tmp_path, write, dtype):
    X = (10 * numbers()).astype("i2").clip(0, 100).astype(dtype)
    mark = 249
    if dtype == "f4":
        X, mark = X + np.float32(0.25), -999.9  # another number in single precision
    X[3, 1] = mark
    table = read_table(write(tmp_path, X), missing="model", na_values=[mark])
    expected = X.astype(np.float64)
    expected[3, 1] = np.nan
    np.testing.assert_array_equal(rows_of(table.X), expected)


def test_single_precision_among_double(tmp_path):
    pa = arrow_or_skip()
    import pyarrow.parquet as pq

    a = pa.array(np.array([0.5, -999.9], dtype=np.float32))
    pq.write_table(pa.table({"a": a, "b": [1.0, 2.0]}), tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet", missing="model", na_values=["-999.9"])
    assert table.missing.of_columns.tolist() == [1, 0]


def test_texts_that_mean_missing(tmp_path):
    path = csv(tmp_path, "id,a,b\nbelow LOD,1,2\nx, below LOD ,-999\ny,3,-999.00\nz,4,-9.99e2\n")
    with pytest.raises(TableError, match=r"'below LOD' in row 2.*--na-values") as error:
        read_table(path, missing="model")
    assert "--missing drop-rows" not in str(error.value)
    table = read_table(path, id_column="id", missing="model", na_values=["below LOD", "-999"])
    np.testing.assert_array_equal(table.X, [[1, 2], [np.nan] * 2, [3, np.nan], [4, np.nan]])
    assert table.ids[0] == "below LOD"  # a name is a name
    assert any("4 cells are missing" in note for note in table.notes)


def test_marks_with_a_decimal_comma(tmp_path):
    path = csv(tmp_path, "a;b\n1,5;-9,9\n2;-9,90\n3;4\n")
    options = {"delimiter": ";", "decimal": ",", "missing": "model"}
    for mark in ("-9,9", "-9.9"):
        table = read_table(path, na_values=[mark], **options)
        assert table.missing.of_columns.tolist() == [0, 2]


@each_format
def test_infinity_can_mean_missing(tmp_path, write):
    X = numbers()
    X[3, 1], X[4, 2] = np.inf, -np.inf
    path = write(tmp_path, X)
    with pytest.raises(TableError, match="--na-values inf,-inf"):
        read_table(path, missing="model")
    table = read_table(path, missing="model", na_values=["inf", "-inf"])
    assert table.missing.cells == 2


def test_a_mark_that_is_nowhere_is_told(tmp_path):
    for write in (write_csv, write_npy):
        table = read_table(write(tmp_path, numbers()), na_values=["-999"])
        assert "No cell is '-999', which --na-values says is missing." in table.notes


def test_marks_that_cannot_be(tmp_path):
    for write in (write_npy, write_parquet):
        path = write(tmp_path, numbers())
        with pytest.raises(TableError, match=r"'n\.a\.x', but .*rows.* holds numbers.*such as"):
            read_table(path, na_values=["-999", "n.a.x"])
    for write in (write_npy, write_csv):
        with pytest.raises(TableError, match="empty cells are always missing"):
            read_table(write(tmp_path, numbers()), na_values=["-999", " "])


def test_an_error_says_how_to_keep_the_rows(tmp_path):
    path = write_npy(tmp_path, holed())
    with pytest.raises(TableError, match=r"4 missing values.*--missing model \(missing='model'\)"):
        read_table(path)
    every = numbers()
    every[np.arange(40), np.arange(40) % 4] = np.nan
    path = write_npy(tmp_path, every)
    with pytest.raises(TableError, match=r"no row is complete.*--missing model"):
        read_table(path, missing="drop-rows")
    assert read_table(path, missing="model").X.shape == (40, 4)
