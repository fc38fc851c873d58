"""OutlierRobustPCA on ordinary tables: clean rows, zeros and ones, few rows, NumPy's numbers."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from benchmarks import clean
from tests._shared import warnings_of
from torpca import OutlierRobustPCA
from torpca._core.gram import top_of_gram
from torpca._robust.lines import describe_lines
from torpca.metrics import subspace_error

# ---- clean rows on both sides of every border --------------------------------------------------


@pytest.mark.parametrize("k", clean.COMPONENTS)
@pytest.mark.parametrize("strong", clean.STRONG)
@pytest.mark.parametrize("n", [9999, 10_000])
def test_clean_rows_give_the_same_on_both_sides_of_the_border(n, strong, k):
    found = clean.line("rows", n, 10, strong, k, seeds=1)
    assert found["holds"], found


@pytest.mark.parametrize(("n", "d"), [*clean.BORDERS["features"][1:3], *clean.BORDERS["span"]])
def test_clean_long_rows_give_the_same_on_both_sides_of_the_border(n, d):
    found = clean.line("features", n, d, 3, 3, seeds=1)
    assert found["holds"], found


@pytest.mark.parametrize("n", [100, 400, 2000, 12_000])
@pytest.mark.parametrize("k", [1, 2])
def test_clean_rows_with_a_strong_direction_left_out_are_those_of_pca(n, k):
    X = np.random.default_rng(n).standard_normal((n, 20)) * np.array([9.0, 8.0, 6.0, *np.ones(17)])
    model, plain = OutlierRobustPCA(k).fit(X), PCA(k).fit(X)
    assert np.mean(model.weights_ < 1) <= 0.005
    if n < 10_000:  # else in passes, to below the error by chance
        assert subspace_error(model.components_, plain.components_) < 0.01
    assert np.mean(model.predict(X) == -1) <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize("k", clean.COMPONENTS)
@pytest.mark.parametrize(("n", "d"), clean.BORDERS["rows"])
def test_clean_rows_of_all_sizes_near_the_border(n, d, k):
    if k != "auto" and k >= d:
        pytest.skip("fewer features than components")
    for strong in clean.STRONG:
        found = clean.line("rows", n, d, strong, k, seeds=2)
        assert found["holds"], found


@pytest.mark.parametrize(("n", "d", "k"), [(10_000, 50, 6), (30_000, 12, 4), (100_000, 20, "auto")])
def test_many_rows_without_a_gap_settle_in_a_few_passes(n, d, k):
    X = np.random.default_rng(0).standard_normal((n, d))
    model = OutlierRobustPCA(k).fit(X)
    assert model.converged_
    assert model.n_iter_ < 10
    plain = PCA(model.n_components_, svd_solver="covariance_eigh").fit(X)
    np.testing.assert_allclose(model.explained_variance_, plain.explained_variance_, rtol=0.02)


def test_variances_hold_for_the_subspace_that_is_returned_when_iterations_run_out():
    X = np.random.default_rng(0).standard_normal((12_000, 20))
    for max_iter in (1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            model = OutlierRobustPCA(4, max_iter=max_iter).fit(X)
        assert model.n_iter_ <= max_iter
        scores = np.var(model.transform(X), axis=0, ddof=1)
        np.testing.assert_allclose(model.explained_variance_, scores, rtol=0.05)


# ---- tables of zeros and ones, rows of very different length -----------------------------------


def one_hot(rng, n, d):
    return np.eye(d)[rng.integers(0, d, n)]


def of_any_length(rng, n, d):
    flat = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    return np.exp(rng.normal(0, 6, (n, 1))) * flat


TABLES = {
    "one hot": one_hot,
    "two one hot": lambda rng, n, d: np.hstack([one_hot(rng, n, d), one_hot(rng, n, 3)]),
    "zeros and ones": lambda rng, n, d: (rng.random((n, d)) < rng.random()).astype(float),
    "codes": lambda rng, n, d: rng.integers(0, 3, (n, d)).astype(float),
    "counts": lambda rng, n, d: rng.poisson(0.5, (n, d)).astype(float),
    "any length": of_any_length,
    "float16": lambda rng, n, d: rng.standard_normal((n, d)).astype(np.float16),
    "three points": lambda rng, n, d: rng.standard_normal((3, d))[rng.integers(0, 3, n)],
}


def assert_fits(X, k="auto", sample_weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model = OutlierRobustPCA(k, **options).fit(X, sample_weight=sample_weight)
    assert np.all(np.isfinite(model.components_))
    assert np.all(np.isfinite(model.explained_variance_))
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 9, 19, 21, 28, 29, 49, 58])
def test_an_identity_matrix_is_a_table(n):
    assert_fits(np.eye(n))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", TABLES)
def test_ordinary_tables_have_a_fit(kind, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 100)), int(rng.integers(2, 15))
    X = TABLES[kind](rng, n, d)
    assert_fits(X)
    assert_fits(X, 1)
    assert_fits(X, 1, scale=True)
    assert_fits(X, int(rng.integers(1, min(X.shape) + 1)), sample_weight=3 * rng.random(n))


def test_equal_eigenvalues_are_found():
    for n in range(2, 60):
        V, s = top_of_gram(np.eye(n) - 1 / n, 1)
        assert V.shape == (n, 1)
        np.testing.assert_allclose(s, [1.0])


# ---- few distinct values -----------------------------------------------------------------------


def two_levels(seed, n=4000, d=6, r=2):
    """Rows with coefficients of +-1 in the first r directions."""
    X = np.zeros((n, d))
    X[:, :r] = np.random.default_rng(seed).choice([-1.0, 1.0], (n, r))
    return X


def graded(seed, n=4000, r=2):
    """Three bad rows on one line, graded in size, inside the limits of Theorem 1."""
    X = two_levels(seed, n, r=r)
    X[:3] = 0.0
    X[:3, -1] = [1e7, 1e5, 1e3]
    return X, 3


def scattered(seed, n=4000, r=2):
    """One row in twenty anywhere."""
    X, bad = two_levels(seed, n, r=r), n // 20
    X[:bad] = np.random.default_rng(seed).standard_normal((bad, X.shape[1]))
    return X, bad


@pytest.mark.filterwarnings("ignore:.*depend on where the fit starts:RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_bad_rows_graded_on_a_line_are_told_from_rows_of_two_levels(seed):
    X, bad = graded(seed)
    with pytest.warns(RuntimeWarning, match="half of the rows are copies of only"):
        model = OutlierRobustPCA(2).fit(X)
    assert subspace_error(model.components_.T, np.eye(6)[:, :2]) < 1e-12
    assert np.all(model.predict(X[:bad]) == -1)
    off = np.isin(model.outlier_type_, ["orthogonal", "bad leverage"])
    np.testing.assert_array_equal(off, np.arange(len(X)) < bad)


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("n", [60, 4000])
@pytest.mark.parametrize("make", [graded, scattered])
@pytest.mark.parametrize("r", [1, 2, 3])
def test_few_distinct_values_are_exact_or_warned_of(make, r, n, rotated):
    turn = (
        np.linalg.qr(np.random.default_rng(9).standard_normal((6, 6)))[0] if rotated else np.eye(6)
    )
    for seed in range(2):
        X, _ = make(seed, n, r)
        for k in (r, "auto"):
            model = OutlierRobustPCA(k)
            doubts = warnings_of(model, X @ turn)
            same = model.n_components_ == r
            right = same and subspace_error(model.components_.T, turn[:r].T) < 1e-9
            assert right or doubts


def test_repeated_rows_are_no_reason_for_a_warning_if_they_are_many():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)), 3, axis=0)
    X += 0.01 * np.repeat(rng.standard_normal((200, 6)), 3, axis=0)
    assert not warnings_of(OutlierRobustPCA(2), X)


# ---- few rows ----------------------------------------------------------------------------------


SELDOM = [(8, 0.13), (10, 0.1), (20, 0.06), (30, 0.035)]


@pytest.mark.parametrize(
    ("n", "most"),
    [pytest.param(*case, marks=[pytest.mark.slow] * (case[0] in {10, 30})) for case in SELDOM],
)
@pytest.mark.parametrize(("d", "strong"), [(2, 0), (6, 0), (6, 2)])
def test_few_clean_rows_are_seldom_flagged_or_warned_of(n, most, d, strong):
    flagged = []
    for seed in range(24):
        X = np.random.default_rng(seed).standard_normal((n, d))
        X[:, :strong] *= 10
        model = OutlierRobustPCA(1 if d == 2 else 2)
        doubts = warnings_of(model, X)
        flagged.append(np.mean(model.predict(X) == -1))
        assert flagged[-1] <= 0.07 or doubts
    assert np.mean(flagged) <= most


@pytest.mark.parametrize("n", [8, 10, 15, 20, 30, 50, 100, 400])
def test_the_spread_of_few_numbers_is_not_too_small(n):
    P = np.random.default_rng(n).standard_normal((n, 4000))
    assert np.mean(describe_lines(P, np.ones(n)).inner) == pytest.approx(1.0, abs=0.05)


# ---- options and counts ------------------------------------------------------------------------


@pytest.mark.parametrize("integer", [np.int64, np.int32, np.uint8])
def test_integers_of_numpy_are_integers(integer):
    X = np.random.default_rng(0).standard_normal((60, 40)) * np.linspace(4, 1, 40)
    for k in (1, 5, 20):
        plain, other = (OutlierRobustPCA(number).fit(X) for number in (k, integer(k)))
        assert plain.n_components_ == other.n_components_
        np.testing.assert_array_equal(plain.components_, other.components_)
        np.testing.assert_array_equal(plain.weights_, other.weights_)
        np.testing.assert_array_equal(plain.outlier_type_, other.outlier_type_)


def test_other_numbers_of_numpy_are_numbers():
    X = np.random.default_rng(0).standard_normal((200, 8)) * [5, 4, 3, 1, 1, 1, 1, 1]
    options = {
        "trim": 0.25,
        "sample_size": 100,
        "tol": 1e-6,
        "max_iter": 50,
        "contamination": 0.125,
    }
    kinds = {"sample_size": np.int32, "max_iter": np.int16}
    other = {name: kinds.get(name, np.float32)(value) for name, value in options.items()}
    plain = OutlierRobustPCA(0.75, **options).fit(X)
    model = OutlierRobustPCA(np.float32(0.75), **other).fit(X)
    np.testing.assert_allclose(model.components_, plain.components_)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_a_search_over_a_range_of_numpy_is_one_over_numbers(X):
    found = [
        GridSearchCV(OutlierRobustPCA(), {"n_components": values}, cv=2).fit(X)
        for values in (np.arange(1, 4), [1, 2, 3])
    ]
    for results in zip(*(search.cv_results_["mean_test_score"] for search in found), strict=True):
        assert results[0] == results[1]


ROUTES = {
    "few rows": lambda rng: rng.standard_normal((300, 12)) * np.linspace(3, 1, 12),
    "many rows": lambda rng: rng.standard_normal((12_000, 12)) * np.linspace(3, 1, 12),
    "long rows": lambda rng: rng.standard_normal((60, 20_000)) * np.linspace(3, 1, 20_000),
    "no noise": lambda rng: rng.standard_normal((300, 3)) @ rng.standard_normal((3, 12)),
    "many without noise": lambda rng: (
        rng.standard_normal((12_000, 3)) @ rng.standard_normal((3, 12))
    ),
}


@pytest.mark.parametrize("max_iter", [1, 2, 3, 100])
@pytest.mark.parametrize("route", ROUTES)
def test_all_iterations_count_and_are_told_in_the_same_words(route, max_iter):
    X = ROUTES[route](np.random.default_rng(0))
    X[::10] += 30 * np.random.default_rng(1).standard_normal(X[::10].shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model = OutlierRobustPCA(max_iter=max_iter).fit(X)
    assert 1 <= model.n_iter_ == len(model.history_) <= max_iter
    assert [entry.iteration for entry in model.history_] == list(range(model.n_iter_))
    assert all(set(entry.dropped) == {"residual", "direction"} for entry in model.history_)
    assert sum(model.history_[-1].dropped.values()) + model.history_[-1].n_kept <= len(X)
    if max_iter == 1 and route not in ("noise", "long rows", "few rows") and "noise" not in route:
        assert not model.converged_  # what is exact is so at once, and few rows may be


# ---- sizes beyond squares ----------------------------------------------------------------------


@pytest.mark.parametrize("fill", [1e150, 1e160, 1e300])
@pytest.mark.parametrize("row", [17, 31_000])
def test_one_huge_entry_among_many_rows_changes_its_row_alone(fill, row):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 4)) @ rng.standard_normal((4, 30))
    X += 0.1 * rng.standard_normal(X.shape)
    X[:3000] = 5 * rng.standard_normal((3000, 30))
    plain = OutlierRobustPCA().fit(X)
    X[row, 7] = fill
    model = OutlierRobustPCA().fit(X)
    assert len(model.history_) == len(plain.history_)  # the same way
    others = np.delete(np.arange(len(X)), row)
    np.testing.assert_array_equal(model.support_[others], plain.support_[others])
    assert np.mean(model.outlier_type_[others] != plain.outlier_type_[others]) < 1e-3
    assert model.outlier_type_[row] in ("orthogonal", "bad leverage")
    assert model.orthogonal_distances_[row] == pytest.approx(fill, rel=1.0)
    np.testing.assert_array_equal(model.outlier_types(X[row : row + 1]), model.outlier_type_[row])


def test_noise_whose_squares_are_below_every_float():
    rng = np.random.default_rng(0)
    noise = rng.standard_t(4, (200, 1)) * rng.standard_normal((200, 6))
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.01 * noise
    plain, tiny = (OutlierRobustPCA(2).fit(unit * X) for unit in (1.0, 2.0**-620))
    np.testing.assert_allclose(tiny.components_, plain.components_, atol=1e-9)
    np.testing.assert_array_equal(tiny.weights_ > 0, plain.weights_ > 0)


def test_few_clean_rows_have_the_subspace_of_pca():
    # The spread of few squared residuals is a matter of chance: no reason to weigh rows by it.
    for seed in range(12):
        X = np.random.default_rng(seed).standard_normal((200, 10)) * np.repeat([10.0, 1.0], [3, 7])
        V = OutlierRobustPCA(3, tol=1e-10).fit(X).components_.T
        assert subspace_error(V, PCA(3).fit(X).components_.T) < 1e-12


# ---- columns of few values -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_answers_yes_or_no_are_no_exact_fit():
    # Half of the rows have one answer, or the same answer to two questions: they lie in a subspace.
    flagged = [
        np.mean(
            OutlierRobustPCA().fit_predict(
                (np.random.default_rng(seed).random((300, 8)) < 0.5).astype(float)
            )
            == -1
        )
        for seed in range(8)
    ]
    assert np.median(flagged) < 0.02


def test_answers_from_one_to_five_are_no_exact_fit():
    # Two of these columns are 3 in five rows of six.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 3)) @ rng.standard_normal((3, 8))
    X = np.clip(np.rint(3 + (X + 0.5 * rng.standard_normal(X.shape)) / 2), 1, 5)
    model = OutlierRobustPCA().fit(X)
    assert model.rank_.rule != "exact"
    assert np.mean(model.outlier_type_ != "regular") < 0.03


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("freedom", "seed"), [(3, 3), (3, 4), (2.5, 0), (2.5, 1)])
def test_many_rows_of_heavy_tails_in_all_directions(freedom, seed):
    # As many components as features: all rows lie in the subspace, and only the part by which
    # the fit begins is weighed by its ellipsoid.
    X = np.random.default_rng(seed).standard_t(freedom, (12_000, 8))
    model = OutlierRobustPCA().fit(X)
    assert model.components_.shape[1] == 8
    assert np.mean(model.outlier_type_ != "regular") < 0.2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(6))
def test_rows_of_one_category_each_have_limits(seed):
    # Those that are left out one at a time may all lie in the subspace.
    X = np.eye(60)[np.random.default_rng(seed).integers(0, 60, 600)]
    model = OutlierRobustPCA(scale=True, center=False).fit(X)
    assert all(np.isfinite(limit) for limit in model.cutoffs_.values())
