"""The command line on tables with missing cells: every row is judged, or said not to be."""

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='the command line needs pyarrow: pip install "torpca[cli]"')

import pyarrow.parquet as pq

from tests._missing import FEW_CELLS
from tests.test_cli import run
from torpca import OutlierRobustPCA
from torpca._cli import data
from torpca._cli import run as running
from torpca._files import read_table
from torpca.datasets import make_outlier_subspace

N, D = 300, 12
BLANK = 7, 40  # rows without a cell, and with two


@pytest.fixture(scope="module")
def made():
    return make_outlier_subspace(
        N, D, 2, 0.1, outliers="isotropic", noise=0.01, mean=3.0, random_state=0
    )


@pytest.fixture(scope="module")
def holed(made):
    """The rows, 30 % of whose cells are missing."""
    X = made.X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    X[BLANK[0]], X[BLANK[1], 2:] = np.nan, np.nan
    X[BLANK[1], :2] = made.X[BLANK[1], :2]
    return X


def write(X, path="table.csv", mark=""):
    lines = ["name," + ",".join(f"f{j}" for j in range(X.shape[1]))]
    for i, row in enumerate(X.tolist()):
        lines.append(f"row {i}," + ",".join(mark if v != v else repr(v) for v in row))
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def here(tmp_path, monkeypatch, holed):
    monkeypatch.chdir(tmp_path)
    write(holed)
    return tmp_path


def lines_of(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def told(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


# ---- fit ----------------------------------------------------------------------------------------


def test_rows_with_missing_cells_are_judged_by_the_others(here, made, holed):
    done = run("fit", "table.csv", "--id-column", "name")
    assert done.exit_code == 0, done.output
    cells = int(np.isnan(holed).sum())
    rows = int(np.isnan(holed).any(axis=1).sum())
    line = f"{cells:,} of 3,600 cells, in {rows} rows: judged by the cells they have; 2 rows have"
    assert line in done.output
    lines = lines_of("torpca-table/scores.csv")
    assert [line["row"] for line in lines] == [f"row {i}" for i in range(N)]
    flagged = {i for i, line in enumerate(lines) if line["label"] == "outlier"}
    bad = set(np.flatnonzero(made.outliers).tolist()) - set(BLANK)
    assert len(bad - flagged) <= 1
    assert len(flagged - bad) <= 0.05 * N
    for i in BLANK:
        assert (lines[i]["label"], lines[i]["type"]) == ("unknown", "unknown")
        assert lines[i]["score_distance"] == lines[i]["orthogonal_distance"] == ""
        assert lines[i]["top_features"] == ""
    others = [line for i, line in enumerate(lines) if i not in BLANK]
    assert all(float(line["orthogonal_distance"]) >= 0 for line in others)


@FEW_CELLS
def test_the_same_as_in_python(here, holed):
    run("fit", "table.csv", "--scores", "parquet")
    model = OutlierRobustPCA().fit(holed)
    table = pq.read_table("torpca-table/scores.parquet")
    assert table.column("type").to_pylist() == model.outlier_types(holed).tolist()
    assert table.column("score_distance").null_count == 2  # null, not NaN
    distances = table.column("score_distance").to_numpy()
    np.testing.assert_allclose(distances, model.distances(holed).score)


def test_rows_of_too_few_cells_are_told_of_once(here):
    done = run("fit", "table.csv")
    assert done.output.count("too few") == 1
    assert told(run("fit", "table.csv", "--json", "--force"))["warnings"] == []
    assert "too few" not in Path("torpca-table/report.html").read_text(encoding="utf-8")


def test_more_components_are_found_than_rows_have_cells(here, made):
    X = made.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.9] = np.nan
    write(X)
    done = run("fit", "table.csv", "--id-column", "name")
    assert done.exit_code == 1
    assert "No row of the table has enough cells for" in done.output
    assert "-k auto led to this number, but 90% of the cells are missing" in done.output
    assert "Give -k 1, leave columns with many holes out" in done.output


def test_the_summary_for_scripts(here, holed):
    content = told(run("fit", "table.csv", "--json"))["missing"]
    missing = np.isnan(holed)
    assert content["cells"] == missing.sum()
    assert content["share"] == pytest.approx(missing.mean())
    assert (content["unknown"], content["dropped"]) == (2, 0)
    assert content["columns"][0]["cells"] == missing.sum(axis=0).max()
    assert 0.2 < content["share_of_other_rows"] < 0.4
    there = json.loads(Path("torpca-table/summary.json").read_text())
    assert there["missing"] == content
    assert "NaN" not in Path("torpca-table/summary.json").read_text()


def test_nothing_is_said_where_nothing_is_missing(here, made):
    write(made.X)
    done = run("fit", "table.csv")
    assert "missing" not in done.output
    assert told(run("fit", "table.csv", "--json", "--force"))["missing"]["cells"] == 0


def test_rows_that_are_dropped_are_in_the_scores(here, made):
    X = made.X.copy()
    X[[4, 9], [0, 3]] = np.nan
    write(X)
    done = run("fit", "table.csv", "--id-column", "name", "--missing", "drop-rows")
    assert done.exit_code == 0, done.output
    assert "2 of 3,600 cells, in 2 rows: those rows were left out" in done.output
    lines = lines_of("torpca-table/scores.csv")
    assert [line["row"] for line in lines] == [f"row {i}" for i in range(N)]
    assert [i for i, line in enumerate(lines) if line["type"] == "dropped"] == [4, 9]
    dropped = lines[4]
    assert (dropped.pop("row"), dropped.pop("label")) == ("row 4", "unknown")
    assert set(dropped.values()) == {"dropped", ""}
    model = OutlierRobustPCA().fit(np.delete(X, [4, 9], axis=0))
    kept = [line for i, line in enumerate(lines) if i not in (4, 9)]
    assert [line["type"] for line in kept] == model.outlier_type_.tolist()
    run("fit", "table.csv", "--missing", "drop-rows", "--scores", "parquet", "--out", "there")
    table = pq.read_table("there/scores.parquet")
    assert table.column("row").to_pylist() == [str(i + 1) for i in range(N)]
    assert table.column("pc1").null_count == 2


def test_an_error_if_that_is_asked_for(here):
    refused = run("fit", "table.csv", "--missing", "error")
    assert refused.exit_code == 1
    assert "--missing model" in refused.output
    assert not Path("torpca-table").exists()


def test_warnings_call_columns_by_their_names(here, holed):
    X = holed.copy()
    X[:200, 5] = np.nan
    write(X)
    assert "column 'f5'" in run("fit", "table.csv").output


# ---- values that mean missing --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--na-values", "-999,low"),
        ("--na-values", "low", "--na-values", "-999.0"),
        ("--na-values=low, -999",),
    ],
)
def test_values_that_mean_missing(here, holed, options):
    plain = told(run("fit", "table.csv", "--json", "--out", "plain"))
    write(holed, mark="-999")
    Path("table.csv").write_text(Path("table.csv").read_text().replace("-999", "low", 100))
    marked = told(run("fit", "table.csv", *options, "--json", "--out", "marked"))
    for name in ("missing", "flagged", "limits", "most_extreme"):
        assert marked[name] == plain[name]
    assert any("--na-values" in note for note in marked["notes"])


