"""Numbers that tables hold in practice: fill values, identity numbers, codes, repeated rows."""

import warnings

import numpy as np
import pytest

from torpca import OutlierRobustPCA
from torpca._estimators.origin import far_origin
from torpca._sources import as_source
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

FILLS = [1e12, 9.97e36, 1e155, np.finfo(np.float64).max]


def planted(n=400, seed=0):
    return make_outlier_subspace(
        n, 8, 2, 0.1, outliers="isotropic", noise=0.01, mean=2.0, random_state=seed
    )


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("n", [400, 30_000])
def test_a_fill_value_takes_its_row_out_and_nothing_else(fill, n):
    made = planted(n)
    plain = OutlierRobustPCA().fit(made.X)
    X = made.X.copy()
    rows = np.arange(5, n, 40)
    X[rows, 3] = fill
    model = OutlierRobustPCA().fit(X)
    assert model.n_components_ == plain.n_components_ == 2
    assert subspace_error(model.components_.T, plain.components_.T) < 0.02
    assert np.isin(model.outlier_type_[rows], ["orthogonal", "bad leverage"]).all()
    others = np.setdiff1d(np.arange(n), rows)
    assert np.mean(model.outlier_type_[others] == plain.outlier_type_[others]) > 0.99
    np.testing.assert_array_equal(model.predict(X) == 1, model.outlier_type_ == "regular")


@pytest.mark.parametrize("n", [400, 30_000])
@pytest.mark.parametrize("value", [1e12, 1e15, 1e18])
def test_a_constant_far_from_zero_is_no_feature(value, n):
    made = planted(n)
    plain = OutlierRobustPCA().fit(made.X)
    X = np.insert(made.X, 4, value, axis=1)
    model = OutlierRobustPCA().fit(X)
    np.testing.assert_allclose(model.components_[:, 4], 0.0, atol=1e-12)
    kept = np.delete(model.components_, 4, axis=1)
    # Of many rows other pairs are drawn: cut-offs differ a little.
    assert subspace_error(kept.T, plain.components_.T) < (1e-6 if n < 10_000 else 1e-3)
    assert np.mean(model.outlier_type_ != plain.outlier_type_) <= (0 if n < 10_000 else 3e-3)
    np.testing.assert_array_equal(model.outlier_types(X), model.outlier_type_)


def test_scaled_times_in_nanoseconds_count_as_any_feature():
    made = planted()
    seconds = np.random.default_rng(0).permutation(400) / 4
    X, times = (np.column_stack([made.X, t]) for t in (seconds, 1.7e18 + 1e9 * seconds))
    small, large = (OutlierRobustPCA(scale=True).fit(A) for A in (X, times))
    assert subspace_error(small.components_.T, large.components_.T) < 1e-6
    np.testing.assert_array_equal(small.outlier_type_, large.outlier_type_)


def test_a_point_to_count_from_is_looked_for_only_where_it_is_needed():
    made, ones = planted(), np.ones(400)
    assert far_origin(as_source(made.X), ones) is None
    assert far_origin(as_source(made.X + 1e6), ones) is None
    far = far_origin(as_source(made.X + 1e12), ones)
    assert np.max(np.abs(far - 1e12)) < 100
    assert far_origin(as_source(made.X.astype(np.float32) + np.float32(1e6)), ones) is not None
    bad = made.X.copy()
    bad[:150] = 1e12  # the first rows are no measure
    assert far_origin(as_source(bad), ones) is None
    assert far_origin(as_source(np.zeros((5, 2))), np.ones(5)) is None


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. there are only")
@pytest.mark.parametrize("shape", [(12, 200), (20, 300), (30, 1000)])
def test_few_long_rows_of_noise_have_no_exact_subspace(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    with pytest.warns(RuntimeWarning, match="found no gap"):
        model = OutlierRobustPCA().fit(X)
    assert model.rank_.rule == "edge"
    assert model.rank_.rank == model.n_components_ <= (shape[0] - 1) // 2
    assert np.mean(model.outlier_type_ == "regular") > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_truth_values_are_labelled_alike_when_they_come_again(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((200, 6)) < rng.uniform(0.02, 0.98, 6)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model = OutlierRobustPCA().fit(X)
    np.testing.assert_array_equal(model.outlier_types(X), model.outlier_type_)


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. the rows in the fit form two")
@pytest.mark.parametrize(
    ("points", "k", "said"),
    [(1, 0, "half of the rows are equal"), (2, 1, "copies of only 2 different rows")],
)
def test_rows_that_are_mostly_a_few_points_are_warned_of(points, k, said):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5))
    X[:70] = X[np.arange(70) % points]
    with pytest.warns(RuntimeWarning, match=said):
        model = OutlierRobustPCA().fit(X)
    assert model.n_components_ == k
    assert (model.outlier_type_[:70] == "regular").all()
    assert (model.outlier_type_[70:] != "regular").all()


def test_numbers_that_cannot_be_added_up_are_refused():
    X = 1e307 * np.random.default_rng(0).standard_normal((50, 4))
    with pytest.raises(ValueError, match=r"beyond every float.*Divide X"):
        OutlierRobustPCA().fit(X)


@pytest.mark.parametrize("n", [1000, 21_000])
@pytest.mark.parametrize("seed", range(3))
def test_rows_on_a_line_through_the_midst_both_ways(n, seed):
    # Along the line more than half of the rows are at one point, and the others spread around it.
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5)) * np.linspace(2, 1, 5) @ np.eye(5, 20)
    bad = np.arange(n) < 0.4 * n
    X[bad] = 5 * rng.standard_normal((np.count_nonzero(bad), 1)) * np.eye(20)[5]
    X += 0.05 * rng.standard_normal(X.shape)
    model = OutlierRobustPCA(5).fit(X)
    assert subspace_error(model.components_.T, np.eye(20)[:, :5]) < 0.02
    assert np.mean(model.predict(X[~bad]) == 1) > 0.97
    assert np.mean(model.predict(X[bad]) == -1) > 0.9


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. there are only")
def test_a_number_of_components_that_half_of_the_rows_span_leaves_none_out():
    X = np.random.default_rng(0).standard_normal((20, 200))
    model = OutlierRobustPCA(15).fit(X)
    assert model.n_components_ == 15
    assert np.mean(model.outlier_type_ == "regular") > 0.8


def test_fewer_components_than_were_asked_for_are_warned_of():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    X[:70] = np.outer(rng.standard_normal(70), np.ones(6))
    with pytest.warns(RuntimeWarning, match="vary in only 1 direction,"):
        model = OutlierRobustPCA(3).fit(X)
    assert model.n_components_ == 1


def test_nearly_half_of_the_rows_on_a_line_are_told():
    # The subspace with the line in place of a direction of the good rows is near to as many.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2)) * [2, 1] @ np.eye(2, 5)
    X[:900] = 5 * rng.standard_normal((900, 1)) * np.eye(5)[2]
    X += 0.05 * rng.standard_normal(X.shape)
    model = OutlierRobustPCA(2).fit(X)
    assert subspace_error(model.components_.T, np.eye(5)[:, :2]) < 0.01
    assert np.mean(model.predict(X[:900]) == -1) > 0.9
    assert np.mean(model.predict(X[900:]) == 1) > 0.95
