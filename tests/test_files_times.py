"""A column that says when rows were measured: dates, times of day, numbers."""

import numpy as np
import pytest

from tests._files import arrow_or_skip, csv
from torpca._files import TableError, read_table
from torpca._times import shown_times


def table_of(folder, times, **options):
    lines = [f"{i},{i * i},{when}" for i, when in enumerate(times)]
    path = csv(folder, "a,b,when\n" + "\n".join(lines) + "\n")
    return read_table(path, time_column="when", **options)


@pytest.mark.parametrize(
    ("times", "dates"),
    [
        (["2024-05-31", "2024-06-01"], ["2024-05-31", "2024-06-01"]),
        (["2024-05-31 13:45", "2024-06-01 00:00"], ["2024-05-31T13:45:00", "2024-06-01T00:00:00"]),
        (["2024-05-31T13:45:01.5", "2024-06-01"], ["2024-05-31T13:45:01.500000", "2024-06-01"]),
        (["2024-05-31T13:45:00Z", "2024-06-01T01:00:00+02:00"],
         ["2024-05-31T13:45:00", "2024-05-31T23:00:00"]),
        (["2024/05/31", "2024/06/01"], ["2024-05-31", "2024-06-01"]),
        (["31.05.2024", "1.6.2024"], ["2024-05-31", "2024-06-01"]),
        (["31/05/2024 08:30", "01/06/2024 09:00"], ["2024-05-31T08:30:00", "2024-06-01T09:00:00"]),
        (["05/31/2024", "06/01/2024"], ["2024-05-31", "2024-06-01"]),
        (["2024-05-31", ""], ["2024-05-31", "NaT"]),
    ],
)  # fmt: skip
def test_dates(tmp_path, times, dates):
    table = table_of(tmp_path, times)
    assert table.names == ("a", "b")
    assert table.times.dtype.kind == "M"
    np.testing.assert_array_equal(table.times, np.array(dates, dtype="M8[us]"))


def test_day_or_month_first_is_said_where_it_is_assumed(tmp_path):
    table = table_of(tmp_path, ["01/05/2024", "02/05/2024", "03/05/2024", "01/06/2024"])
    assert str(table.times[0]) == "2024-05-01"  # in order with the day first, and only then
    assert any("read with the day first, as the rows are in order then" in n for n in table.notes)
    table = table_of(tmp_path, ["01/05/2024", "02/05/2024"])
    assert str(table.times[0]) == "2024-01-05"
    assert any("read with the month first, as in the USA" in note for note in table.notes)
    assert not any("first" in n for n in table_of(tmp_path, ["31/05/2024", "01/05/2024"]).notes)


def test_numbers_and_times_of_day_are_text_in_order(tmp_path):
    assert table_of(tmp_path, ["0.5", "1", "NA"]).times.tolist() == ["0.5", "1", ""]
    table = table_of(tmp_path, ["9:05", "13:45:10", ""])
    assert table.times.tolist() == ["09:05:00", "13:45:10", ""]
    assert any("1 row has no time in column 'when'" in note for note in table.notes)


def test_times_of_rows_that_are_left_out(tmp_path):
    path = csv(tmp_path, "a,b,when\n1,2,2024-05-01\n,2,2024-05-02\n3,4,2024-05-03\n")
    table = read_table(path, time_column="when", missing="drop-rows")
    assert shown_times(table.times).tolist() == ["2024-05-01", "2024-05-03"]
    assert shown_times(table.dropped_times).tolist() == ["2024-05-02"]


def test_parquet_and_arrays_have_times_too(tmp_path):
    pa = arrow_or_skip()
    import pyarrow.parquet as pq

    stamps = np.array(["2024-05-31T13:45:00", "NaT"], dtype="M8[ms]")
    pq.write_table(pa.table({"a": [1, 2], "b": [2.0, 3], "t": stamps}), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet", time_column="t")
    np.testing.assert_array_equal(table.times, stamps)
    assert table.left_out == ()
    np.save(tmp_path / "a.npy", [[1.0, 2.0, 0.25], [3.0, 4.0, 0.5]])
    table = read_table(tmp_path / "a.npy", time_column="x2")
    assert (table.names, table.times.tolist()) == (("x0", "x1"), ["0.25", "0.5"])


def test_one_column_may_name_rows_and_tell_times(tmp_path):
    table = table_of(tmp_path, ["2024-05-31", "2024-06-01"], id_column="when")
    assert table.ids.tolist() == ["2024-05-31", "2024-06-01"] == shown_times(table.times).tolist()


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (["2024-05-31", "soon"], "'soon' in row 2"),
        (["2024-05-31", "2024-02-30"], "'2024-02-30' in row 2"),
        (["9:05", "25:00"], "'25:00' in row 2"),
        (["2024-05-31", "5"], "no times that can be read"),
        (["", "NA"], "has no values"),
    ],
)
def test_times_that_are_none(tmp_path, times, said):
    with pytest.raises(TableError, match=said):
        table_of(tmp_path, times)


def test_columns_that_are_not_there(tmp_path):
    path = csv(tmp_path, "a,b,when\n1,2,1\n3,4,2\n")
    with pytest.raises(
        TableError, match=r"no column 'wen' to take times from\. Did you mean 'when'"
    ):
        read_table(path, time_column="wen")
    assert read_table(path, time_column="wen", time_if_there=True).times is None
    with pytest.raises(TableError, match="cannot hold the times and be a feature"):
        read_table(path, columns=["a", "when"], time_column="when")
