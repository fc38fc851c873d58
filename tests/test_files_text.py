"""Text files: kinds of columns, marks of missing values, names of rows, odd lines."""

import gzip
import io
import os
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.recovery import DATA
from tests._files import arrow_or_skip, csv
from torpca import OutlierRobustPCA
from torpca._files import TableError, read_table


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
    for names in ("3,1,2", "S1,3.5,1.5,2.5", "S1,3,4,2"):
        row = ",".join("5678"[: names.count(",") + 1])
        notes = " ".join(read_table(csv(tmp_path, f"{names}\n{row}\n")).notes)
        assert "look like a row of numbers" in notes
        assert "--no-header" in notes
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


# ---- what files of other programs are like -------------------------------------------------------


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_files_without_a_line_of_names(tmp_path, mark):
    path = csv(tmp_path, mark + b"1,2,u\n3,4,v\n5,7,w\n")
    table = read_table(path, header=False, id_column="x2")
    assert table.names == ("x0", "x1")
    assert table.ids.tolist() == ["u", "v", "w"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 7]])
    with pytest.raises(TableError, match=r"Line 2 .* has 1 cell"):
        read_table(csv(tmp_path, "1,2\n3\n"), header=False)


def test_standard_input_without_a_line_of_names(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"1,2\n3,4\n")))
    np.testing.assert_array_equal(read_table("-", header=False).X, [[1, 2], [3, 4]])


def test_commas_before_decimals(tmp_path):
    path = csv(tmp_path, "a;b\n1,5;-2\n3,25e1;NA\n+,5;4\n")
    with pytest.raises(TableError, match=r"'a' .* such as '1,5' in row 1\. Use --decimal"):
        read_table(path, delimiter=";", missing="drop-rows")
    table = read_table(path, delimiter=";", decimal=",", missing="drop-rows")
    np.testing.assert_array_equal(table.X, [[1.5, -2.0], [0.5, 4.0]])
    with pytest.raises(TableError, match="cannot both be ','"):
        read_table(path, decimal=",")
    with pytest.raises(TableError, match="decimal mark 'x'"):
        read_table(path, decimal="x")


def test_columns_that_are_not_to_be_used(tmp_path):
    path = csv(tmp_path, "a,b,c,d\n1,2,,x\n3,4,,y\n5,7,1,z\n")
    table = read_table(path, exclude=["c"])
    assert (table.names, len(table.X)) == (("a", "b"), 3)
    assert [name for name, _ in table.left_out] == ["d"]  # nobody need be told of what they asked
    with pytest.raises(TableError, match="twice: 'a'"):
        read_table(path, columns=["a", "b"], exclude=["a"])
    with pytest.raises(TableError, match=r"no column 'C'\. Did you mean 'c'"):
        read_table(path, exclude="C")


def test_a_quote_within_a_name_is_a_letter(tmp_path):
    table = read_table(csv(tmp_path, 'len 5",b\n' + "1,2\n3,5\n" * 50_000))
    assert table.names == ('len 5"', "b")
    assert len(table.X) == 100_000


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
@pytest.mark.parametrize("packed", [True, False])
def test_gzip_is_told_by_its_bytes_and_not_by_the_name(tmp_path, name, packed):
    content = b"a,b\n1,2\n3,5\n"
    path = csv(tmp_path, gzip.compress(content) if packed else content, name)
    np.testing.assert_array_equal(read_table(path).X, [[1, 2], [3, 5]])


def test_gzip_on_standard_input(monkeypatch):
    arrow_or_skip()
    packed = io.BufferedReader(io.BytesIO(gzip.compress(b"a,b\n1,2\n3,5\n")))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=packed))
    np.testing.assert_array_equal(read_table("-").X, [[1, 2], [3, 5]])


def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="Standard input is closed"):
        read_table("-")


def test_a_pipe_is_read_as_csv(tmp_path):
    arrow_or_skip()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"a,b\n1,2\n3,5\n"))
    writer.start()
    np.testing.assert_array_equal(read_table(pipe).X, [[1, 2], [3, 5]])
    writer.join()


