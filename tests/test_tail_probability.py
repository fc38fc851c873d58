"""How rare rows are among good ones: shares of good rows below p are p."""

import warnings

import numpy as np
import pytest

from benchmarks.clean import deviations
from tests._shared import coinciding_rows
from torpca import TORP, OutlierRobustPCA, load_model, save_model, tail_probability

LEVELS = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75])


def drawn(n, d, spectrum, k, fits, bad=0.0, holes=0.0, new=1000):
    """Probabilities of new good rows, of several fits, and those of rows of the fits."""
    later, of_fit = [], []
    for seed in range(fits):
        rng = np.random.default_rng([seed, n, d])
        sd = deviations(spectrum, d)
        X, rows = (rng.standard_normal((m, d)) * sd for m in (n, new))
        side = np.where(rng.standard_normal(d) > 0, 6, -6) * sd
        X[: int(bad * n)] = side + rng.standard_normal((int(bad * n), d)) * sd
        rows[rng.random(rows.shape) < holes] = np.nan
        with warnings.catch_warnings():
            # Of few rows, and of directions that are all alike, the fit says that it is not sure.
            warnings.simplefilter("ignore", RuntimeWarning)
            model = OutlierRobustPCA(k).fit(X)
        later.append(tail_probability(model, rows))
        of_fit.append(tail_probability(model, X))
    return np.concatenate(later), np.concatenate(of_fit)


def shares(p):
    return np.array([np.mean(p <= level) for level in LEVELS])


def assert_calibrated(p):
    """The share below .01 is right up to half of it, those below .05 and .1 up to two fifths."""
    found = shares(p)
    assert 0.5 * LEVELS[0] < found[0] < 1.6 * LEVELS[0]
    np.testing.assert_allclose(found[1:3], LEVELS[1:3], rtol=0.4)
    np.testing.assert_allclose(found[3:], LEVELS[3:], atol=0.045)


# Of 1000 new rows for each fit, shares are known to less than the fits differ by.
FEW = [(30, 5, "3 strong", 3, 30), (50, 20, "3 strong", 3, 20), (60, 200, "3 strong", 3, 10)]
MANY = [
    (100, 20, "slow decay", 3, 10),
    (100, 5, "equal", 5, 10),
    (300, 20, "3 strong", 3, 5),
    (1000, 20, "3 strong", 3, 5),
    (12_000, 20, "3 strong", 3, 3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "spectrum", "k", "fits"), MANY)
def test_shares_of_new_good_rows_are_the_probabilities(n, d, spectrum, k, fits):
    assert_calibrated(drawn(n, d, spectrum, k, fits)[0])


# One pair of limits for rows of the fit and new ones: with few rows these are not alike.
@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "spectrum", "k", "fits"), FEW)
def test_few_rows_lie_on_both_sides_of_the_probabilities(n, d, spectrum, k, fits):
    new, of_fit = drawn(n, d, spectrum, k, max(fits, 2000 // n))
    # One row in thirty may be out by chance; half of the new rows are beyond their median.
    assert np.all(shares(of_fit)[1:4] < LEVELS[1:4])
    # In a fifth of the fits of 30 clean rows some of them are left out.
    most = 5 if n < 50 else 3
    assert np.all((shares(new)[:4] > 0.95 * LEVELS[:4]) & (shares(new)[:4] < most * LEVELS[:4]))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "spectrum", "k", "fits"), MANY)
