"""The report in a real browser: it works, asks for nothing, and nothing in the data runs.

Needs Chromium (Debian: `apt-get install chromium`) and `pip install playwright`.
"""

import os
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from tests._reports import hostile, made, odd_answers, spectra
from torpca._report import write_report

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SMALL = {"width": 320, "height": 640}


def chromium():
    """Path of the system's Chromium; None if there is none."""
    named = os.environ.get("CHROMIUM")
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return named or next((path for path in found if path), None)


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: `pip install playwright`"
    )
    path = chromium()
    if path is None:
        pytest.skip("Chromium is not installed: `apt-get install chromium`, or set CHROMIUM")
    with api.sync_playwright() as playwright:
        # Containers give no user namespaces and little shared memory.
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        running = playwright.chromium.launch(executable_path=path, args=options)
        yield running
        running.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    answers = {"spectra": spectra(), "hostile": hostile(), "made": made(3000, 60)}
    return {name: write_report(answer, folder / f"{name}.html") for name, answer in answers.items()}


@pytest.fixture
def open_page(browser):
    """Opens a file; at the end, nothing may have gone wrong or been asked for."""
    contexts, troubles, requests = [], [], []

    def opened(path, **options):
        context = browser.new_context(**{"viewport": WIDE, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html.ready")
        page.wait_for_selector("#map svg text")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == len(contexts)


def selected(page):
    return page.input_value("#selected-ids").split()


def drag(page, where, start, end):
    """Drag over a picture between two places, given as shares of its width and height."""
    page.locator(where).scroll_into_view_if_needed()
    box = page.locator(where).bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=4)
    page.mouse.up()


def axes(page):
    """Axes of the map as they are drawn: numbers and where they stand."""
    page.wait_for_timeout(50)  # drawn with the next frame
    return page.locator("#map svg").first.inner_html()


def current(page):
    """Place on the screen of the row of the map that is looked at."""
    page.locator("#map").scroll_into_view_if_needed()
    page.wait_for_timeout(50)
    ring = page.locator("#map .ring").bounding_box()
    return ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2


def numbers(page, where="#map"):
    """Numbers along the axes of a picture: across, and up."""
    page.wait_for_timeout(50)
    texts = page.locator(f"{where} svg >> nth=0").locator("text:not(.name)")
    found = texts.evaluate_all(
        "list => list.map((text) => [text.getAttribute('text-anchor'), text.textContent])"
    )
    return [[text for anchor, text in found if anchor == wanted] for wanted in ("middle", "end")]


def values(texts):
    return [float(text.replace(",", "").replace("\u2212", "-")) for text in texts]


def zoom(page, how, times=1, plot="map"):
    for _ in range(times):
        page.click(f'[data-plot="{plot}"][data-zoom="{how}"]')
    page.wait_for_timeout(50)


def inked(page, plot="map"):
    """Pixels of a picture's points that are not empty."""
    page.wait_for_timeout(50)
    return page.evaluate(
        """(id) => {
            const points = document.querySelector(`#${id} canvas`);
            const { width, height } = points;
            // A copy, as Chromium complains of canvases that are read often.
            const pen = new OffscreenCanvas(width, height).getContext("2d");
            pen.drawImage(points, 0, 0);
            const { data } = pen.getImageData(0, 0, width, height);
            return data.filter((v, i) => i % 4 === 3 && v > 0).length;
        }""",
        plot,
    )


def for_paper(page):
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")


def no_sideways(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


# ---- everything is there ------------------------------------------------------------------------


def test_everything_is_there(open_page, files):
    page = open_page(files["spectra"])
    headings = page.locator("h1, h2").all_inner_texts()
    assert headings[0] == "spectra.csv"
    assert len(headings) == 7
    assert (
        page.locator(".headline").inner_text() == "6 of 40 rows (15\u00a0%) are unlike the others."
    )
    for landmark in ("header", "nav", "main", "aside", "footer"):
        assert page.locator(landmark).count() == 1
    # Inked: points on each canvas.
    for plot in ("map", "ours", "plain"):
        assert inked(page, plot) > 500, plot
    assert page.locator("#map .limit").count() == 2
    assert page.locator("#ours .ellipse").count() == page.locator("#plain .ellipse").count() == 1
    assert page.locator("#scree rect.kept").count() == 3  # two components, and the key
    assert (
        page.locator("#change circle.dot").count() == page.locator("#kept circle.dot").count() > 0
    )
    assert page.locator("#why-body rect.up").count() > 20  # bars, and the profile
    assert page.locator("#table tbody tr").count() == 6
    assert "it holds text" in page.locator("#assumed").inner_text()


def test_flagged_rows_are_labelled_in_the_map(open_page, files):
    page = open_page(files["spectra"])
    labels = page.locator("#map .label").all_text_contents()
    assert sorted(labels) == ["25", "26", "36", "37", "38", "39"]


def test_limits_are_named_beside_their_lines(open_page, files):
    page = open_page(files["made"])
    assert page.locator("#map .limit-name").all_text_contents() == ["limit 3", "limit 1"]


def test_long_names_keep_their_ends(open_page, tmp_path):
    some = made(60, 6)
    ids = np.array([f"{'sample ' * 40}number {i}" for i in range(60)])
    names = tuple(f"{'absorbance ' * 9}at position {j}" for j in range(8))
    page = open_page(
        write_report(
            replace(some, ids=ids, names=names, features=made_features(some, names)),
            tmp_path / "long.html",
        )
    )
    row = int(some.extreme[0])
    first = page.locator("#table td.id bdi").first
    assert len(first.inner_text()) == 80
    assert first.inner_text().endswith(f"number {row}")
    assert first.get_attribute("title") == ids[row]
    assert page.locator("#table td.id bdi").first.inner_text().startswith("sample sample")
    assert re.search(r"….*position \d$", page.locator("#table td.features bdi").first.inner_text())
    bar = page.locator("#why-body svg text").first.evaluate("(text) => text.firstChild.data")
    assert re.search(r"….*n \d$", bar)
    labels = page.locator("#map .label").all_text_contents()
    assert labels
    assert set(labels) <= {f"…{row}" for row in some.extreme}  # not what they all begin with


def made_features(some, names):
    return tuple(
        tuple((names[some.names.index(name)], share) for name, share in row)
        for row in some.features
    )


def test_shares_are_not_rounded_up_to_all_nor_down_to_none(open_page, tmp_path):
    shares = np.zeros((6, 8))
    shares[:, :2] = 0.9998, -0.0002
    some = replace(made(60, 6), contributions=shares)
    page = open_page(write_report(some, tmp_path / "shares.html"))
    said = page.locator("#why-body svg .value").all_text_contents()
    assert said == ["↑ more than 99.9\u00a0%", "↓ less than 0.1\u00a0%"]


def test_one_component_has_lines_in_place_of_an_ellipse(open_page, tmp_path):
    page = open_page(write_report(odd_answers()["one component"], tmp_path / "one.html"))
    assert page.locator("#ours .limit").count() == page.locator("#plain .limit").count() == 2
    words = page.locator("#scores > p").inner_text()
    assert "Between the dashed lines" in words
    assert "ellipse" not in words
    figures = page.locator(".figures div").all_inner_texts()
    assert any(text.split() == ["component", "1"] for text in figures)


def test_the_rank_is_marked_if_no_variance_is_left(open_page, tmp_path):
    page = open_page(write_report(odd_answers()["no noise"], tmp_path / "exact.html"))
    assert page.locator("#scree .limit-name").text_content() == "1 component kept"


def test_the_sine_of_an_angle_is_not_drawn_beyond_one(open_page, files):
    page = open_page(files["made"])  # 1 in the first iteration
    top = page.locator("#change path.axis").get_attribute("d").split("V")[0].split()[1]
    assert page.locator("#change circle").first.get_attribute("cy") == top


def test_without_flagged_rows_there_is_nothing_to_search(open_page, tmp_path):
    page = open_page(write_report(made(100, 0), tmp_path / "none.html"))
    assert "No row is flagged." in page.locator("#rows").inner_text()
    assert page.locator("#rows :is(input, select, button, table):visible").count() == 0


def test_kinds_differ_in_shape_and_colour(open_page, files):
    page = open_page(files["made"])
    signs = page.locator("#outliers ul.legend .sign")
    assert signs.count() == 4
    colours = signs.evaluate_all("list => list.map((sign) => getComputedStyle(sign).fill)")
    shapes = page.evaluate(
        "[0, 1, 2, 3].map((k) => document.getElementById(`sign-${k}`).innerHTML)"
    )
    assert len(set(colours)) == len(set(shapes)) == 4


@pytest.mark.parametrize("case", odd_answers().items(), ids=lambda case: case[0])
def test_odd_answers_open_without_errors(open_page, tmp_path, case):
    page = open_page(write_report(case[1], tmp_path / "odd.html"))
    assert "NaN" not in page.content()
    assert no_sideways(page)


def test_a_million_rows_open_and_can_be_searched(open_page, tmp_path):
    million = made(1_000_000, 30_000, d=20)
    page = open_page(write_report(million, tmp_path / "million.html"))
    last = million.ids[million.extreme[-1]]
    page.fill("#search", str(last))
    assert str(last) in page.locator("#table td.id").all_inner_texts()


# ---- looking, selecting, copying ----------------------------------------------------------------


def test_hovering_names_the_row_and_its_features(open_page, files):
    page = open_page(files["spectra"])
    page.mouse.move(*current(page))  # at first the most extreme row
    tip = page.locator("#map .tip")
    assert tip.is_visible()
    first = page.locator("#table td.id").first.inner_text()
    assert f"Row {first}" in tip.inner_text()
    assert re.search(r"\d+ nm to \d+ nm ↑ \d+", tip.inner_text())


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
    named = page.locator("#table td.features").nth(4).locator("bdi").first.inner_text()
    assert page.locator("#why-body .chart text").first.text_content().startswith(named)


def test_good_rows_are_explained_as_well(open_page, files):
    page = open_page(files["spectra"])
    page.click("#previous-row")  # from the first to the last, which is good
    text = page.locator("#why-body").inner_text()
    assert "It is not flagged" in text
    assert "too large" not in text
    assert page.locator("#why-body .chart text").count() > 0


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
        assert names == ["Component 1", "Component 3"]


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


# ---- the table ----------------------------------------------------------------------------------


def test_a_band_is_found_by_what_lies_in_it(open_page, files):
    page = open_page(files["spectra"])
    page.fill("#search", spectra().names[155])  # amid the band that six samples have too much of
    named = page.locator("#table td.features").all_inner_texts()
    assert len(named) >= 6
    assert all(re.search(r"\d+ nm to \d+ nm", text) for text in named[:6])
    page.fill("#search", spectra().names[0])
    assert len(page.locator("#table td.id").all_inner_texts()) < 6


def test_the_table_is_searched_by_id_and_by_feature(open_page, files):
    page = open_page(files["made"])
    assert page.locator("#page-said").inner_text() == "Rows 1 to 25 of 60"
    row = page.locator("#table td.id").nth(7).inner_text()
    page.fill("#search", row)
    assert all(row in text for text in page.locator("#table td.id").all_inner_texts())
    page.fill("#search", "FEATURE 3")
    texts = page.locator("#table td.features").all_inner_texts()
    assert texts
    assert all("feature 3" in text for text in texts)
    page.fill("#search", "no such thing")
    assert page.locator("#page-said").inner_text() == "No row found"
    assert page.locator("#select-found").is_disabled()


def test_the_table_is_filtered_sorted_and_turned(open_page, files):
    page = open_page(files["made"])
    page.select_option("#kind-filter", label="good leverage")
    kinds = set(page.locator("#table td.kind").all_inner_texts())
    assert kinds == {"good leverage"}
    page.select_option("#kind-filter", label="all")
    page.click("#table th[data-sort=score] button")
    assert page.get_attribute("#table th[data-sort=score]", "aria-sort") == "descending"
    distances = [float(text) for text in page.locator("#table td.score").all_inner_texts()]
    assert distances == sorted(distances, reverse=True)
    page.click("#table th[data-sort=id] button")
    ids = [int(text) for text in page.locator("#table td.id").all_inner_texts()]
    assert ids == sorted(ids)
    page.click("#page-on")
    assert page.locator("#page-said").inner_text() == "Rows 26 to 50 of 60"
    page.locator("#table tbody input").first.check()
    assert len(selected(page)) == 1


# ---- hostile names ------------------------------------------------------------------------------


def test_hostile_names_are_shown_and_run_nothing(open_page, files):
    page = open_page(files["hostile"])
    page.click("#select-found")
    for button in ("#next-row", "#next-row", "#previous-row"):
        page.click(button)
    page.locator("#map").focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.fill("#search", "<")
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == 2
    assert "</script><script>" in page.locator("h1").inner_text()
    assert "<img src=x" in page.locator("#table").inner_text()


def test_names_cannot_turn_the_text_around_them(open_page, files):
    page = open_page(files["hostile"])
    page.click("#select-found")
    ids = page.input_value("#selected-ids")
    assert "\u202e" in ids  # copied as they are
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
        shown = page.locator("#outliers, #table").evaluate_all(
            "list => list.map((part) => part.outerHTML).join()"
        )
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", shown)
    assert "\ufffdgnp.exe" in shown


def test_the_policy_stops_what_is_put_in_later(browser, files):
    # The console speaks of it, so that this page is not held to silence.
    page = browser.new_page()
    try:
        page.goto(files["made"].as_uri())
        page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.hacked = 1";
                document.body.append(script);
                const image = document.createElement("img");
                image.src = "http://127.0.0.1:9/picture.png";
                document.body.append(image);
            }"""
        )
        assert page.evaluate("window.hacked") is None
        assert page.evaluate(
            "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'stopped')"
        ) == ("stopped")
    finally:
        page.close()


# ---- keyboard and readers -----------------------------------------------------------------------


def test_the_map_works_with_the_keyboard(open_page, files):
    page = open_page(files["spectra"])
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    order = page.locator("#table td.id").all_inner_texts()
    assert page.locator("#map [role=status]").inner_text().startswith(f"Row {order[0]}, ")
    assert page.locator("#map .tip").is_visible()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    assert selected(page) == order[:2]
    home = axes(page)
    page.keyboard.press("+")
    assert axes(page) != home
    page.keyboard.press("0")
    assert axes(page) == home
    page.keyboard.press("Shift+ArrowLeft")
    assert axes(page) != home
    page.keyboard.press("Escape")
    assert selected(page) == []


def test_every_control_is_reached_in_order_and_shows_its_focus(open_page, files):
    page = open_page(files["spectra"])
    seen = []
    for _ in range(90):
        page.keyboard.press("Tab")
        name, top, ring = page.evaluate(
            """() => {
                const at = document.activeElement;
                const shown = at.closest(".modes label") || at;
                const style = getComputedStyle(shown);
                const box = shown.getBoundingClientRect();
                const ringed = style.outlineStyle !== "none";
                return [at.id || at.tagName, box.top + window.scrollY, ringed];
            }"""
        )
        if name == "BODY":
            break
        assert ring, name
        seen.append((name, top))
    names = [name for name, _ in seen]
    wanted = ["map", "ours", "plain", "scree-log", "search", "kind-filter", "select-found"]
    assert [name for name in names if name in wanted] == wanted
    assert names[0] == "A"  # to skip to the answer


def test_everything_interactive_has_a_name(open_page, files):
    page = open_page(files["spectra"])
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, [tabindex='0']")]
            .filter((e) => !(e.ariaLabel || e.getAttribute("aria-labelledby")
                || e.textContent.trim() || (e.labels && e.labels.length)))
            .map((e) => e.outerHTML)"""
    )
    assert nameless == []
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1


# ---- light, dark, phone, paper ------------------------------------------------------------------


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
    assert heads == ["Row", "Kind", "Score distance", "Orthogonal distance"]
    assert page.locator("#table th button:visible").count() == 0
    rows = page.locator("#table td.id")
    assert max(cell.bounding_box()["height"] for cell in rows.all()) < 130
    assert min(cell.bounding_box()["width"] for cell in rows.all()) > 130
    assert "Distances are in units of their limits" in page.locator("#rows").inner_text()
    assert "too large" in page.locator("#why-body").inner_text()
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
