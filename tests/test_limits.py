"""One pair of limits, for rows of the fit and for new ones: shares of good rows beyond them."""

import numpy as np
import pytest
from scipy.stats import chi2

from benchmarks.clean import new_line
from torpca import OutlierRobustPCA
from torpca._estimators.limits import clear_of_ties
from torpca._robust.law import Cumulants, common_limit, score_laws
from torpca._robust.limits import (
    Limits,
    error_of_fit,
    fitted_limits,
    good_rows,
    new_rows,
)

SMALL = pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")


def clean(n, d, strong=3, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[:, :strong] *= 10
    return X + 5


# ---- shares -------------------------------------------------------------------------------------

# Rows, features, spectrum, components: on all rows, in their span, with no gap, in passes.
ROUTES = [
    (100, 10, "3 strong", 3),
    (100, 20, "equal", 3),
    (100, 500, "3 strong", 3),
    (500, 20, "3 strong", 3),
    (400, 3000, "3 strong", 3),
    (12_000, 10, "3 strong", 3),
    (12_000, 10, "equal", 3),
]


# Of 3000 rows of the fit a share of .5 % is known to .13 %.
@SMALL
@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "spectrum", "k"), ROUTES)
def test_about_one_in_a_hundred_good_rows_is_flagged(n, d, spectrum, k):
    found = new_line(n, d, spectrum, k, max(2, 3000 // n))
    assert 0.003 <= found["of the fit"] <= 0.015
    assert 0.005 <= found["new"] <= 0.02


@SMALL
def test_with_few_rows_fewer_of_the_fit_are_flagged_and_more_new_ones():
    few, many = (new_line(n, 20, "3 strong", 3, 4000 // n) for n in (50, 2000))
    assert few["of the fit"] < 0.007 < 0.01 < few["new"] < 0.025
    assert abs(many["of the fit"] - many["new"]) < 0.006
    assert 0.006 < many["new"] < 0.014


# Two strong directions among 199 others are left out: squared residuals are those two and a
# constant, which is further from Gaussian than the cut-off allows for.
MISSED = [(30, 200, "3 strong", 1)]


@SMALL
@pytest.mark.study
@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("d", [2, 20, 200])
def test_about_one_in_a_hundred_good_rows_is_flagged_at_every_size(n, d):
    spectra = ["equal", "3 strong", "slow decay"] if d > 3 else ["equal", "slow decay"]
    for spectrum in spectra:
        for k in (1, 3, 5):
            if k <= d and (n, d, spectrum, k) not in MISSED:
                found = new_line(n, d, spectrum, k, max(3, 3000 // n))
                # Some fits to 30 rows take good ones for bad.
                least, most = (0.0, 0.04) if n == 30 else (0.002, 0.022)
                assert least <= found["of the fit"] <= most, found
                assert least <= found["new"] <= most, found


@SMALL
def test_noise_of_several_sizes_has_a_long_tail():
    # Two moments alone flag three times as many.
    R = np.sqrt(100 * chi2.rvs(1, size=10_000, random_state=0) + 200)
    tail = Cumulants(300.0, 2e4, 8e6).tail
    assert np.mean(np.sqrt(common_limit(tail, tail, 0.005)) < R) == pytest.approx(0.005, abs=0.002)
    two = 300 / 9 * chi2.isf(0.005, 9)
    assert np.mean(np.sqrt(two) < R) > 0.012


def test_a_few_mild_outliers_do_not_open_the_limits():
    X = clean(300, 50)
    alone = OutlierRobustPCA(3).fit(X)
    rng = np.random.default_rng(1)
    X[:6, 3:] *= 1.6 + 0.1 * rng.random((6, 1))
    model = OutlierRobustPCA(3).fit(X)
    assert model.cutoffs_["orthogonal"] < 1.04 * alone.cutoffs_["orthogonal"]
    later = clean(500, 50, seed=2)
    later[:, 3:] *= 1.6
    assert np.mean(model.predict(later) == -1) > 0.97


# ---- the parts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "k"), [(100, 10, 3), (100, 200, 3), (200, 50, 5)])
def test_left_out_rows_say_what_new_ones_are_like(n, d, k):
    sd = np.where(np.arange(d) < 3, 10.0, 1.0)
    found, expected = [], []
    for seed in range(30):
        X = np.random.default_rng(seed).standard_normal((n, d)) * sd
        X -= X.mean(axis=0)
        _, s, Vt = np.linalg.svd(X, full_matrices=False)
        new = new_rows(X, np.ones(n), k, n_features=d, center=True)
        # The covariance of new rows' residuals, and their scores' variance, as they are.
        S = (np.eye(d) - Vt[:k].T @ Vt[:k]) * sd
        A = S @ S.T
        score = np.sum(np.square(Vt[:k] * sd) / s[:k, None] ** 2) * (n - 1) * (n - k - 2) / k / n
        traces = [np.trace(np.linalg.matrix_power(A, e)) for e in (1, 2, 3)]
        cumulants = new.of_new.mean, new.of_new.variance / 2, new.of_new.third / 8
        unit = new.of_fit.mean / (np.sum(s[k:] ** 2) / n)
        found.append([new.score, *(c / unit**e for c, e in zip(cumulants, (1, 2, 3), strict=True))])
        expected.append([min(score, 1.0), *traces])
    errors = np.mean(found, axis=0) / np.mean(expected, axis=0) - 1
    assert np.all(np.abs(errors) < [0.06, 0.025, 0.1, 0.45])


@SMALL
@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_noise_may_be_small_beside_the_rows(noise):
    sd = np.where(np.arange(20) < 3, 1.0, noise)
    shares = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = OutlierRobustPCA(3).fit(rng.standard_normal((40, 20)) * sd)
        later = model.outlier_types(rng.standard_normal((2000, 20)) * sd)
        shares.append(np.mean(np.isin(later, ["orthogonal", "bad leverage"])))
    assert 0.003 <= np.mean(shares) <= 0.022


def test_a_direction_that_a_row_spans_by_itself_is_no_measure():
    X = np.random.default_rng(0).standard_normal((30, 6)) * [3, 2, 0, 0, 0, 0]
    X[0, 5] = 1
    found = new_rows(X, np.ones(30), 1, n_features=6, center=True)
    assert 0 < found.score <= 1
    assert np.isfinite([found.of_new.mean, found.of_new.variance, found.of_new.third]).all()


@pytest.mark.parametrize("d", [6, 100])
def test_a_table_of_every_row_twice_has_the_limits_of_the_table(d):
    X = clean(60, d)
    once = OutlierRobustPCA(2).fit(X).cutoffs_
    for twice in (
        OutlierRobustPCA(2).fit(np.repeat(X, 2, axis=0)),
        OutlierRobustPCA(2).fit(X, sample_weight=np.full(60, 2.0)),
    ):
        assert twice.cutoffs_ == pytest.approx(once, rel=1e-6)


def test_a_row_of_weight_two_is_that_row_twice():
    X = clean(60, 6)
    weights = np.where(np.arange(60) < 15, 2.0, 1.0)
    twice = np.repeat(np.arange(60), weights.astype(int))
    found = OutlierRobustPCA(2).fit(X, sample_weight=weights)
    expected = OutlierRobustPCA(2).fit(X[twice])
    assert found.cutoffs_ == pytest.approx(expected.cutoffs_, rel=1e-6)


@pytest.mark.parametrize("k", [1, 4])
def test_score_distances_have_the_two_laws(k):
    # 4000 tables of 40 rows: all of them, and another row.
    rng, n = np.random.default_rng(0), 40
    of_fit, new = [], []
    for _ in range(4000):
        X = rng.standard_normal((n + 1, k))
        C = X[:n] - X[:n].mean(axis=0)
        inverse = np.linalg.inv(C.T @ C / (n - 1))
        of_fit.extend(np.einsum("ij,jk,ik->i", C, inverse, C))
        x = X[n] - X[:n].mean(axis=0)
        new.append(x @ inverse @ x)
    laws = score_laws(n, k, center=True)
    for found, tail in zip((of_fit, new), laws, strict=True):
        for level in (0.5, 0.05):
            limit = common_limit(tail, tail, level)
            assert np.mean(np.array(found) > limit) == pytest.approx(level, rel=0.15)
            assert tail(limit) == pytest.approx(level)
    # Of rows of both kinds as many are beyond the limit as should be.
    limit = np.sqrt(common_limit(*laws, 0.05))
    beyond = [np.mean(np.sqrt(squares) > limit) for squares in (of_fit, new)]
    assert np.mean(beyond) == pytest.approx(0.05, abs=0.005)
    assert beyond[0] < 0.05 < beyond[1]


def test_cumulants_come_back_from_their_law():
    # Squares of a sum of 3 noises of one size and 2 of another.
    noise = np.random.default_rng(0).standard_normal((200_000, 5))
    q = np.sum(noise**2 * [1, 1, 1, 4, 4], axis=1)
    tail = Cumulants(11.0, 70.0, 8 * (3 + 2 * 64.0)).tail
    for level in (0.2, 0.01, 0.001):
        limit = common_limit(tail, tail, level)
        assert np.mean(q > limit) == pytest.approx(level, rel=0.25)
        assert tail(limit) == pytest.approx(level)


def test_the_law_of_points_on_a_sphere_follows_from_the_singular_values():
    squares = np.array([36.0, 9.0, 4.0, 1.0, 1.0])
    U = np.random.default_rng(0).standard_normal((400_000, 8))
    q = np.square(U / np.linalg.norm(U, axis=1)[:, None])[:, :5] @ squares
    law = Cumulants.on_sphere(squares, 8)
    assert law.mean == pytest.approx(np.mean(q), rel=0.01)
    assert law.variance == pytest.approx(np.var(q), rel=0.01)
    # Gaussian noise of the same variances, of very many rows.
    law = Cumulants.on_sphere(1e9 * squares, 1e9)
    one, two, three = (np.sum(squares**e) for e in (1, 2, 3))
    assert (law.mean, law.variance, law.third) == pytest.approx((one, 2 * two, 8 * three), rel=1e-5)
    # Noise of one size has nothing in common; where there is none, nothing can be said.
    assert Cumulants.on_sphere(np.full(5, 1e9), 1e9).shift == pytest.approx(0, abs=1e-6)
    assert Cumulants.on_sphere(np.zeros(5), 8) is None
    assert Cumulants.on_sphere(np.ones(8), 8) is None


def test_rows_that_a_fit_left_out_though_they_are_near_count_in_limits():
    keep, z = np.array([1.0, 0.5, 0.0, 0.0, 0.0]), np.array([0.0, 2.2, 2.7, 1.0, 9.0])
    # The fourth row was left out for another reason.
    assert good_rows(keep, z, 2.5).tolist() == [1, 1, 1, 0, 0]
    assert good_rows(keep, z, 7.0).tolist() == keep.tolist()


@SMALL
def test_points_of_zeros_and_ones_are_not_flagged_by_the_dozen():
    X = (np.random.default_rng(1).random((400, 8)) < 0.5).astype(float)
    model = OutlierRobustPCA("auto").fit(X)
    assert np.mean(model.predict(X) == -1) < 0.02


@pytest.mark.parametrize("k", [0, 1, 3])
def test_residuals_of_new_rows_have_the_error_of_the_fit(k):
    # Regression on k known scores and a mean: what is left of a new row, over the noise.
    rng, n = np.random.default_rng(0), 12
    left = []
    for _ in range(20_000):
        A = np.column_stack([np.ones(n + 1), rng.standard_normal((n + 1, k))])
        y = rng.standard_normal(n + 1)
        left.append(y[n] - A[n] @ np.linalg.lstsq(A[:n], y[:n], rcond=None)[0])
    # To first order in k/n: the scores of twelve rows are not exactly uncorrelated.
    assert np.std(left) == pytest.approx(error_of_fit(n, k), rel=0.01 + 0.04 * k)


@SMALL
def test_the_number_of_features_is_known_in_the_span_of_the_rows():
    X = clean(60, 400)
    C = X - X.mean(axis=0)
    U, s, _ = np.linalg.svd(C, full_matrices=False)
    full, span = (
        new_rows(Z, np.ones(60), 3, n_features=400, center=True) for Z in (X, U[:, :59] * s[:59])
    )
    assert span.score == pytest.approx(full.score, rel=1e-4)
    for law in ("of_fit", "of_new"):
        ours, theirs = getattr(span, law), getattr(full, law)
        assert ours.variance / ours.mean**2 == pytest.approx(
            theirs.variance / theirs.mean**2, rel=1e-4
        )


def test_a_tie_is_within_the_limit():
    distances = np.array([0.5, 1 - 1e-12, 1.0, 1 + 1e-12, 1 + 2e-9, 1.5])
    limit = clear_of_ties(1.0, distances)
    assert 1 + 2e-9 < limit < 1 + 1e-8
    assert clear_of_ties(limit, distances) == limit
    assert clear_of_ties(1.2, distances) == 1.2
    assert clear_of_ties(0.0, np.zeros(3)) == 0.0
    assert clear_of_ties(1.0, np.array([np.nan, np.inf])) == 1.0
    largest = np.finfo(np.float64).max
    assert clear_of_ties(largest, np.array([1.0, largest])) == largest


def test_beyond_one_of_two_limits():
    limits = Limits(2.0, 1.0)
    score, orthogonal = np.array([0.0, 2.0, 3.0, 0.0]), np.array([1.0, 0.0, 0.0, 2.0])
    assert limits.beyond(score, orthogonal).tolist() == [False, False, True, True]


@pytest.mark.parametrize("freedom", [1, 4, 45])
def test_limits_are_exceeded_by_one_in_two_hundred(freedom):
    R = np.sqrt(chi2.rvs(freedom, size=40_000, random_state=2))
    ones = np.ones(len(R))
    limits = fitted_limits(R, ones, R, ones, freedom, n_features=100, center=True)
    assert np.mean(limits.orthogonal < R) == pytest.approx(0.005, abs=0.002)
    assert np.mean(limits.score < R) == pytest.approx(0.005, abs=0.002)


def test_few_rows_cannot_be_left_out():
    X = np.random.default_rng(0).standard_normal((5, 3))
    assert new_rows(X, np.ones(5), 1, n_features=3, center=False) is None


@pytest.mark.parametrize("n", [200, 12_000])
def test_a_row_whose_distances_no_float_can_hold_is_flagged(n):
    model = OutlierRobustPCA(2).fit(1e-3 * clean(n, 6, strong=2))
    far = np.full((1, 6), 1.7e308)
    assert np.isinf(model.distances(far)).all()
    assert model.score_samples(far) == -np.finfo(np.float64).max
    assert model.predict(far) == -1
    assert model.outlier_types(far) == "bad leverage"


def test_limits_and_training_distances_can_be_read():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6))
    X += 0.1 * rng.standard_normal(X.shape)
    X[:5] += 3.0
    model = OutlierRobustPCA(2, random_state=0).fit(X)
    fitted = model.subspace_
    stored = model.score_distances_, model.orthogonal_distances_
    np.testing.assert_array_equal(fitted.training, stored)
    assert {"score": fitted.limits.score, "orthogonal": fitted.limits.orthogonal} == model.cutoffs_
    np.testing.assert_array_equal(fitted.limits.types(*fitted.training), model.outlier_type_)
    np.testing.assert_allclose(fitted.limits.scores(*fitted.training), model.score_samples(X))
