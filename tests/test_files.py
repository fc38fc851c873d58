"""Tables read from files: every format, what is left out, what is told, and files that are bad."""

import gzip
import io
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from torpca import OutlierRobustPCA
from torpca._files import FileTable, TableError, read_table
from torpca._files.chunked import ChunkedSource
from torpca._files.npy import read_npy
from torpca._files.parquet import StoredParquet
from torpca.datasets import make_outlier_subspace
from torpca.testing import RowSourceContract

DATA = Path(os.environ.get("TORPCA_DATA", Path(__file__).parents[2] / "shared" / "data"))
OPTIONS = {"columns": None, "id_column": None, "chunk_bytes": 512}


def arrow_or_skip():
    return pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'torpca[cli]'")


def zarr_or_skip():
    return pytest.importorskip("zarr", reason="needs Zarr: pip install 'torpca[io]'")


@pytest.fixture
def arrow():
    return arrow_or_skip()


def numbers(n=40, d=4):
    return np.random.default_rng(0).standard_normal((n, d))


# ---- writers, one per format ---------------------------------------------------------------------


def write_csv(folder, X, delimiter=","):
    arrow_or_skip()
    lines = [delimiter.join(f"x{i}" for i in range(1, X.shape[1] + 1))]
    lines += [delimiter.join("" if v != v else repr(float(v)) for v in row) for row in X]
    path = folder / ("rows.csv" if delimiter == "," else "rows.tsv")
    path.write_text("\n".join(lines) + "\n")
    return path


def write_tsv(folder, X):
    return write_csv(folder, X, "\t")


def write_gzip(folder, X):
    path = folder / "rows.csv.gz"
    path.write_bytes(gzip.compress(write_csv(folder, X).read_bytes()))
    return path


def write_parquet(folder, X):
    pa = arrow_or_skip()
    import pyarrow.parquet as pq

    table = pa.table({f"x{i}": pa.array(x, from_pandas=True) for i, x in enumerate(X.T, 1)})
    pq.write_table(table, folder / "rows.parquet", row_group_size=9)
    return folder / "rows.parquet"


def write_npy(folder, X):
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def write_fortran(folder, X):
    return write_npy(folder, np.asfortranarray(X))


def write_npz(folder, X):
    np.savez_compressed(folder / "rows.npz", X=X)
    return folder / "rows.npz"


def write_zarr(folder, X):
    zarr = zarr_or_skip()
    array = zarr.create_array(
        str(folder / "rows.zarr"), shape=X.shape, chunks=(7, 3), dtype=X.dtype, overwrite=True
    )
    array[:] = X
    return folder / "rows.zarr"


def write_zarr_group(folder, X):
    zarr = zarr_or_skip()
    group = zarr.create_group(str(folder / "group.zarr"))
    group.create_array("rows", shape=X.shape, chunks=(7, 3), dtype=X.dtype)[:] = X
    group.create_array("labels", shape=(3,), dtype="i4")
    return folder / "group.zarr"


def write_zarr_zip(folder, X):
    zarr = zarr_or_skip()
    with zarr.storage.ZipStore(folder / "rows.zarr.zip", mode="w") as store:
        zarr.create_array(store, shape=X.shape, chunks=(7, 3), dtype=X.dtype)[:] = X
    return folder / "rows.zarr.zip"


WRITERS = [write_csv, write_tsv, write_gzip, write_parquet, write_npy, write_fortran, write_npz]
WRITERS += [write_zarr, write_zarr_group, write_zarr_zip]
each_format = pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__[6:])


def rows_of(X):
    """The rows, whatever they are held in."""
    return X.take(np.arange(X.shape[0])) if isinstance(X, ChunkedSource) else np.asarray(X)


# ---- every format --------------------------------------------------------------------------------


