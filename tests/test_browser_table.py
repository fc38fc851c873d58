"""The report's table of flagged rows: searching, sorting, turning pages."""

import re

import pytest

from tests import _browser
from tests._browser import selected
from tests._reports import spectra

pytestmark = pytest.mark.slow
browser = _browser.browser
open_page = _browser.open_page
files = _browser.files


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
