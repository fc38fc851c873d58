"""One pair of limits, for rows of the fit and for new ones: shares of good rows beyond them."""

import numpy as np
import pytest
from scipy.stats import chi2

from benchmarks.clean import new_line
from torpca import OutlierRobustPCA
from torpca._robust.law import Cumulants, chi_squared, common_limit, hotelling, within_fit
from torpca._robust.leave_out import (
    Spectrum,
    deleted_coordinates,
    leave_out,
    principal_coordinates,
)
from torpca._robust.limits import (
    Limits,
    clear_of_ties,
    error_of_fit,
    fitted_limits,
    light_tail,
    score_laws,
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
    law = Cumulants(300.0, 2e4, 8e6).law()
    assert np.mean(np.sqrt(law.limit(0.005)) < R) == pytest.approx(0.005, abs=0.002)
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


@pytest.mark.parametrize(("n", "d"), [(12, 5), (12, 40)])
@pytest.mark.parametrize("center", [True, False])
def test_a_row_left_out_is_measured_as_by_a_fit_without_it(n, d, center):
    X = np.random.default_rng(0).standard_normal((n, d)) * np.linspace(3, 1, d)
    C = X - X.mean(axis=0) if center else X
    theta, Y = principal_coordinates(C, np.ones(n))
    factor = n / (n - 1) if center else 1.0
    along, values = deleted_coordinates(theta, factor * np.square(Y), 3)
    for i in range(n):
        others = np.delete(X, i, axis=0)
        mean = others.mean(axis=0) if center else np.zeros(d)
        _, s, Vt = np.linalg.svd(others - mean)
        np.testing.assert_allclose(values[i], s[:3] ** 2, rtol=1e-10)
        expected = np.square(Vt[:3] @ (X[i] - mean))
        np.testing.assert_allclose(factor * along[i], expected, rtol=1e-8, atol=1e-10)


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
    assert 0.003 <= np.mean(shares) <= 0.02


def test_rows_along_the_axes_are_poles():
    # Some squares are zero, and two eigenvalues are equal.
    theta = np.array([4.0, 2.0, 2.0, 1.0])
    Y2 = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1e-320], [0.0, 0.0, 0.0, 0.0]])
    along, values = deleted_coordinates(theta, Y2, 2)
    assert np.all(np.isfinite(along))
    assert np.all(np.isfinite(values))
    np.testing.assert_allclose(values[:, 0], [4, 3, 4], rtol=1e-6)
    np.testing.assert_allclose(along[1], [1, 0], atol=1e-6)


def test_a_direction_that_a_row_spans_by_itself_is_no_measure():
    X = np.random.default_rng(0).standard_normal((30, 6)) * [3, 2, 0, 0, 0, 0]
    X[0, 5] = 1
    found = leave_out(X, np.ones(30), np.ones(30), 1, center=True, n_features=6)
    assert found.score == 1
    assert np.isfinite(found.noise)


def test_a_row_of_weight_two_is_that_row_twice():
    X = clean(20, 6)
    counts = np.where(np.arange(20) < 5, 2.0, 1.0)
    keep = np.where(np.arange(20) % 4 == 0, 0.5, 1.0)
    twice = np.repeat(np.arange(20), counts.astype(int))
    found = leave_out(X, keep, counts, 2, center=True, n_features=6)
    expected = leave_out(X[twice], keep[twice], np.ones(25), 2, center=True, n_features=6)
    assert found.score == pytest.approx(expected.score)
    assert found.noise == pytest.approx(expected.noise)
    for name in ("mean", "variance", "third"):
        for law in ("of_fit", "of_new"):
            ours, theirs = (getattr(getattr(it, law), name) for it in (found, expected))
            assert ours == pytest.approx(theirs)


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
    for found, law in ((of_fit, within_fit(n, k, center=True)), (new, hotelling(n, k))):
        squares = np.array(found)
        for level in (0.5, 0.05):
            assert np.mean(squares > law.limit(level)) == pytest.approx(level, rel=0.15)
            assert law.tail(law.limit(level)) == pytest.approx(level)
    # Of rows of both kinds as many are beyond the limit as should be.
    limit = np.sqrt(common_limit(*score_laws(n, k, center=True), 0.05))
    beyond = [np.mean(np.sqrt(squares) > limit) for squares in (of_fit, new)]
    assert np.mean(beyond) == pytest.approx(0.05, abs=0.005)
    assert beyond[0] < 0.05 < beyond[1]


