"""The outlier map: each row at its distances, limits at the cutoffs, axes that show all."""

import numpy as np
import pytest

from tests import _plots
from tests._plots import KINDS, drawn, sorted_rows, to_rgb
from torpca import TORP, OutlierRobustPCA
from torpca.datasets import make_outlier_subspace
from torpca.plots import OutlierMapDisplay, ScoresDisplay
from torpca.plots._rows import LOOKS

# Fixtures: pytest looks for them by these names.
_close_figures = _plots._close_figures
rows = _plots.rows
model = _plots.model
any_model = _plots.any_model


def test_map_draws_each_row_at_its_distances_with_the_look_of_its_kind(any_model, rows):
    display = OutlierMapDisplay.from_estimator(any_model, rows[0], scale="linear")
    score, orthogonal = any_model.distances(rows[0])
    types = any_model.outlier_types(rows[0])
    assert set(display.points_) == set(types)
    for kind, artist in display.points_.items():
        expected = np.column_stack([score, orthogonal])[types == kind]
        np.testing.assert_array_equal(artist.get_offsets(), expected)
        np.testing.assert_allclose(artist.get_facecolor()[0, :3], to_rgb(LOOKS[kind].color))
    assert display.figure_ is display.ax_.figure


def test_map_limits_are_drawn_at_the_cutoffs_and_named(any_model, rows):
    display = OutlierMapDisplay.from_estimator(any_model, rows[0])
    cutoffs = any_model.cutoffs_
    np.testing.assert_array_equal(display.limit_lines_["score"].get_xdata(), cutoffs["score"])
    np.testing.assert_array_equal(
        display.limit_lines_["orthogonal"].get_ydata(), cutoffs["orthogonal"]
    )
    for name, label in display.limit_labels_.items():
        assert label.get_text() == f"{name} limit {cutoffs[name]:.3g}"


def test_map_limits_part_the_kinds_also_for_a_given_contamination(rows):
    model = OutlierRobustPCA(contamination=0.3).fit(rows[0])
    display = OutlierMapDisplay.from_estimator(model, scale="linear")
    x = display.limit_lines_["score"].get_xdata()[0]
    y = display.limit_lines_["orthogonal"].get_ydata()[0]
    assert x != pytest.approx(model.cutoffs_["score"])
    for kind, artist in display.points_.items():
        places = np.asarray(artist.get_offsets())
        assert ((places[:, 0] > x) == (kind in ("good leverage", "bad leverage"))).all()
        assert ((places[:, 1] > y) == (kind in ("orthogonal", "bad leverage"))).all()


def test_map_of_the_training_rows_needs_no_rows(model, rows):
    without = OutlierMapDisplay.from_estimator(model)
    given = OutlierMapDisplay.from_estimator(model, rows[0])
    np.testing.assert_allclose(
        sorted_rows(drawn(without.points_)), sorted_rows(drawn(given.points_)), rtol=1e-6
    )


def test_map_of_new_rows_keeps_the_limits_of_the_fit(model, rows):
    new = rows[0][:50] + 0.01
    display = OutlierMapDisplay.from_estimator(model, new, scale="linear")
    expected = np.column_stack(model.distances(new))
    np.testing.assert_array_equal(sorted_rows(drawn(display.points_)), sorted_rows(expected))
    assert display.limits == model.cutoffs_


def test_map_from_predictions_agrees_with_that_of_the_estimator(model, rows):
    score, orthogonal = model.distances(rows[0])
    display = OutlierMapDisplay.from_predictions(score, orthogonal, cutoffs=model.cutoffs_)
    np.testing.assert_array_equal(display.types, model.outlier_types(rows[0]))
    assert set(display.points_) == set(KINDS)


def test_map_axes_are_logarithmic_when_distances_span_decades():
    far = np.array([1.0, 2.0, 1e3])
    near = np.array([1.0, 2.0, 3.5])
    limits = {"score": 3.0, "orthogonal": 3.0}
    display = OutlierMapDisplay.from_predictions(far, near, cutoffs=limits)
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "linear")
    assert display.ax_.get_ylim()[0] == 0.0
    display = OutlierMapDisplay.from_predictions(near, far, cutoffs=limits)
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("linear", "log")


def test_map_shows_all_rows_on_a_logarithmic_axis_also_those_at_zero():
    score = np.array([0.0, 1e-9, 0.5, 1.0, 1e6])
    display = OutlierMapDisplay.from_predictions(
        score, np.ones(5), cutoffs={"score": 3.0, "orthogonal": 2.0}
    )
    places = drawn(display.points_)
    low, high = display.ax_.get_xlim()
    assert len(places) == 5
    assert (places[:, 0] > low).all()
    assert (places[:, 0] < high).all()
    np.testing.assert_array_equal(np.sort(places[:, 0])[2:], [0.5, 1.0, 1e6])


@pytest.mark.parametrize("scale", ["auto", "linear", "log"])
def test_map_of_distances_and_limits_that_are_all_zero(scale):
    display = OutlierMapDisplay.from_predictions(
        np.zeros(4), np.zeros(4), cutoffs={"score": 0.0, "orthogonal": 0.0}, scale=scale
    )
    display.figure_.canvas.draw()
    np.testing.assert_array_equal(drawn(display.points_), np.zeros((4, 2)))


def test_map_of_rows_without_noise_draws_good_and_bad_apart():
    made = make_outlier_subspace(200, 10, 2, 0.05, outliers="line", random_state=0)
    model = TORP(2, rho=0.06).fit(made.X)
    display = OutlierMapDisplay.from_estimator(model, made.X)
    display.figure_.canvas.draw()
    assert display.ax_.get_yscale() == "log"
    line = display.limit_lines_["orthogonal"].get_ydata()[0]
    low, high = display.ax_.get_ylim()
    assert low < line < high
    above = [points.get_offsets()[:, 1] > line for points in display.points_.values()]
    assert sum(map(np.count_nonzero, above)) == np.count_nonzero(made.outliers)
    assert not above[list(display.points_).index("regular")].any()


def test_axes_say_whether_columns_were_scaled(rows):
    for scale, said in ((True, "columns scaled"), (False, "columns not scaled")):
        fitted = OutlierRobustPCA(2, scale=scale).fit(rows[0])
        drawn = OutlierMapDisplay.from_estimator(fitted)
        assert drawn.ax_.get_ylabel() == f"orthogonal distance ({said})"
        assert f"%, {said})" in ScoresDisplay.from_estimator(fitted, rows[0]).ax_.get_xlabel()
