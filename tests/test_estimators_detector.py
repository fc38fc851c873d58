"""TORP's estimators as detectors: distances, limits, labels, contamination."""

import numpy as np
import pytest
from sklearn.base import clone

from tests import _estimators
from tests._estimators import each, each_kind
from tests._shared import coinciding_rows
from torpca import GaussianTORP
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

# Fixtures: pytest looks for them by these names.
model = _estimators.model
data = _estimators.data
X = _estimators.X


@each
def test_distances_follow_their_definitions(X, model):
    model.fit(X)
    rows = X - model.mean_
    Z = rows @ model.components_.T
    score = np.linalg.norm(Z / np.sqrt(model.explained_variance_), axis=1)
    orthogonal = np.linalg.norm(rows - Z @ model.components_, axis=1)
    np.testing.assert_allclose(model.score_distances_, score, rtol=1e-11)
    np.testing.assert_allclose(model.orthogonal_distances_, orthogonal, rtol=1e-9, atol=1e-13)
    kept = model.support_
    limits = model.cutoffs_["score"], model.cutoffs_["orthogonal"]
    if isinstance(model, GaussianTORP):
        expected = np.quantile(score[kept], 0.975), np.quantile(orthogonal[kept], 0.975)
    else:
        expected = score[kept].max(), orthogonal[kept].max()
    np.testing.assert_allclose(limits, expected, rtol=1e-8)
    scores = -np.maximum(score / limits[0], orthogonal / limits[1])
    np.testing.assert_allclose(model.score_samples(X), scores, rtol=1e-9)


@pytest.mark.parametrize("contamination", ["auto", 0.1])
@each
def test_labels_scores_and_offset_belong_together(X, data, model, contamination):
    model.set_params(contamination=contamination).fit(X)
    scores = model.score_samples(X)
    assert scores.shape == (300,)
    np.testing.assert_array_equal(model.decision_function(X), scores - model.offset_)
    labels = model.predict(X)
    np.testing.assert_array_equal(labels, np.where(scores < model.offset_, -1, 1))
    np.testing.assert_array_equal(labels, clone(model).fit_predict(X))
    single = np.array([model.predict(X[i : i + 1])[0] for i in range(0, 300, 7)])
    np.testing.assert_array_equal(single, labels[::7])  # a row's label is its own
    if contamination == "auto":
        assert model.offset_ == -1.0
        if not isinstance(model, GaussianTORP):
            assert (labels[model.support_] == 1).all()
    # Long rows are outliers whatever the rest is.
    length = np.linalg.norm(X - np.median(X, axis=0), axis=1)
    assert (labels[length > 50] == -1).all()


@each
@pytest.mark.parametrize("contamination", [0.05, 0.1, 0.25, 0.5])
def test_contamination_labels_that_share_and_leaves_the_fit_alone(X, model, contamination):
    plain = clone(model).fit(X)
    model.set_params(contamination=contamination).fit(X)
    assert np.count_nonzero(model.predict(X) == -1) == pytest.approx(contamination * 300, abs=1)
    for name in ("components_", "mean_", "support_", "singular_values_", "score_distances_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    assert model.cutoffs_ == plain.cutoffs_
    np.testing.assert_array_equal(model.score_samples(X), plain.score_samples(X))


@each
def test_contamination_is_a_share_of_rows_even_when_good_rows_coincide(model):
    X, bad = coinciding_rows()
    model.set_params(n_components=1, contamination=0.1).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert np.flatnonzero(model.predict(X) == -1).tolist() == bad


@each
@pytest.mark.parametrize("where", ["beside the subspace", "far out in the subspace"])
def test_a_planted_outlier_ranks_first(model, where):
    clean = make_outlier_subspace(300, 12, 3, 0.0, noise=0.02, random_state=2)
    rows, V = clean.X.copy(), clean.basis
    u = np.random.default_rng(3).standard_normal(12)
    if where == "beside the subspace":
        rows[77] = u - V @ (V.T @ u)
    else:
        rows[77] = V @ [0.0, 0.0, 8.0]
    model.fit(rows)
    assert model.score_samples(rows).argmin() == 77
    assert model.predict(rows)[77] == -1
    new = np.vstack([clean.X[:50], 3 * rows[77:78]])
    assert model.score_samples(new).argmin() == 50


@each
@pytest.mark.parametrize("size", [1e160, -1e300])
def test_an_enormous_row_does_not_overflow(model, size):
    clean = make_outlier_subspace(300, 12, 3, 0.0, noise=0.02, random_state=4)
    rows = clean.X.copy()
    rows[9] = size * np.linspace(0.5, 1, 12)
    model.fit(rows)
    assert not model.support_[9]
    assert subspace_error(model.components_.T, clean.basis) < 0.05
    assert model.score_samples(rows).argmin() == 9
    assert model.predict(rows)[9] == -1
    assert np.isfinite(model.explained_variance_).all()
    assert np.isfinite(model.score_samples(rows)).all()
    length = np.linalg.norm(rows[9] / size) * abs(size)
    assert 0.5 < model.orthogonal_distances_[9] / length < 1


@each
@pytest.mark.parametrize("contamination", ["auto", 0.01])
def test_rows_whose_ratio_no_float_can_hold(model, contamination):
    rows = 1e-160 * make_outlier_subspace(300, 12, 3, 0.0, noise=0.02, random_state=4).X
    rows[9] = 1e160 * np.linspace(0.5, 1, 12)
    if isinstance(model, GaussianTORP):
        model.set_params(sigma=0.02e-160)
    model.set_params(contamination=contamination).fit(rows)
    assert not model.support_[9]
    scores = model.score_samples(rows)
    assert np.isfinite(scores).all()
    assert scores.argmin() == 9
    assert model.predict(rows)[9] == -1
    assert np.isfinite(model.decision_function(rows)).all()


@each_kind
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_units_do_not_matter_to_labels(X, kind, size):
    expected, found = kind(3).fit(X), kind(3).fit(X * size)
    np.testing.assert_allclose(found.score_samples(X * size), expected.score_samples(X), rtol=1e-9)
    np.testing.assert_array_equal(found.predict(X * size), expected.predict(X))
    variance = expected.explained_variance_ * size * size
    np.testing.assert_allclose(found.explained_variance_, variance, rtol=1e-9)
