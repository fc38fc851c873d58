"""Pictures: what is drawn is what the fit says, where it says it."""

import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests._shared import coinciding_rows
from torpca import TORP, GaussianTORP, NoisyTORP, OutlierRobustPCA
from torpca._answer import signed_shares
from torpca.datasets import make_outlier_subspace
from torpca.plots import ContributionsDisplay, OutlierMapDisplay, ScoresDisplay, ScreeDisplay
from torpca.plots._row_labels import label_points
from torpca.plots._rows import LOOKS, rows_to_draw

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
to_rgb = pytest.importorskip("matplotlib.colors").to_rgb

KINDS = ["regular", "good leverage", "orthogonal", "bad leverage"]
DISPLAYS = [OutlierMapDisplay, ScreeDisplay, ScoresDisplay, ContributionsDisplay]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    """Rows of rank 3 with outliers of all kinds, and one with a known bad feature."""
    made = make_outlier_subspace(400, 8, 3, 0.1, noise=0.02, mean=1.0, random_state=0)
    X = made.X.copy()
    good = np.flatnonzero(~made.outliers)
    centre = X[good].mean(axis=0)
    X[good[:5]] = centre + 8 * (X[good[:5]] - centre)  # far out inside: good leverage
    X[good[5], 4] += 6.0
    X.flags.writeable = False
    return X, int(good[5])


@pytest.fixture(scope="module")
def model(rows):
    return OutlierRobustPCA().fit(rows[0])


