"""A subspace of some rows of the part, and where all its rows are beside it."""

import numpy as np
import pytest

from tests._shared import part_of
from torpca._core.directions import top_directions
from torpca._robust.halves import sphered
from torpca._robust.subspace import subspace_of, variances_of
from torpca.metrics import subspace_error

centred_or_not = pytest.mark.parametrize("center", [True, False])


def long_rows(seed=0):
    """Sixty rows of two hundred numbers near four dimensions, or six, and how often each counts."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((60, 6)) * [5, 4, 3, 2, 0.5, 0.2]
    X = scores @ rng.standard_normal((6, 200)) / 14 + 3.0
    return X + 0.001 * rng.standard_normal(X.shape), rng.integers(1, 4, 60).astype(float)


def both_ways(center, seed=0):
    """The same rows as a part in their span and in the features."""
    X, weights = long_rows(seed)
    parts = part_of(X, weights, center=center), part_of(X, weights, center=center, in_span=False)
    assert [part.span is None for part in parts] == [False, True]
    np.testing.assert_array_equal(parts[0].first, parts[1].first)
    return parts


@centred_or_not
def test_rows_in_their_span_say_what_they_say_in_the_features(center):
    parts = both_ways(center)
    keep = np.where(np.arange(60) % 3 > 0, parts[0].votes, 0.0)
    a, b = (subspace_of(part, keep, 4) for part in parts)
    # Units may differ by a power of two.
    unit = parts[0].unit / parts[1].unit
    np.testing.assert_allclose(unit * a.residuals, b.residuals, rtol=1e-6)
    np.testing.assert_allclose(unit * a.studentised, b.studentised, rtol=1e-6)
    np.testing.assert_allclose(unit**2 * a.variances, b.variances, rtol=1e-9)
    np.testing.assert_allclose(unit * np.abs(a.scores), np.abs(b.scores), atol=1e-6)
    (U, u), (W, w) = (fit.next_directions(keep, 2) for fit in (a, b))
    np.testing.assert_allclose(unit**2 * u, w, rtol=1e-4)
    np.testing.assert_allclose(unit * np.abs(a.rest @ U), np.abs(b.rest @ W), atol=1e-3)


@centred_or_not
@pytest.mark.parametrize("span", [True, False])
def test_distances_are_those_of_a_singular_value_decomposition(center, span):
    part = both_ways(center, seed=1)[0 if span else 1]
    keep = np.where(np.arange(60) < 40, part.votes, 0.0)
    w = keep / keep.sum()
    Z = part.Z - (w @ part.Z if center else 0.0)
    s, Vt = np.linalg.svd(Z * np.sqrt(w)[:, None], full_matrices=False)[1:]
    expected = np.linalg.norm(Z - Z @ Vt[:4].T @ Vt[:4], axis=1)
    found = subspace_of(part, keep, 4)
    np.testing.assert_allclose(found.residuals, expected, atol=1e-5)
    np.testing.assert_allclose(found.variances, s[:4] ** 2, rtol=1e-10)
    np.testing.assert_allclose(found.rest @ found.V, 0.0, atol=1e-12)
    h = np.sum((Z @ Vt[:4].T / s[:4]) ** 2, axis=1) / keep.sum()
    inside = keep > 0  # a row of weight 2 pulls twice; one that is left out does not pull
    free = np.where(inside, 1 - h, 1 + h)
    np.testing.assert_allclose(found.studentised, expected / np.sqrt(free), atol=1e-5)


@pytest.mark.parametrize("shape", [(400, 10), (60, 200)])
def test_next_directions_are_those_of_the_largest_residuals(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    X[:, :4] *= [30, 15, 10, 7]
    part = part_of(X, in_span=False)
    fit = subspace_of(part, part.votes, 1)
    W, variances = fit.next_directions(part.votes, 3)
    s, Vt = np.linalg.svd(fit.rest, full_matrices=False)[1:]
    assert subspace_error(W, Vt[:3].T) < 1e-3
    np.testing.assert_allclose(variances, s[:3] ** 2 / len(X), rtol=1e-3)
    np.testing.assert_allclose(fit.V.T @ W, 0.0, atol=1e-10)


def test_there_are_no_directions_beyond_all_of_them():
    part = part_of(np.random.default_rng(0).standard_normal((50, 4)))
    fit = subspace_of(part, part.votes, 4)
    W, variances = fit.next_directions(part.votes, 2)
    assert W.shape == (4, 0)
    assert len(variances) == 0
    assert not np.any(fit.residuals)


@centred_or_not
def test_sphered_rows_have_unit_variances_and_no_covariances(center):
    for part in both_ways(center, seed=3):
        core = np.where(np.arange(60) < 50, part.votes, 0.0)
        Y = sphered(part, core, 6)
        assert Y.shape == (60, 6)
        w = core / core.sum()
        np.testing.assert_allclose((Y * w[:, None]).T @ Y, np.eye(6), atol=1e-8)
        if center:
            np.testing.assert_allclose(w @ Y, 0.0, atol=1e-8)


@pytest.mark.parametrize("d", [20, 200], ids=["features", "span"])
def test_rows_in_the_subspace_are_at_no_distance(d):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, d))
    X[:10] += rng.standard_normal((10, d))
    part = part_of(X)
    good = part.first >= 10
    found = subspace_of(part, np.where(good, part.votes, 0.0), 3)
    assert not np.any(found.residuals[good])
    assert np.all(found.residuals[~good] > 0)


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9])
def test_small_directions_keep_their_digits(noise):
    # Products of the rows have lost those below the root of a unit of rounding.
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((80, 4)))[0]
    Q = np.linalg.qr(rng.standard_normal((12, 12)))[0][:4]
    s = np.array([1.0, 0.5, noise, noise / 4])
    V, variances = top_directions((U * s) @ Q, 3)
    if noise**2 > 1e-14:
        np.testing.assert_allclose(variances, s[:3] ** 2, rtol=1e-4)
        assert subspace_error(V, Q[:3].T) < 1e-8
    else:  # what is so small beside the first is rounding
        assert V.shape == (12, 2)


@centred_or_not
@pytest.mark.parametrize("shape", [(60, 8), (20, 35)])
def test_weighted_rows_are_repeated_rows(center, shape):
    rng = np.random.default_rng(0)
    X, counts = rng.standard_normal(shape) + 3, rng.integers(1, 4, shape[0])
    part = part_of(X, center=center)
    weights = counts[part.first].astype(float)
    Z = np.repeat(part.Z, counts[part.first], axis=0)
    Z = Z - Z.mean(axis=0) if center else Z
    expected = np.linalg.svd(Z, compute_uv=False) ** 2 / len(Z)
    many = min(8, len(part.Z) - center)
    np.testing.assert_allclose(variances_of(part, weights)[:many], expected[:many], rtol=1e-9)
    np.testing.assert_allclose(subspace_of(part, weights, 3).variances, expected[:3], rtol=1e-9)