@each_format
@pytest.mark.parametrize("limit", [10**9, 100], ids=["in memory", "large"])
def test_numbers_come_back_to_the_last_bit(tmp_path, write, limit):
    X = numbers()
    table = read_table(write(tmp_path, X), chunk_bytes=400, memory_bytes=limit)
    assert isinstance(table, FileTable)
    assert table.X.shape == X.shape
    np.testing.assert_array_equal(rows_of(table.X), X)
    assert table.names == ("x1", "x2", "x3", "x4")
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
        "3 rows of 40 were left out" in note and "3, 18 and 40" in note for note in table.notes
    )
    with pytest.raises(TableError) as error:
        read_table(path, chunk_bytes=400, memory_bytes=limit)
    for part in ("3 missing values", "2 columns", "'x4': 2", "'x1': 1", "3, 18 and 40"):
        assert part in str(error.value)
    assert "--missing drop-rows" in str(error.value)


@each_format
def test_infinite_values_are_an_error_even_if_rows_may_be_dropped(tmp_path, write):
    X = numbers()
    X[5, 1], X[7, 2] = np.inf, -np.inf
    with pytest.raises(TableError, match=r"2 infinite values, in 2 columns .* rows \(6 and 8\)"):
        read_table(write(tmp_path, X), missing="drop-rows", chunk_bytes=400)


@each_format
@pytest.mark.parametrize("limit", [10**9, 100], ids=["in memory", "large"])
def test_columns_are_chosen_in_the_order_asked_for(tmp_path, write, limit):
    X = numbers()
    X[3, 0] = np.nan  # a column that is not asked for may lack values
    path = write(tmp_path, X)
    options = {"columns": ["x4", "x2"], "chunk_bytes": 400, "memory_bytes": limit}
    table = read_table(path, **options)
    assert table.names == ("x4", "x2")
    np.testing.assert_array_equal(rows_of(table.X), X[:, [3, 1]])
    with pytest.raises(TableError, match=r"no column 'X44'\. Did you mean 'x4'"):
        read_table(path, columns=["x1", "X44"])
    with pytest.raises(TableError, match="twice: 'x1'"):
        read_table(path, columns=["x1", "x1"])


@each_format
def test_a_column_names_the_rows(tmp_path, write):
    X = numbers()
    X[:, 1] = np.arange(40)[::-1]
    X[4, 0] = np.nan
    path = write(tmp_path, X)
    table = read_table(path, id_column="x2", missing="drop-rows", chunk_bytes=400)
    assert table.names == ("x1", "x3", "x4")
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
    assert table.names == ("x1", "x2", "x4")
    assert table.left_out == (("x3", "it has no values"),)
    assert table.dropped.tolist() == [8]
    np.testing.assert_array_equal(rows_of(table.X), np.delete(X, 7, axis=0)[:, [0, 1, 3]])
    with pytest.raises(TableError, match=r"no values in .*: 'x3'"):
        read_table(path, columns=["x1", "x2", "x3"], missing="drop-rows")


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


# ---- text ----------------------------------------------------------------------------------------


def csv(folder, text, name="rows.csv"):
    arrow_or_skip()
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def test_kinds_of_columns(tmp_path):
    path = csv(
        tmp_path,
        "id,whole,half,flag,same,city,day,empty,code\n"
        "007,1,0.5,true,3,Berlin,2024-01-01,,A1\n"
        "008,-2,1e3,False,3,Rome,2024-01-02,NA,12\n"
        '009,3,+.5,TRUE,3,"Paris, ""x""\nand more",2024-01-03,,B\n',
    )
    table = read_table(path, id_column="id")
    assert table.names == ("whole", "half", "flag", "same")  # a constant column stays
    assert table.ids.tolist() == ["007", "008", "009"]
    np.testing.assert_array_equal(table.X, [[1, 0.5, 1, 3], [-2, 1000, 0, 3], [3, 0.5, 1, 3]])
    assert dict(table.left_out) == {
        "city": "text, such as 'Berlin' in row 1",
        "day": "dates, such as '2024-01-01' in row 1",
        "empty": "it has no values",
        "code": "text, such as 'A1' in row 1",
    }
    notes = " ".join(table.notes)
    for part in (
        "4 columns left out",
        "'Berlin' in row 1",
        "named by column 'id'",
        "1 and 0 in 'flag'",
    ):
        assert part in notes


