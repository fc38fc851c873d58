"""Rivals that look for a large set of rows that agree: ransac, robpca, mincovdet."""

import shutil
import subprocess
from itertools import combinations

import numpy as np
import pytest
from sklearn.covariance import MinCovDet
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from benchmarks._rivals import robpca_fits
from benchmarks.recovery import planted
from tests.test_bad_input import assert_refused
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error
from torpca.rivals._mincovdet import mincovdet
from torpca.rivals._principal import principal, residual_squares
from torpca.rivals._ransac import ransac
from torpca.rivals._robpca import (
    outlyingness,
    robpca,
    tightest,
    window_of_least_variance,
)
from torpca.rivals._span import row_space, unit_rows

FAMILIES = ["isotropic", "line", "cluster", "small", "mixed"]
CELLS = [(family, fraction) for family in FAMILIES for fraction in (0.05, 0.2, 0.4)]

each_family = pytest.mark.parametrize("family", FAMILIES)
centred_or_not = pytest.mark.parametrize("center", [False, True])


def at_oracle(found, X, basis, bad):
    oracle = PCA(basis.shape[1], svd_solver="full").fit(X[~bad]).components_.T
    ratio = subspace_error(found.components.T, basis) / subspace_error(oracle, basis)
    return np.log10(ratio) <= 0.2


# ---- ransac --------------------------------------------------------------------------------------


@centred_or_not
@pytest.mark.parametrize("seed", range(5))
def test_ransac_finds_the_least_objective_of_all_subsets(center, seed):
    X = np.random.default_rng(seed).standard_normal((11, 3))
    X[:, 0] += 1.0
    h = 7

    def objective(rows):
        C = X[list(rows)] - (X[list(rows)].mean(axis=0) if center else 0.0)
        return np.sum(np.linalg.svd(C, compute_uv=False)[1:] ** 2)

    least = min(objective(rows) for rows in combinations(range(11), h))
    found = ransac(X, 1, fraction=4 / 11, center=center)
    assert np.count_nonzero(found.support) == h
    assert found.history[-1].objective == pytest.approx(least, rel=1e-9)
    assert objective(np.flatnonzero(found.support)) == pytest.approx(least, rel=1e-9)


@centred_or_not
def test_ransac_concentration_never_raises_the_objective_and_ends_where_it_stays(center):
    # Theorem 1 of Rousseeuw and Van Driessen, for residuals.
    X = planted("isotropic", 400, 20, 3, 0.4, 0.3, 0, 1.0).X
    found = ransac(X, 3, fraction=0.4, center=center, n_tries=3)
    objectives = [step.objective for step in found.history]
    assert len(objectives) > 2
    assert np.all(np.diff(objectives) <= 0)
    assert found.converged
    # The subspace is that of its rows, and they are the nearest to it.
    mean, V = principal(X[found.support], 3, center)
    assert subspace_error(found.components.T, V) < 1e-10
    R = residual_squares(X, mean, V)
    assert np.max(R[found.support]) < np.min(R[~found.support])
    if center:
        np.testing.assert_allclose(found.mean, mean, atol=1e-12)


@each_family
def test_ransac_is_exact_without_noise(family):
    # RIVALS: exact in 15 of 15 cells if it knows the fraction.
    X, basis, bad = planted(family, 300, 20, 3, 0.4, 0.0, 0)
    found = ransac(X, 3, fraction=0.4)
    assert subspace_error(found.components.T, basis) < 1e-8
    np.testing.assert_array_equal(found.support, ~bad)
    # Half of the rows are fewer than the good ones: still exact.
    assert subspace_error(ransac(X, 3).components.T, basis) < 1e-8


@pytest.mark.parametrize("family", ["isotropic", "cluster"])
def test_ransac_is_at_the_oracle_when_it_knows_the_fraction(family):
    # RIVALS: 14 of 15 cells.
    made = planted(family, 2000, 50, 5, 0.4, 0.01, 0)
    assert at_oracle(ransac(made.X, 5, fraction=0.4), *made)


def test_ransac_of_many_rows_searches_a_sample_and_ends_on_all():
    X, basis, bad = planted("mixed", 5000, 10, 2, 0.3, 0.01, 0)
    found = ransac(X, 2, fraction=0.3, n_tries=100)
    assert np.count_nonzero(found.support) == 3500
    assert at_oracle(found, X, basis, bad)
    V = principal(X[found.support], 2, False)[1]
    assert subspace_error(found.components.T, V) < 1e-10


def test_ransac_without_bad_rows_is_pca():
    X = planted("isotropic", 200, 10, 3, 0.0, 0.1, 0, 2.0).X
    found = ransac(X, 3, fraction=0, center=True)
    plain = PCA(3, svd_solver="full").fit(X)
    assert found.support.all()
    assert subspace_error(found.components.T, plain.components_.T) < 1e-10
    np.testing.assert_allclose(found.singular_values, plain.singular_values_, rtol=1e-10)
    np.testing.assert_allclose(found.mean, plain.mean_, atol=1e-12)


