"""The report on a table with missing cells, in a real browser."""

from dataclasses import replace

import numpy as np
import pytest

from tests import _browser
from tests._browser import PHONE, WIDE
from tests._reports import made
from torpca._missing_cells import MissingCells
from torpca._report import write_report

pytestmark = pytest.mark.slow
browser = _browser.browser
open_page = _browser.open_page


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    base = made(300, 12)
    types = base.types.copy()
    types[np.flatnonzero(~base.flagged)[:3]] = "unknown"
    missing = MissingCells(np.array([150, 75, *[3] * 6]), np.full(300, 1))
    answer = replace(base, types=types, missing=missing)
    return write_report(answer, tmp_path_factory.mktemp("missing") / "report.html")


def test_rows_that_cannot_be_judged_are_in_the_legend_but_cannot_be_hidden(open_page, path):
    page = open_page(path)
    legend = page.locator("#outliers ul.legend")
    assert legend.locator("li").count() == 5
    assert legend.locator("button").count() == 4
    assert "unknown" in legend.inner_text()
    assert page.locator("#legend-again li").count() == 4


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_bars_show_their_shares(open_page, path, viewport):
    page = open_page(path, viewport=viewport)
    page.locator('nav a[href="#missing"]').click()
    bars = page.locator("#missing .share")
    full = bars.nth(0).bounding_box()["width"]
    widths = [bars.nth(i).locator("rect").bounding_box()["width"] for i in range(2)]
    assert widths == pytest.approx([0.5 * full, 0.25 * full], rel=0.02)
    inside = page.locator("#missing .scroll").evaluate("e => e.scrollWidth <= e.clientWidth")
    assert inside