@pytest.mark.parametrize("mark", ["", "NA", " NaN ", "null", "?", "#DIV/0!"])
def test_marks_of_missing_values(tmp_path, mark):
    table = read_table(csv(tmp_path, f"a,b\n1,2\n3,{mark}\n 5, 6 \n"), missing="drop-rows")
    np.testing.assert_array_equal(table.X, [[1, 2], [5, 6]])
    assert table.dropped.tolist() == [2]


def test_what_is_wrong_with_a_column_does_not_depend_on_chunks(tmp_path):
    path = csv(tmp_path, "a,b\n" + "1,true\n" * 40 + "1,7.5\n" + "2,x\n" * 3)
    said = set()
    for chunk_bytes in (16, 64, 2**20):
        with pytest.raises(
            TableError, match=r"but also '7\.5' in row 41 and 3 other cells"
        ) as error:
            read_table(path, chunk_bytes=chunk_bytes)
        said.add(str(error.value))
    assert len(said) == 1


@pytest.mark.parametrize("chunk_bytes", [64, 2**20])
def test_the_size_of_chunks_does_not_matter(tmp_path, chunk_bytes):
    # Whole numbers first and fractions later, blanks first and numbers later, words at the end.
    lines = [f"{i},,t" if i < 40 else f"{i / 8},{i},{i}" for i in range(80)]
    path = csv(tmp_path, "a,b,c\n" + "\n".join(lines) + "\n")
    table = read_table(path, columns=["a", "b"], missing="drop-rows", chunk_bytes=chunk_bytes)
    assert table.X.tolist() == [[i / 8, i] for i in range(40, 80)]
    late = csv(tmp_path, "a,b,c\n" + "1,2,3\n" * 30 + "1,2,x\n" * 31)
    table = read_table(late, chunk_bytes=chunk_bytes)
    assert table.left_out == (("c", "text, such as 'x' in row 31"),)
    assert table.X.tolist() == [[1, 2]] * 61


def test_a_byte_order_mark_spaces_and_blank_lines_do_no_harm(tmp_path):
    path = csv(tmp_path, b"\xef\xbb\xbf\r\na, b \r\n\r\n1, 2\r\n\r\n3,4\r\n\r\n")
    table = read_table(path)
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


def test_row_names_of_r_and_pandas_are_no_feature(tmp_path):
    path = csv(tmp_path, '"","a","b"\n"1",1,2\n"2",3,4\n')
    table = read_table(path)
    assert table.names == ("a", "b")
    assert table.left_out[0][0] == ""
    assert "no name" in table.left_out[0][1]
    assert read_table(path, id_column="").ids.tolist() == ["1", "2"]


def test_a_first_row_taken_for_names_is_told(tmp_path):
    assert "first row was taken" in " ".join(read_table(csv(tmp_path, "3,1,2\n1,2,3\n")).notes)
    # Wavelengths are names.
    assert read_table(csv(tmp_path, "1100,1102,1104\n1,2,3\n")).notes == ()


def test_ids_that_are_missing_or_repeated(tmp_path):
    table = read_table(csv(tmp_path, "id,a,b\nx,1,2\n,3,4\nx,5,6\nNA,1,1\n"), id_column="id")
    assert table.ids.tolist() == ["x", "row 2", "x", "NA"]
    assert "does not tell all rows apart" in table.notes[-1]
    assert any("called by number" in note for note in table.notes)