def test_ransac_of_another_seed_draws_other_rows():
    X = planted("isotropic", 300, 20, 3, 0.3, 0.1, 0).X
    one, other = (ransac(X, 3, n_tries=1, max_iter=50, random_state=seed) for seed in (0, 1))
    assert one.history[0].objective != other.history[0].objective


@pytest.mark.parametrize(
    ("keywords", "word"),
    [({"fraction": 1.0}, "fraction=1"), ({"fraction": -0.1}, "fraction="), ({"n_tries": 0}, "n_t")],
)
def test_ransac_refuses(keywords, word):
    X = np.random.default_rng(0).standard_normal((20, 4))
    assert_refused(lambda: ransac(X, 2, **keywords), ValueError, word)


# ---- robpca --------------------------------------------------------------------------------------


def test_robpca_is_at_the_oracle():
    # RIVALS: 15 of 15 cells, told nothing (alpha = 0.5).
    misses = []
    for family, fraction in CELLS:
        X, basis, bad = planted(family, 2000, 50, 5, fraction, 0.01, 0)
        found = robpca(X, 5)
        if not at_oracle(found, X, basis, bad):
            misses.append((family, fraction))
        if family in ("isotropic", "line", "cluster"):
            assert not np.any(found.support & bad)
    assert misses == []


def test_robpca_is_exact_without_noise():
    # RIVALS: 14 of 15 cells; rrcov too is off by 1e-5 with many small bad rows, next to good ones.
    limit = dict.fromkeys(CELLS, 1e-8) | {("small", 0.4): 1e-4}
    for family, fraction in CELLS:
        X, basis, _ = planted(family, 2000, 50, 5, fraction, 0.0, 0)
        error = subspace_error(robpca(X, 5).components.T, basis)
        assert error < limit[family, fraction], (family, fraction)


def test_robpca_is_nearer_to_that_of_rrcov_than_that_to_the_truth():
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    made = [planted(family, 600, 20, 3, 0.3, 0.01, 0) for family in ("isotropic", "line")]
    try:
        fits = robpca_fits([X for X, _, _ in made], 3)
    except subprocess.CalledProcessError:
        pytest.skip("rrcov is not installed")
    for (X, basis, _), (V, _) in zip(made, fits, strict=True):
        # What is left is chance: other directions are drawn.
        W = robpca(X, 3).components.T
        assert subspace_error(W, V) < 0.5 * subspace_error(V, basis)


def test_robpca_turns_and_moves_with_the_rows():
    # The paper: it is equivariant under orthogonal maps and shifts.
    X = planted("mixed", 300, 10, 3, 0.3, 0.01, 0).X
    rng = np.random.default_rng(1)
    Q, shift = np.linalg.qr(rng.standard_normal((10, 10)))[0], rng.standard_normal(10)
    one, other = robpca(X, 3), robpca(X @ Q.T + shift, 3)
    assert subspace_error(other.components.T, Q @ one.components.T) < 1e-9
    np.testing.assert_array_equal(other.support, one.support)
    # Along the subspace and across it.
    np.testing.assert_allclose(other.mean, Q @ one.mean + shift, atol=1e-9)


def test_robpca_with_fewer_rows_than_features():
    X, basis, bad = planted("line", 60, 300, 2, 0.4, 0.001, 0)
    found = robpca(X, 2)
    assert at_oracle(found, X, basis, bad)
    assert not np.any(found.support & bad)


def test_robpca_keeps_clean_rows_but_for_those_beyond_two_limits_of_one_in_forty():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 12)) * [5, 4, 3, *[0.5] * 9] + 7.0
    found = robpca(X, 3)
    assert 0.92 < np.mean(found.support) < 0.97
    np.testing.assert_allclose(found.mean, 7.0, atol=0.3)
    assert subspace_error(found.components.T, np.eye(12)[:, :3]) < 0.05


def test_robpca_about_zero():
    # Good rows lie on one side of zero, in a plane through it; about their mean they are a line.
    rng = np.random.default_rng(0)
    X = np.zeros((200, 5))
    X[:, 0], X[:, 1] = 3.0, rng.standard_normal(200)
    X += 0.01 * rng.standard_normal(X.shape)
    X[:60] = [0.0, 0.0, 9.0, 9.0, 0.0] + 0.01 * rng.standard_normal((60, 5))
    found = robpca(X, 2, center=False)
    assert found.mean is None
    assert subspace_error(found.components.T, np.eye(5)[:, :2]) < 0.01
    assert not np.any(found.support[:60])


def test_robpca_alpha_is_the_share_it_can_rely_on():
    X, basis, _ = planted("line", 1000, 20, 3, 0.4, 0.01, 0)
    assert subspace_error(robpca(X, 3, alpha=0.5).components.T, basis) < 0.02
    # With h = 0.75 n, 15 % of the rows in it are bad.
    assert subspace_error(robpca(X, 3, alpha=0.75).components.T, basis) > 0.5


