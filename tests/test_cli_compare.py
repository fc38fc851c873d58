"""torpca compare: rows on which methods disagree."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='the command line needs pyarrow: pip install "torpca[cli]"')

from tests.test_cli import run
from torpca import compare
from torpca._cli import disputes
from torpca._compare import Compared
from torpca._disputed import disputed

METHODS = "OutlierRobustPCA,PCA,torp,robpca"


def voted(**votes):
    masks = {name: np.array(list(vote)) == "x" for name, vote in votes.items()}
    return [Compared(name, 0.1, dropped=mask) for name, mask in masks.items()]


def test_the_most_disputed_rows_come_first():
    found = disputed(voted(a="xx..x.", b="x.x.x.", c="x...xx", d="x..x.."))
    assert found.places == (0, 1, 2, 3)
    # Row 4: three of four. All others but 0, which all drop: one of four.
    assert found.rows.tolist() == [4, 1, 2, 3, 5]
    found = disputed(voted(a="xx.", b="xx.", c="x..", d="x.x"))
    assert found.rows.tolist() == [1, 2]  # two of four before one of four
    assert found.dropped.tolist() == [[True, True, False, False], [False, False, False, True]]


def test_methods_that_drop_nothing_have_no_say_but_ours():
    votes = voted(PCA="...", robpca="x..", fms="...")
    assert disputed(votes).places == (1,)
    assert len(disputed(votes).rows) == 0
    found = disputed([*votes, *voted(OutlierRobustPCA="...")])
    assert (found.places, found.rows.tolist()) == ((1, 3), [0])
    failed = Compared("broken", 0.1, error="ValueError: no")
    assert disputed([failed, *votes]).places == (2,)


def test_rows_by_method(table, made):
    done = run("compare", "table.csv", "-k", 2, "--methods", METHODS, "--id-column", "name")
    assert done.exit_code == 0, done.output
    found = compare(made.X, 2, METHODS.split(","))
    wanted = disputed(found.table)
    assert len(wanted.rows) > 5
    lines = done.output.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Rows on which"))
    assert lines[at].endswith(f"{len(wanted.rows)} of 200")
    assert lines[at + 1].split() == ["row", "1", "3", "4"]  # the numbers of the table above
    for line, row, votes in zip(lines[at + 2 :], wanted.rows[:20], wanted.dropped, strict=False):
        marks = " ".join("x" if vote else "." for vote in votes)
        assert " ".join(line.split()).startswith(f"row {row} {marks} dropped by {sum(votes)} of 3")


def test_rows_by_method_for_scripts(table, made):
    done = run("compare", "table.csv", "-k", 2, "--methods", METHODS, "--json")
    found = json.loads(done.stdout)["disagreements"]
    wanted = disputed(compare(made.X, 2, METHODS.split(",")).table)
    assert found["methods"] == ["OutlierRobustPCA", "torp", "robpca"]
    assert found["rows"] == len(wanted.rows)
    assert [row["number"] - 1 for row in found["most_disputed"]] == wanted.rows.tolist()
    for row in found["most_disputed"]:
        assert sorted([*row["dropped_by"], *row["kept_by"]]) == sorted(found["methods"])
        assert row["dropped_by"]
        assert row["kept_by"]


def test_long_lists_are_cut_and_said_to_be(table, monkeypatch):
    monkeypatch.setattr(disputes, "SHOWN", 3)
    monkeypatch.setattr(disputes, "IN_JSON", 4)
    arguments = ("compare", "table.csv", "-k", 2, "--methods", METHODS)
    done = run(*arguments)
    assert "more rows; --json lists them" in done.output
    found = json.loads(run(*arguments, "--json").stdout)["disagreements"]
    assert len(found["most_disputed"]) == 4 < found["rows"]


def test_a_column_of_times_is_no_feature(table, made):
    text = table.read_text().splitlines()
    rows = [f"{line},{i}" for i, line in enumerate(text[1:])]
    Path("timed.csv").write_text("\n".join([text[0] + ",hour", *rows]) + "\n")
    how = ("-k", 2, "--methods", "PCA", "--json")
    plain, timed = (
        json.loads(run("compare", *arguments, *how).stdout)["methods"][0]["residual"]
        for arguments in (("table.csv",), ("timed.csv", "--time-column", "hour"))
    )
    assert plain == timed


def test_nothing_to_disagree_on(table):
    done = run("compare", "table.csv", "-k", 2, "--methods", "PCA,OutlierRobustPCA")
    assert "Fewer than two of the methods drop rows" in done.output
    done = run("compare", "table.csv", "-k", 2, "--methods", "OutlierRobustPCA,OutlierRobustPCA")
    assert done.exit_code == 0


def test_the_number_of_components_is_found_without_a_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(0).standard_normal((400, 60))  # of which a fit warns
    np.savetxt("noise.csv", noise, delimiter=",", header=",".join("x" * (i + 1) for i in range(60)),
               comments="")  # fmt: skip
    done = run("compare", "noise.csv", "--methods", "PCA")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert Path("noise.csv").exists()


def test_warnings_call_columns_by_their_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    load = rng.standard_normal((100, 1))
    X = 1000 + 10 * load * [1, 2, 3] + rng.standard_normal((100, 3))
    X[:8, 2] = 0.0
    np.savetxt("plant.csv", X, delimiter=",", header="flow,heat,rpm", comments="")
    done = run("compare", "plant.csv", "-k", 1, "--methods", "OutlierRobustPCA,PCA")
    assert "Column 'rpm' has 0 in 8 rows" in done.stdout
