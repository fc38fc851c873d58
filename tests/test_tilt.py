"""Rows that together tilt the subspace stay out, and no others do."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from benchmarks._second import leverage
from tests._shared import part_of
from torpca import OutlierRobustPCA
from torpca._options import Options
from torpca._robust.leverage import Leverage, tilts
from torpca._robust.lines import rms_of_half
from torpca._robust.loop import Found, State, draws_away, weigh
from torpca._robust.rank import RankRule
from torpca._robust.subspace import subspace_of
from torpca._robust.tuning import ROUGHLY
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

N, D, K, NOISE = 400, 12, 3, 0.05
SEEDS = range(30)


def tilt(seed, n_more, off):
    """Whether further rows tilt the subspace of some; `off(rng, scores)` says how they leave it."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((N + n_more, K)) * [3, 2, 1]
    beyond = NOISE * rng.standard_normal((N + n_more, D - K))
    beyond[N:] = NOISE * np.sqrt(D - K) * off(rng, scores[N:])
    X = np.hstack([scores, beyond]) @ np.linalg.qr(rng.standard_normal((D, D)))[0]
    part = part_of(X)
    good = np.where(part.first < N, 1.0, 0.0)
    return tilts(subspace_of(part, good, K), good, 1 - good)


def random_directions(length):
    """Off by so many lengths of the noise, each row in a direction of its own."""

    def off(rng, scores):
        E = rng.standard_normal((len(scores), D - K))
        return length * E / np.linalg.norm(E, axis=1)[:, None]

    return off


def one_direction(length):
    """Off to one side where the last score is positive, and to the other where it is negative."""

    def off(rng, scores):
        return length * np.sign(scores[:, 2:]) * np.eye(D - K)[0]

    return off


@pytest.mark.parametrize("n_more", [5, 20, 60])
@pytest.mark.parametrize("length", [1.0, 1.3, 1.6, 2.5])
def test_rows_off_in_random_directions_do_not_tilt(n_more, length):
    found = [tilt(seed, n_more, random_directions(length)) for seed in SEEDS]
    assert np.sum(found) <= 1


@pytest.mark.parametrize("n_more", [20, 60])
@pytest.mark.parametrize("length", [1.0, 1.6])
def test_rows_off_in_one_direction_as_their_scores_are_tilt(n_more, length):
    # No farther off than the others: only that they agree tells.
    assert all(tilt(seed, n_more, one_direction(length)) for seed in SEEDS)


def test_rows_like_the_others_do_not_tilt():
    def off(rng, scores):
        return rng.standard_normal((len(scores), D - K)) / np.sqrt(D - K)

    assert not any(tilt(seed, 40, off) for seed in SEEDS)


def test_one_row_or_none_does_not_tilt():
    assert not tilt(0, 0, one_direction(3.0))
    assert not tilt(0, 1, one_direction(3.0))


def test_the_unit_of_the_rows_does_not_matter():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((200, 2)) * 3, 0.1 * rng.standard_normal((200, 6))])
    X[:40, 2] = 0.2 * np.sign(X[:40, 0])
    for unit in (1e-150, 1.0, 1e150):
        part = part_of(unit * X)
        good = np.where(part.first >= 40, 1.0, 0.0)
        assert tilts(subspace_of(part, good, 2), good, 1 - good)


def oracle_ratio(X, bad, basis):
    """Error of the subspace, in those that PCA of the good rows makes."""
    k = basis.shape[1]
    found = OutlierRobustPCA(k).fit(X).components_
    errors = [subspace_error(V.T, basis) for V in (found, PCA(k).fit(X[~bad]).components_)]
    return errors[0] / errors[1]


# A tenth of the rows, so many deviations out along the weakest direction and noise levels off. PCA
# of all rows makes errors 1.5 to 5 times those of the oracle.
@pytest.mark.parametrize(
    ("size", "far", "off"), [((2000, 50, 5), 4, 6), ((600, 20, 3), 3, 4), ((600, 20, 3), 5, 2)]
)
def test_rows_barely_far_out_and_slightly_off_do_not_tilt_the_fit(size, far, off):
    tables = [leverage(size, 0.1, 0.05, far, 1, off).draw(seed) for seed in range(5)]
    assert np.median([oracle_ratio(*table) for table in tables]) < 1.3


def test_good_rows_far_out_are_not_lost():
    for seed in range(3):
        X, bad, _ = leverage((1000, 20, 3), 0.1, 0.05, 5, 1, 0).draw(seed)
        assert not bad.any()
        model = OutlierRobustPCA(3).fit(X)
        assert np.mean(model.weights_ < 1) < 0.01
        assert subspace_error(model.components_.T, PCA(3).fit(X).components_.T) < 1e-3


@pytest.mark.parametrize("shape", [(200, 10, 3), (200, 50, 5), (500, 100, 5), (2000, 20, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_clean_rows_lose_none_and_give_pca(shape, seed):
    X = make_outlier_subspace(*shape, 0, noise=0.05, mean=1.0, random_state=seed).X
    model = OutlierRobustPCA(shape[2]).fit(X)
    assert np.all(model.weights_ == 1)
    plain = PCA(shape[2], svd_solver="full").fit(X)
    assert subspace_error(model.components_.T, plain.components_.T) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_clean_rows_without_a_subspace_lose_none_and_give_pca(seed):
    X = np.random.default_rng(seed).standard_normal((300, 5)) * [2.0, 1.5, 1.2, 1.0, 0.8]
    model = OutlierRobustPCA(2).fit(X)
    assert np.all(model.weights_ == 1)
    plain = PCA(2, svd_solver="full").fit(X)
    assert subspace_error(model.components_.T, plain.components_.T) < 1e-6


# ---- without a gap: the nearest half of the start is an anchor -----------------------------------


@pytest.mark.parametrize(("share", "away"), [(1.0, False), (0.99, False), (0.9, True), (0.5, True)])
def test_the_nearest_half_must_be_clearly_farther(share, away):
    X = np.random.default_rng(0).standard_normal((N, D))
    part = part_of(X)
    fit = subspace_of(part, part.votes, K)
    assert draws_away(part, fit, share * rms_of_half(fit.studentised, part.votes)) == away
    assert not draws_away(part, fit, np.inf)


def test_rows_are_weighed_by_the_fit_before_if_those_that_came_back_draw_it_away():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) * np.linspace(2, 1, D)
    X[:40] += 3 * np.eye(D)[-1]  # a group along the weakest direction
    part = part_of(X)
    good = np.where(part.first >= 40, 1.0, 0.0)
    nothing = Leverage(np.zeros(N))
    options = Options(RankRule(K), None, True, None, 1e-6, 50)

    def step(state):
        found = Found(subspace_of(part, state.keep * part.counts, K, part.counts))
        return weigh(part, found, state, options, ROUGHLY)

    first = step(State(good, nothing))
    anchor = rms_of_half(first.now.fit.studentised, part.votes)
    back = step(State(part.votes, nothing, anchor=anchor / 1.5, now=first.now))
    np.testing.assert_array_equal(back.now.fit.V, first.now.fit.V)
    free = step(State(part.votes, nothing, now=first.now))
    assert not np.array_equal(free.now.fit.V, first.now.fit.V)
