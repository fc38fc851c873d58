"""Projection onto an ellipsoid: the claims of the paper's Algorithm 5, and the edges it leaves out.

Errors are measured per point, relative to the norm of the point: a projection is well conditioned
in norm, but not coordinate by coordinate.
"""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from torpca import project_to_ellipsoid
from torpca._core import ellipsoid as module
from torpca._core.ellipsoid import project_coordinates

EPS = np.finfo(np.float64).eps


def bisect(y, scales, radius, n_steps=300):
    """One point by the paper's Algorithm 5, in 60 digits.

    Corrected as follows: lambda in line 8 is the current one; a point inside has lambda = 0; zero
    axes are left out; the answer comes from the feasible end of the last interval.
    """
    with localcontext() as context:
        context.prec = 60
        live = [j for j, s in enumerate(scales) if s > 0]
        s = [Decimal(float(scales[j])) for j in live]
        Sy = [s_j * Decimal(float(y[j])) for s_j, j in zip(s, live, strict=True)]
        b = Decimal(float(radius))
        p = np.zeros(len(y))
        if b == 0 or not live:
            return p

        def z(lam):
            return [c / (lam + s_j * s_j) for c, s_j in zip(Sy, s, strict=True)]

        def norm2(v):
            return sum(v_j * v_j for v_j in v)

        low, high = Decimal(0), norm2(Sy).sqrt() / b
        if norm2(z(low)) <= b * b:
            high = low
        for _ in range(n_steps if high else 0):
            lam = (low + high) / 2
            if norm2(z(lam)) <= b * b:
                high = lam
            else:
                low = lam
        p[live] = [float(s_j * z_j) for s_j, z_j in zip(s, z(high), strict=True)]
        return p


def relative_errors(found, expected):
    """Norm of the error over the norm of the expected row, without squaring extremes."""
    unit = np.abs(expected).max(axis=1, keepdims=True)
    unit[unit == 0] = 1.0
    found, expected = found / unit, expected / unit
    size = np.linalg.norm(expected, axis=1)
    return np.linalg.norm(found - expected, axis=1) / np.where(size > 0, size, 1.0)


def random_basis(rng, d, k):
    return np.linalg.qr(rng.normal(size=(d, k)))[0]


def random_problem(seed, n=300, d=7, k=4):
    """Points in, near and far from an ellipsoid of moderate shape, and off its subspace."""
    rng = np.random.default_rng(seed)
    V = random_basis(rng, d, k)
    scales = rng.uniform(0.1, 3.0, size=k)
    radius = rng.uniform(0.5, 2.0)
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1.5, 2.5, size=(n, 1))
    return X, V, scales, radius


# --- the right answer ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_bisection(seed):
    rng = np.random.default_rng(seed)
    _, _, scales, radius = random_problem(seed)
    y = rng.normal(size=(60, 4)) * 10 ** rng.uniform(-2, 4, size=(60, 1))
    expected = np.array([bisect(row, scales, radius) for row in y])
    assert relative_errors(project_coordinates(y, scales, radius), expected).max() < 1e-12


@pytest.mark.parametrize("radius", [1e-8, 1.0, 1e8])
def test_agrees_with_bisection_when_axes_differ_by_sixteen_orders(radius):
    rng = np.random.default_rng(0)
    scales = np.array([1e8, 1e4, 1.0, 1e-4, 1e-8])
    y = rng.normal(size=(100, 5)) * 10 ** rng.uniform(-9, 9, size=(100, 5)) * radius
    expected = np.array([bisect(row, scales, radius) for row in y])
    assert relative_errors(project_coordinates(y, scales, radius), expected).max() < 1e-12


@pytest.mark.parametrize("beyond", [1e-15, 1e-13, 1e-8, 1e-3])
def test_agrees_with_bisection_barely_outside(beyond):
    # lambda << s_min^2: the boundary is left by a relative amount down to rounding.
    rng = np.random.default_rng(1)
    scales, radius = np.array([1e3, 1.0, 1e-3]), 0.7
    z = rng.normal(size=(50, 3))
    y = z / np.linalg.norm(z, axis=1, keepdims=True) * radius * (1 + beyond) * scales
    expected = np.array([bisect(row, scales, radius) for row in y])
    assert relative_errors(project_coordinates(y, scales, radius), expected).max() < 1e-12