@pytest.mark.parametrize("alpha", [0.49, 1.01, np.nan])
def test_robpca_refuses(alpha):
    X = np.random.default_rng(0).standard_normal((20, 4))
    assert_refused(lambda: robpca(X, 2, alpha=alpha), ValueError, "alpha=")


@pytest.mark.parametrize("far", [0.0, 10.0, 1e15])
def test_window_is_the_subset_of_least_variance(far):
    # Of all subsets of h numbers that with the least variance is a window.
    numbers = np.random.default_rng(0).standard_normal(10)
    numbers[:3] += far
    best = min(combinations(numbers, 6), key=np.var)
    mean, variance = window_of_least_variance(np.sort(numbers)[None], 6)
    assert mean[0] == pytest.approx(np.mean(best), rel=1e-10)
    assert variance[0] == pytest.approx(np.var(best), rel=1e-10)


def test_location_and_scale_are_those_of_gaussian_numbers():
    P = 3.0 + 2.0 * np.random.default_rng(0).standard_normal((20_000, 2))
    location, scale = tightest(P, 10_001)
    np.testing.assert_allclose(location, 3.0, atol=0.05)
    np.testing.assert_allclose(scale, 2.0, rtol=0.02)
    # And whatever a third of them do.
    P[:6000] = 1e9
    location, scale = tightest(P, 10_001)
    np.testing.assert_allclose(location, 3.0, atol=0.1)
    np.testing.assert_allclose(scale, 2.0, rtol=0.1)
    _, about_zero = tightest(P - 3.0, 10_001, center=False)
    np.testing.assert_allclose(about_zero, 2.0, rtol=0.1)


def test_rows_off_a_plane_with_half_of_them_are_infinitely_outlying():
    Z = np.random.default_rng(0).standard_normal((50, 3))
    Z[:30, 2] = 1.0
    out = outlyingness(Z, np.eye(3), 28, np.full(50, 1e-12), True)
    assert np.all(np.isinf(out[30:]))
    assert np.all(np.isfinite(out[:30]))


# ---- mincovdet -----------------------------------------------------------------------------------


@centred_or_not
def test_mincovdet_has_the_eigenvectors_of_that_of_scikit_learn(center):
    X = planted("isotropic", 300, 6, 2, 0.3, 0.05, 0, 0.5).X
    found = mincovdet(X, 2, center=center)
    model = MinCovDet(random_state=0, assume_centered=not center).fit(X)
    V = np.linalg.eigh(model.covariance_)[1][:, ::-1][:, :2]
    assert subspace_error(found.components.T, V) < 1e-6
    np.testing.assert_array_equal(found.support, model.support_)
    if center:
        np.testing.assert_allclose(found.mean, model.location_, atol=1e-9)


@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.4])
def test_mincovdet_is_at_the_oracle_among_isotropic_rows(fraction):
    # RIVALS: so it is at 2000 x 50, where it takes seconds.
    made = planted("isotropic", 500, 10, 2, fraction, 0.01, 0)
    assert at_oracle(mincovdet(made.X, 2), *made)


def test_mincovdet_works_in_the_span_of_the_rows():
    X = planted("isotropic", 300, 6, 2, 0.2, 0.01, 0).X
    wide = X @ np.eye(6, 400)  # determinants of 400 features are all zero
    one, other = mincovdet(X, 2), mincovdet(wide, 2)
    assert other.converged
    assert subspace_error(other.components.T, np.eye(400, 6) @ one.components.T) < 1e-8
    np.testing.assert_array_equal(other.support, one.support)


def test_mincovdet_says_when_determinants_are_zero():
    X = planted("isotropic", 300, 8, 2, 0.2, 0.0, 0).X
    with pytest.warns(ConvergenceWarning, match="determinants are zero"):
        found = mincovdet(X, 2)
    assert not found.converged


def test_mincovdet_refuses_too_few_rows():
    X = np.random.default_rng(0).standard_normal((30, 20))
    assert_refused(lambda: mincovdet(X, 2), ValueError, "30", "20", "at least 40")
    equal = np.zeros((50, 4))
    equal[:5] = X[:5, :4]
    assert_refused(lambda: mincovdet(equal, 2), ValueError, "no covariance", "Use spherical_pca")


# ---- parts ---------------------------------------------------------------------------------------


def test_span_sees_short_rows_beside_long_ones():
    rows = np.array([[1e20, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert row_space(unit_rows(rows)[0]).shape == (3, 2)
    assert subspace_error(row_space(unit_rows(rows)[0]), np.eye(3)[:, :2]) < 1e-12


def test_principal_directions_end_where_the_rows_do():
    made = make_outlier_subspace(50, 6, 2, 0.0, mean=1e6, random_state=0)
    mean, V = principal(made.X, 4, True)
    assert V.shape == (6, 2)
    # A mean of a million leaves ten digits to the rows.
    assert subspace_error(V, made.basis) < 1e-8
    np.testing.assert_allclose(mean, made.X.mean(axis=0))
