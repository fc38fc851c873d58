"""TORP's estimators: the kind of rows does not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from tests import _estimators
from tests._estimators import MODELS, each, each_kind
from tests._shared import named_frame
from torpca import TORP

# Fixtures: pytest looks for them by these names.
model = _estimators.model
data = _estimators.data
X = _estimators.X


@pytest.mark.parametrize("library", ["pandas", "polars"])
@each_kind
def test_data_frames_in_and_out(X, kind, library):
    frame = named_frame(library, X)
    names = list(frame.columns)
    plain = kind(2).fit(X)
    model = kind(2).set_output(transform=library)
    Z = model.fit_transform(frame)
    assert isinstance(Z, type(frame))
    assert list(Z.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(np.asarray(Z), plain.transform(X))
    np.testing.assert_array_equal(model.feature_names_in_, names)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    back = np.asarray(model.inverse_transform(Z))
    np.testing.assert_allclose(back, plain.inverse_transform(plain.transform(X)), atol=1e-14)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])


@each
def test_float32_in_float32_out(X, model):
    single = X.astype(np.float32)
    double = clone(model).fit(single.astype(np.float64))
    model.fit(single)
    for name in (
        "components_",
        "mean_",
        "singular_values_",
        "explained_variance_",
        "explained_variance_ratio_",
        "score_distances_",
        "orthogonal_distances_",
    ):
        value = getattr(model, name)
        assert value.dtype == np.float32, name
        # Found in double precision, rounded at the end.
        np.testing.assert_allclose(value, getattr(double, name), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(model.support_, double.support_)
    assert model.transform(single).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    assert model.inverse_transform(model.transform(single)).dtype == np.float32
    np.testing.assert_array_equal(model.predict(single), double.predict(single))


def test_integers_and_lists_are_taken_as_float64(X):
    rows = np.round(100 * X).astype(np.int64)
    expected = TORP(3).fit(rows.astype(float))
    for given in (rows, rows.tolist(), rows.astype(object)):
        model = TORP(3).fit(given)
        assert model.components_.dtype == np.float64
        np.testing.assert_array_equal(model.components_, expected.components_)
        np.testing.assert_array_equal(model.predict(given), expected.predict(rows))


def assert_same_model(model, expected, X, dense):
    def numpy(value):
        return np.asarray(value)

    np.testing.assert_array_equal(numpy(model.support_), expected.support_)
    np.testing.assert_allclose(numpy(model.components_), expected.components_, atol=1e-9)
    np.testing.assert_allclose(numpy(model.mean_), expected.mean_, atol=1e-12)
    variance = expected.explained_variance_
    np.testing.assert_allclose(numpy(model.explained_variance_), variance, rtol=1e-10)
    np.testing.assert_allclose(numpy(model.transform(X)), expected.transform(dense), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), expected.predict(dense))
    np.testing.assert_allclose(model.score_samples(X), expected.score_samples(dense), rtol=1e-7)
    assert model.noise_variance_ == pytest.approx(expected.noise_variance_, rel=1e-8)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
@each
def test_sparse(X, model, form):
    dense = np.where(np.abs(X) > 0.3, X, 0.0)
    expected = clone(model).fit(dense)
    rows = getattr(sp, form)(dense)
    model.fit(rows)
    assert_same_model(model, expected, rows, dense)
    assert isinstance(model.components_, np.ndarray)
    assert isinstance(model.transform(rows), np.ndarray)


@each
def test_dask(X, model):
    da = pytest.importorskip("dask.array")
    expected = clone(model).fit(X)
    rows = da.from_array(X, chunks=(70, 12))
    model.fit(rows)
    assert_same_model(model, expected, rows, X)
    assert isinstance(model.components_, np.ndarray)
    assert isinstance(model.transform(rows), np.ndarray)


FEW = ("TORP", "NoisyTORP, binary", "GaussianTORP", "TORP, not centred")


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("model", [MODELS[name] for name in FEW], ids=FEW, indirect=True)
def test_other_array_libraries(X, model, library):
    xp = pytest.importorskip(library)
    expected = clone(model).fit(X)
    rows = xp.asarray(X.copy())
    model.fit(rows)
    assert_same_model(model, expected, rows, X)
    kind = type(rows)
    assert isinstance(model.components_, kind)
    assert isinstance(model.mean_, kind)
    assert isinstance(model.explained_variance_, kind)
    assert isinstance(model.support_, kind)
    assert isinstance(model.transform(rows), kind)
    assert isinstance(model.inverse_transform(model.transform(rows)), kind)
    assert isinstance(model.predict(rows), np.ndarray)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_single_precision_of_other_array_libraries(X, library):
    xp = pytest.importorskip(library)
    rows = xp.asarray(X.astype(np.float32))
    model = TORP(3, rho=0.06).fit(rows)
    assert model.components_.dtype == xp.float32
    assert model.explained_variance_.dtype == xp.float32
    assert model.transform(rows).dtype == xp.float32
    assert model.inverse_transform(model.transform(rows)).dtype == xp.float32
    expected = TORP(3, rho=0.06).fit(X.astype(np.float32))
    np.testing.assert_array_equal(np.asarray(model.support_), expected.support_)


def test_fitted_in_one_library_used_in_another(X):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(X.copy())
    on_numpy, on_torch = TORP(3, rho=0.06).fit(X), TORP(3, rho=0.06).fit(rows)
    expected = on_numpy.inverse_transform(on_numpy.transform(X))
    for model in (on_numpy, on_torch):
        assert isinstance(model.transform(X), np.ndarray)
        assert isinstance(model.transform(rows), torch.Tensor)
        back = model.inverse_transform(model.transform(X))
        assert isinstance(back, np.ndarray)
        np.testing.assert_allclose(back, expected, atol=1e-12)
        back = model.inverse_transform(model.transform(rows))
        assert isinstance(back, torch.Tensor)
        np.testing.assert_allclose(back.numpy(), expected, atol=1e-12)