@pytest.fixture(scope="module")
def frame(rows):
    pd = pytest.importorskip("pandas")
    X = rows[0]
    columns = [f"feature {j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=columns, index=[f"s{i}" for i in range(len(X))])


@pytest.fixture(scope="module", params=["OutlierRobustPCA", "TORP", "NoisyTORP", "GaussianTORP"])
def any_model(request, rows):
    kinds = {
        "OutlierRobustPCA": OutlierRobustPCA(),
        "TORP": TORP(3, rho=0.15),
        "NoisyTORP": NoisyTORP(3, rho=0.1, eta=50.0),
        "GaussianTORP": GaussianTORP(3, sigma=0.02),
    }
    return kinds[request.param].fit(rows[0])


def drawn(points):
    """All points of the artists, as rows of two numbers."""
    return np.vstack([np.asarray(artist.get_offsets()) for artist in points.values()])


def sorted_rows(array):
    return array[np.lexsort(array.T)]


# ---- outlier map ---------------------------------------------------------------------------------


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


def test_flagged_rows_are_on_top_and_the_worst_on_top_of_these(model, rows):
    points = OutlierMapDisplay.from_estimator(model, rows[0]).points_
    orders = [points[kind].get_zorder() for kind in KINDS]
    assert orders == sorted(set(orders))


def test_the_most_extreme_rows_are_labelled_with_their_ids(frame, model, rows):
    fitted = OutlierRobustPCA().fit(frame)
    display = OutlierMapDisplay.from_estimator(fitted, frame, n_labels=3)
    worst = np.argsort(fitted.score_samples(frame))[:3]
    assert [text.get_text() for text in display.row_labels_] == [f"s{i}" for i in worst]
    display = OutlierMapDisplay.from_estimator(model, rows[0], n_labels=3)
    assert [text.get_text() for text in display.row_labels_] == [f"{i}" for i in worst]
    at = np.column_stack([display.score_distances, display.orthogonal_distances])[worst]
    np.testing.assert_array_equal([text.xy for text in display.row_labels_], at)
    ids = [f"own {i}" for i in range(len(rows[0]))]
    display = OutlierMapDisplay.from_estimator(model, rows[0], ids=ids, n_labels=1)
    assert display.row_labels_[0].get_text() == f"own {worst[0]}"
    assert OutlierMapDisplay.from_estimator(model, n_labels=0).row_labels_ == ()


def test_labels_do_not_hide_each_other_and_stay_inside():
    rng = np.random.default_rng(0)
    _, ax = plt.subplots()
    x, y = rng.uniform(size=(2, 60))
    x[:20], y[:20] = 0.9 + 0.01 * x[:20], 0.9 + 0.01 * y[:20]
    ax.scatter(x, y)
    texts = label_points(ax, x, y, [f"row {i}" for i in range(60)], (x, y))
    assert 30 <= len(texts) <= 60
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    # The text alone, without the line that leads to it.
    boxes = [matplotlib.text.Text.get_window_extent(text, renderer) for text in texts]
    frame = ax.get_window_extent(renderer).padded(3)
    for i, box in enumerate(boxes):
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        # The box of a text has room for letters with tails; what is seen is a little less.
        seen = box.padded(-2)
        assert not any(seen.overlaps(other.padded(-2)) for other in boxes[:i])


def test_regular_rows_past_the_most_are_sampled_and_no_flagged_one_is(model, rows):
    types = model.outlier_type_
    chosen = rows_to_draw(types, 30)
    assert len(chosen["regular"]) == 30
    assert (types[chosen["regular"]] == "regular").all()
    for kind in KINDS[1:]:
        np.testing.assert_array_equal(chosen[kind], np.flatnonzero(types == kind))
    for kind in KINDS:  # the same each time
        np.testing.assert_array_equal(chosen[kind], rows_to_draw(types, 30)[kind])
    display = OutlierMapDisplay.from_estimator(model, rows[0], max_regular=30, scale="linear")
    np.testing.assert_array_equal(
        display.points_["regular"].get_offsets()[:, 0],
        display.score_distances[chosen["regular"]],
    )
    texts = [text.get_text() for text in display.legend_.get_texts()]
    n = np.count_nonzero(types == "regular")
    assert texts[0] == f"regular (30 of {n:,} drawn)"
    assert texts[1] == f"good leverage ({np.count_nonzero(types == 'good leverage')})"


def test_a_quarter_of_a_million_rows_are_drawn_as_twenty_thousand():
    rng = np.random.default_rng(0)
    score = np.abs(rng.standard_normal(250_000))
    display = OutlierMapDisplay.from_predictions(
        score, score, cutoffs={"score": 4.0, "orthogonal": 4.0}
    )
    assert len(display.points_["regular"].get_offsets()) == 20_000
    flagged = np.count_nonzero(score > 4.0)
    assert len(display.points_["bad leverage"].get_offsets()) == flagged > 0


@pytest.mark.parametrize("display", [OutlierMapDisplay, ScoresDisplay])
def test_legends_are_outside_of_the_data_and_inside_the_figure(display, model, rows):
    shown = display.from_estimator(model, rows[0])
    shown.figure_.canvas.draw()
    legend = shown.legend_.get_window_extent()
    assert not legend.overlaps(shown.ax_.get_window_extent())
    assert shown.figure_.bbox.padded(1).contains(legend.x1, legend.y1)
    assert display.from_estimator(model, rows[0], legend=False).legend_ is None


# Machado, Oliveira and Fernandes (2009), severity 1: what each eye sees of linear RGB.
EYES = {
    "all cones": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lightness_and_hue(rgb):
    """CIE L*a*b* of linear RGB."""
    xyz = np.clip(rgb, 0, 1) @ np.array(
        [[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]]
    )
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", EYES)
def test_kinds_are_told_apart_by_colour_for_everyone_and_by_marker(eye):
    colors = [((np.array(to_rgb(look.color)) + 0.055) / 1.055) ** 2.4 for look in LOOKS.values()]
    seen = [lightness_and_hue(color @ np.transpose(EYES[eye])) for color in colors]
    for i, one in enumerate(seen):
        for other in seen[:i]:
            assert np.linalg.norm(one - other) > 20  # 2 can just be told apart side by side
    assert len({look.marker for look in LOOKS.values()}) == len(KINDS)


# ---- scree ---------------------------------------------------------------------------------------


def test_scree_draws_the_variances_and_marks_the_rank_and_the_rule(model):
    display = ScreeDisplay.from_estimator(model)
    choice = model.rank_
    m = len(choice.variances)
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(1, m + 1))
    np.testing.assert_array_equal(display.line_.get_ydata(), choice.variances)
    np.testing.assert_array_equal(display.chosen_.get_ydata(), choice.variances[: choice.rank])
    np.testing.assert_array_equal(display.rank_line_.get_xdata(), choice.rank + 0.5)
    drop = f"where the variance drops {choice.gap:,.0f} times"
    assert display.reason_.get_text().startswith(f"{choice.rank} components, {drop}")
    assert display.plain_line_ is None
    assert display.ax_.get_yscale() == "log"


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}])
def test_scree_of_ordinary_pca_is_that_of_scikit_learn(options, rows):
    X = rows[0]
    fitted = OutlierRobustPCA(3, **options).fit(X)
    display = ScreeDisplay.from_estimator(fitted, X, plain=True)
    Z = X if fitted.scale_ is None else X / fitted.scale_
    if fitted.center:
        expected = PCA().fit(Z).explained_variance_ratio_
    else:
        expected = np.linalg.svd(Z, compute_uv=False) ** 2 / np.sum(Z**2)
    np.testing.assert_allclose(display.plain_line_.get_ydata(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("n_components", "words"),
    [(2, "2 components, as asked for; they explain"), (0.5, "1 component, explaining ")],
)
def test_scree_says_why(n_components, words, rows):
    fitted = OutlierRobustPCA(n_components).fit(rows[0])
    text = ScreeDisplay.from_estimator(fitted).reason_.get_text()
    assert text.startswith(words)


def test_scree_of_the_other_estimators_has_the_variances_of_their_components(any_model):
    display = ScreeDisplay.from_estimator(any_model)
    k = any_model.n_components_
    np.testing.assert_allclose(
        display.line_.get_ydata()[:k], any_model.explained_variance_ratio_, rtol=0.2
    )
    assert display.rank == k
    assert display.reason_.get_text().startswith(f"{k} component")


def test_scree_from_predictions_and_its_scale():
    display = ScreeDisplay.from_predictions([0.5, 0.3, 0.2], rank=1, plain_variances=[0.9, 0.1])
    assert display.ax_.get_yscale() == "linear"
    np.testing.assert_array_equal(display.plain_line_.get_ydata(), [0.9, 0.1])
    display = ScreeDisplay.from_predictions([0.6, 0.4, 1e-4, 0.0], rank=2, rule="gap")
    assert display.ax_.get_yscale() == "log"
    np.testing.assert_array_equal(display.line_.get_ydata(), [0.6, 0.4, 1e-4])
    assert "drops 4,000 times" in display.reason_.get_text()


def test_scree_draws_as_many_directions_as_asked_for():
    shares = 0.9 ** np.arange(60)
    assert len(ScreeDisplay.from_predictions(shares, rank=3).line_.get_xdata()) == 20
    assert len(ScreeDisplay.from_predictions(shares, rank=15).line_.get_xdata()) == 30
    few = ScreeDisplay.from_predictions(shares, rank=3, n_directions=5)
    assert len(few.line_.get_xdata()) == 5


# ---- scores --------------------------------------------------------------------------------------


def test_scores_are_those_of_transform(any_model, rows):
    display = ScoresDisplay.from_estimator(any_model, rows[0], components=(1, 3))
    Y, types = any_model.transform(rows[0]), any_model.outlier_types(rows[0])
    for kind, artist in display.points_.items():
        np.testing.assert_array_equal(artist.get_offsets(), Y[types == kind][:, [0, 2]])
    share = any_model.explained_variance_ratio_[2]
    assert display.ax_.get_ylabel().startswith("component 3 (")
    assert float(display.ax_.get_ylabel().split("(")[1].split()[0]) == pytest.approx(
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
    assert display.ax_.get_ylabel() == "orthogonal distance"
    reach = fitted.cutoffs_["score"] * np.sqrt(fitted.explained_variance_[0])
    np.testing.assert_allclose(display.ellipse_.get_xdata(), reach)
    pca = PCA(1).fit(X)
    off = np.linalg.norm(X - pca.inverse_transform(pca.transform(X)), axis=1)
    np.testing.assert_allclose(np.sort(drawn(display.plain_points_)[:, 1]), np.sort(off))


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
    fitted = OutlierRobustPCA().fit(X)
    display = OutlierMapDisplay.from_estimator(fitted, X)
    assert len(display.points_["orthogonal"].get_offsets()) == len(bad)
    display.figure_.canvas.draw()
    with pytest.raises(ValueError, match="found no component, as the good rows are all the same"):
        ScoresDisplay.from_estimator(fitted, X)


# ---- contributions -------------------------------------------------------------------------------


def test_bars_are_the_shares_of_the_features_largest_on_top(any_model, rows):
    X, bad = rows
    display = ContributionsDisplay.from_estimator(
        any_model, X, rows=bad, distance="orthogonal", n_features=5
    )
    parts = any_model.contributions(X[[bad]]).orthogonal[0]
    shares = parts / np.sum(parts)
    order = np.argsort(-shares)[:5]
    (bars,) = display.bars_
    np.testing.assert_array_equal(display.features_, order)
    np.testing.assert_allclose([abs(bar.get_width()) for bar in bars], shares[order], rtol=1e-6)
    heights = [bar.get_y() for bar in bars]
    assert heights == sorted(heights)
    assert display.ax_.yaxis_inverted()
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert names == [f"x{j}" for j in order]
    assert display.features_[0] == 4
    assert bars[0].get_width() > 0  # it was made larger
    assert f"3 other features have {100 * (1 - shares[order].sum()):.1f}"[:22] in (
        display.ax_.get_xlabel()
    )


def test_a_feature_that_is_too_small_goes_to_the_left(model, rows):
    X = np.array(rows[0][model.outlier_type_ == "regular"][:1])
    X[0, 6] -= 5.0
    display = ContributionsDisplay.from_estimator(model, X)
    assert display.features_[0] == 6
    assert display.bars_[0][0].get_width() < 0


def test_bars_are_what_the_report_tells(model, rows):
    X = rows[0]
    flagged = np.argsort(model.score_samples(X))[:5]
    display = ContributionsDisplay.from_estimator(model, X, rows=flagged, n_features=8)
    np.testing.assert_allclose(display.shares, signed_shares(model, X[flagged]), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}, {"whiten": True}])
