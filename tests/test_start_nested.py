"""The start finds candidates on a part of its sample and judges the best on all of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca._robust import concentrate
from torpca._robust.start import find_start
from torpca._sample.draw import draw_sample
from torpca._sample.fit import left_out, sample_fit
from torpca._select.rank import RankRule
from torpca._sources import as_source
from torpca._stats.copies import merged_copies
from torpca.datasets import make_outlier_subspace


def start_of(X, weights=None, rank=5):
    source = as_source(X)
    return find_start(
        source,
        source.magnitudes(),
        RankRule(rank),
        center=True,
        weights=np.ones(len(X)) if weights is None else weights,
        n_sample=None,
        rng=np.random.default_rng(0),
    )


def sample_of(X, center=True):
    source, ones = as_source(X), np.ones(len(X))
    rng = np.random.default_rng(0)
    return draw_sample(source, source.magnitudes(), RankRule(3), center, ones, None, rng)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(0, 3), st.booleans())
def test_equal_rows_are_merged_as_unique_rows_are(seed, m, k, whole):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((m, k))
    if whole:  # zeros of both signs and many copies
        Y = np.round(Y)
    weights = rng.random(m)
    rows, sums = merged_copies(Y, weights)
    wanted, copies = np.unique(Y, axis=0, return_inverse=True)
    np.testing.assert_array_equal(rows, wanted)
    np.testing.assert_allclose(sums, np.bincount(copies.reshape(-1), weights), rtol=1e-12)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("shape", [(300, 20), (40, 60)])
def test_variance_left_out_is_that_of_the_subspaces(shape, center):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) * np.linspace(3.0, 0.5, shape[1]) + 1.0
    sample = sample_of(X, center)
    assert (sample.products is None) == (shape[0] > shape[1])
    keeps = [np.where(rng.random(len(sample.Z)) < 0.6, sample.weights, 0.0) for _ in range(2)]
    fits = [sample_fit(sample, keep, 3) for keep in keeps]
    bases = []
    for keep in keeps:
        C = sample.Z - (keep @ sample.Z / keep.sum() if center else 0.0)
        bases.append(np.linalg.svd(C * np.sqrt(keep)[:, None], full_matrices=False)[2][:3].T)
    beyond = [
        np.linalg.norm((B - A @ (A.T @ B)) * np.sqrt(fit.variances), 2) ** 2
        for A, B, fit in ((bases[1], bases[0], fits[0]), (bases[0], bases[1], fits[1]))
    ]
    assert left_out(*fits) == pytest.approx(max(beyond), rel=1e-6)


@pytest.mark.parametrize("outliers", "abcde")
@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_few_steps_are_taken_on_the_whole_sample(outliers, share, monkeypatch):
    made = make_outlier_subspace(2000, 50, 5, share, outliers=outliers, noise=0.01, random_state=0)
    rows_of_steps, step = [], concentrate.step

    def counted(sample, fit):
        rows_of_steps.append(len(sample.Z))
        return step(sample, fit)

    monkeypatch.setattr(concentrate, "step", counted)
    keep = start_of(made.X).keep
    # A bad row may lie near the subspace by chance.
    assert np.count_nonzero(keep & made.outliers) <= 0.01 * np.count_nonzero(keep)
    assert np.count_nonzero(keep) >= 0.95 * np.count_nonzero(~made.outliers)
    assert sum(n == 2000 for n in rows_of_steps) <= 2
    assert len(rows_of_steps) <= 20


def test_a_part_of_the_sample_is_its_first_rows():
    sample = sample_of(np.random.default_rng(0).standard_normal((50, 80)))
    part = sample.first(20)
    np.testing.assert_array_equal(part.Z, sample.Z[:20])
    np.testing.assert_allclose(part.products, part.Z @ part.Z.T, atol=1e-12)
    np.testing.assert_array_equal(
        part.spread_out(part.weights, 50),
        sample.spread_out(np.where(np.arange(50) < 20, sample.weights, 0.0), 50),
    )
    assert sample.first(50) is sample


def test_the_start_on_a_part_does_not_depend_on_the_order_of_rows():
    X = make_outlier_subspace(1500, 30, 5, 0.3, outliers="b", noise=0.01, random_state=0).X
    order = np.random.default_rng(1).permutation(len(X))
    one, other = start_of(X), start_of(X[order])
    np.testing.assert_array_equal(one.keep[order], other.keep)
    assert replace(one, keep=other.keep, choice=other.choice) == other


def test_a_row_of_weight_two_is_that_row_twice_in_the_start_on_a_part():
    X = make_outlier_subspace(1200, 30, 5, 0.3, outliers="b", noise=0.01, random_state=0).X
    weights = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(X)), weights.astype(int))
    one, other = start_of(X, weights), start_of(X[twice])
    np.testing.assert_array_equal(one.keep[twice], other.keep)
