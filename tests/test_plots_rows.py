"""How rows are told apart in pictures: order, labels, samples, legends, colours."""

import numpy as np
import pytest

from tests import _plots
from tests._plots import KINDS, matplotlib, plt, to_rgb
from torpca import OutlierRobustPCA
from torpca.plots import OutlierMapDisplay, ScoresDisplay
from torpca.plots._row_labels import label_points
from torpca.plots._rows import LOOKS, rows_to_draw

# Fixtures: pytest looks for them by these names.
_close_figures = _plots._close_figures
rows = _plots.rows
model = _plots.model
frame = _plots.frame


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
