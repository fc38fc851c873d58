"""Bad cells anywhere in a table: `ddc` finds them, `macropca` a subspace in spite of them."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import median_abs_deviation, norm

from tests.test_bad_input import assert_refused
from torpca._missing.neighbours import predictors, wrapped_correlations
from torpca._missing.one_step import medians, one_step_locations, one_step_scales, robust_slopes
from torpca.metrics import subspace_error
from torpca.rivals import CellOutliers, ddc, macropca, robpca


def correlated(n=200, d=20, rho=0.9, seed=0):
    """Gaussian rows with correlations rho^|j - h|."""
    j = np.arange(d)
    cov = rho ** np.abs(j[:, None] - j)
    return np.random.default_rng(seed).standard_normal((n, d)) @ np.linalg.cholesky(cov).T


def spoiled(X, share=0.05, size=6.0, seed=1):
    """X with a share of its cells off by `size`, up or down, and which these are."""
    rng = np.random.default_rng(seed)
    bad = rng.random(X.shape) < share
    return np.where(bad, X + size * rng.choice([-1.0, 1.0], X.shape), X), bad


def with_gaps(X, share=0.05, seed=2):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


# ---- medians and one step from them --------------------------------------------------------------


def test_medians_are_those_of_the_numbers_that_are_there():
    P = with_gaps(np.random.default_rng(0).standard_normal((30, 17)), 0.3)
    np.testing.assert_allclose(medians(P), np.nanmedian(P, axis=1), rtol=1e-14)
    assert medians(np.full((1, 4), np.nan)) == 0.0
    assert medians(np.array([[3.0]])) == 3.0


def test_location_and_scale_of_gaussian_numbers_have_no_bias():
    P = 5.0 + 2.0 * np.random.default_rng(0).standard_normal((20, 5000))
    location = one_step_locations(P)
    np.testing.assert_allclose(np.mean(location), 5.0, atol=0.02)
    np.testing.assert_allclose(np.mean(one_step_scales(P - 5.0)), 2.0, rtol=0.01)
    # And little of it from a tenth of wild numbers.
    P[:, :500] = 1e6
    np.testing.assert_allclose(one_step_locations(P), 5.0, atol=0.7)
    assert np.all(one_step_scales(P - 5.0) < 2.6)


def test_slopes_are_not_turned_by_points_far_off():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 1000))
    slopes = np.array([-2.0, 0.5, 1.0])[:, None]
    y = slopes * A + 0.1 * rng.standard_normal(A.shape)
    y[:, :200] = 50.0
    np.testing.assert_allclose(robust_slopes(y, A, 2.6), slopes[:, 0], atol=0.02)
    # Points on a line are all within a limit of zero.
    np.testing.assert_allclose(robust_slopes(3.0 * A, A, 2.6), 3.0, rtol=1e-12)


def test_correlations_of_columns_with_bad_cells():
    U = spoiled(correlated(2000, 6, 0.8))[0].T
    U = np.where(np.abs(U) <= 2.6, U, np.nan)
    weights, slopes = predictors(U, 0.45, 100, 0.99)
    true = 0.8 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    np.testing.assert_allclose(weights, np.where(true > 0.5, true, 0.0), atol=0.05)
    np.testing.assert_allclose(slopes * weights, weights * weights, atol=0.05)
    assert np.count_nonzero(predictors(U, 0.5, 1, 0.99)[0]) == 12  # itself and one other
    few = np.full((2, 30), np.nan)
    few[:, :9] = np.arange(9.0) / 9
    assert wrapped_correlations(few)[0, 1] == 0.0


# ---- ddc -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.8, 0.9])
def test_cells_six_standard_deviations_off_are_found(rho):
    X, bad = spoiled(correlated(300, 20, rho))
    found = ddc(X)
    assert np.mean(found.cells[bad]) > 0.99
    assert np.mean(bad[found.cells]) > 0.8
    assert np.mean(found.cells[~bad]) < 0.015


def test_of_good_cells_about_one_in_a_hundred_is_flagged():
    found = ddc(correlated(1000, 20))
    assert 0.005 < np.mean(found.cells) < 0.02
    assert np.mean(found.rows) < 0.03
    np.testing.assert_allclose(median_abs_deviation(found.residuals, scale="normal"), 1.0, atol=0.2)


def test_cut_offs_of_cells_are_gaussian_quantiles():
    found = ddc(correlated(), quantile=0.95)
    limit = norm.ppf(0.975)
    np.testing.assert_array_equal(found.cells, np.abs(found.residuals) > limit)
    np.testing.assert_array_equal(found.rows, found.row_scores > limit)


def test_cells_that_their_column_does_not_show():
    X = correlated(400, 10, 0.97)
    wrong = np.flatnonzero(np.abs(X[:, 4] - 1.5) < 0.2)[:5]
    X[wrong, 4] = -1.5  # well within the column
    found = ddc(X)
    assert found.cells[wrong, 4].all()
    assert np.max(np.abs(found.imputed[wrong, 4] - 1.5)) < 1.0
    assert np.mean(found.cells[wrong][:, [0, 1, 8, 9]]) < 0.2


def test_whole_rows_that_deviate():
    X = correlated(300, 20, 0.9)
    X[:15] = 1.5 * np.random.default_rng(3).standard_normal((15, 20))  # no longer correlated
    found = ddc(X)
    assert np.mean(found.rows[:15]) > 0.8
    assert np.mean(found.rows[15:]) < 0.05
    assert np.median(found.row_scores[:15]) > np.max(np.sort(found.row_scores[15:])[:-15])


def test_missing_cells_are_predicted_better_than_by_the_median():
    true = correlated(300, 20, 0.9)
    X = with_gaps(spoiled(true)[0], 0.2)
    found, gaps = ddc(X), np.isnan(X)
    error = np.sqrt(np.mean((found.imputed - true)[gaps] ** 2))
    by_median = np.sqrt(np.mean((np.nanmedian(X, axis=0) - true)[gaps] ** 2))
    assert error < 0.6 * by_median
    np.testing.assert_array_equal(np.isnan(found.residuals), gaps)
    assert not found.cells[gaps].any()
    kept = ~(gaps | found.cells)
    np.testing.assert_array_equal(found.imputed[kept], X[kept])
    assert np.isfinite(found.imputed).all()


def test_columns_shifted_and_scaled_and_rows_in_another_order():
    X = with_gaps(spoiled(correlated())[0])
    rng = np.random.default_rng(5)
    shift, scale = 10.0 * rng.standard_normal(20), 10.0 ** rng.uniform(-3, 3, 20)
    scale[::2] *= -1.0
    order = rng.permutation(len(X))
    found, other = ddc(X), ddc((shift + scale * X)[order])
    np.testing.assert_array_equal(other.cells, found.cells[order])
    np.testing.assert_array_equal(other.rows, found.rows[order])
    np.testing.assert_allclose(
        other.residuals, (np.sign(scale) * found.residuals)[order], rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(other.imputed, (shift + scale * found.imputed)[order], rtol=1e-6)
    np.testing.assert_allclose(other.location, shift + scale * found.location, rtol=1e-8)
    np.testing.assert_allclose(other.scale, np.abs(scale) * found.scale, rtol=1e-8)


def test_columns_in_another_order():
    X = spoiled(correlated())[0]
    order = np.random.default_rng(0).permutation(20)
    np.testing.assert_array_equal(ddc(X[:, order]).cells, ddc(X).cells[:, order])


def test_columns_without_others_are_judged_by_themselves():
    X, bad = spoiled(np.random.default_rng(0).standard_normal((300, 5)), size=10.0)
    found = ddc(X)
    z = np.abs(X - found.location) / found.scale
    assert found.cells[bad].all()
    np.testing.assert_allclose(np.abs(found.residuals), z, rtol=0.1)
    np.testing.assert_allclose(found.imputed[bad], np.broadcast_to(found.location, X.shape)[bad])
    assert ddc(X[:, :1]).cells[bad[:, 0], 0].all()


def test_columns_of_equal_cells_flag_nothing():
    X = correlated()
    X[:, 3] = 7.0
    X[:150, 4] = 0.0
    X[0, 3] = np.nan
    found = ddc(X)
    assert not found.cells[:, 3:5].any()
    np.testing.assert_array_equal(found.scale[3:5], 0.0)
    assert found.imputed[0, 3] == 7.0


def test_numbers_as_large_and_as_small_as_there_are():
    X = spoiled(correlated())[0]
    cells = ddc(X).cells
    for exponent in (-900, 900):
        np.testing.assert_array_equal(ddc(np.ldexp(X, exponent)).cells, cells)
    X[0, 0] = -1.7e308
    assert ddc(X).cells[0, 0]
    assert np.abs(ddc(X).imputed[0, 0]) < 10.0


def test_kinds_of_tables_and_what_comes_back():
    X = with_gaps(correlated())
    before = X.copy()
    found = ddc(X)
    np.testing.assert_array_equal(X, before)
    assert isinstance(found, CellOutliers)
    assert found.cells.dtype == found.rows.dtype == bool
    np.testing.assert_array_equal(ddc(X.tolist()).cells, found.cells)
    assert ddc(X.astype(np.float32)).imputed.dtype == np.float32
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.cells = None
    assert len(repr(found)) < 2000


def test_many_columns():
    rng = np.random.default_rng(0)
    true = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 400))
    X, bad = spoiled(true + 0.1 * rng.standard_normal(true.shape), 0.02, 20.0)
    assert ddc(X, n_neighbours=20).cells[bad].mean() > 0.95


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"quantile": 1.0}, ValueError),
        ({"quantile": "high"}, TypeError),
        ({"min_correlation": 0.0}, ValueError),
        ({"n_neighbours": 0}, ValueError),
        ({"n_neighbours": 2.5}, TypeError),
    ],
)
def test_keywords_that_cannot_be(keywords, error):
    [name] = keywords
    assert_refused(lambda: ddc(correlated(), **keywords), error, f"{name}=")


@pytest.mark.parametrize("method", [ddc, lambda X: macropca(X, 2)])
def test_tables_that_cannot_be(method):
    X = correlated(30, 5)
    X[:, 2] = np.nan
    assert_refused(
        lambda: method(X), ValueError, "no entry but NaN in 1 of 5 features", "feature 2"
    )
    X = correlated(30, 5)
    X[4] = np.nan
    assert_refused(lambda: method(X), ValueError, "no entry but NaN in 1 of 30 rows", "row 4")
    X = correlated(30, 5)
    X[3, 1] = np.inf
    assert_refused(lambda: method(X), ValueError, "infinity in 1 of 30 rows", "first in row 3")
    assert_refused(lambda: method(correlated(9, 5)), ValueError, "9 rows", "at least 10")


# ---- macropca ------------------------------------------------------------------------------------


def clean_rows(n=300, d=20, rank=3, seed=0):
    """Rows near a subspace in which every column has a part."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    scores = rng.standard_normal((n, rank)) * np.linspace(3.0, 2.0, rank) * np.sqrt(d / 4)
    return 5.0 + scores @ V.T + 0.3 * rng.standard_normal((n, d))


