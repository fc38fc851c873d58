"""Geodesic gradient descent: its steps, where they end, and how fast."""

import numpy as np
import pytest
from scipy.linalg import expm

from tests.test_rivals_subspace import distances, error, haystack, impatient, pca, unit
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error
from torpca.rivals._fms import fms
from torpca.rivals._ggd import along_geodesic, ggd, mean_distance


@pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 10.0])
def test_steps_follow_the_geodesic(t):
    # With [V B] orthogonal and H = BK, the geodesic is [V B] exp(t [[0, -K'], [K, 0]]) [I; 0].
    rng = np.random.default_rng(0)
    full = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    V, B, K = full[:, :3], full[:, 3:], rng.standard_normal((4, 3))
    turn = np.zeros((7, 7))
    turn[3:, :3], turn[:3, 3:] = K, -K.T
    expected = (full @ expm(t * turn))[:, :3]
    found = along_geodesic(V, B @ K, t)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
    assert subspace_error(found, expected) < 1e-12


def test_gradient_is_that_of_the_mean_distance():
    X, _ = haystack(30, 20, 6, 2, noise=0.1)
    V = pca(X, 2)
    value, G = mean_distance(X, V)
    assert value == pytest.approx(np.mean(distances(X, V)), rel=1e-12)
    np.testing.assert_allclose(V.T @ G, 0.0, atol=1e-12)
    H = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 2)))[0]
    H -= V @ (V.T @ H)
    ahead, back = (mean_distance(X, along_geodesic(V, H, t))[0] for t in (1e-6, -1e-6))
    assert np.sum(G * H) == pytest.approx((ahead - back) / 2e-6, rel=1e-6)


def test_rows_in_the_subspace_have_no_say():
    V = np.eye(4)[:, :2]
    X = np.array([[1.0, 2.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]])
    np.testing.assert_allclose(mean_distance(X, V)[1], [[0, 0], [0, 0], [-0.5, 0], [0, 0]])


def test_ends_where_reweighted_least_squares_end():
    X, _ = haystack(150, 100, 10, 3, noise=0.05)
    found = ggd(X, 3)
    assert found.converged
    assert np.linalg.norm(mean_distance(unit(X), found.components.T)[1]) < 1e-9
    assert error(fms(X, 3), found.components.T) < 1e-8
    assert error(ggd(X, 3, spherise=False), fms(X, 3, spherise=False).components.T) < 1e-8


@pytest.mark.parametrize(
    ("n_good", "n_bad", "d", "r"), [(100, 2000, 20, 3), (120, 400, 20, 10), (400, 8000, 5, 2)]
)
def test_exact_in_a_haystack(n_good, n_bad, d, r):
    # Maunu, Zhang, Lerman 2019: any share of bad rows, with rows enough; here 95 % of them are bad.
    X, V = haystack(n_good, n_bad, d, r)
    assert subspace_error(pca(X, r), V) > 0.3
    found = ggd(X, r)
    assert error(found, V) < 1e-9
    assert found.converged


@impatient
def test_converges_linearly():
    # The angle falls by a constant factor for as many steps, all the way down.
    X, V = haystack(200, 400, 10, 3)
    errors = [error(ggd(X, 3, max_iter=k, tol=0.0), V) for k in (100, 160, 220, 280)]
    assert np.all(np.diff(np.log10(errors)) < -1)


def test_a_first_step_of_another_length_ends_at_the_same_subspace():
    X, V = haystack(200, 300, 12, 3)
    for step in (0.05, 20.0):
        assert error(ggd(X, 3, step=step), V) < 1e-9


def test_unit_of_the_rows_does_not_change_the_steps():
    X, _ = haystack(100, 80, 8, 2, noise=0.05)
    one, other = ggd(X, 2, spherise=False), ggd(1000 * X, 2, spherise=False)
    assert one.n_iter == other.n_iter
    assert error(one, other.components.T) < 1e-9


@impatient
def test_long_bad_rows_matter_only_without_spherising():
    X, V = haystack(200, 60, 8, 3, noise=0.02)
    X[200:] *= 1e4
    assert error(ggd(X, 3), V) < 0.05
    assert error(ggd(X, 3, spherise=False), V) > 0.5


@impatient
@pytest.mark.parametrize("family", ["line", "cluster"])
def test_starts_from_pca_and_stays_where_that_is_led_astray(family):
    made = make_outlier_subspace(600, 20, 3, 0.4, outliers=family, random_state=0)
    assert error(ggd(made.X, 3), made.basis) > 0.9


def test_about_the_spatial_median():
    X, V = haystack(300, 60, 8, 2, noise=0.01)
    found = ggd(X + 5.0, 2, center=True)
    assert error(found, V) < 0.05
    np.testing.assert_allclose(found.mean, 5.0, atol=0.3)


@pytest.mark.parametrize("step", [0, -1.0])
def test_refuses(step):
    with pytest.raises(ValueError, match="step="):
        ggd(np.eye(3), 1, step=step)