@pytest.mark.parametrize("distance", ["score", "orthogonal"])
def test_shares_are_those_of_contributions(options, distance, rows):
    fitted = OutlierRobustPCA(3, **options).fit(rows[0])
    display = ContributionsDisplay.from_estimator(
        fitted, rows[0], rows=[1, rows[1]], distance=distance
    )
    parts = getattr(fitted.contributions(rows[0][[1, rows[1]]]), distance)
    shares = parts / np.sum(parts, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(display.shares), shares, rtol=1e-6, atol=1e-9)


def test_the_most_extreme_row_is_explained_by_default(model, rows):
    display = ContributionsDisplay.from_estimator(model, rows[0])
    worst = int(np.argmin(model.score_samples(rows[0])))
    assert list(display.ids) == [worst]
    title = display.ax_.get_title(loc="left")
    times = -model.score_samples(rows[0])[worst]
    assert title.startswith(f"row {worst}: ")
    assert f"distance {times:,.0f} times its limit" in title


def test_several_rows_have_bars_of_their_own(frame):
    fitted = OutlierRobustPCA().fit(frame)
    labels = ["s3", "s10", "s7"]
    display = ContributionsDisplay.from_estimator(fitted, frame, rows=labels, n_features=4)
    assert len(display.bars_) == 3
    assert [text.get_text().split(":")[0] for text in display.legend_.get_texts()] == [
        f"row {label}" for label in labels
    ]
    for row, bars in enumerate(display.bars_):
        widths = [bar.get_width() for bar in bars]
        np.testing.assert_array_equal(widths, display.shares[row, display.features_])
    looks = {(bars[0].get_facecolor(), bars[0].get_hatch()) for bars in display.bars_}
    assert len(looks) == 3
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert names == [f"feature {j}" for j in display.features_]


