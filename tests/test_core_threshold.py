"""Hard thresholding: which rows are the largest, how many a fraction is, and ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca import torp
from torpca._core.threshold import fraction_count, largest
from torpca.datasets import make_outlier_subspace

quick = settings(max_examples=100, deadline=None)


@quick
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1e-300, 1e300]), max_size=30), st.integers(-1, 31))
def test_largest_agrees_with_a_full_sort(values, count):
    values = np.array(values)
    order = np.lexsort((np.arange(len(values)), -values))  # by value, then by row number
    expected = np.zeros(len(values), dtype=bool)
    expected[order[: max(count, 0)]] = True
    np.testing.assert_array_equal(largest(values, count), expected)


@quick
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.integers(0, 50))
def test_largest_leaves_no_larger_value_behind(values, count):
    values = np.array(values)
    mask = largest(values, count)
    assert mask.sum() == min(count, len(values))
    if mask.any() and not mask.all():
        assert values[mask].min() >= values[~mask].max()


def test_fraction_m_of_n_is_m_rows():
    for n in range(1, 300):
        assert [fraction_count(m / n, n) for m in range(n + 1)] == list(range(n + 1))


@pytest.mark.parametrize(("rho", "n", "count"), [(0.1, 25, 3), (0.001, 25, 1), (1e-15, 25, 1)])
def test_a_fraction_of_a_row_is_a_row(rho, n, count):
    assert fraction_count(rho, n) == count


@pytest.mark.parametrize("center", [False, True])
def test_residuals_that_are_all_rounding_tie(center):
    # Otherwise the order of sums would say which good rows of noiseless data go.
    X, _, bad, _ = make_outlier_subspace(
        300, 20, 3, 0.02, outliers="line", mean=5.0 * center, random_state=0
    )
    found = torp(X, 3, rho=0.06, center=center)
    good = np.flatnonzero(~bad)
    assert not found.support[bad].any()
    assert not found.support[good[:12]].any()  # 6 bad rows, then the first 12 of equal ones
    # The other 18 rows go by incoherence; some may be among the first.
    assert 300 - 36 <= found.support.sum() <= 300 - 18
    assert found.history[-1].objective == 0.0
