"""Deterministic starts of mincovdet and robpca: no chance, no order of rows."""

import numpy as np
import pytest

from benchmarks.recovery import planted
from tests.test_bad_input import assert_refused
from tests.test_rivals_robust import CELLS, at_oracle
from torpca.metrics import subspace_error
from torpca.rivals import mincovdet, robpca
from torpca.rivals._initial import SCATTERS, standardised, tau_scale
from torpca.rivals._mincovdet import subset_of_least_determinant

both = pytest.mark.parametrize("rival", [mincovdet, robpca])
centred_or_not = pytest.mark.parametrize("center", [False, True])


def rows_of_a_formula():
    i, j = np.arange(1, 91)[:, None], np.arange(1, 5)
    X = np.sin(i * i * j * 0.7) * j + np.cos(i * j)
    X[47:] *= 4
    X[63:] += [6, -9, 4, 15]
    return X


# i <- 1:90
# X <- outer(i, 1:4, function(i, j) sin(i * i * j * 0.7) * j + cos(i * j))
# X[48:90, ] <- 4 * X[48:90, ]; X[64:90, ] <- X[64:90, ] + rep(c(6, -9, 4, 15), each = 27)
# m <- robustbase::covMcd(X, alpha = 0.5, nsamp = "deterministic", use.correction = FALSE)
# m$crit; sum(m$raw.weights); det(cov(X[m$raw.weights == 1, ])); m$center
LOG_DET, N_NEAR, DET_NEAR = 4.41114154662937, 50, 139.72522563746
CENTER = [0.11413758402883481, -0.00363793593810073, 0.47841903608313480, 0.59927251889788424]


def test_deterministic_mcd_is_that_of_robustbase():
    X = rows_of_a_formula()
    best = subset_of_least_determinant(X, 47, True)
    assert np.linalg.slogdet(np.cov(X[best].T))[1] == pytest.approx(LOG_DET, rel=1e-12)
    found = mincovdet(X, 2, start="deterministic")
    assert np.count_nonzero(found.support) == N_NEAR
    covariance = np.cov(X[found.support].T)
    assert np.linalg.det(covariance) == pytest.approx(DET_NEAR, rel=1e-11)
    np.testing.assert_allclose(found.mean, CENTER, atol=1e-12)
    V = np.linalg.eigh(covariance)[1][:, 2:]
    assert subspace_error(found.components.T, V) < 1e-10


@both
@centred_or_not
def test_neither_seed_nor_order_of_rows_matters(rival, center):
    X = planted("mixed", 300, 8, 2, 0.3, 0.05, 0, 0.5).X
    found = rival(X, 2, start="deterministic", center=center)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(300)
        other = rival(X[order], 2, start="deterministic", center=center, random_state=seed)
        np.testing.assert_allclose(other.components, found.components, atol=1e-10)
        np.testing.assert_array_equal(other.support, found.support[order])
        if center:
            np.testing.assert_allclose(other.mean, found.mean, atol=1e-10)


def test_of_random_directions_the_seed_does_matter():
    X = planted("mixed", 300, 8, 2, 0.3, 0.05, 0, 0.5).X
    for start, same in (("random", False), ("deterministic", True)):
        one, other = (robpca(X, 2, start=start, random_state=seed).history[0] for seed in (1, 2))
        assert (one.objective == other.objective) == same


@both
def test_answer_turns_moves_and_grows_with_the_rows(rival):
    X = planted("line", 300, 8, 2, 0.3, 0.05, 0).X
    rng = np.random.default_rng(1)
    Q, shift = np.linalg.qr(rng.standard_normal((8, 8)))[0], rng.standard_normal(8)
    one = rival(X, 2, start="deterministic")
    other = rival(3.0 * X @ Q.T + shift, 2, start="deterministic")
    assert subspace_error(other.components.T, Q @ one.components.T) < 1e-9
    np.testing.assert_array_equal(other.support, one.support)
    np.testing.assert_allclose(other.mean, 3.0 * Q @ one.mean + shift, atol=1e-8)


# ---- recovery ------------------------------------------------------------------------------------


def test_robpca_from_deterministic_directions_is_at_the_oracle():
    misses = []
    for family, fraction in CELLS:
        made = planted(family, 1000, 20, 3, fraction, 0.01, 0)
        found = robpca(made.X, 3, start="deterministic")
        if not at_oracle(found, *made):
            misses.append((family, fraction))
    assert misses == []


@pytest.mark.parametrize("fraction", [0.2, 0.4])
def test_robpca_withstands_a_cluster_at_fifty_features(fraction):
    X, basis, bad = planted("cluster", 2000, 50, 5, fraction, 0.01, 0)
    found = robpca(X, 5, start="deterministic")
    assert at_oracle(found, X, basis, bad)
    assert not np.any(found.support & bad)


def test_robpca_looks_from_the_middle_to_the_rows_too():
    # Axes of scatters alone miss a cluster where there are few rows to a feature.
    made = planted("cluster", 100, 60, 3, 0.2, 0.003, 0)
    assert at_oracle(robpca(made.X, 3, start="deterministic"), *made)


