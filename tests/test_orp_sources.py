"""OutlierRobustPCA: the kind of rows does not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def as_dask(X, tmp_path):
    return pytest.importorskip("dask.array").from_array(X, chunks=(70, 12))


def as_tensor(X, tmp_path):
    return pytest.importorskip("torch").asarray(X.copy())


def as_memory_map(X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


def as_frame(X, tmp_path):
    return pytest.importorskip("pandas").DataFrame(X)


FORMS = {
    "CSR": lambda X, tmp_path: sp.csr_array(X),
    "CSC": lambda X, tmp_path: sp.csc_array(X),
    "Dask": as_dask,
    "torch": as_tensor,
    "memory map": as_memory_map,
    "pandas": as_frame,
    "list": lambda X, tmp_path: X.tolist(),
}


def assert_same_on(rows, model, X, expected):
    model.fit(rows)
    np.testing.assert_array_equal(np.asarray(model.support_), expected.support_)
    assert subspace_error(np.asarray(model.components_).T, expected.components_.T) < 1e-8
    np.testing.assert_array_equal(model.predict(rows), expected.predict(X))
    np.testing.assert_array_equal(model.outlier_type_, expected.outlier_type_)
    np.testing.assert_allclose(np.asarray(model.transform(rows)), expected.transform(X), atol=1e-8)
    for found, parts in zip(model.contributions(rows), expected.contributions(X), strict=True):
        np.testing.assert_allclose(np.asarray(found), parts, rtol=1e-6, atol=1e-9)
    assert model.score(rows) == pytest.approx(expected.score(X), rel=1e-7)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_kind_of_rows_does_not_matter(X, tmp_path, fitted, form):
    assert_same_on(form(X, tmp_path), OutlierRobustPCA(3), X, fitted)


def test_the_kind_of_rows_does_not_matter_to_scales(X, tmp_path):
    expected = OutlierRobustPCA(3, scale=True).fit(X)
    for form in (sp.csr_array, sp.csc_array, lambda rows: as_dask(rows, tmp_path)):
        assert_same_on(form(X), clone(expected), X, expected)


def test_sparse_rows_with_many_zeros():
    dense = make_outlier_subspace(400, 20, 2, 0.2, noise=0.01, random_state=0).X
    dense = np.where(np.arange(20) < 8, dense, 0.0)
    dense[::7] = 0.0
    model, expected = OutlierRobustPCA(2).fit(sp.csr_array(dense)), OutlierRobustPCA(2).fit(dense)
    np.testing.assert_array_equal(model.support_, expected.support_)
    assert subspace_error(model.components_.T, expected.components_.T) < 1e-8
