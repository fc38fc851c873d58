"""The report under a mouse or a finger: looking, selecting, copying, zooming."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests import _browser
from tests._browser import (
    PHONE,
    SMALL,
    WIDE,
    axes,
    current,
    drag,
    inked,
    numbers,
    selected,
    values,
    zoom,
)
from tests._reports import made
from torpca._report import write_report

pytestmark = pytest.mark.slow
browser = _browser.browser
open_page = _browser.open_page
files = _browser.files


# ---- looking, selecting, copying ----------------------------------------------------------------


def test_hovering_names_the_row_and_its_features(open_page, files):
    page = open_page(files["spectra"])
    page.mouse.move(*current(page))  # at first the most extreme row
    tip = page.locator("#map .tip")
    assert tip.is_visible()
    first = page.locator("#table td.id").first.inner_text()
    assert f"Row {first}" in tip.inner_text()
    assert re.search(r"\d+ nm to \d+ nm too high", tip.inner_text())


def test_a_box_selects_the_rows_in_it(open_page, files):
    page = open_page(files["spectra"])
    drag(page, "#map", (0.12, 0.02), (0.98, 0.6))
    assert sorted(selected(page)) == ["25", "26", "36", "37", "38", "39"]
    assert page.locator("#selected-count").inner_text() == "6 rows selected."
    assert page.locator("#table tbody tr.chosen").count() == 6
    drag(page, "#map", (0.11, 0.02), (0.15, 0.05))
    assert selected(page) == []


def test_a_click_selects_one_row_and_another_with_shift(open_page, files):
    page = open_page(files["spectra"])
    page.mouse.click(*current(page))
    (first,) = selected(page)
    page.click("#next-row")  # looks at the next row, which gets the ring
    place = current(page)
    page.keyboard.down("Shift")
    page.mouse.click(*place)
    page.keyboard.up("Shift")
    assert len(selected(page)) == 2
    assert selected(page)[0] == first


def test_selected_ids_are_copied(open_page, files):
    page = open_page(files["spectra"], permissions=["clipboard-read", "clipboard-write"])
    page.click("#select-found")
    page.click("#copy-ids")
    page.wait_for_selector("#copy-said:has-text('Copied 6 ids.')")
    assert page.evaluate("navigator.clipboard.readText()").split() == selected(page)


def test_contributions_follow_the_selected_row(open_page, files):
    page = open_page(files["made"])
    page.locator("#table td.id button").nth(4).click()
    row = page.locator("#table td.id").nth(4).inner_text()
    assert f"Row {row}" in page.locator("#why-body").inner_text()
    said = page.locator("#table td.features").nth(4).locator("bdi").first.inner_text()
    named = page.locator("#why-body th bdi").first.inner_text()
    assert said.startswith(f"{named} 10, usually \N{MINUS SIGN}1.0 to 1.0")


def test_a_cause_selects_its_rows(open_page, files):
    page = open_page(files["made"])
    button = page.locator("button.cause").first
    button.click()
    rows = page.locator(".causes li strong").first.inner_text()
    assert page.locator("#selected-count").inner_text() == f"{rows} selected."


def test_good_rows_are_said_to_be_good(open_page, files):
    page = open_page(files["spectra"])
    page.click("#previous-row")  # from the first to the last, which is good
    text = page.locator("#why-body").inner_text()
    assert "It is not flagged" in text
    assert "too high" not in text


def test_a_row_is_brought_into_view(open_page, files):
    page = open_page(files["made"])
    for show in ("#table td.id button >> nth=7", "#next-row", "#previous-row"):
        zoom(page, "home")
        page.click("#next-row")
        zoom(page, "in", 8)
        assert page.locator("#map .ring").count() == 0
        page.click(show)
        page.wait_for_timeout(50)
        assert page.locator("#map .ring").count() == 1, show


def test_looking_at_a_row_draws_the_selected_ones_no_more(open_page, tmp_path):
    page = open_page(write_report(made(3000, 1500), tmp_path / "many.html"))
    page.click("#select-found")
    page.wait_for_timeout(100)
    page.evaluate(
        """() => {
            window.written = window.stamped = 0;
            const { prototype } = HTMLTextAreaElement;
            const { get, set } = Object.getOwnPropertyDescriptor(prototype, "value");
            const counted = function (text) { window.written += 1; set.call(this, text); };
            Object.defineProperty(prototype, "value", { get, set: counted });
            const draw = CanvasRenderingContext2D.prototype.drawImage;
            CanvasRenderingContext2D.prototype.drawImage = function (...all) {
                window.stamped += 1;
                draw.apply(this, all);
            };
        }"""
    )
    page.click("#next-row")
    page.wait_for_timeout(100)
    assert page.evaluate("[window.written, window.stamped]") == [0, 0]
    page.click("#clear-rows")
    page.wait_for_timeout(100)
    assert page.evaluate("[window.written, window.stamped]") == [1, 0]


def test_the_row_that_is_described_has_a_ring_and_keeps_its_tip(open_page, files):
    page = open_page(files["spectra"])
    place = current(page)
    page.mouse.move(place[0] + 5, place[1])
    ring, tip = page.locator("#map .hover"), page.locator("#map .tip")
    box = ring.bounding_box()
    assert abs(box["x"] + box["width"] / 2 - place[0]) < 1
    before = tip.bounding_box()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(100)
    assert tip.is_visible()
    assert tip.bounding_box() != before
    page.mouse.wheel(0, -1500)
    page.keyboard.up("Control")
    page.wait_for_timeout(100)
    in_sight = page.locator("#map .ring").count() == 1
    assert tip.is_visible() == in_sight
    assert ring.count() == int(in_sight)
    page.mouse.move(10, 10)
    assert ring.count() == 0


def test_a_good_row_is_found_beside_a_flagged_one(open_page, tmp_path):
    some = made(100, 5)
    score, orthogonal = some.score_distances.copy(), some.orthogonal_distances.copy()
    good = int(np.flatnonzero(~some.flagged)[-1])
    score[good], score[some.extreme[-1]] = 2.97, 3.02  # some eight pixels apart
    orthogonal[good] = orthogonal[some.extreme[-1]] = 0.95
    page = open_page(
        write_report(
            replace(some, score_distances=score, orthogonal_distances=orthogonal),
            tmp_path / "near.html",
        )
    )
    page.click("#previous-row")  # the last row, which is good
    x, y = current(page)
    page.mouse.move(x, y)
    assert page.locator("#map .tip b").inner_text() == f"Row {some.ids[good]}"
    page.mouse.move(x + 3, y)  # hardly nearer to the good one
    assert page.locator("#map .tip b").inner_text() == f"Row {some.ids[some.extreme[-1]]}"


def test_a_double_click_zooms_and_keeps_the_selection(open_page, files):
    page = open_page(files["spectra"])
    page.click("#select-found")
    home = axes(page)
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    empty = box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"]
    page.mouse.dblclick(*empty)
    assert axes(page) != home
    assert len(selected(page)) == 6
    page.wait_for_timeout(600)  # a click of its own
    page.mouse.click(*empty)
    assert selected(page) == []


def test_kinds_are_hidden_and_shown_by_the_legend(open_page, files):
    page = open_page(files["made"])
    regular = page.locator("#outliers .legend button").first
    all_inked = [inked(page, plot) for plot in ("map", "ours")]
    regular.click()
    assert regular.get_attribute("aria-pressed") == "false"
    for plot, before in zip(("map", "ours"), all_inked, strict=True):
        assert inked(page, plot) < 0.7 * before
    drag(page, "#map", (0.12, 0.05), (0.98, 0.9))
    assert len(selected(page)) == 60  # those that are seen
    page.locator("#legend-again button").first.focus()
    page.keyboard.press("Space")
    assert regular.get_attribute("aria-pressed") == "true"
    assert [inked(page, plot) for plot in ("map", "ours")] == all_inked
    # What is asked for is shown.
    kind = page.locator("#table td.kind").first.inner_text()
    shown = page.locator("#outliers .legend button", has_text=kind)
    shown.click()
    page.locator("#table td.id button").first.click()
    assert shown.get_attribute("aria-pressed") == "true"


# ---- zooming ------------------------------------------------------------------------------------


def test_zooming_and_moving_change_the_axes_and_back(open_page, files):
    page = open_page(files["made"])
    home = axes(page)
    page.click('[data-plot="map"][data-zoom="in"]')
    closer = axes(page)
    assert closer != home
    page.click('[data-plot="map"][data-zoom="home"]')
    assert axes(page) == home
    page.locator("#map").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    assert axes(page) != home
    page.click('[data-plot="map"][data-zoom="home"]')
    page.locator("#outliers .modes label", has_text="Move").click()
    drag(page, "#map", (0.5, 0.5), (0.3, 0.7))
    assert axes(page) != home
    assert selected(page) == []
    page.click('[data-plot="map"][data-zoom="good"]')
    assert axes(page) != home


def test_the_wheel_alone_scrolls_the_page(open_page, files):
    page = open_page(files["made"])
    home = axes(page)
    page.locator("#map").hover()
    before = page.evaluate("window.scrollY")
    page.mouse.wheel(0, 200)
    page.wait_for_timeout(300)
    assert page.evaluate("window.scrollY") > before
    assert axes(page) == home


def test_axes_can_be_logarithmic_or_not(open_page, files):
    page = open_page(files["made"])
    before = axes(page)
    page.click("#map-log")
    assert axes(page) != before
    page.click("#map-log")
    assert axes(page) == before


def test_other_components_can_be_shown(open_page, files):
    page = open_page(files["made"])
    page.select_option("#score-y", "2")
    page.wait_for_timeout(50)
    for plot in ("#ours", "#plain"):
        names = page.locator(f"{plot} svg .name").all_text_contents()
        assert names == [f"Component {j} (columns not scaled)" for j in (1, 3)]


def test_axes_have_numbers_enough_that_differ(open_page, files):
    for size in (WIDE, PHONE, SMALL):
        page = open_page(files["spectra"], viewport=size)
        assert page.locator("#map-log").is_checked()
        assert all(len(texts) >= 3 for texts in numbers(page)), size
    page = open_page(files["made"])
    for _ in range(14):
        for plot in ("map", "ours"):
            for texts in numbers(page, f"#{plot}"):
                assert len(set(texts)) == len(texts) >= 2
                assert not {"-0", "\u22120"} & set(texts)
        zoom(page, "in")
        zoom(page, "in", plot="scores")
    left = page.locator("#map svg").first.locator("text[text-anchor=end]")
    frame = page.locator("#map").bounding_box()
    assert all(text.bounding_box()["x"] > frame["x"] + 18 for text in left.all())  # beside the name


def test_zooming_out_ends_and_distances_stay_above_zero(open_page, files):
    page = open_page(files["made"])
    home = [max(values(texts)) for texts in numbers(page)]
    zoom(page, "out", 12)
    for texts, most in zip(numbers(page), home, strict=True):
        assert min(values(texts)) == 0
        assert 2 * most < max(values(texts)) < 5.5 * most
