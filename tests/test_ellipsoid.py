"""Rows whose variances fall without a gap are weighed by their distance in all directions."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from torpca import OutlierRobustPCA
from torpca._robust import start as starting
from torpca._stats.determinant import distances_by, least_determinant
from torpca.metrics import subspace_error

N, D, K = 600, 9, 4


def falling_variances(seed, share=0.2, shift=7.0):
    """Gaussian rows (N, D) without a gap, a `share` of them moved along three axes."""
    rng = np.random.default_rng(seed)
    deviations = 1.5 ** -np.arange(D)
    X = rng.normal(size=(N, D)) * deviations
    bad = np.arange(N) < share * N
    along = np.zeros(D)
    along[[3, 5, 7]] = 1.0
    X[bad] += shift * along / np.linalg.norm(along / deviations)
    return X @ np.linalg.qr(rng.normal(size=(D, D)))[0], bad


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. the flagged rows depend:RuntimeWarning")
def test_a_group_does_not_have_a_component_for_itself(seed):
    X, bad = falling_variances(seed)
    model = OutlierRobustPCA(K, random_state=0).fit(X)
    assert model.support_[bad].mean() < 0.05
    assert model.support_[~bad].mean() > 0.9
    assert roc_auc_score(bad, -model.score_samples(X)) > 0.94
    assert subspace_error(model.components_.T, PCA(K).fit(X[~bad]).components_.T) < 0.2


def test_the_rows_kept_hardly_depend_on_the_number_of_components():
    X, _ = falling_variances(0)
    models = [OutlierRobustPCA(k, random_state=0).fit(X) for k in (3, 4)]
    assert {model.route_ for model in models} == {"ellipsoid"}
    assert np.mean(models[0].support_ != models[1].support_) < 0.01


# Limits found from a sample of such rows are a little tighter than those from all of them.
@pytest.mark.filterwarnings("ignore:.*depend on where the fit starts:RuntimeWarning")
def test_rows_of_a_large_table_are_weighed_as_those_of_a_small_one():
    X, bad = falling_variances(0)
    rng = np.random.default_rng(1)
    many = rng.integers(N, size=30_000)
    noise = 0.01 * rng.normal(size=(len(many), D))
    model = OutlierRobustPCA(K, random_state=0).fit(X[many] + noise)
    assert model.route_ == "ellipsoid"
    assert model.support_[bad[many]].mean() < 0.05
    assert model.support_[~bad[many]].mean() > 0.9


def test_rotation_and_unit_do_not_matter():
    X, _ = falling_variances(0)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]
    V = OutlierRobustPCA(K, random_state=0).fit(X).components_.T
    W = OutlierRobustPCA(K, random_state=0).fit(100.0 * X @ Q + 5.0).components_.T
    assert subspace_error(W, Q.T @ V) < 0.02


@pytest.mark.parametrize("seed", range(3))
def test_clean_rows_are_not_weighed_at_all(seed):
    X, _ = falling_variances(seed, share=0.0)
    model = OutlierRobustPCA(K, random_state=0).fit(X)
    assert model.route_ == "rows"
    assert subspace_error(model.components_.T, PCA(K).fit(X).components_.T) < 1e-6


def test_few_rows_for_each_direction_have_no_ellipsoid():
    X, _ = falling_variances(0)
    model = OutlierRobustPCA(K, random_state=0).fit(X[: 10 * D - 1])
    assert model.route_ == "rows"


def test_steps_make_the_determinant_smaller():
    rng = np.random.default_rng(0)
    Y = np.vstack([rng.normal(size=(150, 3)), rng.normal(size=(50, 3)) + 9.0])
    weights = np.ones(len(Y))
    half, size = least_determinant(Y, weights, weights)
    assert np.sum(half) == 100
    assert not np.any(half[150:])
    assert size < distances_by(Y, weights)[1]
    assert size == pytest.approx(distances_by(Y, half)[1])


def test_half_of_the_rows_may_be_equal_in_a_feature():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(200, 3))
    Y[:120, 2] = 0.0
    assert least_determinant(Y, np.ones(200), np.ones(200))[1] == -np.inf
    X, _ = falling_variances(0)
    X[: N // 2 + 50, 0] = 0.0
    assert OutlierRobustPCA(K, random_state=0).fit(X).route_ == "rows"


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. the flagged rows depend:RuntimeWarning")
def test_without_it_the_group_has_a_component(monkeypatch):
    """The cells above are of the kind that residuals alone lose."""
    monkeypatch.setattr(starting, "within_ellipsoid", lambda *_: None)
    X, bad = falling_variances(0)
    model = OutlierRobustPCA(K, random_state=0).fit(X)
    assert model.support_[bad].mean() > 0.5
