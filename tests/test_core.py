"""The parts of the algorithms, each against its definition."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca import Iteration, project_to_ellipsoid, torp, torp_bin, torp_g, torp_n
from torpca._core import subspace, theorems
from torpca._core.frame import FAR, choose_frame
from torpca._core.grid import rho_grid
from torpca._core.krylov import _orthonormal_beside, krylov_subspace
from torpca._core.loop import Run, Step, iterate
from torpca._core.subspace import Fit, SubspaceFinder, fix_signs, subspace_change
from torpca._core.threshold import fraction_count, largest
from torpca._core.torp_n import binary_search, linear_search
from torpca._sources import as_source
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

EPS = np.finfo(float).eps
quick = settings(max_examples=100, deadline=None)


def planted(rng, n, d, s):
    """(X, V): an n x d matrix with singular values s and right singular vectors V (d, k)."""
    U = np.linalg.qr(rng.standard_normal((n, len(s))))[0]
    V = np.linalg.qr(rng.standard_normal((d, len(s))))[0]
    return (U * s) @ V.T, V


def finder_over(X, center=False):
    source = as_source(X)
    return SubspaceFinder(source, source.magnitudes(), center)


def svd_of_kept(X, keep, center=False):
    """Singular values and right singular vectors (d, m) of the kept rows, by numpy."""
    A = X[keep] - X[keep].mean(axis=0) if center else X[keep]
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    return s, Vt.T


# Hard thresholding


@quick
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1e-300, 1e300]), max_size=30), st.integers(-1, 31))
def test_largest_agrees_with_a_full_sort(values, count):
    values = np.array(values)
    order = np.lexsort((np.arange(len(values)), -values))  # by value, then by row number
    expected = np.zeros(len(values), dtype=bool)
    expected[order[: max(count, 0)]] = True
    np.testing.assert_array_equal(largest(values, count), expected)


@quick
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.integers(0, 50))
def test_largest_leaves_no_larger_value_behind(values, count):
    values = np.array(values)
    mask = largest(values, count)
    assert mask.sum() == min(count, len(values))
    if mask.any() and not mask.all():
        assert values[mask].min() >= values[~mask].max()


def test_fraction_m_of_n_is_m_rows():
    for n in range(1, 300):
        assert [fraction_count(m / n, n) for m in range(n + 1)] == list(range(n + 1))


@pytest.mark.parametrize(("rho", "n", "count"), [(0.1, 25, 3), (0.001, 25, 1), (1e-15, 25, 1)])
def test_a_fraction_of_a_row_is_a_row(rho, n, count):
    assert fraction_count(rho, n) == count


# The theorems' parameters, as printed


@pytest.mark.parametrize("mu", [1.0, 1.7, 4.0])
@pytest.mark.parametrize(("r", "n", "d", "sigma"), [(1, 100, 10, 1.0), (5, 2000, 50, 0.01)])
def test_parameters_follow_the_printed_formulas(mu, r, n, d, sigma):
    assert theorems.theorem_rho(mu, r) == pytest.approx(1 / (128 * mu**2 * r))
    assert theorems.theorem_eta(mu, r, n) == pytest.approx(2 * mu * (r / n) ** 0.5)
    c1, c2 = 1 / 12288, 1 / 1536
    length = 5 / 4 * mu * r**0.5 + d**0.5 + 2 * d**0.25 * math.log(mu**2 * r / c2) ** 0.5
    assert theorems.zeta1(mu, r, d, sigma) == pytest.approx(sigma * length)
    spread = 5 / 4 * mu + 2 * math.log(mu**2 * r**2 * d / c1) ** 0.5
    assert theorems.zeta2(mu, r, d, sigma) == pytest.approx(sigma * (2 * r) ** 0.5 * spread)
    allowed = 24 * n * c1 / (mu**2 * d * r)
    assert theorems.influential_rows_allowed(mu, r, n, d) == pytest.approx(allowed)


@pytest.mark.parametrize("algorithm", [torp, torp_n, torp_bin])
def test_mu_sets_rho_as_the_theorem_does(algorithm):
    X = make_outlier_subspace(400, 8, 2, 0.01, noise=0.01, random_state=0).X
    found = algorithm(X, 2, mu=1.5)
    assert found.parameters["rho"] == 1 / (128 * 1.5**2 * 2)
    assert found.grid is None
    if algorithm is not torp:
        assert found.parameters["eta"] == pytest.approx(2 * 1.5 * math.sqrt(2 / 400))


@pytest.mark.parametrize("tol", [1.0, 1e3, 1e10])
def test_there_is_always_one_iteration(tol):
    assert theorems.theorem_iterations(10, tol) >= 1
    X = np.random.default_rng(0).standard_normal((50, 4))
    for found in (
        torp(X, 2, rho=0.1, tol=tol),
        torp(X, 2, tol=tol),
        torp_n(X, 2, rho=0.1, tol=tol),
    ):
        assert found.n_iter >= 1
        assert not found.support.all()


# The top subspace, on the three routes to it


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


# Krylov


def test_krylov_without_a_gap():
    keep = np.ones(100, dtype=bool)
    X = np.linalg.qr(np.random.default_rng(6).standard_normal((100, 50)))[0]
    V, s = krylov_subspace(as_source(X), keep, 4)  # every subspace is as good as any other
    np.testing.assert_allclose(s, 1.0, rtol=1e-13)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-13)
    X = np.random.default_rng(7).standard_normal((100, 50))  # gaps of a percent
    V, s = krylov_subspace(as_source(X), keep, 4)
    expected, W = svd_of_kept(X, keep)
    np.testing.assert_allclose(s, expected[:4], rtol=1e-12)
    assert subspace_error(V, W[:, :4]) < 1e-9


def test_krylov_with_a_basis_as_large_as_the_space():
    X = np.random.default_rng(8).standard_normal((50, 12))
    keep = np.arange(50) > 5
    expected, _ = svd_of_kept(X, keep)
    for k in (1, 6, 11, 12):
        _, s = krylov_subspace(as_source(X), keep, k)
        np.testing.assert_allclose(s, expected[:k], rtol=1e-12)


def test_krylov_adds_only_what_is_new():
    rng = np.random.default_rng(10)
    Q = np.linalg.qr(rng.standard_normal((40, 6)))[0]
    # Nearly all of the block is there already, and one of its columns is entirely.
    block = Q @ rng.standard_normal((6, 3))
    block[:, 1:] += 1e-10 * rng.standard_normal((40, 2))
    fresh = _orthonormal_beside(Q, block, 1e-13)
    assert fresh.shape == (40, 2)
    np.testing.assert_allclose(fresh.T @ fresh, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(Q.T @ fresh, 0.0, atol=1e-14)
    assert _orthonormal_beside(np.eye(4)[:, :3], np.eye(4), 0.1).shape == (4, 1)


def test_krylov_starts_from_a_guess(monkeypatch):
    X, V = planted(np.random.default_rng(9), 150, 80, np.geomspace(1, 0.01, 80))
    source, passes = as_source(X), []
    product = source.gram_matmul

    def counting(keep, V):
        passes.append(V.shape[1])
        return product(keep, V)

    monkeypatch.setattr(source, "gram_matmul", counting)
    keep = np.ones(150, dtype=bool)
    found, _ = krylov_subspace(source, keep, 5)
    from_nowhere = len(passes)
    passes.clear()
    krylov_subspace(source, keep, 5, found)
    assert len(passes) == 1
    assert from_nowhere > 3
    assert subspace_error(found, V[:, :5]) < 1e-11


# The frame


def test_ordinary_sizes_are_left_alone():
    source = as_source(np.eye(3))
    for sizes in ([1.0, 2.0, 3.0], [1e-90, 1e99, 0.0], [0.0, 0.0, 0.0]):
        frame = choose_frame(source, np.array(sizes), np.ones(3, dtype=bool))
        assert frame.factors is None
        assert frame.unit == 1.0
        assert frame.about(None) is source


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-101, 1e101, 1e160, 1e300])
def test_the_unit_is_a_power_of_two_near_the_largest_kept_row(size):
    X = size * np.array([[1.0, 0.3], [0.7, 0.1], [1e-3, 0.0]])
    source = as_source(X)
    frame = choose_frame(source, source.magnitudes(), np.ones(3, dtype=bool))
    assert 0.5 < size / frame.unit < 2
    assert math.frexp(frame.unit)[0] == 0.5
    np.testing.assert_array_equal(frame.about(None).take(np.arange(3)) * frame.unit, X)
    seen = frame.about(X[0]).take(np.arange(3)) * frame.unit
    np.testing.assert_array_equal(seen, X - X[0])


def test_rows_beyond_every_kept_one_are_shortened_and_stay_the_farthest():
    X = np.array([[1.0, 0.0], [1e300, 1e299], [1e-300, 0.0], [0.0, 1e120]])
    source = as_source(X)
    keep = np.array([True, False, True, False])
    rows = choose_frame(source, source.magnitudes(), keep).about(None).take(np.arange(4))
    np.testing.assert_array_equal(rows[[0, 2]], X[[0, 2]])
    np.testing.assert_array_equal(rows[3], X[3])  # squares well: as it is
    assert FAR / 4 <= rows[1, 0] <= FAR
    assert rows[1, 1] / rows[1, 0] == pytest.approx(0.1, rel=1e-15)


# The loop


def fit_at(angle):
    """A line in the plane, at an angle."""
    V = np.array([[np.cos(angle)], [np.sin(angle)]])
    return Fit(None, V, np.ones(1), frame=None, eps=EPS, blur=1.0)


def masks(*kept):
    return [np.isin(np.arange(6), rows) for rows in kept]


def play(sets, angles, **options):
    """Run the loop through given kept sets and subspaces; also return the number of steps."""
    steps = iter(zip(sets, angles, strict=True))
    taken = []

    def step(keep):
        taken.append(keep)
        kept, angle = next(steps)
        return Step(fit_at(angle), kept, {"rule": int(6 - kept.sum())}, objective=1.0)

    options = {"max_iter": 100, "tol": 0.0, "callback": None, **options}
    return iterate(step, np.ones(6, dtype=bool), **options), taken


def test_loop_stops_when_a_set_repeats():
    a, b = masks([0, 1, 2], [1, 2, 3])
    run, taken = play([a, b, a, b], [0.1, 0.2, 0.3, 0.4])
    assert len(run.history) == 3
    assert run.converged
    assert not run.halted
    np.testing.assert_array_equal(run.keep, a)
    assert taken[0].all()
    np.testing.assert_array_equal(taken[1:], [a, b])  # each step starts from the last one's set


def test_loop_stops_when_nothing_is_dropped_at_all():
    run, _ = play([np.ones(6, dtype=bool)], [0.1])
    assert run.converged
    assert len(run.history) == 1


def test_loop_stops_when_the_subspace_stands_still():
    sets = masks([0], [1], [2], [3], [4])
    run, _ = play(sets, [0.0, 0.1, 0.101, 0.101001, 0.5], tol=1e-5)
    assert run.converged
    assert len(run.history) == 4
    np.testing.assert_array_equal(run.keep, sets[3])
    changes = [record.subspace_change for record in run.history]
    assert changes[0] == 1.0
    np.testing.assert_allclose(changes[1:], np.sin([0.1, 0.001, 0.000001]), rtol=1e-9)


def test_loop_stops_at_the_last_iteration_allowed():
    run, _ = play(masks([0], [1], [2]), [0.0, 0.1, 0.2], max_iter=3)
    assert not run.converged
    assert not run.halted
    assert [record.iteration for record in run.history] == [0, 1, 2]
    np.testing.assert_array_equal(run.keep, masks([2])[0])


def test_loop_stops_when_a_step_gives_up():
    def step(keep):
        return Step(fit_at(0.0), keep, {}, objective=0.0, halt=True)

    run = iterate(step, np.ones(6, dtype=bool), max_iter=9, tol=0.0, callback=None)
    assert run.halted
    assert not run.converged
    assert len(run.history) == 1


@pytest.mark.parametrize("objective", [np.nan, np.inf])
def test_loop_does_not_go_on_with_values_that_are_not_finite(objective):
    def step(keep):
        return Step(fit_at(0.0), keep, {}, objective=objective)

    with pytest.raises(FloatingPointError, match=r"iteration 0 .*not finite.*report"):
        iterate(step, np.ones(6, dtype=bool), max_iter=9, tol=0.0, callback=None)


def test_callback_is_given_arrays_of_its_own_and_the_history_none():
    sets = masks([0, 1, 2], [1, 2, 3], [4])
    seen = []

    def callback(record):
        seen.append((record, record.support.copy(), record.components.copy()))
        record.support[:] = True
        record.components[:] = 0.0

    run, taken = play(sets, [0.0, 0.1, 0.2], callback=callback, max_iter=3)
    np.testing.assert_array_equal(run.keep, sets[2])
    np.testing.assert_array_equal(taken[1:], sets[:2])
    np.testing.assert_array_equal([support for _, support, _ in seen], sets)
    for (record, _, components), kept, angle in zip(seen, sets, [0.0, 0.1, 0.2], strict=True):
        assert isinstance(record, Iteration)
        np.testing.assert_array_equal(components, [[np.cos(angle), np.sin(angle)]])
        assert record.n_kept == kept.sum()
        assert record.dropped == {"rule": 6 - kept.sum()}
        assert record.rank == 1
    assert tuple(record for record, _, _ in seen) == run.history  # arrays do not count in ==
    assert all(record.support is None and record.components is None for record in run.history)


# What the algorithms record


@pytest.fixture(scope="module")
def noisy():
    return make_outlier_subspace(
        300, 12, 3, 0.05, outliers="mixed", noise=0.02, mean=1.0, random_state=0
    )


def recorded(algorithm, *args, **options):
    seen = []
    return algorithm(*args, callback=seen.append, **options), seen


@pytest.mark.parametrize("center", [False, True])
def test_torp_records_each_iteration(noisy, center):
    X = noisy.X
    found, seen = recorded(torp, X, 3, rho=0.06, center=center)
    assert found.history == tuple(seen)
    assert found.n_iter == len(seen) > 2
    assert [record.iteration for record in seen] == list(range(len(seen)))
    kept, before = np.ones(300, dtype=bool), None
    for record in seen:
        V = record.components.T
        rows = X - X[kept].mean(axis=0) if center else X
        s, W = svd_of_kept(rows, kept)
        assert subspace_error(V, W[:, :3]) < 1e-9
        E = np.linalg.norm(rows @ V / s[:3], axis=1)
        R = np.linalg.norm(rows - rows @ V @ V.T, axis=1)
        np.testing.assert_array_equal(record.support, ~(largest(R, 18) | largest(E, 18)))
        assert record.dropped == {"residual": 18, "incoherence": 18}
        assert record.n_kept == record.support.sum()
        assert record.rank == 3
        assert record.objective == pytest.approx(np.linalg.norm(R[record.support]))
        change = 1.0 if before is None else subspace_change(before, V)
        assert record.subspace_change == pytest.approx(change, abs=1e-12)
        kept, before = record.support, V
    np.testing.assert_array_equal(found.support, kept)
    assert all(record.support is None for record in found.history)


@pytest.mark.parametrize("algorithm", [torp_n, torp_bin])
def test_torp_n_records_all_ranks_in_the_order_tried(noisy, algorithm):
    found, seen = recorded(algorithm, noisy.X, 3, rho=0.05, eta=0.5)
    ranks = [record.rank for record in seen]
    assert found.ranks_tried == ((1, 2, 3) if algorithm is torp_n else (2, 3))
    assert tuple(dict.fromkeys(ranks)) == found.ranks_tried
    assert found.history == tuple(seen)
    assert found.n_iter == len(seen)
    starts = [i for i, record in enumerate(seen) if record.iteration == 0]
    assert [ranks[i] for i in starts] == list(found.ranks_tried)
    for i, record in enumerate(seen):
        kept = np.ones(300, dtype=bool) if i in starts else seen[i - 1].support
        s, _ = svd_of_kept(noisy.X, kept)
        V = record.components.T
        E = np.linalg.norm(noisy.X @ V / s[: record.rank], axis=1)
        R = np.linalg.norm(noisy.X - noisy.X @ V @ V.T, axis=1)
        np.testing.assert_array_equal(record.support, ~(largest(R, 15) | largest(E, 30)))
        assert record.dropped == {"residual": 15, "incoherence": 30}
    np.testing.assert_array_equal(found.support, seen[-1].support)
    assert found.converged


def test_torp_g_records_rows_dropped_by_length_and_by_influence():
    data = make_outlier_subspace(500, 12, 2, 0.02, outliers="line", noise=0.01, random_state=1)
    found, seen = recorded(torp_g, data.X, 2, mu=data.mu, sigma=0.01)
    assert found.history == tuple(seen)
    far = theorems.zeta2(data.mu, 2, 12, 0.01)
    long = theorems.zeta1(data.mu, 2, 12, 0.01)
    kept = np.ones(500, dtype=bool)
    for record in seen:
        V = record.components.T
        s, _ = svd_of_kept(data.X, kept)
        fits = data.X @ V @ V.T
        feet = project_to_ellipsoid(fits, V, s[:3], 2 * data.mu * math.sqrt(2 / 500))
        moved = np.where(kept, np.linalg.norm(fits - feet, axis=1), 0.0)
        crowd = np.sum(moved > far) >= theorems.influential_rows_allowed(data.mu, 2, 500, 12)
        by_influence = moved >= far if crowd else np.zeros(500, dtype=bool)
        assert record.dropped == {"length": (moved >= long).sum(), "influence": by_influence.sum()}
        assert record.objective == pytest.approx(np.linalg.norm(moved))
        np.testing.assert_array_equal(record.support, kept & ~((moved >= long) | by_influence))
        kept = record.support
    assert not kept[data.outliers].any()
    assert found.history[-1].dropped == {"length": 0, "influence": 0}
    assert found.converged


@pytest.mark.parametrize("center", [False, True])
def test_residuals_that_are_all_rounding_tie(center):
    # Otherwise the order of sums would say which good rows of noiseless data go.
    X, _, bad, _ = make_outlier_subspace(
        300, 20, 3, 0.02, outliers="line", mean=5.0 * center, random_state=0
    )
    found = torp(X, 3, rho=0.06, center=center)
    good = np.flatnonzero(~bad)
    assert not found.support[bad].any()
    assert not found.support[good[:12]].any()  # 6 bad rows, then the first 12 of equal ones
    # The other 18 rows go by incoherence; some may be among the first.
    assert 300 - 36 <= found.support.sum() <= 300 - 18
    assert found.history[-1].objective == 0.0


# The search for the rank


def attempts(passing, asked):
    """Ranks in `passing` pass; each run is marked by its rank."""

    def attempt(k):
        asked.append(k)
        keep = np.arange(30) == k
        return Run(keep, (), converged=True, halted=k not in passing)

    return attempt


@pytest.mark.parametrize("rank", [1, 2, 3, 7, 8, 20])
def test_both_searches_find_the_last_rank_that_passes(rank):
    for last in range(rank + 1):
        for search in (linear_search, binary_search):
            asked = []
            found = search(attempts(range(1, last + 1), asked), rank)
            assert found.rank == last
            assert found.tried == tuple(asked)
            if last > 0:
                assert found.run.keep[last]  # it is that rank's run
            else:
                assert found.run.halted
            if search is linear_search:
                assert asked == list(range(1, min(last + 1, rank) + 1))
            else:
                assert len(asked) <= math.floor(math.log2(rank)) + 1
                assert asked[0] == (1 + rank) // 2


def test_linear_search_stops_at_the_first_failure_and_binary_search_need_not_see_it():
    asked = []
    found = linear_search(attempts({1, 3, 4}, asked), 4)
    assert (found.rank, asked) == (1, [1, 2])
    asked = []
    found = binary_search(attempts({2, 3, 4}, asked), 4)
    assert (found.rank, asked) == (4, [2, 3, 4])


def test_the_rank_is_where_noise_takes_over():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 30)) * np.array([100.0, 50.0, 25.0] + 27 * [1.0])
    X[:10, 29] = 30.0  # influential beyond the third direction
    for algorithm in (torp_n, torp_bin):
        found = algorithm(X, 6, rho=0.001, eta=0.12)
        assert len(found.components) == 3
        assert subspace_error(found.components.T, np.eye(30)[:, :3]) < 0.01


def test_no_rank_may_pass():
    X = np.random.default_rng(1).standard_normal((100, 5))
    for algorithm in (torp_n, torp_bin):
        found = algorithm(X, 3, rho=0.02, eta=0.0)
        assert found.components.shape == (0, 5)
        assert found.singular_values.shape == (0,)
        assert not found.converged


@pytest.mark.parametrize(("m", "n"), [(7, 25), (3, 103), (5, 199)])
def test_exactly_two_rho_n_influential_rows_are_too_many(m, n):
    # In floating point 2 (m/n) n may exceed 2 m; the rule must not notice.
    X = np.random.default_rng(2).standard_normal((n, 4))
    s, V = svd_of_kept(X, np.ones(n, dtype=bool))
    E = np.sort(np.abs(X @ V[:, 0]) / s[0])[::-1]
    between = (E[2 * m - 1] + E[2 * m]) / 2
    found = torp_n(X, 1, rho=m / n, eta=between)
    assert found.n_iter == 1
    assert len(found.components) == 0
    # One row fewer is not enough to give up in the first iteration.
    between = (E[2 * m - 2] + E[2 * m - 1]) / 2
    assert torp_n(X, 1, rho=m / n, eta=between, max_iter=1).components.shape == (1, 4)


# The grid


def test_the_grid_halves_from_a_quarter_to_the_theorem():
    assert rho_grid(10_000, 2) == [0.25 / 2**i for i in range(7)]  # 1/256 = 1/(128 r)
    assert rho_grid(100, 2) == [0.25 / 2**i for i in range(5)]  # 1/64 is more than a row
    assert rho_grid(100, 60)[0] == 0.125  # at 1/4 fewer than 60 rows would be left
    assert rho_grid(3, 1) == [1 / 3]
    with pytest.raises(ValueError, match=r"n_samples = 4 .*rank=3.*5 are needed.*more rows"):
        rho_grid(4, 3)


@pytest.mark.parametrize("algorithm", [torp_n, torp_bin])
@pytest.mark.parametrize("d", [2, 9])
@pytest.mark.parametrize("center", [False, True])
def test_the_grid_leaves_torp_n_enough_rows(algorithm, d, center):
    # Three times rho n rows may go: the smallest grids that TORP can live with are too few.
    for n in range(2, 12):
        for rank in range(1, min(n, d) + 1):
            X = np.random.default_rng(n).standard_normal((n, d))
            if n < rank + 3:
                with pytest.raises(ValueError, match=f"n_samples = {n} .*{rank + 3} are needed"):
                    algorithm(X, rank, center=center)
            else:
                assert algorithm(X, rank, center=center).support.sum() >= rank


@pytest.mark.parametrize("algorithm", [torp, torp_n, torp_bin, torp_g])
def test_the_choice_comes_with_its_evidence(noisy, algorithm):
    found = algorithm(noisy.X, 3)
    assert [record["rho"] for record in found.grid] == rho_grid(300, 3)
    for record in found.grid:
        assert {"rho", "lead", "standard_error", "log_residual", "n_kept", "mu"} == set(record)
        dropped = fraction_count(record["rho"], 300)
        assert 300 - 2 * dropped <= record["n_kept"] <= 300 - dropped
        assert np.isfinite(list(record.values())).all()
    # The smallest rho that is not beaten by two standard errors.
    unbeaten = [r for r in found.grid if r["lead"] >= -2 * r["standard_error"]]
    if algorithm is torp_g:
        assert found.parameters["mu"] == max(1.0, unbeaten[-1]["mu"])
    else:
        assert found.parameters["rho"] == unbeaten[-1]["rho"]


@pytest.mark.parametrize(("algorithm", "center"), [(torp, False), (torp, True), (torp_bin, False)])
def test_of_many_rows_a_part_tells_rho(algorithm, center):
    made = make_outlier_subspace(30_000, 20, 2, 0.03, outliers="line", random_state=0)
    found = algorithm(made.X + 5.0 * center, 2, center=center)
    assert max(record["n_kept"] for record in found.grid) < 10_000
    assert found.parameters["rho"] in [record["rho"] for record in found.grid]
    # What is made of it is made of all rows.
    again = algorithm(made.X + 5.0 * center, 2, center=center, rho=found.parameters["rho"])
    assert again.grid is None
    np.testing.assert_array_equal(found.support, again.support)
    assert subspace_error(found.components.T, made.basis) < 1e-12
    assert not np.any(found.support & made.outliers)


def test_evidence_is_of_torp_at_that_rho(noisy):
    evidence = torp(noisy.X, 3).grid
    residuals = []
    for record in evidence:
        found = torp(noisy.X, 3, rho=record["rho"])
        assert found.grid is None
        assert found.support.sum() == record["n_kept"]
        V = found.components.T
        residuals.append(np.linalg.norm(noisy.X - noisy.X @ V @ V.T, axis=1))
        assert np.log(residuals[-1]).mean() == pytest.approx(record["log_residual"], abs=1e-9)
    # Each row votes for the subspace that it is nearer to, if rounding can tell.
    logs = np.log(residuals)
    votes = np.sign(np.where(np.abs(logs - logs[:, None]) > 1e-9, logs - logs[:, None], 0.0))
    leads, voters = votes.mean(axis=2), np.abs(votes).sum(axis=2)
    best = max(range(len(evidence)), key=lambda i: (leads[i].min(), i))
    np.testing.assert_allclose([r["lead"] for r in evidence], leads[:, best], atol=1e-12)
    errors = np.sqrt(voters[best]) / 300
    np.testing.assert_allclose([r["standard_error"] for r in evidence], errors, atol=1e-12)


def test_clean_rows_are_spared():
    X = make_outlier_subspace(400, 20, 3, 0.0, noise=0.01, random_state=0).X
    found = torp(X, 3)
    assert found.parameters["rho"] == rho_grid(400, 3)[-1]
    assert found.support.sum() >= 396


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("outliers", ["isotropic", "line", "cluster", "small", "mixed"])
def test_the_grid_is_right_for_every_family(outliers, seed):
    X, V, bad, _ = make_outlier_subspace(
        400, 30, 3, 0.05, outliers=outliers, noise=0.01, random_state=seed
    )
    _, oracle = svd_of_kept(X, ~bad)
    best = subspace_error(oracle[:, :3], V)
    for algorithm in (torp, torp_n, torp_bin):
        found = algorithm(X, 3)
        assert subspace_error(found.components.T, V) < 2 * best


@pytest.mark.parametrize("noise", [0.1, 0.3])
@pytest.mark.parametrize("outliers", ["line", "mixed"])
def test_a_few_enormous_rows_do_not_buy_the_grid(outliers, noise):
    # Where noise is large, losing a direction costs a good row little; one that is a thousand
    # times longer gains much by having the direction to itself. Most rows decide, not the gain.
    for seed in (0, 1):
        X, V, bad, _ = make_outlier_subspace(
            1000, 20, 2, 0.05, outliers=outliers, noise=noise, random_state=seed
        )
        _, oracle = svd_of_kept(X, ~bad)
        found = torp(X, 2)
        assert subspace_error(found.components.T, V) < 2 * subspace_error(oracle[:, :2], V)


def test_gaussian_noise_is_estimated():
    data = make_outlier_subspace(1000, 20, 2, 0.01, outliers="line", noise=0.1, random_state=0)
    found = torp_g(data.X, 2)
    assert found.parameters["sigma"] == pytest.approx(0.1, rel=0.02)
    assert found.parameters["mu"] == pytest.approx(data.mu, rel=0.3)
    given = torp_g(data.X, 2, sigma=0.2)
    assert given.parameters == {"mu": found.parameters["mu"], "sigma": 0.2}
    assert torp_g(data.X, 20, mu=1.5).parameters["sigma"] == 0.0  # no dimension left for noise


# Corrections of the printed text


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
