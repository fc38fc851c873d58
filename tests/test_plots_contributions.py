"""Bars of features: their shares of a row's distance, their order, their names."""

import numpy as np
import pytest

from tests import _plots
from tests._reports import spectra
from torpca import OutlierRobustPCA
from torpca._bands import named_bands
from torpca._shares import signed_shares
from torpca._words import percent
from torpca.plots import ContributionsDisplay

# Fixtures: pytest looks for them by these names.
_close_figures = _plots._close_figures
rows = _plots.rows
model = _plots.model
frame = _plots.frame
any_model = _plots.any_model


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
    others = percent(1 - shares[order].sum())
    assert f"3 other features have {others}" in display.ax_.get_xlabel()


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
    assert title.startswith(f"row {worst}, counted from 0: ")
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
    assert [text.get_text() for text in one.value_labels_] == ["75%", "25%"]
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


def test_rows_are_named_by_labels_of_several_levels(model, rows):
    pd = pytest.importorskip("pandas")
    X = rows[0]
    index = pd.MultiIndex.from_product([["a", "b"], range(len(X) // 2)])
    frame = pd.DataFrame(X[: len(index)], index=index)
    for named in ([("a", 3)], ("a", 3)):
        display = ContributionsDisplay.from_estimator(model, frame, rows=named)
        np.testing.assert_allclose(display.shares, signed_shares(model, X[[3]]), atol=1e-12)


def test_neighbours_in_a_spectrum_that_act_together_are_one_bar():
    told = spectra()
    bad, names = int(told.extreme[0]), list(told.names)
    display = ContributionsDisplay.from_predictions(
        told.contributions[:1], feature_names=names, ids=[bad]
    )
    found = named_bands(told.contributions[0], names, 10)
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks == [name for name, _ in found]
    assert " nm to " in ticks[0]
    widths = [bar.get_width() for bar in display.bars_[0]]
    np.testing.assert_allclose(widths, [share for _, share in found])
    assert names[display.features_[0]] == ticks[0].split(" to ")[0]


def test_bands_of_several_spectra_are_those_of_the_largest_shares():
    shares = np.zeros((2, 40))
    shares[0, 5:15], shares[1, 25:35] = 0.1, -0.1
    display = ContributionsDisplay.from_predictions(
        shares, feature_names=[f"{900 + 2 * j} nm" for j in range(40)]
    )
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks == ["910 nm to 928 nm", "950 nm to 968 nm"]
    np.testing.assert_allclose(
        [[bar.get_width() for bar in bars] for bars in display.bars_], [[1, 0], [0, -1]]
    )


def test_long_names_keep_their_ends():
    names = [f"conductivity of the reactor, measured at the {end}" for end in ("inlet", "outlet")]
    display = ContributionsDisplay.from_predictions([2.0, 1.0], feature_names=names)
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks[0].endswith("the inlet")
    assert ticks[1].endswith("the outlet")
