"""What the metrics claim: known answers, invariance, tiny angles, extreme scales."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca.metrics import (
    frobenius_residual,
    incoherence,
    principal_angles,
    spectral_residual,
    subspace_error,
    support_precision,
    support_recall,
)

EPS = np.finfo(float).eps
seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=40, deadline=None)


def planted(angles, d):
    """(V, V_true) along coordinate axes, at the given angles to each other."""
    k = len(angles)
    axes = np.eye(d)
    V = np.cos(angles) * axes[:, :k] + np.sin(angles) * axes[:, k : 2 * k]
    return V, axes[:, :k]


def rotation(rng, d):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


# Angles


@pytest.mark.parametrize("angle", [1e-300, 1e-100, 1e-15, 1e-14, 1e-8, 0.1, 1.5])
def test_a_planted_angle_comes_back(angle):
    V, V_true = planted([0.0, angle, 0.0], d=20)
    assert subspace_error(V, V_true) == pytest.approx(np.sin(angle), rel=1e-10, abs=0)
    assert principal_angles(V, V_true)[-1] == pytest.approx(angle, rel=1e-10, abs=0)


def test_a_planted_angle_comes_back_from_a_mixed_basis():
    V, V_true = planted([0.0, 1e-14, 0.0], d=20)
    mix = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, -3.0, 1.0]])
    assert subspace_error(V @ mix, V_true) == pytest.approx(1e-14, rel=1e-3, abs=0)


@quick
@given(seeds, st.lists(st.floats(0, np.pi / 2), min_size=1, max_size=5))
def test_angles_survive_any_rotation_and_any_choice_of_basis(seed, angles):
    rng = np.random.default_rng(seed)
    k, d = len(angles), 12
    V, V_true = planted(np.array(angles), d)
    # Well-conditioned mixing: rounding in V @ mix moves the span by eps times its condition.
    mix = rotation(rng, k) @ np.diag(rng.uniform(0.5, 2.0, k)) @ rotation(rng, k)
    R = rotation(rng, d)
    V, V_true = R @ V @ mix, R @ V_true
    np.testing.assert_allclose(principal_angles(V, V_true), np.sort(angles), atol=100 * EPS)
    assert subspace_error(V, V_true) == pytest.approx(np.sin(max(angles)), abs=100 * EPS)


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 4))
def test_error_is_the_norm_of_what_the_projection_misses(seed, k, r):
    rng = np.random.default_rng(seed)
    V, V_true = rotation(rng, 7)[:, :k], rotation(rng, 7)[:, :r]
    by_definition = np.linalg.norm((np.eye(7) - V @ V.T) @ V_true, 2)
    assert subspace_error(V, V_true) == pytest.approx(by_definition, abs=1e-14)
    if k >= r:
        largest = principal_angles(V, V_true)[-1]
        assert subspace_error(V, V_true) == pytest.approx(np.sin(largest), abs=1e-14)
    angles = principal_angles(V, V_true)
    assert angles.shape == (min(k, r),)
    np.testing.assert_allclose(angles, principal_angles(V_true, V), atol=1e-14)


def test_a_tiny_angle_beside_a_large_one_and_one_near_a_right_angle():
    near = np.pi / 2 - 1e-12
    V, V_true = planted(np.array([1e-12, 1.4, near]), d=10)
    angles = principal_angles(V, V_true)
    assert angles[0] == pytest.approx(1e-12, rel=1e-3, abs=0)
    assert np.pi / 2 - angles[2] == pytest.approx(1e-12, rel=1e-3, abs=0)


def test_orthogonal_and_equal_spaces():
    axes = np.eye(5)
    assert subspace_error(axes[:, :2], axes[:, 2:4]) == 1.0
    np.testing.assert_array_equal(principal_angles(axes[:, :2], axes[:, 2:4]), [np.pi / 2] * 2)
    assert subspace_error(axes, axes) == 0.0


@quick
@given(seeds)
def test_extra_directions_are_free_and_missing_ones_cost_one(seed):
    V = np.random.default_rng(seed).standard_normal((9, 5))
    assert subspace_error(V, V[:, 1:4]) < 100 * EPS * np.linalg.cond(V)
    assert subspace_error(V[:, 1:4], V) == 1.0


def test_dependent_columns_count_once_and_short_columns_count():
    axes = np.eye(4)
    repeated = axes[:, [0, 0, 0]]
    assert subspace_error(repeated, axes[:, :2]) == 1.0
    assert subspace_error(repeated, axes[:, :1]) == pytest.approx(0.0, abs=EPS)
    assert principal_angles(repeated, axes[:, :2]).shape == (1,)
    uneven = axes[:, :2] * [1e160, 1e-160]
    assert subspace_error(uneven, axes[:, :2]) == 0.0


def test_the_zero_subspace():
    nothing, axes = np.zeros((4, 0)), np.eye(4)
    assert subspace_error(nothing, axes[:, :1]) == 1.0
    assert subspace_error(axes[:, :1], nothing) == subspace_error(nothing, np.zeros((4, 2))) == 0.0
    assert principal_angles(nothing, axes).shape == (0,)
    assert frobenius_residual(nothing, axes) == 2.0


# Residuals


@quick
@given(seeds, st.integers(1, 6))
def test_residuals_follow_their_definition(seed, k):
    rng = np.random.default_rng(seed)
    V, L = rotation(rng, 6)[:, :k], rng.standard_normal((10, 6))
    rest = L - L @ V @ V.T
    assert frobenius_residual(V, L) == pytest.approx(np.linalg.norm(rest), abs=1e-13)
    assert spectral_residual(V, L) == pytest.approx(np.linalg.norm(rest, 2), abs=1e-13)
    assert spectral_residual(V, L) <= frobenius_residual(V, L) * (1 + 1e-14)


def test_small_residuals_are_not_lost_beside_long_rows():
    rng = np.random.default_rng(0)
    R = rotation(rng, 30)
    V, off = R[:, :3], R[:, 3]
    L = 1e6 * rng.standard_normal((50, 3)) @ V.T
    L[7] += 1e-6 * off  # 1e-12 of the row: the difference of squared norms would see nothing
    assert frobenius_residual(V, L) == pytest.approx(1e-6, rel=1e-2, abs=0)
    assert spectral_residual(V, L) == pytest.approx(1e-6, rel=1e-2, abs=0)


@pytest.mark.parametrize("residual", [frobenius_residual, spectral_residual])
def test_relative_residual(residual):
    L = np.diag([3.0, 4.0])
    V = np.array([[1.0], [0.0]])
    assert residual(V, L) == 4.0
    assert residual(V, L, relative=True) == residual(V, L) / residual(np.zeros((2, 0)), L)
    assert residual(V, np.zeros((3, 2)), relative=True) == 0.0
    assert residual(V, np.zeros((0, 2)), relative=True) == 0.0


@pytest.mark.parametrize("size", [1e160, 1e-160, 1e300, 1e-300])
def test_scale_does_not_matter(size):
    rng = np.random.default_rng(1)
    V, V_true, L = (rng.standard_normal(shape) for shape in [(8, 3), (8, 2), (20, 8)])
    assert subspace_error(size * V, V_true) == pytest.approx(subspace_error(V, V_true))
    np.testing.assert_allclose(principal_angles(V, size * V_true), principal_angles(V, V_true))
    for residual in (frobenius_residual, spectral_residual):
        assert residual(V, size * L) == pytest.approx(size * residual(V, L), rel=1e-12, abs=0)
        assert residual(V, size * L, relative=True) == pytest.approx(residual(V, L, relative=True))
    assert incoherence(size * L) == pytest.approx(incoherence(L))


def test_a_residual_far_below_the_rows_does_not_vanish():
    L = np.diag([1.0, 3e-200, 4e-200])
    V = np.eye(3)[:, :1]
    assert frobenius_residual(V, L) == pytest.approx(5e-200, rel=1e-12, abs=0)
    assert spectral_residual(V, L) == pytest.approx(4e-200, rel=1e-12, abs=0)


def test_a_norm_out_of_range_is_infinite():
    assert frobenius_residual(np.eye(2)[:, :1], np.full((4, 2), 1.7e308)) == np.inf


# Incoherence


@pytest.mark.parametrize("copies", [1, 3])
def test_stacked_identities_are_perfectly_incoherent(copies):
    assert incoherence(np.vstack([np.eye(4)] * copies)) == pytest.approx(1.0)


def test_one_spike_row_is_as_coherent_as_can_be():
    n, r = 50, 3
    L = np.zeros((n, 10))
    L[:-1, : r - 1] = np.random.default_rng(0).standard_normal((n - 1, r - 1))
    L[-1, r - 1] = 1e-3
    assert incoherence(L) == pytest.approx(np.sqrt(n / r))


def test_zero_rows_count_in_n():
    L = np.random.default_rng(0).standard_normal((30, 4))
    padded = np.vstack([L, np.zeros((90, 4))])
    assert incoherence(padded) == pytest.approx(2.0 * incoherence(L))


@quick
@given(seeds, st.integers(1, 5), st.integers(5, 40))
def test_incoherence_lies_in_its_range_and_depends_on_the_column_space_only(seed, r, n):
    rng = np.random.default_rng(seed)
    left, right = rotation(rng, n)[:, :r], rotation(rng, 8)[:, :r]
    mu = incoherence(left * rng.uniform(0.1, 10.0, r) @ right.T)
    assert 1.0 - 1e-12 <= mu <= np.sqrt(n / r) + 1e-12
    assert mu == pytest.approx(np.sqrt(n / r) * np.linalg.norm(left, axis=1).max())


def test_incoherence_of_a_given_rank():
    L = np.diag([3.0, 2.0, 1.0, 0.0])
    assert incoherence(L) == pytest.approx(np.sqrt(4 / 3))
    assert incoherence(L, rank=1) == pytest.approx(2.0)
    for rank in (0, 4, 1.5, True):
        with pytest.raises(ValueError, match="from 1 to 3, the numerical rank"):
            incoherence(L, rank=rank)


@pytest.mark.parametrize("L", [np.zeros((3, 2)), np.zeros((0, 2))])
def test_incoherence_of_nothing_is_an_error(L):
    with pytest.raises(ValueError, match="zero or empty"):
        incoherence(L)


# Supports


def test_precision_and_recall():
    found = np.array([True, True, True, False, False])
    true = np.array([True, False, False, True, False])
    assert support_precision(found, true) == pytest.approx(1 / 3)
    assert support_recall(found, true) == pytest.approx(1 / 2)
    assert support_precision(true, found) == support_recall(found, true)


def test_empty_supports_are_perfect():
    none, some = [False, False], [True, False]
    assert support_precision(none, some) == support_recall(some, none) == 1.0
    assert support_precision(some, none) == support_recall(none, some) == 0.0
    assert support_precision(none, none) == support_recall(none, none) == 1.0


@pytest.mark.parametrize("metric", [support_precision, support_recall])
def test_supports_must_be_masks_of_the_same_rows(metric):
    with pytest.raises(ValueError, match="labels == -1"):
        metric([1, -1], [True, False])
    with pytest.raises(ValueError, match="boolean mask"):
        metric([[True]], [True])
    with pytest.raises(ValueError, match="found has 2 rows and true has 3"):
        metric([True, False], [True, False, True])


# Input


def test_anything_array_like_is_taken():
    V = np.array([[1, 0], [0, 1], [0, 0]])
    for like in (V, V.tolist(), V.astype(np.float32), V.astype(object), np.asfortranarray(V)):
        assert subspace_error(like, V) == 0.0
        assert frobenius_residual(like, like.T if hasattr(like, "T") else V.T) == 0.0


def test_inputs_are_left_alone():
    V, L = np.ones((3, 1)), np.ones((4, 3))
    V.flags.writeable = L.flags.writeable = False
    frobenius_residual(V, L), spectral_residual(V, L), subspace_error(V, L.T), incoherence(L)
    assert (V == 1).all()
    assert (L == 1).all()


def test_errors_say_what_to_try():
    V = np.eye(4)[:, :2]
    with pytest.raises(ValueError, match=r"\(2, 4\).*components_\.T"):
        subspace_error(V.T, V)
    with pytest.raises(ValueError, match=r"\(2, 4\).*components_\.T"):
        spectral_residual(V.T, np.ones((3, 4)))
    with pytest.raises(ValueError, match="1 dimensions"):
        principal_angles(V[:, 0], V)
    with pytest.raises(ValueError, match="must be finite"):
        frobenius_residual(V, np.full((2, 4), np.nan))
    with pytest.raises(ValueError, match="must be real"):
        subspace_error(V * 1j, V)
    with pytest.raises(ValueError, match="must be numeric"):
        subspace_error([["a"], ["b"], ["c"], ["d"]], V)