def test_contributions_from_predictions(model, rows):
    parts = model.contributions(rows[0][:2]).orthogonal
    display = ContributionsDisplay.from_predictions(parts, feature_names=list("abcdefgh"))
    np.testing.assert_allclose(display.shares, parts / parts.sum(axis=1, keepdims=True))
    one = ContributionsDisplay.from_predictions([1.0, -3.0], ids=["r"])
    np.testing.assert_array_equal(one.shares, [[0.25, -0.75]])
    assert one.ax_.get_title(loc="left") == "row r"
    assert [text.get_text() for text in one.value_labels_] == ["75 %", "25 %"]
    nothing = ContributionsDisplay.from_predictions([0.0, 0.0])
    nothing.figure_.canvas.draw()


def test_names_are_written_as_they_are():
    names = ["$x^2$", "a\nb", "<b>", "_hidden", "long " * 20]
    display = ContributionsDisplay.from_predictions(
        [[5, 4, 3, 2, 1], [5, 4, 3, 2, 1]], feature_names=names, ids=["$1$", "$2"]
    )
    display.figure_.canvas.draw()
    ticks = display.ax_.get_yticklabels()
    assert [tick.get_text() for tick in ticks[:4]] == ["$x^2$", "a b", "<b>", "_hidden"]
    assert not any(tick.get_parse_math() for tick in ticks)
    assert len(ticks[4].get_text()) <= 32
    texts = display.legend_.get_texts()
    assert [text.get_text() for text in texts] == ["row $1$", "row $2"]
    assert not any(text.get_parse_math() for text in texts)


