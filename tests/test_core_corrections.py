"""The corrections of the printed text, each where it makes a difference."""

import math
from itertools import pairwise

import numpy as np
import pytest

from tests._core import recorded, svd_of_kept
from torpca import project_to_ellipsoid, torp, torp_bin, torp_g, torp_n
from torpca._core import theorems
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def test_correction_1_the_new_set_is_dropped_in_t_plus_1_iterations_of_a_base_2_logarithm():
    # C^(t+1) is made of the set of the same iteration: the second fit is without its rows.
    X = make_outlier_subspace(200, 8, 2, 0.05, outliers="line", noise=0.01, random_state=0).X
    _, seen = recorded(torp, X, 2, rho=0.05, max_iter=2)
    _, V = svd_of_kept(X, seen[0].support)
    assert subspace_error(seen[1].components.T, V[:, :2]) < 1e-10
    # t = 0 to T, T = log2(10 n / tol) for Theorem 1 and log2(20 n / tol) for Theorem 2.
    T = math.log2(10 * 2**10 / 2**-20)
    assert theorems.theorem_iterations(2**10, 2**-20) == math.ceil(T) + 1
    assert theorems.theorem_iterations(2**10, 2**-20, factor=20.0) == math.ceil(T + 1) + 1
    # Without noise the dropped set need not settle: the subspace does, long before T.
    X, V, _, _ = make_outlier_subspace(500, 20, 3, 0.02, outliers="mixed", random_state=0)
    found = torp(X, 3, rho=0.03)
    assert found.converged
    assert found.n_iter < 10 < theorems.theorem_iterations(500, 1e-12)
    assert subspace_error(found.components.T, V) < 1e-13


def test_correction_2_rows_are_ranked_by_the_matching_row_and_ties_by_number():
    # HT(M, E) ranks rows of M by the norms in E. Row 9 is the longest and row 7 the most
    # incoherent, because the second direction is weak: row 7 goes and row 9 stays.
    X = np.zeros((20, 3))
    X[:, 0] = 10.0
    X[:, 1] = 0.1 * np.where(np.arange(20) % 2, 1, -1)
    X[7, 1], X[9, 0] = 0.5, 12.0
    _, seen = recorded(torp, X, 2, rho=0.05, max_iter=1)
    assert seen[0].dropped == {"residual": 1, "incoherence": 1}
    # All residuals are zero, so that criterion takes the row with the lowest number.
    assert np.flatnonzero(~seen[0].support).tolist() == [0, 7]
    # ceil(rho n) rows, and of equal ones the first.
    found = torp_n(np.ones((10, 3)), 1, rho=0.11, eta=10.0)
    assert np.flatnonzero(~found.support).tolist() == [0, 1, 2]
    assert found.history[0].dropped == {"residual": 2, "incoherence": 3}


@pytest.mark.parametrize("outliers", ["isotropic", "line"])
def test_correction_3_zero_singular_values_are_dropped(outliers):
    # A rank larger than the true one must still recover the subspace.
    X, V, bad, _ = make_outlier_subspace(300, 20, 2, 0.02, outliers=outliers, random_state=0)
    for algorithm in (torp, torp_n, torp_bin):
        found = algorithm(X, 6, rho=0.06) if algorithm is torp else algorithm(X, 6, rho=0.06, eta=9)
        assert found.components.shape == (2, 20)
        assert found.singular_values.shape == (2,)
        assert subspace_error(found.components.T, V) < 1e-13
        assert not found.support[bad].any()


def test_correction_4_torp_g_returns_r_of_its_directions_and_rows_never_return():
    data = make_outlier_subspace(500, 12, 2, 0.05, outliers="line", noise=0.01, random_state=0)
    found, seen = recorded(torp_g, data.X, 2, mu=1.2, sigma=0.01)
    assert found.components.shape == (2, 12)
    assert found.singular_values.shape == (2,)
    assert all(record.components.shape == (3, 12) for record in seen)
    s, V = svd_of_kept(data.X, found.support)
    np.testing.assert_allclose(found.singular_values, s[:2], rtol=1e-13)
    assert subspace_error(found.components.T, V[:, :2]) < 1e-12
    assert len(seen) > 2
    for earlier, later in pairwise(seen):
        assert not (later.support & ~earlier.support).any()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("d", "rank"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_torp_g_ends_only_when_the_set_repeats(d, rank, seed):
    # The r + 1 directions are all there are: the subspace never moves, but rows still go.
    X = np.random.default_rng(seed).standard_t(1.2, size=(70, d))
    found = torp_g(X, rank, mu=1.2, sigma=0.3)
    assert found.converged
    assert found.history[-1].dropped == {"length": 0, "influence": 0}


def test_correction_5_fast_pr_leaves_inside_points_alone_and_returns_feasible_ones():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    s, b = np.array([3.0, 1.0, 0.2]), 0.7
    z = rng.standard_normal((50, 3))
    inside = (0.69 * z / np.linalg.norm(z, axis=1, keepdims=True) * s) @ V.T
    off = inside + rng.standard_normal((50, 6)) @ (np.eye(6) - V @ V.T)
    np.testing.assert_allclose(project_to_ellipsoid(off, V, s, b), inside, atol=1e-14)
    # Bisection on the printed lambda would end outside, or only near the answer.
    found = project_to_ellipsoid(5 * off, V, s, b)
    np.testing.assert_allclose(np.linalg.norm(found @ V / s, axis=1), b, rtol=1e-14)
    again = project_to_ellipsoid(found, V, s, b)
    np.testing.assert_allclose(again, found, atol=1e-14)
    assert not project_to_ellipsoid(off, V, s, 0.0).any()
    flat = project_to_ellipsoid(off, V, np.array([3.0, 0.0, 0.2]), b)
    np.testing.assert_allclose(flat @ V[:, 1], 0.0, atol=1e-15)