def test_sentinels_are_numbers_unless_somebody_says_otherwise(here, holed):
    write(holed, mark="-999")
    assert told(run("fit", "table.csv", "--json"))["missing"]["cells"] == 0


def test_a_mark_may_hold_a_comma(here):
    Path("a.csv").write_text("a;b\n" + "".join(f"{i},5;{i % 3}\n" for i in range(9)) + "-9,9;1\n")
    typed = ("--delimiter", ";", "--decimal", ",", "--na-values", '"-9,9"')
    found = told(run("fit", "a.csv", *typed, "--missing", "drop-rows", "--json", "-k", 1))
    assert (found["missing"]["cells"], found["missing"]["dropped"]) == (1, 1)


@pytest.mark.parametrize("typed", ["", ",", "-999,,1"])
def test_empty_marks_are_wrong_usage(here, typed):
    refused = run("fit", "table.csv", "--na-values", typed)
    assert refused.exit_code == 2
    assert "such as -999,9999" in refused.output


def test_texts_mean_nothing_in_files_of_numbers(here, made):
    np.save("rows.npy", made.X)
    refused = run("fit", "rows.npy", "--na-values", "low")
    assert refused.exit_code == 1
    assert "'low', but rows.npy holds numbers" in refused.output
    assert not Path("torpca-rows").exists()


# ---- imputed ------------------------------------------------------------------------------------


