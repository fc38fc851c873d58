"""Which of two candidates is preferred, and when no other is looked for."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from tests._shared import part_of
from torpca import OutlierRobustPCA
from torpca._robust.choice import best_of, leaves_noise, less, tighter
from torpca._robust.concentration import candidate
from torpca._robust.halves import least_outlying, without_long_rows
from torpca._robust.rank import RankRule, choose_rank
from torpca._robust.start import candidates, find_start
from torpca._robust.tuning import tuning
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


@dataclass(frozen=True)
class Found:
    """What is compared of two candidates; of so many rows that margins are what tuning says."""

    share: float = 0.7
    exact: bool = False
    n_rows: int = 10**9
    next_variance: float = 1.0
    gap: float = 1.0
    half: float = 1.0
    name: str = ""


T = tuning()
ONE, CLEAR, EXACT = Found(), Found(gap=100.0), Found(exact=True, gap=np.inf)
# Clearly, and not quite, beyond a margin.
BEYOND, WITHIN = 1.01, 0.99


# ---- each line of the table ----------------------------------------------------------------------


@pytest.mark.parametrize("other", [ONE, CLEAR, EXACT])
def test_a_minority_is_never_tighter(other):
    few = replace(other, share=T.majority - 0.005, half=0.01, next_variance=0.01)
    assert not tighter(few, replace(other, share=0.9))
    assert not tighter(few, few)


@pytest.mark.parametrize(("share", "wins"), [(0.86, True), (0.84, False), (0.7, False)])
def test_of_two_exact_fits_one_must_leave_out_less_than_half_as_many_rows(share, wins):
    assert tighter(replace(EXACT, share=share), EXACT) == wins


@pytest.mark.parametrize("gaps", [(100.0, 1.0), (1.0, 100.0), (100.0, 100.0)])
def test_with_a_gap_in_either_rows_that_vary_clearly_less_along_the_next_direction_win(gaps):
    a, b = (replace(ONE, gap=gap) for gap in gaps)
    farther = replace(a, half=5.0)
    assert tighter(replace(farther, next_variance=1 / (BEYOND * T.next_variance)), b)
    if gaps[0] <= gaps[1]:  # a larger gap is a reason of its own
        assert not tighter(replace(farther, next_variance=1 / (WITHIN * T.next_variance)), b)


def test_with_a_gap_and_no_more_variance_a_clearly_larger_gap_wins():
    margin = np.sqrt(T.gap)
    assert tighter(replace(CLEAR, gap=100 * BEYOND * margin), CLEAR)
    assert not tighter(replace(CLEAR, gap=100 * WITHIN * margin), CLEAR)
    assert not tighter(replace(CLEAR, gap=1e4, next_variance=BEYOND * T.closer), CLEAR)


def test_with_a_gap_and_no_more_variance_a_clearly_nearer_half_wins():
    assert tighter(replace(CLEAR, half=1 / (BEYOND * T.closer)), CLEAR)
    assert not tighter(replace(CLEAR, half=1 / (WITHIN * T.closer)), CLEAR)
    assert not tighter(replace(CLEAR, half=0.5, next_variance=BEYOND * T.closer), CLEAR)


def test_without_a_gap_the_first_candidate_stays():
    assert not tighter(replace(ONE, half=0.01, next_variance=0.01, share=1.0), ONE)


def test_few_rows_need_a_wider_margin():
    less_beyond = 1 / (1.1 * T.next_variance)
    assert tighter(replace(CLEAR, next_variance=less_beyond), CLEAR)
    few = replace(CLEAR, n_rows=25)
    assert not tighter(replace(few, next_variance=less_beyond), few)
    # The fewer of both count.
    assert not tighter(replace(few, next_variance=less_beyond), CLEAR)
    assert not tighter(replace(CLEAR, next_variance=less_beyond), few)


# ---- ties ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [ONE, CLEAR, EXACT], ids=["no gap", "gap", "exact"])
def test_of_candidates_that_are_as_good_the_first_wins(one):
    again = replace(one, name="again")
    assert best_of([one, again]) is one
    assert best_of([again, one]) is again


# Few digits, so that many of them are equal, or differ by a margin to the last digit.
NUMBERS = st.sampled_from([0.5, 0.8, 0.96, 1.0, 1.02, 1.04, 1.25, 3.5, 12.0])


@st.composite
def found(draw):
    return Found(
        share=draw(st.sampled_from([0.505, 0.55, 0.65, 0.7, 0.9])),
        n_rows=draw(st.sampled_from([20, 400, 10**9])),
        next_variance=draw(NUMBERS),
        gap=draw(NUMBERS),
        half=draw(NUMBERS),
    )


def shaken(c, rng, names):
    return replace(c, **{name: getattr(c, name) * (1 + 1e-12 * rng.normal()) for name in names})


@settings(max_examples=200, deadline=None)
@given(found(), found(), st.integers(0, 2**32 - 1))
def test_rounding_decides_nothing(a, b, seed):
    rng, names = np.random.default_rng(seed), ["next_variance", "gap", "half"]
    assert tighter(shaken(a, rng, names), shaken(b, rng, names)) == tighter(a, b)


@pytest.mark.parametrize("share", [0.51, 0.55, 0.6, 0.7])
@pytest.mark.parametrize("half", [0.5, 1.0])
def test_rounding_of_equal_shares_decides_nothing(share, half):
    a, b = replace(ONE, share=share, half=half), replace(ONE, share=share)
    rng = np.random.default_rng(0)
    wins = {tighter(shaken(a, rng, ["share"]), shaken(b, rng, ["share"])) for _ in range(20)}
    assert len(wins) == 1


@settings(max_examples=100, deadline=None)
@given(found())
def test_no_candidate_is_tighter_than_itself(a):
    assert not tighter(a, a)


def test_less_is_less_by_more_than_rounding():
    assert less(1.0, 1.04001, 1.04)
    assert not less(1.0, 1.04, 1.04)
    assert not less(1.0, 1.04 + 1e-12, 1.04)
    assert less(1e-300, 1.05e-300, 1.04)
    assert less(1.0, np.inf, 2.0)
    assert not less(np.inf, np.inf, 1.0)


# ---- planted rows on which a line of the table decides -------------------------------------------


def found_in(X, k):
    """All candidates, and a function that says which rows of the table one of them keeps."""
    part, rng = part_of(X), np.random.default_rng(0)
    choice = choose_rank(RankRule(k), np.zeros(min(part.Z.shape)))
    all_found = list(candidates(part, least_outlying(part, rng), choice, rng))
    assert len(all_found) > 1
    return all_found, lambda c: part.of_table(c.keep) > 0


def best_both_ways(X, k):
    """Rows that the best candidate keeps, which must not depend on the order of the candidates."""
    all_found, kept = found_in(X, k)
    return [kept(best_of(order)) for order in (all_found, all_found[::-1])]


def test_a_tight_group_of_nearly_half_of_the_rows_does_not_win():
    X, _, bad, _ = make_outlier_subspace(
        400, 8, 2, 0.45, outliers="cluster", noise=0.02, random_state=0
    )
    all_found, kept = found_in(X, 2)
    best = best_of(all_found)
    assert np.mean(kept(best)[~bad]) > 0.95
    assert not kept(best)[bad].any()
    # Although one that keeps the group is nearer to half of the rows, and varies less beyond it.
    group = [c for c in all_found if kept(c)[bad].all()]
    assert any(c.half < 0.9 * best.half and c.next_variance < best.next_variance for c in group)


def test_of_two_planes_without_noise_the_one_that_holds_nearly_all_rows_wins():
    # Both hold the rows on one line.
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    along = np.repeat([[1, 0, 1], [1, 1, 0], [1, 0, 0]], [180, 40, 180], axis=0)
    X = rng.standard_normal((400, 3)) * along
    kept = OutlierRobustPCA(2).fit(X @ Q[:3]).support_
    assert np.all(kept[:180])
    assert not kept[180:220].any()
    assert np.all(kept[220:])


def test_with_a_gap_a_component_is_not_given_up_for_a_group():
    X, _, bad, _ = make_outlier_subspace(
        400, 8, 2, 0.4, outliers="cluster", noise=0.02, random_state=0
    )
    for kept in best_both_ways(X, 2):
        assert np.mean(kept[~bad]) > 0.95
        assert not kept[bad].any()


def falling_variances(seed, share, shift):
    """Gaussian rows (600, 9) without a gap, a `share` of them moved along three axes."""
    rng = np.random.default_rng(seed)
    deviations = 1.5 ** -np.arange(9)
    X = rng.normal(size=(600, 9)) * deviations
    bad = np.arange(600) < share * 600
    along = np.isin(np.arange(9), [3, 5, 7]) / np.sqrt(np.sum(deviations[[3, 5, 7]] ** -2.0))
    X[bad] += shift * along
    return X @ np.linalg.qr(rng.normal(size=(9, 9)))[0], bad


@pytest.mark.parametrize("seed", range(4))
def test_without_a_gap_a_component_is_not_given_up_for_a_group(seed):
    X, bad = falling_variances(seed, 0.2, 15.0)
    all_found, kept = found_in(X, 4)
    best = kept(best_of(all_found))
    assert np.mean(best[~bad]) > 0.9
    assert np.mean(best[bad]) < 0.1


def assert_without_the_group(model, X, bad):
    assert model.support_[bad].mean() < 0.05
    assert model.support_[~bad].mean() > 0.95
    oracle = PCA(4).fit(X[~bad]).components_.T
    plain = subspace_error(PCA(4).fit(X).components_.T, oracle)
    assert subspace_error(model.components_.T, oracle) < 0.2 * plain


@pytest.mark.parametrize("seed", range(4))
def test_without_a_gap_a_fit_leaves_a_group_out(seed):
    X, bad = falling_variances(seed, 0.2, 15.0)
    assert_without_the_group(OutlierRobustPCA(4, random_state=0).fit(X), X, bad)


def test_without_a_gap_a_group_is_left_out_of_many_rows_too():
    X, bad = falling_variances(0, 0.2, 15.0)
    rng = np.random.default_rng(1)
    many = rng.integers(600, size=12_000)
    rows = X[many] + 0.01 * rng.normal(size=(12_000, 9))
    model = OutlierRobustPCA(4, random_state=0).fit(rows)
    assert model.route_ == "passes"
    assert_without_the_group(model, rows, bad[many])


@pytest.mark.parametrize(("share", "seed"), [(0.3, 0), (0.5, 0), (0.5, 3)])
def test_of_zeros_and_ones_a_half_that_is_alike_in_a_feature_does_not_win(share, seed):
    # With as many components as all rows ask for, such a half lies in its subspace up to rounding.
    X = (np.random.default_rng(seed).random((300, 12)) < share).astype(float)
    assert np.mean(OutlierRobustPCA().fit_predict(X) == -1) < 0.03


# ---- rows that are much too long -----------------------------------------------------------------


def test_a_row_that_is_much_too_long_is_in_no_half():
    X = np.random.default_rng(0).standard_normal((100, 5)) * [5, 4, 1, 1, 1]
    X[3] *= 1e9
    part = part_of(X)
    assert part.of_table(without_long_rows(part, part.votes))[3] == 0
    best, _, _ = find_start(part, 600, RankRule(given=2), np.random.default_rng(0))
    assert part.of_table(best.keep)[3] == 0
    assert not best.exact
    assert best.share > 0.9


def test_few_rows_most_of_which_are_much_too_long():
    X = np.array([[3e5, 1, 1], [-1e12, 1, 1], [1, 1, 1], [1, 1, 1]])
    with pytest.warns(RuntimeWarning):
        assert np.all(np.isfinite(OutlierRobustPCA(center=False).fit(X).components_))


# ---- where no other candidate is looked for ------------------------------------------------------


def kept(X, rows):
    """Those rows as a candidate, as they are, for a plane."""
    part = part_of(X)
    choice = choose_rank(RankRule(2), np.zeros(min(part.Z.shape)))
    return candidate("", part, np.where(rows[part.first], part.votes, 0.0), choice)


def in_groups(n_second):
    """Rows in two dimensions of twelve, and a group in a third direction."""
    X = 0.1 * np.random.default_rng(0).standard_normal((400, 12))
    X[:, :2] += 3 * np.random.default_rng(1).standard_normal((400, 2))
    X[:n_second, 2] += 12
    X[:n_second, :2] = 0.0
    return X


def test_where_noise_is_left_no_other_candidate_is_looked_for():
    every = np.ones(400, dtype=bool)
    assert leaves_noise(kept(in_groups(0), every), tuning().agree)
    # A group has one of the two components: a direction of the others is left.
    assert not leaves_noise(kept(in_groups(120), every), tuning().agree)
    # Rows that agree, and too few of them to be sure.
    assert not leaves_noise(kept(in_groups(120), np.arange(400) >= 120), tuning().agree)


def test_where_there_is_no_gap_other_candidates_are_looked_for():
    X = np.random.default_rng(0).standard_normal((400, 12))
    assert not leaves_noise(kept(X, np.ones(400, dtype=bool)), tuning().agree)
