"""The map of cells in the report: when it is there, what it holds, how it looks in a browser."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from tests import _browser
from tests._browser import PHONE, WIDE, no_sideways
from tests._reports import HOSTILE, made, spectra
from tests.test_report import Elements, data_of, unpacked
from torpca import OutlierRobustPCA
from torpca._answer import answer
from torpca._missing.cell_map import CellMap, ChosenRows, farthest_within, first_columns
from torpca._report import report_html, write_report
from torpca._report.cells import COLUMNS, bad_cells

browser = _browser.browser
open_page = _browser.open_page


def mapped(d=8, **changes):
    """An answer about 60 rows with a map of six: two flagged, one with a bad cell, a hole."""
    some = made(60, 2, d=d)
    good = np.flatnonzero(~some.flagged)[:4]
    rows = np.concatenate([some.extreme, good])
    z = np.random.default_rng(0).uniform(-2, 2, (6, d))
    z[2, d - 1], z[3, 0], z[0] = -20.0, np.nan, 6.0
    bad = np.zeros(z.shape, dtype=bool)
    bad[2, d - 1] = True
    groups = np.array(["flagged"] * 2 + ["bad cells"] + ["other"] * 3)
    totals = {"flagged": 2, "bad cells": 1, "other": 57}
    return replace(some, cells=CellMap(ChosenRows(rows, groups, totals), z, bad), **changes)


def table():
    """Rows of rank 2, of which one has a bad cell."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 12))
    X += 0.05 * rng.standard_normal(X.shape)
    X[20, 3] += 5.0
    return X


# ---- when ----------------------------------------------------------------------------------------


def test_the_map_is_there_if_cells_are_looked_for():
    X = table()
    found = answer(OutlierRobustPCA(2, cells=True).fit(X), X).cells
    groups = found.chosen.groups
    assert 20 in found.chosen.rows[groups != "other"]
    assert found.bad[list(found.chosen.rows).index(20), 3]


def test_the_map_is_there_if_a_flagged_row_is_bad_in_single_cells():
    X = table()
    found = answer(OutlierRobustPCA(2).fit(X), X).cells
    assert found.chosen.rows[0] == 20
    np.testing.assert_array_equal(np.flatnonzero(found.bad[0]), [3])


def test_there_is_no_map_if_there_is_nothing_to_say():
    X = np.delete(table(), 20, axis=0)
    X[0] = 60 * np.linalg.svd(X, full_matrices=False)[2][0]  # far out, and no cell wrong
    model = OutlierRobustPCA(2).fit(X).set_contamination(1 / 199)
    found = answer(model, X)
    assert found.extreme.tolist() == [0]
    assert found.cells is None
    page = report_html(made(60, 3))
    assert 'id="cells"' not in page
    assert 'href="#cells"' not in page
    assert data_of(page)["cells"] is None


# ---- what ----------------------------------------------------------------------------------------


def test_the_page_has_the_map_and_a_link_to_it():
    some = mapped()
    page = report_html(some)
    assert '<a href="#cells">Cell map</a>' in page
    assert "From the top: 2 flagged rows, 1 row with bad cells and 3 of 57 other rows." in page
    assert "missing</span>" in page
    held = data_of(page)["cells"]
    z = unpacked(held["residuals"], "i2").reshape(6, 8)
    assert z[3, 0] == -32768
    there = ~np.isnan(some.cells.residuals)
    np.testing.assert_allclose(z[there] / 100, some.cells.residuals[there], atol=0.005)
    assert held["ids"] == some.ids[some.cells.chosen.rows].tolist()
    assert held["groups"] == [0, 0, 1, 2, 2, 2]
    assert held["names"] == list(some.names)
    assert (held["d"], held["wide"]) == (8, 1)


@pytest.mark.parametrize("d", [COLUMNS + 1, 5000])
def test_many_columns_share_one_and_no_bad_cell_is_lost(d):
    some = mapped(d)
    held = data_of(report_html(some))["cells"]
    starts = first_columns(d, COLUMNS)
    z = unpacked(held["residuals"], "i2").reshape(6, len(starts))
    assert len(held["names"]) == len(starts) <= COLUMNS
    assert held["wide"] == starts[1]
    assert z[2, -1] == -2000
    expected = farthest_within(some.cells.residuals, starts)
    np.testing.assert_allclose(z / 100, expected, atol=0.005)