def test_agrees_with_bisection_where_newton_is_slowest():
    # One long axis holds nearly all of ||z||, short ones must shrink by orders of magnitude.
    rng = np.random.default_rng(2)
    scales = np.array([1.0, 1.0, 1e-8, 1e-6, 1e-4])
    y = np.zeros((100, 5))
    angle = rng.uniform(0, 2 * np.pi, size=100)
    y[:, :2] = np.column_stack([np.cos(angle), np.sin(angle)])
    y[:, :2] *= 1 - 10 ** rng.uniform(-17, -1, size=(100, 1))
    y[:, 2:] = rng.normal(size=(100, 3)) * 10 ** rng.uniform(-18, 0, size=(100, 3))
    expected = np.array([bisect(row, scales, 1.0) for row in y])
    assert relative_errors(project_coordinates(y, scales, 1.0), expected).max() < 1e-12


def test_newton_ends_well_before_its_cap(monkeypatch):
    rng = np.random.default_rng(3)
    scales = 10 ** rng.uniform(-8, 8, size=6)
    y = rng.normal(size=(2000, 6)) * 10 ** rng.uniform(-10, 10, size=(2000, 6))
    full = project_coordinates(y, scales, 1.0)
    monkeypatch.setattr(module, "_MAX_STEPS", module._MAX_STEPS // 4)
    np.testing.assert_array_equal(project_coordinates(y, scales, 1.0), full)


def test_satisfies_the_kkt_conditions():
    X, V, s, b = random_problem(4)
    Y, P = X @ V, project_to_ellipsoid(X, V, s, b) @ V
    Z = P / s
    size = np.linalg.norm(Z, axis=1)
    lam = np.sum(s * (Y - P) * Z, axis=1) / size**2
    outside = np.linalg.norm(Y / s, axis=1) > b
    assert 0 < outside.sum() < len(X)
    # Stationarity, S (y - Sz) = lambda z; feasibility of both; complementary slackness.
    residual = np.linalg.norm(s * (Y - P) - lam[:, None] * Z, axis=1)
    assert np.all(residual <= 1e-12 * np.linalg.norm(s * Y, axis=1))
    assert np.all(lam >= -1e-12)
    assert np.all(size <= b * (1 + 4 * EPS))
    assert np.all(np.abs(lam[~outside]) <= 1e-12)
    np.testing.assert_allclose(size[outside], b, rtol=1e-14)


def test_no_feasible_point_is_closer():
    X, V, s, b = random_problem(5, n=100)
    P = project_to_ellipsoid(X, V, s, b)
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(2000, len(s)))
    Z *= b * rng.uniform(size=(2000, 1)) ** (1 / len(s)) / np.linalg.norm(Z, axis=1, keepdims=True)
    Z[1000:] *= b / np.linalg.norm(Z[1000:], axis=1, keepdims=True)
    Q = (Z * s) @ V.T
    # The angle at the projection is obtuse, (x - p)'(q - p) <= 0, which is stronger.
    products = (X - P) @ Q.T - np.sum((X - P) * P, axis=1, keepdims=True)
    assert np.all(products <= 1e-12 * np.linalg.norm(X, axis=1, keepdims=True))


def test_one_axis_clips():
    y = np.array([[-7.0], [-2.0], [0.5], [3.0], [4.0]])
    expected = np.clip(y, -3.0, 3.0)
    np.testing.assert_allclose(project_to_ellipsoid(y, [[1.0]], [2.0], 1.5), expected, rtol=1e-14)


