"""The rows held in memory: which ones, in which order, and that they are the table's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from tests._shared import part_of
from torpca import as_source
from torpca._robust.tuning import tuning

SEEDS = st.integers(0, 2**32 - 1)


def rows(n=120, d=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.arange(1, d + 1) + 2.0


# ---- equal rows ----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(2, 60), st.integers(1, 4))
def test_equal_rows_are_one_row_that_counts_as_often(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d)).astype(float)
    X[X == 0] *= rng.choice([-1.0, 1.0], np.sum(X == 0))  # -0.0 is 0.0
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] = 1.0
    part = part_of(X, weights)
    wanted, which = np.unique(X[weights > 0] + 0.0, axis=0, return_inverse=True)
    totals = np.bincount(which.reshape(-1), weights[weights > 0])
    found = X[part.first] + 0.0
    order = np.lexsort(found.T[::-1])
    np.testing.assert_array_equal(found[order], wanted)
    np.testing.assert_allclose(part.each * part.counts[order], totals, rtol=1e-14)
    assert part.total == pytest.approx(len(wanted), rel=1e-12)
    # Each row of the table knows its row of the part, but for those of no weight.
    there = weights > 0
    np.testing.assert_array_equal(X[there], X[part.first[part.copies[there]]])
    assert np.all(part.copies[~there] == -1)


def test_a_heap_of_copies_has_as_many_votes_as_a_few_rows():
    X = rows()
    part = part_of(np.vstack([X, np.repeat(X[:1], 100, axis=0)]))
    heap = np.argmax(part.counts)
    assert part.counts[heap] == pytest.approx(101 / part.each)
    assert part.votes[heap] == pytest.approx(tuning().most_copies / part.each)
    np.testing.assert_array_equal(np.delete(part.votes, heap), 1 / part.each)


def test_numbers_of_the_part_go_back_to_the_rows_they_are_of():
    X, weights = rows(), np.ones(120)
    X[50:] = X[:70]
    weights[::9] = 0.0
    part = part_of(X, weights)
    np.testing.assert_array_equal(
        part.of_table(X[part.first, 3]), np.where(weights > 0, X[:, 3], 0.0)
    )


@pytest.mark.parametrize(("copies", "points"), [(0, 60), (100, 56), (200, 1)])
def test_points_that_make_up_half_of_the_rows(copies, points):
    # A heap has no more votes than ten rows, unless it is most of them.
    X = rows()
    assert part_of(np.vstack([X, np.repeat(X[:1], copies, axis=0)])).points_of_half() == points


# ---- their order ---------------------------------------------------------------------------------

MOVES = {
    "shifted": lambda X, rng: X + 10 * rng.standard_normal(X.shape[1]),
    "rotated": lambda X, rng: X @ np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0],
    "in another unit": lambda X, rng: 2.0**70 * X,
    "mirrored": lambda X, rng: -X,
    "columns in another order": lambda X, rng: X[:, rng.permutation(X.shape[1])],
}


@pytest.mark.parametrize("shape", [(150, 6), (40, 200)], ids=["features", "span"])
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_rows_come_in_the_same_order_wherever_they_are(move, shape):
    rng = np.random.default_rng(1)
    X = rows(*shape)
    first = part_of(X).first
    assert not np.array_equal(first, np.arange(len(X)))
    np.testing.assert_array_equal(part_of(move(X, rng)).first, first)


@pytest.mark.parametrize("shape", [(150, 6), (40, 200)], ids=["features", "span"])
def test_rows_come_in_the_same_order_however_the_table_is_sorted(shape):
    X = rows(*shape)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(order[part_of(X[order]).first], part_of(X).first)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_rows_as_far_from_their_mean_as_each_other_come_in_the_same_order_too(move):
    # On circles about the mean: only rounding tells the distances of three rows apart.
    rng = np.random.default_rng(2)
    planes = np.linalg.qr(rng.standard_normal((40, 6, 2)))[0].transpose(0, 2, 1)
    angles = 2 * np.pi * (rng.random((40, 1)) + np.arange(3) / 3)
    X = (np.stack([np.cos(angles), np.sin(angles)], axis=2) @ planes).reshape(120, 6)
    np.testing.assert_array_equal(part_of(move(X, rng)).first, part_of(X).first)


def test_the_order_is_not_that_of_the_distances():
    X = rows(400, 3)
    size = np.linalg.norm(X - X.mean(axis=0), axis=1)[part_of(X).first]
    ranks = np.argsort(np.argsort(size))
    assert abs(np.corrcoef(ranks, np.arange(400))[0, 1]) < 0.15


def test_the_first_rows_are_a_part_of_their_own():
    X = np.repeat(rows(60), 2, axis=0)
    part = part_of(X)
    some = part.some(20)
    np.testing.assert_array_equal(some.Z, part.Z[:20])
    assert some.total == 20
    assert np.count_nonzero(some.copies >= 0) == 40
    np.testing.assert_array_equal(np.unique(some.copies), np.arange(-1, 20))


# ---- where they are ------------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_unit_and_origin_give_back_the_rows(center, size):
    X = size * rows()
    part = part_of(X, center=center)
    found = part.unit * part.Z + (0.0 if part.origin is None else part.origin)
    np.testing.assert_allclose(found, X[part.first], atol=1e-14 * size * np.max(np.abs(X / size)))
    assert (part.origin is None) == (not center)
    assert 0.25 < np.median(np.max(np.abs(part.Z), axis=1)) <= 1.0


@pytest.mark.parametrize("center", [True, False])
def test_rows_in_their_span_are_the_same_rows_again_in_the_features(center):
    X = rows(30, 100)
    part = part_of(X, center=center)
    assert part.Z.shape[1] < 100
    again = part.with_features(as_source(X))
    assert again.span is None
    found = again.unit * again.Z + (0.0 if again.origin is None else again.origin)
    np.testing.assert_allclose(found, X[part.first], rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 30), st.integers(61, 300), st.booleans())
def test_coordinates_in_the_span_keep_all_distances(seed, n, d, center):
    X = np.random.default_rng(seed).standard_normal((n, d)) + 5.0
    part = part_of(X, center=center)
    assert part.span is not None
    expected = pdist(X[part.first])
    np.testing.assert_allclose(part.unit * pdist(part.Z), expected, rtol=1e-9)
    if not center:  # from the origin too
        sizes = np.linalg.norm(X[part.first], axis=1)
        np.testing.assert_allclose(part.unit * np.linalg.norm(part.Z, axis=1), sizes, rtol=1e-9)


@pytest.mark.parametrize("shape", [(60, 10), (20, 500), (20, 20)])
@pytest.mark.parametrize("far", [1.0, 1e12, 1e160])
def test_a_row_far_out_takes_no_digits_from_the_others(shape, far):
    X = rows(*shape)
    X[0] *= far
    part = part_of(X)
    others = part.first > 0
    found = part.unit * pdist(part.Z[others])
    np.testing.assert_allclose(found, pdist(X[part.first[others]]), rtol=1e-6)


def test_rows_that_span_little_have_few_coordinates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 200))
    assert part_of(X, center=False).Z.shape == (40, 3)
    assert part_of(X, in_span=False).Z.shape == (40, 200)
