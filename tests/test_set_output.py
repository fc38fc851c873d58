"""`set_output`: data frames of coordinates, from all estimators, as scikit-learn gives them."""

import copy
import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import torpca
from tests._sources import torch_or_skip
from torpca import TORP, OutlierRobustPCA
from torpca.adapters import PyODDetector
from torpca.datasets import make_outlier_subspace

NAMES = [f"sensor {j}" for j in range(8)]
# All that are public, so that a new one is tested too.
PUBLIC = [getattr(torpca, name) for name in torpca.__all__] + [PyODDetector]
KINDS = [
    kind
    for kind in PUBLIC
    if inspect.isclass(kind) and issubclass(kind, BaseEstimator) and hasattr(kind, "transform")
]
each_kind = pytest.mark.parametrize("kind", KINDS)
each_library = pytest.mark.parametrize("library", ["pandas", "polars"])
# By what their names have in common: one of them is spelled otherwise in older versions.
CHECKS = [
    name for name in dir(estimator_checks) if name.startswith("check_") and "put_transform" in name
]


@pytest.fixture(scope="module")
def X():
    rows = make_outlier_subspace(
        120, 8, 2, 0.1, outliers="mixed", noise=0.05, mean=1.0, random_state=0
    ).X
    rows.flags.writeable = False
    return rows


def frame_of(library, X):
    """The rows as a data frame; pandas ones have an index of their own."""
    frames = pytest.importorskip(library)
    table = {name: X[:, j] for j, name in enumerate(NAMES)}
    if library == "polars":
        return frames.DataFrame(table)
    return frames.DataFrame(table, index=frames.Index([f"r{i}" for i in range(len(X))], name="at"))


def assert_near(Z, expected):
    """Up to rounding, on the scale of the numbers: tables of other kinds are summed otherwise."""
    np.testing.assert_allclose(Z, expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected)))


def assert_frame(Z, library, names, expected, index=None):
    frames = pytest.importorskip(library)
    assert type(Z) is frames.DataFrame
    assert list(Z.columns) == list(names)
    assert_near(Z.to_numpy(), expected)
    if index is not None and library == "pandas":
        frames.testing.assert_index_equal(Z.index, index)


def test_there_are_estimators_and_checks():
    assert {OutlierRobustPCA, TORP} <= set(KINDS)
    assert len(KINDS) >= 4
    assert len(CHECKS) >= 5


@each_kind
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning",  # what fits of its few rows say
    "ignore:X .*feature names:UserWarning",  # it gives data frames after arrays, and the other way
)
def test_checks_of_scikit_learn(kind, check):
    pytest.importorskip("polars" if "polars" in check else "pandas")
    getattr(estimator_checks, check)(kind.__name__, kind())


@each_library
@each_kind
def test_both_methods_return_data_frames(X, kind, library):
    frame = frame_of(library, X)
    expected = kind(2).fit(X).transform(X)
    model = kind(2).set_output(transform=library)
    together = model.fit_transform(frame)
    names = model.get_feature_names_out()
    index = getattr(frame, "index", None)
    assert_frame(together, library, names, expected, index)
    assert_frame(model.transform(frame), library, names, expected, index)
    # New rows have the labels of their own table.
    some = frame[40:50]
    assert_frame(model.transform(some), library, names, expected[40:50], getattr(some, "index", 0))


@each_library
@each_kind
def test_default_is_an_array_again(X, kind, library):
    frame = frame_of(library, X)
    model = kind(2).fit(frame)
    expected = model.transform(frame)
    assert type(expected) is np.ndarray
    assert_frame(
        model.set_output(transform=library).transform(frame),
        library,
        model.get_feature_names_out(),
        expected,
    )
    model.set_output(transform="default")
    for Z in (model.transform(frame), model.fit_transform(frame)):
        assert type(Z) is np.ndarray
        assert_near(Z, expected)


@each_library
@each_kind
def test_the_global_setting_counts_unless_the_estimator_has_one(X, kind, library):
    frame = frame_of(library, X)
    model, own = kind(2).fit(frame), kind(2).set_output(transform="default").fit(frame)
    with sklearn.config_context(transform_output=library):
        for Z in (model.transform(frame), model.fit_transform(frame)):
            assert_frame(Z, library, model.get_feature_names_out(), own.transform(frame))
        assert type(own.transform(frame)) is np.ndarray
    assert type(model.transform(frame)) is np.ndarray


