"""OutlierRobustPCA on rows that count differently: weights, rows left out, trimming."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from tests._missing import gaussian, holed
from tests._shared import assert_same_fit, some, types_as_labels
from torpca import OutlierRobustPCA, as_source
from torpca._missing.screen import Screen
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def left_out():
    mask = np.zeros(300, dtype=bool)
    mask[[0, 3, 77, 150, 151, 152, 299]] = True
    return mask


@some("scaled and whitened", "a given share")
def test_a_row_of_weight_zero_is_not_there(X, options):
    mask = left_out()
    model = OutlierRobustPCA(3, contamination=0.2, **options)
    without = clone(model).fit(X[~mask])
    model.fit(X, sample_weight=np.where(mask, 0.0, 1.0))
    assert_same_fit(model, without)
    np.testing.assert_array_equal(model.support_[~mask], without.support_)
    assert not model.support_[mask].any()
    assert not model.weights_[mask].any()


@some("scaled")
def test_a_row_of_weight_zero_has_distances_and_a_label(X, options):
    mask = left_out()
    model = OutlierRobustPCA(3, **options).fit(X, sample_weight=np.where(mask, 0.0, 1.0))
    for found, expected in (
        (model.score_distances_, model.distances(X[mask]).score),
        (model.orthogonal_distances_, model.distances(X[mask]).orthogonal),
    ):
        np.testing.assert_allclose(found[mask], expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(model.outlier_type_[mask], model.outlier_types(X[mask]))
    np.testing.assert_array_equal(types_as_labels(model), model.predict(X))


@some("scaled and whitened", "a given share")
def test_a_row_of_weight_two_is_that_row_twice(X, options):
    counts = np.random.default_rng(0).integers(0, 4, 300)
    model = OutlierRobustPCA(3, contamination=0.2, **options)
    twice = clone(model).fit(np.repeat(X, counts, axis=0))
    assert_same_fit(model.fit(X, sample_weight=counts), twice)


def test_a_row_of_weight_two_is_that_row_twice_when_features_are_many():
    rows = make_outlier_subspace(25, 40, 2, 0.1, noise=0.1, random_state=0).X
    model = OutlierRobustPCA(2).fit(rows, sample_weight=np.full(25, 2.0))
    assert_same_fit(model, OutlierRobustPCA(2).fit(np.repeat(rows, 2, axis=0)))


@pytest.fixture(scope="module")
def with_bad_cells():
    """Rows with holes and bad cells, and how often each of them counts."""
    rng = np.random.default_rng(300)
    rows = gaussian(300, 10, 2)
    rows[rng.random(rows.shape) < 0.03] += 4.0
    return holed(rows, 0.2), rng.integers(0, 4, 300)


def test_a_first_look_at_cells_counts_rows_by_their_weights(with_bad_cells):
    rows, counts = with_bad_cells
    weighted, repeated = (
        Screen.of(as_source(X), w, np.random.default_rng(0))
        for X, w in ((rows, counts.astype(float)), (rows.repeat(counts, 0), np.ones(counts.sum())))
    )
    assert np.any(repeated.weights)  # some columns predict others
    for name in ("location", "scale", "weights", "slopes", "spread"):
        found, expected = (getattr(screen, name) for screen in (weighted, repeated))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12, err_msg=name)


def test_a_row_of_weight_two_is_that_row_twice_where_cells_may_be_bad(with_bad_cells):
    rows, counts = with_bad_cells
    model = OutlierRobustPCA(2, cells=True)
    twice = clone(model).fit(rows.repeat(counts, axis=0))
    assert_same_fit(model.fit(rows, sample_weight=counts), twice)
    bad, expected = (np.abs(m.cell_outliers_.toarray()) for m in (model, twice))
    np.testing.assert_array_equal(bad.repeat(counts, axis=0), expected)
    without = clone(model).fit(rows[counts > 0])
    assert_same_fit(clone(model).fit(rows, sample_weight=counts > 0), without)


def test_weights_of_one_change_nothing(X, fitted):
    assert_same_fit(OutlierRobustPCA(3).fit(X, sample_weight=np.ones(300)), fitted)


@pytest.fixture(scope="module")
def without(X):
    return OutlierRobustPCA(3).fit(X, sample_weight=np.where(left_out(), 0.0, 1.0))


@pytest.mark.parametrize(
    "form",
    [
        lambda mask: mask,
        lambda mask: np.flatnonzero(mask).tolist(),
        lambda mask: np.flatnonzero(mask) - 300,  # from the end, as NumPy counts
    ],
    ids=["mask", "list of numbers", "negative numbers"],
)
def test_rows_left_out_by_mask_or_number_have_weight_zero(X, without, form):
    model = OutlierRobustPCA(3).fit(X, leave_out=form(left_out()))
    assert_same_fit(model, without)
    np.testing.assert_array_equal(model.weights_, without.weights_)
    np.testing.assert_array_equal(model.outlier_type_, without.outlier_type_)


def string_index(pd):
    return [f"row {i}" for i in range(300)]


def reversed_index(pd):
    return np.arange(300)[::-1]


def time_index(pd):
    return pd.date_range("2020-01-01", periods=300)


def multi_index(pd):
    return pd.MultiIndex.from_product([range(30), list("abcdefghij")])


@pytest.mark.parametrize(
    "index",
    [
        string_index,
        reversed_index,
        time_index,
        multi_index,
    ],
)
def test_rows_left_out_by_label_have_weight_zero(X, without, index):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).set_axis(index(pd))
    model = OutlierRobustPCA(3).fit(frame, leave_out=list(frame.index[left_out()]))
    assert_same_fit(model, without)
    np.testing.assert_array_equal(model.support_, without.support_)
    np.testing.assert_array_equal(model.outlier_type_, without.outlier_type_)


def test_rows_of_a_frame_left_out_by_mask_or_index_have_weight_zero(X, without):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).set_axis(string_index(pd))
    for names in (pd.Series(left_out(), index=frame.index), frame.index[left_out()]):
        assert_same_fit(OutlierRobustPCA(3).fit(frame, leave_out=names), without)


def test_leave_out_and_weights_go_together(X):
    mask, weights = left_out(), np.arange(300.0)
    model = OutlierRobustPCA(3).fit(X, sample_weight=weights, leave_out=mask)
    expected = OutlierRobustPCA(3).fit(X, sample_weight=np.where(mask, 0.0, weights))
    assert_same_fit(model, expected)
    np.testing.assert_array_equal(weights, np.arange(300.0))  # they are the caller's


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[-1.0, np.ones(299)], "sample_weight must be finite and not negative"),
        (np.r_[np.nan, np.ones(299)], "sample_weight must be finite and not negative"),
        (np.r_[np.inf, np.ones(299)], "sample_weight must be finite and not negative"),
        (np.ones(299), r"sample_weight.shape == \(299,\), expected \(300,\)"),
        (np.ones((300, 2)), r"sample_weight.shape == \(300, 2\), expected \(300,\)"),
        (np.zeros(300), "sample_weight is zero for every row"),
        (np.full(300, 1e-3), "sample_weight sums to 0.3"),
        (np.arange(300.0) == 4, "sample_weight sums to 1"),
    ],
)
def test_bad_weights_are_refused(X, weights, message):
    with pytest.raises(ValueError, match=message):
        OutlierRobustPCA(3).fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (np.zeros(299, dtype=bool), "leave_out has shape.*299.*as a mask, but X has 300 rows"),
        ([3, 300], "leave_out names 1 rows that do not exist, first .*300.*below 300"),
        ([-301], "leave_out names 1 rows"),
        ([1.0, 2.0], "leave_out names 2 rows"),
        (["row 3"], "leave_out names 1 rows.*row 3.*X has no index"),
        (np.ones(300, dtype=bool), "n_samples = 0 rows"),
    ],
)
def test_rows_that_are_not_there_cannot_be_left_out(X, names, message):
    with pytest.raises(ValueError, match=message):
        OutlierRobustPCA(3).fit(X, leave_out=names)


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (string_index, ["row 3", "row 300"]),
        (string_index, [3]),
        (reversed_index, [-1]),
        (time_index, ["first"]),
    ],
)
def test_unknown_labels_are_refused(X, index, names):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).set_axis(index(pd))
    with pytest.raises(ValueError, match=r"leave_out names 1 rows.*labels of the index of X"):
        OutlierRobustPCA(3).fit(frame, leave_out=names)


def test_trimming_nothing_gives_the_subspace_of_pca(X, clean):
    for rows in (clean[:1000], X):
        model, pca = OutlierRobustPCA(3, trim=0).fit(rows), PCA(3, svd_solver="full").fit(rows)
        assert subspace_error(model.components_.T, pca.components_.T) < 1e-8
        assert model.support_.all()


def test_trimming_leaves_out_that_share(clean):
    model = OutlierRobustPCA(3, trim=0.2).fit(clean)
    assert np.sum(model.weights_) == pytest.approx(4000)
    kept = model.orthogonal_distances_[model.support_]
    assert kept.max() <= model.orthogonal_distances_[~model.support_].min()


def test_many_rows_without_weight_do_not_change_the_limits():
    # A third of the rows has no weight: that many are not left out by the fit.
    made = make_outlier_subspace(260, 12, 2, 0.1, noise=0.1, random_state=4)
    there = np.arange(260) < 200
    alone = OutlierRobustPCA(2).fit(made.X[there])
    among = OutlierRobustPCA(2).fit(made.X, sample_weight=there.astype(float))
    for name, limit in alone.cutoffs_.items():
        assert among.cutoffs_[name] == pytest.approx(limit, rel=1e-6)