@pytest.mark.parametrize("fraction", [0.2, 0.4])
def test_mincovdet_withstands_a_cluster_that_spreads_as_the_good_rows(fraction):
    # The setting of the paper's simulations: few features, bad rows as wide as good ones.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * [4, 3, 1, 1, 1]
    bad = np.arange(400) < 400 * fraction
    X[bad] += 30 / np.sqrt(5)
    found = mincovdet(X, 2, start="deterministic")
    assert not np.any(found.support & bad)
    assert np.mean(found.support[~bad]) > 0.9
    assert subspace_error(found.components.T, np.eye(5)[:, :2]) < 0.15


@both
@pytest.mark.parametrize("family", ["isotropic", "line", "cluster", "mixed"])
def test_rows_without_noise_are_fitted_exactly(rival, family):
    X, basis, bad = planted(family, 300, 20, 3, 0.3, 0.0, 0)
    if rival is mincovdet:  # all determinants are zero, and it says so
        with pytest.warns(UserWarning, match="determinants are zero"):
            found = rival(X, 3, start="deterministic")
    else:
        found = rival(X, 3, start="deterministic")
    assert subspace_error(found.components.T, basis) < 1e-8
    assert not np.any(found.support & bad)


def test_determinants_where_the_span_has_a_column_of_hardly_anything():
    # Enlarged to the size of the others, its rounding would be taken for a spread.
    X, basis, bad = planted("cluster", 2000, 50, 5, 0.05, 0.0, 0)
    with pytest.warns(UserWarning, match="determinants are zero"):
        found = mincovdet(X, 5, start="deterministic")
    assert subspace_error(found.components.T, basis) < 1e-8
    assert np.mean(found.support[~bad]) > 0.9


def test_robpca_with_fewer_rows_than_features():
    X, basis, bad = planted("line", 60, 300, 2, 0.4, 0.001, 0)
    found = robpca(X, 2, start="deterministic")
    assert at_oracle(found, X, basis, bad)
    assert not np.any(found.support & bad)


# ---- hard rows -----------------------------------------------------------------------------------


@both
def test_constant_columns_are_left_out(rival):
    X = planted("isotropic", 200, 6, 2, 0.2, 0.05, 0).X
    wide = np.insert(X, [2, 4, 6], 5.0, axis=1)
    one, other = (rival(rows, 2, start="deterministic") for rows in (X, wide))
    assert subspace_error(np.delete(other.components, [2, 5, 8], axis=1).T, one.components.T) < 1e-8
    np.testing.assert_array_equal(other.support, one.support)
    np.testing.assert_allclose(other.mean[[2, 5, 8]], 5.0)


@both
def test_columns_that_are_mostly_equal(rival):
    # Their median absolute deviation is zero.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) * [5, 4, 1, 1, 1]
    X[:, 4] = np.where(rng.random(300) < 0.3, X[:, 4], 0.0)
    X[:20] += 40.0
    if rival is mincovdet:
        with pytest.warns(UserWarning, match="determinants are zero"):
            found = rival(X, 2, start="deterministic")
    else:
        found = rival(X, 2, start="deterministic")
    assert not np.any(found.support[:20])
    assert subspace_error(found.components.T, np.eye(5)[:, :2]) < 0.15


@both
def test_rows_of_few_values(rival):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((400, 4)) * [2, 2, 1, 1])
    X[:40] = [9, 9, 9, -9]
    found = rival(X, 2, start="deterministic")
    order = rng.permutation(400)
    other = rival(X[order], 2, start="deterministic")
    assert subspace_error(other.components.T, found.components.T) < 1e-8
    assert not np.any(found.support[:40])


@both
@pytest.mark.parametrize("start", ["dterministic", None, 3])
def test_start_has_two_names(rival, start):
    X = np.random.default_rng(0).standard_normal((40, 4))
    assert_refused(lambda: rival(X, 2, start=start), ValueError, f"start={start!r}", "'random'")


# ---- parts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scatter", SCATTERS, ids=lambda f: f.__name__)
def test_scatters_have_the_axes_of_elliptical_rows_and_bear_a_few_bad_ones(scatter):
    rng = np.random.default_rng(0)
    C = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    Z = rng.multivariate_normal(np.zeros(3), C, 3000)
    Z[:150] = [1e6, -1e6, 0.0]
    top = np.linalg.eigh(scatter(standardised(Z, True)[0]))[1][:, -1]
    assert abs(top @ [0.5**0.5, 0.5**0.5, 0.0]) > 0.97


def test_tau_scale():
    P = np.random.default_rng(0).standard_normal((20_000, 3)) * [1.0, 2.0, 1.0] + 5.0
    P[:2000, 2] = 1e9
    scale = tau_scale(P)
    assert scale[1] / scale[0] == pytest.approx(2.0, rel=0.03)
    assert scale[2] / scale[0] == pytest.approx(1.0, rel=0.3)
    np.testing.assert_array_equal(tau_scale(np.ones((5, 1))), 1.0)
    # Two of five differ from the median: the mean absolute deviation.
    np.testing.assert_allclose(tau_scale(np.array([[0.0], [0.0], [0.0], [1.0], [4.0]])), 1.0)


def test_a_column_of_rounding_in_most_rows_is_not_enlarged():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100, 2))
    Z[:70, 1] *= 1e-17
    _, _, scale = standardised(Z, True)
    assert 0.1 < scale[1] < 1.0