@pytest.mark.parametrize(
    "again", [clone, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
@each_kind
def test_copies_keep_the_setting(X, kind, again):
    frame = frame_of("pandas", X)
    model = kind(2).set_output(transform="pandas").fit(frame)
    other = again(model)
    other = other.fit(frame) if again is clone else other
    names = model.get_feature_names_out()
    expected = model.transform(frame).to_numpy()
    assert_frame(other.transform(frame), "pandas", names, expected, frame.index)


# ---- within other estimators ---------------------------------------------------------------------


@each_library
@each_kind
def test_in_a_pipeline(X, kind, library):
    frame = frame_of(library, X)
    expected = kind(2).fit_transform(StandardScaler().fit_transform(X))
    steps = make_pipeline(StandardScaler(), kind(2)).set_output(transform=library)
    together = steps.fit_transform(frame)
    index = getattr(frame, "index", None)
    for Z in (together, steps.transform(frame)):
        pytest.importorskip(library)
        assert list(Z.columns) == list(steps.get_feature_names_out())
        assert_near(Z.to_numpy(), expected)
        if index is not None:
            assert list(Z.index) == list(index)


@each_library
@each_kind
def test_in_a_column_transformer(X, kind, library):
    frame = frame_of(library, X)
    parts = [("robust", kind(1), NAMES[:5]), ("plain", PCA(1), NAMES[5:])]
    both = ColumnTransformer(parts).set_output(transform=library)
    expected = np.hstack([kind(1).fit_transform(X[:, :5]), PCA(1).fit_transform(X[:, 5:])])
    names = [f"robust__{kind.__name__.lower()}0", "plain__pca0"]
    together = both.fit_transform(frame)
    for Z in (together, both.transform(frame)):
        assert_frame(Z, library, names, expected, getattr(frame, "index", None))


def test_the_detector_of_pyod_takes_an_estimator_that_returns_data_frames(X):
    frame = frame_of("pandas", X)
    detector = PyODDetector(OutlierRobustPCA(2).set_output(transform="pandas")).fit(frame)
    expected = PyODDetector(OutlierRobustPCA(2)).fit(frame)
    assert_near(detector.decision_function(frame), expected.decision_scores_)


# ---- rows of other kinds -------------------------------------------------------------------------


def tables(X):
    return {
        "array": X,
        "list": X.tolist(),
        "float32": X.astype(np.float32),
        "pandas": frame_of("pandas", X),
        "polars": frame_of("polars", X),
        "sparse": sp.csr_array(X),
    }


@pytest.mark.parametrize("name", ["array", "list", "float32", "pandas", "polars", "sparse"])
@each_library
@each_kind
def test_data_frames_are_those_of_scikit_learns_pca(X, kind, library, name):
    pytest.importorskip(library)
    table = tables(X)[name]
    solver = "arpack" if name == "sparse" else "auto"
    theirs = PCA(2, svd_solver=solver, random_state=0).set_output(transform=library)
    model = kind(2).set_output(transform=library)
    for method in ("fit_transform", "transform"):
        Z, other = (getattr(m, method)(table) for m in (model, theirs))
        assert type(Z) is type(other)
        assert list(Z.dtypes) == list(other.dtypes)
        assert list(getattr(Z, "index", [])) == list(getattr(other, "index", []))


@each_library
@each_kind
def test_tensors(X, kind, library):
    torch = torch_or_skip()
    rows = torch.asarray(X.copy())
    model = kind(2).fit(rows)
    expected = model.transform(rows)
    assert isinstance(expected, torch.Tensor)
    assert isinstance(kind(2).fit_transform(rows), torch.Tensor)
    model.set_output(transform=library)
    names = model.get_feature_names_out()
    assert_frame(model.transform(rows), library, names, expected.numpy())
    assert isinstance(model.set_output(transform="default").transform(rows), torch.Tensor)


@each_library
@each_kind
def test_dask_arrays(X, kind, library):
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=(50, 8))
    model = kind(2).fit(rows)
    expected = model.transform(rows)
    assert type(expected) is np.ndarray
    names = model.get_feature_names_out()
    assert_frame(model.set_output(transform=library).transform(rows), library, names, expected)


@each_library
def test_rows_with_missing_cells(X, library):
    holed = X.copy()
    holed[::7, 3] = np.nan
    expected = OutlierRobustPCA(2).fit_transform(holed)
    model = OutlierRobustPCA(2).set_output(transform=library).fit(holed)
    assert_frame(model.transform(holed), library, model.get_feature_names_out(), expected)


# ---- what else reads coordinates -----------------------------------------------------------------


@each_library
@each_kind
def test_inverse_transform_takes_the_data_frame(X, kind, library):
    model = kind(2, whiten=True).set_output(transform=library).fit(frame_of(library, X))
    Z = model.transform(frame_of(library, X))
    expected = model.inverse_transform(Z.to_numpy())
    back = model.inverse_transform(Z)
    assert type(back) is np.ndarray
    assert_near(back, expected)


@each_library
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_without_components_there_are_no_columns(library):
    pytest.importorskip(library)
    rows = np.ones((50, 6))
    model = OutlierRobustPCA().set_output(transform=library).fit(rows)
    Z = model.transform(rows)
    assert Z.shape == (50, 0)
    back = model.inverse_transform(Z)
    assert type(back) is np.ndarray
    np.testing.assert_array_equal(back, rows)


@each_library
def test_explain_follows_the_same_setting(X, library):
    frames = pytest.importorskip(library)
    model = OutlierRobustPCA(2).fit(X)
    assert isinstance(model.explain(X), dict)
    with sklearn.config_context(transform_output=library):
        assert isinstance(model.explain(X), frames.DataFrame)
        model.set_output(transform="default")
        assert isinstance(model.explain(X), dict)
    model.set_output(transform=library)
    assert isinstance(model.explain(X), frames.DataFrame)


@each_library
def test_plots_and_reports_do_not_depend_on_it(X, library, tmp_path):
    pytest.importorskip(library)
    pytest.importorskip("matplotlib")
    from torpca.plots import ScoresDisplay

    model = OutlierRobustPCA(2).fit(X)
    expected = ScoresDisplay.from_estimator(model, X).scores
    torpca.report(model, X, tmp_path / "expected.html", title="rows")
    model.set_output(transform=library)
    found = ScoresDisplay.from_estimator(model, X).scores
    assert_near(found, expected)
    torpca.report(model, X, tmp_path / "found.html", title="rows")
    pages = [(tmp_path / f"{name}.html").read_text() for name in ("found", "expected")]
    assert pages[0] == pages[1]
    with sklearn.config_context(transform_output=library):
        ScoresDisplay.from_estimator(make_pipeline(StandardScaler(), model).fit(X), X)
