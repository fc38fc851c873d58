"""Options of fit and score: what each changes, and what is said of values that cannot be."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='the command line needs pyarrow: pip install "torpca[cli]"')

from tests.test_cli import run
from torpca import OutlierRobustPCA, load_model
from torpca._cli import progress
from torpca._cli import run as running
from torpca._cli.app import torpca
from torpca._words import percent


def fitted(*options):
    """Summary of a fit of the table."""
    done = run("fit", "table.csv", *options, "--json", "--out", "there", "--force")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


# ---- the model -----------------------------------------------------------------------------------


def test_components_have_a_long_name(table):
    assert fitted("--n-components", 3)["rank"]["components"] == 3
    assert fitted("--n-components", 0.9)["rank"] == fitted("-k", 0.9)["rank"]


def test_a_share_of_the_rows_is_flagged_if_asked_for(table, made):
    found = fitted("-k", 2, "--contamination", 0.05)
    assert found["flagged"]["rows"] == 10
    assert any("--contamination" in note for note in found["notes"])
    assert load_model("there/model.npz").contamination == 0.05


def test_the_level_of_the_limits(table, made):
    flagged = [fitted("-k", 2, "--limit", limit)["flagged"]["rows"] for limit in (0.8, 0.99, 0.999)]
    assert flagged[0] > flagged[1] >= flagged[2] >= 15
    model = OutlierRobustPCA(2, limit=0.8).fit(made.X)
    assert flagged[0] == np.count_nonzero(model.predict(made.X) == -1)
    found = fitted("-k", 2, "--limit", 0.8)
    assert found["limits"] == pytest.approx(model.cutoffs_)
    assert any("20% are beyond a limit (--limit)" in note for note in found["notes"])
    assert not any("--limit" in note for note in fitted("-k", 2)["notes"])


def test_iterations(table):
    assert fitted("-k", 2, "--max-iter", 1)["iterations"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--contamination", 0), "0 must be more than 0 and at most 0.5"),
        (("--contamination", 0.7), "0.7 must be more than 0 and at most 0.5"),
        (("--contamination", "many"), "not a valid float"),
        (("--contamination", "nan"), "nan must be more than 0"),
        (("--limit", 1), "1 must be at least 0.5 and less than 1"),
        (("--limit", 99), "99 must be at least 0.5"),
        (("--max-iter", 0), "0 is not in the range x>=1"),
        (("--skip-rows", -1), "-1 is not in the range x>=0"),
        (("--limit", 0.9, "--contamination", 0.1), "Use only one of the two"),
        (("--n-components", "few"), "must be a whole number of components"),
    ],
)
def test_values_that_cannot_be(table, options, said):
    refused = run("fit", "table.csv", *options)
    assert refused.exit_code == 2
    assert said in refused.output
    assert not Path("torpca-table").exists()


# ---- what is printed -----------------------------------------------------------------------------


def test_quiet_prints_nothing(table):
    for arguments in (
        ("fit", "table.csv"),
        ("score", "torpca-table", "table.csv"),
        ("report", "torpca-table", "--force"),
        ("demo",),
    ):
        done = run(*arguments, "--quiet")
        assert done.exit_code == 0, done.output
        assert done.output == ""
        assert json.loads(run(*arguments, "--quiet", "--json").stdout)
    assert "no file" in run("fit", "nothing.csv", "--quiet").stderr


def test_quiet_draws_no_bar(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert progress.wanted()
    with progress.no_bars(True):
        assert not progress.wanted()
    assert progress.wanted()


def test_debug_is_the_last_option():
    for command in torpca.commands.values():
        assert command.params[-1].opts == ["--debug"]


# ---- reading -------------------------------------------------------------------------------------


def changed(path, change, name="table.csv"):
    """The table with its text changed, and bytes in place of text if that comes out."""
    text = change(path.read_text())
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())


def test_encodings_lines_to_skip_and_thousands(table):
    plain = fitted("-k", 2, "--id-column", "name")
    changed(table, lambda text: ("Zürich\n\n" + text.replace("name", "größe")).encode("latin-1"))
    how = ("--encoding", "latin-1", "--skip-rows", 2, "--id-column", "größe")
    found = fitted("-k", 2, *how)
    assert found["limits"] == plain["limits"]
    # A folder knows all of that.
    done = run("score", "there", "table.csv", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["flagged"]["rows"] == plain["flagged"]["rows"]
    refused = run("fit", "table.csv", "--out", "other")
    assert refused.exit_code == 1
    assert "--encoding" in refused.output
    assert "(encoding" not in refused.output


def test_thousands(table):
    lines = table.read_text().splitlines()
    rows = [f'{line},"{1000 + i:,}"' for i, line in enumerate(lines[1:])]
    Path("table.csv").write_text("\n".join([lines[0] + ",n", *rows]) + "\n")
    how = ("--columns", "n,f0,f1", "-k", 1)
    found = fitted(*how, "--thousands", ",")
    assert any("Commas were read as thousands separators in 'n'" in note for note in found["notes"])
    found = fitted(*how)
    assert any("If they are decimal commas, use --decimal" in note for note in found["notes"])
    refused = run("fit", "table.csv", "--thousands", "x")
    assert refused.exit_code == 1
    assert "thousands separator 'x' is not allowed" in refused.output


def test_excel_files(table, made):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    plain = fitted("-k", 2)
    book = openpyxl.Workbook()
    book.active.append(["nothing here"])
    sheet = book.create_sheet("data")
    sheet.append([f"f{j}" for j in range(8)])
    for row in made.X:
        sheet.append(row.tolist())
    book.save("table.xlsx")
    for name in ("data", "2"):
        done = run("fit", "table.xlsx", "--sheet", name, "-k", 2, "--json", "--out", f"x{name}")
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert found["limits"] == pytest.approx(plain["limits"])
    again = json.loads(run("score", "xdata", "table.xlsx", "--json").stdout)
    assert again["rows"] == 200  # the sheet is remembered, ...
    assert run("score", "xdata", "table.csv").exit_code == 0  # ... but a CSV file has none
    refused = run("fit", "table.xlsx", "--sheet", "dta", "--out", "z")
    assert refused.exit_code == 1
    assert "Did you mean 'data'" in refused.output
    refused = run("fit", "table.csv", "--sheet", "data", "--out", "z")
    assert refused.exit_code == 1
    assert "has no sheets. Leave --sheet out." in refused.output


# ---- times ---------------------------------------------------------------------------------------


@pytest.fixture
def timed(table):
    """The table with a day for each row, of which the fourth row lacks a number."""
    lines = table.read_text().splitlines()
    days = np.datetime64("2024-01-01") + np.arange(len(lines) - 1)
    rows = [f"{line},{day}" for line, day in zip(lines[1:], days, strict=True)]
    rows[3] = rows[3].replace(rows[3].split(",")[2], "", 1)
    table.write_text("\n".join([lines[0] + ",when", *rows]) + "\n")
    return table


@pytest.mark.parametrize("missing", ["model", "drop-rows"])
def test_times_are_beside_the_scores_and_no_feature(timed, missing):
    found = fitted("--time-column", "when", "-k", 2, "--missing", missing)
    assert found["features"] == 8
    assert not any("'when'" in note for note in found["notes"])
    first = found["most_extreme"][0]
    day = np.datetime64("2024-01-01") + first["number"] - 1
    assert first["time"] == str(day)
    head, *lines = [line.split(",") for line in Path("there/scores.csv").read_text().splitlines()]
    assert head[:3] == ["row", "time", "label"]
    days = [line[1] for line in lines]
    assert days == [str(np.datetime64("2024-01-01") + i) for i in range(200)]


def test_times_in_parquet_are_times(timed):
    import pyarrow.parquet as pq

    fitted("--time-column", "when", "-k", 2, "--scores", "parquet", "--missing", "drop-rows")
    times = pq.read_table("there/scores.parquet").column("time").to_pylist()
    assert [str(time.date()) for time in times[:5]] == [f"2024-01-0{i}" for i in range(1, 6)]


def test_the_answer_has_times(timed, monkeypatch):
    heard = []
    monkeypatch.setattr(running, "write_report", lambda found, path: heard.append(found))
    monkeypatch.setattr("torpca._report.write_report", lambda found, path: heard.append(found))
    fitted("--time-column", "when", "-k", 2)
    assert run("report", "there", "--out", "other.html").exit_code == 0
    for found in heard:
        assert found.times_of_rows.dtype.kind == "M"
        assert found.times_of_rows.shape == (200,)
    fitted("-k", 2, "--exclude", "when")
    assert heard[-1].times_of_rows is None


def test_a_folder_knows_its_time_column(timed):
    fitted("--time-column", "when", "-k", 2)
    assert run("score", "there", "table.csv", "--out", "judged.csv").exit_code == 0
    assert Path("judged.csv").read_text().startswith("row,time,label")
    lines = [line.rsplit(",", 1)[0] for line in timed.read_text().splitlines()]
    Path("new.csv").write_text("\n".join(lines) + "\n")
    assert run("score", "there", "new.csv", "--out", "new-judged.csv").exit_code == 0
    assert Path("new-judged.csv").read_text().startswith("row,label")
    refused = run("score", "there", "new.csv", "--time-column", "when")
    assert refused.exit_code == 1
    assert "no column 'when' to take times from" in refused.output


def test_times_that_cannot_be_read(table):
    refused = run("fit", "table.csv", "--time-column", "name")
    assert refused.exit_code == 1
    assert "holds no times that can be read: 'row 0' in row 1" in refused.output
    assert not Path("torpca-table").exists()


# ---- new rows ------------------------------------------------------------------------------------


def test_an_alarm_ends_with_a_code_of_its_own(table):
    found = fitted("-k", 2, "--id-column", "name")
    share = found["flagged"]["share"]
    done = run("score", "there", "table.csv", "--alarm", share, "--out", "a.csv")
    assert done.exit_code == 0  # as many as allowed are no more than allowed
    done = run("score", "there", "table.csv", "--alarm", share / 2, "--out", "b.csv")
    assert done.exit_code == 3
    assert "--alarm" in done.stderr
    assert Path("b.csv").read_text() == Path("a.csv").read_text()
    done = run("score", "there", "table.csv", "--alarm", 0, "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["flagged"]["share"] == share
    assert "3 more rows flagged" in " ".join(run("score", "--help").output.split())
    for wrong in (-0.1, 1, 5, "nan"):
        assert run("score", "there", "table.csv", "--alarm", wrong).exit_code == 2


def test_new_rows_are_compared_with_those_of_the_fit(table, made):
    then = fitted("-k", 2)["flagged"]["share"]
    lines = table.read_text().splitlines()
    bad = [line for line, flag in zip(lines[1:], made.outliers, strict=True) if flag]
    Path("new.csv").write_text("\n".join([lines[0], *bad[:15], *lines[1:16]]) + "\n")
    done = run("score", "there", "new.csv")
    assert f"flagged now, {percent(then)} at the fit" in done.output
    found = json.loads(run("score", "there/model.npz", "new.csv", "--json").stdout)
    assert found["flagged"]["share_at_fit"] == pytest.approx(then)
    assert "share_at_fit" not in fitted("-k", 2)["flagged"]


def test_a_model_of_python_knows_its_rows_too(table, made):
    from torpca import save_model

    model = OutlierRobustPCA(2).fit(made.X)
    save_model(model, "model.npz")
    done = run("score", "model.npz", "table.csv", "--columns", "f0,f1,f2,f3,f4,f5,f6,f7")
    assert done.exit_code == 0, done.output
    found = json.loads(run("score", "model.npz", "table.csv", "--json").stdout)
    flagged = np.mean(model.predict(made.X) < 0)
    assert found["flagged"]["share_at_fit"] == pytest.approx(flagged)


def test_gzip_is_still_read_with_all_of_that(table):
    text = "# by us\n" + table.read_text()
    Path("table.csv.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    done = run("fit", "table.csv.gz", "--encoding", "utf-16", "--skip-rows", 1, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == 200
