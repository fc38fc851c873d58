"""REAPER: that its minimum is one, and what it promises."""

import numpy as np
import pytest

from tests.test_rivals_subspace import distances, error, haystack, pca, unit
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error
from torpca.rivals import _reaper
from torpca.rivals._fms import fms
from torpca.rivals._reaper import reaper, weighted_least_squares


@pytest.fixture
def relaxed(monkeypatch):
    """The matrix P (d, d) that `reaper` ends with, for rows that span all features."""
    seen = []
    inner = _reaper.weighted_least_squares

    def watched(A, rank):
        seen.append(inner(A, rank))
        return seen[-1]

    monkeypatch.setattr(_reaper, "weighted_least_squares", watched)

    def solve(X, rank, **keywords):
        reaper(X, rank, **keywords)
        E, short = seen[-1]
        Q = _reaper.rows_in_span(X, False).Q
        return Q @ (E * (1 - short)) @ E.T @ Q.T

    return solve


def lengths(X, P):
    return np.linalg.norm(X - X @ P, axis=1)


def test_level_gives_the_trace_and_the_least_sum_of_squares():
    # Section 4 of the paper: eigenvalues 1 - theta/lam above a level, 0 below it, of trace `rank`.
    rng = np.random.default_rng(0)
    for _ in range(30):
        m = int(rng.integers(2, 9))
        rank = int(rng.integers(1, m))
        A = rng.standard_normal((20, m)) * 10.0 ** rng.uniform(-2, 2, m)
        E, short = weighted_least_squares(A, rank)
        P = (E * (1 - short)) @ E.T
        np.testing.assert_allclose(E.T @ E, np.eye(m), atol=1e-12)
        assert np.sum(1 - short) == pytest.approx(rank, rel=1e-10)
        assert np.all((short >= 0) & (short <= 1))
        # No other matrix of the set is better: duality, for the gradient G at P.
        G = -2 * A.T @ A @ (np.eye(m) - P)
        least = np.sum(np.linalg.eigvalsh((G + G.T) / 2)[:rank])
        assert np.trace(G @ P) - least <= 1e-9 * np.sum(A**2)


@pytest.mark.parametrize("n_bad", [50, 200, 800])
def test_minimum_has_a_certificate(n_bad, relaxed):
    # Convex: f(P) - f(any other) is at most tr(GP) less the sum of the least eigenvalues of G.
    X, _ = haystack(100, n_bad, 10, 3, noise=0.05)
    U = unit(X)
    P = relaxed(X, 3, tol=1e-12)
    assert np.trace(P) == pytest.approx(3)
    eigenvalues = np.linalg.eigvalsh(P)
    assert eigenvalues[0] > -1e-12
    assert eigenvalues[-1] < 1 + 1e-12
    away = lengths(U, P)
    G = -(U / away[:, None]).T @ (U - U @ P)
    gap = np.trace(G @ P) - np.sum(np.linalg.eigvalsh((G + G.T) / 2)[:3])
    assert gap < 1e-6 * np.sum(away)


def test_minimum_is_a_lower_bound_of_that_over_subspaces():
    for n_bad in (100, 400, 900):
        X, _ = haystack(100, n_bad, 10, 3, noise=0.02)
        assert reaper(X, 3).history[-1].objective < fms(X, 3).history[-1].objective * (1 + 1e-9)


@pytest.mark.parametrize("spherise", [False, True])
def test_sum_never_rises(spherise):
    X, _ = haystack(150, 300, 10, 3, noise=0.05)
    values = np.array([s.objective for s in reaper(X, 3, spherise=spherise).history])
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert values[-1] < 0.99 * values[0]


def test_history_holds_the_sum_of_distances(relaxed):
    X, _ = haystack(100, 80, 8, 2, noise=0.1)
    found = reaper(X, 2)
    total = np.sum(lengths(unit(X), relaxed(X, 2)))
    assert found.history[-1].objective == pytest.approx(total, rel=1e-12)
    assert total < np.sum(distances(unit(X), pca(unit(X), 2)))


@pytest.mark.parametrize(("n_good", "d", "r"), [(100, 20, 1), (200, 20, 3), (600, 20, 10)])
def test_exact_in_a_haystack(n_good, d, r):
    # Lerman et al. 2015: enough good rows for each dimension, beside bad rows everywhere.
    X, V = haystack(n_good, 300, d, r)
    found = reaper(X, r)
    assert error(found, V) < 1e-9
    assert found.converged
    assert subspace_error(pca(X, r), V) > 0.02


def test_few_good_rows_are_found_by_the_subspaces_but_not_by_the_relaxation():
    # The price of convexity: a matrix between projectors is nearer to rows in all directions.
    X, V = haystack(100, 900, 20, 3)
    found = reaper(X, 3)
    assert found.converged
    assert 0.01 < error(found, V) < 0.2
    assert error(fms(X, 3), V) < 1e-9


def test_axes_of_the_features_do_not_matter():
    X, _ = haystack(100, 200, 12, 3, noise=0.05)
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 12)))[0]
    turned = reaper(X @ Q, 3).components @ Q.T
    assert error(reaper(X, 3), turned.T) < 1e-8


def test_lengths_matter_only_without_spherising():
    X, V = haystack(200, 60, 8, 3, noise=0.02)
    factors = 10.0 ** np.random.default_rng(1).uniform(-6, 6, (len(X), 1))
    found = reaper(X, 3)
    assert error(found, V) < 0.05
    assert error(reaper(X * factors, 3), found.components.T) < 1e-8
    X[200:] *= 1e4
    assert error(reaper(X, 3), V) < 0.05
    assert error(reaper(X, 3, spherise=False), V) > 0.5


@pytest.mark.parametrize("family", ["line", "cluster"])
def test_many_bad_rows_along_one_direction_win(family):
    made = make_outlier_subspace(600, 20, 3, 0.4, outliers=family, random_state=0)
    assert error(reaper(made.X, 3), made.basis) > 0.9


def test_about_the_spatial_median():
    X, V = haystack(300, 60, 8, 2, noise=0.01)
    found = reaper(X + 5.0, 2, center=True)
    assert error(found, V) < 0.05
    np.testing.assert_allclose(found.mean, 5.0, atol=0.3)


def test_refuses():
    with pytest.raises(ValueError, match="delta=0"):
        reaper(np.eye(3), 1, delta=0)