def test_sphere_divides_by_the_norm():
    rng = np.random.default_rng(6)
    X, V = rng.normal(size=(200, 5)), random_basis(rng, 5, 3)
    Y = X @ V
    expected = Y / np.maximum(np.linalg.norm(Y, axis=1, keepdims=True) / 1.5, 1.0) @ V.T
    found = project_to_ellipsoid(X, V, [0.5, 0.5, 0.5], 3.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_point_on_an_axis_goes_to_the_vertex():
    s = np.array([3.0, 2.0, 1.0])
    np.testing.assert_allclose(project_coordinates(np.diag(10 * s), s, 2.0), np.diag(2 * s))


# --- what a projection is -----------------------------------------------------------------------


def test_inside_coordinates_come_back_bit_for_bit():
    rng = np.random.default_rng(7)
    s = np.array([1e5, 1.0, 1e-5])
    z = rng.normal(size=(500, 3))
    z *= rng.uniform(0, 1 - 1e-14, size=(500, 1)) / np.linalg.norm(z, axis=1, keepdims=True)
    np.testing.assert_array_equal(project_coordinates(z * s, s, 1.0), z * s)


def test_inside_points_of_the_subspace_do_not_move():
    X, V, s, b = random_problem(8)
    inside = X @ V @ V.T
    inside *= 0.99 * b / np.linalg.norm(inside @ V / s, axis=1, keepdims=True)
    np.testing.assert_allclose(project_to_ellipsoid(inside, V, s, b), inside, rtol=0, atol=1e-14)


def test_inside_points_off_the_subspace_go_to_their_foot():
    X, V, s, _ = random_problem(9)
    np.testing.assert_allclose(project_to_ellipsoid(X, V, s, 1e9), X @ V @ V.T, rtol=0, atol=1e-12)


def test_projected_coordinates_are_feasible_and_project_to_themselves():
    rng = np.random.default_rng(10)
    for k in (1, 2, 5, 17):
        s, b = 10 ** rng.uniform(-3, 3, size=k), 10 ** rng.uniform(-3, 3)
        y = rng.normal(size=(3000, k)) * s * b * 10 ** rng.uniform(0, 3, size=(3000, 1))
        p = project_coordinates(y, s, b)
        assert np.linalg.norm(p / s, axis=1).max() <= b
        np.testing.assert_array_equal(project_coordinates(p, s, b), p)


def test_projecting_twice_changes_nothing():
    X, V, s, b = random_problem(11)
    once = project_to_ellipsoid(X, V, s, b)
    np.testing.assert_allclose(project_to_ellipsoid(once, V, s, b), once, rtol=0, atol=1e-14)


@settings(deadline=None, max_examples=200)
@given(
    pair=arrays(np.float64, (2, 3), elements=st.floats(-1e3, 1e3)),
    scales=arrays(np.float64, 3, elements=st.floats(0, 1e2)),
    radius=st.floats(0, 1e2),
)
def test_never_moves_two_points_apart(pair, scales, radius):
    p, q = project_coordinates(pair, scales, radius)
    assert np.linalg.norm(p - q) <= np.linalg.norm(pair[0] - pair[1]) + 1e-14 * np.abs(pair).max()


# Coordinates that lose digits in the unit of the ellipsoid.
TINY = 1.5143394948872752e-304 * np.array([[1, 0, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]])


@settings(deadline=None, max_examples=200)
@example(y=np.where(TINY > 0, TINY, 1.0), scales=np.array([4194305.0, 1.0, 4194305.0]), radius=1.0)
@given(
    y=arrays(np.float64, (4, 3), elements=st.floats(-1e300, 1e300)),
    scales=arrays(np.float64, 3, elements=st.floats(0, 1e300)),
    radius=st.floats(0, 1e300),
)
def test_any_finite_input_gives_a_finite_answer_no_longer_than_the_input(y, scales, radius):
    p = project_coordinates(y, scales, radius)
    assert np.all(np.isfinite(p))
    assert np.all(np.abs(p) <= np.abs(y) * (1 + 4 * EPS))
    assert np.all(p * np.sign(y) >= 0)


def test_turning_everything_turns_the_answer():
    X, V, s, b = random_problem(12)
    turn = random_basis(np.random.default_rng(12), 7, 7)
    turned = project_to_ellipsoid(X @ turn, turn.T @ V, s, b)
    np.testing.assert_allclose(turned, project_to_ellipsoid(X, V, s, b) @ turn, rtol=0, atol=1e-13)


def test_order_and_sign_of_the_axes_do_not_matter():
    X, V, s, b = random_problem(13)
    order = [2, 0, 3, 1]
    other = project_to_ellipsoid(X, -V[:, order], s[order], b)
    np.testing.assert_allclose(other, project_to_ellipsoid(X, V, s, b), rtol=0, atol=1e-13)


def test_answer_does_not_depend_on_the_blocks(monkeypatch):
    X, V, s, b = random_problem(14, n=1000)
    whole = project_to_ellipsoid(X, V, s, b)
    monkeypatch.setattr(module, "_LARGE_BLOCK", 7 * 333)
    monkeypatch.setattr(module, "_SMALL_BLOCK", 4)
    np.testing.assert_allclose(project_to_ellipsoid(X, V, s, b), whole, rtol=0, atol=1e-14)


# --- sizes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_scales", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("of_both", [1e-150, 1e-8, 1e8, 1e150])
def test_scaling_points_and_ellipsoid_scales_the_answer(of_scales, of_both):
    # The ellipsoid grows by of_both: of_scales times through s, the rest through b.
    X, V, s, b = random_problem(15)
    expected = project_to_ellipsoid(X, V, s, b)
    found = project_to_ellipsoid(X * of_both, V, s * of_scales, b * (of_both / of_scales))
    assert relative_errors(found / of_both, expected).max() < 1e-12


@pytest.mark.parametrize("factor", [1e20, 1e150, 1e290])
def test_far_points_depend_on_their_direction_alone(factor):
    # lambda >> s_max^2: the limit of the projection is s^2 y b / ||S y||.
    rng = np.random.default_rng(16)
    s, b = np.array([5.0, 1.0, 1e-3]), 2.0
    y = rng.normal(size=(100, 3))
    expected = s**2 * y * b / np.linalg.norm(s * y, axis=1, keepdims=True)
    assert relative_errors(project_coordinates(y * factor, s, b), expected).max() < 1e-12


def test_sizes_are_judged_point_by_point():
    y = np.array([[1e300, 0.0], [1e-300, 1e-300], [3.0, 0.0], [0.0, 0.0], [0.0, -1e150]])
    expected = np.array([[2.0, 0.0], [1e-300, 1e-300], [2.0, 0.0], [0.0, 0.0], [0.0, -1.0]])
    np.testing.assert_allclose(project_coordinates(y, np.array([2.0, 1.0]), 1.0), expected)


def test_semi_axes_may_be_out_of_range_when_the_answer_is_not():
    s, y = np.array([1e200, 1e160]), np.array([[1e300, -1e290]])
    np.testing.assert_array_equal(project_coordinates(y, s, 1e200), y)
    np.testing.assert_array_equal(project_coordinates(y, s / 1e300, 1e-280), 0.0)
    small = project_coordinates(np.array([[1.0, 0.0]]), np.array([1e-200, 1e-250]), 1e150)
    np.testing.assert_allclose(small, [[1e-50, 0.0]])
    large = project_coordinates(np.array([[0.0, 1e290]]), np.array([1e200, 1e130]), 1e150)
    np.testing.assert_allclose(large, [[0.0, 1e280]])
    tiny = project_coordinates(np.array([[1e-200, 0.0]]), np.array([1e-170, 1e-170]), 1e-170)
    np.testing.assert_array_equal(tiny, 0.0)


@pytest.mark.parametrize("ratio", [1e-80, 1e-200, 5e-324])
def test_vanishing_axis_counts_as_zero(ratio):
    y = np.array([[0.5, 4.0], [0.0, 1e-150], [3.0, 1e100]])
    found = project_coordinates(y, np.array([1.0, ratio]), 1.0)
    np.testing.assert_allclose(found, [[0.5, 0.0], [0.0, 0.0], [1.0, 0.0]], rtol=1e-14)


def test_raises_no_floating_point_error_on_the_way():
    y = np.array([[1e300, 1e-300], [1e-300, 1e200], [1.0, 1.0], [0.0, 0.0]])
    with np.errstate(all="raise"):
        for scales in ([1.0, 1.0], [1.0, 1e-70], [1e-150, 1e-200]):
            project_coordinates(y, np.array(scales), 1.0)


# --- flat and empty -----------------------------------------------------------------------------


def test_nothing_is_left_along_a_zero_axis_and_it_does_not_count_as_outside():
    s = np.array([2.0, 0.0, 1.0])
    y = np.array([[1.0, 50.0, 0.5], [9.0, 50.0, 9.0]])
    expected = np.zeros((2, 3))
    expected[:, [0, 2]] = project_coordinates(y[:, [0, 2]], s[[0, 2]], 1.0)
    found = project_coordinates(y, s, 1.0)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found[0], [1.0, 0.0, 0.5])