def test_the_common_limit_of_a_law_with_itself_is_its_own():
    law = chi_squared(3.0)
    assert common_limit(law, law, 0.01) == pytest.approx(law.limit(0.01))
    assert common_limit(law, law.times(2.0), 0.01) == common_limit(law.times(2.0), law, 0.01)
    assert law.limit(0.01) < common_limit(law, law.times(2.0), 0.01) < 2 * law.limit(0.01)


def test_cumulants_come_back_from_their_law():
    # Squares of a sum of 3 noises of one size and 2 of another.
    noise = np.random.default_rng(0).standard_normal((200_000, 5))
    q = np.sum(noise**2 * [1, 1, 1, 4, 4], axis=1)
    law = Cumulants(11.0, 70.0, 8 * (3 + 2 * 64.0)).law()
    for level in (0.2, 0.01, 0.001):
        assert np.mean(q > law.limit(level)) == pytest.approx(level, rel=0.25)
        assert law.tail(law.limit(level)) == pytest.approx(level)


def test_the_law_of_residuals_follows_from_the_spectrum():
    rng, sd = np.random.default_rng(0), np.array([5.0, 3.0, 2.0, 1.0, 1.0, 1.0])
    X = rng.standard_normal((60, 6)) * sd
    theta, Y = principal_coordinates(X - X.mean(axis=0), np.ones(60))
    spectrum = Spectrum(theta, 6, 59)
    assert spectrum.of_fit(1).mean * 59 / 60 == pytest.approx(
        np.mean(np.sum(Y[:, 1:] ** 2, axis=1))
    )
    many = np.sum((rng.standard_normal((100_000, 6)) * sd)[:, 1:] ** 2, axis=1)
    assert spectrum.of_new(1).mean == pytest.approx(np.mean(many), rel=0.2)
    assert spectrum.of_new(1).variance == pytest.approx(np.var(many), rel=0.5)


def test_tails_are_light_where_chance_is_no_reason():
    law = chi_squared(2.0)
    # Points of a disc: 2 is its radius, and of Gaussian ones 13.5 % are farther out.
    rng = np.random.default_rng(0)
    disc = 2 * np.sqrt(rng.random(300))
    limit = light_tail(disc, np.ones(300), 0.01, law)
    assert np.sum(disc > limit) == 3
    # By halves of rows the same share is beyond.
    halves = light_tail(np.repeat(disc, 2), np.full(600, 0.5), 0.01, law)
    assert halves == limit
    # Of 90 rows one in a hundred is none.
    assert np.isinf(light_tail(disc[:90], np.ones(90), 0.01, law))
    # Gaussian ones are light in few cases, by chance.
    found = [
        light_tail(np.sqrt(rng.chisquare(2, 300)), np.ones(300), 0.01, law) for _ in range(200)
    ]
    assert np.mean(np.isfinite(found)) < 0.06


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
    # In the span there are as many features as rows, and residuals would vary too much.
    X = clean(60, 400)
    C = X - X.mean(axis=0)
    U, s, _ = np.linalg.svd(C, full_matrices=False)
    ones = np.ones(60)
    full = leave_out(X, ones, ones, 3, center=True, n_features=400)
    span = leave_out(U[:, :59] * s[:59], ones, ones, 3, center=True, n_features=400)
    assert span.noise == pytest.approx(full.noise)
    assert span.of_new.variance / span.of_new.mean**2 == pytest.approx(
        full.of_new.variance / full.of_new.mean**2
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
    limits = fitted_limits(R, ones, R, ones, freedom, center=True)
    assert np.mean(limits.orthogonal < R) == pytest.approx(0.005, abs=0.002)
    assert np.mean(limits.score < R) == pytest.approx(0.005, abs=0.002)


def test_light_tails_are_judged_by_themselves():
    R = np.sqrt(np.sum(np.random.default_rng(2).uniform(-1, 1, (2000, 3)) ** 2, axis=1))
    limits = fitted_limits(R, np.ones(2000), R, np.ones(2000), 3, center=True)
    assert np.sum(limits.orthogonal < R) == np.sum(limits.score < R) == 10


def test_few_rows_of_which_some_count_in_part_cannot_be_left_out():
    X = np.random.default_rng(0).standard_normal((5, 3))
    keep = np.array([1.0, 1.0, 1.0, 1.0, 0.5])
    assert leave_out(X, keep, np.ones(5), 1, center=False, n_features=3) is None


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