# ---- what all share ------------------------------------------------------------------------------


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_draws_where_it_is_told_and_again_elsewhere(display, model, rows):
    figure, (left, right) = plt.subplots(1, 2)
    shown = display.from_estimator(model, rows[0], ax=left)
    assert shown.ax_ is left
    assert shown.figure_ is figure
    assert not right.has_data()
    again = shown.plot(right)
    assert again is shown
    assert shown.ax_ is right
    assert right.has_data()
    new = shown.plot()
    assert new.figure_ is not figure


@pytest.mark.parametrize("display", DISPLAYS)
def test_every_picture_can_be_saved(display, model, rows, tmp_path):
    shown = display.from_estimator(model, rows[0])
    for kind in ("png", "pdf", "svg"):
        shown.figure_.savefig(tmp_path / f"picture.{kind}")
        assert (tmp_path / f"picture.{kind}").stat().st_size > 1000


@pytest.mark.parametrize("display", DISPLAYS)
def test_an_estimator_that_is_not_fitted_is_refused(display, rows):
    with pytest.raises(NotFittedError, match=r"OutlierRobustPCA is not fitted, so call fit\(X\)"):
        display.from_estimator(OutlierRobustPCA(), rows[0])


@pytest.mark.parametrize("display", [OutlierMapDisplay, ScoresDisplay, ContributionsDisplay])
def test_rows_with_other_features_are_refused(display, model, rows):
    with pytest.raises(ValueError, match="X has 5 features, but OutlierRobustPCA is expecting 8"):
        display.from_estimator(model, rows[0][:, :5])
    with pytest.raises(ValueError, match="X has 5 features"):
        ScreeDisplay.from_estimator(model, rows[0][:, :5], plain=True)


@pytest.mark.parametrize("display", DISPLAYS)
def test_other_estimators_are_refused(display, rows):
    with pytest.raises(TypeError, match="PCA is no estimator of torpca: give a fitted Outlier"):
        display.from_estimator(PCA(2).fit(rows[0]), rows[0])


@pytest.mark.parametrize("components", [(0, 1), (1, 4), (1, 2, 3), 2, ("a", "b"), ()])
def test_unknown_components_are_refused(components, model, rows):
    with pytest.raises(ValueError, match=r"counted from 1, and there are 1 to 3\.$"):
        ScoresDisplay.from_estimator(model, rows[0], components=components)


MAP = {"cutoffs": {"score": 1.0, "orthogonal": 1.0}}
SCORES = {"types": ["regular"] * 2, "deviations": [1.0, 1.0], "limit": 3.0}
Y = np.zeros((2, 2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: OutlierMapDisplay.from_predictions([1], [1, 2], **MAP), "has 2 entries, but"),
        (lambda: OutlierMapDisplay.from_predictions([np.nan], [1], **MAP), "not finite"),
        (lambda: OutlierMapDisplay.from_predictions([[1]], [1], **MAP), "1 dimension"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], cutoffs={}), "'score' and 'orth"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], types=["x"], **MAP), "types has 'x'"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], ids=[], **MAP), "ids has 0"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], scale="x", **MAP), "scale='x' must"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], max_regular=-1, **MAP), "0 or more"),
        (lambda: ScreeDisplay.from_predictions([1.0], rank=2), "rank=2 must be between 0 and 1"),
        (lambda: ScreeDisplay.from_predictions([1.0], rank=1, n_directions=0), "1 or more"),
        (lambda: ScreeDisplay.from_predictions([1.0], rank=1, scale="x"), "scale='x' must"),
        (lambda: ScoresDisplay.from_predictions(Y, components=(1,), **SCORES), "two numbers"),
        (lambda: ScoresDisplay.from_predictions(Y, components=(1, 3), **SCORES), "1 to 2"),
        (lambda: ScoresDisplay.from_predictions(np.zeros((2, 3)), **SCORES), "deviations has 2"),
        (lambda: ScoresDisplay.from_predictions(Y, scale="log", **SCORES), "scale='log' must"),
        (
            lambda: ScoresDisplay.from_predictions(Y, plain_scores=Y, ax=plt.gca(), **SCORES),
            "must be two axes",
        ),
        (lambda: ContributionsDisplay.from_predictions(np.ones((9, 2))), "shows 1 to 8"),
        (lambda: ContributionsDisplay.from_predictions([1, 2], feature_names="abc"), "3 names"),
        (lambda: ContributionsDisplay.from_predictions([1, 2], n_features=0), "1 or more"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, words):
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        call()
    message = str(raised.value)
    assert message.endswith(".")
    assert message.count(". ") == 0


