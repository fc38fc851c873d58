"""TORP's estimators as a PCA: attributes, coordinates, covariance."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from tests import _estimators
from tests._estimators import each
from torpca import TORP, NoisyTORP
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

# Fixtures: pytest looks for them by these names.
model = _estimators.model
data = _estimators.data
X = _estimators.X


@each
def test_is_pca_of_the_kept_rows(X, model):
    model.fit(X)
    kept = X[model.support_]
    if not model.center:
        kept = np.vstack([kept, -kept])  # PCA always centres: give it a mean of zero
    pca = PCA(3, svd_solver="full").fit(kept)
    overlap = np.abs(np.sum(model.components_ * pca.components_, axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-12)
    np.testing.assert_allclose(model.mean_, pca.mean_, atol=1e-14)
    ratio = pca.explained_variance_ratio_
    np.testing.assert_allclose(model.explained_variance_ratio_, ratio, rtol=1e-10)
    if model.center:
        np.testing.assert_allclose(model.singular_values_, pca.singular_values_, rtol=1e-12)
        np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-12)
        assert model.noise_variance_ == pytest.approx(pca.noise_variance_, rel=1e-10)
        np.testing.assert_allclose(model.get_covariance(), pca.get_covariance(), atol=1e-13)
        np.testing.assert_allclose(
            np.abs(model.transform(X)), np.abs(pca.transform(X)), rtol=1e-9, atol=1e-11
        )
    else:
        variance = model.singular_values_**2 / model.support_.sum()
        np.testing.assert_allclose(model.explained_variance_, variance, rtol=1e-14)


def test_is_pca_of_the_kept_rows_when_features_are_many():
    X = make_outlier_subspace(40, 60, 2, 0.05, noise=0.1, random_state=0).X
    model = TORP(2, rho=0.1).fit(X)
    pca = PCA(2, svd_solver="full").fit(X[model.support_])
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-12)
    assert model.noise_variance_ == pytest.approx(pca.noise_variance_, rel=1e-10)
    np.testing.assert_allclose(model.get_covariance(), pca.get_covariance(), atol=1e-13)


@each
def test_is_close_to_pca_on_clean_data(model):
    clean = make_outlier_subspace(1000, 12, 3, 0.0, noise=0.02, random_state=1)
    pca = PCA(3).fit(clean.X)
    model.fit(clean.X)
    assert subspace_error(model.components_.T, pca.components_.T) < 0.02
    overlap = np.abs(np.sum(model.components_ * pca.components_, axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=0.02)
    np.testing.assert_allclose(model.mean_, pca.mean_, atol=0.1)
    # Rows that are far out along the subspace are left out, so variances are smaller.
    shrunk = model.explained_variance_ / pca.explained_variance_
    assert np.all((shrunk > 0.6) & (shrunk < 1.05))


@each
def test_attributes(X, model):
    model.fit(X)
    shapes = {
        "components_": (3, 12),
        "mean_": (12,),
        "explained_variance_": (3,),
        "explained_variance_ratio_": (3,),
        "singular_values_": (3,),
        "support_": (300,),
        "score_distances_": (300,),
        "orthogonal_distances_": (300,),
    }
    for name, shape in shapes.items():
        value = getattr(model, name)
        assert isinstance(value, np.ndarray), name
        assert value.shape == shape, name
        assert value.dtype == (bool if name == "support_" else float), name
    assert model.n_components_ == 3
    assert model.n_features_in_ == 12
    assert model.n_samples_ == 300
    assert isinstance(model.noise_variance_, float)
    assert isinstance(model.offset_, float)
    assert set(model.cutoffs_) == {"score", "orthogonal"}
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-13)
    assert np.all(np.diff(model.singular_values_) <= 0)
    assert 0 < model.explained_variance_ratio_.sum() <= 1
    assert not hasattr(model, "feature_names_in_")


def test_fewer_components_than_asked_for():
    X = make_outlier_subspace(100, 8, 2, 0.0, random_state=0).X
    model = TORP(5, rho=0.05, center=False).fit(X)
    assert model.n_components_ == 2
    assert model.transform(X).shape == (100, 2)
    assert list(model.get_feature_names_out()) == ["torp0", "torp1"]
    assert model.noise_variance_ == pytest.approx(0.0, abs=1e-25)
    # Rows in the subspace are not beside it, however little rounding leaves of the limit.
    assert np.all(model.orthogonal_distances_ <= model.cutoffs_["orthogonal"])
    assert (model.predict(X)[model.score_distances_ <= model.cutoffs_["score"]] == 1).all()


def test_no_component_at_all(X):
    model = NoisyTORP(3, rho=0.05, eta=0.0).fit(X)
    assert model.n_components_ == 0
    assert model.components_.shape == (0, 12)
    assert model.transform(X).shape == (300, 0)
    assert not model.converged_
    np.testing.assert_array_equal(model.inverse_transform(model.transform(X)), [model.mean_] * 300)
    np.testing.assert_allclose(model.get_covariance(), model.noise_variance_ * np.eye(12))
    distances = np.linalg.norm(X - model.mean_, axis=1)
    np.testing.assert_allclose(model.orthogonal_distances_, distances)


@each
def test_transform_and_back(X, model):
    Z = model.fit(X).transform(X)
    np.testing.assert_allclose(Z, (X - model.mean_) @ model.components_.T, atol=1e-12)
    np.testing.assert_array_equal(clone(model).fit_transform(X), Z)
    back = model.inverse_transform(Z)
    np.testing.assert_allclose(model.transform(back), Z, atol=1e-11)
    in_subspace = model.mean_ + np.random.default_rng(0).standard_normal((5, 3)) @ model.components_
    again = model.inverse_transform(model.transform(in_subspace))
    np.testing.assert_allclose(again, in_subspace, atol=1e-13)
    lost = np.linalg.norm(X - back, axis=1)
    np.testing.assert_allclose(lost, model.orthogonal_distances_, rtol=1e-8, atol=1e-12)


def test_coordinates_may_come_as_a_list(X):
    model = TORP(3).fit(X)
    np.testing.assert_allclose(model.inverse_transform([[0, 0, 0]]), [model.mean_])
    np.testing.assert_allclose(model.transform([list(model.mean_)]), np.zeros((1, 3)), atol=1e-15)


@each
def test_covariance(X, model):
    C = model.fit(X).get_covariance()
    assert C.shape == (12, 12)
    np.testing.assert_allclose(C, C.T, atol=1e-15)
    theta, W = np.linalg.eigh(C)
    np.testing.assert_allclose(theta[::-1][:3], model.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(theta[:9], model.noise_variance_, rtol=1e-6)
    assert subspace_error(W[:, -3:], model.components_.T) < 1e-10
