"""Which of two candidates is preferred, and when iterations have gone too far."""

from dataclasses import replace

import numpy as np
import pytest

from torpca import OutlierRobustPCA
from torpca._robust.concentrate import alike, concentrated, of_rank
from torpca._robust.start import best_of, contenders, leaves_noise, of_rank_of, tighter
from torpca._sample.draw import draw_sample
from torpca._select.rank import RankRule
from torpca._sources import as_source
from torpca._stats.rule import much_closer
from torpca.datasets import make_outlier_subspace


def a_sample(X, k=2):
    source, weights = as_source(X), np.ones(len(X))
    rng = np.random.default_rng(0)
    return draw_sample(source, source.magnitudes(), RankRule(given=k), True, weights, None, rng)


@pytest.fixture(scope="module")
def sample():
    X = make_outlier_subspace(400, 12, 2, 0.2, outliers="mixed", noise=0.05, random_state=0).X
    return a_sample(X)


@pytest.fixture(scope="module")
def one(sample):
    found = concentrated("pairs", sample, sample.weights, RankRule(given=2))
    return replace(found, share=0.7, half=1.0, next_variance=1.0, gap=1.0, limit=1.0, n_rows=400)


def test_without_a_gap_the_nearest_half_decides(one):
    assert tighter(replace(one, half=0.9), one)
    assert not tighter(replace(one, half=0.99), one)  # could be chance
    assert not tighter(one, replace(one, half=0.9))
    # However much less its rows vary along the next direction: it may keep fewer of them.
    assert not tighter(replace(one, next_variance=0.1), one)


@pytest.mark.parametrize(("share", "seed"), [(0.3, 0), (0.5, 0), (0.5, 3)])
def test_of_zeros_and_ones_a_half_that_is_alike_in_a_feature_does_not_win(share, seed):
    # With as many components as all rows ask for, such a half lies in its subspace up to rounding.
    X = (np.random.default_rng(seed).random((300, 12)) < share).astype(float)
    assert np.mean(OutlierRobustPCA().fit_predict(X) == -1) < 0.03


def test_with_a_gap_the_next_variance_decides(one):
    clear = replace(one, gap=100.0)
    assert tighter(replace(clear, next_variance=0.5), clear)
    assert not tighter(replace(clear, next_variance=0.9), clear)
    assert tighter(replace(clear, half=0.5), clear)
    assert tighter(replace(clear, gap=1000.0), clear)
    for larger in ({"half": 0.5}, {"gap": 1000.0}):
        assert not tighter(replace(clear, next_variance=1.2, **larger), clear)


def test_a_minority_never_wins(one):
    assert not tighter(replace(one, share=0.5, half=0.1), one)


def test_few_rows_need_a_wider_margin(one):
    few = replace(one, n_rows=25)
    assert tighter(replace(one, half=0.96), one)
    assert not tighter(replace(few, half=0.96), few)


def test_half_of_few_rows_says_nothing_of_many_directions():
    assert much_closer(1.0, 2.0, 100, 10)
    assert not much_closer(1.0, 2.0, 99, 10)
    assert not much_closer(1.0, 1.0, 1000, 1)


def test_of_two_exact_fits_the_one_that_holds_clearly_more(one):
    exact = replace(one, limit=0.0, share=0.7)
    assert tighter(replace(exact, share=0.9), exact)
    assert not tighter(replace(exact, share=0.8), exact)


def test_more_components_are_no_reason_to_win(sample, one):
    three = of_rank("three", sample, one.keep, replace(one.choice, rank=3), (), 0)
    assert of_rank_of(one, three, sample).choice.rank == 3
    assert of_rank_of(three, one, sample) is three
    assert not tighter(replace(three, half=0.0), one)
    exact = replace(one, limit=0.0)
    assert of_rank_of(exact, three, sample) is exact


def test_the_first_of_like_candidates_stays(sample, one):
    assert best_of([one, replace(one, name="again")], sample) is one


def test_candidates_that_are_clearly_worse_are_not_looked_at_again(sample, one):
    clear = replace(one, gap=100.0)
    worse = replace(clear, next_variance=2.0)
    assert contenders([clear, worse], sample.weights) == [clear]
    # ... unless the better one may be no majority.
    assert len(contenders([replace(clear, share=0.52), worse], sample.weights)) == 2


def test_a_row_that_is_much_too_long_is_in_no_half():
    X = np.random.default_rng(0).standard_normal((100, 5)) * [5, 4, 1, 1, 1]
    X[3] *= 1e9
    sample = a_sample(X)
    longest = int(np.argmax(np.max(np.abs(sample.Z), axis=1)))
    found = concentrated("all", sample, sample.weights, RankRule(given=2))
    assert found.keep[longest] == 0
    assert not found.exact
    assert found.share > 0.9


def test_few_rows_most_of_which_are_much_too_long():
    X = np.array([[3e5, 1, 1], [-1e12, 1, 1], [1, 1, 1], [1, 1, 1]])
    with pytest.warns(RuntimeWarning):
        assert np.all(np.isfinite(OutlierRobustPCA(center=False).fit(X).components_))


def test_without_a_gap_a_bare_half_does_not_win(one):
    nearer = replace(one, half=0.8, share=0.55)
    assert not tighter(nearer, replace(one, share=0.9))
    assert tighter(nearer, replace(one, share=0.54))


# ---- where no other candidate is looked for ------------------------------------------------------


def kept(X, k, rows):
    """Those rows as a candidate, as they are."""
    sample = a_sample(X, k)
    weights = np.where(sample.spread_out(sample.weights, len(X)) & rows, 1.0, 0.0)
    choice = concentrated("pairs", sample, sample.weights, RankRule(given=k)).choice
    return of_rank("pairs", sample, weights[sample.rows[np.argsort(sample.copies)]], choice, (), 0)


def in_groups(n_second, seed=0):
    """Rows in two dimensions of twelve, and a group in a third direction."""
    X = 0.1 * np.random.default_rng(seed).standard_normal((400, 12))
    X[:, :2] += 3 * np.random.default_rng(seed + 1).standard_normal((400, 2))
    X[:n_second, 2] += 12
    X[:n_second, :2] = 0.0
    return X


def test_where_noise_is_left_no_other_candidate_is_looked_for():
    every = np.ones(400, dtype=bool)
    assert leaves_noise(kept(in_groups(0), 2, every))
    # A group has one of the two components: a direction of the others is left.
    assert not leaves_noise(kept(in_groups(120), 2, every))
    # Rows that agree, and too few of them to be sure.
    assert not leaves_noise(kept(in_groups(120), 2, np.arange(400) >= 120))


def test_where_there_is_no_gap_other_candidates_are_looked_for():
    X = np.random.default_rng(0).standard_normal((400, 12))
    assert not leaves_noise(kept(X, 2, np.ones(400, dtype=bool)))


def test_the_same_subspace_with_more_noise_is_another_candidate():
    X = in_groups(0)
    X[200:, 2:] *= 2
    sample = a_sample(X)
    quiet = kept(X, 2, np.arange(400) < 200)
    noisy = kept(X, 2, np.arange(400) >= 200)
    assert not alike(noisy.fit, noisy.keep, quiet, sample)
    even, odd = (kept(in_groups(0), 2, np.arange(400) % 2 == i) for i in (0, 1))
    assert alike(odd.fit, odd.keep, even, a_sample(in_groups(0)))
