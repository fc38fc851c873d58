"""--clean and --flags: the input once more, its good rows or all of them with labels."""

import csv
import errno
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "torpca[cli]"')

import pyarrow as pa
import pyarrow.parquet as pq

from tests.test_atomic import tree
from tests.test_cli import run


def records(name, **options):
    with open(name, newline="", encoding=options.pop("encoding", "utf-8")) as file:
        return list(csv.reader(file, **options))


def scores(folder="there"):
    head, *lines = records(f"{folder}/scores.csv")
    return [dict(zip(head, line, strict=True)) for line in lines]


def fit(*options, data="table.csv"):
    done = run("fit", data, "-k", 2, "--out", "there", *options)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def odd(table):
    """The table with cells that are hard to copy, columns that are no features, and a hole."""
    head, *rows = records(table)
    head = [*head, "note", "share", "=code"]
    for i, row in enumerate(rows):
        row += ['a "quote", and\na line', f"{i % 7}.50%", f"=00{i}"]
    rows[5][3] = ""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    table.write_text(text.getvalue())
    return table


def test_good_rows_with_all_columns_as_they_were(odd):
    said = fit("--clean", "good.csv", "--exclude", "f7", "--id-column", "name")
    assert "Clean: good.csv" in said
    head, *rows = records(odd)
    good = [row for row, score in zip(rows, scores(), strict=True) if score["type"] == "regular"]
    assert records("good.csv") == [head, *good]
    assert 150 < len(good) < 200


def test_all_rows_with_labels(odd):
    fit("--flags", "all.csv", "--missing", "drop-rows")
    head, *rows = records(odd)
    there, *labelled = records("all.csv")
    assert there == [*head, "outlier", "type", "times_limit"]
    assert [row[:-3] for row in labelled] == rows
    found = scores()
    assert [row[-2] for row in labelled] == [score["type"] for score in found]
    words = {"outlier": "true", "extreme": "true", "inlier": "false", "unknown": ""}
    assert [row[-3] for row in labelled] == [words[score["label"]] for score in found]
    assert labelled[5][-3:] == ["", "dropped", ""]
    beyond = [float(row[-1]) > 1 for row in labelled if row[-1]]
    assert beyond == [row[-3] == "true" for row in labelled if row[-1]]


def test_both_as_parquet(odd):
    fit("--clean", "good.parquet", "--flags", "all.parquet")
    head, *rows = records(odd)
    every = pq.read_table("all.parquet")
    assert every.column_names == [*head, "outlier", "type", "times_limit"]
    assert every.schema.field("f0").type == pa.float64()
    assert every.schema.field("outlier").type == pa.bool_()
    assert every.column("note").to_pylist() == [row[head.index("note")] for row in rows]
    shares = every.column("share").to_pylist()
    np.testing.assert_allclose(shares, [(i % 7 + 0.5) / 100 for i in range(200)])
    assert every.column("f1").to_pylist()[5] is None
    good = pq.read_table("good.parquet")
    assert good.column_names == head
    kept = [not flag for flag in every.column("outlier").to_pylist()]
    assert good.column("name").to_pylist() == [
        row[0] for row, keep in zip(rows, kept, strict=True) if keep
    ]


def test_a_copy_is_read_by_the_options_that_read_the_input(table):
    text = table.read_text().replace(",", ";").replace(".", ",").replace("name", "größe")
    table.write_bytes(f"Zürich\n{text}".encode("latin-1"))
    how = ("--delimiter", ";", "--decimal", ",", "--encoding", "latin-1")
    fit(*how, "--skip-rows", 1, "--id-column", "größe", "--clean", "good.csv")
    head = records("good.csv", delimiter=";", encoding="latin-1")[0]
    assert head[:2] == ["größe", "kind"]
    done = run("fit", "good.csv", *how, "-k", 2, "--json", "--out", "again")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == len(records("good.csv", encoding="latin-1")) - 1


def test_a_table_without_names(table):
    lines = table.read_text().splitlines()[1:]
    table.write_text("\n".join(lines) + "\n")
    fit("--no-header", "--clean", "good.csv", "--flags", "all.csv")
    assert records("good.csv")[0] == records(table)[0]
    assert records("all.csv")[0][:2] == ["x0", "x1"]  # labels need names


def test_names_of_labels_that_are_taken(table):
    table.write_text(table.read_text().replace("kind", "type", 1))
    fit("--flags", "all.csv")
    assert records("all.csv")[0][-3:] == ["outlier", "type_", "times_limit"]


