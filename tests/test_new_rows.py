"""Rows that the fit has not seen: as many good ones are flagged as of the rows of the fit."""

import numpy as np
import pytest
from scipy.stats import chi2

from benchmarks.clean import new_line
from torpca import OutlierRobustPCA, load_model, save_model
from torpca._stats.limits import (
    Law,
    NewRows,
    Spectrum,
    deleted_coordinates,
    exceeded_by,
    leave_out,
    new_score_limit,
    principal_coordinates,
    seen_score_limit,
)

SMALL = pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")


def clean(n, d, strong=3, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[:, :strong] *= 10
    return X + 5


# ---- shares -------------------------------------------------------------------------------------

FEW = [
    (30, 5, "3 strong", 3),
    (30, 100, "equal", 1),
    (50, 2, "equal", 1),
    (50, 200, "slow decay", 5),
    (100, 20, "3 strong", 1),
]


# Of 1800 rows of the fit 1 % is known to .25 %, and of 2000 new ones for each fit to less.
@pytest.mark.slow
@SMALL
@pytest.mark.parametrize(("n", "d", "spectrum", "k"), FEW)
def test_one_in_a_hundred_good_rows_is_flagged(n, d, spectrum, k):
    found = new_line(n, d, spectrum, k, 1800 // n)
    assert 0.004 <= found["of the fit"] <= 0.0215
    assert 0.004 <= found["new"] <= 0.0215


# Two strong directions among 199 others are left out: squared residuals are those two and a
# constant, which is further from Gaussian than the cut-off allows for. 4 % are flagged (and of 100
# rows of 100 features 2 %).
MISSED = [(30, 200, "3 strong", 1)]


@SMALL
@pytest.mark.study
@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("d", [2, 20, 200])
def test_one_in_a_hundred_good_rows_is_flagged_at_every_size(n, d):
    spectra = ["equal", "3 strong", "slow decay"] if d > 3 else ["equal", "slow decay"]
    for spectrum in spectra:
        for k in (1, 3, 5):
            if k <= d and (n, d, spectrum, k) not in MISSED:
                found = new_line(n, d, spectrum, k, max(3, 3000 // n))
                # Some fits to 30 rows take good ones for bad.
                least, most = (0.003, 0.027) if n == 30 else (0.0045, 0.022)
                assert least <= found["of the fit"] <= most, found
                assert least <= found["new"] <= most, found


@SMALL
def test_noise_of_several_sizes_has_a_long_tail():
    # Two moments alone flag three times as many.
    R = np.sqrt(100 * chi2.rvs(1, size=10_000, random_state=0) + 200)
    limit = Law(300.0, 2e4, 8e6).limit(0.005)
    assert np.mean(limit < R) == pytest.approx(0.005, abs=0.002)
    two = 300 / 9 * chi2.isf(0.005, 9)
    assert np.mean(np.sqrt(two) < R) > 0.012


def test_a_few_mild_outliers_do_not_open_the_limits():
    X = clean(300, 50)
    alone = OutlierRobustPCA(3).fit(X)
    rng = np.random.default_rng(1)
    X[:6, 3:] *= 1.6 + 0.1 * rng.random((6, 1))
    model = OutlierRobustPCA(3).fit(X)
    assert model.cutoffs_["orthogonal"] < 1.04 * alone.cutoffs_["orthogonal"]
    assert model._new_rows.orthogonal < 1.04 * alone._new_rows.orthogonal
    later = clean(500, 50, seed=2)
    later[:, 3:] *= 1.6
    assert np.mean(model.predict(later) == -1) > 0.97


# ---- rows of the fit are known again ------------------------------------------------------------


@SMALL
@pytest.mark.parametrize("shape", [(30, 5), (30, 100), (200, 20), (12_000, 6)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_rows_of_the_fit_are_judged_as_in_the_fit(shape, dtype, shift, tmp_path):
    X = (clean(*shape) + shift).astype(dtype)
    X[:2] += 40
    model = OutlierRobustPCA(3).fit(X)
    np.testing.assert_array_equal(model.outlier_types(X), model.outlier_type_)
    np.testing.assert_array_equal(model.predict(X), OutlierRobustPCA(3).fit_predict(X))
    again = load_model(save_model(model, tmp_path / "model.npz"))
    later = (clean(300, shape[1], seed=1) + shift).astype(dtype)
    for rows in (X, X[::-1], X[:5], later):
        np.testing.assert_array_equal(again.outlier_types(rows), model.outlier_types(rows))
        np.testing.assert_array_equal(again.score_samples(rows), model.score_samples(rows))
    some = np.random.default_rng(0).permutation(len(X))[:20]
    np.testing.assert_array_equal(model.predict(X[some]), model.predict(X)[some])


@SMALL
@pytest.mark.parametrize("noise", [1e-3, 1e-6, 0.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_the_fit_are_known_where_the_noise_is_rounding(noise, dtype):
    X = np.random.default_rng(0).standard_normal((30, 20))
    X[:, 3:] *= noise
    X = (X + 1e3).astype(dtype)
    model = OutlierRobustPCA(3).fit(X)
    for distances in (model._training, model._distances(*model._check(X))):
        assert model.subspace_.limits.has_seen(*distances).all()
    np.testing.assert_array_equal(model.outlier_types(X), model.outlier_type_)


def test_new_rows_have_limits_of_their_own():
    X = clean(30, 20)
    model = OutlierRobustPCA(3).fit(X)
    new = model._new_rows
    later = clean(500, 20, seed=1)
    score, orthogonal = model.distances(later)
    spread = np.sqrt(1 + 1 / new.n + score**2 / (new.n - 1))
    expected = -np.maximum(score / new.score, orthogonal / (new.orthogonal * spread))
    np.testing.assert_allclose(model.score_samples(later), expected)
    assert not model.subspace_.limits.has_seen(score, orthogonal).any()
    assert model.subspace_.limits.has_seen(*model._training).all()
    # The same rows as before: limits of the training rows.
    raw = [model.score_distances_ / model.cutoffs_["score"]]
    raw.append(model.orthogonal_distances_ / model.cutoffs_["orthogonal"])
    np.testing.assert_allclose(model.score_samples(X), -np.maximum(*raw))


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. there are only")
def test_rows_left_out_of_the_fit_are_new_ones():
    X = clean(60, 20)
    model = OutlierRobustPCA(3).fit(X, leave_out=np.arange(30))
    seen = model.subspace_.limits.has_seen(*model._training)
    np.testing.assert_array_equal(seen, np.arange(60) >= 30)


def test_many_rows_are_all_alike():
    assert OutlierRobustPCA(3).fit(clean(12_000, 6))._new_rows is None


def test_a_row_far_out_in_the_subspace_may_be_farther_from_it():
    model = OutlierRobustPCA(3).fit(clean(30, 20))
    far = model.mean_ + 1000 * model.components_[0]
    far = far + 3 * model._new_rows.orthogonal * np.eye(20)[-1]
    assert model.outlier_types(far[None])[0] == "good leverage"


def test_a_model_of_version_1_judges_all_rows_alike(tmp_path):
    # What it had not: limits of new rows.
    model = OutlierRobustPCA(3).fit(clean(30, 20))
    model._new_rows = None
    again = load_model(save_model(model, tmp_path / "model.npz"))
    later = clean(100, 20, seed=1)
    np.testing.assert_array_equal(again.score_samples(later), model.score_samples(later))


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
    assert 0.003 <= np.mean(shares) <= 0.013


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
    found = leave_out(X, np.ones(30), np.ones(30), 1, center=True)
    assert found.score == 1
    assert np.isfinite(found.orthogonal)


def test_a_row_of_weight_two_is_that_row_twice():
    X = clean(20, 6)
    counts = np.where(np.arange(20) < 5, 2.0, 1.0)
    keep = np.where(np.arange(20) % 4 == 0, 0.5, 1.0)
    twice = np.repeat(np.arange(20), counts.astype(int))
    found = leave_out(X, keep, counts, 2, center=True)
    expected = leave_out(X[twice], keep[twice], np.ones(25), 2, center=True)
    assert found.score == pytest.approx(expected.score)
    assert found.orthogonal == pytest.approx(expected.orthogonal)
    np.testing.assert_allclose(found.spectrum.theta, expected.spectrum.theta)


@pytest.mark.parametrize("k", [1, 4])
def test_score_limits_are_those_of_both_laws(k):
    # 4000 tables of 40 rows: the first row's distance, seen and new.
    rng, n = np.random.default_rng(0), 40
    seen, new = [], []
    for _ in range(4000):
        X = rng.standard_normal((n + 1, k))
        C = X[:n] - X[:n].mean(axis=0)
        inverse = np.linalg.inv(C.T @ C / (n - 1))
        seen.extend(np.einsum("ij,jk,ik->i", C, inverse, C))
        x = X[n] - X[:n].mean(axis=0)
        new.append(x @ inverse @ x)
    assert np.mean(np.sqrt(new) > new_score_limit(n, k, level=0.05)) == pytest.approx(
        0.05, abs=0.012
    )
    # Between that of rows that all have their part, and that of new ones.
    limit = seen_score_limit(n, k, center=True, level=0.005)
    assert np.quantile(np.sqrt(seen), 0.9935) < limit < new_score_limit(n, k, level=0.005)


def test_the_law_of_residuals_follows_from_the_spectrum():
    rng, sd = np.random.default_rng(0), np.array([5.0, 3.0, 2.0, 1.0, 1.0, 1.0])
    X = rng.standard_normal((60, 6)) * sd
    theta, Y = principal_coordinates(X - X.mean(axis=0), np.ones(60))
    spectrum = Spectrum(theta, 6, 60, 59)
    assert spectrum.seen(1).mean * 59 / 60 == pytest.approx(np.mean(np.sum(Y[:, 1:] ** 2, axis=1)))
    many = np.sum((rng.standard_normal((100_000, 6)) * sd)[:, 1:] ** 2, axis=1)
    assert spectrum.new(1).mean == pytest.approx(np.mean(many), rel=0.2)
    assert spectrum.new(1).variance == pytest.approx(np.var(many), rel=0.5)


def test_too_few_rows_tell_nothing_of_light_tails():
    R = np.arange(200.0)
    assert exceeded_by(R, np.ones(200), 0.005) < 199
    assert np.isinf(exceeded_by(R, np.ones(200), 0.005, 5))


def test_spread_of_rows_of_any_size():
    spread = NewRows(3.0, 1.0, 30.0).spread(np.array([0.0, 1e200]))
    np.testing.assert_allclose(spread, [np.sqrt(1 + 1 / 30), 1e200 / np.sqrt(29)])


def test_few_rows_of_which_some_count_in_part_cannot_be_left_out():
    X = np.random.default_rng(0).standard_normal((5, 3))
    keep = np.array([1.0, 1.0, 1.0, 1.0, 0.5])
    assert leave_out(X, keep, np.ones(5), 1, center=False) is None


@pytest.mark.parametrize("n", [200, 12_000])
def test_a_row_whose_distances_no_float_can_hold_is_flagged(n):
    # The limit on the orthogonal distance grows with the score distance, here without end.
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
    assert fitted.limits.has_seen(*fitted.training).all()
