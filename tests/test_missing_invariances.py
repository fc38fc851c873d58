"""OutlierRobustPCA on rows with holes: what must not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests._missing import apart, holed
from torpca import OutlierRobustPCA, as_source
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

# The last digits decide how soon fits of completed rows end: what they find agrees to a part of
# what chance makes of it, not to the last digit as without holes.
PART = 0.25
# Where only sums are in another order, EM ends after a pass more or less: nearer than this to its
# end, as a part of what chance makes.
LAST_PASS = 0.05
# The same of labels, as a share of the rows.
LABELS = 0.005
seeds = st.integers(0, 2**32 - 1)
several = settings(max_examples=6, deadline=None)


class Case:
    """Rows with holes, their fit, and what chance makes of it."""

    def __init__(self):
        self.made = make_outlier_subspace(
            200, 12, 3, 0.3, outliers="a", noise=0.02, mean=1.0, random_state=0
        )
        self.X = holed(self.made.X, 0.15)
        self.model = OutlierRobustPCA(3).fit(self.X)
        self.error = subspace_error(self.model.components_.T, self.made.basis)

    def assert_same(self, model, *, V=None, types=None, unit=1.0):
        V = model.components_.T if V is None else V
        assert subspace_error(V, self.model.components_.T) < PART * self.error
        types = model.outlier_type_ if types is None else types
        assert np.mean(types != self.model.outlier_type_) <= LABELS
        np.testing.assert_allclose(
            model.explained_variance_ / unit**2, self.model.explained_variance_, rtol=0.02
        )


@pytest.fixture(scope="module")
def case():
    return Case()


@settings(max_examples=2, deadline=None)
@given(seed=seeds, by=st.floats(-50, 50))
def test_order_location_and_unit_together(case, seed, by):
    rng = np.random.default_rng(seed)
    rows, columns, unit = rng.permutation(200), rng.permutation(12), 10.0**by
    model = OutlierRobustPCA(3).fit(unit * (case.X[rows][:, columns] + rng.standard_normal(12)))
    case.assert_same(
        model,
        V=model.components_.T[np.argsort(columns)],
        types=model.outlier_type_[np.argsort(rows)],
        unit=unit,
    )


@pytest.mark.slow
@several
@given(seed=seeds)
def test_the_order_of_the_rows(case, seed):
    order = np.random.default_rng(seed).permutation(200)
    model = OutlierRobustPCA(3).fit(case.X[order])
    case.assert_same(model, types=model.outlier_type_[np.argsort(order)])


@pytest.mark.slow
@several
@given(seed=seeds)
def test_the_order_of_the_columns(case, seed):
    order = np.random.default_rng(seed).permutation(12)
    model = OutlierRobustPCA(3).fit(case.X[:, order])
    case.assert_same(model, V=model.components_.T[np.argsort(order)])


@pytest.mark.slow
@several
@given(seed=seeds, far=st.sampled_from([0.1, 10.0, 1e4]))
def test_a_shift(case, seed, far):
    by = far * np.random.default_rng(seed).standard_normal(12)
    model = OutlierRobustPCA(3).fit(case.X + by)
    case.assert_same(model)
    np.testing.assert_allclose(model.mean_ - by, case.model.mean_, atol=0.01)


@pytest.mark.slow
@several
@given(by=st.floats(-100, 100))
def test_a_factor(case, by):
    case.assert_same(OutlierRobustPCA(3).fit(case.X * 10.0**by), unit=10.0**by)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_a_factor_beyond_squares_is_an_error(case, unit):
    with pytest.raises(ValueError, match="Divide X by a number of that size first"):
        OutlierRobustPCA(3).fit(case.X * unit)


@pytest.mark.slow
@several
@given(block_rows=st.integers(1, 250))
def test_blocks(case, block_rows):
    model = OutlierRobustPCA(3).fit(as_source(case.X, block_rows=block_rows))
    case.assert_same(model)
    np.testing.assert_allclose(
        model.transform(case.X), case.model.transform(case.X), atol=0.1 * case.error
    )


@pytest.mark.slow
def test_the_seed(case):
    case.assert_same(OutlierRobustPCA(3, random_state=7).fit(case.X))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_to_the_last_digit(case):
    model = OutlierRobustPCA(3).fit(case.X)
    np.testing.assert_array_equal(model.components_, case.model.components_)
    np.testing.assert_array_equal(model.orthogonal_distances_, case.model.orthogonal_distances_)


# ---- rows that count differently -----------------------------------------------------------------


def test_a_row_of_weight_zero_is_not_there(case):
    there = np.arange(200) % 5 > 0
    model = OutlierRobustPCA(3).fit(case.X, sample_weight=there.astype(float))
    without = OutlierRobustPCA(3).fit(case.X[there])
    assert apart(model, without) < LAST_PASS * case.error
    assert apart(model, case.model) > 0.5 * case.error  # with the rows that are not there
    assert np.mean(model.outlier_type_[there] != without.outlier_type_) <= LABELS
    assert not model.weights_[~there].any()
    out = OutlierRobustPCA(3).fit(case.X, leave_out=~there)
    np.testing.assert_array_equal(out.components_, model.components_)
    # They have distances all the same.
    np.testing.assert_allclose(
        out.orthogonal_distances_[~there], out.distances(case.X[~there]).orthogonal
    )


@pytest.fixture(scope="module")
def counted(case):
    counts = np.random.default_rng(0).integers(0, 4, 200)
    model = OutlierRobustPCA(3).fit(case.X, sample_weight=counts)
    return counts, model, OutlierRobustPCA(3).fit(np.repeat(case.X, counts, axis=0))


def test_a_row_of_weight_two_is_that_row_twice(case, counted):
    counts, model, twice = counted
    assert apart(model, twice) < LAST_PASS * case.error
    assert np.mean(np.repeat(model.outlier_type_, counts) != twice.outlier_type_) < 0.01
