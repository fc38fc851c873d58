"""OutlierRobustPCA with scale=True: features are divided by what the good rows say."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from tests._shared import warnings_of
from torpca import OutlierRobustPCA, as_source
from torpca._estimators.scale import feature_scales, scales_of_kept
from torpca.metrics import subspace_error


def unlike_features(share, seed=0, n=1000, d=20, k=3):
    """Rows near a subspace, in features over six decades, `share` of them in a cluster off it."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((d, k + 1)))[0]
    X = rng.standard_normal((n, k)) @ V[:, :k].T + 0.05 * rng.standard_normal((n, d))
    bad = np.arange(n) < round(share * n)
    X[bad] = 3 * V[:, k] + 0.05 * rng.standard_normal((int(np.sum(bad)), d))
    return 100 + X * 10.0 ** np.linspace(-3, 3, d), bad


def oracle(X, k):
    scaler = StandardScaler().fit(X)
    return scaler.scale_, PCA(k, svd_solver="full").fit(scaler.transform(X)).components_.T


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25])
@pytest.mark.parametrize("seed", [0, 1])
def test_scales_and_components_are_those_of_the_good_rows(share, seed):
    X, bad = unlike_features(share, seed)
    scales, V = oracle(X[~bad], 3)
    model = OutlierRobustPCA(3, scale=True).fit(X)
    # Good rows near a limit may count in part. Scales of the first round are off by 5 % and more.
    np.testing.assert_allclose(model.scale_, scales, rtol=0.04)
    assert subspace_error(model.components_.T, V) < 0.03


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. the rows in the fit form two")
def test_with_all_rows_kept_it_is_standard_scaler_and_pca():
    X, _ = unlike_features(0.2)
    scales, V = oracle(X, 3)
    model = OutlierRobustPCA(3, scale=True, trim=0).fit(X)
    np.testing.assert_allclose(model.scale_, scales, rtol=1e-9)
    assert subspace_error(model.components_.T, V) < 1e-9


def test_scales_of_kept_rows_are_weighted_standard_deviations():
    rng = np.random.default_rng(0)
    X = 5 + rng.standard_normal((50, 3))
    w = rng.integers(0, 3, 50).astype(float)
    repeated = np.repeat(X, w.astype(int), axis=0)
    found = scales_of_kept(as_source(X), w, np.array([0.5, 2.0, 1.0]))
    np.testing.assert_allclose(found, np.std(repeated, axis=0), rtol=1e-9)


def test_a_feature_that_is_constant_among_the_kept_rows_keeps_its_scale():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(40), np.full(40, 0.1), np.full(40, 7.3e8)])
    X[:3, 1:] += 1.0
    keep = np.where(np.arange(40) < 3, 0.0, 1.0)
    found = scales_of_kept(as_source(X), keep, np.array([1.0, 0.25, 3.0]))
    assert found[1:].tolist() == [0.25, 3.0]
    assert found[0] == pytest.approx(np.std(X[3:, 0]), rel=1e-9)


def test_rows_of_any_size_have_scales():
    X = np.random.default_rng(0).standard_normal((100, 2)) * [1e200, 1e-200]
    first = feature_scales(as_source(X), np.ones(100), np.random.default_rng(0))
    found = scales_of_kept(as_source(X), np.ones(100), first)
    np.testing.assert_allclose(found / [1e200, 1e-200], np.std(X / [1e200, 1e-200], axis=0))


def test_a_row_of_weight_two_is_that_row_twice():
    X, _ = unlike_features(0.2, n=150)
    w = np.random.default_rng(0).integers(0, 3, len(X))
    once = OutlierRobustPCA(3, scale=True).fit(X, sample_weight=w)
    twice = OutlierRobustPCA(3, scale=True).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(once.scale_, twice.scale_, rtol=1e-9)
    assert subspace_error(once.components_.T, twice.components_.T) < 1e-6


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, np.asfortranarray])
def test_scales_do_not_depend_on_where_the_rows_live(kind):
    X, _ = unlike_features(0.2, n=300)
    expected = OutlierRobustPCA(3, scale=True).fit(X)
    found = OutlierRobustPCA(3, scale=True).fit(kind(X))
    np.testing.assert_allclose(found.scale_, expected.scale_, rtol=1e-6)


def test_planted_rows_in_unlike_features_give_no_warning():
    X, _ = unlike_features(0.25)
    assert not warnings_of(OutlierRobustPCA(3, scale=True), X)


@pytest.mark.parametrize(
    ("shape", "noise", "route"),
    [
        ((200, 10), 0.01, "rows"),
        ((60, 20_000), 0.01, "span"),
        ((60_000, 8), 0.01, "passes"),
        ((60_000, 8), 0.0, "exact"),
    ],
)
def test_the_route_of_the_fit_is_told(shape, noise, route):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    X += noise * rng.standard_normal(shape)
    assert OutlierRobustPCA(2).fit(X).route_ == route
