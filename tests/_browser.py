"""Reports in a real browser, of which nothing may go wrong and nothing be asked for.

Needs Chromium (Debian: `apt-get install chromium`) and `pip install playwright`.
"""

import os
import shutil

import pytest

from tests._reports import hostile, made, spectra
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
