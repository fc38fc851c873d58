"""What the start is made of: some of the rows, numbers on lines, and top directions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca._core.gram import near_top_of_gram, top_of_gram
from torpca._core.subspace import subspace_change
from torpca._robust.draw import some_rows
from torpca._robust.lines import reweighted, rows_for_all

SEEDS = st.integers(0, 2**32 - 1)


# ---- some of the rows --------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(1, 60), st.integers(1, 60), st.sampled_from([0.0, 0.5]))
def test_rows_drawn_have_weight_and_come_once_and_in_order(seed, n, most, zeros):
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(n) < zeros, 0.0, rng.random(n) + 0.1)
    rows = some_rows(weights, most, rng)
    assert np.all(weights[rows] > 0)
    assert np.all(np.diff(rows) > 0)
    assert len(rows) == min(most, np.count_nonzero(weights))


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(2, 2000), st.integers(10, 300))
def test_rows_that_stand_for_all_come_once_and_for_equal_weights(seed, n, count):
    weights = np.random.default_rng(seed).random(n) + 0.01
    some, counts = rows_for_all(weights, count)
    rows = np.arange(n)[some]
    assert np.all(np.diff(rows) > 0)
    assert len(counts) == len(rows)
    if n <= count:  # few rows are all taken, as they are
        np.testing.assert_array_equal(counts, weights)
    else:
        np.testing.assert_array_equal(counts, 1.0)
        assert len(rows) < 2 * count
        # The weight up to a row is its share of the rows taken.
        before = np.cumsum(weights)[rows] / weights.sum()
        np.testing.assert_allclose(
            before, (np.arange(len(rows)) + 0.5) / len(rows), atol=1 / len(rows)
        )


def test_rows_of_equal_weight_are_taken_every_so_often():
    some, counts = rows_for_all(np.full(2000, 3.0), 500)
    np.testing.assert_array_equal(np.arange(2000)[some], np.arange(0, 2000, 4))
    np.testing.assert_array_equal(counts, 3.0)


def test_several_lines_settle_where_each_would_by_itself():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((4, 500)) * np.array([[1.0], [1e-3], [50.0], [1.0]]) + 3.0
    Y[3, :200] += 20.0  # two heaps
    w = rng.random(500)
    start = np.median(Y, axis=1), np.array([1.0, 1e-3, 50.0, 1.0])
    together = reweighted(Y, w, *start)
    for j in range(4):
        alone = reweighted(Y[j : j + 1], w, start[0][j : j + 1], start[1][j : j + 1])
        np.testing.assert_allclose([t[j] for t in together], [a[0] for a in alone], rtol=1e-7)


def test_a_line_that_shrinks_onto_a_heap_stays_where_it_was():
    Y = np.concatenate([np.zeros(300), np.linspace(5.0, 50.0, 100)])[None]
    location, scale = reweighted(Y, np.ones(400), np.array([0.1]), np.array([2.0]))
    assert (location[0], scale[0]) == (0.1, 2.0)


# ---- top directions of large matrices ----------------------------------------------------------


def gram_of(spectrum, seed=0):
    m = len(spectrum)
    X = np.random.default_rng(seed).standard_normal((2 * m, m)) * spectrum
    return X.T @ X


@pytest.mark.parametrize("m", [260, 500])
@pytest.mark.parametrize("kind", ["gap", "slow", "flat"])
def test_directions_by_products_leave_no_more_than_those_of_a_decomposition(m, kind):
    k, j = 5, np.arange(1.0, m + 1)
    spectra = {"gap": np.where(j <= k, 1.0, 0.01), "slow": 1 / j, "flat": np.ones(m)}
    G = gram_of(spectra[kind])
    V, s = near_top_of_gram(G, k)
    _, t = top_of_gram(G, k)
    rest = np.trace(G) - np.sum(t**2)
    assert np.trace(G) - np.trace(V.T @ G @ V) <= (1 + 1e-5) * rest
    np.testing.assert_allclose(s, t, rtol=1e-5)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)


def test_directions_without_noise_are_exact():
    spectrum = np.where(np.arange(300) < 4, 1.0, 0.0)
    G = gram_of(spectrum)
    V, _ = near_top_of_gram(G, 4)
    assert subspace_change(top_of_gram(G, 4)[0], V) < 1e-12
