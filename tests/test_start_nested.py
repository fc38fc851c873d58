"""The start finds candidates on some rows of the part and judges the best on all of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests._shared import part_of
from torpca._robust import concentration
from torpca._robust.draw import merged_copies
from torpca._robust.rank import RankRule
from torpca._robust.start import find_start
from torpca._robust.tuning import tuning
from torpca.datasets import make_outlier_subspace


def start_of(X, weights=None, rank=5, count=None):
    """Which rows of the table the start keeps, and what it says of itself."""
    part = part_of(X, weights)
    count = tuning().first_rows if count is None else count
    best, _, start = find_start(part, count, RankRule(rank), np.random.default_rng(0))
    return part.of_table(best.keep / part.votes) > 0, start


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


@pytest.mark.parametrize("outliers", "abcde")
@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_few_steps_are_taken_on_all_rows_of_the_part(outliers, share, monkeypatch):
    made = make_outlier_subspace(2000, 50, 5, share, outliers=outliers, noise=0.01, random_state=0)
    rows_of_steps, judged = [], concentration.judged

    def counted(part, *args, **options):
        rows_of_steps.append(len(part.Z))
        return judged(part, *args, **options)

    monkeypatch.setattr(concentration, "judged", counted)
    keep, start = start_of(made.X)
    # A bad row may lie near the subspace by chance.
    assert np.count_nonzero(keep & made.outliers) <= 0.01 * np.count_nonzero(keep)
    assert np.count_nonzero(keep) >= 0.95 * np.count_nonzero(~made.outliers)
    assert start.n_sample == 600
    assert sum(n == 2000 for n in rows_of_steps) <= 2
    assert len(rows_of_steps) <= 40


@pytest.mark.parametrize("outliers", "abcde")
def test_candidates_of_some_rows_and_of_all_come_to_the_same(outliers):
    made = make_outlier_subspace(2000, 30, 5, 0.3, outliers=outliers, noise=0.01, random_state=1)
    some, all_rows = start_of(made.X)[0], start_of(made.X, count=2000)[0]
    assert np.mean(some != all_rows) < 0.005


def test_the_start_on_some_rows_does_not_depend_on_their_order():
    X = make_outlier_subspace(1500, 30, 5, 0.3, outliers="b", noise=0.01, random_state=0).X
    order = np.random.default_rng(1).permutation(len(X))
    (one, said), (other, also_said) = start_of(X), start_of(X[order])
    np.testing.assert_array_equal(one[order], other)
    assert said == also_said


def test_a_row_of_weight_two_is_that_row_twice_in_the_start_on_some_rows():
    X = make_outlier_subspace(1200, 30, 5, 0.3, outliers="b", noise=0.01, random_state=0).X
    weights = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(X)), weights.astype(int))
    (one, said), (other, also_said) = start_of(X, weights), start_of(X[twice])
    np.testing.assert_array_equal(one[twice], other)
    # It has looked at more rows of the table, and at no others.
    assert replace(said, n_sample=0) == replace(also_said, n_sample=0)