@FEW_CELLS
def test_the_table_is_written_with_its_cells_filled(here, made, holed):
    done = run("fit", "table.csv", "--id-column", "name", "--impute")
    assert done.exit_code == 0, done.output
    path = Path("torpca-table") / "imputed.csv"
    assert f"Imputed: {path}" in done.output
    head, *lines = [line.split(",") for line in path.read_text().splitlines()]
    assert head == ["name", *(f"f{j}" for j in range(D))]
    assert [line[0] for line in lines] == [f"row {i}" for i in range(N)]
    filled = np.array([line[1:] for line in lines], dtype=float)
    np.testing.assert_array_equal(filled[~np.isnan(holed)], holed[~np.isnan(holed)])
    np.testing.assert_allclose(filled, OutlierRobustPCA().fit(holed).impute(holed))
    good = ~made.outliers
    good[list(BLANK)] = False
    assert np.max(np.abs(filled - made.X)[good]) < 0.1


@FEW_CELLS
def test_with_cells_the_table_is_filled_from_the_good_ones(here, made, holed):
    X, good = holed.copy(), ~made.outliers
    good[list(BLANK)] = False
    wrong = np.zeros(X.shape, dtype=bool)
    for i in np.flatnonzero(good)[::3]:  # the first cell that is there
        wrong[i, np.flatnonzero(~np.isnan(X[i]))[0]] = True
    X[wrong] += 5.0
    write(X)
    told(run("fit", "table.csv", "--id-column", "name", "-k", 2, "--cells", "--impute", "--json"))
    filled = np.loadtxt(
        "torpca-table/imputed.csv", delimiter=",", skiprows=1, usecols=range(1, D + 1)
    )
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_allclose(filled, OutlierRobustPCA(2, cells=True).fit(X).impute(X))
    enough = good & (np.count_nonzero(~np.isnan(X), axis=1) >= 8)  # of which one is bad
    off = np.abs(filled - made.X)[enough][np.isnan(X)[enough]]
    assert np.max(off) < 0.2


@pytest.mark.slow
def test_imputed_as_parquet_and_in_single_precision(here, holed):
    np.save("rows.npy", holed.astype(np.float32))
    content = told(run("fit", "rows.npy", "--impute", "--scores", "parquet", "--json"))
    table = pq.read_table(content["imputed"])
    assert table.column_names == ["row", *(f"x{j}" for j in range(D))]
    assert str(table.schema.types[1]) == "float"
    assert all(column.null_count == 0 for column in table.columns)
    done = run("fit", "rows.npy", "--impute", "--out", "text")
    assert done.exit_code == 0, done.output
    back = np.loadtxt("text/imputed.csv", delimiter=",", skiprows=1)[:, 1:].astype(np.float32)
    np.testing.assert_array_equal(back, np.column_stack([c.to_numpy() for c in table.columns[1:]]))


@pytest.mark.slow
def test_a_table_read_in_chunks_is_filled_too(here, holed, monkeypatch):
    np.save("rows.npy", holed)
    whole = told(run("fit", "rows.npy", "--impute", "--json", "--out", "whole"))
    monkeypatch.setattr(data, "read_table", partial(read_table, memory_bytes=100, chunk_bytes=999))
    typed = ("--impute", "--na-values", "-999", "--json", "--out", "parts")
    parts = told(run("fit", "rows.npy", *typed))
    assert any("read again at every pass" in note for note in parts["notes"])
    assert parts["flagged"] == whole["flagged"]
    tables = [np.loadtxt(f"{f}/imputed.csv", delimiter=",", skiprows=1) for f in ("whole", "parts")]
    np.testing.assert_allclose(*tables, rtol=1e-6)


def test_a_feature_may_be_called_row(here, made):
    lines = ["row,b,c"] + [",".join(map(repr, x.tolist())) for x in made.X[:, :3]]
    Path("rows.csv").write_text("\n".join(lines) + "\n")
    run("fit", "rows.csv", "--impute", "-k", 1)
    head = Path("torpca-rows/imputed.csv").read_text().splitlines()[0]
    assert head == "row_,row,b,c"


def test_names_in_imputed_tables_are_no_formulas(here, made):
    write(made.X)
    text = Path("table.csv").read_text().replace("row 1,", "=1+1,").replace("f2", "@f2")
    Path("table.csv").write_text(text)
    run("fit", "table.csv", "--id-column", "name", "--impute")
    written = Path("torpca-table/imputed.csv").read_text().splitlines()
    assert "'@f2" in written[0]
    assert written[2].startswith("'=1+1,")


def test_filled_cells_need_their_rows(here):
    refused = run("fit", "table.csv", "--impute", "--missing", "drop-rows")
    assert refused.exit_code == 2
    assert "--missing drop-rows leaves their rows out" in refused.output