def dirty_rows(X, share=0.2, seed=4):
    """X with a share of its rows in a cluster off the subspace, and one in 20 of its cells bad."""
    rng = np.random.default_rng(seed)
    Y, bad = spoiled(X, 0.05, 15.0)
    rows = np.arange(len(X)) < share * len(X)
    Y[rows] = 20.0 * rng.choice([-1.0, 1.0], X.shape[1]) + rng.standard_normal(Y[rows].shape)
    return Y, rows, bad & ~rows[:, None]


def pca_basis(X, rank=3):
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:rank].T


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_bad_rows_and_bad_cells_and_missing_ones(gaps):
    clean = clean_rows()
    X, rows, _ = dirty_rows(clean)
    oracle = pca_basis(clean)
    found = macropca(with_gaps(X, gaps), 3)
    assert subspace_error(found.components.T, oracle) < 0.05
    assert subspace_error(pca_basis(X), oracle) > 0.9
    # Two rows in three have a bad cell: too many for a method that drops rows.
    assert subspace_error(robpca(X, 3).components.T, oracle) > 0.15
    assert not found.support[rows].any()
    assert np.mean(found.support[~rows]) > 0.5
    assert np.linalg.norm(found.mean - clean.mean(axis=0)) < 2.0
    assert found.converged


def test_clean_rows_give_nearly_ordinary_components():
    X = clean_rows()
    found = macropca(X, 3)
    assert subspace_error(found.components.T, pca_basis(X)) < 0.03
    assert np.mean(found.support) > 0.85
    np.testing.assert_allclose(
        found.singular_values / np.sqrt(np.count_nonzero(found.support)),
        np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3] / np.sqrt(len(X)),
        rtol=0.15,
    )


def test_a_shift_of_the_rows_moves_the_mean_alone():
    X = with_gaps(dirty_rows(clean_rows())[0])
    shift = np.linspace(-50.0, 50.0, 20)
    found, other = macropca(X, 3), macropca(X + shift, 3)
    np.testing.assert_allclose(other.components, found.components, atol=1e-7)
    np.testing.assert_allclose(other.mean, found.mean + shift, atol=1e-6)
    np.testing.assert_array_equal(other.support, found.support)


def test_rows_through_zero():
    clean = clean_rows() - 5.0
    X, rows, _ = dirty_rows(clean)
    found = macropca(X, 3, center=False)
    assert found.mean is None
    assert subspace_error(found.components.T, np.linalg.svd(clean)[2][:3].T) < 0.1
    assert not found.support[rows].any()
