"""The command line: from a file to an answer."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='the command line needs pyarrow: pip install "torpca[cli]"')

from click.testing import CliRunner

from benchmarks.recovery import DATA
from torpca import OutlierRobustPCA, as_source
from torpca._cli import progress
from torpca._cli.app import torpca
from torpca._cli.data import Data
from torpca._cli.errors import sentence
from torpca._cli.fit import default_folder
from torpca._cli.spectra import spectra, write_csv
from torpca._cli.typed import rank_of
from torpca._files.chunked import ChunkedSource
from torpca._files.stored import StoredArray
from torpca._sources.observed import Observed

RESULTS = {"scores.csv", "model.npz", "report.html", "summary.json"}


def run(*arguments, stdin=None):
    return CliRunner().invoke(torpca, [str(a) for a in arguments], input=stdin)


# ---- fit ---------------------------------------------------------------------------------------


def test_fit_names_the_bad_rows_and_writes_the_results(table, made):
    done = run("fit", "table.csv", "--id-column", "name")
    assert done.exit_code == 0, done.output
    folder = Path("torpca-table")
    assert {path.name for path in folder.iterdir()} == RESULTS
    content = json.loads((folder / "summary.json").read_text())
    model = OutlierRobustPCA().fit(made.X)
    worst = int(np.argmin(model.score_samples(made.X)))
    assert f"row {worst}" in done.output
    assert "kind" in done.output  # the column that was left out
    assert str(folder / "report.html") in done.output
    assert content["data"]["path"] == str(table.resolve())
    assert content["data"]["id_column"] == "name"
    lines = (folder / "scores.csv").read_text().splitlines()
    assert len(lines) == 201


def test_fit_as_json_prints_nothing_else(table):
    done = run("fit", "table.csv", "--json", "--out", "there")
    content = json.loads(done.stdout)
    assert content["folder"] == "there"


def test_results_that_are_there_are_kept_without_force(table):
    assert run("fit", "table.csv", "--out", "there").exit_code == 0
    before = (Path("there") / "model.npz").read_bytes()
    again = run("fit", "table.csv", "--out", "there", "-k", 1)
    assert again.exit_code == 1
    assert "--force" in again.output
    assert (Path("there") / "model.npz").read_bytes() == before
    assert run("fit", "table.csv", "--out", "there", "-k", 1, "--force").exit_code == 0
    assert (Path("there") / "model.npz").read_bytes() != before


def test_a_number_of_components(table):
    done = run("fit", "table.csv", "-k", 3, "--json", "--out", "there")
    rank = json.loads(done.stdout)["rank"]
    assert (rank["components"], rank["rule"]) == (3, "given")


@pytest.mark.parametrize(("text", "rank"), [("auto", "auto"), ("4", 4), ("0.9", 0.9)])
def test_ranks_as_they_are_typed(text, rank):
    assert rank_of(text) == rank


@pytest.mark.parametrize("text", ["many", "1.5", "nan", "0.0", "0", "-2"])
def test_ranks_that_are_none(text):
    with pytest.raises(ValueError, match="Leave it out for auto"):
        rank_of(text)


def test_columns_scores_as_parquet_and_standard_input(table):
    text = table.read_text()
    done = run("fit", "-", "--columns", "f0,f1,f2,f3", "--scores", "parquet", "--scale", stdin=text)
    assert done.exit_code == 0, done.output
    assert (Path("torpca-stdin") / "scores.parquet").exists()


def test_missing_numbers(table):
    lines = table.read_text().splitlines()
    lines[5] = lines[5].rsplit(",", 1)[0] + ","
    table.write_text("\n".join(lines) + "\n")
    refused = run("fit", "table.csv", "--missing", "error")
    assert refused.exit_code == 1
    assert "drop-rows" in refused.output
    assert not Path("torpca-table").exists()
    done = run("fit", "table.csv", "--missing", "drop-rows")
    assert done.exit_code == 0, done.output


def test_an_error_is_a_sentence_and_a_traceback_if_asked_for(table):
    refused = run("fit", "nothing.csv")
    assert refused.exit_code == 1
    assert "Traceback" not in refused.output
    assert "nothing.csv" in refused.output
    assert "Traceback" in run("fit", "nothing.csv", "--debug").output


def test_wrong_usage_has_another_code(table):
    assert run("fit").exit_code == 2
    assert run("fit", "table.csv", "-k", 0).exit_code == 2
    assert run("nonsense").exit_code == 2


@pytest.mark.parametrize("name", [(), ("fit",), ("score",), ("report",), ("compare",), ("demo",)])
def test_help_has_examples(name):
    done = run(*name, "--help")
    assert done.exit_code == 0
    assert "Examples:\n" in done.output
    assert "Exit codes" in done.output


# ---- score, report, compare, demo ----------------------------------------------------------------


def test_new_rows_are_judged_by_the_limits_of_the_model(table, made):
    run("fit", "table.csv", "--id-column", "name", "-k", 2)
    model = OutlierRobustPCA(2).fit(made.X)
    new = made.X[:20] + np.where(np.arange(20) == 7, 5.0, 0.0)[:, None] * np.eye(8)[3]
    # Another order of the columns: they are found by name.
    order = [5, 3, 1, 0, 2, 4, 6, 7]
    lines = ["id," + ",".join(f"f{j}" for j in order)]
    lines += [f"new {i}," + ",".join(map(repr, x[order].tolist())) for i, x in enumerate(new)]
    Path("new.csv").write_text("\n".join(lines) + "\n")
    done = run("score", "torpca-table", "new.csv", "--id-column", "id", "--out", "judged.csv")
    assert done.exit_code == 0, done.output
    judged = [line.split(",") for line in Path("judged.csv").read_text().splitlines()]
    at = judged[0].index("type")
    types = [row[at] for row in judged[1:]]
    assert types == list(model.outlier_types(new))
    assert "new 7" in done.output


def test_scores_go_to_a_file_of_a_known_kind_and_are_told(table):
    run("fit", "table.csv", "--id-column", "name", "--out", "there")
    done = run("score", "there", "table.csv", "--out", "judged.csv")
    assert done.exit_code == 0, done.output
    assert done.output.endswith("Scores: judged.csv\n")
    assert "angle" not in done.output  # nothing to say of new rows
    content = json.loads(run("score", "there", "table.csv", "--json").stdout)
    assert content["angle_to_ordinary_pca"] is None
    for out in ("there", "-", "judged.txt"):
        refused = run("score", "there", "table.csv", "--out", out)
        assert refused.exit_code == 1
        assert "must end in .csv or .parquet" in refused.output


def test_a_folder_knows_how_its_data_was_read(table, made):
    text = table.read_text().replace(",", ";").replace(".", ",")
    table.write_text(text)
    how = ("--delimiter", ";", "--decimal", ",")
    assert run("fit", "table.csv", *how, "--id-column", "name", "--out", "there").exit_code == 0
    done = run("score", "there", "table.csv")
    assert done.exit_code == 0, done.output
    worst = int(np.argmin(OutlierRobustPCA().fit(made.X).score_samples(made.X)))
    assert f"row {worst}" in done.output
    nameless = "\n".join(line.split(";", 1)[1] for line in text.splitlines()) + "\n"
    Path("nameless.csv").write_text(nameless)
    done = run("score", "there", "nameless.csv")  # numbered then
    assert done.exit_code == 0, done.output
    assert f"\n  {worst + 1} " in done.output
    refused = run("score", "there", "nameless.csv", "--id-column", "name")
    assert refused.exit_code == 1


def test_columns_of_a_model_cannot_be_chosen_again(table):
    run("fit", "table.csv", "--out", "there", "--columns", "f0,f1,f2,f3")
    plain = run("score", "there", "table.csv")
    turned = run("score", "there", "table.csv", "--columns", "f3,f1,f2,f0")
    assert plain.exit_code == turned.exit_code == 0, turned.output
    assert plain.output == turned.output
    refused = run("score", "there", "table.csv", "--columns", "f0,f1")
    assert refused.exit_code == 1
    assert "not those of the model" in refused.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "own/scores.csv", "--out", "own", "--force"),
        ("score", "there", "own/scores.csv", "--out", "own/scores.csv", "--force"),
        ("fit", "own/scores.csv", "--out", "own/../own", "--force"),
    ],
)
def test_what_is_read_is_never_replaced(table, arguments):
    run("fit", "table.csv", "--out", "there")
    Path("own").mkdir()
    table.rename("own/scores.csv")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    refused = run(*arguments)
    assert refused.exit_code == 1
    assert "is an input" in refused.output
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("out", ["table.csv", "link.html", "there/model.npz", "there/scores.csv"])
def test_a_report_replaces_no_table(table, out):
    run("fit", "table.csv", "--out", "there")
    Path("link.html").symlink_to("table.csv")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    refused = run("report", "there", "--out", out, "--force")
    assert refused.exit_code == 1
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_report_of_rows_that_changed_is_refused(table):
    run("fit", "table.csv", "--out", "there")
    table.write_text("\n".join(table.read_text().splitlines()[:100]) + "\n")
    refused = run("report", "there", "--force")
    assert refused.exit_code == 1
    assert "now has 99 rows, but had 200" in refused.output


def test_the_demo_replaces_nothing_of_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    (Path("mine") / "spectra.csv").write_text("my own")
    assert run("demo", "--out", "mine").exit_code == 1
    assert (Path("mine") / "spectra.csv").read_text() == "my own"
    assert run("demo").exit_code == 0
    assert run("demo").exit_code == 0  # its own folder it may replace


def test_columns_that_a_model_needs_cannot_be_excluded(table):
    run("fit", "table.csv", "--out", "there")
    refused = run("score", "there", "table.csv", "--exclude", "f1")
    assert refused.exit_code == 1
    assert "which the model needs" in refused.output


def test_rows_have_the_numbers_of_the_file_when_some_are_left_out(table):
    lines = table.read_text().splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + ","
    table.write_text("\n".join(lines) + "\n")
    done = run("fit", "table.csv", "--missing", "drop-rows", "--out", "there")
    assert done.exit_code == 0, done.output
    content = json.loads((Path("there") / "summary.json").read_text())
    assert all(row["row"] == str(row["number"]) for row in content["most_extreme"])
    assert any(row["number"] > 3 for row in content["most_extreme"])


def test_a_column_that_is_a_component_by_itself_is_told(table):
    lines = table.read_text().splitlines()
    rows = [f"{line},{(7 * i) % 200 * 100}" for i, line in enumerate(lines[1:])]
    table.write_text("\n".join([lines[0] + ",count", *rows]) + "\n")
    done = run("fit", "table.csv")
    assert "Column count holds more than 99.9% of the variance" in done.output
    assert "Use --scale unless" in done.output
    again = run("fit", "table.csv", "--scale", "--out", "there")
    assert "of the variance:" not in again.output


def test_names_with_commas_are_quoted(table):
    lines = table.read_text().splitlines()
    lines[0] = lines[0].replace("f1", '"f1, fasting"')
    table.write_text("\n".join(lines) + "\n")
    done = run("fit", "table.csv", "--columns", 'f0, "f1, fasting",f2', "--json", "-k", 1)
    assert json.loads(done.stdout)["features"] == 3
    done = run("fit", "table.csv", "--exclude", '"f1, fasting"', "--json", "--out", "there")
    assert json.loads(done.stdout)["features"] == 7


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("run.2024.csv", "torpca-run.2024"),
        ("a.csv.gz", "torpca-a"),
        (".hid.csv", "torpca-hid"),
        ("-", "torpca-stdin"),
    ],
)
def test_folders_are_called_after_files(name, folder):
    assert default_folder(name) == Path(folder)


def test_an_interrupt_has_the_code_that_shells_expect(table, monkeypatch):
    def interrupted(*args, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr("torpca._cli.run.fit_table", interrupted)
    done = run("fit", "table.csv")
    assert done.exit_code == 130
    assert "Nothing was written" in done.output
    assert not Path("torpca-table").exists()


def test_every_command_speaks_json(table):
    for arguments in (
        ("fit", "table.csv"),
        ("score", "torpca-table", "table.csv"),
        ("report", "torpca-table", "--force"),
        ("compare", "table.csv", "--methods", "PCA"),
        ("demo",),
    ):
        done = run(*arguments, "--json")
        assert done.exit_code == 0, done.output
        assert isinstance(json.loads(done.stdout), dict)


def without_provenance(page):
    """The page less what the command that made it says: itself, and how to fit again."""
    page = re.sub(r'<details id="provenance">.*?</details>', "", page)
    page = re.sub(r'<button type="button" id="copy-again".*?</button>', "", page)
    return re.sub(r'"again": ?".*?",', "", page)


def test_a_report_of_the_same_rows_reads_them_as_the_fit_did(table):
    lines = table.read_text().splitlines()
    lines[5] = lines[5].rsplit(",", 1)[0] + ","
    table.write_text("\n".join(lines).replace(",", ";") + "\n")
    how = ("--id-column", "name", "--missing", "drop-rows", "--delimiter", ";")
    assert run("fit", "table.csv", *how, "--out", "there").exit_code == 0
    before = (Path("there") / "report.html").read_text()
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    assert run("report", "../there").exit_code == 1
    done = run("report", "../there", "--force")
    assert done.exit_code == 0, done.output
    after = (Path("..") / "there" / "report.html").read_text()
    # All but where it comes from, from where the command was given, and what a file does not know.
    before = before.replace("None of the flagged rows had a part in this fit. ", "")
    assert without_provenance(after).replace("../there", "there") == without_provenance(before)


def test_results_of_standard_input_cannot_be_reported_again(table):
    run("fit", "-", "--out", "there", stdin=table.read_text())
    refused = run("report", "there", "--out", "again.html")
    assert refused.exit_code == 1
    assert "Give DATA" in refused.output


def test_a_report_again(table):
    run("fit", "table.csv", "--out", "there")
    path = Path("there") / "report.html"
    path.unlink()
    done = run("report", "there")
    assert done.exit_code == 0, done.output
    assert path.exists()
    other = run("report", Path("there") / "model.npz", "table.csv", "--out", "other.html")
    assert other.exit_code == 0, other.output
    assert Path("other.html").exists()


def test_compare_prints_a_table(table):
    done = run("compare", "table.csv", "-k", 2, "--methods", "OutlierRobustPCA,PCA,spherical_pca")
    assert done.exit_code == 0, done.output
    assert "spherical_pca" in done.output
    assert "'kind'" in done.output  # the column that was left out
    wrong = run("compare", "table.csv", "-k", 2, "--methods", "nonsense")
    assert wrong.exit_code == 1
    assert "nonsense" in wrong.output


def test_demo_finds_what_was_put_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("demo")
    assert done.exit_code == 0, done.output
    assert {path.name for path in Path("torpca-demo").iterdir()} == {*RESULTS, "spectra.csv"}
    assert done.output.rstrip().endswith(str(Path("torpca-demo") / "report.html"))
    lines = (Path("torpca-demo") / "scores.csv").read_text().splitlines()
    bad = [line for line in lines if "sample-" in line and ("(" in line.split(",")[0])]
    assert len(bad) == 13
    assert not any("regular" in line for line in bad)


def test_demo_spectra_are_the_same_each_time(tmp_path):
    np.testing.assert_array_equal(spectra()[0], spectra()[0])
    write_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().count("\n") == 241


def test_octane_by_the_command_line(tmp_path, monkeypatch):
    source = DATA / "octane.npz"
    if not source.exists():
        pytest.skip(f"no real data at {DATA}; set TORPCA_DATA to their folder")
    monkeypatch.chdir(tmp_path)
    X = np.load(source)["X"]
    header = ",".join(f"w{j}" for j in range(X.shape[1]))
    np.savetxt("octane.csv", X, delimiter=",", header=header, comments="")
    done = run("fit", "octane.csv")
    assert done.exit_code == 0, done.output
    alcohol = {"25", "26", "36", "37", "38", "39"}
    folder = Path("torpca-octane")
    content = json.loads((folder / "summary.json").read_text())
    assert content["rank"]["components"] == 2
    assert {entry["row"] for entry in content["most_extreme"]} == alcohol
    head, *lines = [line.split(",") for line in (folder / "scores.csv").read_text().splitlines()]
    label = head.index("label")
    assert {line[0] for line in lines if line[label] == "outlier"} == alcohol
    table = done.output[done.output.index("most extreme rows") :]
    assert {line.split()[0] for line in table.splitlines()[2:8]} == alcohol


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "torpca", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("torpca")


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MemoryError(), "not enough memory"),
        (PermissionError(13, "Permission denied", "there"), "there: Permission denied."),
        (ValueError("two\n  lines"), "two lines"),
        (AssertionError(), "bug in torpca"),
    ],
)
def test_sentences(error, text):
    assert text in sentence(error)
    assert "\n" not in sentence(error)


# ---- progress ------------------------------------------------------------------------------------


def test_a_bar_is_drawn_on_a_terminal_and_changes_nothing(made, monkeypatch, capsys):
    plain = OutlierRobustPCA().fit(made.X)
    monkeypatch.setattr(progress, "LONG_WORK", 0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.watched(made.X, "fitting") as X:
        assert isinstance(X, Observed)
        watched = OutlierRobustPCA().fit(X)
    np.testing.assert_array_equal(watched.components_, plain.components_)
    assert X.passes > 1


def test_rows_that_are_watched_are_read_as_they_were():
    sparse = as_source(scipy.sparse.eye_array(9, format="csr"))
    chunked = ChunkedSource(StoredArray(np.ones((9, 2)), ("a", "b"), chunk_bytes=64))
    for source in (sparse, chunked):
        watched = Observed(source, lambda *told: None)
        assert watched.picks_rows == source.picks_rows
        assert watched.row_bytes == source.row_bytes


def test_reading_a_large_file_is_told_on_a_terminal(table, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.reading("table.csv") as tell:
        assert tell is None
    monkeypatch.setattr(progress, "LARGE_FILE", 0)
    drawn = []

    @contextlib.contextmanager
    def no_bar():
        yield lambda *told: drawn.append(told)

    monkeypatch.setattr(progress, "bar", no_bar)
    Data("table.csv").read()
    assert drawn[-1] == ("reading", 200, 200)


def test_no_bar_without_a_terminal_or_for_little_work(made, monkeypatch):
    with progress.watched(made.X, "fitting") as X:
        assert not isinstance(X, Observed)
    monkeypatch.setattr(progress, "LONG_WORK", 0)
    with progress.watched(made.X, "fitting") as X:
        assert not isinstance(X, Observed)


def test_what_is_told_of_a_pass():
    heard = []
    X = np.ones((10, 3))
    source = Observed(as_source(X, block_rows=4), lambda *told: heard.append(told))
    source.matmul(np.ones((3, 1)))
    source.matmul(np.ones((3, 1)))
    assert {number for number, _ in heard} >= {1, 2}
    assert max(done for number, done in heard if number == 2) == 10
