"""What make_outlier_subspace promises about its rows, family by family."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca.datasets import OutlierSubspace, make_outlier_subspace
from torpca.metrics import frobenius_residual, incoherence, subspace_error

WORDS = ["isotropic", "line", "cluster", "small", "mixed"]
NOISES = ["gaussian", "uniform", "adversarial"]


def bad_rows(data):
    """Bad rows without the mean."""
    return data.X[data.outliers] - data.mean


def rms(A):
    return float(np.sqrt(np.mean(np.square(A))))


def lengths(rows):
    return np.linalg.norm(rows, axis=1)


# The whole


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 60),
    r=st.integers(1, 5),
    extra=st.integers(2, 10),
    fraction=st.floats(0, 0.49),
    outliers=st.sampled_from([*WORDS, *"abcde"]),
    noise=st.sampled_from([0.0, 1e-3, 0.5]),
    noise_kind=st.sampled_from(NOISES),
    mean=st.sampled_from([0.0, 3.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_parts_add_up(n, r, extra, fraction, outliers, noise, noise_kind, mean, seed):
    n, d = n + 2 * r, r + extra
    data = make_outlier_subspace(
        n, d, r, fraction,
        outliers=outliers, noise=noise, noise_kind=noise_kind, mean=mean, random_state=seed,
    )  # fmt: skip
    bad = data.outliers
    assert data.X.shape == data.low_rank.shape == data.noise.shape == (n, d)
    assert data.basis.shape == (d, r)
    assert data.mean.shape == (d,)
    assert bad.sum() == (max(1, round(fraction * n)) if fraction > 0 else 0)
    assert not data.low_rank[bad].any()
    assert not data.noise[bad].any()
    np.testing.assert_allclose((data.low_rank + data.noise + data.mean)[~bad], data.X[~bad])
    np.testing.assert_allclose(data.basis.T @ data.basis, np.eye(r), atol=1e-13)
    assert frobenius_residual(data.basis, data.low_rank, relative=True) < 1e-13
    assert data.mu == pytest.approx(incoherence(data.low_rank, r), rel=1e-6)


def test_it_unpacks_into_four_and_is_frozen():
    data = make_outlier_subspace(20, 6, 2, 0.1, random_state=0)
    X, basis, outliers, mu = data
    assert X is data.X
    assert basis is data.basis
    assert outliers is data.outliers
    assert outliers.dtype == bool
    assert mu == data.mu
    assert isinstance(data, OutlierSubspace)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.mu = 1.0


def test_good_rows_have_the_promised_spectrum():
    for scales, expected in [(None, [1, 2**-0.5, 3**-0.5]), ([5.0, 0.1, 2.0], [5.0, 2.0, 0.1])]:
        data = make_outlier_subspace(
            20_000, 6, 3, 0.1, singular_values=scales, noise=0.0, random_state=0
        )
        good = data.low_rank[~data.outliers]
        deviations = np.linalg.svd(good, compute_uv=False)[:3] / np.sqrt(len(good))
        np.testing.assert_allclose(deviations, expected, rtol=0.05)


def test_one_bad_row_at_least_and_none_when_none_is_asked_for():
    assert make_outlier_subspace(50, 5, 1, 1e-9, random_state=0).outliers.sum() == 1
    assert make_outlier_subspace(50, 5, 1, 0.0, random_state=0).outliers.sum() == 0
    assert make_outlier_subspace(200, 5, 1, 0.45, random_state=0).outliers.sum() == 90


def test_the_smallest_problem():
    X, basis, outliers, mu = make_outlier_subspace(1, 1, 1, 0.0, random_state=0)
    assert X.shape == basis.shape == (1, 1)
    assert not outliers.any()
    assert mu == 1.0


@pytest.mark.parametrize("size", [1e160, 1e-160])
@pytest.mark.parametrize("outliers", WORDS)
@pytest.mark.parametrize("noise_kind", NOISES)
def test_any_scale(size, outliers, noise_kind):
    scales = np.array([1.0, 0.5])
    options = dict(outliers=outliers, noise_kind=noise_kind, mean=2.0, random_state=0)
    plain = make_outlier_subspace(60, 6, 2, 0.3, singular_values=scales, noise=0.1, **options)
    scaled = make_outlier_subspace(
        60, 6, 2, 0.3, singular_values=size * scales, noise=0.1 * size, **options
    )
    np.testing.assert_allclose(scaled.X / size, plain.X, rtol=1e-9, atol=1e-12)
    assert scaled.mu == pytest.approx(plain.mu)


# Families of bad rows


def test_a_letter_is_a_family():
    for letter, word in zip("abcde", WORDS, strict=True):
        by_letter = make_outlier_subspace(60, 8, 2, 0.3, outliers=letter, random_state=3)
        by_word = make_outlier_subspace(60, 8, 2, 0.3, outliers=word, random_state=3)
        np.testing.assert_array_equal(by_letter.X, by_word.X)


@pytest.mark.parametrize(("outliers", "ratio"), [("isotropic", 1), ("small", 0.3), ("line", 1000)])
def test_lengths_follow_those_of_good_rows(outliers, ratio):
    data = make_outlier_subspace(20_000, 12, 3, 0.5, outliers=outliers, random_state=0)
    good = lengths(data.low_rank[~data.outliers])
    bad = lengths(bad_rows(data)) / ratio
    for level in (0.1, 0.5, 0.9):  # the whole distribution, not only its mean
        assert np.quantile(bad, level) == pytest.approx(np.quantile(good, level), rel=0.05)


@pytest.mark.parametrize("outliers", ["isotropic", "small"])
def test_isotropic_rows_prefer_no_direction(outliers):
    data = make_outlier_subspace(20_000, 5, 2, 0.5, outliers=outliers, random_state=0)
    directions = bad_rows(data) / lengths(bad_rows(data))[:, None]
    np.testing.assert_allclose(
        directions.T @ directions / len(directions), np.eye(5) / 5, atol=0.02
    )
    np.testing.assert_allclose(directions.mean(axis=0), 0.0, atol=0.02)


def test_line_rows_lie_on_one_side_of_one_line():
    data = make_outlier_subspace(100, 9, 3, 0.3, outliers="line", random_state=0)
    rows = bad_rows(data)
    directions = rows / lengths(rows)[:, None]
    np.testing.assert_allclose(directions, directions[[0]].repeat(30, axis=0), atol=1e-14)


@pytest.mark.parametrize("noise_kind", NOISES)
def test_cluster_is_tight_flat_and_orthogonal_to_the_subspace(noise_kind):
    data = make_outlier_subspace(
        4000, 9, 3, 0.5, outliers="cluster", noise=0.05, noise_kind=noise_kind, random_state=0
    )
    rows = bad_rows(data)
    length = np.sqrt(1 + 1 / 2 + 1 / 3)
    np.testing.assert_allclose(rows @ data.basis, 0.0, atol=1e-14)
    singular_values = np.linalg.svd(rows, compute_uv=False)
    assert singular_values[1] > 1e-3 * singular_values[0] > 0
    assert singular_values[2] < 1e-14 * singular_values[0]
    centre = rows.mean(axis=0)
    assert np.linalg.norm(centre) == pytest.approx(length, rel=1e-3)
    assert rms(lengths(rows - centre)) == pytest.approx(0.01 * length, rel=0.05)


@pytest.mark.parametrize("n_bad", [1, 2, 3, 4, 30])
def test_mixed_is_a_third_each(n_bad):
    data = make_outlier_subspace(100, 9, 3, n_bad / 100, outliers="mixed", random_state=0)
    rows = bad_rows(data)
    long = lengths(rows) > 30
    clustered = lengths(rows @ data.basis) < 1e-12
    assert long.sum() == (n_bad + 2) // 3
    assert clustered.sum() == (n_bad + 1) // 3
    assert (~long & ~clustered).sum() == n_bad // 3


def test_bad_rows_sit_anywhere():
    often = np.mean(
        [make_outlier_subspace(10, 2, 1, 0.3, random_state=seed).outliers for seed in range(500)],
        axis=0,
    )
    np.testing.assert_allclose(often, 0.3, atol=0.1)
    kinds = make_outlier_subspace(300, 9, 3, 0.3, outliers="mixed", random_state=0)
    long = lengths(bad_rows(kinds)) > 30
    assert not (np.diff(long.astype(int)) <= 0).all()  # families are shuffled too


# Noise


def test_gaussian_noise_leaves_the_signal_alone():
    clean = make_outlier_subspace(2000, 20, 3, 0.1, random_state=0)
    noisy = make_outlier_subspace(2000, 20, 3, 0.1, noise=0.3, random_state=0)
    np.testing.assert_array_equal(noisy.low_rank, clean.low_rank)
    np.testing.assert_array_equal(noisy.basis, clean.basis)
    assert noisy.mu == clean.mu
    entries = noisy.noise[~noisy.outliers]
    assert rms(entries) == pytest.approx(0.3, rel=0.02)
    assert np.mean(entries**4) == pytest.approx(3 * 0.3**4, rel=0.1)


@pytest.mark.parametrize("noise_kind", ["uniform", "adversarial"])
def test_low_rank_is_the_best_approximation_under_arbitrary_noise(noise_kind):
    data = make_outlier_subspace(500, 20, 3, 0.1, noise=0.05, noise_kind=noise_kind, random_state=0)
    D = data.low_rank + data.noise
    U, s, Vt = np.linalg.svd(D, full_matrices=False)
    np.testing.assert_allclose((U[:, :3] * s[:3]) @ Vt[:3], data.low_rank, atol=1e-12)
    assert np.linalg.norm(data.noise) == pytest.approx(np.linalg.norm(s[3:]), rel=1e-12)
    assert subspace_error(data.basis, Vt[:3].T) < 1e-12
    np.testing.assert_allclose(data.noise @ data.basis, 0.0, atol=1e-12)


def test_uniform_noise_is_bounded():
    clean, noisy = (
        make_outlier_subspace(2000, 20, 3, 0.1, noise=noise, noise_kind="uniform", random_state=0)
        for noise in (0.0, 0.3)
    )
    added = (noisy.X - clean.X)[~noisy.outliers]
    assert rms(added) == pytest.approx(0.3, rel=0.02)
    assert np.abs(added).max() <= 0.3 * np.sqrt(3) * (1 + 1e-12)


def test_adversarial_noise_is_one_direction_on_few_rows():
    clean, noisy = (
        make_outlier_subspace(
            1000, 20, 3, 0.1, noise=noise, noise_kind="adversarial", random_state=0
        )
        for noise in (0.0, 0.05)
    )
    good = ~noisy.outliers
    added = (noisy.X - clean.X)[good]
    assert np.linalg.norm(added) == pytest.approx(0.05 * np.sqrt(900 * 20), rel=1e-12)
    assert np.linalg.norm(noisy.noise) < np.linalg.norm(added)
    singular_values = np.linalg.svd(added, compute_uv=False)
    assert singular_values[1] < 1e-12 * singular_values[0]
    np.testing.assert_allclose(added @ clean.basis, 0.0, atol=1e-12)
    hit = lengths(added) > 1e-12
    assert hit.sum() == 18
    weakest = np.abs(clean.low_rank[good] @ clean.basis[:, 2])
    assert weakest[hit].min() >= weakest[~hit].max()


def test_adversarial_noise_tilts_further_than_uniform_noise():
    tilt = {}
    for kind in ("uniform", "adversarial"):
        options = dict(noise_kind=kind, random_state=0)
        clean = make_outlier_subspace(1000, 20, 3, 0.1, **options)
        tilt[kind] = subspace_error(
            make_outlier_subspace(1000, 20, 3, 0.1, noise=0.02, **options).basis, clean.basis
        )
    assert tilt["adversarial"] > 5 * tilt["uniform"] > 0


def test_without_noise_every_kind_is_exact():
    for kind in NOISES:
        data = make_outlier_subspace(50, 6, 2, 0.1, noise_kind=kind, random_state=0)
        assert not data.noise.any()
        assert frobenius_residual(data.basis, data.X[~data.outliers], relative=True) < 1e-14


# Mean


def test_mean_is_added_to_every_row():
    plain = make_outlier_subspace(50, 6, 2, 0.2, random_state=0)
    vector = np.arange(6.0)
    given_mean = make_outlier_subspace(50, 6, 2, 0.2, mean=vector, random_state=0)
    np.testing.assert_array_equal(given_mean.mean, vector)
    np.testing.assert_array_equal(given_mean.X, plain.X + vector)
    np.testing.assert_array_equal(given_mean.low_rank, plain.low_rank)
    assert given_mean.mean is not vector


def test_mean_length_is_in_lengths_of_good_rows():
    data = make_outlier_subspace(
        20_000, 6, 2, 0.1, mean=7.0, singular_values=[3.0, 4.0], random_state=0
    )
    assert np.linalg.norm(data.mean) == pytest.approx(7.0 * 5.0)
    good = data.low_rank[~data.outliers]
    assert np.linalg.norm(data.mean) == pytest.approx(7.0 * rms(lengths(good)), rel=0.05)


# Randomness


@pytest.mark.parametrize(
    "source", [lambda: 5, lambda: np.random.default_rng(5), lambda: np.random.RandomState(5)]
)
def test_the_same_source_gives_the_same_data(source):
    first, second = (
        make_outlier_subspace(40, 6, 2, 0.2, noise=0.1, mean=1.0, random_state=source())
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.outliers, second.outliers)


def test_an_integer_and_its_generator_agree():
    by_int = make_outlier_subspace(40, 6, 2, 0.2, random_state=5)
    by_generator = make_outlier_subspace(40, 6, 2, 0.2, random_state=np.random.default_rng(5))
    np.testing.assert_array_equal(by_int.X, by_generator.X)


@pytest.mark.parametrize("source", [None, np.random.default_rng(5), np.random.RandomState(5)])
def test_a_generator_moves_on(source):
    first, second = (make_outlier_subspace(40, 6, 2, 0.2, random_state=source) for _ in range(2))
    assert subspace_error(first.basis, second.basis) > 1e-3


def test_the_global_state_is_not_touched():
    np.random.seed(0)  # noqa: NPY002 - the state under test
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make_outlier_subspace(40, 6, 2, 0.2)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_families_share_their_good_rows():
    reference = make_outlier_subspace(80, 8, 2, 0.3, noise=0.1, mean=2.0, random_state=1)
    for outliers in WORDS:
        data = make_outlier_subspace(
            80, 8, 2, 0.3, outliers=outliers, noise=0.1, mean=2.0, random_state=1
        )
        np.testing.assert_array_equal(data.outliers, reference.outliers)
        np.testing.assert_array_equal(data.X[~data.outliers], reference.X[~data.outliers])


def test_noise_levels_share_signal_and_noise_pattern():
    low, high = (
        make_outlier_subspace(80, 8, 2, 0.3, noise=noise, random_state=1) for noise in (0.1, 0.2)
    )
    np.testing.assert_array_equal(low.low_rank, high.low_rank)
    np.testing.assert_allclose(2 * low.noise, high.noise)
    np.testing.assert_array_equal(low.X[low.outliers], high.X[low.outliers])


def test_larger_fractions_replace_more_of_the_same_rows():
    few, many = (
        make_outlier_subspace(80, 8, 2, fraction, noise=0.1, random_state=1)
        for fraction in (0.1, 0.4)
    )
    assert (few.outliers <= many.outliers).all()
    np.testing.assert_allclose(few.X[~many.outliers], many.X[~many.outliers], rtol=1e-12)


# Bad input


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (dict(n=10.0), TypeError, "n must be an integer; got 10.0"),
        (dict(r=True), TypeError, "r must be an integer"),
        (dict(d=0), ValueError, "d must be at least 1; got 0"),
        (dict(r=7), ValueError, r"at most min\(n, d\) = 6; got r=7"),
        (dict(fraction=1.0), ValueError, r"\[0, 1\); got 1.0"),
        (dict(fraction=-0.1), ValueError, "fraction must be finite and at least 0"),
        (dict(fraction="10%"), TypeError, "fraction must be a number"),
        (dict(fraction=0.98), ValueError, "leaves 1 good rows"),
        (dict(noise=-1.0), ValueError, "noise must be finite and at least 0; got -1.0"),
        (dict(noise=np.nan), ValueError, "got nan"),
        (dict(noise_kind="pink"), ValueError, "one of 'gaussian', 'uniform', 'adversarial'"),
        (dict(outliers="z"), ValueError, "'isotropic', 'line', .*; got 'z'"),
        (dict(outliers=["a"]), ValueError, "outliers must be one of"),
        (dict(outliers="cluster", d=3), ValueError, "d=3 and r=2 leave 1. Take d >= 4"),
        (dict(outliers="mixed", d=3), ValueError, "d=3 and r=2 leave 1. Take d >= 4"),
        (dict(noise_kind="adversarial", noise=1.0, d=2), ValueError, "Take d >= 3"),
        (dict(mean=[1.0, 2.0]), ValueError, r"shape \(6,\); got shape \(2,\)"),
        (dict(mean=[np.inf] * 6), ValueError, "with NaN or infinity"),
        (dict(mean=-1.0), ValueError, "mean must be finite and at least 0"),
        (dict(singular_values=[1.0]), ValueError, "r=2 positive finite numbers"),
        (dict(singular_values=[1.0, 0.0]), ValueError, "r=2 positive finite numbers"),
        (dict(random_state="lucky"), TypeError, "random_state must be None, an integer"),
        (dict(random_state=-1), ValueError, "must not be negative"),
    ],
)
def test_errors_say_what_is_wrong(change, error, message):
    with pytest.raises(error, match=message):
        make_outlier_subspace(**(dict(n=50, d=6, r=2, fraction=0.1) | change))
