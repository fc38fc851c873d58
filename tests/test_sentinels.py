"""Numbers that stand for a missing value: those that are named, and those that are not."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from torpca import OutlierRobustPCA
from torpca._estimators.sentinels import Sentinel, sentinels


def column(value, times, middle=0.0, spread=1.0, n=200):
    X = middle + spread * np.random.default_rng(0).normal(size=(n, 2))
    X[:times, 1] = value
    return X


@pytest.mark.parametrize("value", [-999.0, 999.9, -9999.0, 9999.0, 99999.0, -999.25, 1e20, 1e30])
@pytest.mark.parametrize("single", [False, True])
def test_well_known_ones_are_named_if_they_are_there_once(value, single):
    X = column(value, 1, 5.0).astype(np.float32 if single else np.float64).astype(np.float64)
    (found,) = sentinels(X)
    assert (found.feature, found.times) == (1, 1)
    assert f"{found.value:g}" == f"{value:g}"


def test_two_of_them_in_a_column_do_not_hide_each_other():
    X = column(-999.0, 1)
    X[1, 1] = 9999.0
    assert {(s.value, s.times) for s in sentinels(X)} == {(-999.0, 1), (9999.0, 1)}


def test_twice_and_ten_standard_deviations_out():
    assert sentinels(column(999.0, 2, 500.0, 50.0)) == [Sentinel(1, 999.0, 2)]


@pytest.mark.parametrize("value", [0.0, 9.0, -9.0, 99.0, -1.0])
def test_numbers_that_mean_other_things_too_must_be_there_twice(value):
    middle = -50.0 if value >= 0 else 50.0
    assert sentinels(column(value, 1, middle)) == []
    assert sentinels(column(value, 2, middle)) == [Sentinel(1, value, 2)]


@pytest.mark.parametrize(
    "X",
    [
        column(1000.0, 1, 5.0),  # an ordinary outlier
        column(999.0, 1, 900.0, 40.0),  # within reach
        column(999.0, 1, n=10),  # too few others
    ],
    ids=["outlier", "near", "few"],
)
def test_what_is_not_named(X):
    assert sentinels(X) == []


def test_a_long_tail_may_end_at_999():
    x = np.exp(1.5 * np.random.default_rng(0).normal(size=200))
    x[np.argmax(x)] = 2.5 * np.max(x)
    X = (x / np.max(x) * 999.0)[:, None]
    assert np.max(X) == 999.0
    assert sentinels(X) == []


def test_no_false_alarms():
    rng = np.random.default_rng(0)
    for load in (load_wine, load_breast_cancer, load_digits):
        X = load().data
        assert sentinels(X) == []
        assert sentinels(np.rint(1000 * X)) == []
    for n in (20, 100, 1000):
        size = 10.0 ** rng.uniform(-1, 5, 500)
        for X in (rng.normal(size=(n, 500)) * size, np.exp(rng.normal(size=(n, 500))) * size):
            assert sentinels(X) == []
            assert sentinels(np.rint(X)) == []


def test_the_warning_says_1_row():
    X = np.random.default_rng(0).normal(size=(100, 5))
    X[3, 2] = -999.0
    with pytest.warns(RuntimeWarning, match=r"column 2 has -999 in 1 row, far from .*=\[-999\]"):
        OutlierRobustPCA(2).fit(X)
    X[3, 2] = -998.0
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*means? missing")
        OutlierRobustPCA(2).fit(X)
