"""The report on tables with missing cells: where, which rows cannot be judged, and caution."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests._missing import FEW_CELLS
from tests._reports import HOSTILE, hostile, made
from tests.test_report import Elements, data_of, unpacked
from torpca import OutlierRobustPCA
from torpca._answer import Dropped, answer
from torpca._explain import Explanation
from torpca._missing_cells import MissingCells, together
from torpca._outputs import scores_table, summary, summary_text
from torpca._report import report_html
from torpca.datasets import make_outlier_subspace

pytestmark = FEW_CELLS

UNKNOWN = [11, 12]


@pytest.fixture(scope="module")
def rows():
    """Rows with holes, most of them in one column, and two rows with hardly a cell."""
    truth = make_outlier_subspace(300, 8, 2, 0.1, noise=0.01, random_state=0)
    X = truth.X.copy()
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(300) < 0.3, 3] = np.nan
    X[UNKNOWN, 1:] = np.nan
    return X


@pytest.fixture(scope="module")
def told(rows):
    return answer(
        OutlierRobustPCA(2).fit(rows),
        rows,
        ids=[f"s{i}" for i in range(300)],
        names=[f"f{j}" for j in range(8)],
        title="holes.csv",
    )


@pytest.fixture(scope="module")
def page(told):
    return report_html(told)


def section(page):
    """Text of the part on missing cells."""
    inside = page.split('<section id="missing"')[1].split("</section>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", "<section" + inside)).replace("\u00a0", " ")


def with_holes(n_flagged, in_flagged, in_others, n=400, seed=0):
    """A made answer some of whose cells are missing, by chance, in the two groups of rows."""
    base = made(n, n_flagged)
    share = np.where(base.flagged, in_flagged, in_others)
    holes = np.random.default_rng(seed).random((n, 8)) < share[:, None]
    return replace(base, missing=MissingCells(holes.sum(axis=0), holes.sum(axis=1)))


# ---- what the answer says ------------------------------------------------------------------------


def test_the_answer_is_what_the_model_says(rows, told):
    model = OutlierRobustPCA(2).fit(rows)
    np.testing.assert_array_equal(told.types, model.outlier_types(rows))
    np.testing.assert_array_equal(told.flagged, model.predict(rows) == -1)
    assert told.unknown.tolist() == UNKNOWN
    np.testing.assert_array_equal(told.missing.of_rows, np.isnan(rows).sum(axis=1))
    assert np.isfinite(told.angle)
    assert np.all(np.isfinite(told.plain_scores))


def test_a_cell_that_is_missing_takes_no_row_off_the_subspace(rows, told):
    off = [i for i, row in enumerate(told.extreme) if told.types[row] == "orthogonal"]
    assert len(off) > 10
    missing = np.isnan(rows[told.extreme[off]])
    assert missing.any()
    assert np.all(np.abs(told.contributions[off][missing]) < 1e-3)
    np.testing.assert_allclose(np.abs(told.contributions[off]).sum(axis=1), 1)


def test_holes_do_not_change_what_ordinary_pca_is_compared_with():
    truth = make_outlier_subspace(300, 8, 2, 0.1, noise=0.01, random_state=0)
    X = truth.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    angles = [answer(OutlierRobustPCA(2).fit(A), A).angle for A in (truth.X, X)]
    assert angles[1] == pytest.approx(angles[0], abs=1.0)


def test_tables_without_holes_are_as_before(rows):
    X = np.nan_to_num(rows)
    told = answer(OutlierRobustPCA(2).fit(X), X)
    assert told.missing.cells == 0
    page = report_html(told)
    assert "Missing cells" not in page
    assert "unknown" not in page.split("<script")[0]


# ---- the section ---------------------------------------------------------------------------------


def test_how_much_is_missing_where(rows, told, page):
    words = section(page)
    missing = np.isnan(rows)
    assert f"{missing.sum()} of 2,400 cells" in words
    assert f"in {missing.any(axis=1).sum()} of 300 rows and 8 of 8 columns" in words
    counts = missing.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    assert re.findall(r"\bf(\d) (\d+) ", words) == [(str(j), str(counts[j])) for j in order]
    assert '<a href="#missing">' in page


def test_bars_are_as_long_as_the_shares(rows, page):
    widths = [float(attrs["width"]) for tag, attrs in Elements(page).found if tag == "rect"]
    shares = np.sort(np.isnan(rows).mean(axis=0))[::-1]
    np.testing.assert_allclose(widths, 100 * shares, atol=0.06)


def test_many_columns_are_counted(told):
    base = made(50, 3, d=40)
    holes = MissingCells(np.arange(40), np.full(50, 15))
    words = section(report_html(replace(base, missing=holes)))
    assert "29 more columns" in words
    assert "feature 40 39" in words
    assert "feature 30" not in words


def test_rows_that_cannot_be_judged_are_named_and_not_drawn(told, page):
    words = section(page)
    assert "2 rows have no more cells than there are components (2)" in words
    assert "s11 and s12" in words
    data = data_of(page)
    assert data["drawn"] == 298
    assert not {"s11", "s12"} & set(data["ids"])
    for name in ("score", "orthogonal"):
        assert np.all(np.isfinite(unpacked(data[name]["values"], "f4")))
    legend = page.split('<ul class="legend">')[1].split("</ul>")[0]
    assert legend.count("<li>") == 5
    assert '<strong>unknown</strong> <span class="count">2</span>' in legend
    assert "The pictures show all 298 rows that can be judged." in page


def test_hundreds_of_rows_that_cannot_be_judged(told):
    types = told.types.copy()
    types[~told.flagged] = "unknown"
    few = replace(told, types=types, sampled=np.zeros(0, dtype=np.intp))
    words = section(report_html(few))
    m = len(few.unknown)
    assert f"{m} rows have no more cells" in words
    assert f" and {m - 20} more. The pictures" in words


def test_no_row_flagged_of_those_that_can_be_judged(told):
    calm = replace(
        told,
        types=np.where(told.flagged, "regular", told.types),
        flagged=np.zeros(300, dtype=bool),
        times=np.minimum(told.times, 1.0),
        extreme=np.zeros(0, dtype=np.intp),
        explanation=Explanation.empty(0, 3),
        contributions=np.zeros((0, 8)),
    )
    page = report_html(calm)
    assert "All 298 rows that can be judged agree" in page
    assert "Of the cells of flagged rows" not in page


def test_dropped_rows_are_told(told):
    base = made(100, 5)
    dropped = Dropped(np.array(["a", "b"]), np.array([101, 102]))
    left = replace(
        base,
        missing=MissingCells(np.eye(8, dtype=int)[0] * 2, np.zeros(100, dtype=int), 2),
        dropped=dropped,
    )
    words = section(report_html(left))
    assert "2 of 816 cells" in words
    assert "2 rows with missing cells were left out" in words
    assert "cannot be told" in words
    assert "test of two proportions" not in words


def test_hostile_names_are_text_there_too():
    bad = hostile()
    few = bad.types.copy()
    few[np.flatnonzero(~bad.flagged)[:8]] = "unknown"
    holes = MissingCells(np.full(len(HOSTILE), 3), np.ones(len(bad.ids), dtype=int))
    page = report_html(replace(bad, missing=holes, types=few))
    assert not Elements(page).all("img")
    assert len(Elements(page).all("script")) == 2
    assert "window.hacked" in section(page)


# ---- whether missing goes with being flagged -----------------------------------------------------


def test_a_caution_when_cells_of_flagged_rows_are_missing_more_often():
    words = section(report_html(with_holes(60, 0.4, 0.05)))
    assert "Caution: cells are missing more often in flagged than in other rows" in words
    assert "test of two proportions that counts each row once" in words
    assert re.search(r"Of the cells of flagged rows (3|4)\d(\.\d)?% are missing", words)
    words = section(report_html(with_holes(60, 0.02, 0.4)))
    assert "more often in other than in flagged rows" in words


def test_no_caution_without_a_difference():
    words = section(report_html(with_holes(60, 0.2, 0.2)))
    assert "Caution" not in words
    assert "no clear difference" in words


def test_a_small_difference_is_none_however_many_rows():
    holes = with_holes(20_000, 0.22, 0.2, n=60_000)
    found = together(holes.missing.of_rows, 8, holes.flagged, np.ones(60_000, dtype=bool))
    assert found.z > 5
    assert not found.large


def test_of_single_cells_it_is_the_test_of_two_proportions():
    rng = np.random.default_rng(0)
    flagged = np.arange(500) < 80
    missing = (rng.random(500) < np.where(flagged, 0.3, 0.2)).astype(np.int64)
    found = together(missing, 1, flagged, np.ones(500, dtype=bool))
    p1, p0, p = missing[flagged].mean(), missing[~flagged].mean(), missing.mean()
    z = (p1 - p0) / np.sqrt(p * (1 - p) * (1 / 80 + 1 / 420))
    assert found.z == pytest.approx(z, rel=2e-3)
    assert (found.flagged, found.others) == (p1, p0)


def test_cells_that_go_missing_together_are_no_evidence_each():
    # Half of a row is missing or nothing, whatever the row is: on cells, a test would be alarmed.
    rng = np.random.default_rng(0)
    flagged = np.arange(400) < 40
    every = np.ones(400, dtype=bool)
    z = np.array(
        [
            together(100 * (rng.random(400) < 0.2).astype(np.int64), 200, flagged, every).z
            for _ in range(500)
        ]
    )
    assert np.mean(np.abs(z) > 3) < 0.02
    assert np.std(z) == pytest.approx(1.0, abs=0.1)


def test_rows_that_cannot_be_judged_are_in_neither_group(told):
    found = summary(told)["missing"]
    judged = told.types != "unknown"
    share = told.missing.of_rows / 8
    assert found["share_of_flagged_rows"] == pytest.approx(share[told.flagged].mean())
    assert found["share_of_other_rows"] == pytest.approx(share[judged & ~told.flagged].mean())


# ---- in the other outputs ------------------------------------------------------------------------


def test_rows_that_cannot_be_judged_in_the_scores_and_the_summary(told):
    table = scores_table(told)
    assert table["label"][UNKNOWN].tolist() == ["unknown"] * 2
    assert np.all(np.isnan(table["score_distance"][UNKNOWN]))
    content = summary(told)
    assert content["flagged"]["rows"] == np.count_nonzero(told.flagged)
    assert content["missing"]["unknown"] == 2
    assert "2 rows have too few to be judged" in summary_text(told)