def test_residuals_of_any_size_make_a_page():
    some = mapped()
    z = np.array(some.cells.residuals)
    z[0, :3] = np.inf, -np.inf, 1e300
    held = data_of(report_html(replace(some, cells=replace(some.cells, residuals=z))))["cells"]
    assert unpacked(held["residuals"], "i2")[:3].tolist() == [30000, -30000, 30000]


def test_bad_cells_are_named():
    some = mapped()
    row = some.ids[some.cells.chosen.rows[2]]
    said = bad_cells(some)
    assert "<summary>The bad cell</summary>" in said
    assert f"<bdi>{row}</bdi></th><td><bdi>feature 8</bdi></td><td>20 too small</td>" in said
    many = replace(some, cells=replace(some.cells, bad=np.ones((6, 8), dtype=bool)))
    assert bad_cells(many).count("<tr>") == 1 + 48
    none = replace(some, cells=replace(some.cells, bad=np.zeros((6, 8), dtype=bool)))
    assert bad_cells(none) == ""
    assert "0 bad cells" in report_html(none)


def test_names_are_text_and_no_elements():
    ids = np.array([f"{HOSTILE[i % 8]} {i}" for i in range(60)])
    page = report_html(mapped(ids=ids, names=HOSTILE))
    plain = {tag for tag, _ in Elements(report_html(mapped())).found}
    assert {tag for tag, _ in Elements(page).found} <= plain
    for tag, attrs in Elements(page).found:
        assert not [name for name in attrs if name == "style" or name.startswith("on")], tag


# ---- in a browser --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, PHONE])
@pytest.mark.parametrize("d", [8, 1000])
def test_cells_rows_and_columns_are_drawn(open_page, tmp_path, size, d):
    page = open_page(write_report(mapped(d), tmp_path / "cells.html"), viewport=size)
    where = page.locator("#cell-map")
    where.scroll_into_view_if_needed()
    assert where.locator("path.rule").count() == 2
    assert where.locator("path.hole").count() == (d == 8)  # else the others of its column are there
    dark = where.locator("path.down").last
    assert float(dark.get_attribute("fill-opacity")) == 1
    box, frame = dark.bounding_box(), where.locator("path.axis").bounding_box()
    assert box["width"] >= 2
    assert abs(box["x"] + box["width"] - frame["x"] - frame["width"]) < 3  # the last column
    assert no_sideways(page)
    names = where.locator("text[text-anchor=middle]").evaluate_all(
        "list => list.map((e) => e.getBoundingClientRect().toJSON())"
    )
    upright = where.locator("text[transform]").evaluate_all(
        "list => list.map((e) => e.getBoundingClientRect().toJSON())"
    )
    for boxes in (names[:-1], upright):
        assert all(a["right"] <= b["left"] + 1 for a, b in itertools.pairwise(boxes))
        assert all(box["right"] <= size["width"] for box in boxes)


def test_a_cell_that_is_pointed_at_is_told(open_page, tmp_path):
    some = mapped()
    page = open_page(write_report(some, tmp_path / "cells.html"))
    page.locator("#cell-map").scroll_into_view_if_needed()
    box = page.locator("#cell-map path.down").last.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator("#cell-map .tip")
    row = some.ids[some.cells.chosen.rows[2]]
    assert re.split(r"\n+", tip.inner_text().strip()) == [
        f"Row {row}",
        "feature 8",
        "20 standard deviations too small",
    ]
    box = page.locator("#cell-map path.hole").bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    assert tip.inner_text().strip().endswith("missing")
    page.mouse.move(2, 2)
    assert not tip.is_visible()


def test_rows_keep_the_ends_of_long_names(open_page, tmp_path):
    ids = np.array([f"{'sample ' * 12}number {i}" for i in range(60)])
    some = mapped(ids=ids)
    page = open_page(write_report(some, tmp_path / "long.html"), viewport=PHONE)
    labels = page.locator("#cell-map text[text-anchor=end]:not([transform])").all_text_contents()
    assert len(labels) == 6
    assert all(
        label.endswith(f" {row}"[-2:])
        for label, row in zip(labels, some.cells.chosen.rows, strict=True)
    )


def test_a_band_of_a_spectrum_is_seen(open_page, tmp_path):
    some = spectra()
    assert np.mean(some.cells.bad[:6, 140:170]) > 0.5
    page = open_page(write_report(some, tmp_path / "spectra.html"))
    assert page.locator("#cells details tbody tr").count() == 50
    assert page.locator("#cells summary").inner_text().startswith("The 50 farthest of the ")
