"""OutlierRobustPCA judges rows by the cells they have."""

import warnings

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests._missing import FEW_CELLS, gaussian, holed
from tests._shared import each_copy, types_as_labels
from torpca import OutlierRobustPCA, load_model, save_model

pytestmark = FEW_CELLS
N, D, K = 4000, 20, 3


@pytest.fixture(scope="module")
def good():
    rows = gaussian(2 * N, D, K)
    rows.flags.writeable = False
    return rows


@pytest.fixture(scope="module")
def X(good):
    """300 rows: good ones, 30 that are off, one with K cells, one with one more and one with 0."""
    rows = holed(good[:300], 0.15)
    rows[:30] += 3 * np.random.default_rng(0).standard_normal((30, D))
    rows[100:103] = np.nan
    rows[101, :K] = good[101, :K]
    rows[102, : K + 1] = good[102, : K + 1]
    rows.flags.writeable = False
    return rows


@pytest.fixture(scope="module")
def model(X):
    return OutlierRobustPCA(K).fit(X)


# ---- how many good rows are flagged --------------------------------------------------------------


def flagged(model, rows):
    return model.predict(rows) == -1


@pytest.mark.parametrize("missing", [0.1, 0.4])
def test_one_in_a_hundred_good_rows_is_flagged(good, missing):
    X, new = holed(good[:N], missing), holed(good[N:], missing, seed=1)
    model = OutlierRobustPCA(K).fit(X)
    for rows in (X, new):
        assert 0.003 < np.mean(flagged(model, rows)) < 0.025
    for distance in model.distances(X):  # half of them by each of the distances
        assert np.all(np.isfinite(distance))
    for kind in ("good leverage", "orthogonal"):
        assert 0.001 < np.mean(model.outlier_type_ == kind) < 0.015


@pytest.mark.parametrize("missing", [pytest.param(0.2, marks=pytest.mark.slow), 0.6])
def test_rows_with_many_holes_are_flagged_no_more_often(good, missing):
    X = holed(good[:N], missing)
    full = np.arange(N) % 2 == 0
    X[full] = good[:N][full]
    model = OutlierRobustPCA(K).fit(X)
    beyond = flagged(model, X)
    counts = np.count_nonzero(beyond[full]), np.count_nonzero(beyond[~full])
    assert 0.003 < np.mean(beyond) < 0.025
    assert binomtest(counts[0], sum(counts), 0.5).pvalue > 1e-3
    assert max(counts) < 2.5 * min(counts)


@pytest.mark.study
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("d", "k"), [(6, 2), (50, 5), (200, 5)])
@pytest.mark.parametrize("missing", [0.1, 0.4])
def test_one_in_a_hundred_good_rows_is_flagged_at_any_size(d, k, missing, seed):
    rows = gaussian(8000, d, k, seed)
    X, new = holed(rows[:4000], missing, seed), holed(rows[4000:], missing, seed + 1)
    model = OutlierRobustPCA(k).fit(X)
    for some in (X, new):
        known = model.outlier_types(some) != "unknown"
        assert 0.003 < np.mean(flagged(model, some)[known]) < 0.025


def test_a_model_of_whole_rows_judges_rows_with_holes(good):
    model = OutlierRobustPCA(K).fit(good[:1000])
    for missing in (0.2, 0.5):
        new = holed(good[N:], missing)
        assert 0.003 < np.mean(flagged(model, new)) < 0.03
    off = good[N:] + 2 * np.random.default_rng(1).standard_normal((N, D))
    assert np.mean(flagged(model, holed(off, 0.2))) > 0.99
    # By the cells it has: one that is off and missing is no reason.
    spoilt = good[N:].copy()
    spoilt[:, 4] = np.nan
    assert np.mean(flagged(model, spoilt)) < 0.03


def test_a_hole_where_a_row_is_bad_makes_it_good(good):
    model = OutlierRobustPCA(K).fit(good[:1000])
    row = good[N : N + 1].copy()
    row[0, 7] += 5.0
    assert flagged(model, row)
    row[0, 7] = np.nan
    assert not flagged(model, row)


# ---- rows of too few cells -----------------------------------------------------------------------