def written(kind, X):
    """The rows in a file of that kind."""
    names = [f"x{j}" for j in range(X.shape[1])]
    if kind == "parquet":
        columns = dict(zip(names, X.T, strict=True))
        columns["when"] = np.arange(len(X)).astype("M8[D]")
        columns["tags"] = [["a", "b"]] * len(X)
        pq.write_table(pa.table(columns), "rows.parquet", row_group_size=70)
    elif kind == "npy":
        np.save("rows.npy", X)
    elif kind == "npz":
        np.savez("rows.npz", X=X)
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.create_array("rows.zarr", shape=X.shape, chunks=(30, 3), dtype=X.dtype)
        array[:] = X
    else:
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine")
        book = openpyxl.Workbook()
        book.active.append(names)
        for row in X:
            book.active.append(row.tolist())
        book.save("rows.xlsx")
    return f"rows.{kind}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "npy", "npz", "zarr", "xlsx"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_kind_of_file_can_be_copied(tmp_path, monkeypatch, made, kind, ending):
    monkeypatch.chdir(tmp_path)
    X = np.round(made.X, 6)
    clean, flags = f"good.{ending}", f"all.{ending}"
    fit("--clean", clean, "--flags", flags, data=written(kind, X))
    types = [score["type"] for score in scores()]
    good = np.array([kind == "regular" for kind in types])
    if ending == "parquet":
        kept, every = (pq.read_table(name).to_pydict() for name in (clean, flags))
    else:
        tables = [records(name) for name in (clean, flags)]
        kept, every = ({name: column for name, *column in zip(*t, strict=True)} for t in tables)
    for j in range(8):
        np.testing.assert_array_equal(np.array(kept[f"x{j}"], dtype=float), X[good, j])
        np.testing.assert_array_equal(np.array(every[f"x{j}"], dtype=float), X[:, j])
    assert every["type"] == types
    if kind == "parquet":
        assert str(every["when"][3])[:10] == "1970-01-04"
        assert every["tags"][0] == (["a", "b"] if ending == "parquet" else "['a', 'b']")


def test_new_rows_are_copied_too(odd):
    fit("--id-column", "name")
    done = run("score", "there", "table.csv", "--clean", "good.csv", "--flags", "all.csv")
    assert done.exit_code == 0, done.output
    assert done.output.endswith("Clean: good.csv\n\nFlags: all.csv\n")
    labels = [row[-3] for row in records("all.csv")[1:]]
    rows = records(odd)[1:]
    good = [row for row, label in zip(rows, labels, strict=True) if label == "false"]
    assert records("good.csv")[1:] == good


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--clean", "--flags"])
@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("table.csv", 1, "is an input"),
        ("good.txt", 1, "must end in .csv or .parquet"),
        ("there/scores.csv", 1, "Give another --"),
        ("taken.csv", 1, "already exists"),
        ("nowhere/good.csv", 1, "no such folder"),
        (".", 2, "is a directory"),
    ],
)
def test_places_that_cannot_be(table, option, path, code, said):
    Path("taken.csv").write_text("mine")
    before = tree(Path())
    refused = run("fit", "table.csv", option, path, "--out", "there")
    assert refused.exit_code == code
    assert said in refused.output
    assert tree(Path()) == before


def test_both_cannot_go_to_one_place(table):
    refused = run("fit", "table.csv", "--clean", "a.csv", "--flags", "./a.csv")
    assert refused.exit_code == 1
    assert "--clean" in refused.output
    assert not Path("a.csv").exists()


def test_what_is_there_is_replaced_with_force(table):
    Path("good.csv").write_text("old")
    assert run("fit", "table.csv", "--clean", "good.csv", "--force").exit_code == 0
    assert Path("good.csv").read_text() != "old"


def test_standard_input_cannot_be_read_again(table):
    refused = run("fit", "-", "--clean", "good.csv", stdin=table.read_text())
    assert refused.exit_code == 2
    assert "Save it to a file first" in " ".join(refused.output.replace("│", "").split())
    assert [path.name for path in Path().iterdir()] == ["table.csv"]


def test_a_full_disk_leaves_no_half_of_a_copy(table, monkeypatch):
    fit()
    Path("good.csv").write_text("old")
    before = tree(Path())

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refused = run("score", "there", "table.csv", "--clean", "good.csv", "--force")
    assert refused.exit_code == 1
    assert "disk is full" in refused.output
    assert tree(Path()) == before
