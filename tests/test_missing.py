"""OutlierRobustPCA on rows with holes: how near it comes to knowing which rows are good."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests._missing import FEW_CELLS, apart, gaussian, holed, oracle
from tests._shared import OPTIONS, UNITS, coinciding_rows
from torpca import OutlierRobustPCA, as_source
from torpca._missing import fit as with_holes
from torpca._robust.algorithm import robust_fit
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def planted(family, fraction, n=2000, d=50, k=5, noise=0.01, seed=0):
    return make_outlier_subspace(
        n, d, k, fraction, outliers=family, noise=noise, mean=1.0, random_state=seed
    )


@pytest.fixture(scope="module")
def small():
    """300 x 12, rank 3, 30 % bad, in units of their own; and the same with holes."""
    made = planted("e", 0.3, 300, 12, 3, 0.02)
    return made, holed(made.X * UNITS, 0.15)


def error_of_chance(made):
    """How far from the truth the subspace of all good rows is, in units that differ."""
    good = (made.X * UNITS)[~made.outliers]
    found = np.linalg.svd(good - good.mean(axis=0), full_matrices=False)[2][:3].T
    return subspace_error(found, np.linalg.qr(UNITS[:, None] * made.basis)[0])


# ---- the subspace --------------------------------------------------------------------------------


def assert_at_the_oracle(family, fraction, missing, seed):
    made = planted(family, fraction, seed=seed)
    X = holed(made.X, missing, seed)
    model = OutlierRobustPCA(5).fit(X)
    least = subspace_error(oracle(X[~made.outliers], 5), made.basis)
    assert subspace_error(model.components_.T, made.basis) <= 1.1 * least
    assert np.mean(model.predict(X)[made.outliers] == -1) > 0.97
    assert np.mean(model.predict(X)[~made.outliers] == -1) < 0.025


@pytest.mark.parametrize(
    ("family", "fraction", "missing"),
    [("b", 0.2, 0.4), ("d", 0.2, 0.05), ("e", 0.4, 0.2)],
)
def test_the_subspace_is_at_the_oracle(family, fraction, missing):
    assert_at_the_oracle(family, fraction, missing, seed=0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_column_that_is_mostly_empty_spoils_nothing_with_few_features(seed):
    """As many directions as a row has cells fit anything: those that have the cell looked bad."""
    made = make_outlier_subspace(300, 10, 4, 0.1, noise=0.05, random_state=seed)
    X = made.X.copy()
    X[np.random.default_rng(seed).random(300) < 0.7, seed] = np.nan
    with pytest.warns(RuntimeWarning, match="few numbers"):
        model = OutlierRobustPCA(4).fit(X)
    assert np.mean(model.predict(X)[~made.outliers] == -1) < 0.05


def test_the_subspace_of_many_rows_is_at_the_oracle():
    """Of which a part goes first, and more of them next; most of the holes in a few columns."""
    made = planted("e", 0.05, 7000, 500, 2, noise=0.1)
    X = holed(made.X, 0.02)
    X[:, :50] = np.where(np.isnan(holed(X[:, :50], 0.4, 1)), np.nan, X[:, :50])
    model = OutlierRobustPCA(2).fit(X)
    least = subspace_error(oracle(X[~made.outliers], 2), made.basis)
    assert subspace_error(model.components_.T, made.basis) <= 1.05 * least


@pytest.mark.study
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("missing", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("fraction", [0.2, 0.4])
@pytest.mark.parametrize("family", "abcde")
def test_the_subspace_is_at_the_oracle_in_every_case(family, fraction, missing, seed):
    assert_at_the_oracle(family, fraction, missing, seed)


@pytest.mark.parametrize(
    ("family", "fraction"),
    [
        ("b", 0.4),
        *(pytest.param(family, 0.4, marks=pytest.mark.slow) for family in "ace"),
        pytest.param("d", 0.2, marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:.*depend on where the fit starts")
def test_rows_without_noise_are_recovered(family, fraction):
    made = planted(family, fraction, 400, 20, 3, noise=0.0)
    X = holed(made.X, 0.2, seed=5)
    model = OutlierRobustPCA(3).fit(X)
    assert subspace_error(model.components_.T, made.basis) < 1e-6
    np.testing.assert_allclose(model.impute(X)[~made.outliers], made.X[~made.outliers], atol=1e-6)


def test_enormous_rows_change_nothing():
    made = planted("a", 0.2, 400, 20, 3)
    expected = OutlierRobustPCA(3).fit(holed(made.X, 0.2))
    wild = np.flatnonzero(made.outliers)
    X = made.X.copy()
    X[wild[:30]] *= 1e150
    X[wild[30:32]] *= 1e300
    X = holed(X, 0.2)
    model = OutlierRobustPCA(3).fit(X)
    error = subspace_error(expected.components_.T, made.basis)
    assert apart(model, expected) < 0.1 * error
    assert np.all(model.predict(X)[wild[:32]] == -1)
    for values in (model.transform(X), model.impute(X), *model.distances(X)):
        assert np.all(np.isfinite(values))


# ---- holes that are few or none ------------------------------------------------------------------


def test_without_holes_nothing_is_different(monkeypatch, small):
    # What the fit that knows nothing of holes finds, to the last digit; distances are measured
    # again and may differ in that.
    X = small[0].X * UNITS
    monkeypatch.setattr(with_holes, "fit_incomplete", None)
    model = OutlierRobustPCA(3).fit(X)
    options, rng = model._options(), np.random.default_rng(0)
    alone = robust_fit(as_source(X), options, np.ones(300), rng)
    np.testing.assert_array_equal(model.components_.T, alone.V)
    np.testing.assert_array_equal(model.mean_, alone.mean)
    for name in ("orthogonal_distances", "score_distances"):
        np.testing.assert_allclose(getattr(model, f"{name}_"), getattr(alone, name), rtol=1e-10)
    np.testing.assert_array_equal(model.weights_, alone.weights)
    np.testing.assert_array_equal(model.impute(X), X)


def test_one_hole_changes_next_to_nothing(small):
    made, _ = small
    X = made.X * UNITS
    whole = OutlierRobustPCA(3).fit(X)
    X[7, 3] = np.nan
    model = OutlierRobustPCA(3).fit(X)
    assert apart(model, whole) < 0.2 * error_of_chance(made)
    assert np.count_nonzero(model.outlier_type_ != whole.outlier_type_) <= 1
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=0.01)


def test_one_hole_among_many_rows():
    made = planted("b", 0.3, 20_000, 40, 3)
    whole = OutlierRobustPCA(3).fit(made.X)
    X = made.X.copy()
    X[15_000, 7] = np.nan
    model = OutlierRobustPCA(3).fit(X)
    assert apart(model, whole) < 0.2 * subspace_error(whole.components_.T, made.basis)
    assert np.mean(model.predict(X) != whole.predict(made.X)) < 1e-3


# ---- options -------------------------------------------------------------------------------------

CASES = {
    "scaled and whitened": OPTIONS["scaled and whitened"],
    "not centred": OPTIONS["not centred"],
    "a given share": OPTIONS["a given share"],
    "share explained": {"n_components": 0.9},
    "share to label": {"contamination": 0.1},
}


SLOW = dict.fromkeys(["scaled and whitened", "share explained", "not centred"], pytest.mark.slow)


@pytest.mark.parametrize(
    "options",
    [pytest.param(CASES[name], id=name, marks=SLOW.get(name, ())) for name in CASES],
)
def test_options_mean_what_they_mean_without_holes(small, options):
    made, X = small
    full, options = made.X * UNITS, {"n_components": 3, **options}
    model, whole = OutlierRobustPCA(**options).fit(X), OutlierRobustPCA(**options).fit(full)
    assert model.n_components_ == whole.n_components_
    assert apart(model, whole) < 0.05
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=0.1)
    # Two components for rows that have three: the third is noise, and bad rows are hardly off it.
    few = 0.15 if options["n_components"] == 0.9 else 0.05
    assert np.mean(model.predict(X) != whole.predict(full)) < few
    if "contamination" in options:
        assert np.count_nonzero(model.predict(X) == -1) == 30
    if "scale" in options:  # of the cells of the rows that count
        w = model.weights_[:, None] * ~np.isnan(X)
        mean = np.sum(w * np.nan_to_num(X), axis=0) / np.sum(w, axis=0)
        squares = np.sum(w * np.square(np.nan_to_num(X - mean)), axis=0) / np.sum(w, axis=0)
        np.testing.assert_allclose(model.scale_, np.sqrt(squares), rtol=0.01)
    if "whiten" in options:
        good = model.weights_ == 1
        np.testing.assert_allclose(np.std(model.transform(X)[good], axis=0), 1.0, rtol=0.15)
    if "center" in options:
        assert not np.any(model.mean_)


@FEW_CELLS
def test_as_many_directions_as_features_allow():
    # The first completion then has the directions of the fit already.
    X = gaussian(200, 3, 2)
    model = OutlierRobustPCA(2).fit(holed(X, 0.15))
    assert apart(model, OutlierRobustPCA(2).fit(X)) < 0.05


def test_the_number_of_components_is_found_with_holes():
    X = gaussian(300, 20, 5, noise=0.05)
    assert OutlierRobustPCA().fit(holed(X, 0.2)).n_components_ == 5


# ---- tables of any kind --------------------------------------------------------------------------


def all_ok(X, k):
    """Fit, and check what holds for any table: nothing is NaN that need not be."""
    model = OutlierRobustPCA(k).fit(X)
    count = np.count_nonzero(~np.isnan(X), axis=1)
    few = (count <= model.n_components_) & (count < X.shape[1])
    filled, errors = model.impute(X, return_std=True)
    for values in (model.components_, model.mean_, model.transform(X), filled, errors):
        assert np.all(np.isfinite(values))
    there = ~np.isnan(X)
    np.testing.assert_array_equal(filled[there], X[there])
    assert np.all(errors[there] == 0.0)
    if not there.all():
        np.testing.assert_array_equal(np.isnan(model.orthogonal_distances_), few)
        np.testing.assert_array_equal(model.outlier_type_ == "unknown", few)
    np.testing.assert_array_equal(model.outlier_types(X), model.outlier_type_)
    assert np.all(model.predict(X)[few] == 1)
    return model


@settings(max_examples=6, deadline=None)
@given(
    st.integers(4, 25),
    st.integers(2, 7),
    st.integers(1, 2),
    st.sampled_from([0.05, 0.2, 0.4]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. ", "ignore:X has few numbers")
@FEW_CELLS
def test_small_tables_are_fitted_or_refused_with_words(n, d, k, share, whole, seed):
    rng = np.random.default_rng(seed)
    X = 3 * rng.standard_normal((n, d))
    X = holed(np.round(X) if whole else X, share, seed)
    X[:, 0] = rng.standard_normal(n)  # so that a row is never without a cell
    try:
        all_ok(X, k)
    except ValueError as error:
        words = ("Only ", "No row ", "Input X contains NaN only", "n_components=")
        if not str(error).startswith(words):
            raise


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. half of the rows are equal")
def test_rows_that_are_all_the_same():
    X = np.ones((20, 5))
    X[3, 1] = np.nan
    model = OutlierRobustPCA().fit(X)
    assert np.all(model.predict(X) == 1)
    np.testing.assert_allclose(model.impute(X), 1.0)


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. half of the rows are equal")
@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. the good rows vary in only 1 direction")
def test_rows_that_coincide():
    rows, bad = coinciding_rows()
    rows[[0, 1, 2], [3, 4, 5]] = np.nan
    model = all_ok(rows, 2)
    assert np.all(model.predict(rows)[bad] == -1)
    np.testing.assert_allclose(model.impute(rows)[:3], 0.0, atol=1e-6)
