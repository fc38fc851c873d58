"""One convention everywhere: what features and rows are called, and how numbers are written."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import _browser
from tests._reports import made
from torpca import OutlierRobustPCA
from torpca._answer import answer
from torpca._names import feature_names
from torpca._outputs import summary, summary_text
from torpca._report import write_report
from torpca._report.page import report_html
from torpca._words import counted, figures, whole
from torpca.plots import ContributionsDisplay, OutlierMapDisplay, ScoresDisplay

browser = _browser.browser
open_page = _browser.open_page

BAD = 2000  # row with a bad value in feature 0, counted from 0


@pytest.fixture(scope="module")
def table():
    """3000 rows without names, of which the first 1300 lack a number."""
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(2, 6)) * [0.1, 1, 1, 1, 1, 1]
    X = rng.normal(size=(3000, 2)) @ mix + 0.01 * rng.normal(size=(3000, 6))
    X[BAD, 0] += 5.0
    X[:1300, 1] = np.nan
    return X


@pytest.fixture(scope="module")
def results(table, tmp_path_factory):
    """What the command prints about these rows, and the folder it writes."""
    pytest.importorskip("click", reason="the command line needs click")
    from click.testing import CliRunner

    from torpca._cli.app import torpca

    folder = tmp_path_factory.mktemp("rows")
    path, out = folder / "rows.csv", folder / "out"
    lines = [",".join("" if np.isnan(x) else f"{x:.6f}" for x in row) for row in table]
    path.write_text("\n".join(lines) + "\n")
    options = ["--no-header", "--missing", "drop-rows", "--out", str(out)]
    done = CliRunner().invoke(torpca, ["fit", str(path), *options])
    assert done.exit_code == 0, done.output
    return done.output, out


def body(page: str) -> str:
    """Text of a report, without its data, script and style."""
    return re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)


def test_thousands_are_separated_by_commas_in_the_command(results):
    output = results[0]
    assert "1,700 rows of 6 features" in output
    assert "1,300 rows of 3,000 were left out" in output
    assert "1, 2, 3, 4, 5 and 1,295 more, counted from 1" in output
    assert not re.search(r"\d \d{3}\b", output)


def test_thousands_are_separated_by_commas_in_the_report(results):
    page = body((results[1] / "report.html").read_text(encoding="utf-8"))
    assert "of 1,700 rows" in page
    assert not re.search(r"\d \d{3}\b", page)
    # Digits in a row are ids of rows, and nothing else.
    assert set(re.findall(r"(?<![.\d])\d{4,}\b", page)) <= {str(i) for i in range(1301, 3001)}


def test_features_and_rows_are_called_the_same_by_command_and_report(results):
    output, out = results
    first = json.loads((out / "summary.json").read_text())["most_extreme"][0]
    assert first["features"][0]["name"] == "x0"
    assert (first["row"], first["number"]) == (str(BAD + 1), BAD + 1)
    assert re.search(rf"^  {BAD + 1} .*\bx0 [\d.,-]+ \(", output, re.MULTILINE)
    assert "most extreme rows (counted from 1)" in output
    page = body((out / "report.html").read_text(encoding="utf-8"))
    assert page.count("Rows are counted from 1, by their lines of data.") == 2
    assert "x0 too high" in page


def test_pictures_count_rows_from_zero_and_say_so(table):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    X = table[1300:]
    model = OutlierRobustPCA(2).fit(X)
    row = BAD - 1300
    bars = ContributionsDisplay.from_estimator(model, X, rows=row)
    assert bars.names[bars.features_[0]] == "x0"
    assert bars.ax_.get_title(loc="left").startswith(f"row {row}, counted from 0: ")
    several = ContributionsDisplay.from_estimator(model, X, rows=[row, 3])
    assert several.legend_.get_title().get_text() == "rows, counted from 0"
    for display in (OutlierMapDisplay, ScoresDisplay):
        drawn = display.from_estimator(model, X)
        assert drawn.legend_.get_title().get_text() == "rows, counted from 0"
        assert {label.get_text() for label in drawn.row_labels_} <= set(map(str, range(len(X))))
        named = display.from_estimator(model, X, ids=[f"s{i}" for i in range(len(X))])
        assert named.legend_.get_title().get_text() == "rows"
    drawn = OutlierMapDisplay.from_estimator(model, X)
    assert str(row) in [label.get_text() for label in drawn.row_labels_]
    plt.close("all")


def test_rows_with_names_are_not_said_to_be_counted():
    named = made(60, 3)
    named = replace(named, ids=np.array([f"s{i}" for i in range(60)]))
    assert not named.numbered
    assert "counted from" not in summary_text(named)
    assert "counted from" not in body(report_html(named))


def test_names_without_names_are_those_of_scikit_learn(table):
    from sklearn.preprocessing import StandardScaler

    theirs = StandardScaler().fit(table[1300:]).get_feature_names_out()
    model = OutlierRobustPCA(2).fit(table[1300:])
    assert feature_names(6) == tuple(theirs) == answer(model, table[1300:]).names


@pytest.mark.slow
def test_the_browser_writes_numbers_as_the_text_does(open_page, tmp_path):
    told = made(5000, 1700, d=1500)
    told = replace(told, names=tuple(f"{900 + j} nm" for j in range(1500)))
    page = open_page(write_report(told, tmp_path / "report.html"))
    assert page.locator("#page-said").inner_text() == "Rows 1 to 25 of 1,700"
    page.locator("#select-found").click()
    assert page.locator("#selected-count").inner_text() == "1,700 rows selected."
    label = page.locator("#why-body [aria-label^='Shares of all']").get_attribute("aria-label")
    assert label == "Shares of all 1,500 features in their order"
    kept = page.locator("#kept text").all_text_contents()
    assert all("," in text for text in kept if len(re.sub(r"\D", "", text)) > 3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (99.96, "100"),
        (1234, "1,230"),
        (2e6, "2.00e+06"),
        (1e-7, "1.00e-07"),
    ],
)
def test_numbers_with_three_figures(value, text):
    assert figures(value) == text


def test_whole_numbers():
    assert [whole(n) for n in (0, 999, 1000, np.int64(1234567))] == [
        "0",
        "999",
        "1,000",
        "1,234,567",
    ]
    assert counted(1, "row") == "1 row"
    assert counted(0, "row") == "0 rows"


def test_times_of_a_limit_are_no_power_of_ten():
    told = made(60, 3)
    far = told.times.copy()
    far[told.extreme[0]] = 12_345.0
    told = replace(told, times=far)
    assert summary(told)["most_extreme"][0]["times_limit"] == 12_345.0
    assert re.search(r"  12,300  ", summary_text(told))


def test_no_other_place_formats_thousands():
    package = Path(__import__("torpca").__file__).parent
    for path in package.rglob("*.py"):
        if path.name != "_words.py":
            assert not re.search(r":,(\.\d)?[fdg]?\}", path.read_text(encoding="utf-8")), path
    for path in package.rglob("*.js"):
        if path.name != "numbers.js":
            assert "toLocaleString" not in path.read_text(encoding="utf-8"), path