def test_standard_input(tmp_path, monkeypatch):
    arrow_or_skip()
    for text in (b"a;b\n1;2\n3;4\n", b"a;b\n1;2\n3;4"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
        table = read_table("-", delimiter=";")
        np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,2\n3\n")))
    with pytest.raises(TableError, match="Row 2 of standard input has 1 cell"):
        read_table("-")


@pytest.mark.parametrize("delimiter", ["\t", "\\t", "tab"])
def test_a_tab_may_be_written_in_words(tmp_path, delimiter):
    assert read_table(csv(tmp_path, "a\tb\n1\t2\n"), delimiter=delimiter).names == ("a", "b")


def test_a_temporary_copy_that_does_not_fit_is_told(tmp_path, monkeypatch):
    import tempfile

    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    for write in (write_csv, write_npz):
        with pytest.raises(TableError, match=r"No space left on device.*TMPDIR"):
            read_table(write(tmp_path, numbers()), memory_bytes=100)


def test_octane_as_csv(tmp_path):
    if not (DATA / "octane.npz").is_file():
        pytest.skip(f"no real data at {DATA}; set TORPCA_DATA to their folder")
    with np.load(DATA / "octane.npz") as data:
        X, names = data["X"], data["feature_names"]
    lines = [",".join(["sample", *names])]
    lines += [",".join([f"s{i}", *map(repr, row)]) for i, row in enumerate(X.tolist(), 1)]
    table = read_table(csv(tmp_path, "\n".join(lines)), id_column="sample")
    np.testing.assert_array_equal(table.X, X)
    assert table.names == tuple(names)
    flagged = OutlierRobustPCA().fit(table.X).predict(table.X) == -1
    assert {f"s{i}" for i in (25, 26, 36, 37, 38, 39)} <= set(table.ids[flagged])
    itself = read_table(DATA / "octane.npz")
    np.testing.assert_array_equal(itself.X, X)
    assert itself.names == tuple(names)  # named by the file's own feature_names
    assert "array 'X'" in itself.notes[0]


# ---- Parquet, NumPy's formats --------------------------------------------------------------------


def test_kinds_of_parquet_columns(tmp_path, arrow):
    import datetime
    import decimal

    import pyarrow.parquet as pq

    pa = arrow
    day = datetime.date(2024, 1, 1)
    table = pa.table(
        {
            "big": pa.array([2**62 + 1, None, 3], pa.int64()),
            "flag": [True, False, None],
            "small": pa.array([1, 2, 3], pa.int8()),
            "money": [decimal.Decimal("1.25"), decimal.Decimal("2.50"), decimal.Decimal("3.75")],
            "a.b": [1.0, 2.0, 3.0],
            "a": [4.0, 5.0, 6.0],
            "text": ["1", "2", "3"],
            "day": [day, day, day],
            "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
            "list": [[1], [2], [3]],
            "void": pa.nulls(3),
        }
    )
    pq.write_table(table, tmp_path / "kinds.parquet")
    found = read_table(tmp_path / "kinds.parquet", missing="drop-rows", id_column="kind")
    assert found.names == ("big", "flag", "small", "money", "a.b", "a")
    assert found.ids.tolist() == ["u"]
    np.testing.assert_array_equal(found.X, [[2.0**62, 1, 1, 1.25, 1, 4]])
    reasons = dict(found.left_out)
    assert set(reasons) == {"text", "day", "list", "void"}
    assert reasons["text"] == "text"
    assert "date" in reasons["day"]
    with pytest.raises(TableError, match=r"'text' of .* cannot be used: text"):
        read_table(tmp_path / "kinds.parquet", columns=["a", "text"])
    with pytest.raises(TableError, match=r"'list' .* cannot name the rows"):
        read_table(tmp_path / "kinds.parquet", id_column="list", missing="drop-rows")


def test_the_index_of_a_pandas_frame_is_no_feature(tmp_path, arrow):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(numbers(5, 3), columns=["a", "b", "c"], index=[7, 3, 5, 1, 2])
    frame.to_parquet(tmp_path / "frame.parquet")
    table = read_table(tmp_path / "frame.parquet")
    assert table.names == ("a", "b", "c")
    ((index, reason),) = table.left_out
    assert "index" in reason
    found = read_table(tmp_path / "frame.parquet", id_column=index)
    assert found.ids.tolist() == ["7", "3", "5", "1", "2"]


PARQUET_IN_LITTLE_MEMORY = """
import sys, tracemalloc
import pyarrow as pa, pyarrow.parquet as pq
import torpca._files.table  # not counted
from torpca._files import read_table
tracemalloc.start()
table = read_table(sys.argv[1], chunk_bytes=2**20)
print(table.X.nbytes, tracemalloc.get_traced_memory()[1], pa.default_memory_pool().max_memory())
"""


def test_a_parquet_file_is_not_held_twice(tmp_path, arrow):
    import pyarrow.parquet as pq

    n, d = 500_000, 6
    rng = np.random.default_rng(0)
    table = arrow.table({f"x{i}": rng.standard_normal(n) for i in range(d)})
    # One row group, as large as the file.
    pq.write_table(table, tmp_path / "large.parquet", use_dictionary=False, compression="none")
    del table
    command = [sys.executable, "-c", PARQUET_IN_LITTLE_MEMORY, str(tmp_path / "large.parquet")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    X, traced, in_arrow = map(int, done.stdout.split())
    assert 8 * n * d == X
    # The names of rows and a few numbers for each are there besides; Arrow holds a batch or two.
    assert traced < X + 60 * n + 2**24
    assert in_arrow < X / 2


def test_npz_with_other_arrays(tmp_path):
    path = tmp_path / "rows.npz"
    # What is pickled beside the table is never loaded.
    np.savez(path, X=numbers(), y=np.arange(40), odd=np.array([{}], dtype=object))
    table = read_table(path)
    np.testing.assert_array_equal(table.X, numbers())
    assert table.names == ("x1", "x2", "x3", "x4")
    assert any("'y' and 'odd'" in note for note in table.notes)


def test_integers_and_other_byte_orders(tmp_path):
    for X in (np.arange(12).reshape(4, 3), np.arange(12.0).reshape(4, 3).astype(">f4")):
        table = read_table(write_npy(tmp_path, X))
        np.testing.assert_array_equal(table.X, X)
        OutlierRobustPCA(1).fit(table.X)


# ---- rows that are read again at every pass ------------------------------------------------------


def with_more(X):
    """`X` between rows and columns that are not part of it, and the places of both."""
    n, d = X.shape
    Z = np.full((2 * n + 1, d + 2), 77, dtype=X.dtype)
    Z[1::2, 1:-1] = X
    return Z, np.arange(1, 2 * n + 1, 2), np.arange(1, d + 1)


class InFolder:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.path = tmp_path


class TestParquetInChunks(InFolder, RowSourceContract):
    def make_source(self, X):
        Z, rows, columns = with_more(X)
        stored = StoredParquet(write_parquet(self.path, Z), **OPTIONS)
        return ChunkedSource(stored, rows, columns)


class TestZarrInChunks(InFolder, RowSourceContract):
    def make_source(self, X):
        from torpca._files.zarr import StoredZarr

        Z, rows, columns = with_more(X)
        return ChunkedSource(StoredZarr(write_zarr(self.path, Z), **OPTIONS), rows, columns)


class TestAllRowsOfAnArrayInChunks(InFolder, RowSourceContract):
    def make_source(self, X):
        Z = np.column_stack([X, X[:, :1], X[:, :1]])
        stored = read_npy(write_npy(self.path, Z), **OPTIONS)
        return ChunkedSource(stored, columns=np.arange(X.shape[1]))


def test_row_groups_without_a_row_asked_for_are_not_read(tmp_path, arrow, monkeypatch):
    stored = StoredParquet(write_parquet(tmp_path, numbers()), **OPTIONS)  # nine rows to a group
    seen = []
    stream = stored._batches

    def watched(names, wanted=None):
        for start, batch in stream(names, wanted):
            seen.extend(range(start, start + batch.num_rows))
            yield start, batch

    monkeypatch.setattr(stored, "_batches", watched)
    source = ChunkedSource(stored)
    np.testing.assert_array_equal(source.take(np.array([38, 1])), numbers()[[38, 1]])
    assert seen == [*range(9), *range(36, 40)]
    source.take(np.zeros(0, dtype=np.intp))
    assert len(seen) == 13


# ---- bad files -----------------------------------------------------------------------------------


def text(content, name="bad.csv"):
    return lambda folder: csv(folder, content, name)


def saved(array, name="bad.npy"):
    def make(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # records with odd names are for new versions of NumPy
            np.save(folder / name, array, allow_pickle=True)
        return folder / name

    return make


def zipped(**arrays):
    def make(folder):
        np.savez(folder / "bad.npz", **arrays)
        return folder / "bad.npz"

    return make


def cut(write, share=0.6):
    def make(folder):
        path = write(folder, numbers())
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])
        return path

    return make


def plain(name, content=b""):
    def make(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return make


def folder_of(name, *inside):
    def make(folder):
        (folder / name).mkdir()
        for file in inside:
            (folder / name / file).write_text("{")
        return folder / name

    return make


def parquet_of(**columns):
    def make(folder):
        pa = arrow_or_skip()
        import pyarrow.parquet as pq

        names = [name.rstrip("_") for name in columns]
        pq.write_table(pa.table(list(columns.values()), names=names), folder / "bad.parquet")
        return folder / "bad.parquet"

    return make


def two_tables_in_a_group(folder):
    zarr = zarr_or_skip()
    group = zarr.create_group(str(folder / "two.zarr"))
    for name in ("first", "second"):
        group.create_array(name, shape=(4, 3), dtype="f8")
    return folder / "two.zarr"


def zarr_with_a_broken_chunk(folder):
    path = write_zarr(folder, numbers())
    chunk = path / "c" / "2" / "0"
    chunk.write_bytes(chunk.read_bytes()[:20])
    return path


def zip_without_zarr(folder):
    zarr_or_skip()
    with zipfile.ZipFile(folder / "bad.zip", "w") as archive:
        archive.writestr("readme.txt", "no table")
    return folder / "bad.zip"


def missing_file(folder):
    (folder / "rows.csv").write_text("a,b\n1,2\n")
    return folder / "rwos.csv"


# What the file is: (how it is made, parts of what is said).
BAD = {
    "missing file": (missing_file, ["no file", "rwos.csv", "Did you mean 'rows.csv'"]),
    "missing folder": (lambda f: f / "no" / "rows.csv", ["no file", "Check the name"]),
    "folder": (folder_of("data"), ["is a folder", ".parquet"]),
    "folder with an ending": (folder_of("data.csv"), ["is a folder"]),
    "unknown ending": (plain("a.xlsx", b"PK"), ["'.xlsx'", ".csv", ".parquet", ".npz", "Zarr"]),
    "no ending": (plain("table", b"a,b"), ["no ending", ".csv"]),
    "gzip of something": (plain("a.json.gz", b"a"), ["'.gz'", ".csv"]),
    "empty": (text(""), ["is empty"]),
    "only blank lines": (text("\n \n\n"), ["is empty"]),
    "empty Parquet": (plain("a.parquet"), ["is empty"]),
    "empty npy": (plain("a.npy"), ["is empty"]),
    "empty gzip": (plain("a.csv.gz", gzip.compress(b"")), ["is empty"]),
    "header only": (text("a,b,c\n"), ["3 column names", "no rows"]),
    "header and blank lines": (text("a,b,c\n\n\n"), ["3 column names", "no rows"]),
    "one column": (text("weight\n1\n2\n"), ["only one column, 'weight'"]),
    "one column of numbers": (
        text("a,b\nx,1\ny,2\n"),
        ["only one column of numbers", "'b'", "'x'"],
    ),
    "text only": (text("a,b\nx,y\nu,v\n"), ["no column of numbers", "'x' in row 1"]),
    "too few cells": (text("a,b\n1,2\n\n3\n4,5\n"), ["Line 4", "1 cell", "2 column names"]),
    "too many cells": (text('a,b\n"1\n",2\n1,2,3\n'), ["Line 4", "3 cells", "'1,2,3'"]),
    "mixed types": (
        text("a,b\n1,2\n3,4\n5,12 kg\n7,8\n9,about 3\n"),
        ["'b'", "numbers", "'12 kg' in row 3 and 1 other cell", "--columns"],
    ),
    "numbers and truths": (text("a,b\n1,5\n1,True\n1,7\n"), ["numbers, but also 'True' in row 2."]),
    "true and numbers": (
        text("a,b\n" + "1,true\n" * 40 + "1,7.5\n"),
        ["'b'", "true and false, but also '7.5' in row 41"],
    ),
    "missing values": (
        text("a,b\n1,\n,4\n5,\n7,8\n"),
        ["3 missing values", "'b': 2 and 'a': 1", "(1, 2 and 3)", "--missing drop-rows"],
    ),
    "infinite": (text("a,b\n1,2\n3,inf\n5,1e999\n"), ["2 infinite values", "'b'", "2 and 3"]),
    "duplicate names": (text("a,b,a\n1,2,3\n"), ["more than once: 'a'"]),
    "semicolons": (text("a;b\n1;2\n"), ["only one column, 'a;b'", "--delimiter ';'"]),
    "tabs": (text("a\tb\n1\t2\n"), ["--delimiter '\\t'"]),
    "commas in a TSV": (text("a,b\n1,2\n", "bad.tsv"), ["--delimiter ','"]),
    "decimal commas": (text("a\tb\n1,5\t2,5\n3,0\t2,0\n", "bad.tsv"), ["point, not a comma"]),
    "another encoding": (text("größe,b\n1,2\n".encode("latin-1")), ["UTF-8"]),
    "another encoding below": (text("a,b,c\n1,2,größe\n".encode("latin-1")), ["UTF-8"]),
    "UTF-16": (text("a,b\n1,2\n".encode("utf-16")), ["UTF-8"]),
    "cut gzip": (cut(write_gzip), ["broken gzip", "copy it again"]),
    "no gzip at all": (text(b"a,b\n1,2\n", "bad.csv.gz"), ["broken gzip"]),
    "cut Parquet": (cut(write_parquet), ["Parquet", "only in part"]),
    "cut Parquet at the start": (cut(write_parquet, 0.01), ["Parquet", "only in part"]),
    "CSV called Parquet": (plain("a.parquet", b"a,b\n1,2\n" * 9), ["Parquet", "only in part"]),
    "Parquet of text": (parquet_of(a=["x"], b=["y"]), ["no column of numbers", "'a' (text)"]),
    "Parquet, one column": (parquet_of(a=[1, 2]), ["only one column of numbers", "'a'"]),
    "Parquet without rows": (
        parquet_of(a=np.zeros(0), b=np.zeros(0)),
        ["columns and no rows"],
    ),
    "Parquet without columns": (parquet_of(), ["no columns"]),
    "Parquet, names twice": (parquet_of(a=[1], b=[2], a_=[3]), ["more than once: 'a'"]),
    "Parquet, NaN and null": (
        parquet_of(a=[1.0, None, 2.0], b=[np.nan, 1.0, 2.0]),
        ["2 missing values", "(1 and 2)"],
    ),
    "cut npy": (cut(write_npy), ["cut off", "(40, 4)"]),
    "cut npy in its first bytes": (cut(write_npy, 0.01), ["cut off or not in NumPy's format"]),
    "CSV called npy": (plain("a.npy", b"a,b\n1,2\n"), ["not in NumPy's format"]),
    "npy of three dimensions": (saved(np.zeros((2, 2, 2))), ["3 dimensions", "(2, 2, 2)"]),
    "npy of one dimension": (saved(np.zeros(5)), ["1 dimension ", "2 are needed"]),
    "npy without rows": (saved(np.zeros((0, 3))), ["empty array"]),
    "npy of one column": (saved(np.zeros((3, 1))), ["only one column"]),
    "npy of text": (saved(np.array([["a", "b"]])), ["holds text"]),
    "npy of complex numbers": (saved(np.ones((2, 2), complex)), ["complex"]),
    "npy of dates": (saved(np.zeros((2, 2), "M8[D]")), ["holds dates"]),
    "npy of records": (saved(np.zeros(3, [("a", "f8"), ("b", "f8")])), ["holds records"]),
    "npy of odd records": (saved(np.zeros(3, [("\u20ac", "f8")])), ["3.0", "records"]),
    "pickled npy": (saved(np.array([[1, {}]], dtype=object)), ["pickle", "not loaded"]),
    "several tables in npz": (
        zipped(A=np.ones((2, 2)), B=np.ones((3, 3))),
        ["2 tables", "'A' and 'B'"],
    ),
    "pickled npz": (zipped(X=np.array([[1, {}]], dtype=object)), ["'X'", "pickle"]),
    "npz without a table": (zipped(a=np.ones(3), b=np.ones(2)), ["no two-dimensional", "'a'"]),
    "npz of nothing": (zipped(), ["no two-dimensional"]),
    "cut npz": (cut(write_npz), ["npz", "only in part"]),
    "two tables in Zarr": (two_tables_in_a_group, ["2 two-dimensional arrays", "'first'"]),
    "broken Zarr": (zarr_with_a_broken_chunk, ["Zarr", "only in part"]),
    "broken Zarr header": (folder_of("bad.zarr", "zarr.json"), ["Zarr", "only in part"]),
    "zip without Zarr": (zip_without_zarr, ["Zarr"]),
    "cut Zarr": (cut(write_zarr_zip), ["Zarr", "only in part"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    make, parts = BAD[case]
    if case.startswith("broken Zarr"):
        zarr_or_skip()
    if "Parquet" in case or case in {"empty gzip"}:
        arrow_or_skip()
    path = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(TableError) as error:
        read_table(path)
    said = str(error.value)
    for part in parts:
        assert part in said
    assert path.name in said
    assert said.endswith((".", "?"))
    assert "\n" not in said
    assert len(said) < 600 + 3 * len(str(path))
    assert sorted(tmp_path.rglob("*")) == before  # nothing is left behind


def test_bad_options(tmp_path):
    path = csv(tmp_path, "id,a,b\nx,1,2\n")
    for options, message in (
        ({"missing": "ignore"}, "'error' or 'drop-rows'"),
        ({"delimiter": "::"}, "one character"),
        ({"delimiter": ""}, "one character"),
        ({"columns": []}, "No columns were named"),
        ({"columns": ["a", "id"]}, "'id' .* cannot be used: text, such as 'x'"),
        ({"columns": ["a", "b"], "id_column": "a"}, "at the same time"),
        ({"columns": ["a"]}, "only one column of numbers to use, 'a'"),
        ({"columns": "a"}, "only one column of numbers to use, 'a'"),
    ):
        with pytest.raises(TableError, match=message):
            read_table(path, **options)


def test_rows_none_of_which_is_complete(tmp_path):
    with pytest.raises(TableError, match="no row is complete"):
        read_table(csv(tmp_path, "a,b\n1,\n,2\n"), missing="drop-rows")


def test_ids_that_would_fill_the_memory(tmp_path):
    path = csv(tmp_path, "id,a,b\n" + "x,1,2\n" * 50 + "y" * 500 + ",3,4\n")
    with pytest.raises(TableError, match="longest value has 500 characters"):
        read_table(path, id_column="id", memory_bytes=10**4)


def test_long_cells_and_odd_names_are_shown_on_one_line(tmp_path):
    path = csv(tmp_path, 'a,"b\nc"\n' + "1,2\n" * 9 + f'3,"{"x" * 500}\n"\n')
    with pytest.raises(TableError, match=r"'b\\nc'") as error:
        read_table(path)
    assert len(str(error.value)) < 500 + len(str(path))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("write", [write_csv, write_parquet, write_npy, write_npz, write_zarr_zip])
def test_a_file_nobody_may_read(tmp_path, write):
    path = write(tmp_path, numbers())
    path.chmod(0)
    with pytest.raises(TableError, match=r"Permission denied.*who may read it"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("a.csv", "pyarrow", "cli"), ("a.parquet", "pyarrow", "cli"), ("a.zip", "zarr", "io")],
)
def test_what_to_install_is_told(tmp_path, monkeypatch, name, module, extra):
    for loaded in [m for m in sys.modules if m == module or m.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=rf'pip install "torpca\[{extra}\]"'):
        read_table(tmp_path / name)
