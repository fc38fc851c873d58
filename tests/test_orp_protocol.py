"""OutlierRobustPCA within scikit-learn: its checks, copies, pipelines, searches, containers."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests._shared import assert_same_fit, assert_tags_of_a_detector, each_copy, named_frame
from torpca import OutlierRobustPCA


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the checks' rows lie near no subspace
@parametrize_with_checks([OutlierRobustPCA()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@parametrize_with_checks(
    [
        OutlierRobustPCA(1),
        OutlierRobustPCA(0.8, scale=True, whiten=True),
        OutlierRobustPCA(trim=0.2, contamination=0.1, center=False),
        OutlierRobustPCA(cells=True),
    ],
    # EM and spreads end at a millionth; the check asks for a tenth of that, on fifteen rows.
    expected_failed_checks=lambda estimator: (
        {"check_sample_weight_equivalence_on_sparse_data": "the same to 1e-6"}
        if estimator.cells
        else {}
    ),
)
def test_scikit_learn_checks_of_other_options(estimator, check):
    check(estimator)


def test_tags():
    assert_tags_of_a_detector(OutlierRobustPCA(), allow_nan=True)


def test_clones_keep_every_parameter_and_no_fit(X):
    parameters = {
        "n_components": 2,
        "trim": 0.3,
        "contamination": 0.2,
        "limit": 0.95,
        "center": False,
        "scale": True,
        "cells": True,
        "missing_values": [-999.0],
        "whiten": True,
        "sample_size": 100,
        "tol": 1e-6,
        "max_iter": 30,
        "random_state": 7,
    }
    model = OutlierRobustPCA(**parameters).fit(X)
    assert model.get_params() == parameters  # fit changes none
    other = clone(model)
    assert other.get_params() == parameters
    with pytest.raises(NotFittedError, match="OutlierRobustPCA instance is not fitted"):
        other.predict(X)


@each_copy
def test_copies_are_whole(X, model, again):
    other, labels = again(model), model.predict(X)
    assert other is not model
    np.testing.assert_array_equal(other.predict(X), labels)
    np.testing.assert_array_equal(other.transform(X), model.transform(X))
    assert other.get_params() == model.get_params()
    other.set_contamination(0.5)
    assert model.contamination == "auto"
    np.testing.assert_array_equal(model.predict(X), labels)


def test_fitting_again_forgets(X):
    model = OutlierRobustPCA(3, contamination=0.1, scale=True)
    model.fit(X, sample_weight=np.arange(300.0))
    model.set_params(contamination="auto", scale=False).fit(X[:200, :8])
    assert_same_fit(model, OutlierRobustPCA(3).fit(X[:200, :8]))
    assert model.scale_ is None
    model.set_contamination(0.1)  # nor are the old weights used here
    assert np.count_nonzero(model.predict(X[:200, :8]) == -1) == 20


def test_fit_returns_itself_ignores_y_and_leaves_the_rows_alone(X, fitted):
    rows = X.copy()
    model = OutlierRobustPCA(3)
    assert model.fit(rows, np.ones(300)) is model
    model.predict(rows)
    model.transform(rows)
    model.contributions(rows)
    np.testing.assert_array_equal(rows, X)
    assert_same_fit(model, fitted)


def test_works_in_a_pipeline(X):
    scaled = StandardScaler().fit_transform(X)
    alone = OutlierRobustPCA(3).fit(scaled)
    together = make_pipeline(StandardScaler(), OutlierRobustPCA(3)).fit(X)
    np.testing.assert_array_equal(together.predict(X), alone.predict(scaled))
    np.testing.assert_array_equal(together.transform(X), alone.transform(scaled))
    np.testing.assert_array_equal(together.decision_function(X), alone.decision_function(scaled))
    assert list(together.get_feature_names_out()) == [f"outlierrobustpca{i}" for i in range(3)]


def test_grid_search_by_score_finds_the_number_of_components(clean):
    grid = {"n_components": [2, 3, 6]}
    search = GridSearchCV(OutlierRobustPCA(), grid, cv=2, error_score="raise").fit(clean[:400])
    assert search.best_params_ == {"n_components": 3}
    assert search.predict(clean).shape == (5000,)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_in_and_out(X, fitted, library):
    frame = named_frame(library, X)
    names = list(frame.columns)
    model = OutlierRobustPCA(3).set_output(transform=library)
    Z = model.fit_transform(frame)
    assert isinstance(Z, type(frame))
    assert list(Z.columns) == list(model.get_feature_names_out())
    np.testing.assert_allclose(np.asarray(Z), fitted.transform(X), atol=1e-12)
    np.testing.assert_array_equal(model.feature_names_in_, names)
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])


def test_only_data_frames_have_feature_names(fitted):
    assert not hasattr(fitted, "feature_names_in_")
    assert list(fitted.get_feature_names_out()) == [f"outlierrobustpca{i}" for i in range(3)]


def test_tensors_in_tensors_out_under_array_api_dispatch(X, fitted):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(X.copy())
    with sklearn.config_context(array_api_dispatch=True):
        model = OutlierRobustPCA(3).fit(rows)
        Z = model.transform(rows)
        back = model.inverse_transform(Z)
        labels = model.predict(rows)
    for value in (Z, back, model.components_, model.mean_, model.support_, model.weights_):
        assert isinstance(value, torch.Tensor)
    np.testing.assert_allclose(Z.numpy(), fitted.transform(X), atol=1e-12)
    np.testing.assert_allclose(
        back.numpy(), fitted.inverse_transform(fitted.transform(X)), atol=1e-12
    )
    np.testing.assert_array_equal(labels, fitted.predict(X))
