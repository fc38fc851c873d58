"""The parts of OutlierRobustPCA: lines, outlyingness, start, thresholds, scatter, limits, rank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from torpca._core.moments import KeptMoments, KeptRowGram
from torpca._core.subspace import SubspaceFinder
from torpca._estimators.scale import feature_scales
from torpca._robust.draw import capped
from torpca._robust.law import Cumulants
from torpca._robust.lines import (
    describe_lines,
    small_sample_factor,
    weighted_quantile,
    weights_of_nearest,
)
from torpca._robust.outlyingness import (
    axes_of_extreme_kurtosis,
    best_split,
    outlyingness,
    pair_projections,
)
from torpca._robust.part import draw_part
from torpca._robust.rank import RankRule, choose_rank
from torpca._robust.rule import Cutoffs, Rule, cutoff, cutoff_of_largest, nearest, of_largest, taper
from torpca._robust.scatter import mahalanobis, robust_scatter, tightest_half
from torpca._robust.spread import Along, Spread
from torpca._robust.start import find_start
from torpca._robust.tuning import tuned, tuning
from torpca._sources import Weighted, as_source
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def rng():
    return np.random.default_rng(0)


# ---- lines -------------------------------------------------------------------------------------


def shortest_window(values):
    """Mean and variance of the shortest window of more than half of the values, by trying all."""
    v = np.sort(values)
    h = len(v) // 2 + 1
    windows = [v[i : i + h] for i in range(len(v) - h + 1)]
    best = min(windows, key=np.ptp)
    return np.mean(best), np.var(best)


@settings(max_examples=50, deadline=None)
@given(st.integers(5, 60), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e4, 1e-3]))
def test_shortest_half_is_the_one_found_by_trying_all(n, seed, size):
    values = size * np.random.default_rng(seed).standard_normal(n)
    lines = describe_lines(values[:, None], np.ones(n))
    mean, variance = shortest_window(values)
    share = (n // 2 + 1) / n
    factor = share / chi2.cdf(chi2.ppf(share, 1), 3) * small_sample_factor(n) ** 2
    assert lines.location[0] == pytest.approx(mean, abs=1e-9 * size)
    assert lines.inner[0] == pytest.approx(np.sqrt(factor * variance), rel=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=3, max_size=30),
)
def test_a_number_of_weight_three_is_that_number_three_times(pairs):
    values, counts = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    weighted = describe_lines(values[:, None], counts)
    repeated = np.repeat(values, counts.astype(int))
    plain = describe_lines(repeated[:, None], np.ones(len(repeated)))
    for name in ("location", "inner", "side"):
        assert getattr(weighted, name)[0] == pytest.approx(getattr(plain, name)[0], abs=1e-9)


def test_scales_are_consistent_for_gaussian_numbers():
    lines = describe_lines(3 + 2 * rng().standard_normal((20_000, 4)), np.ones(20_000))
    np.testing.assert_allclose(lines.location, 3, atol=0.15)
    np.testing.assert_allclose(lines.inner, 2, rtol=0.06)
    np.testing.assert_allclose(lines.side, 2, rtol=0.06)


@pytest.mark.parametrize("far", [1e2, 1e8, 1e200])
def test_two_in_five_far_numbers_do_not_reach_location_or_scale(far):
    good = rng().standard_normal(600)
    lines = describe_lines(np.append(good, np.full(400, far))[:, None], np.ones(1000))
    assert abs(lines.location[0]) < 0.5
    assert lines.inner[0] < 3
    assert lines.side[0] < 3


def test_a_heap_in_the_middle_shrinks_one_scale_and_not_the_other():
    values = np.append(rng().standard_normal(550), np.zeros(450))
    lines = describe_lines(values[:, None], np.ones(1000))
    assert lines.inner[0] < 0.15
    assert lines.side[0] > 0.5


@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 0.75, 1.0])
def test_weighted_quantile_reaches_its_share(share):
    values = rng().standard_normal(101)
    q = weighted_quantile(values, np.ones(101), share)
    assert np.mean(values <= q) >= share - 1e-12
    assert np.mean(values < q) < share


def test_taper_is_whole_then_falls_smoothly_then_nothing():
    z = np.linspace(0, 6, 601)
    w = taper(z, 4.0)
    assert np.all(w[z <= 3.2] == 1)
    assert np.all(w[z >= 4.0] == 0)
    assert np.all(np.diff(w) <= 0)
    assert np.max(np.abs(np.diff(w))) < 0.03


# ---- spread of distances -----------------------------------------------------------------------


@pytest.mark.parametrize("freedom", [3, 10, 45, 2000])
def test_distances_of_gaussian_rows_are_standardised(freedom):
    R = np.sqrt(chi2.rvs(freedom, size=20_000, random_state=1))
    z = Spread.of(R, np.ones(len(R))).z(R)
    assert abs(np.mean(z)) < 0.05
    assert np.std(z) == pytest.approx(1, abs=0.05)
    assert np.mean(z > 2.5) == pytest.approx(0.0062, abs=0.004)


def test_distances_are_standardised_by_the_majority():
    R = np.sqrt(chi2.rvs(45, size=1100, random_state=1))
    far = np.append(R, np.full(900, 30.0))
    spread = Spread.of(far, np.ones(2000))
    assert np.mean(spread.z(R) < 2.5) > 0.98
    assert np.all(spread.z(np.full(3, 30.0)) > 4)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e150])
def test_the_unit_of_distances_does_not_matter(size):
    R = np.sqrt(chi2.rvs(10, size=500, random_state=1))
    ones = np.ones(500)
    expected = Spread.of(R, ones).z(R)
    np.testing.assert_allclose(Spread.of(size * R, ones).z(size * R), expected, atol=1e-9)


# Variances of Gaussian rows along the directions beyond a subspace: a strong one and weak ones.
STRONG = np.array([36.0, *np.ones(15)])


@pytest.mark.parametrize("n", [100, 400, 2000])
def test_squares_less_what_they_have_in_common_have_gaussian_tails(n):
    beyond, cut = [], []
    common = Cumulants.on_sphere(1e9 * STRONG, 1e9).shift
    for seed in range(20):
        squares = np.square(np.random.default_rng(seed).standard_normal((n, len(STRONG)))) @ STRONG
        z = Spread.of(np.sqrt(squares), np.ones(n), common=common).z(np.sqrt(squares))
        beyond.append(np.mean(z > 1.96))
        cut.append(cutoff(z, np.ones(n)) < 7)
    assert np.mean(beyond) == pytest.approx(0.025, abs=0.015)  # not .08
    assert np.mean(cut) <= 0.05


@pytest.mark.parametrize(("n", "d"), [(30, 10), (60, 15), (200, 40), (40, 100), (100, 3000)])
def test_the_spectrum_of_few_rows_has_hardly_more_in_common_than_their_law(n, d):
    shares = []
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((n, d))
        squares = np.square(np.linalg.svd(X - X.mean(0), compute_uv=False))
        shares.append(Cumulants.on_sphere(squares, n - 1).shift / d)
    assert 0 <= np.mean(shares) < 0.1


@pytest.mark.parametrize("xp_of", [lambda a: a, lambda a: pytest.importorskip("torch").asarray(a)])
def test_places_of_squares_are_those_of_distances_and_back(xp_of):
    R = np.sqrt(np.square(np.random.default_rng(0).standard_normal((500, 16))) @ STRONG)
    spread = Spread.of(R, np.ones(500), common=15.0)
    z = spread.z(R)
    squares = xp_of(np.square(R))
    xp = np if isinstance(squares, np.ndarray) else pytest.importorskip("torch")
    np.testing.assert_allclose(np.asarray(spread.z_of_squares(squares, xp)), z, atol=1e-9)
    np.testing.assert_allclose([spread.at(value) for value in z], R, rtol=1e-9)
    unit = spread.in_unit(4.0)
    np.testing.assert_allclose(unit.z(4 * R), z, atol=1e-9)


def test_an_exact_fit_has_no_scale_and_everything_else_is_infinitely_far():
    R = np.append(np.zeros(60), np.full(40, 1e-9))
    z = Spread.of(R, np.ones(100)).z(R)
    assert np.all(z[:60] == 0)
    assert np.all(np.isinf(z[60:]))


def test_a_heap_of_equal_distances_does_not_swallow_the_spread():
    R = np.append(np.sqrt(chi2.rvs(45, size=600, random_state=1)), np.full(400, 7.0))
    spread = Spread.of(R, np.ones(1000))
    assert spread.scale > 0
    assert np.mean(spread.z(R) < 2.5) > 0.85


# ---- outlyingness ------------------------------------------------------------------------------


def test_outlyingness_does_not_depend_on_where_and_how_large_the_rows_are():
    Z = rng().standard_normal((300, 6))
    expected = outlyingness(pair_projections(Z, np.ones(300), 50, rng()), np.ones(300))[0]
    moved = pair_projections(1e3 * Z + 5.0, np.ones(300), 50, rng())
    np.testing.assert_allclose(outlyingness(moved, np.ones(300))[0], expected, rtol=1e-6)


def test_projections_are_on_lines_through_pairs_of_different_rows():
    Z = rng().standard_normal((4, 60))
    Z[3] = Z[1]  # no direction runs through equal rows
    P = pair_projections(Z, np.ones(4), 500, rng())
    assert P.shape[1] < 500
    wanted = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        line = Z[i] - Z[j]
        wanted.append(np.abs(Z @ line) / np.linalg.norm(line))
    for along in np.abs(P.T):
        assert min(np.max(np.abs(along - one)) for one in wanted) < 1e-10


def test_rows_off_an_exact_subspace_are_the_most_outlying():
    V = np.linalg.qr(rng().standard_normal((8, 8)))[0]
    Z = rng().standard_normal((200, 3)) @ V[:, :3].T
    Z[:80] += 1e-3 * rng().standard_normal((80, 8))
    found, _ = outlyingness(Z @ V, np.ones(200))  # along and across the subspace
    assert np.all(found[80:] < 10)
    assert np.all(found[:80] > 1e3)


def test_the_nearest_half_weighs_half():
    weights = rng().integers(1, 5, 100).astype(float)
    found, _ = outlyingness(rng().standard_normal((100, 20)), weights)
    half = weights_of_nearest(found, weights)
    assert 0.5 <= half.sum() / weights.sum() < 0.6
    assert found[half > 0].max() <= found[half == 0].min()


def test_a_group_of_two_in_five_is_on_the_axis_of_least_kurtosis():
    Z = rng().standard_normal((1000, 8))
    Z[:400, 3] += 30
    Y = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[0] * np.sqrt(1000)
    P, kurtosis = axes_of_extreme_kurtosis(Y, np.ones(1000), rng())
    split = best_split(P[:, np.argmin(kurtosis)], np.ones(1000))
    bad = split.above if split.above[0] else ~split.above
    assert bad[:400].all()
    assert not bad[400:].any()
    assert split.apart > 15


# ---- start -------------------------------------------------------------------------------------


def start_of(X, rank):
    """Which rows the start keeps."""
    source = as_source(X)
    part = draw_part(source, source.magnitudes(), np.ones(len(X)), rng(), center=True)
    found, _, _ = find_start(part, tuning().first_rows, RankRule.of(rank), rng())
    return part.of_table(found.keep) > 0


@pytest.mark.parametrize("family", ["isotropic", "line", "cluster", "small", "mixed"])
def test_the_start_keeps_good_rows(family):
    X, _, bad, _ = make_outlier_subspace(
        1500, 30, 4, 0.4, outliers=family, noise=0.01, random_state=1
    )
    keep = start_of(X, 4)
    assert np.mean(keep[~bad]) > 0.9
    assert np.mean(keep[bad]) < 0.02


def test_the_start_does_not_depend_on_the_order_of_all_rows():
    X, *_ = make_outlier_subspace(400, 12, 3, 0.3, noise=0.05, random_state=1)
    order = rng().permutation(400)
    ways = [start_of(rows, 3) for rows in (X, X[order])]
    np.testing.assert_array_equal(ways[0][order], ways[1])


# ---- cut-offs and weights ------------------------------------------------------------------------


@pytest.mark.parametrize("trim", [0.0, 0.1, 0.37])
def test_a_given_trim_leaves_out_that_share_and_the_farthest(trim):
    R = rng().random(250)
    w = nearest(R, trim, np.ones(250))
    assert w.sum() == pytest.approx((1 - trim) * 250)
    assert np.all(np.diff(w[np.argsort(R)]) <= 0)


def test_rows_without_weight_stay_out_however_near():
    counts = np.ones(100)
    counts[:10] = 0
    R = np.append(np.zeros(10), 1 + rng().random(90))
    assert not nearest(R, 0.1, counts)[:10].any()
    assert not weights_of_nearest(R, counts)[:10].any()


@pytest.mark.parametrize("seed", range(20))
def test_gaussian_tails_are_not_cut(seed):
    z = np.random.default_rng(seed).standard_normal(2000)
    assert cutoff(z, np.ones(2000)) == tuning().farthest
    assert cutoff(np.append(z, [1e3, np.inf]), np.ones(2002)) == tuning().farthest


def test_an_excess_in_the_tail_is_cut_and_rows_without_weight_are_none():
    z = rng().standard_normal(2000)
    z[:60] = 3.2
    cut = cutoff(z, np.ones(2000))
    assert 2.5 < cut <= 3.2
    assert cutoff(z, np.where(np.arange(2000) < 60, 0.0, 1.0)) == tuning().farthest
    with tuned(significance=1e9):
        assert cutoff(z, np.ones(2000)) == tuning().farthest
    assert tuning().significance < 10


def test_a_group_beyond_a_gap_is_cut_off_and_good_rows_are_not():
    z = np.append(np.clip(rng().standard_normal(600), -3, 3), np.full(400, 6.0))
    assert 2.5 < cutoff(z, np.ones(1000)) < 5


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 300), st.floats(0, 0.45), st.floats(2, 6))
def test_cutting_leaves_most_rows_and_repeats_are_weights(seed, n, share, far):
    g = np.random.default_rng(seed)
    z = g.standard_normal(n)
    z[: int(share * n)] = far + 0.1 * g.standard_normal(int(share * n))
    counts = g.integers(1, 4, n)
    cut = cutoff(z, counts.astype(float))
    assert cut == pytest.approx(cutoff(np.repeat(z, counts), np.ones(counts.sum())))
    assert tuning().tail <= cut <= tuning().farthest


@pytest.mark.parametrize("count", [1, 3, 10])
def test_the_largest_of_several_is_judged_as_one(count):
    z = np.max(np.abs(rng().standard_normal((20_000, count))), axis=1)
    one = of_largest(z, count)
    # Bonferroni's bound is close in the tail.
    assert np.mean(one > 2.5) == pytest.approx(0.0062, abs=0.002)
    assert cutoff_of_largest(z, np.ones(20_000), count) > tuning().farthest
    z[:2000] = 6.0
    assert 3 < cutoff_of_largest(z, np.ones(20_000), count) <= 6


def test_a_cut_off_that_was_found_stays_unless_a_smaller_one_is():
    assert Cutoffs(2.6, 5.0).tightened(Cutoffs(3.0, 4.5)) == Cutoffs(2.6, 4.5)


def test_rows_that_leave_the_subspace_together_lose_their_weight():
    P = rng().standard_normal((1000, 3))
    P[:300, 1] = 8.0
    R = np.sqrt(chi2.rvs(45, size=1000, random_state=1))
    rule = Rule.by_residuals(R, np.ones(1000)).with_next(P, np.ones(1000))
    near, both = rule.weights(np, R**2, P)
    assert np.all(both[:300] == 0)
    assert np.mean(both[300:]) > 0.99
    np.testing.assert_allclose(near, rule.near(R), atol=1e-12)
    np.testing.assert_allclose(both, rule.near(R) * rule.beside(P), atol=1e-12)


def test_a_direction_along_which_most_rows_are_one_point_says_nothing():
    P = np.zeros((100, 2))
    P[:, 0] = rng().standard_normal(100)
    P[:30, 1] = 1.0
    along = Along.of(P, np.ones(100))
    assert np.isfinite(along.scale[0])
    assert np.isinf(along.scale[1])
    assert np.all(along.z(P) < 5)


def test_a_heap_of_equal_rows_has_as_many_votes_as_a_few_rows():
    counts = np.ones(201)
    counts[7] = 150.0
    votes = capped(counts)
    assert votes[7] == tuning().most_copies
    assert np.all(np.delete(votes, 7) == 1.0)


def test_heaps_that_are_most_of_the_rows_have_all_of_their_votes():
    counts = np.ones(101)
    counts[:3] = 50.0
    np.testing.assert_array_equal(capped(counts), counts)


# ---- scatter and limits ------------------------------------------------------------------------


def test_concentration_inside_finds_the_tightest_half():
    Y = rng().standard_normal((600, 3))
    Y[:150, 2] = 6 + 0.2 * rng().standard_normal(150)
    center, covariance = tightest_half(Y, np.ones(600), True, rng())
    D = mahalanobis(Y, center, covariance)
    assert np.min(D[:150]) > np.quantile(D[150:], 0.9)


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_scatter_of_gaussian_rows_is_their_covariance(k):
    Y = rng().standard_normal((20_000, k)) * np.arange(1, k + 1) + 5
    found = robust_scatter(Y, np.ones(len(Y)), True, rng())
    scales = np.arange(1, k + 1)
    np.testing.assert_allclose(np.diag(found.covariance), scales**2, rtol=0.04)
    assert np.max(np.abs((found.center - 5) / scales)) < 0.04


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_scatter_leaves_out_rows_far_out(share):
    Y = rng().standard_normal((5000, 3))
    m = int(share * 5000)
    Y[:m] = 10 + 0.2 * rng().standard_normal((m, 3))
    found = robust_scatter(Y, np.ones(5000), True, rng())
    np.testing.assert_allclose(found.covariance, np.eye(3), atol=0.1)
    assert not found.weights[:m].any()


# ---- rank --------------------------------------------------------------------------------------


def test_a_gap_decides_the_rank():
    choice = choose_rank(RankRule(), np.append([9.0, 5.0, 2.0], 0.1 * np.ones(20)))
    assert (choice.rank, choice.rule) == (3, "gap")
    assert choice.gap == pytest.approx(20)


def test_without_a_gap_nine_tenths_of_the_variance_decide():
    variances = 0.7 ** np.arange(12)
    choice = choose_rank(RankRule(), variances)
    assert choice.rule == "share"
    shares = np.cumsum(variances) / variances.sum()
    assert shares[choice.rank - 1] >= 0.9 > shares[choice.rank - 2]


def test_a_flat_spectrum_is_at_the_edge():
    choice = choose_rank(RankRule(), np.ones(100))
    assert (choice.rank, choice.rule) == (20, "edge")


@pytest.mark.parametrize("share", [0.3, 0.5, 0.99])
def test_a_share_is_explained_by_as_few_as_possible(share):
    variances = np.array([4.0, 3.0, 2.0, 1.0])
    k = choose_rank(RankRule(share=share), variances).rank
    explained = np.cumsum(variances) / 10
    assert explained[k - 1] >= share
    assert k == 1 or explained[k - 2] < share


# ---- weights in the core -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(60, 8), (20, 50)])
@pytest.mark.parametrize("center", [True, False])
def test_weighted_rows_are_repeated_rows(shape, center):
    X = rng().standard_normal(shape) + 3
    counts = rng().integers(0, 4, shape[0]).astype(float)
    repeated = np.repeat(X, counts.astype(int), axis=0)
    finder = SubspaceFinder(as_source(X), np.max(np.abs(X), axis=1), center)
    plain = SubspaceFinder(as_source(repeated), np.max(np.abs(repeated), axis=1), center)
    ones = np.ones(len(repeated), dtype=bool)
    for polish in (False, True):
        fit, expected = finder.find(counts, 3, polish=polish), plain.find(ones, 3, polish=polish)
        np.testing.assert_allclose(fit.s, expected.s, rtol=1e-10)
        assert subspace_error(fit.V, expected.V) < 1e-10


@pytest.mark.parametrize("kind", [KeptMoments, KeptRowGram])
def test_moments_follow_weights_as_they_change(kind):
    X = rng().standard_normal((30, 12)) + 100
    finder = SubspaceFinder(as_source(X), np.max(np.abs(X), axis=1), True)
    frame = finder.find(np.ones(30), 2).frame
    moments = kind(frame, True, finder.magnitudes)
    weights = np.ones(30)
    for row in range(12):
        weights = weights.copy()
        weights[row] = row / 12
        mean, G = moments.of(weights)
        expected = np.average(X, axis=0, weights=weights)
        C = (X - expected) * np.sqrt(weights)[:, None]
        np.testing.assert_allclose(mean, expected)
        if kind is KeptMoments:
            np.testing.assert_allclose(G, C.T @ C, atol=1e-9)
        else:
            inside = weights > 0
            np.testing.assert_allclose(G, (C @ C.T)[np.ix_(inside, inside)], atol=1e-9)


def test_a_weighted_view_squares_to_the_weights():
    X = rng().standard_normal((40, 6))
    w = np.where(np.arange(40) % 3 == 0, 1.0, rng().random(40))
    keep = np.arange(40) % 5 > 0
    view = Weighted(as_source(X), w)
    G = (X[keep] * w[keep][:, None]).T @ X[keep]
    np.testing.assert_allclose(view.gram(keep), G)
    V = rng().standard_normal((6, 2))
    np.testing.assert_allclose(view.gram_matmul(keep, V), G @ V)
    Y = rng().standard_normal((40, 2))
    expected = (X * np.sqrt(w)[:, None])[keep].T @ Y[keep]
    np.testing.assert_allclose(view.rmatmul(keep, Y), expected)


# ---- feature scales ----------------------------------------------------------------------------


def test_feature_scales_are_those_of_the_good_rows():
    X = rng().standard_normal((1000, 4)) * [1, 1e3, 1e-6, 5]
    X[:300] *= 100
    scales = feature_scales(as_source(X), np.ones(1000), rng())
    np.testing.assert_allclose(scales / [1, 1e3, 1e-6, 5], 1, atol=0.6)


def test_features_without_a_scale_get_one_all_the_same():
    X = np.zeros((100, 3))
    X[:20, 1] = 1.0
    X[:, 2] = 7.0
    scales = feature_scales(as_source(X), np.ones(100), rng())
    np.testing.assert_allclose(scales, [1.0, 0.4, 1.0])