def test_zero_axis_is_the_limit_of_a_short_one():
    X, V, s, b = random_problem(17)
    flat, short = s.copy(), s.copy()
    flat[1], short[1] = 0.0, 1e-14
    limit = project_to_ellipsoid(X, V, short, b)
    np.testing.assert_allclose(project_to_ellipsoid(X, V, flat, b), limit, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("scales", "radius"), [([2.0, 1.0], 0.0), ([0.0, 0.0], 1.0), ([0, 0], 0)])
def test_an_ellipsoid_without_extent_is_the_origin(scales, radius):
    X = np.random.default_rng(18).normal(size=(10, 3))
    np.testing.assert_array_equal(project_to_ellipsoid(X, np.eye(3)[:, :2], scales, radius), 0.0)


@pytest.mark.parametrize(("n", "d", "k"), [(0, 3, 2), (4, 3, 0), (0, 3, 0), (4, 0, 0), (1, 1, 1)])
def test_empty_and_smallest_shapes(n, d, k):
    found = project_to_ellipsoid(np.ones((n, d)), np.eye(d, k), np.ones(k), 0.5)
    np.testing.assert_allclose(found, np.full((n, d), 0.5 if k else 0.0))


# --- the door -----------------------------------------------------------------------------------


def test_float32_in_float32_out_computed_in_float64():
    X, V, s, b = random_problem(19)
    X = X.astype(np.float32)
    found = project_to_ellipsoid(X, V, s, b)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, project_to_ellipsoid(X.astype(float), V, s, b).astype("f"))
    all_single = project_to_ellipsoid(X, V.astype("f"), s.astype("f"), np.float32(b))
    assert all_single.dtype == np.float32
    assert relative_errors(all_single, found).max() < 1e-5


