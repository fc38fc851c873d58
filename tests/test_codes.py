"""Flagged rows that are a group with a value of its own in a column of codes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpca import OutlierRobustPCA
from torpca._estimators.codes import FEWEST, code_of
from torpca._sources.codes import MOST_VALUES


def table(share, n=300, seed=0):
    """Rows of three strong directions and a column of zeros and ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 10)) + 0.5 * rng.standard_normal(
        (n, 10)
    )
    return np.column_stack([X, rng.random(n) < share]).astype(float)


def warnings_of(X, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        OutlierRobustPCA(3, **options).fit(X)
    return " ".join(str(w.message) for w in caught)


def test_the_value_and_its_shares_are_found():
    X = table(0.3)
    ones = X[:, -1] == 1
    flagged = ones.copy()
    flagged[np.flatnonzero(~ones)[:5]] = True
    flagged[np.flatnonzero(ones)[:2]] = False
    found = code_of(X, flagged)
    assert (found.feature, found.value) == (10, 1.0)
    assert found.among_flagged == pytest.approx(np.mean(ones[flagged]))
    assert found.among_others == pytest.approx(np.mean(ones[~flagged]))


@given(st.integers(0, 10_000))
def test_the_order_of_rows_and_columns_does_not_matter(seed):
    X = table(0.3)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    found = code_of(X[rows][:, columns], X[rows, -1] == 1)
    assert columns[found.feature] == 10
    assert found.value == 1.0


def test_a_sensor_that_is_stuck_is_no_code():
    X = table(0.3)[:, :-1]
    X[:60, 2] = 0.0  # the others have all kinds of numbers there
    assert code_of(X, np.arange(len(X)) < 60) is None


def test_a_column_of_many_values_is_no_code():
    X = table(0.3)
    flagged = X[:, -1] == 1
    X[~flagged, -1] = np.arange(np.count_nonzero(~flagged)) % (MOST_VALUES - 1)
    X[flagged, -1] = 50.0
    assert code_of(X, flagged) is not None
    X[~flagged, -1] = np.arange(np.count_nonzero(~flagged)) % MOST_VALUES
    assert code_of(X, flagged) is None


def test_few_flagged_rows_or_most_of_them_are_no_group():
    X = table(0.3)
    for count in (0, FEWEST - 1, 200):
        X[:, -1] = flagged = np.arange(len(X)) < count
        assert code_of(X, flagged) is None


def test_missing_values_are_no_values():
    X = table(0.3)
    flagged = X[:, -1] == 1
    X[::7, -1] = np.nan
    assert code_of(X, flagged).feature == 10
    X[:, -1] = np.nan
    assert code_of(X, flagged) is None


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("n", [300, 3000])
def test_a_group_of_a_code_is_warned_of(share, n):
    said = warnings_of(table(share, n), scale=True)
    assert "of the flagged rows have 1 in column 10, and 0% of the others do" in said
    # As they are, ones and zeros are no farther apart than the noise is wide.
    assert "in column 10" not in warnings_of(table(share, n))


def test_the_column_is_called_by_its_name():
    X = pd.DataFrame(table(0.3), columns=[*"abcdefghij", "sex"])
    assert "have 1 in column 'sex'" in warnings_of(X, scale=True)


def test_bad_rows_are_not_a_group():
    X = table(0.3)
    rng = np.random.default_rng(1)
    X[:40, :10] += 5 * rng.standard_normal((40, 10))
    assert "in column" not in warnings_of(X)
