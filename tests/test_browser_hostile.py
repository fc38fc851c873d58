"""A report of hostile names: they are shown, and run nothing."""

import re

import pytest

from tests import _browser

pytestmark = pytest.mark.slow
browser = _browser.browser
open_page = _browser.open_page
files = _browser.files


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
