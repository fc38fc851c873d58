"""Excel files: sheets, kinds of cells, and what is wrong with them."""

import datetime
import sys

import numpy as np
import pytest

from tests._files import arrow_or_skip
from torpca._files import TableError, read_table

arrow_or_skip()
openpyxl = pytest.importorskip("openpyxl", reason="writes the files: pip install openpyxl")
pytest.importorskip("python_calamine", reason='needs "torpca[excel]"')


def write(folder, name="rows.xlsx", **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(folder / name)
    return folder / name


ROWS = [["id", "a", "b"], ["x", 1, 2.5], ["y", 3, 1 / 3], ["z", -4e-300, 6]]


def test_a_sheet_is_read_to_the_last_digit(tmp_path):
    table = read_table(write(tmp_path, data=ROWS), id_column="id")
    np.testing.assert_array_equal(table.X, [[1, 2.5], [3, 1 / 3], [-4e-300, 6]])
    assert table.names == ("a", "b")
    assert table.ids.tolist() == ["x", "y", "z"]
    assert read_table(write(tmp_path, "rows.xlsm", data=ROWS), id_column="id").names == ("a", "b")


def test_kinds_of_cells(tmp_path):
    day, moment = datetime.date(2024, 5, 31), datetime.datetime(2024, 5, 31, 13, 45)
    rows = [
        ["whole", "flag", "day", "moment", "text", "amount", "gap", "id"],
        [1, True, day, moment, "x", "$12,032.1", 1, 7],
        [2, False, day, moment, "y", "$5", None, 8],
    ]
    table = read_table(write(tmp_path, data=rows), missing="model", id_column="id")
    assert table.names == ("whole", "flag", "amount", "gap")
    np.testing.assert_array_equal(table.X, [[1, 1, 12032.1, 1], [2, 0, 5, np.nan]])
    assert table.ids.tolist() == ["7", "8"]  # and not 7.0
    left_out = dict(table.left_out)
    assert left_out["day"] == "dates, such as '2024-05-31' in row 1"
    assert left_out["moment"] == "dates, such as '2024-05-31 13:45:00' in row 1"
    times = read_table(write(tmp_path, data=rows), missing="model", time_column="moment").times
    assert times.tolist() == [moment, moment]


def test_numbers_are_numbers_whatever_the_decimal_mark_of_text(tmp_path):
    rows = [["a", "b"], [1.5, "2,5"], [3.25, "4,75"]]
    table = read_table(write(tmp_path, data=rows), decimal=",")
    np.testing.assert_array_equal(table.X, [[1.5, 2.5], [3.25, 4.75]])


def test_sheets_are_chosen_by_name_or_number(tmp_path):
    other = [["u", "v"], [7, 8], [9, 10]]
    path = write(tmp_path, empty=[], data=ROWS, other=other, **{"2": other[:2]})
    table = read_table(path)
    assert table.names == ("a", "b")
    assert any("Sheet 'data' was read; the file has 2 other sheets" in n for n in table.notes)
    for sheet in ("other", 3, "3"):
        assert read_table(path, sheet=sheet).names == ("u", "v")
        assert not any("was read" in note for note in read_table(path, sheet=sheet).notes)
    assert len(read_table(path, sheet="2").X) == 1  # a name before a number
    with pytest.raises(TableError, match=r"no sheet 'Data'\. Did you mean 'data'\?"):
        read_table(path, sheet="Data")
    with pytest.raises(TableError, match=r"no sheet '5'.*there are 4"):
        read_table(path, sheet=5)
    with pytest.raises(TableError, match=r"Sheet 'empty' of .* is empty"):
        read_table(path, sheet="empty")


def test_lines_above_the_names_blank_rows_and_columns_beside(tmp_path):
    rows = [["Report", None, None, None], ["a", "b", None, None], [1, 2], [None, None], [3, 5]]
    table = read_table(write(tmp_path, data=rows), skip_rows=1)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 5]])
    assert not table.left_out
    plain = read_table(write(tmp_path, data=[[1, 2], [3, 5]]), header=False)
    assert plain.names == ("x0", "x1")
    assert len(plain.X) == 2


def test_files_that_are_none(tmp_path):
    for content in (b"PK", b"hello"):
        (tmp_path / "bad.xlsx").write_bytes(content)
        with pytest.raises(TableError, match="could not be read as an Excel file"):
            read_table(tmp_path / "bad.xlsx")
    (tmp_path / "bad.xlsx").write_bytes(b"")
    with pytest.raises(TableError, match="is empty"):
        read_table(tmp_path / "bad.xlsx")
    with pytest.raises(TableError, match="is empty"):
        read_table(write(tmp_path, data=[]))
    with pytest.raises(TableError, match=r"line of 2 column names and no rows"):
        read_table(write(tmp_path, data=[["a", "b"]]))
    with pytest.raises(
        TableError, match=r"no rows\. .* Sheet 'Notes' was read; .* 'Data' \(--sheet"
    ):
        read_table(write(tmp_path, Notes=[["about"]], Data=ROWS))
    cut = write(tmp_path, data=ROWS).read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(cut[: len(cut) // 2])
    with pytest.raises(TableError, match="could not be read as an Excel file"):
        read_table(tmp_path / "cut.xlsx")


@pytest.mark.parametrize("name", ["rows.csv", "rows.npy"])
def test_other_files_have_no_sheets(tmp_path, name):
    np.save(tmp_path / "rows.npy", np.ones((3, 2)))
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="has no sheets"):
        read_table(tmp_path / name, sheet=1)


def test_how_to_install_what_it_takes(tmp_path, monkeypatch):
    path = write(tmp_path, data=ROWS)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(TableError, match=r'pip install "torpca\[excel\]", or .*python-calamine'):
        read_table(path)