def test_bad_input_beside_an_estimator(model, rows, frame):
    X = rows[0]
    with pytest.raises(ValueError, match="X is None: give the rows"):
        ScreeDisplay.from_estimator(model, plain=True)
    with pytest.raises(ValueError, match="distance='x' must be"):
        ContributionsDisplay.from_estimator(model, X, distance="x")
    with pytest.raises(ValueError, match="rows names 400, but allowed are row numbers below 400"):
        ContributionsDisplay.from_estimator(model, X, rows=[0, 400])
    with pytest.raises(ValueError, match="rows names 'a'"):
        ContributionsDisplay.from_estimator(model, X, rows="a")
    with pytest.raises(ValueError, match="rows names 3, but allowed are labels of the index"):
        ContributionsDisplay.from_estimator(OutlierRobustPCA().fit(frame), frame, rows=3)
    with pytest.raises(ValueError, match="0 rows were given, but one picture shows 1 to 8"):
        ContributionsDisplay.from_estimator(model, X, rows=[])
    with pytest.raises(TypeError, match="ax=3 must be matplotlib axes"):
        OutlierMapDisplay.from_estimator(model, X, ax=3)


def test_pipelines_are_looked_into(frame):
    pipe = make_pipeline(StandardScaler(), OutlierRobustPCA()).fit(frame)
    model = pipe[-1]
    Z = pipe[:-1].transform(frame)
    display = OutlierMapDisplay.from_estimator(pipe, frame, n_labels=1)
    np.testing.assert_allclose(display.score_distances, model.distances(Z).score)
    assert display.row_labels_[0].get_text() == f"s{np.argmin(model.score_samples(Z))}"
    bars = ContributionsDisplay.from_estimator(pipe, frame, rows="s3")
    assert list(bars.names) == list(frame.columns)
    ScoresDisplay.from_estimator(pipe, frame, plain=True)
    ScreeDisplay.from_estimator(pipe)


@pytest.mark.parametrize("kind", ["sparse", "dask", "torch", "polars", "float32"])
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
    else:
        X = X.astype(np.float32)
    fitted = OutlierRobustPCA(3).fit(X)
    expected = np.asarray(fitted.distances(X).score)
    display = OutlierMapDisplay.from_estimator(fitted, X)
    np.testing.assert_allclose(display.score_distances, expected, rtol=1e-6)
    assert len(drawn(ScoresDisplay.from_estimator(fitted, X, plain=True).points_)) == 400
    bars = ContributionsDisplay.from_estimator(fitted, X, rows=rows[1], distance="orthogonal")
    assert bars.names[bars.features_[0]] == ("f4" if kind == "polars" else "x4")
    ScreeDisplay.from_estimator(fitted, X, plain=True)


def test_matplotlib_is_imported_only_to_draw_and_its_absence_is_told():
    code = (
        "import sys; sys.path[:] = sys.argv[1].split('|'); import torpca.plots as plots; "
        "print('matplotlib' in sys.modules); sys.modules['matplotlib'] = None\n"
        "try: plots.ScreeDisplay.from_predictions([0.9, 0.1], rank=1)\n"
        "except ImportError as error: print(error)"
    )
    command = [sys.executable, "-c", code, "|".join(sys.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "False",
        'Pictures need matplotlib, which is not installed: pip install "torpca[plot]".',
    ]
