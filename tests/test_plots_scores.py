"""Plots of scores: coordinates, the limit's ellipse, ordinary PCA beside them."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tests import _plots
from tests._plots import drawn, sorted_rows
from tests._shared import coinciding_rows
from torpca import OutlierRobustPCA
from torpca.plots import OutlierMapDisplay, ScoresDisplay

# Fixtures: pytest looks for them by these names.
_close_figures = _plots._close_figures
rows = _plots.rows
model = _plots.model
any_model = _plots.any_model


def test_scores_are_those_of_transform(any_model, rows):
    display = ScoresDisplay.from_estimator(any_model, rows[0], components=(1, 3))
    Y, types = any_model.transform(rows[0]), any_model.outlier_types(rows[0])
    for kind, artist in display.points_.items():
        np.testing.assert_array_equal(artist.get_offsets(), Y[types == kind][:, [0, 2]])
    share = any_model.explained_variance_ratio_[2]
    assert display.ax_.get_ylabel().startswith("component 3 (")
    assert float(display.ax_.get_ylabel().split("(")[1].split("%")[0]) == pytest.approx(
        100 * share, abs=0.5
    )


@pytest.mark.parametrize("whiten", [False, True])
def test_ellipse_is_where_the_score_distance_is_at_its_limit(whiten, rows):
    fitted = OutlierRobustPCA(2, whiten=whiten).fit(rows[0])
    display = ScoresDisplay.from_estimator(fitted, rows[0])
    on_it = np.column_stack(display.ellipse_.get_data())
    distances = fitted.distances(fitted.inverse_transform(on_it)).score
    np.testing.assert_allclose(distances, fitted.cutoffs_["score"], rtol=1e-9)


def test_rows_within_the_score_limit_are_inside_the_ellipse_of_any_two_components(model, rows):
    score = model.distances(rows[0]).score
    within = score <= model.cutoffs_["score"]
    for pair in [(1, 2), (1, 3), (2, 3)]:
        display = ScoresDisplay.from_estimator(model, rows[0], components=pair)
        x, y = display.ellipse_.get_data()
        Y = model.transform(rows[0])[:, [c - 1 for c in pair]] / [np.max(x), np.max(y)]
        assert (np.linalg.norm(Y[within], axis=1) <= 1).all()


def test_scores_of_ordinary_pca_are_drawn_beside_ours(rows):
    fitted = OutlierRobustPCA(2).fit(rows[0])
    display = ScoresDisplay.from_estimator(fitted, rows[0], plain=True)
    pca = PCA(2).fit(rows[0])
    types = fitted.outlier_type_
    assert display.plain_ax_.get_title(loc="left") == "ordinary PCA"
    assert display.plain_ax_.get_position().x1 < display.ax_.get_position().x0
    for kind, artist in display.plain_points_.items():
        expected = pca.transform(rows[0])[types == kind]
        np.testing.assert_allclose(np.abs(artist.get_offsets()), np.abs(expected), atol=1e-8)
    reach = np.max(display.plain_ellipse_.get_xdata())
    n = len(rows[0])
    deviation = np.sqrt(pca.explained_variance_[0] * (n - 1) / n)
    assert reach == pytest.approx(fitted.cutoffs_["score"] * deviation, rel=1e-3)


def test_alike_directions_of_ordinary_pca_point_the_same_way():
    X = np.random.default_rng(0).standard_normal((300, 5)) * [5, 3, 0.1, 0.1, 0.1]
    display = ScoresDisplay.from_estimator(OutlierRobustPCA(2).fit(X), X, plain=True)
    for j in range(2):
        assert np.corrcoef(display.scores[:, j], display.plain_scores[:, j])[0, 1] > 0.99


def test_one_component_is_drawn_against_the_orthogonal_distance(rows):
    X = rows[0]
    fitted = OutlierRobustPCA(1).fit(X)
    display = ScoresDisplay.from_estimator(fitted, X, plain=True, scale="linear")
    expected = np.column_stack([fitted.transform(X)[:, 0], fitted.distances(X).orthogonal])
    np.testing.assert_allclose(sorted_rows(drawn(display.points_)), sorted_rows(expected))
    assert display.ax_.get_ylabel() == "orthogonal distance (columns not scaled)"
    reach = fitted.cutoffs_["score"] * np.sqrt(fitted.explained_variance_[0])
    np.testing.assert_allclose(display.ellipse_.get_xdata(), reach)
    pca = PCA(1).fit(X)
    off = np.linalg.norm(X - pca.inverse_transform(pca.transform(X)), axis=1)
    np.testing.assert_allclose(np.sort(drawn(display.plain_points_)[:, 1]), np.sort(off))


@pytest.mark.parametrize("options", [{}, {"scale": True}], ids=["plain", "scaled"])
def test_ordinary_pca_beside_a_constant_far_from_zero(rows, options):
    X = np.tile(rows[0], (3, 1))
    far, near = (np.column_stack([X, np.full(len(X), c)]) for c in (1e14 / 3, 0.0))
    displays = [
        ScoresDisplay.from_estimator(OutlierRobustPCA(1, **options).fit(Z), Z, plain=True)
        for Z in (far, near)
    ]
    for name in ("plain_orthogonal_distances", "plain_scores", "plain_explained"):
        found, expected = (getattr(display, name) for display in displays)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_scores_far_outside_stretch_the_axis_about_zero():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((100, 2))
    Y[0] = [1e4, 0.0]
    types = np.array(["good leverage"] + ["regular"] * 99)
    display = ScoresDisplay.from_predictions(Y, types=types, deviations=[1, 1], limit=3.0)
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("symlog", "linear")
    assert "logarithmic beyond the limit" in display.ax_.get_xlabel()
    # Within the limit the axis is plain, and takes a good part of the width.
    to_screen = display.ax_.transData.transform
    places = to_screen([[-3, 0], [0, 0], [3, 0]])[:, 0]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1])
    assert places[2] - places[0] > 0.25 * display.ax_.get_window_extent().width
    display = ScoresDisplay.from_predictions(
        Y, types=types, deviations=[1, 1], limit=3.0, scale="linear"
    )
    assert display.ax_.get_xscale() == "linear"
    np.testing.assert_array_equal(sorted_rows(drawn(display.points_)), sorted_rows(Y))


def test_scores_of_rows_of_lower_rank_for_ordinary_pca():
    X = np.zeros((30, 4))
    X[:, :2] = np.random.default_rng(0).standard_normal((30, 2))
    fitted = OutlierRobustPCA(2).fit(np.random.default_rng(1).standard_normal((60, 4)))
    display = ScoresDisplay.from_estimator(fitted, np.repeat(X[:1], 3, axis=0), plain=True)
    np.testing.assert_allclose(display.plain_scores, 0.0, atol=1e-12)
    assert display.plain_scores.shape == (3, 2)


def test_rows_that_coincide_have_a_map_and_no_scores():
    X, bad = coinciding_rows()
    with pytest.warns(RuntimeWarning, match="half of the rows are equal"):
        fitted = OutlierRobustPCA().fit(X)
    display = OutlierMapDisplay.from_estimator(fitted, X)
    assert len(display.points_["orthogonal"].get_offsets()) == len(bad)
    display.figure_.canvas.draw()
    with pytest.raises(ValueError, match="found no component, as the good rows are all the same"):
        ScoresDisplay.from_estimator(fitted, X)
