"""The robust PCA as a detector of PyOD, with and without PyOD."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from tests._shared import coinciding_rows
from torpca import TORP, OutlierRobustPCA, tail_probability
from torpca.adapters import PyODDetector


@pytest.fixture(scope="module")
def detector(X):
    return PyODDetector(OutlierRobustPCA(3)).fit(X)


def test_large_scores_and_the_label_one_are_outliers(detector, data, X):
    assert (
        detector.labels_.tolist() == np.where(detector.estimator_.predict(X) == -1, 1, 0).tolist()
    )
    assert (detector.labels_[data.outliers] == 1).all()
    scores = detector.decision_scores_
    assert scores[data.outliers].min() > np.max(scores[~data.outliers])
    np.testing.assert_array_equal(scores, detector.decision_function(X))
    np.testing.assert_array_equal(detector.predict(X), detector.labels_)
    assert detector.threshold_ == 1.0
    assert detector.n_features_in_ == 12


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_a_share_of_the_rows_is_labelled(X, share):
    detector = PyODDetector(OutlierRobustPCA(3), contamination=share).fit(X)
    assert np.mean(detector.labels_) == pytest.approx(share, abs=1 / len(X))
    cut = np.quantile(detector.decision_scores_, 1 - share)
    assert detector.threshold_ == pytest.approx(cut, rel=1e-9)
    assert detector.fit_predict(X).tolist() == detector.labels_.tolist()


def test_its_share_goes_before_that_of_the_estimator(X):
    own = OutlierRobustPCA(3, contamination=0.4)
    detector = PyODDetector(own, contamination=0.1).fit(X)
    assert np.mean(detector.labels_) == pytest.approx(0.1, abs=1 / len(X))
    assert own.contamination == 0.4
    assert not hasattr(own, "offset_")  # the estimator is cloned


def test_probabilities(detector, X):
    tail = detector.predict_proba(X)
    np.testing.assert_allclose(tail[:, 0], tail_probability(detector.estimator_, X))
    for method in ("tail", "linear", "unify"):
        p = detector.predict_proba(X, method=method)
        assert p.shape == (300, 2)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert p.min() >= 0
        # The farther out, the larger, up to rounding.
        order = np.argsort(detector.decision_scores_)
        if method != "tail":
            assert np.all(np.diff(p[order, 1]) >= 0)
    assert (tail[:, 1] > 0.995**2).tolist() == (detector.labels_ == 1).tolist()
    assert detector.predict_proba(X, method="linear")[:, 1].max() == 1.0
    with pytest.raises(ValueError, match="one of tail, linear, unify"):
        detector.predict_proba(X, method="logistic")


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA:RuntimeWarning")
def test_scores_beyond_limits_of_zero():
    X, bad = coinciding_rows()
    detector = PyODDetector().fit(X)
    assert np.flatnonzero(detector.labels_).tolist() == bad
    for method in ("tail", "linear", "unify"):
        p = detector.predict_proba(X, method=method)[:, 1]
        assert p[bad].min() > np.delete(p, bad).max()
    still = PyODDetector().fit(np.ones((20, 3)))
    for method in ("tail", "linear", "unify"):
        assert (still.predict_proba(np.ones((2, 3)), method=method)[:, 1] == 0).all()


def test_rows_of_too_few_cells(detector, X):
    rows = X[:2].copy()
    rows[0, 1:] = np.nan
    assert np.isnan(detector.decision_function(rows)).tolist() == [True, False]
    assert detector.predict(rows)[0] == 0
    assert np.isnan(detector.predict_proba(rows)).all(axis=1).tolist() == [True, False]


def test_the_protocol_of_scikit_learn(detector, X):
    assert clone(detector).get_params()["estimator__n_components"] == 3
    changed = clone(detector).set_params(estimator__n_components=2, contamination=0.2)
    assert changed.fit(X).estimator_.n_components_ == 2
    assert get_tags(detector).estimator_type == "outlier_detector"
    again = pickle.loads(pickle.dumps(detector))
    np.testing.assert_array_equal(again.predict(X), detector.labels_)
    pipeline = make_pipeline(StandardScaler(), PyODDetector(OutlierRobustPCA(3))).fit(X)
    assert set(pipeline.predict(X)) == {0, 1}


def test_bad_input(X):
    with pytest.raises(ValueError, match="not fitted"):
        PyODDetector().predict(X)
    with pytest.raises(TypeError, match="is a TORP"):
        PyODDetector(TORP(3)).fit(X)
    with pytest.raises(ValueError, match="contamination"):
        PyODDetector(contamination=0.7).fit(X)


def test_pyod_is_not_needed():
    code = (
        "import sys; sys.path[:] = sys.argv[1].split('|'); sys.modules['pyod'] = None; "
        "from torpca.adapters import PyODDetector; "
        "print(PyODDetector().fit([[1.0, 2], [2, 1], [3, 5], [2, 2], [4, 4]]).labels_.shape)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, "|".join(sys.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(5,)"


# ---- with PyOD ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pyod():
    return pytest.importorskip("pyod.models.base", reason="needs pyod: pip install pyod")


@pytest.fixture(scope="module")
def made(pyod):
    """Rows to fit and new ones, and which of each are bad, as PyOD makes them."""
    from pyod.utils.data import generate_data

    return generate_data(300, 200, n_features=8, contamination=0.1, random_state=0)


def test_the_same_as_a_subclass_of_the_base_detector(pyod, made):
    class Subclass(pyod.BaseDetector):
        """What PyOD makes of the same scores."""

        def __init__(self, contamination=0.1):
            super().__init__(contamination)

        def fit(self, X, y=None):
            self._set_n_classes(y)
            self.model = OutlierRobustPCA(2).fit(X)
            self.decision_scores_ = self.decision_function(X)
            self._process_decision_scores()
            return self

        def decision_function(self, X):
            return -self.model.score_samples(X)

    X, later, *_ = made
    theirs = Subclass(contamination=0.1).fit(X)
    ours = PyODDetector(OutlierRobustPCA(2), contamination=0.1).fit(X)
    np.testing.assert_allclose(ours.decision_scores_, theirs.decision_scores_)
    assert ours.threshold_ == pytest.approx(theirs.threshold_, rel=1e-12)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.predict(later), theirs.predict(later))
    for method in ("linear", "unify"):
        p = theirs.predict_proba(later, method=method)
        np.testing.assert_allclose(ours.predict_proba(later, method=method), p, atol=1e-12)


def test_tools_of_pyod(pyod, made, tmp_path, capsys):
    from pyod.utils.data import evaluate_print
    from pyod.utils.persistence import load, save
    from pyod.utils.utility import check_detector, precision_n_scores, score_to_label

    X, later, _, bad = made
    detector = PyODDetector(OutlierRobustPCA(2), contamination=0.1).fit(X)
    check_detector(detector)
    scores = detector.decision_function(later)
    evaluate_print("torpca", bad, scores)
    assert capsys.readouterr().out == "torpca ROC:1.0, precision @ rank n:1.0\n"
    assert precision_n_scores(bad, scores) == 1.0
    labels = score_to_label(detector.decision_scores_, outliers_fraction=0.1)
    np.testing.assert_array_equal(labels, detector.labels_)
    save(detector, tmp_path / "detector.joblib")
    again = load(tmp_path / "detector.joblib", trusted=True)
    np.testing.assert_array_equal(again.decision_function(later), scores)


def test_one_of_the_detectors_of_an_ensemble(pyod, made):
    from pyod.models.hbos import HBOS
    from pyod.models.lscp import LSCP
    from sklearn.metrics import roc_auc_score

    X, later, _, bad = made
    detectors = [PyODDetector(), PyODDetector(OutlierRobustPCA(3)), HBOS()]
    ensemble = LSCP(detectors, n_bins=3, random_state=0).fit(X)
    assert roc_auc_score(bad, ensemble.decision_function(later)) > 0.99


def test_it_can_be_made_an_instance(pyod):
    pyod.BaseDetector.register(PyODDetector)
    assert isinstance(PyODDetector(), pyod.BaseDetector)
