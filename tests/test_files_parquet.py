"""Parquet files: kinds of columns, the index of pandas, memory, row groups."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests._files import OPTIONS, arrow_or_skip, numbers, write_parquet
from torpca._files import TableError, read_table
from torpca._files.chunked import ChunkedSource
from torpca._files.parquet import StoredParquet


@pytest.fixture
def arrow():
    return arrow_or_skip()


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
import torpca._files.table  # not counted, nor what Arrow imports when it is first used
import importlib.util
if importlib.util.find_spec("pandas"):
    import pandas
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


# ---- files that are not as they were written -----------------------------------------------------


def test_no_changed_bit_of_a_footer_changes_the_rows(tmp_path, arrow):
    import pyarrow.parquet as pq

    X = numbers(12, 2)
    path = tmp_path / "rows.parquet"
    pq.write_table(arrow.table({"a": X[:, 0], "b": X[:, 1]}), path, row_group_size=9)
    whole = path.read_bytes()
    first = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    # The Arrow schema, near the end, is a copy that says nothing of numbers.
    outcomes = set()
    for i in range(first, whole.index(b"ARROW:schema")):
        for bit in (1, 3):  # a whole number more or less, another type
            changed = bytearray(whole)
            changed[i] ^= 1 << bit
            path.write_bytes(changed)
            try:
                found = read_table(path)
            except TableError:
                outcomes.add("error")
                continue
            np.testing.assert_array_equal(found.X, X, err_msg=f"byte {i}, bit {bit}")
            outcomes.add("same")
    assert outcomes == {"error", "same"}


@pytest.mark.parametrize("limit", [10**9, 100], ids=["in memory", "large"])
def test_rows_that_are_fewer_than_the_file_says(tmp_path, arrow, limit):
    path = write_parquet(tmp_path, numbers())  # row groups of 9, 9, 9, 9 and 4 rows
    whole = path.read_bytes()
    metadata = StoredParquet(path, **OPTIONS).edges
    assert metadata.tolist() == [0, 9, 18, 27, 36, 40]
    messages = set()
    # In Thrift's compact form 9 is written 18 and 40 is written 80, after the byte 0x16 of a field.
    for old, new in ((b"\x16\x12", b"\x16\x14"), (b"\x16\x12", b"\x16\x10"), (b"\x16P", b"\x16R")):
        at = -1
        while (at := whole.find(old, at + 1)) >= 0:
            path.write_bytes(whole[:at] + new + whole[at + len(old) :])
            try:
                X = read_table(path, memory_bytes=limit).X
            except TableError as error:
                messages.add(str(error))
                continue
            X = X.take(np.arange(len(numbers()))) if isinstance(X, ChunkedSource) else X
            np.testing.assert_array_equal(X, numbers())
    assert any("says both 40 and 41 rows" in message for message in messages)
    assert any("says both 41 and 40 rows" in message for message in messages)


def test_rows_that_come_are_counted(tmp_path, arrow):
    stored = StoredParquet(write_parquet(tmp_path, numbers()), **OPTIONS)
    for more, words in ((1, "4 rows where 5 should be"), (-1, "4 rows where 3 should be")):
        stored.edges[-1] = 40 + more
        with pytest.raises(TableError, match=words):
            list(stored.stream(np.arange(40 + more) >= 38))


def test_bytes_missing_from_the_last_column(tmp_path, arrow):
    import pyarrow.parquet as pq

    X = numbers()
    path = tmp_path / "rows.parquet"
    table = arrow.table({f"x{i}": x for i, x in enumerate(X.T, 1)})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    whole, metadata = path.read_bytes(), pq.read_metadata(path)
    last = metadata.row_group(0).column(3)
    end = last.data_page_offset + last.total_compressed_size
    if end < len(whole) - metadata.serialized_size - 8:
        pytest.skip("this Arrow writes something between the columns and the footer")
    at = whole.rindex(X[20:24, 3].tobytes())
    path.write_bytes(whole[:at] + whole[at + 16 :])  # the footer would be read as numbers
    with pytest.raises(TableError, match="'x4' reaches into what follows it"):
        read_table(path)
