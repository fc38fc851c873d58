"""The scree plot: variances, the rank, and why it is that rank."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tests import _plots
from torpca import OutlierRobustPCA
from torpca.plots import ScreeDisplay

# Fixtures: pytest looks for them by these names.
_close_figures = _plots._close_figures
rows = _plots.rows
model = _plots.model
any_model = _plots.any_model


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
    [(2, "2 components, as requested; they explain"), (0.5, "1 component, explaining ")],
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
