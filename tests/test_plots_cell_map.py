"""The cell map: which rows it has, which column a bad cell is in, what its colours say."""

from itertools import pairwise

import numpy as np
import pytest

from tests import _plots
from tests._plots import matplotlib, plt, to_rgb
from tests.test_plots_rows import EYES, lightness_and_hue
from torpca import TORP, OutlierRobustPCA
from torpca._missing.cell_map import choose_rows, farthest_within, first_columns, shared_out
from torpca.plots import CellMapDisplay
from torpca.plots._cell_map import (
    LARGE,
    LARGE_AT_CUT,
    MISSING,
    SMALL,
    SMALL_AT_CUT,
    every,
    scale_of_colors,
)

# Fixtures: pytest looks for them by these names.
_close_figures = _plots._close_figures
rows = _plots.rows
model = _plots.model
frame = _plots.frame


@pytest.fixture(scope="module")
def table():
    """Rows of rank 2 with bad rows 0 to 4, a bad cell in row 20 and in row 30, and a hole."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 12))
    X += 0.05 * rng.standard_normal(X.shape)
    X[:5] = 4 * rng.standard_normal((5, 12))
    X[20, 3] += 5.0
    X[30, 7] -= 9.0
    X[40, 1] = np.nan
    X.flags.writeable = False
    return X


@pytest.fixture(scope="module")
def judged(table):
    return OutlierRobustPCA(2, cells=True).fit(table)


def image(display):
    return display.image_.get_array()


def color_at(z):
    norm, colors = scale_of_colors()
    return np.array(colors(norm(np.clip(z, -9, 9))))[:3]


# ---- rows ----------------------------------------------------------------------------------------


def test_flagged_rows_are_on_top_then_those_with_bad_cells_then_a_sample(judged, table):
    display = CellMapDisplay.from_estimator(judged, table)
    flagged = np.flatnonzero(judged.predict(table) == -1)
    n = len(flagged)
    assert set(range(5)) <= set(flagged.tolist())
    in_order = flagged[np.argsort(judged.score_samples(table)[flagged], kind="stable")]
    np.testing.assert_array_equal(display.ids[:n], in_order)
    assert list(display.ids[n : n + 2]) == [30, 20]  # the farther one first
    assert set(display.groups[:n]) == {"flagged"}
    with_bad = np.flatnonzero(np.diff(judged.cell_outliers_.indptr))
    is_bad = display.groups == "bad cells"
    np.testing.assert_array_equal(
        np.sort(display.ids[is_bad]), np.setdiff1d(with_bad, flagged, assume_unique=True)
    )
    others = display.ids[display.groups == "other"]
    assert len(others) == 20
    assert np.all(np.diff(others) > 0)
    np.testing.assert_allclose(display.residuals, judged.cell_residuals(table)[display.ids])
    assert display.totals["other"] == 200 - n - np.count_nonzero(is_bad)
    assert display.ax_.yaxis_inverted()
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks == [str(i) for i in display.ids]
    assert display.ax_.get_ylabel() == "rows, counted from 0"


def test_lines_are_where_one_kind_of_rows_ends(judged, table):
    display = CellMapDisplay.from_estimator(judged, table)
    groups = list(display.groups)
    ends = [groups.index("bad cells") - 0.5, groups.index("other") - 0.5]
    assert [line.get_ydata()[0] for line in display.lines_] == ends
    words = display.ax_.get_title(loc="left").splitlines()
    assert [line.split(": ")[0] for line in words] == ["top", "middle", "bottom"]
    assert words[0] == f"top: {groups.count('flagged')} flagged rows"
    assert words[2] == f"bottom: 20 of {display.totals['other']} other rows"


def test_without_cells_only_flagged_rows_come_before_the_sample(model, rows):
    display = CellMapDisplay.from_estimator(model, rows[0])
    assert set(display.groups) == {"flagged", "other"}
    assert list(display.ids).index(rows[1]) < list(display.groups).index("other")


def test_rows_are_shared_out_among_the_kinds():
    def shared(*totals, most=60):
        named = dict(zip(("flagged", "bad cells", "other"), totals, strict=True))
        return tuple(shared_out(named, most).values())

    assert shared(500, 500, 500) == (20, 20, 20)
    assert shared(500, 0, 500) == (40, 0, 20)
    assert shared(2, 500, 500) == (2, 38, 20)
    assert shared(0, 0, 500) == (0, 0, 20)
    assert shared(3, 1, 2) == (3, 1, 2)
    assert shared(500, 500, 500, most=1) == (1, 0, 0)
    assert shared(0, 0, 500, most=1) == (0, 0, 1)
    for most in range(1, 70):
        assert sum(shared(500, 500, 500, most=most)) == most


def test_the_same_rows_are_chosen_each_time():
    flagged = np.arange(1000) < 10
    sizes, none = np.arange(1000.0), np.zeros(1000)
    one, other = (choose_rows(flagged, sizes, none, 60) for _ in range(2))
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.rows[:10], np.arange(10)[::-1])
    assert len(np.unique(one.rows)) == len(one.rows) == 30


def test_rows_have_labels_of_their_own(frame, judged, table):
    display = CellMapDisplay.from_estimator(OutlierRobustPCA().fit(frame), frame, max_rows=9)
    assert len(display.ids) == 9
    assert all(label.startswith("s") for label in display.ids)
    assert display.ax_.get_ylabel() == "rows"
    names = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert names == list(frame.columns)
    own = CellMapDisplay.from_estimator(judged, table, ids=[f"own {i}" for i in range(200)])
    assert "own 20" in own.ids
    assert not own.numbered


# ---- cells ---------------------------------------------------------------------------------------


def test_colours_say_which_way_and_how_far(judged, table):
    display = CellMapDisplay.from_estimator(judged, table)
    at = {row: i for i, row in enumerate(display.ids)}
    shown = display.image_.to_rgba(image(display))[..., :3]
    np.testing.assert_allclose(shown[at[20], 3], to_rgb(LARGE), atol=0.01)
    np.testing.assert_allclose(shown[at[30], 7], to_rgb(SMALL), atol=0.01)
    np.testing.assert_array_equal(color_at(2.4), 1.0)
    np.testing.assert_array_equal(color_at(-2.4), 1.0)
    light = [lightness_and_hue(color_at(z) ** 2.2)[0] for z in (2.4, 3.0, 3.5, 5.0, 7.0, 9.0)]
    assert light == sorted(light, reverse=True)
    light = [lightness_and_hue(color_at(-z) ** 2.2)[0] for z in (2.4, 3.0, 3.5, 5.0, 7.0, 9.0)]
    assert light == sorted(light, reverse=True)


@pytest.mark.parametrize("eye", EYES)
def test_too_large_too_small_missing_and_fine_are_told_apart_by_everyone(eye):
    colors = ["#ffffff", MISSING, LARGE, LARGE_AT_CUT, SMALL, SMALL_AT_CUT]
    linear = [((np.array(to_rgb(color)) + 0.055) / 1.055) ** 2.4 for color in colors]
    seen = [lightness_and_hue(color @ np.transpose(EYES[eye])) for color in linear]
    for i, one in enumerate(seen):
        for other in seen[:i]:
            assert np.linalg.norm(one - other) > 15  # 2 can just be told apart side by side


def test_missing_cells_are_grey_and_named():
    z = np.zeros((3, 4))
    z[1, 2] = np.nan
    display = CellMapDisplay.from_predictions(z)
    assert image(display).mask[1, 2]
    assert image(display).mask.sum() == 1
    shown = display.image_.to_rgba(image(display))[1, 2, :3]
    np.testing.assert_allclose(shown, to_rgb(MISSING), atol=0.01)
    assert [text.get_text() for text in display.legend_.get_texts()] == ["missing"]
    alone = CellMapDisplay.from_predictions(z, colorbar=False)
    assert alone.colorbar_ is None
    assert [text.get_text() for text in alone.legend_.get_texts()] == ["missing"]
    assert CellMapDisplay.from_predictions(np.zeros((3, 4))).legend_ is None
    CellMapDisplay.from_predictions(np.full((3, 4), np.nan)).figure_.canvas.draw()


def test_the_bar_has_words(judged, table):
    bar = CellMapDisplay.from_estimator(judged, table).colorbar_
    words = [text.get_text() for text in bar.ax.get_yticklabels()]
    assert words[0] == "-9 or less:\nmuch too small"
    assert words[2] == "as expected"
    assert words[3] == "3.5: too large"
    assert bar.ax.get_ylabel().startswith("standard deviations from")


# ---- columns -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 30, 199, 1000, 1001, 5000])
def test_no_bad_cell_is_lost_however_many_columns_there_are(d):
    rng = np.random.default_rng(d)
    z = rng.uniform(-2, 2, (50, d))
    columns = rng.integers(d, size=10)
    z[np.arange(10), columns] = rng.choice([-8.0, 8.0], 10)
    display = CellMapDisplay.from_predictions(z)
    shown, ids = np.asarray(image(display)), np.asarray(display.ids)
    assert len(display.columns_) <= 400
    for row, column in enumerate(columns):
        column_drawn = np.searchsorted(display.columns_, column, side="right") - 1
        assert shown[np.flatnonzero(ids == row)[0], column_drawn] == z[row, column]
    assert np.count_nonzero(np.abs(shown) > 2.5) == 10
    display.figure_.canvas.draw()
    # A column is wide enough to be seen: two dots of a screen or more.
    box = display.ax_.get_window_extent()
    assert box.width / len(display.columns_) >= 2
    # All bins are of the same width: where a cell is drawn is where its column is.
    left, right = display.image_.get_extent()[:2]
    wide = (right - left) / len(display.columns_)
    np.testing.assert_allclose(
        left + wide * np.arange(len(display.columns_)), display.columns_ - 0.5
    )
    assert display.ax_.get_xlim() == (-0.5, d - 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 7, 30, 200, 1000])
@pytest.mark.parametrize("name", ["x{}", "a long name, number {}"])
def test_names_of_columns_and_rows_do_not_hide_each_other(d, name):
    z = np.random.default_rng(0).standard_normal((300, d))
    ids = [f"sample {i}" for i in range(300)]
    names = [name.format(j) for j in range(d)]
    display = CellMapDisplay.from_predictions(
        z, flagged=np.arange(300) < 50, feature_names=names, ids=ids
    )
    figure = display.figure_
    figure.canvas.draw()
    for texts in (display.ax_.get_xticklabels(), display.ax_.get_yticklabels()):
        boxes = [text.get_window_extent() for text in texts]
        seen = [box.padded(-1) for box in boxes]
        assert not any(a.overlaps(b) for a, b in pairwise(seen))
        assert all(figure.bbox.padded(1).contains(*box.p0) for box in boxes)
    shown = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert 1 <= len(shown) <= d
    assert len(shown) >= min(d, 8)
    if d <= 30:
        assert len(shown) == d
        assert len(set(shown)) == d  # cut in the middle, so that they still differ
    assert len(display.ax_.get_yticklabels()) == len(display.ids)


def test_many_columns_are_said_to_share_one():
    display = CellMapDisplay.from_predictions(np.zeros((5, 1000)), max_columns=100)
    assert len(display.columns_) == 100
    said = display.ax_.get_xlabel()
    assert said == "1,000 features, 10 to a column, each coloured by its farthest cell"
    assert CellMapDisplay.from_predictions(np.zeros((5, 30))).ax_.get_xlabel() == "features"


def test_labels_are_thinned_in_small_axes():
    figure, ax = plt.subplots(figsize=(3, 2))
    z = np.random.default_rng(0).standard_normal((200, 300))
    display = CellMapDisplay.from_predictions(z, flagged=np.arange(200) < 50, ax=ax)
    figure.canvas.draw()
    for texts in (ax.get_xticklabels(), ax.get_yticklabels()):
        boxes = [text.get_window_extent().padded(-1) for text in texts]
        assert not any(a.overlaps(b) for a, b in pairwise(boxes))
    assert len(display.columns_) < 100


def test_bins_of_columns():
    np.testing.assert_array_equal(first_columns(7, 100), np.arange(7))
    np.testing.assert_array_equal(first_columns(7, 3), [0, 3, 6])
    np.testing.assert_array_equal(first_columns(7, 0), [0])
    z = np.array([[1.0, -2.0, np.nan, np.nan, np.nan, 3.0, -3.0]])
    np.testing.assert_array_equal(farthest_within(z, first_columns(7, 4)), [[-2, np.nan, 3, -3]])
    assert [every(10.0, there) for there in (10.0, 4.0, 1.1, 0.1)] == [1, 5, 10, 100]


# ---- other input ---------------------------------------------------------------------------------


def test_residuals_of_any_size_are_drawn():
    z = np.array([[np.inf, -np.inf, 1e300, 0.0], [0.0, 0.0, 0.0, 0.0]])
    display = CellMapDisplay.from_predictions(z, flagged=[True, False])
    np.testing.assert_array_equal(np.asarray(image(display))[0], [9, -9, 9, 0])
    assert not np.any(np.ma.getmaskarray(image(display)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sparse", "dask", "torch", "polars", "float32", "missing"])
def test_rows_of_other_kinds(kind, rows):
    X = np.array(rows[0])
    if kind == "sparse":
        from scipy.sparse import csr_array

        X = csr_array(X)
    elif kind == "dask":
        X = pytest.importorskip("dask.array").from_array(X, chunks=(100, 8))
    elif kind == "torch":
        X = pytest.importorskip("torch").asarray(X)
    elif kind == "polars":
        X = pytest.importorskip("polars").DataFrame(X, schema=[f"f{j}" for j in range(8)])
    elif kind == "missing":
        X[rows[1], 0] = -999.0
    else:
        X = X.astype(np.float32)
    fitted = OutlierRobustPCA(3, missing_values=-999 if kind == "missing" else None).fit(X)
    # Only now: the fit with bad cells takes longer, and is tested elsewhere.
    fitted.set_params(cells=kind != "sparse")
    display = CellMapDisplay.from_estimator(fitted, X)
    at = list(display.ids).index(rows[1])
    assert np.nanargmax(np.abs(display.residuals[at])) == 4
    assert np.isnan(display.residuals[at, 0]) == (kind == "missing")
    assert display.names[4] == ("f4" if kind == "polars" else "x4")


def test_rows_with_too_few_cells_are_not_among_the_flagged(judged, table):
    X = np.array(table)
    X[7, 1:] = np.nan
    assert judged.outlier_types(X)[7] == "unknown"
    display = CellMapDisplay.from_estimator(judged, X, max_rows=400)
    assert 7 not in display.ids[display.groups == "flagged"]


def test_names_are_written_as_they_are():
    names = ["$x^2$", "a\nb", "<b>", "_hidden"]
    display = CellMapDisplay.from_predictions(
        np.zeros((2, 4)), feature_names=names, ids=["$1$", "$2"]
    )
    display.figure_.canvas.draw()
    ticks = display.ax_.get_xticklabels()
    assert [tick.get_text() for tick in ticks] == ["$x^2$", "a b", "<b>", "_hidden"]
    assert not any(tick.get_parse_math() for tick in ticks)
    assert not any(tick.get_parse_math() for tick in display.ax_.get_yticklabels())


def test_an_estimator_that_does_not_judge_cells_is_refused(rows):
    fitted = TORP(3, rho=0.15).fit(rows[0])
    with pytest.raises(TypeError, match="TORP does not judge single cells: give a fitted Outlier"):
        CellMapDisplay.from_estimator(fitted, rows[0])


def test_a_display_made_by_hand():
    display = CellMapDisplay(
        residuals=np.zeros((2, 3)), groups=["flagged", "other"], names=list("abc"), ids=["r", "s"]
    ).plot()
    assert display.ax_.get_title(loc="left") == "top: 1 flagged row\nbottom: 1 other row"
    assert isinstance(display.image_, matplotlib.image.AxesImage)
