"""Warnings point at the user's line, and tell of nothing that does not matter."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests._reports import made
from tests._sources import dask_array_or_skip
from torpca import (
    TORP,
    GaussianTORP,
    NoisyTORP,
    OutlierRobustPCA,
    as_source,
    rivals,
    torp,
    torp_bin,
    torp_g,
    torp_n,
)
from torpca._estimators.settled import MATTERS, still_moving
from torpca._outputs import summary, summary_text
from torpca._report.page import report_html
from torpca._warn import warn
from torpca.datasets import make_outlier_subspace


def ours():
    """A fit of noise, which has no gap in its variances and says so."""
    return OutlierRobustPCA()


# Every public way to fit, each on a line of its own.
FITS = {
    "fit": lambda X: ours().fit(X),
    "fit_transform": lambda X: ours().fit_transform(X),
    "fit_predict": lambda X: ours().fit_predict(X),
    "set_output": lambda X: ours().set_output(transform="default").fit_transform(X),
    "pipeline": lambda X: make_pipeline(StandardScaler(), ours()).fit(X),
    "pipeline, fit_transform": lambda X: make_pipeline(StandardScaler(), ours()).fit_transform(X),
    "pipeline, fit_predict": lambda X: make_pipeline(StandardScaler(), ours()).fit_predict(X),
    "cross-validation": lambda X: cross_val_score(ours(), X, cv=2),
    "rival": lambda X: rivals.fms(X, 2, max_iter=1),
}
# The same for rows that are warned of when they are opened.
OPENS = {
    "as_source": lambda X: as_source(X),
    "OutlierRobustPCA": lambda X: OutlierRobustPCA(2).fit(X),
    "OutlierRobustPCA, fit_transform": lambda X: OutlierRobustPCA(2).fit_transform(X),
    "TORP": lambda X: TORP(2, rho=0.1).fit(X),
    "TORP, fit_transform": lambda X: TORP(2, rho=0.1).fit_transform(X),
    "TORP, fit_predict": lambda X: TORP(2, rho=0.1).fit_predict(X),
    "NoisyTORP": lambda X: NoisyTORP(2, rho=0.05, eta=50.0).fit_transform(X),
    "GaussianTORP": lambda X: GaussianTORP(2, sigma=0.01).fit_predict(X),
    "torp": lambda X: torp(X, 2, rho=0.1),
    "torp_n": lambda X: torp_n(X, 2, rho=0.05, eta=50.0),
    "torp_bin": lambda X: torp_bin(X, 2, rho=0.05, eta=50.0),
    "torp_g": lambda X: torp_g(X, 2, sigma=0.01, center=True),
    "rival": lambda X: rivals.spherical_pca(X, 2),
}


@pytest.fixture(scope="module")
def rows():
    return make_outlier_subspace(200, 8, 2, 0.1, noise=0.01, mean=1.0, random_state=0).X


def assert_points_here(way, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        way(X)
    assert caught
    places = {(entry.filename, entry.lineno) for entry in caught}
    assert places == {(__file__, way.__code__.co_firstlineno)}
    return caught


@pytest.mark.parametrize("way", FITS.values(), ids=FITS)
def test_warnings_of_a_fit_point_at_the_line_of_the_user(way):
    noise = np.random.default_rng(0).standard_normal((400, 60))
    for entry in assert_points_here(way, noise):
        assert entry.category in (RuntimeWarning, ConvergenceWarning)


@pytest.mark.parametrize("way", OPENS.values(), ids=OPENS)
def test_warnings_of_rows_point_at_the_line_of_the_user(way, rows):
    X = dask_array_or_skip().from_array(rows, chunks=(50, 3))
    for entry in assert_points_here(way, X):
        assert "columns split into" in str(entry.message)


def test_a_warning_without_a_user_points_at_the_outermost_line():
    """As in a process that scikit-learn started: there is no line of a user to point at."""
    scope = {"__name__": "torpca.made_up", "warn": warn}
    exec("def inner():\n    warn('something', UserWarning)\n", scope)
    with pytest.warns(UserWarning, match="something") as caught:
        scope["inner"]()
    assert caught[0].filename == __file__


# ---- what matters --------------------------------------------------------------------------------


def test_not_settling_is_warned_of_if_it_matters_and_only_then():
    rng = np.random.default_rng(0)  # with heavy tails, so that it takes many iterations
    noise = 0.2 * rng.standard_t(5, size=(300, 8))
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 8)) + noise
    told, untold = [], []
    for max_iter in range(1, 8):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = OutlierRobustPCA(2, max_iter=max_iter, tol=0.0).fit(X)
        assert not model.converged_
        warned = any("still moved" in str(entry.message) for entry in caught)
        (told if warned else untold).append(model.history_[-1].subspace_change)
    assert min(told) > MATTERS >= max(untold)
    assert min(untold) > 0.0


@pytest.mark.parametrize(
    ("moved", "matters"), [(1e-8, False), (MATTERS, False), (1.01 * MATTERS, True), (0.3, True)]
)
def test_outputs_tell_of_not_settling_if_it_matters(moved, matters):
    told = made(60, 3)
    last = replace(told.history[-1], subspace_change=moved)
    told = replace(told, converged=False, history=(*told.history[:-1], last))
    assert (still_moving(told.converged, told.history) == moved) is matters
    assert ("still moved by" in summary_text(told)) is matters
    page = report_html(told)
    assert ("A warning" in page) is matters
    assert ("did not settle" in page) is matters
    assert ("too little to matter" in page) is not matters
    assert summary(told)["converged"] is False


def test_a_fit_that_converged_is_not_told_of():
    told = made(60, 3)
    last = replace(told.history[-1], subspace_change=0.5)
    assert still_moving(True, (last,)) is None
    assert still_moving(False, ()) == np.inf
