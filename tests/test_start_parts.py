"""What the start is made of: some of the rows, and subspaces of parts of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca._core.gram import near_top_of_gram, top_of_gram
from torpca._core.subspace import subspace_change
from torpca._sample.draw import draw_sample
from torpca._sample.fit import principal_variances, sample_fit, sample_part
from torpca._select.rank import RankRule
from torpca._sources import as_source
from torpca._stats.draw import some_rows
from torpca._stats.lines import reweighted, rows_for_all

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


# ---- subspaces of parts of the sample ----------------------------------------------------------


def long_sample(center, seed=0):
    """Sixty rows of a hundred numbers, as rows and as their products."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 100)) + 3.0
    X += 0.1 * rng.standard_normal(X.shape)
    source, weights = as_source(X), rng.integers(1, 4, 60).astype(float)
    sample = draw_sample(source, source.magnitudes(), RankRule(4), center, weights, None, rng)
    assert sample.products is not None
    return sample, replace(sample, products=None)


@pytest.mark.parametrize("center", [True, False])
def test_products_of_rows_say_what_the_rows_say(center):
    by_products, by_rows = long_sample(center)
    keep = np.where(np.arange(60) % 3 > 0, by_rows.weights, 0.0)
    a, b = sample_fit(by_products, keep, 4), sample_fit(by_rows, keep, 4)
    for name in ("residuals", "studentised", "leverage", "variances"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-6)
    np.testing.assert_allclose(np.abs(a.scores), np.abs(b.scores), atol=1e-8)
    beside, beyond = ([f.next_directions(keep, 2)[i] for f in (a, b)] for i in (0, 1))
    np.testing.assert_allclose(*map(np.abs, beside), atol=1e-6 * np.max(b.residuals))
    np.testing.assert_allclose(*beyond, rtol=1e-6)
    T = np.random.default_rng(1).standard_normal((60, 3))
    products = [f.part.largest_product(f, T) for f in (a, b)]
    assert products[0] == pytest.approx(products[1], rel=1e-6)
    few = min(len(principal_variances(s, keep)) for s in (by_products, by_rows))
    np.testing.assert_allclose(
        principal_variances(by_products, keep)[: few - 1],
        principal_variances(by_rows, keep)[: few - 1],
        atol=1e-12 * a.variances[0],
    )


@pytest.mark.parametrize("center", [True, False])
def test_distances_from_a_subspace_are_those_of_a_singular_value_decomposition(center):
    by_products, by_rows = long_sample(center, seed=1)
    keep = np.where(np.arange(60) < 40, by_rows.weights, 0.0)
    w = keep / keep.sum()
    Z = by_rows.Z - (w @ by_rows.Z if center else 0.0)
    _, s, Vt = np.linalg.svd(Z * np.sqrt(w)[:, None], full_matrices=False)
    expected = np.linalg.norm(Z - Z @ Vt[:4].T @ Vt[:4], axis=1)
    for sample in (by_products, by_rows):
        found = sample_fit(sample, keep, 4)
        np.testing.assert_allclose(found.residuals, expected, rtol=1e-6)
        np.testing.assert_allclose(found.variances, s[:4] ** 2, rtol=1e-10)
        leverage = np.sum((Z @ Vt[:4].T / s[:4]) ** 2, axis=1) / keep.sum()
        np.testing.assert_allclose(found.leverage, leverage, rtol=1e-6)


@pytest.mark.parametrize("center", [True, False])
def test_sphered_rows_have_unit_variances_and_no_covariances(center):
    for sample in long_sample(center, seed=3):
        keep = np.where(np.arange(60) < 50, sample.weights, 0.0)
        Y = sample_part(sample, keep).sphered(6)
        assert Y.shape == (60, 6)
        w = keep / keep.sum()
        np.testing.assert_allclose((Y * w[:, None]).T @ Y, np.eye(6), atol=1e-8)
        if center:
            np.testing.assert_allclose(w @ Y, 0.0, atol=1e-8)


def test_rows_in_the_subspace_are_at_no_distance():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 80))
    X[:10] += rng.standard_normal((10, 80))
    source = as_source(X)
    sample = draw_sample(source, source.magnitudes(), RankRule(3), True, np.ones(50), None, rng)
    # Rows of a sample come in an order of their own.
    good = np.zeros(50)
    good[sample.copies[10:]] = 1.0
    found = sample_fit(sample, good, 3)
    assert not np.any(found.residuals[good > 0])
    assert np.all(found.residuals[good == 0] > 0)