def test_nothing_is_written_if_filling_fails(here, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(running, "write_imputed", full)
    refused = run("fit", "table.csv", "--impute")
    assert refused.exit_code == 1
    assert "the disk is full" in refused.output
    assert [path.name for path in here.iterdir()] == ["table.csv"]


def test_old_imputed_tables_do_not_stay_among_new_results(here):
    run("fit", "table.csv", "--impute")
    assert run("fit", "table.csv").exit_code == 1
    assert run("fit", "table.csv", "--force").exit_code == 0
    assert not Path("torpca-table/imputed.csv").exists()


# ---- single cells -------------------------------------------------------------------------------


def test_cells_are_an_option_of_the_model_only_if_asked_for(here, monkeypatch):
    asked = []

    def recorded(rank, **options):
        asked.append(options)
        return OutlierRobustPCA(rank)

    monkeypatch.setattr(running, "OutlierRobustPCA", recorded)
    run("fit", "table.csv", "--out", "a")
    run("fit", "table.csv", "--cells", "--out", "b")
    assert asked == [{"scale": False}, {"scale": False, "cells": True}]
    assert "Look for single bad cells as well as bad rows" in run("fit", "--help").output


# ---- score, report, compare ----------------------------------------------------------------------


def test_new_rows_are_read_as_those_of_the_fit(here, holed):
    write(holed, mark="-999")
    assert run("fit", "table.csv", "--id-column", "name", "--na-values", "-999").exit_code == 0
    content = json.loads(Path("torpca-table/summary.json").read_text())
    assert content["data"]["na_values"] == ["-999"]
    write(holed[:20], "new.csv", mark="-999")
    found = told(run("score", "torpca-table", "new.csv", "--out", "judged.csv", "--json"))
    assert found["missing"]["cells"] == np.isnan(holed[:20]).sum()
    lines = lines_of("judged.csv")
    assert len(lines) == 20
    assert lines[7]["type"] == "unknown"
    # Other values, if others are named.
    again = told(run("score", "torpca-table", "new.csv", "--na-values", "-1", "--json"))
    assert again["missing"]["cells"] == 0


def test_one_new_row_may_lack_a_cell(here, made):
    write(made.X)
    run("fit", "table.csv", "--id-column", "name", "-k", 2)
    row = made.X[~made.outliers][:1].copy()
    row[0, 3] = np.nan
    write(row, "new.csv")
    found = told(run("score", "torpca-table", "new.csv", "--json"))
    assert (found["features"], found["missing"]["cells"], found["flagged"]["rows"]) == (D, 1, 0)
    row[0, 2:] = np.nan
    write(row, "new.csv")
    done = run("score", "torpca-table", "new.csv", "--out", "judged.csv")
    assert done.exit_code == 0, done.output
    assert "1 row has too few to be judged" in done.output
    assert lines_of("judged.csv")[0]["label"] == "unknown"


def test_dropped_new_rows_are_in_the_scores(here, holed, made):
    write(made.X)
    run("fit", "table.csv", "--missing", "drop-rows")
    X = made.X[:10].copy()
    X[4, 4] = np.nan
    write(X, "new.csv")
    done = run("score", "torpca-table", "new.csv", "--out", "judged.csv")
    assert done.exit_code == 0, done.output
    assert [line["type"] for line in lines_of("judged.csv")].index("dropped") == 4


def test_a_report_again_says_the_same(here):
    run("fit", "table.csv", "--id-column", "name")
    path = Path("torpca-table") / "report.html"
    before = path.read_text()
    assert 'id="missing"' in before
    done = run("report", "torpca-table", "--force")
    assert done.exit_code == 0, done.output
    section = before.split('<section id="missing"')[1].split("</section>")[0]
    assert section in path.read_text()


def test_methods_are_compared_on_complete_rows(here, made):
    for options in ((), ("--missing", "error")):
        refused = run("compare", "table.csv", "-k", 2, *options)
        assert refused.exit_code == 1
        assert "--missing drop-rows" in refused.output
        assert "--missing model" not in refused.output
    assert run("compare", "table.csv", "--missing", "model").exit_code == 2
    X = made.X.copy()
    X[0, 0] = np.nan
    write(X)
    done = run("compare", "table.csv", "-k", 2, "--methods", "PCA", "--missing", "drop-rows")
    assert done.exit_code == 0, done.output