def test_integers_and_lists_are_taken_as_float64():
    found = project_to_ellipsoid([[3, 0], [0, 1]], [[1, 0], [0, 1]], [2, 1], 1)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [[2.0, 0.0], [0.0, 1.0]])


def test_inputs_stay_as_they_are():
    X, V, s, b = random_problem(20)
    given_arrays = (X, V, s)
    copies = [a.copy() for a in given_arrays]
    for a in given_arrays:
        a.flags.writeable = False
    found = project_to_ellipsoid(X, V, s, b)
    y = X @ V
    before = y.copy()
    project_coordinates(y, s, b)
    np.testing.assert_array_equal(y, before)
    assert not np.shares_memory(found, X)
    for a, copy in zip(given_arrays, copies, strict=True):
        np.testing.assert_array_equal(a, copy)


def test_memory_order_does_not_matter():
    X, V, s, b = random_problem(21)
    expected = project_to_ellipsoid(X, V, s, b)
    wide = np.zeros((2 * len(X), X.shape[1]))
    wide[::2] = X
    for same in (np.asfortranarray(X), wide[::2]):
        np.testing.assert_allclose(project_to_ellipsoid(same, V, s, b), expected, atol=1e-14)


BAD = [
    ({"points": np.ones(3)}, r"points must have shape \(n, d\).*\(3,\).*x\[None, :\]"),
    ({"points": np.ones((2, 4))}, "basis has 3 rows, but points have 4 columns"),
    ({"points": [[1.0, np.nan, 0.0]]}, "row 0 is not"),
    ({"points": [[1.0, 0.0, 0.0], [0.0, -np.inf, 0.0]]}, "row 1 is not"),
    ({"points": [[1e301, 0.0, 0.0]]}, "common factor"),
    ({"points": np.ones((2, 3), complex)}, "real numbers.*complex"),
    ({"points": [["a", "b", "c"]]}, "real numbers"),
    ({"basis": np.eye(3)[0]}, r"basis must have shape \(d, k\)"),
    ({"basis": np.ones((3, 2))}, "orthonormal columns.*qr"),
    ({"basis": np.eye(3)[:, :2] * (1 + 1e-7)}, "orthonormal"),
    ({"basis": np.full((3, 2), np.nan)}, "orthonormal"),
    ({"basis": np.full((3, 2), 1e200)}, "orthonormal"),
    ({"scales": [1.0]}, "scales has 1 entries, but basis has 2 columns"),
    ({"scales": [[1.0, 2.0]]}, r"scales must have shape \(k,\)"),
    ({"scales": [1.0, -2.0]}, r"scales\[1\] is -2"),
    ({"scales": [np.inf, 1.0]}, r"scales\[0\] is inf"),
    ({"scales": [np.nan, 1.0]}, r"scales\[0\] is nan"),
    ({"radius": -1.0}, "radius must be one finite number >= 0, but is -1.0"),
    ({"radius": np.nan}, "radius must be"),
    ({"radius": np.inf}, "radius must be"),
    ({"radius": [1.0, 2.0]}, "radius must be.*use scales"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_refused_with_advice(change, message):
    good = {"points": np.ones((2, 3)), "basis": np.eye(3)[:, :2], "scales": [2.0, 1.0], "radius": 1}
    with pytest.raises(ValueError, match=message):
        project_to_ellipsoid(**(good | change))


def test_nearly_orthonormal_single_precision_basis_is_accepted():
    V = random_basis(np.random.default_rng(22), 500, 20).astype(np.float32)
    project_to_ellipsoid(np.ones((2, 500), np.float32), V, np.ones(20), 1.0)