def test_rows_keep_their_numbers_when_others_are_dropped(tmp_path):
    lines = [f"{i},{i * i % 7},{100 + i},{2 * i}" for i in range(1, 30)]
    lines[3] = "4,,104,8"  # numbers of the file, not of the rows that are left
    path = csv(tmp_path, "id,x,time,y\n" + "\n".join(lines) + "\n")
    table = read_table(path, missing="drop-rows")
    assert table.numbers.tolist() == [1, 2, 3, *range(5, 30)]


def test_the_column_that_costs_most_rows_is_named(tmp_path):
    lines = [f"{i},{i % 3},{i if i % 5 == 0 else ''}" for i in range(20)]
    path = csv(tmp_path, "a,b,rare\n" + "\n".join(lines) + "\n")
    notes = " ".join(read_table(path, missing="drop-rows").notes)
    assert "16 rows of 20 were left out" in notes
    assert "Most values are missing in 'rare' (16): without such columns (--exclude)" in notes


# ---- encodings, and lines above the table --------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig"])
@pytest.mark.parametrize("packed", [True, False])
def test_other_encodings(tmp_path, encoding, packed):
    content = "größe,b,note\n1.5,2,é\n3,4,ü\n".encode(encoding)
    path = csv(tmp_path, gzip.compress(content) if packed else content)
    for chunk_bytes in (16, 2**20):
        table = read_table(path, encoding=encoding, chunk_bytes=chunk_bytes, id_column="note")
        assert table.names == ("größe", "b")
        assert table.ids.tolist() == ["é", "ü"]
        np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4]])


def test_lines_are_counted_in_other_encodings(tmp_path):
    path = csv(tmp_path, "größe,b\n1,2\n3\n".encode("utf-16"))
    with pytest.raises(TableError, match=r"Line 3 .* has 1 cell"):
        read_table(path, encoding="utf-16")


def test_an_encoding_that_is_not_that_of_the_file(tmp_path):
    with pytest.raises(TableError, match=r"is not utf-16 text\. .*--encoding"):
        read_table(csv(tmp_path, b"a,b\n1,2\n"), encoding="utf-16")  # no byte order mark
    for content in (b"a,b\n1,\x81\n", b"a\x81,b\n1,2\n"):
        with pytest.raises(TableError, match=r"is not cp1252 text\. .*--encoding"):
            read_table(csv(tmp_path, content), encoding="cp1252")
    with pytest.raises(TableError, match=r"is not UTF-8 text\. .*--encoding"):
        read_table(csv(tmp_path, "größe,b\n1,2\n".encode("latin-1")))


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "base64", ""])
def test_encodings_that_there_are_not(tmp_path, encoding):
    with pytest.raises(TableError, match=r"There is no encoding .*latin-1"):
        read_table(csv(tmp_path, "a,b\n1,2\n"), encoding=encoding)


@pytest.mark.parametrize("header", [True, False])
def test_lines_above_the_table_are_skipped(tmp_path, header):
    above = 'Measured by "us, ...\n\nUnit: mm\n'  # an open quote, a blank line
    names = "a,b\n" if header else ""
    path = csv(tmp_path, f"{above}{names}1,2\n3,5\n")
    table = read_table(path, skip_rows=3, header=header)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 5]])
    assert table.names == (("a", "b") if header else ("x0", "x1"))
    ragged = csv(tmp_path, f"{above}{names}1,2\n3\n")
    with pytest.raises(TableError, match=f"Line {6 if header else 5} "):
        read_table(ragged, skip_rows=3, header=header)


def test_more_lines_skipped_than_there_are(tmp_path):
    path = csv(tmp_path, "a,b\n1,2\n")
    with pytest.raises(TableError, match="is empty"):
        read_table(path, skip_rows=9)
    for wrong in (-1, 1.5, True, "2"):
        with pytest.raises(TableError, match="skip_rows"):
            read_table(path, skip_rows=wrong)
