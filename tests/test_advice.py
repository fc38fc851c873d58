"""What a look at the columns of a table suggests."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from torpca._advice import advice


def table(rng, n=200, d=6):
    return rng.standard_normal((n, d)), [f"f{j}" for j in range(d)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_an_ordinary_table_needs_none(rng):
    assert advice(*table(rng), scaled=False) == []


@pytest.mark.parametrize(("load", "first"), [(load_breast_cancer, "area"), (load_wine, "proline")])
def test_units_that_differ_by_orders(load, first):
    data = load()
    (said,) = advice(data.data, list(data.feature_names), scaled=False)
    assert first in said.split(" hold")[0]
    assert "scale=True" in said
    assert advice(data.data, list(data.feature_names), scaled=True) == []


def test_two_columns_of_seven_can_decide(rng):
    X, names = table(rng, d=7)
    (said,) = advice(X * [1, 1000, 0.01, 5, 300, 1, 2], names, scaled=False)
    assert said.startswith("Columns f1 and f4 hold more than 99.9%")


def test_a_bad_row_is_not_a_unit(rng):
    X, names = table(rng)
    X[:20, 3] = 1e6
    assert advice(X, names, scaled=False) == []


def test_one_unit_whose_columns_differ_little(rng):
    X, names = table(rng)
    assert advice(X * [1, 2, 5, 10, 20, 50], names, scaled=False) == []


def test_constant_columns(rng):
    X, names = table(rng)
    X[:, 2] = 4.5
    (said,) = advice(X, names, scaled=False)
    assert said.startswith("Column f2 has the same value in all rows")
    X[:, 4] = 0.0
    (said,) = advice(X, names, scaled=False)
    assert said.startswith("Columns f2 and f4 have the same value")


@pytest.mark.parametrize(
    "column", [np.arange(200.0), 5 - 0.1 * np.arange(200), 1e9 + np.arange(200)]
)
def test_columns_that_count_rows(rng, column):
    X, names = table(rng)
    X[:, 0] = column
    said = advice(X, names, scaled=False)
    assert said[0].startswith("Column f0 counts the rows")
    assert len(said) == 1


def test_columns_that_count_rows_of_which_some_were_left_out(rng):
    X, names = table(rng)
    X[:, 0] = np.arange(200.0)
    kept = np.delete(np.arange(200), [3, 50, 51])
    assert "f0 counts" in advice(X[kept], names, scaled=False, numbers=kept + 1)[0]
    assert advice(X[kept], names, scaled=False) == []


def test_columns_that_may_be_a_target(rng):
    X, names = table(rng)
    X[:, -1] = rng.integers(0, 3, 200)
    assert advice(X, names, scaled=False)[0].startswith("Column f5 may be a target")
    X[:, 2] = rng.integers(0, 3, 200)  # one of several such columns is not
    assert advice(X, names, scaled=False) == []
    assert advice(X, ["a", "b", "Class", "d", "e", "f"], scaled=False)[0].startswith("Column Class")


def test_few_rows(rng):
    said = advice(rng.standard_normal((5, 3)), list("abc"), scaled=False)
    assert said[0].startswith("5 rows are too few")


def test_holes_and_odd_shapes(rng):
    X, names = table(rng)
    X[rng.random(X.shape) < 0.3] = np.nan
    assert advice(X, names, scaled=False) == []
    X[:, 1] = np.nan
    assert "f1" in advice(X, names, scaled=False)[0]
    assert advice(np.zeros((0, 0)), [], scaled=False) == [
        "0 rows are too few to tell bad rows from "
        "good ones. Do not rely on the results for single rows."
    ]
    digits = load_digits()
    said = advice(digits.data, list(digits.feature_names), scaled=False)
    assert all("target" not in sentence for sentence in said)
