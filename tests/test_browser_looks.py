"""The report in light and dark, on phones, on paper and without scripts."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests import _browser
from tests._browser import PHONE, SMALL, WIDE, current, for_paper, no_sideways, selected
from tests._reports import spectra
from torpca._report import write_report

pytestmark = pytest.mark.slow
browser = _browser.browser
open_page = _browser.open_page
files = _browser.files


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE, SMALL])
@pytest.mark.parametrize("name", ["spectra", "hostile"])
def test_nothing_runs_off_to_the_side(open_page, files, scheme, size, name):
    page = open_page(files[name], viewport=size, color_scheme=scheme)
    assert no_sideways(page)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(re.findall(r"\d+", background)[0])
    assert (red > 200) == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_faint_things_can_be_seen(open_page, files, scheme):
    page = open_page(files["made"], color_scheme=scheme)
    page.click("#previous-row")  # a regular row
    x, y = current(page)
    box = page.locator("#map").bounding_box()
    ink = page.evaluate(
        """([x, y]) => {
            const pen = document.querySelector("#map canvas").getContext("2d");
            return [...pen.getImageData(x, y, 1, 1).data];
        }""",
        [x - box["x"], y - box["y"]],
    )
    ground = page.evaluate("getComputedStyle(document.querySelector('#outliers')).backgroundColor")
    ground = [int(part) for part in re.findall(r"\d+", ground)]
    *colour, alpha = ink
    point = [c * alpha / 255 + g * (1 - alpha / 255) for c, g in zip(colour, ground, strict=True)]
    left = page.locator("#scree .left").first.evaluate(
        "(bar) => [getComputedStyle(bar).fill, getComputedStyle(bar).opacity]"
    )
    bar = [int(part) for part in re.findall(r"\d+", left[0])]
    assert left[1] == "1"
    for colour in (point, bar):
        assert contrast(colour, ground) >= 3


def contrast(one, other):
    def luminance(colour):
        parts = np.asarray(colour, dtype=float) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_modes_do_not_slip(open_page, files):
    page = open_page(files["spectra"])
    inputs = page.locator(".modes input")
    assert set(inputs.evaluate_all("list => list.map((e) => getComputedStyle(e).margin)")) == {
        "0px"
    }


@pytest.mark.parametrize("size", [PHONE, SMALL])
def test_labels_of_narrow_pictures_are_few_and_apart(open_page, tmp_path, size):
    some = spectra()
    some = replace(some, ids=np.array([f"sample {i} (of many)" for i in range(40)]))
    page = open_page(
        write_report(some, tmp_path / "phone.html"), viewport=size, is_mobile=True, has_touch=True
    )
    for plot in ("#map", "#ours", "#plain"):
        labels = page.locator(f"{plot} .label")
        texts = labels.all_text_contents()
        assert 1 <= len(texts) <= 6
        assert len(set(texts)) == len(texts)
        assert max(map(len, texts)) <= 10
        boxes = labels.evaluate_all("list => list.map((e) => e.getBoundingClientRect().toJSON())")
        for j, one in enumerate(boxes):
            for other in boxes[:j]:
                assert (
                    one["x"] >= other["x"] + other["width"]
                    or other["x"] >= one["x"] + one["width"]
                    or abs(one["y"] - other["y"]) > 11
                )
        frame = page.locator(plot).bounding_box()
        for name in page.locator(f"{plot} svg .name").all():
            box = name.bounding_box()
            assert box["x"] >= frame["x"]
            assert box["x"] + box["width"] <= frame["x"] + frame["width"]
            assert box["y"] >= frame["y"]
            assert box["y"] + box["height"] <= frame["y"] + frame["height"]
    ticks = page.locator("input[type=checkbox]:visible")
    assert min(tick.bounding_box()["height"] for tick in ticks.all()) >= 24


def test_a_finger_selects_rows_and_scrolls(open_page, files):
    page = open_page(files["spectra"], viewport=PHONE, is_mobile=True, has_touch=True)
    assert page.locator("#outliers .modes :checked").get_attribute("value") == "point"
    assert page.evaluate("getComputedStyle(document.querySelector('#map')).touchAction") == "pan-y"
    page.touchscreen.tap(*current(page))
    assert len(selected(page)) == 1
    assert page.locator("#map .tip").is_visible()
    # Each cell of the table is in sight.
    assert page.evaluate(
        """[...document.querySelectorAll("#table td")].every((cell) => {
            const { left, right } = cell.getBoundingClientRect();
            return left >= 0 && right <= window.innerWidth;
        })"""
    )


def test_paper_is_light_and_has_no_buttons(open_page, files, tmp_path):
    page = open_page(files["spectra"], color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"
    page.emulate_media(media="print")
    # Those in the table and the legend look like text.
    assert page.locator("button:visible:not(#table td button, .legend button)").count() == 0
    assert page.locator("#table tbody tr:visible").count() == 6
    assert page.locator("#map canvas").first.is_visible()
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 20, 24)"
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_paper_says_what_a_reader_needs(open_page, tmp_path):
    some = spectra()
    ids = np.array([f"sample-{i:03d} (baseline)" for i in range(40)])
    page = open_page(write_report(replace(some, ids=ids), tmp_path / "paper.html"))
    for_paper(page)
    # Words that Chromium prints again at the head of each page, which it does not for buttons.
    heads = page.locator("#table th .printed:visible").all_inner_texts()
    assert heads == ["Row", "Kind", "Score distance", "Orthogonal distance", "Ordinary PCA"]
    assert page.locator("#table th button:visible").count() == 0
    rows = page.locator("#table td.id")
    assert max(cell.bounding_box()["height"] for cell in rows.all()) < 130
    assert min(cell.bounding_box()["width"] for cell in rows.all()) > 130
    assert "Distances are in units of their limits" in page.locator("#rows").inner_text()
    assert "too high" in page.locator("#why-body").inner_text()
    assert not page.locator("#map-help").is_visible()
    inside = "list => [...new Set(list.map((p) => getComputedStyle(p).breakInside))]"
    assert page.locator("main p").evaluate_all(inside) == ["avoid"]


def test_a_page_without_scripts_still_has_the_answer(browser, files):
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(files["spectra"].as_uri())
        assert "unlike the others" in page.locator(".headline").inner_text()
        assert page.locator(".extreme li").count() == 3
        assert "need JavaScript" in page.locator("noscript").inner_text()
        useless = page.locator(":is(button, input, select, textarea, .plot, .chart):visible")
        assert useless.count() == 0
        assert page.locator(".legend .count:visible").count() == 4
    finally:
        context.close()
