"""OutlierRobustPCA: bad parameters and bad rows are refused, with a message that helps."""

import numpy as np
import pytest
import scipy.sparse as sp

from torpca import OutlierRobustPCA


@pytest.mark.parametrize("n_components", [0, 1.0, -1, "many", 0.0, 2.5, None])
def test_bad_numbers_of_components_are_refused(X, n_components):
    with pytest.raises(ValueError, match="'n_components' parameter of OutlierRobustPCA"):
        OutlierRobustPCA(n_components).fit(X)


def test_more_components_than_the_shape_allows_are_refused(X):
    with pytest.raises(ValueError, match=r"n_components=13 .*min\(n_samples, n_features\) = 12"):
        OutlierRobustPCA(13).fit(X)
    with pytest.raises(ValueError, match=r"n_components=8 .*= 7 for X of 7 rows"):
        OutlierRobustPCA(8).fit(X[:7])
    with pytest.raises(ValueError, match=r"n_components=8 .*= 7 for X of 7 rows"):
        OutlierRobustPCA(8).fit(X, leave_out=np.arange(7, 300))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trim", 0.5),
        ("trim", -0.1),
        ("trim", "some"),
        ("contamination", 0.0),
        ("contamination", 0.6),
        ("center", 2),
        ("scale", "robust"),
        ("whiten", None),
        ("sample_size", 3),
        ("tol", -1e-9),
        ("max_iter", 0),
        ("random_state", "seed"),
    ],
)
def test_bad_parameters_are_refused_by_name(X, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of OutlierRobustPCA"):
        OutlierRobustPCA(**{name: value}).fit(X)


@pytest.mark.parametrize(
    ("entry", "kind", "what"),
    [
        (np.inf, np.asarray, "infinity"),
        (np.inf, sp.csr_array, "NaN or infinity"),
        (np.nan, sp.csr_array, "NaN or infinity"),  # elsewhere it is a cell that is missing
    ],
)
def test_rows_must_be_finite(X, fitted, entry, kind, what):
    rows = X.copy()
    rows[4, 2] = entry
    message = f"X contains {what} in 1 of 300 rows, first in row 4, column 2"
    for method in (OutlierRobustPCA().fit, fitted.predict, fitted.transform, fitted.score):
        with pytest.raises(ValueError, match=message):
            method(kind(rows))


def test_one_row_is_too_few(X):
    for fit in (
        lambda: OutlierRobustPCA().fit(X[:1]),
        lambda: OutlierRobustPCA().fit(X, leave_out=np.arange(1, 300)),
    ):
        with pytest.raises(ValueError, match=r"n_samples = 1 row .*needs at least 2"):
            fit()


@pytest.mark.parametrize(
    "method",
    [
        "predict",
        "transform",
        "score",
        "score_samples",
        "decision_function",
        "distances",
        "outlier_types",
        "contributions",
    ],
)
def test_another_number_of_features_is_refused(X, fitted, method):
    for rows in (X[:, :11], np.hstack([X, X]), sp.csr_array(X[:, :11])):
        message = f"X has {rows.shape[1]} features, but OutlierRobustPCA is expecting 12 features"
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(rows)


def test_another_number_of_coordinates_is_refused(fitted):
    with pytest.raises(ValueError, match="X has 4 columns, but OutlierRobustPCA found 3"):
        fitted.inverse_transform(np.ones((2, 4)))