def test_shares_of_rows_of_the_fit(n, d, spectrum, k, fits):
    _, of_fit = drawn(n, d, spectrum, k, max(fits, 2000 // n), new=10)
    assert np.all(shares(of_fit)[1:3] < 1.5 * LEVELS[1:3])
    assert np.all(shares(of_fit)[1:3] > 0.65 * LEVELS[1:3])
    np.testing.assert_allclose(shares(of_fit)[3:], LEVELS[3:], atol=0.09)


# New rows do not spread along directions that the fit's own rows happened to spread along.
@pytest.mark.slow
def test_without_a_gap_new_rows_look_a_little_better():
    new, _ = drawn(300, 50, "equal", 3, 5)
    assert np.all((shares(new) > 0.5 * LEVELS) & (shares(new) < LEVELS))


def test_bad_rows_in_the_fit_change_little():
    new, seen = drawn(300, 20, "3 strong", 3, 5, bad=0.2)
    assert_calibrated(new)
    assert np.max(seen.reshape(5, 300)[:, :60]) < 1e-6


def test_missing_cells_make_rows_look_a_little_better():
    new, _ = drawn(300, 20, "3 strong", 3, 5, holes=0.15)
    assert np.all(shares(new) < 1.25 * LEVELS)
    assert np.all(shares(new)[1:] > 0.8 * LEVELS[1:])


# Strong directions that are left out are a few large squares among many small ones, which is no
# chi-squared law: probabilities are wrong by this much, and the documentation says so.
def test_directions_that_are_left_out_are_no_chi_squared_law():
    new, _ = drawn(100, 200, "3 strong", 1, 10)
    assert np.mean(new <= 0.001) > 0.0012
    assert 0.3 < np.mean(new <= 0.5) < 0.42


@pytest.mark.parametrize(("d", "k"), [(6, 2), (6, 6)])
def test_below_a_limit_or_beyond(d, k):
    rng = np.random.default_rng(0)
    X, later = (rng.standard_normal((n, d)) * np.r_[9.0, 5, np.ones(d - 2)] for n in (200, 3000))
    later[:20] *= 4
    model = OutlierRobustPCA(k).fit(X)
    for rows in (X, later):
        p = tail_probability(model, rows)
        least = 1 - 0.995**2 if k < d else 0.01
        np.testing.assert_array_equal(p < least, model.predict(rows) == -1)
        # What is to be labelled plays no part.
        model.set_contamination(0.3)
        np.testing.assert_array_equal(tail_probability(model, rows), p)
        model.set_contamination("auto")


def test_the_farther_the_less(fitted, X):
    steps = np.geomspace(0.1, 1e200, 40)[:, None]
    for direction in (fitted.components_[0], np.eye(12)[3]):
        p = tail_probability(fitted, fitted.mean_ + steps * direction)
        assert np.all(np.diff(p) <= 0)
        assert p[0] > 0
        assert p[-1] == 0


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_limits_of_zero():
    X, bad = coinciding_rows()
    p = tail_probability(OutlierRobustPCA().fit(X), X)
    assert (p[bad] == 0).all()
    assert (np.delete(p, bad) == 1).all()


def test_rows_of_too_few_cells_have_none(fitted, X):
    rows = X[:2].copy()
    rows[0, 2:] = np.nan
    assert np.isnan(tail_probability(fitted, rows)).tolist() == [True, False]
    assert np.isnan(tail_probability(fitted, rows, reference=X)).tolist() == [True, False]


def test_a_model_from_a_file(fitted, X, tmp_path):
    again = load_model(save_model(fitted, tmp_path / "model.npz"))
    np.testing.assert_array_equal(tail_probability(again, X), tail_probability(fitted, X))


# ---- by other good rows -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_reference_rows_make_shares_right_whatever_the_law():
    rng = np.random.default_rng(0)
    sd = np.r_[9.0, 6, np.ones(10)]
    X, known, later = (rng.standard_t(3, (n, 12)) * sd for n in (500, 5000, 5000))
    model = OutlierRobustPCA(2).fit(X)
    plain = shares(tail_probability(model, later))
    assert plain[0] > 5 * LEVELS[0]  # tails are heavy
    ranked = shares(tail_probability(model, later, reference=known))
    np.testing.assert_allclose(ranked[:3], LEVELS[:3], rtol=0.4)
    np.testing.assert_allclose(ranked[3:], LEVELS[3:], atol=0.04)


def test_reference_rows_rank_rows():
    rng = np.random.default_rng(0)
    X, known = (rng.standard_normal((n, 6)) * [9, 5, 1, 1, 1, 1] for n in (300, 99))
    model = OutlierRobustPCA(2).fit(X)
    p, others = tail_probability(model, X), tail_probability(model, known)
    ranked = tail_probability(model, X, reference=known)
    counted = [(1 + np.sum(others <= one)) / 100 for one in p]
    np.testing.assert_allclose(ranked, counted)
    far = tail_probability(model, X[:1] + 1e6, reference=known)
    assert far == pytest.approx(0.01)


def test_bad_input(fitted, X):
    with pytest.raises(TypeError, match="got TORP"):
        tail_probability(TORP(3).fit(X), X)
    with pytest.raises(ValueError, match="not fitted"):
        tail_probability(OutlierRobustPCA(), X)
    with pytest.raises(ValueError, match="no row that can be judged"):
        tail_probability(fitted, X, reference=np.full((3, 12), np.nan))
    with pytest.raises(ValueError, match="11 features"):
        tail_probability(fitted, X, reference=X[:, 1:])
