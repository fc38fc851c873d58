"""TORP's estimators within scikit-learn: its checks, copies, parameters, pipelines."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests import _estimators
from tests._estimators import each, each_kind
from tests._shared import assert_tags_of_a_detector, each_copy
from torpca import TORP, GaussianTORP, NoisyTORP

# Fixtures: pytest looks for them by these names.
model = _estimators.model
data = _estimators.data
X = _estimators.X


@parametrize_with_checks(
    [
        TORP(),
        NoisyTORP(),
        NoisyTORP(search="linear"),
        GaussianTORP(),
        TORP(contamination=0.1),
        TORP(center=False),
        TORP(rho=0.1),
        GaussianTORP(mu=2.0, sigma=0.1, contamination=0.1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each_kind
def test_tags(kind):
    assert_tags_of_a_detector(kind())


def test_fitting_again_forgets(X):
    model = TORP(3, rho=0.06, contamination=0.1).fit(X)
    model.set_params(n_components=2, contamination="auto").fit(X[:200, :5])
    fresh = TORP(2, rho=0.06).fit(X[:200, :5])
    assert model.n_features_in_ == 5
    assert model.offset_ == -1.0
    np.testing.assert_array_equal(model.components_, fresh.components_)
    np.testing.assert_array_equal(model.score_samples(X[:, :5]), fresh.score_samples(X[:, :5]))


@each_kind
def test_names_of_features_out(X, kind):
    names = kind(2).fit(X).get_feature_names_out()
    assert list(names) == [f"{kind.__name__.lower()}{i}" for i in range(2)]


@each_copy
@each
def test_copies_are_whole(X, model, again):
    model.fit(X)
    other = again(model)
    assert other is not model
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    np.testing.assert_array_equal(other.transform(X), model.transform(X))
    assert other.history_ == model.history_
    assert other.get_params() == model.get_params()


def test_copies_of_a_model_fitted_on_torch(X):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(X.copy())
    model = TORP(3, rho=0.06).fit(rows)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert torch.equal(other.transform(rows), model.transform(rows))


@each_kind
def test_clones_are_not_fitted_and_keep_every_parameter(X, kind):
    parameters = {
        "n_components": 3,
        "mu": 1.7,
        "center": False,
        "contamination": 0.2,
        "max_iter": 7,
        "callback": print,
    }
    model = kind(**parameters)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert parameters.items() <= other.get_params().items()
    with pytest.raises(NotFittedError):
        clone(model.set_params(callback=None).fit(X)).predict(X)


def test_parameters_are_kept_as_given_and_can_be_set(X):
    model = NoisyTORP(5, search="linear", rho=0.1, eta=0.3, tol=1e-3)
    assert model.set_params(n_components=2, search="binary", eta=None) is model
    assert model.get_params()["n_components"] == 2
    assert model.get_params()["rho"] == 0.1
    model.fit(X)
    assert model.n_components == 2  # fit changes no parameter
    assert model.eta is None
    with pytest.raises(ValueError, match="Invalid parameter 'trim'"):
        model.set_params(trim=0.1)


@each
def test_fit_returns_itself_ignores_y_and_leaves_the_rows_alone(X, model):
    rows = X.copy()
    before = rows.tobytes()
    assert model.fit(rows, y=np.ones(300)) is model
    components = model.components_.copy()
    model.predict(rows)
    model.transform(rows)
    assert rows.tobytes() == before
    np.testing.assert_array_equal(clone(model).fit(rows).components_, components)
    sparse = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
    parts = [part.copy() for part in (sparse.data, sparse.indices, sparse.indptr)]
    model.fit(sparse).predict(sparse)
    for part, now in zip(parts, (sparse.data, sparse.indices, sparse.indptr), strict=True):
        np.testing.assert_array_equal(part, now)


METHODS = ("predict", "score_samples", "decision_function", "transform")


@each_kind
def test_another_number_of_features_is_refused(X, kind):
    model = kind(2).fit(X)
    for rows in (X[:, :11], np.hstack([X, X]), sp.csr_array(X[:, :11])):
        for method in METHODS:
            message = f"X has {rows.shape[1]} features.*{kind.__name__} is expecting 12 features"
            with pytest.raises(ValueError, match=message):
                getattr(model, method)(rows)


@each_kind
def test_nothing_works_before_fit(X, kind):
    model = kind(2)
    for method in (*METHODS, "inverse_transform"):
        with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted"):
            getattr(model, method)(X)
    for method in ("get_covariance", "get_feature_names_out"):
        with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted"):
            getattr(model, method)()


@each
def test_in_pipelines(X, data, model):
    detector = make_pipeline(StandardScaler(), clone(model))
    labels = detector.fit(X).predict(X)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(labels, clone(model).fit(scaled).predict(scaled))
    np.testing.assert_array_equal(detector.decision_function(X) < 0, labels == -1)
    assert detector.transform(X).shape == (300, 3)
    y = (X - X.mean(axis=0)) @ data.basis[:, 0] > 0
    classifier = make_pipeline(clone(model), LogisticRegression()).fit(X, y)
    assert classifier.score(X, y) > 0.85


def typical_log_density(model, X, y=None):
    """Median log-density of rows under the model's normal distribution, up to a constant."""
    covariance, rows = model.get_covariance(), X - model.mean_
    distances = np.sum(rows * np.linalg.solve(covariance, rows.T).T, axis=1)
    return -0.5 * (np.median(distances) + np.linalg.slogdet(covariance)[1])


@each_kind
def test_number_of_components_by_grid_search(X, kind):
    grid = {"n_components": [1, 2, 3, 8]}
    search = GridSearchCV(kind(), grid, scoring=typical_log_density, cv=3, error_score="raise")
    search.fit(X)
    assert search.best_params_ == {"n_components": 3}
    assert search.predict(X).shape == (300,)
