"""RANSAC+: a coarse space that holds the subspace, and the subset with the fewest directions."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from benchmarks.recovery import planted
from tests.test_bad_input import assert_refused
from tests.test_rivals_subspace import error, haystack
from torpca.metrics import subspace_error
from torpca.rivals._ransac_plus import (
    best_subset,
    coarse_space,
    ransac_plus,
    subset_size,
    tries_needed,
)

FAMILIES = ["isotropic", "line", "cluster", "small", "mixed"]
each_family = pytest.mark.parametrize("family", FAMILIES)


@each_family
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_coarse_space_holds_the_subspace_and_is_small(family, noise):
    # The first stage: its dimension is of the order of the rank, and the median row lies in it.
    X, V, _ = planted(family, 1000, 100, 5, 0.3, noise, 0)
    for seed in range(5):
        B = coarse_space(X, 15, None, np.random.default_rng(seed))
        assert 5 <= B.shape[1] <= 60
        assert np.linalg.norm(V - B @ (B.T @ V), 2) < max(1e-10, 200 * noise)


def test_coarse_space_grows_until_the_threshold_is_met():
    X, _ = haystack(600, 200, 40, 6, noise=1e-3)
    for size in (1, 2, 5):  # the paper begins with two rows
        B = coarse_space(X, size, 0.02, np.random.default_rng(0))
        assert np.median(np.linalg.norm(X - (X @ B) @ B.T, axis=1)) <= 0.02
        assert 6 <= B.shape[1] < 40
    # A threshold that no space but all of it meets.
    assert coarse_space(X, 2, 0.0, np.random.default_rng(0)).shape == (40, 40)


@pytest.mark.parametrize("size", [10, 18])
def test_noise_alone_does_not_make_the_coarse_space_grow(size):
    # 36 of 40 dimensions leave less than half of the distance, of noise as of anything.
    X, _ = haystack(600, 100, 40, 4, noise=0.01)
    grown = [coarse_space(X, size, None, np.random.default_rng(i)).shape[1] for i in range(10)]
    assert max(grown) == size


@pytest.mark.parametrize("size", [3, 5, 9])
def test_subset_is_the_best_of_those_drawn(size):
    Z = np.random.default_rng(0).standard_normal((30, 6))
    rows, least = best_subset(Z, size, 2, 1500, np.random.default_rng(1))

    def third(rows):
        return np.linalg.svd(Z[rows], compute_uv=False)[2] ** 2 / size

    assert least == pytest.approx(third(rows), rel=1e-9)
    rng = np.random.default_rng(1)
    rng.choice(30, size, replace=False)
    drawn = [third(rng.choice(30, size, replace=False)) for _ in range(1500)]
    assert least == pytest.approx(min(drawn), rel=1e-9)


def test_sizes_and_numbers_of_subsets():
    assert subset_size(5, 0.0, 30_000) == 10
    assert subset_size(5, 0.2, 30_000) == 17
    assert tries_needed(17, 0.2) == 203  # log(0.01) / log(1 - 0.8^17)
    # 50 rows would never all be good: as many as can be.
    size = subset_size(5, 0.4, 30_000)
    assert size == 17
    assert (1 - 0.6**size) ** tries_needed(size, 0.4) <= 0.01
    assert subset_size(20, 0.45, 100) == 21
    assert tries_needed(21, 0.45) == 30_000
    assert tries_needed(10, 0.0) == 100


@each_family
@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.3])
def test_exact_without_noise_whatever_the_bad_rows_are(family, fraction):
    X, basis, bad = planted(family, 500, 30, 3, fraction, 0.0, 0)
    for refit in (False, True):
        found = ransac_plus(X, 3, fraction=fraction, refit=refit)
        assert error(found, basis) < 1e-10
        assert not (found.support & bad).any()
    np.testing.assert_array_equal(found.support, ~bad)


@each_family
def test_at_the_oracle_with_a_refit_and_near_it_without(family):
    X, basis, bad = planted(family, 2000, 50, 5, 0.2, 0.01, 0)
    oracle = subspace_error(PCA(5, svd_solver="full").fit(X[~bad]).components_.T, basis)
    assert error(ransac_plus(X, 5, fraction=0.2), basis) < 1.2 * oracle
    assert oracle < error(ransac_plus(X, 5, fraction=0.2, refit=False), basis) < 0.4


@pytest.mark.parametrize("family", ["line", "cluster"])
def test_many_bad_rows_along_one_direction_win(family):
    # Subsets small enough to have no bad rows are small enough to have too few good ones.
    # With noise: without it the eigenvalues of both kinds of subset are rounding.
    X, basis, _ = planted(family, 1000, 30, 5, 0.4, 1e-3, 0)
    assert error(ransac_plus(X, 5, fraction=0.4), basis) > 0.9
    X, basis, _ = planted("isotropic", 1000, 30, 5, 0.4, 1e-3, 0)
    assert error(ransac_plus(X, 5, fraction=0.4), basis) < 1e-3


def test_threshold_is_in_the_unit_of_the_rows():
    X, V = haystack(400, 100, 40, 4, noise=1e-3)
    coarse = [
        ransac_plus(X * unit, 4, fraction=0.2, threshold=0.02 * unit).parameters["coarse_rank"]
        for unit in (1.0, 1e-200, 1e200)
    ]
    assert coarse[0] == coarse[1] == coarse[2] < 40
    assert ransac_plus(X, 4, threshold=0.0).parameters["coarse_rank"] == 40
    assert error(ransac_plus(X, 4, threshold=0.0, fraction=0.2), V) < 0.01


def test_result_says_what_was_fitted():
    X, _, _ = planted("isotropic", 300, 20, 3, 0.2, 0.01, 0)
    whole = ransac_plus(X, 3, fraction=0.2)
    subset = ransac_plus(X, 3, fraction=0.2, refit=False)
    assert np.count_nonzero(whole.support) == 240
    assert np.count_nonzero(subset.support) == subset_size(3, 0.2, 30_000)
    plain = np.linalg.svd(X[whole.support], full_matrices=False)[2][:3]
    assert error(whole, plain.T) < 1e-10
    [step] = subset.history
    assert step.objective == whole.history[0].objective > 0


def test_about_the_spatial_median():
    X, V = haystack(300, 60, 8, 2, noise=0.01)
    found = ransac_plus(X + 5.0, 2, center=True)
    assert error(found, V) < 0.05
    np.testing.assert_allclose(found.mean, 5.0, atol=0.3)


def test_another_seed_draws_other_rows():
    X, _, _ = planted("isotropic", 300, 20, 3, 0.3, 0.1, 0)
    one, other = (ransac_plus(X, 3, n_tries=1, refit=False, random_state=seed) for seed in (0, 1))
    assert not np.array_equal(one.support, other.support)


@pytest.mark.parametrize(
    ("keywords", "word"),
    [
        ({"fraction": 0.5}, "fraction=0.5"),
        ({"fraction": -0.1}, "fraction="),
        ({"n_tries": 0}, "n_tries=0"),
        ({"threshold": -1.0}, "threshold=-1"),
    ],
)
def test_refuses(keywords, word):
    X = np.random.default_rng(0).standard_normal((20, 4))
    assert_refused(lambda: ransac_plus(X, 2, **keywords), ValueError, word)