def test_of_rows_with_few_cells_nothing_is_known(model, X):
    few = [100, 101]
    assert np.all(model.outlier_types(X)[few] == "unknown")
    np.testing.assert_array_equal(np.flatnonzero(model.outlier_type_ == "unknown"), few)
    for values in (*model.distances(X), model.score_samples(X), model.decision_function(X)):
        assert np.all(np.isnan(values[few]))
        assert np.count_nonzero(np.isnan(values)) == 2
    assert np.all(model.predict(X)[few] == 1)
    assert np.all(np.isfinite(model.transform(X)))
    # Nothing is known of a row without cells: it is where the mean is.
    np.testing.assert_allclose(model.transform(X)[100], 0.0, atol=1e-9)
    np.testing.assert_allclose(model.impute(X)[100], model.mean_)


def told(X, k, leave_out=None, **options):
    """Warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        OutlierRobustPCA(k, **options).fit(X, leave_out=leave_out)
    return [str(entry.message) for entry in caught]


def test_such_rows_are_warned_of(X):
    with pytest.warns(RuntimeWarning) as record:
        OutlierRobustPCA(K).fit(X)
    assert [str(entry.message) for entry in record] == [
        "X has 2 rows with too few cells to be judged: 100 and 101, counted from 0. They have at "
        "most 3 cells, but at least 4 are needed for 3 components. Their type is 'unknown' and "
        "their distances are NaN. Ask for fewer components, or leave these rows out."
    ]
    assert record[0].filename == __file__


def test_many_such_rows_are_counted(X):
    rows = X.copy()
    rows[200:210, 1:] = np.nan
    (message,) = told(rows, K)
    assert (
        "12 rows with too few cells to be judged: 100, 101, 200, 201, 202 and 7 more, counted"
        in message
    )


def test_fewer_components_are_advised_where_they_help(X):
    (message,) = told(X, K, leave_out=[101])  # the other one has no cells
    assert "1 row with too few cells to be judged: 100, counted from 0. It has 0 cells," in message
    assert message.endswith("distances are NaN. Leave this row out.")
    assert "They have at most 3 good cells" in told(X, K, cells=True)[0]


def test_nothing_is_said_where_all_rows_are_judged(X, good):
    assert told(X, K, leave_out=[100, 101]) == []
    assert told(np.delete(X, [100, 101], axis=0), K) == []
    assert told(good[:300], K) == []


def test_such_rows_have_no_say(model, X):
    rows = np.delete(X, [100, 101], axis=0)
    without = OutlierRobustPCA(K).fit(rows)
    np.testing.assert_allclose(without.components_, model.components_, atol=1e-8)
    assert without.cutoffs_ == pytest.approx(model.cutoffs_, rel=1e-8)
    assert not model.weights_[[100, 101]].any()
    assert model.score(X) == pytest.approx(without.score(rows), rel=1e-8)


def test_a_share_to_label_is_one_of_the_rows_that_are_known(X):
    rows = X.copy()
    rows[200:] = np.nan
    model = OutlierRobustPCA(K, contamination=0.1).fit(rows)
    assert np.count_nonzero(flagged(model, rows)) == 20
    model.set_contamination(0.2)
    assert np.count_nonzero(flagged(model, rows)) == 40


def test_new_rows_without_a_cell(model):
    none = np.full((2, D), np.nan)
    np.testing.assert_array_equal(model.predict(none), [1, 1])
    np.testing.assert_array_equal(model.outlier_types(none), ["unknown", "unknown"])


def test_the_score_of_rows_without_a_cell_is_not_known(model):
    assert np.isnan(model.score(np.full((2, D), np.nan)))


# ---- what the methods say of one another ---------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False, "n_components": 4}])
def test_distances_of_the_rows_of_the_fit_are_those_of_the_model(X, options):
    model = OutlierRobustPCA(**{"n_components": K, **options}).fit(X)
    score, orthogonal = model.distances(X)
    np.testing.assert_allclose(model.score_distances_, score, rtol=1e-8)
    np.testing.assert_allclose(model.orthogonal_distances_, orthogonal, rtol=1e-8)
    np.testing.assert_array_equal(model.outlier_types(X), model.outlier_type_)
    known = model.outlier_type_ != "unknown"
    np.testing.assert_array_equal(types_as_labels(model)[known], model.predict(X)[known])


def test_contributions_sum_to_squared_distances(model, X):
    known = model.outlier_type_ != "unknown"
    for parts, distances in zip(model.contributions(X), model.distances(X), strict=True):
        assert np.all(parts >= 0.0)
        np.testing.assert_allclose(np.sum(parts, axis=1)[known], distances[known] ** 2, rtol=1e-6)


def share_of_holes(rows, k):
    """Of the squared orthogonal distances of rows, the part that cells make that are not there."""
    parts = OutlierRobustPCA(k).fit(rows).contributions(rows).orthogonal
    parts, missing = (
        a[np.count_nonzero(~np.isnan(rows), axis=1) >= 2 * k] for a in (parts, np.isnan(rows))
    )
    assert not np.any(missing[np.arange(len(parts)), np.argmax(parts, axis=1)])
    return np.sum(parts * missing, axis=1) / np.sum(parts, axis=1)


def test_cells_that_are_missing_are_no_reason_to_be_off(good):
    share = share_of_holes(holed(good[:1000], 0.3), K)
    assert np.mean(share) < 0.002
    assert np.max(share) < 0.1


def test_cells_that_are_missing_are_no_reason_to_be_off_if_there_are_few():
    assert np.max(share_of_holes(holed(gaussian(1500, 8, 2), 0.4), 2)) < 0.1


def test_the_cell_that_is_off_contributes_most(good):
    model = OutlierRobustPCA(K).fit(good[:1000])
    rows = holed(good[N : N + 50], 0.3)
    rows[:, 7] = good[N : N + 50, 7] + 5.0
    assert np.all(np.argmax(model.contributions(rows).orthogonal, axis=1) == 7)


def test_coordinates_are_those_of_the_filled_rows(model, X):
    there = np.count_nonzero(~np.isnan(X), axis=1) > K
    np.testing.assert_allclose(
        model.transform(X)[there], model.transform(model.impute(X))[there], atol=0.05
    )


@each_copy
def test_copies_judge_and_fill_alike(model, X, again):
    other = again(model)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    np.testing.assert_array_equal(other.impute(X), model.impute(X))


def test_models_read_from_files_judge_and_fill_alike(model, X, tmp_path):
    save_model(model, tmp_path / "model.npz")
    other = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    np.testing.assert_array_equal(other.impute(X), model.impute(X))


@pytest.mark.slow
def test_stability_and_the_summary_are_there_with_holes(model):
    assert model.stability_.n_components == K
    assert "OutlierRobustPCA" in model._repr_html_()


# ---- pipelines -----------------------------------------------------------------------------------


def test_works_in_a_pipeline(X):
    scaled = StandardScaler().fit_transform(X)  # which leaves NaN where it is
    alone = OutlierRobustPCA(K).fit(scaled)
    together = make_pipeline(StandardScaler(), OutlierRobustPCA(K)).fit(X)
    np.testing.assert_array_equal(together.predict(X), alone.predict(scaled))
    np.testing.assert_array_equal(together.transform(X), alone.transform(scaled))
    assert np.all(np.isfinite(together.transform(X)))


@pytest.mark.slow
def test_judges_better_than_rows_filled_with_medians(good):
    rows = holed(good[:600], 0.3)
    bad = np.arange(600) < 120
    rows[bad] += np.random.default_rng(0).standard_normal((120, D))
    model = OutlierRobustPCA(K).fit(rows)
    by_medians = make_pipeline(SimpleImputer(strategy="median"), OutlierRobustPCA(K)).fit(rows)
    wrong = np.mean(flagged(model, rows) != bad)
    assert wrong < 0.03
    assert np.mean(flagged(by_medians, rows) != bad) > 3 * wrong


# ---- quick ways to the same numbers --------------------------------------------------------------


def test_distances_are_those_of_the_rows_once_they_are_filled(model, X, good):
    rows = np.vstack([X, good[:50]])  # some that have all of their cells
    filled = model.subspace_.completion().completed(np, rows)
    C = filled - model.mean_
    Y = C @ model.components_.T
    few = np.count_nonzero(~np.isnan(rows), axis=1) <= K
    for found, expected in zip(
        model.distances(rows),
        (
            np.linalg.norm(Y / np.sqrt(model.explained_variance_), axis=1),
            np.linalg.norm(C - Y @ model.components_, axis=1),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(found[~few], expected[~few], rtol=1e-10)
        assert np.all(np.isnan(found[few]))
