"""The top subspace of the kept rows, on the three routes to it."""

import numpy as np
import pytest

from tests._core import EPS, planted, svd_of_kept
from torpca import torp
from torpca._core import subspace
from torpca._core.krylov import krylov_subspace
from torpca._core.subspace import SubspaceFinder, fix_signs, subspace_change
from torpca._sources import as_source
from torpca.metrics import subspace_error


def finder_over(X, center=False):
    source = as_source(X)
    return SubspaceFinder(source, source.magnitudes(), center)


@pytest.fixture(params=["gram", "dual", "krylov"])
def shape(request, monkeypatch):
    """(n, d) of data for which the finder takes the route; checked in a test below."""
    if request.param == "krylov":
        monkeypatch.setattr(subspace, "MAX_GRAM", 5)
    return (20, 60) if request.param == "dual" else (60, 20)


def test_routes_are_taken(monkeypatch):
    tall, wide = np.ones((60, 20)), np.ones((20, 60))
    assert finder_over(tall).solve is subspace._solve_gram
    assert finder_over(wide).solve is subspace._solve_dual
    monkeypatch.setattr(subspace, "MAX_GRAM", 5)
    assert finder_over(tall).solve is krylov_subspace
    assert finder_over(wide).solve is krylov_subspace


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("k", [1, 4, 20])
def test_finds_the_svd_of_the_kept_rows(shape, k, center, polish):
    rng = np.random.default_rng(k)
    X = rng.standard_normal(shape) * np.geomspace(1, 0.05, shape[1]) + 3.0
    keep = rng.random(shape[0]) < 0.9
    fit = finder_over(X, center).find(keep, k, polish=polish)
    s, V = svd_of_kept(X, keep, center)
    k = min(k, int(np.count_nonzero(s > 1e-10 * s[0])))
    assert fit.V.shape == (shape[1], k)
    np.testing.assert_allclose(fit.s, s[:k], rtol=1e-11)
    np.testing.assert_allclose(fit.V.T @ fit.V, np.eye(k), atol=1e-13)
    overlap = np.abs(np.sum(fit.V * V[:, :k], axis=0))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-10)
    if center:
        np.testing.assert_allclose(fit.mean, X[keep].mean(axis=0), atol=1e-14)
    else:
        assert fit.mean is None


@pytest.mark.parametrize("polish", [False, True])
def test_small_directions_beside_large_ones_are_as_accurate_as_can_be(shape, polish):
    s = np.geomspace(1, 1e-9, 10)
    X, V = planted(np.random.default_rng(0), *shape, s)
    fit = finder_over(X).find(np.ones(shape[0], dtype=bool), 10, polish=polish)
    np.testing.assert_allclose(fit.s, s, rtol=0, atol=20 * EPS)
    sines = np.linalg.norm(V - fit.V * np.sum(fit.V * V, axis=0), axis=0)
    # Rounding in X alone turns direction j by about EPS s_1/s_j.
    assert np.all(sines <= 20 * EPS * s[0] / s)


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_directions_the_rows_do_not_have_are_left_out(shape, size, polish):
    X, V = planted(np.random.default_rng(1), *shape, size * np.array([3.0, 2.0, 1e-5]))
    fit = finder_over(X).find(np.ones(shape[0], dtype=bool), 7, polish=polish)
    assert fit.V.shape[1] == 3
    assert subspace_error(fit.V, V) < 1e-10


@pytest.mark.parametrize("center", [False, True])
def test_rows_without_any_direction(shape, center):
    keep = np.ones(shape[0], dtype=bool)
    fit = finder_over(np.zeros(shape), center).find(keep, 3, polish=True)
    assert fit.V.shape == (shape[1], 0)
    assert fit.s.shape == (0,)
    E, R = fit.scores()
    assert not E.any()
    assert not R.any()


def test_rounding_of_the_mean_is_no_direction(shape):
    keep = np.ones(shape[0], dtype=bool)
    fit = finder_over(np.full(shape, 0.1), center=True).find(keep, 3)
    assert fit.V.shape == (shape[1], 0)
    X, V = planted(np.random.default_rng(1), *shape, np.array([3.0, 2.0]))
    fit = finder_over(X + 1e4, center=True).find(keep, 5)
    assert fit.V.shape == (shape[1], 2)
    assert subspace_error(fit.V, V) < 1e-9


