"""Files and options that are bad: each is told in one line that helps."""

import gzip
import json
import os
import sys
import warnings
import zipfile

import numpy as np
import pytest

from tests._files import (
    arrow_or_skip,
    csv,
    numbers,
    write_csv,
    write_gzip,
    write_npy,
    write_npz,
    write_parquet,
    write_zarr,
    write_zarr_zip,
    zarr_or_skip,
)
from torpca._files import TableError, read_table


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


def changed(write, at, new):
    """A good file with other bytes at a place, which counts from the end if it is negative."""

    def make(folder):
        path = write(folder, numbers())
        content = bytearray(path.read_bytes())
        content[at : at + len(new)] = new
        path.write_bytes(content)
        return path

    return make


def with_more(write, more=b"\0" * 8):
    def make(folder):
        path = write(folder, numbers())
        path.write_bytes(path.read_bytes() + more)
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


def zarr_with_a_huge_chunk(folder):
    path = write_zarr(folder, numbers())
    meta = json.loads((path / "zarr.json").read_text())
    meta["shape"][0] = meta["chunk_grid"]["configuration"]["chunk_shape"][0] = 2**58
    (path / "zarr.json").write_text(json.dumps(meta))
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
    "unknown ending": (plain("a.docx", b"PK"), ["'.docx'", ".csv", ".parquet", ".npz", "Zarr"]),
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
    "too few cells": (text("a,b\n1,2\n\n3\n4,5\n"), ["Line 4", "1 cell", "2 in the first line"]),
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
        [
            "3 missing values",
            "'b': 2 and 'a': 1",
            "(1, 2 and 3, counted from 1)",
            "--missing drop-rows",
        ],
    ),
    "infinite": (text("a,b\n1,2\n3,inf\n5,1e999\n"), ["2 infinite values", "'b'", "2 and 3"]),
    "duplicate names": (text("a,b,a\n1,2,3\n"), ["more than once: 'a'"]),
    "semicolons": (text("a;b\n1;2\n"), ["only one column, 'a;b'", "--delimiter ';'"]),
    "tabs": (text("a\tb\n1\t2\n"), ["--delimiter '\\t'"]),
    "commas in a TSV": (text("a,b\n1,2\n", "bad.tsv"), ["--delimiter ','"]),
    "decimal commas": (
        text("a\tb\n1,5\t2,5\n3,0\t2,0\n", "bad.tsv"),
        ["decimal comma", "--decimal"],
    ),
    "another encoding": (text("größe,b\n1,2\n".encode("latin-1")), ["UTF-8"]),
    "a cell too many, in another encoding": (
        text("a,b,c\n1,2,größe,3\n".encode("latin-1")),
        ["Row 1", "4 cells", "3 in the first line"],
    ),
    "another encoding below": (text("a,b,c\n1,2,größe\n".encode("latin-1")), ["UTF-8"]),
    "UTF-16": (text("a,b\n1,2\n".encode("utf-16")), ["UTF-8"]),
    "cut gzip": (cut(write_gzip), ["broken gzip", "copy it again"]),
    "a quote that is not closed": (
        text('"a,b\n' + "1,2\n" * 2000),
        ["not closed"],
    ),
    "lines of old Macs": (text("a,b\r1,2\r3,4\r"), ["old Macs"]),
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
        ["2 missing values", "(1 and 2, counted from 1)"],
    ),
    "cut npy": (cut(write_npy), ["cut off", "(40, 4)"]),
    "cut npy in its first bytes": (cut(write_npy, 0.01), ["cut off or not in NumPy's format"]),
    "npy with a broken header": (changed(write_npy, 21, b'"'), ["not in NumPy's format"]),
    "npy with a header too short": (changed(write_npy, 9, b"\x01"), ["not in NumPy's format"]),
    "npy with a header that is open": (changed(write_npy, 10, b"(("), ["not in NumPy's format"]),
    "npy with too few rows": (changed(write_npy, 61, b" 4"), ["damaged", "(4, 4)", "1,280 bytes"]),
    "several arrays in npy": (with_more(write_npy), ["several arrays", "1,288 bytes"]),
    "npz with another name in it": (changed(write_npz, 27, b"\x01"), ["npz", "only in part"]),
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
    "Zarr with a chunk of 8 EB": (zarr_with_a_huge_chunk, ["could not be read", "memory"]),
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
        ({"missing": "ignore"}, "'model', 'drop-rows' or 'error'"),
        ({"delimiter": "::"}, "one character"),
        ({"delimiter": ""}, "one character"),
        ({"columns": []}, "Name at least two, or leave it out"),
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
