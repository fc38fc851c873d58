"""What a report shows in a real browser."""

import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.recovery import DATA
from tests import _browser
from tests._browser import inked, no_sideways
from tests._reports import made, odd_answers
from torpca import OutlierRobustPCA
from torpca._answer import answer
from torpca._report import write_report

browser = _browser.browser
open_page = _browser.open_page
files = _browser.files


def test_everything_is_there(open_page, files):
    page = open_page(files["spectra"])
    headings = page.locator("h1, h2").all_inner_texts()
    assert headings[0] == "spectra.csv"
    assert len(headings) == 13
    said = page.locator(".headline").inner_text()
    assert said == "6 of 40 rows (15%) are unlike the others: all off the model."
    for landmark in ("header", "nav", "main", "aside", "footer"):
        assert page.locator(landmark).count() == 1
    # Inked: points on each canvas.
    for plot in ("map", "ours", "plain"):
        assert inked(page, plot) > 500, plot
    assert page.locator("#map .limit").count() == 2
    assert page.locator("#ours .ellipse").count() == page.locator("#plain .ellipse").count() == 1
    assert page.locator("#scree rect.kept").count() == 3  # two components, and the key
    assert page.locator("#why-body rect.up").count() > 20  # bars, and the profile
    assert page.locator("#table tbody tr").count() == 6
    assert "it holds text" in page.locator("#assumed").inner_text()
    page = open_page(files["made"])
    dots = [page.locator(f"#{chart} circle.dot").count() for chart in ("change", "kept")]
    assert dots == [4, 4]


@pytest.mark.slow
def test_flagged_rows_are_labelled_in_the_map(open_page, files):
    page = open_page(files["spectra"])
    labels = page.locator("#map .label").all_text_contents()
    assert sorted(labels) == ["25", "26", "36", "37", "38", "39"]


@pytest.mark.slow
def test_the_six_samples_of_octane_with_alcohol_are_labelled(open_page, tmp_path):
    path = DATA / "octane.npz"
    if not path.exists():
        pytest.skip(f"no real data at {DATA}; set TORPCA_DATA to their folder")
    X = np.load(path)["X"]
    page = open_page(write_report(answer(OutlierRobustPCA().fit(X), X), tmp_path / "octane.html"))
    labels = page.locator("#map svg text.label").evaluate_all(
        "list => list.map((l) => l.textContent)"
    )
    assert sorted(labels) == ["25", "26", "36", "37", "38", "39"]


@pytest.mark.slow
def test_limits_are_named_beside_their_lines(open_page, files):
    page = open_page(files["made"])
    assert page.locator("#map .limit-name").all_text_contents() == ["limit 3", "limit 1"]


def test_long_names_keep_their_ends(open_page, tmp_path):
    some = made(60, 6)
    ids = np.array([f"{'sample ' * 40}number {i}" for i in range(60)])
    names = tuple(f"{'absorbance ' * 9}at position {j}" for j in range(8))
    page = open_page(
        write_report(
            replace(some, ids=ids, names=names),
            tmp_path / "long.html",
        )
    )
    row = int(some.extreme[0])
    first = page.locator("#table td.id bdi").first
    assert len(first.inner_text()) == 80
    assert first.inner_text().endswith(f"number {row}")
    assert first.get_attribute("title") == ids[row]
    assert page.locator("#table td.id bdi").first.inner_text().startswith("sample sample")
    assert re.search(r"….*position \d ", page.locator("#table td.features bdi").first.inner_text())
    named = page.locator("#why-body th bdi").first.inner_text()
    assert re.search(r"….*n \d$", named)
    labels = page.locator("#map .label").all_text_contents()
    assert labels
    assert set(labels) <= {f"…{row}" for row in some.extreme}  # not what they all begin with


@pytest.mark.slow
def test_shares_are_not_rounded_up_to_all_nor_down_to_none(open_page, tmp_path):
    some = made(60, 6)
    some.explanation.shares[:, :2] = 0.9998, 0.0002
    page = open_page(write_report(some, tmp_path / "shares.html"))
    said = page.locator("#why-body td:last-child").all_text_contents()
    assert said[:2] == [">\u00a099.9%", "less than 0.1%"]


@pytest.mark.slow
def test_one_component_has_lines_in_place_of_an_ellipse(open_page, tmp_path):
    page = open_page(write_report(odd_answers()["one component"], tmp_path / "one.html"))
    assert page.locator("#ours .limit").count() == page.locator("#plain .limit").count() == 2
    words = page.locator("#scores > p").inner_text()
    assert "Between the dashed lines" in words
    assert "ellipse" not in words
    figures = page.locator(".figures div").all_inner_texts()
    assert any(text.split() == ["component", "1"] for text in figures)


@pytest.mark.slow
def test_the_rank_is_marked_if_no_variance_is_left(open_page, tmp_path):
    page = open_page(write_report(odd_answers()["no noise"], tmp_path / "exact.html"))
    assert page.locator("#scree .limit-name").text_content() == "1 component kept"


def test_the_sine_of_an_angle_is_not_drawn_beyond_one(open_page, files):
    page = open_page(files["made"])  # 1 in the first iteration
    top = page.locator("#change path.axis").get_attribute("d").split("V")[0].split()[1]
    assert page.locator("#change circle").first.get_attribute("cy") == top


@pytest.mark.slow
def test_without_flagged_rows_there_is_nothing_to_search(open_page, tmp_path):
    page = open_page(write_report(made(100, 0), tmp_path / "none.html"))
    assert "No row is flagged." in page.locator("#rows").inner_text()
    assert page.locator("#rows :is(input, select, button, table):visible").count() == 0


@pytest.mark.slow
def test_kinds_differ_in_shape_and_colour(open_page, files):
    page = open_page(files["made"])
    signs = page.locator("#outliers ul.legend .sign")
    assert signs.count() == 4
    colours = signs.evaluate_all("list => list.map((sign) => getComputedStyle(sign).fill)")
    shapes = page.evaluate(
        "[0, 1, 2, 3].map((k) => document.getElementById(`sign-${k}`).innerHTML)"
    )
    assert len(set(colours)) == len(set(shapes)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("case", odd_answers().items(), ids=lambda case: case[0])
def test_odd_answers_open_without_errors(open_page, tmp_path, case):
    page = open_page(write_report(case[1], tmp_path / "odd.html"))
    assert "NaN" not in page.locator("main").inner_html()
    assert no_sideways(page)


@pytest.mark.slow
def test_a_million_rows_open_and_can_be_searched(open_page, tmp_path):
    million = made(1_000_000, 30_000, d=20)
    page = open_page(write_report(million, tmp_path / "million.html"))
    last = million.ids[million.extreme[-1]]
    page.fill("#search", str(last))
    assert str(last) in page.locator("#table td.id").all_inner_texts()