def test_a_single_row(shape):
    X = np.random.default_rng(2).standard_normal(shape)
    keep = np.zeros(shape[0], dtype=bool)
    keep[4] = True
    length = np.linalg.norm(X[4])
    fit = finder_over(X).find(keep, 3, polish=True)
    assert fit.V.shape[1] == 1
    np.testing.assert_allclose(np.abs(fit.V[:, 0] @ X[4]), length, rtol=1e-14)
    np.testing.assert_allclose(fit.s, [length], rtol=1e-14)
    fit = finder_over(X, center=True).find(keep, 3)
    assert fit.V.shape[1] == 0
    np.testing.assert_allclose(fit.mean, X[4], rtol=1e-14)


@pytest.mark.parametrize("center", [False, True])
def test_one_set_after_the_other_as_well_as_each_on_its_own(shape, center):
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape) * np.geomspace(1, 0.1, shape[1]) + 5.0
    X[:3] *= 1e8  # these leave at once; what they weighed must not stay behind
    finder = finder_over(X, center)
    keep = np.ones(shape[0], dtype=bool)
    for t in range(12):
        fit = finder.find(keep, 3)
        s, V = svd_of_kept(X, keep, center)
        np.testing.assert_allclose(fit.s, s[: len(fit.s)], rtol=1e-10, err_msg=f"set {t}")
        # Three enormous rows hide all other directions.
        assert len(fit.s) == 3
        if not keep[:3].any():
            assert subspace_error(fit.V, V[:, :3]) < 1e-9
        keep = keep.copy()
        keep[:3] = t == 6  # they come back once
        moved = rng.integers(3, shape[0], size=2)
        keep[moved] = ~keep[moved]


def test_the_gram_matrix_is_updated_by_the_rows_that_moved(monkeypatch):
    X = np.random.default_rng(4).standard_normal((2000, 10))
    finder = finder_over(X)
    counted, gram = [], finder.source.gram

    def counting(keep):
        counted.append(int(np.count_nonzero(keep)))
        return gram(keep)

    monkeypatch.setattr(finder.source, "gram", counting)
    keep = np.ones(2000, dtype=bool)
    finder.find(keep, 2)
    other = keep.copy()
    other[:70] = False
    finder.find(other, 2)
    back = keep.copy()
    back[30:90] = False
    finder.find(back, 2)
    finder.find(back, 3)
    assert counted == [2000, 70, 20, 30]
    finder.find(keep, 2)
    finder.find(other, 2)
    assert counted[4:] == []  # these are remembered
    finder.find(~back, 2)  # more rows moved than stay: summed afresh
    assert counted[4:] == [60]


def test_signs_are_fixed_by_a_rule():
    V = np.array([[0.1, -0.9], [-0.8, 0.2], [0.3, 0.1]])
    np.testing.assert_array_equal(fix_signs(V), V * [-1, -1])
    assert fix_signs(np.zeros((4, 0))).shape == (4, 0)
    X = np.random.default_rng(5).standard_normal((50, 6))
    for data in (X, -X):
        components = torp(data, 3, rho=0.05).components
        assert np.all(components[np.arange(3), np.abs(components).argmax(axis=1)] > 0)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-3, 1.0, np.pi / 2])
def test_subspace_change_is_the_sine_of_the_largest_angle(angle):
    axes = np.eye(5)
    turned = np.cos(angle) * axes[:, 1] + np.sin(angle) * axes[:, 2]
    W = np.column_stack([axes[:, 0], turned])
    assert subspace_change(axes[:, :2], W) == pytest.approx(np.sin(angle), rel=1e-10, abs=0)
    assert subspace_change(W[:, ::-1], axes[:, :2]) == pytest.approx(np.sin(angle), rel=1e-10)


def test_subspaces_of_other_dimensions_are_far_apart():
    axes = np.eye(5)
    assert subspace_change(axes[:, :2], axes[:, :3]) == 1.0
    assert subspace_change(axes[:, :0], axes[:, :0]) == 0.0
