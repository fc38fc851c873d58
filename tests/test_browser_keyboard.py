"""The report by keyboard, and for those who hear it."""

import numpy as np
import pytest

from tests import _browser
from tests._browser import axes, selected

pytestmark = pytest.mark.slow
browser = _browser.browser
open_page = _browser.open_page
files = _browser.files


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
    for _ in range(160):
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
    wanted = ["map", "save-flagged", "search", "kind-filter", "select-found", "order-score"]
    wanted += ["order-orthogonal", "ours", "plain", "biplot", "scree-log"]
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
