"""OutlierRobustPCA as a PCA: components, coordinates, covariance, log-density."""

import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline

from tests._shared import UNITS, assert_same_fit, some
from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace


def assert_close_to_pca(model, pca):
    overlap = np.abs(np.sum(model.components_ * pca.components_, axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-3)
    np.testing.assert_allclose(model.mean_, pca.mean_, atol=0.03)
    for name in ("explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(model, name), getattr(pca, name), rtol=0.03)
    np.testing.assert_allclose(model.singular_values_, pca.singular_values_, rtol=0.02)
    assert model.noise_variance_ == pytest.approx(pca.noise_variance_, rel=0.03)


def test_is_close_to_pca_on_clean_rows(clean, on_clean):
    assert_close_to_pca(on_clean, PCA(3).fit(clean))


def test_is_close_to_pca_of_the_good_rows_whatever_the_bad_ones(clean):
    rows = clean.copy()
    rows[:1500] = 50 * np.random.default_rng(1).standard_normal((1500, 12)) + 30
    model = OutlierRobustPCA(3).fit(rows)
    assert_close_to_pca(model, PCA(3).fit(rows[1500:]))
    assert not model.support_[:1500].any()


def test_transform_and_back(X, model):
    Z = model.transform(X)
    scale = 1.0 if model.scale_ is None else model.scale_
    expected = (X - model.mean_) / scale @ model.components_.T
    if model.whiten:
        expected /= np.sqrt(model.explained_variance_)
    np.testing.assert_allclose(Z, expected, atol=1e-12)
    back = model.inverse_transform(Z)
    np.testing.assert_allclose(model.transform(back), Z, atol=1e-11)
    np.testing.assert_allclose(model.inverse_transform(model.transform(back)), back, atol=1e-12)
    lost = np.linalg.norm((X - back) / scale, axis=1)
    np.testing.assert_allclose(lost, model.orthogonal_distances_, rtol=1e-8, atol=1e-11)


def test_fit_transform_is_fit_and_transform(X, fitted):
    np.testing.assert_array_equal(OutlierRobustPCA(3).fit_transform(X), fitted.transform(X))


def test_whitened_good_rows_have_unit_variance(clean):
    rows = clean.copy()
    rows[:1000] *= 30
    Z = OutlierRobustPCA(3, whiten=True).fit(rows).transform(clean[1000:])
    np.testing.assert_allclose(np.cov(Z.T), np.eye(3), atol=0.05)


def test_precision_is_the_inverse_of_the_covariance(model):
    C, P = model.get_covariance(), model.get_precision()
    np.testing.assert_allclose(P @ C, np.eye(12), atol=1e-9)
    np.testing.assert_allclose(C, C.T, atol=1e-14)


@pytest.mark.parametrize(
    "scale",
    [
        False,
        True,
    ],
)
def test_precision_is_the_pseudo_inverse_without_noise(scale):
    rows = make_outlier_subspace(200, 12, 2, 0.1, random_state=0).X * UNITS
    model = OutlierRobustPCA(2, scale=scale).fit(rows)
    expected = np.linalg.pinv(model.get_covariance(), rcond=1e-9)
    np.testing.assert_allclose(model.get_precision(), expected, atol=1e-9 * np.abs(expected).max())


def test_score_is_the_mean_normal_log_density(X, model):
    normal = multivariate_normal(model.mean_, model.get_covariance())
    for rows in (X, X[model.support_]):
        assert model.score(rows) == pytest.approx(np.mean(normal.logpdf(rows)), rel=1e-8)


def test_to_sklearn_gives_the_same_coordinates(X, model):
    plain = model.to_sklearn()
    assert isinstance(plain, Pipeline if model.scale else PCA)
    assert b"torpca" not in pickle.dumps(plain)
    for other in (plain, pickle.loads(pickle.dumps(plain))):
        Z = other.transform(X)
        np.testing.assert_allclose(Z, model.transform(X), rtol=1e-10, atol=1e-12)
        back = model.inverse_transform(Z)
        np.testing.assert_allclose(other.inverse_transform(Z), back, atol=1e-12)


def test_to_sklearn_gives_the_same_covariance(X):
    model = OutlierRobustPCA(3, whiten=False).fit(X)
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.get_covariance(), model.get_covariance(), atol=1e-12)
    assert plain.score(X) == pytest.approx(model.score(X), rel=1e-8)


@pytest.mark.parametrize("scale", [False, True])
def test_to_sklearn_keeps_feature_names(X, scale):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(12)])
    model = OutlierRobustPCA(3, scale=scale).fit(frame)
    plain = model.to_sklearn()
    np.testing.assert_array_equal(plain.feature_names_in_, frame.columns)
    np.testing.assert_allclose(plain.transform(frame), model.transform(frame), atol=1e-12)
    assert list(plain.get_feature_names_out()) == ["pca0", "pca1", "pca2"]
    with pytest.raises(ValueError, match="feature names"):
        plain.transform(frame[frame.columns[::-1]])


@some("scaled and whitened")
def test_float32_in_float32_out(X, options):
    single = X.astype(np.float32)
    double = OutlierRobustPCA(3, **options).fit(single.astype(np.float64))
    model = OutlierRobustPCA(3, **options).fit(single)
    for name in (
        "components_",
        "mean_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "weights_",
        "score_distances_",
        "orthogonal_distances_",
    ):
        value = getattr(model, name)
        assert value.dtype == np.float32, name
        # Found in double precision, rounded at the end.
        np.testing.assert_allclose(value, getattr(double, name), rtol=1e-4, atol=1e-5)
    if model.scale:
        assert model.scale_.dtype == np.float32
    assert model.transform(single).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    assert model.inverse_transform(model.transform(single)).dtype == np.float32
    np.testing.assert_array_equal(model.support_, double.support_)
    np.testing.assert_array_equal(model.predict(single), double.predict(single))


def test_the_largest_entry_of_each_component_is_positive(model):
    V = model.components_
    assert (V[np.arange(len(V)), np.abs(V).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-12)


def test_the_signs_of_rows_are_not_those_of_components(X, fitted):
    other = OutlierRobustPCA(3).fit(-X)
    np.testing.assert_allclose(other.components_, fitted.components_, atol=1e-9)
    np.testing.assert_allclose(other.mean_, -fitted.mean_, atol=1e-9)


@pytest.mark.parametrize("seed", [1, np.random.RandomState(0)])
def test_the_fit_does_not_depend_on_the_seed(clean, on_clean, seed):
    assert on_clean.start_.n_sample < 5000
    assert_same_fit(OutlierRobustPCA(3, random_state=seed).fit(clean), on_clean)
