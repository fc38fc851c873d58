"""Outlier Pursuit and Principal Component Pursuit: what their papers prove, and optimality."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from benchmarks.recovery import planted
from torpca._core.result import RobustSubspace
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error
from torpca.rivals import _row_weight
from torpca.rivals._door import checked_table
from torpca.rivals._gaps import leaving
from torpca.rivals._nuclear import shrink_singular_values
from torpca.rivals._outlier_pursuit import outlier_pursuit
from torpca.rivals._pcp import principal_component_pursuit
from torpca.rivals._row_sparse import Rows, outlier_part, pursue
from torpca.rivals._spherical import spherical_pca
from torpca.rivals._split import Split, split

LINE = np.array([1.0, 2.0, 0.0, 0.0, 3.0])
SHAPES = [(200, 12), (12, 30)]  # rows longer and shorter than there are of them


def error(found, V):
    return subspace_error(np.asarray(found.components).T, V)


def lengths(A):
    return np.linalg.norm(A, axis=1)


def nuclear(A):
    return np.linalg.norm(A, "nuc")


def some_rows(shape, noise=0.05, seed=0):
    """Rows near a plane, one in ten of them bad and long."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    X += noise * rng.standard_normal(shape)
    X[: shape[0] // 10] = 20 * rng.standard_normal((shape[0] // 10, shape[1]))
    return X


def bad_entries(n, d, rank, share, size, seed=0):
    """Low-rank L and sparse S with entries of +-size at random places."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return L, np.where(rng.random((n, d)) < share, size * rng.choice([-1.0, 1.0], (n, d)), 0.0)


# ---- Outlier Pursuit: the problem is solved --------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [0.0, 1.5])
@pytest.mark.parametrize("hidden", [0.0, 0.15])
def test_a_dual_certificate_proves_the_parts_optimal(shape, noise, hidden):
    # Y with singular values of at most one and rows of at most lam bounds the objective from below
    # by <Y, X> - noise ||Y||_F; here it is the objective, so nothing is better than (L, C).
    X, lam = some_rows(shape), 3.0 / np.sqrt(shape[0])
    seen = np.random.default_rng(1).random(shape) >= hidden if hidden else np.ones(shape, bool)
    rows = Rows(np.where(seen, X, 0.0), seen if hidden else None, noise)
    found = pursue(rows, lam, max_iter=3000, tol=1e-11)
    L, Y = found.L, found.Y
    assert found.converged
    assert 0 < np.linalg.matrix_rank(L, tol=1e-6) < min(shape)
    assert np.linalg.norm(Y, 2) <= 1 + 1e-8
    assert lengths(Y).max() <= lam * (1 + 1e-12)
    assert not Y[~seen].any()
    left = np.where(seen, X - L, 0.0)
    C = outlier_part(left, noise)
    assert np.linalg.norm(left - C) == pytest.approx(noise, abs=1e-9)
    objective = nuclear(L) + lam * lengths(C).sum()
    assert np.vdot(Y, rows.X) - noise * np.linalg.norm(Y) == pytest.approx(objective, rel=1e-7)


def test_the_objective_is_that_of_reweighted_least_squares():
    # Independent route: ||L||_* <= (tr L Q^-1 L' + tr Q)/2 and ||c|| <= (w ||c||^2 + 1/w)/2, with
    # equality at Q = (L'L)^(1/2), w = 1/||c||; given Q and w, each row is a linear system.
    X, lam = some_rows((40, 5)), 0.6
    L = X / 2
    for _ in range(3000):
        values, E = np.linalg.eigh(L.T @ L)
        root = np.sqrt(np.maximum(values, 0.0)) + 1e-9
        w = lam / (lengths(X - L) + 1e-9)
        L = ((X @ E) * (w[:, None] * root / (1.0 + w[:, None] * root))) @ E.T
    slow = nuclear(L) + lam * lengths(X - L).sum()
    found = outlier_pursuit(X, 2, lam=lam)
    quick = nuclear(found.low_rank) + lam * lengths(X - found.low_rank).sum()
    assert quick == pytest.approx(slow, rel=1e-6)
    assert found.history[-1].objective == pytest.approx(quick, rel=1e-9)
    np.testing.assert_allclose(found.low_rank, L, atol=1e-3)


def test_few_long_rows_have_the_solution_of_their_coordinates():
    # ||L||_* and the lengths of rows do not depend on the basis the rows are written in.
    X = some_rows((12, 30))
    Q = np.linalg.qr(X.T)[0]
    long = outlier_pursuit(X, 2, lam=0.8)
    short = outlier_pursuit(X @ Q, 2, lam=0.8)
    np.testing.assert_allclose(long.low_rank, short.low_rank @ Q.T, atol=1e-7)
    np.testing.assert_array_equal(long.support, short.support)


@pytest.mark.parametrize("longer", [1e3, 1e9])
def test_longer_outlier_parts_change_nothing(longer):
    # Optimality asks for the direction of an outlier part alone: bad rows l + t c have the same l.
    X, lam = some_rows((200, 12)), 0.25
    once = outlier_pursuit(X, 2, lam=lam, tol=1e-10)
    X[:20] += (longer - 1.0) * once.rest[:20]
    many = outlier_pursuit(X, 2, lam=lam, tol=1e-10)
    assert many.converged
    scale = np.median(lengths(X))
    np.testing.assert_allclose(many.low_rank, once.low_rank, atol=1e-6 * scale)


def test_a_small_weight_gives_spherical_pca_and_a_large_one_pca():
    X = some_rows((200, 12))
    least = outlier_pursuit(X, 3, lam=0.9 / np.sqrt(200))  # ||Y|| < 1 whatever Y is
    assert not least.low_rank.any()
    assert error(least, spherical_pca(X, 3, center=False).components.T) < 1e-7
    most = outlier_pursuit(X, 3, lam=50.0)
    assert not most.rest.any()
    np.testing.assert_allclose(most.low_rank, X, atol=1e-6)
    assert error(most, np.linalg.svd(X)[2][:3].T) < 1e-7


def test_outlier_part_is_the_least_that_noise_leaves():
    left = np.diag([3.0, 0.1, 4.0])
    # Both long rows are cut by t with 2 t^2 + 0.1^2 = noise^2.
    np.testing.assert_allclose(outlier_part(left, np.sqrt(2.01)), np.diag([2.0, 0.0, 3.0]))
    assert not outlier_part(left, 5.1).any()
    assert outlier_part(left, 0.0) is left


def test_outlier_part_of_noise_that_explains_all_but_rounding():
    for seed in range(300):
        left = np.diag(np.random.default_rng(seed).uniform(0.1, 5.0, 10))
        noise = np.nextafter(np.linalg.norm(left), 0.0)
        np.testing.assert_allclose(outlier_part(left, noise), 0.0, atol=1e-6)


# ---- Outlier Pursuit: what is proved and measured ------------------------------------------------


@pytest.mark.parametrize("family", ["line", "cluster", "huge"])
def test_within_the_theorem_good_rows_and_their_subspace_are_found_whatever_bad_rows_are(family):
    # Xu et al., Theorem 1: fraction <= 9/(9 + 121 mu r), lam = 3/(7 sqrt(fraction n)); the good
    # rows lie on a circle, so that mu = 1.
    n, r, n_bad = 600, 2, 20
    rng = np.random.default_rng(0)
    assert n_bad / n <= 9 / (9 + 121 * r)
    V = np.linalg.qr(rng.standard_normal((15, r)))[0]
    angle = 2 * np.pi * np.arange(n) / n
    X = np.column_stack([np.cos(angle), np.sin(angle)]) @ V.T
    direction = rng.standard_normal(15)
    X[:n_bad] = {
        "line": np.outer(1000 + rng.random(n_bad), direction),
        "cluster": 0.5 * direction + 0.01 * rng.standard_normal((n_bad, 15)),
        "huge": 1e6 * rng.standard_normal((n_bad, 15)),
    }[family]
    found = outlier_pursuit(X, r, fraction=n_bad / n)
    assert found.parameters["lam"] == pytest.approx(3 / (7 * np.sqrt(n_bad)))
    assert error(found, V) < 1e-8
    np.testing.assert_array_equal(found.support, np.arange(n) >= n_bad)
    assert not found.rest[n_bad:].any()
    np.testing.assert_allclose(found.low_rank[n_bad:], X[n_bad:], atol=1e-7)


@pytest.mark.parametrize("family", ["isotropic", "line", "cluster", "small"])
def test_noiseless_families_at_five_percent_are_exact(family):
    X, V, bad = planted(family, 2000, 50, 5, 0.05, 0.0, 0)
    found = outlier_pursuit(X, 5, fraction=0.05)
    assert found.converged
    assert found.n_iter < 300
    assert error(found, V) < 1e-8  # RIVALS: one such cell of 15 for the reference
    np.testing.assert_array_equal(found.support, ~bad)


@pytest.mark.parametrize(
    ("family", "fraction"), [("isotropic", 0.2), ("small", 0.2), ("cluster", 0.05)]
)
def test_noisy_families_are_at_the_oracle(family, fraction):
    X, V, bad = planted(family, 2000, 50, 5, fraction, 0.01, 0)
    oracle = subspace_error(np.linalg.svd(X[~bad], full_matrices=False)[2][:5].T, V)
    assert error(outlier_pursuit(X, 5, fraction=fraction), V) < 10**0.2 * oracle


def test_too_many_rows_on_a_line_are_not_told_from_good_ones_and_it_says_so_or_ends():
    # lam sqrt(bad rows) >= 1: the line pays for itself.
    X, V, _ = planted("line", 400, 20, 3, 0.3, 0.0, 0)
    found = outlier_pursuit(X, 3, lam=3.0 / np.sqrt(400), max_iter=2000)
    assert found.converged
    assert error(found, V) > 0.5


# ---- Outlier Pursuit: the weight -----------------------------------------------------------------


@cache
def chosen():
    X, V, bad = planted("line", 1000, 20, 3, 0.05, 0.0, 0)
    return X, V, bad, outlier_pursuit(X, 3)


def test_the_grid_finds_a_weight_that_leaves_the_line_out():
    _, V, bad, found = chosen()
    assert error(found, V) < 1e-8
    np.testing.assert_array_equal(found.support, ~bad)


def test_the_grid_records_what_was_tried():
    *_, found = chosen()
    lams = [entry["lam"] for entry in found.grid]
    assert found.parameters["lam"] in lams
    assert lams == sorted(lams)
    assert lams[0] >= np.sqrt(3 / 1000)  # less has no three directions
    picked = found.grid[lams.index(found.parameters["lam"])]
    assert picked["lead"] >= -2 * picked["standard_error"]
    assert picked["rank"] == 3
    assert picked["n_outliers"] >= 50
    last = found.grid[-1]
    assert last["lead"] < -0.5  # the line is in, and good rows know


def test_fewer_singular_values_than_rank_below_the_least_weight():
    X, *_ = chosen()
    found = pursue(Rows(X, None, 0.0), 0.99 * np.sqrt(3 / 1000), max_iter=1000, tol=1e-8)
    assert found.rank < 3


def test_of_many_rows_some_choose_the_weight(monkeypatch):
    X, V, *_ = chosen()
    monkeypatch.setattr(_row_weight, "PART", 300)
    found = [outlier_pursuit(X, 3, random_state=seed) for seed in (0, 0, 1)]
    assert error(found[0], V) < 1e-8
    assert found[0].grid == found[1].grid
    assert found[0].grid != found[2].grid


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.45])
def test_beyond_the_theorem_the_weight_keeps_as_many_directions(fraction):
    X, *_ = chosen()
    lam = outlier_pursuit(X[:100], 3, fraction=fraction).parameters["lam"]
    expected = 1.0 if fraction == 0 else 3 / (7 * np.sqrt(100 * 9 / (9 + 121 * 3)))
    assert lam == pytest.approx(expected)


# ---- Outlier Pursuit: noise and missing entries --------------------------------------------------


def test_noise_is_the_standard_deviation_of_an_entry():
    X = some_rows((200, 12))
    found = outlier_pursuit(X, 2, lam=0.25, noise=0.05)
    left = X - found.low_rank - found.rest
    assert np.linalg.norm(left) == pytest.approx(0.05 * np.sqrt(X.size), rel=1e-6)
    # More rows than without noise have no outlier part at all.
    exact = outlier_pursuit(X, 2, lam=0.25)
    assert 20 <= np.count_nonzero(lengths(found.rest)) < np.count_nonzero(lengths(exact.rest))
    np.testing.assert_array_equal(found.support, np.arange(200) >= 20)


def test_noise_that_explains_all_leaves_nothing():
    found = outlier_pursuit(some_rows((200, 12)), 2, lam=0.25, noise=100.0)
    assert found.converged
    assert not found.low_rank.any()
    assert not found.rest.any()
    assert found.support.all()


@pytest.mark.parametrize("family", ["isotropic", "line"])
def test_missing_entries_are_filled_in_exactly(family):
    # Chen et al.: good rows are completed, bad rows named, whatever is seen of them.
    X, V, bad, _ = make_outlier_subspace(500, 30, 2, 0.02, outliers=family, random_state=0)
    gaps = X.copy()
    gaps[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    found = outlier_pursuit(gaps, 2, missing=True, lam=5.5 / np.sqrt(500))
    assert error(found, V) < 1e-7
    np.testing.assert_array_equal(found.support, ~bad)
    np.testing.assert_allclose(found.low_rank[~bad], X[~bad], atol=1e-5)
    assert not found.rest[np.isnan(gaps)].any()


def test_without_gaps_missing_changes_nothing():
    X = some_rows((200, 12))
    plain, gaps = outlier_pursuit(X, 2, lam=0.25), outlier_pursuit(X, 2, lam=0.25, missing=True)
    np.testing.assert_allclose(plain.low_rank, gaps.low_rank, atol=1e-7)
    np.testing.assert_array_equal(plain.support, gaps.support)


def test_gaps_are_chosen_for_and_centred_too():
    X, V, bad, _ = make_outlier_subspace(400, 20, 2, 0.05, mean=5.0, noise=0.01, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    found = outlier_pursuit(X, 2, missing=True, center=True)
    np.testing.assert_allclose(found.mean, np.nanmedian(X, axis=0))
    assert error(found, V) < 0.02
    assert (found.support == ~bad).mean() > 0.99


def test_distance_in_what_is_seen_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    X, V = rng.standard_normal((30, 8)), np.linalg.qr(rng.standard_normal((8, 3)))[0]
    seen = rng.random(X.shape) < 0.5
    seen[0] = np.arange(8) < 2  # fewer entries than directions: they fit anything
    expected = [
        lengths(x[None, m] - (V[m] @ np.linalg.lstsq(V[m], x[m], rcond=None)[0])[None])[0]
        for x, m in zip(X, seen, strict=True)
    ]
    np.testing.assert_allclose(leaving(np.where(seen, X, 0.0), V, seen), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("spoil", "options", "message"),
    [
        ((slice(0, 1), 0, np.nan), {}, "NaN or infinity"),
        ((slice(3, 4), 0, np.inf), {"missing": True}, "infinity in 1 of 50 rows, first in row 3"),
        ((slice(2, 4), slice(None), np.nan), {"missing": True}, "no entry but NaN in 2 of 50 rows"),
        ((slice(None), 1, np.nan), {"missing": True}, "no entry but NaN in 1 of 6 features"),
    ],
)
def test_entries_that_cannot_be_are_refused(spoil, options, message):
    X = some_rows((50, 6))
    X[spoil[0], spoil[1]] = spoil[2]
    with pytest.raises(ValueError, match=message):
        outlier_pursuit(X, 2, **options)


# ---- Principal Component Pursuit -----------------------------------------------------------------


@pytest.mark.parametrize(("share", "size"), [(0.05, 1.0), (0.1, 1.0), (0.1, 1e6)])
def test_random_bad_entries_of_any_size_are_taken_off_exactly(share, size):
    # Candes et al., Theorem 1.1 and Table 1: rank 0.05 n, 5 and 10 % bad entries.
    L, S = bad_entries(200, 200, 10, share, size)
    found = principal_component_pursuit(L + S, 10)
    assert found.parameters["lam"] == pytest.approx(1 / np.sqrt(200))
    assert np.linalg.norm(found.low_rank - L) < 1e-6 * np.linalg.norm(L)
    np.testing.assert_array_equal(found.rest != 0, S != 0)
    assert np.linalg.matrix_rank(found.low_rank) == 10
    assert error(found, np.linalg.svd(L)[2][:10].T) < 1e-6
    assert found.support.all()
    assert found.n_iter < 100


def test_principal_component_pursuit_agrees_with_plain_admm():
    # Independent route: full singular value decompositions, no extrapolation, fixed penalty.
    X = some_rows((40, 12), noise=0.3)
    lam, mu = 0.2, 0.3
    S = Y = np.zeros_like(X)
    for _ in range(5000):
        U, s, Vt = np.linalg.svd(X - S + Y / mu, full_matrices=False)
        L = (U * np.maximum(s - 1 / mu, 0.0)) @ Vt
        B = X - L + Y / mu
        S = B - np.clip(B, -lam / mu, lam / mu)
        Y = Y + mu * (X - L - S)
    found = principal_component_pursuit(X, 2, lam=lam, tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.low_rank, L, atol=1e-5)
    objective = nuclear(L) + lam * np.abs(X - L).sum()
    assert found.history[-1].objective == pytest.approx(objective, rel=1e-8)


def test_features_and_samples_are_alike_to_principal_component_pursuit():
    L, S = bad_entries(60, 25, 2, 0.1, 3.0)
    tall, wide = (principal_component_pursuit(A, 2, tol=1e-9) for A in (L + S, (L + S).T))
    np.testing.assert_allclose(tall.low_rank, wide.low_rank.T, atol=1e-6)
    assert tall.components.shape == (2, 25)
    assert wide.components.shape == (2, 60)


# ---- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [outlier_pursuit, principal_component_pursuit])
@pytest.mark.parametrize("unit", [1e-160, 1e150])
def test_the_unit_of_the_rows_does_not_matter(method, unit):
    X = some_rows((60, 8))
    plain, scaled = method(X, 2, lam=0.4), method(X * unit, 2, lam=0.4)
    np.testing.assert_allclose(scaled.components, plain.components, atol=1e-6)
    np.testing.assert_allclose(scaled.low_rank / unit, plain.low_rank, atol=1e-5)
    np.testing.assert_allclose(scaled.rest / unit, plain.rest, atol=1e-5)


@pytest.mark.parametrize("method", [outlier_pursuit, principal_component_pursuit])
def test_parts_add_up_about_the_mean_in_the_type_of_the_rows(method):
    X = some_rows((60, 8)) + 10.0
    found = method(X.astype(np.float32), 2, lam=0.4, center=True)
    assert isinstance(found, Split)
    assert isinstance(found, RobustSubspace)
    assert found.low_rank.dtype == found.rest.dtype == np.float32
    np.testing.assert_allclose(found.low_rank + found.rest + found.mean, X, rtol=1e-5, atol=1e-4)
    assert "low_rank" not in repr(found)
    same = method(sparse.csr_array(X.astype(np.float32)), 2, lam=0.4, center=True)
    np.testing.assert_allclose(same.low_rank, found.low_rank, atol=1e-4)


@pytest.mark.parametrize("method", [outlier_pursuit, principal_component_pursuit])
def test_directions_the_rows_do_not_have_are_left_out(method):
    L, _ = bad_entries(40, 10, 2, 0.0, 1.0)
    assert method(L, 5, lam=0.9).components.shape == (2, 10)
    assert method(np.zeros((6, 4)), 2, lam=0.9).components.shape == (0, 4)


@pytest.mark.parametrize("method", [outlier_pursuit, principal_component_pursuit])
def test_a_run_that_was_cut_short_says_so(method):
    with pytest.warns(ConvergenceWarning, match="stopped after 3 iterations"):
        found = method(some_rows((60, 8)), 2, lam=0.4, max_iter=3)
    assert not found.converged
    assert found.n_iter == len(found.history) == 3


@pytest.mark.parametrize("method", [outlier_pursuit, principal_component_pursuit])
def test_a_weight_of_zero_is_refused(method):
    with pytest.raises(ValueError, match="lam=0 must be more than 0"):
        method(some_rows((20, 4)), 2, lam=0.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_are_made_smaller_as_a_decomposition_has_them(shape):
    W = some_rows(shape)
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    by = float(np.median(s))
    L, less, V = shrink_singular_values(W, by)
    np.testing.assert_allclose(L, (U * np.maximum(s - by, 0.0)) @ Vt, atol=1e-9)
    np.testing.assert_allclose(less, s[s > by] - by)
    np.testing.assert_allclose(np.abs(np.sum(V[:, :2] * Vt[:2].T, axis=0)), 1.0)


def test_split_keeps_what_was_found():
    X = some_rows((20, 4))
    found, table = spherical_pca(X, 2), replace(checked_table(X, 2), unit=4.0)
    both = split(found, table, X, 2.0 * X)
    np.testing.assert_array_equal(both.low_rank, 4.0 * X)
    np.testing.assert_array_equal(both.rest, 8.0 * X)
    assert both.components is found.components
    assert both.history == found.history


@pytest.mark.parametrize("pursuit", [outlier_pursuit, principal_component_pursuit])
def test_no_step_leads_far_away_where_steps_are_equal(pursuit):
    # Towards two points all steps are the same, but for rounding, by which none may be divided.
    found = pursuit(np.outer(np.arange(60) % 2, LINE), 2)
    assert found.converged
    assert max(step.objective for step in found.history) < 2 * found.history[-1].objective
