"""The report's newer parts in a real browser: order, loadings, values, saving, copying, touch."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from tests import _browser
from tests._browser import PHONE, for_paper, inked, no_sideways, numbers, values
from tests._reports import spectra
from tests.test_report_sections import plant
from torpca import OutlierRobustPCA
from torpca._answer import answer
from torpca._kinds import KINDS
from torpca._provenance import Baseline, Provenance
from torpca._report import write_report

pytestmark = pytest.mark.slow
browser = _browser.browser
open_page = _browser.open_page


def timed():
    X = plant()
    told = answer(OutlierRobustPCA(2).fit(X), X, names=list("abcdef"), title="plant.csv")
    times = np.datetime64("2024-03-01T06:00") + 37 * np.arange(200) * np.timedelta64(1, "m")
    known = Provenance(version="1.2", command="torpca fit plant.csv", folder="torpca-plant")
    return replace(told, times_of_rows=times, provenance=known)


def stopped():
    """A sensor far away that drops to zero for a while, and the warnings that go with it."""
    rng = np.random.default_rng(0)
    load = rng.standard_normal(400)
    names = ["flow", "bearing_temp", "rpm", "vibration"]
    X = np.array([50.0, 80.0, 1450.0, 0.8]) + np.outer(load, [8.0, 5.0, 30.0, 0.0])
    X += rng.standard_normal(X.shape) * [0.5, 0.5, 2.0, 0.05]
    X[100:160, 2] = 0.0
    with pytest.warns(RuntimeWarning, match="If that means missing"):
        model = OutlierRobustPCA(2, scale=True).fit(X)
    return answer(model, X, names=names, title="stopped.csv", warnings=("Look at rpm. It is 0.",))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sections")
    X = plant()
    model = OutlierRobustPCA(2).fit(X)
    new = answer(model, plant(80, seed=3, n_bad=30), new=True)
    narrow = X[:, :2]
    cases = {
        "timed": timed(),
        "spectra": spectra(),
        "new": replace(new, baseline=Baseline(200, 8)),
        "one": answer(OutlierRobustPCA(1).fit(narrow), narrow),
        "stopped": stopped(),
    }
    steps = np.arange(400) * np.timedelta64(216, "s")  # a day: its end is a number on the axis
    cases["day"] = replace(cases["stopped"], times_of_rows=np.datetime64("2024-03-01") + steps)
    return {name: write_report(told, folder / f"{name}.html") for name, told in cases.items()}


@pytest.mark.parametrize("name", ["timed", "spectra", "new", "one"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_part_is_drawn_and_nothing_runs_off(open_page, files, name, scheme):
    for size in ({"width": 1400, "height": 900}, PHONE):
        page = open_page(files[name], viewport=size, color_scheme=scheme)
        assert no_sideways(page)
        for plot in ("order-score", "order-orthogonal"):
            page.locator(f"#{plot}").scroll_into_view_if_needed()
            assert inked(page, plot) > 200, plot
        assert page.locator("#cusum .curve").count() == 4  # two curves, and their keys
        assert page.locator("#loading-bars :is(path.curve, rect)").count() >= 2
        wanted = {"spectra": 10, "one": 0}.get(name, 6)
        assert page.locator("#biplot path.arrow").count() == wanted
        assert page.locator("#values table tr").count() > 1
    for_paper(page)
    assert page.locator("#next").is_hidden()
    assert page.locator("#order-score").is_visible()


@pytest.mark.parametrize("name", ["timed", "new", "stopped"])
def test_the_map_is_on_the_first_screen(open_page, files, name):
    """Also below a line that says what the warnings are, and with long headlines."""
    page = open_page(files[name], viewport={"width": 1400, "height": 900})
    box = page.locator("#map").bounding_box()
    assert box["y"] + box["height"] <= 900


def test_times_stand_along_the_axis(open_page, files):
    page = open_page(files["timed"])
    across, _ = numbers(page, "#order-score")
    assert len(across) >= 3
    assert all(re.fullmatch(r"03-0\d \d\d:00|\d\d:00", text) for text in across)


def test_one_component_stands_against_the_order(open_page, files):
    page = open_page(files["one"])
    page.locator("#ours").scroll_into_view_if_needed()
    names = page.locator("#ours svg .name").all_text_contents()
    assert names == ["Row number", "Component 1 (columns not scaled)"]


def test_values_follow_the_row_that_is_looked_at(open_page, files):
    page = open_page(files["timed"])
    first = page.locator("#values-body .who").inner_text()
    assert "outside of the usual range" in page.locator("#values-body").inner_text()
    cells = page.locator("#values .outside th").all_inner_texts()
    assert {"c", "e"} & set(cells)
    page.click("#next-row")
    assert page.locator("#values-body .who").inner_text() != first
    assert page.locator("#values-curve").count() == 0


def test_a_spectrum_is_drawn_over_the_good_ones(open_page, files):
    page = open_page(files["spectra"])
    assert page.locator("#values-curve path.mine").count() == 2  # and its key
    points = page.locator("#values-curve path.mine").first.get_attribute("d").count("L")
    assert points == 199


def test_pictures_are_saved(open_page, files, tmp_path):
    page = open_page(files["timed"], accept_downloads=True)
    with page.expect_download() as got:
        page.locator("#map + .save button", has_text="SVG").click()
    got.value.save_as(tmp_path / "map.svg")
    assert got.value.suggested_filename == "map.svg"
    root = ET.parse(tmp_path / "map.svg").getroot()
    assert root.tag.endswith("svg")
    texts = ["".join(e.itertext()) for e in root.iter() if e.tag.endswith("}text")]
    assert "Score distance (standard deviations)" in texts
    assert any(e.tag.endswith("}image") for e in root.iter())
    with page.expect_download() as got:
        page.locator("#cusum + .save button", has_text="PNG").click()
    got.value.save_as(tmp_path / "cusum.png")
    assert (tmp_path / "cusum.png").read_bytes().startswith(b"\x89PNG")


def saved_svg(page, host, path):
    page.locator(f"#{host}").scroll_into_view_if_needed()
    with page.expect_download() as got:
        page.locator(f"#{host} + .save button", has_text="SVG").click()
    got.value.save_as(path)
    root = ET.parse(path).getroot()
    return root, ["".join(e.itertext()) for e in root.iter() if e.tag.endswith("}text")]


def test_saved_pictures_have_a_key(open_page, files, tmp_path):
    """All that a reader needs who has the picture alone: the kinds of rows that are drawn."""
    page = open_page(files["timed"], accept_downloads=True)
    told = timed()
    root, texts = saved_svg(page, "order-score", tmp_path / "order.svg")
    assert texts[-len(set(told.types)) :] == [kind for kind in KINDS if kind in told.types]
    box = page.locator("#order-score").bounding_box()
    assert float(root.get("height")) > box["height"]
    assert all(float(e.get("y", 0)) < float(root.get("height")) for e in root.iter())


def test_a_saved_cell_map_says_what_its_colours_mean(open_page, files, tmp_path):
    page = open_page(files["spectra"], accept_downloads=True)
    _, texts = saved_svg(page, "cell-map", tmp_path / "cells.svg")
    assert texts[-2:] == ["too large", "too small"]


@pytest.mark.parametrize("host", ["values-curve", "contributions", "contribution-profile"])
def test_pictures_of_the_row_that_is_looked_at_are_saved(open_page, files, tmp_path, host):
    page = open_page(files["spectra"], accept_downloads=True)
    page.click("#next-row")
    _, texts = saved_svg(page, host, tmp_path / "row.svg")
    assert any("nm" in text for text in texts)
    assert page.locator(f"#{host} + .save").count() == 1


def test_values_are_those_of_the_table(open_page, files):
    """Single precision beside a median of 1450 made 0 into 1.84e-5."""
    page = open_page(files["stopped"])
    row = page.locator("#values tbody tr", has_text="rpm")
    assert row.locator("td").first.inner_text().split()[0] == "0"


@pytest.mark.parametrize("viewport", [{"width": 1400, "height": 900}, PHONE])
def test_heads_of_the_reasons_are_not_torn_apart(open_page, files, viewport):
    page = open_page(files["stopped"], viewport=viewport)
    lines = page.locator(".reasons thead th").evaluate_all(
        """heads => heads.map((head) => {
            const range = document.createRange();
            range.selectNodeContents(head);
            return [head.textContent.split(" ").length, range.getClientRects().length];
        })"""
    )
    assert all(rects <= words for words, rects in lines)


@pytest.mark.parametrize("viewport", [{"width": 1400, "height": 900}, PHONE])
def test_logarithmic_axes_have_equal_steps(open_page, files, viewport):
    """Not 0.01, 0.03, 1, 3."""
    page = open_page(files["stopped"], viewport=viewport)
    page.locator("#order-orthogonal").scroll_into_view_if_needed()
    _, up = numbers(page, "#order-orthogonal")
    steps = np.diff(np.log10(values(up)))
    assert len(up) >= 3
    assert np.ptp(np.abs(steps)) < 0.2


@pytest.mark.parametrize("picture", ["order-score", "cusum", "map", "ours"])
@pytest.mark.parametrize("name", ["timed", "stopped", "day"])
def test_numbers_along_the_bottom_are_whole(open_page, files, name, picture):
    page = open_page(files[name], viewport=PHONE)
    page.locator(f"#{picture}").scroll_into_view_if_needed()
    page.wait_for_timeout(50)
    edge = page.locator(f"#{picture}").bounding_box()
    texts = page.locator(f"#{picture} svg text:not([transform])")
    boxes = [text.bounding_box() for text in texts.all()]
    assert len(boxes) > 3
    assert max(box["x"] + box["width"] for box in boxes) <= edge["x"] + edge["width"] + 1


def test_the_biplot_begins_with_the_good_rows(open_page, files):
    page = open_page(files["stopped"])
    page.locator("#biplot").scroll_into_view_if_needed()
    across, _ = numbers(page, "#biplot")
    page.click('[data-plot="biplot"][data-zoom="home"]')
    farther, _ = numbers(page, "#biplot")
    page.click('[data-plot="biplot"][data-zoom="good"]')
    page.click("#next-row")  # a row far out, which other pictures show
    assert numbers(page, "#biplot")[0] == across
    assert np.ptp(values(farther)) > 1.5 * np.ptp(values(across))


def test_names_of_features_do_not_lie_on_each_other(open_page, files):
    """Three sensors that go together have one arrow, and their names stand around it."""
    page = open_page(files["stopped"])
    page.locator("#biplot").scroll_into_view_if_needed()
    page.wait_for_timeout(50)
    names = [name.bounding_box() for name in page.locator("#biplot .arrow-name").all()]
    assert len(names) == 4
    for i, one in enumerate(names):
        for other in names[:i]:
            beside = (
                one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            )
            above = one["y"] + 13 <= other["y"] + 2 or other["y"] + 13 <= one["y"] + 2
            assert beside or above


def test_names_of_arrows_with_one_beginning_are_told_apart(open_page, tmp_path):
    X = plant()
    names = [f"conductivity of reactor number {j} at the outlet" for j in range(6)]
    told = answer(OutlierRobustPCA(2).fit(X), X, names=names)
    page = open_page(write_report(told, tmp_path / "named.html"))
    page.locator("#biplot").scroll_into_view_if_needed()
    page.wait_for_timeout(50)
    texts = page.locator("#biplot .arrow-name").all_text_contents()
    assert len(set(texts)) == len(texts) > 3


def test_without_a_biplot_there_is_nothing_to_press(open_page, files):
    page = open_page(files["one"])
    assert page.locator("#loadings .tools:not(.save)").count() == 0


def test_a_fit_that_settles_at_once_has_no_curves(open_page, files):
    page = open_page(files["stopped"])
    assert len(stopped().history) < 3
    assert page.locator("#change").is_hidden()
    assert page.locator("#fit .save").first.is_hidden()


def test_flagged_rows_are_saved_and_code_is_copied(open_page, files, tmp_path):
    page = open_page(files["timed"], accept_downloads=True)
    with page.expect_download() as got:
        page.click("#save-flagged")
    got.value.save_as(tmp_path / "flagged.csv")
    assert got.value.suggested_filename == "flagged-plant.csv"
    lines = (tmp_path / "flagged.csv").read_text(encoding="utf-8-sig").splitlines()
    told = timed()
    assert len(lines) == 1 + len(told.extreme)
    assert lines[1].startswith(f"{told.ids[told.extreme[0]]},")
    page.click("#copy-score")
    assert page.input_value("#next-text") == "torpca score torpca-plant NEW_ROWS.csv"
    page.locator("#table tbody input").first.check()
    page.click("#copy-refit")
    assert f"bad = [{told.numbers[told.extreme[0]]}]" in page.input_value("#next-text")


def test_touch_has_its_own_help(open_page, files):
    page = open_page(files["timed"], viewport=PHONE, is_mobile=True, has_touch=True)
    said = page.locator("#map-help").inner_text()
    assert said.startswith("Tap a point")
    assert "keyboard" not in said
    assert open_page(files["timed"]).locator("#map-help").inner_text().startswith("Click a point")


def test_the_table_says_what_ordinary_pca_flags(open_page, files):
    page = open_page(files["timed"])
    told = timed()
    said = page.locator("#table td.plain-flag").all_inner_texts()
    wanted = told.plain_flagged[told.extreme][:25]
    assert said == ["flags it" if flag else "misses it" for flag in wanted]


def test_search_finds_main_causes_and_no_others(open_page, files):
    page = open_page(files["spectra"])
    names = spectra().names
    found = {}
    for wanted in (names[35], names[155], "4"):  # of a band that all have, of the third, a digit
        page.fill("#search", wanted)
        found[wanted] = page.locator("#table td.id").all_inner_texts()
    assert found[names[35]] == []
    assert len(found[names[155]]) == 6
    page.fill("#search", "")
    main = page.locator("#table td.features").all_inner_texts()
    ids = page.locator("#table td.id").all_inner_texts()
    by_digit = [i for i, said in zip(ids, main, strict=True) if "4" in i or "4" in said]
    assert sorted(found["4"]) == sorted(by_digit)
