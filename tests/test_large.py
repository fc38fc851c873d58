"""OutlierRobustPCA on many rows: what the part of them and the passes find together."""

import warnings
from dataclasses import replace
from functools import cache
from tempfile import TemporaryFile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from benchmarks import recovery
from tests._shared import LONG, MANY, NOISE, planted, types_as_labels
from torpca import OutlierRobustPCA, as_source
from torpca._options import Options
from torpca._robust import algorithm
from torpca._robust.algorithm import learned_whole, rows_to_learn_from
from torpca._robust.rank import RankRule
from torpca._robust.tuning import tuning
from torpca._sources.base import to_numpy
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def learned_from_all(model, X, **options):
    """The model fitted with all rows held in memory, however many they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algorithm, "learned_whole", lambda *_: True)
        model.fit(X, **options)
    assert model.route_ in ("rows", "span")
    return model


def in_passes(model, X, **options):
    """The model fitted, for which all rows were passed over."""
    model.fit(X, **options)
    assert model.route_ == "passes"
    return model


def pca_of(X, weights, k):
    """Top k directions and variances of weighted rows, from their Gram matrix."""
    C = X - weights @ X / np.sum(weights)
    theta, V = np.linalg.eigh((C * weights[:, None]).T @ C / (np.sum(weights) - 1))
    return V[:, ::-1][:, :k], theta[::-1][:k]


@cache
def oracle(size, fraction, family="a"):
    """The same of the good rows, and how far from the truth they are."""
    made = planted(size, fraction, family)
    V, theta = pca_of(made.X, (~made.outliers).astype(float), size[2])
    return V, theta, subspace_error(V, made.basis)


def apart(model, other):
    bases = (to_numpy(m.components_).T.astype(np.float64) for m in (model, other))
    return subspace_error(*bases)


# ---- which rows to begin with --------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 60_000),
    st.integers(1, 3000),
    st.one_of(st.integers(1, 700), st.just("auto"), st.just(0.9)),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_a_part_is_half_of_the_rows_at_most_and_none_of_weight_zero(n, d, k, share, seed):
    rng = np.random.default_rng(seed)
    weights = (rng.random(n) < share).astype(float)
    rows = rows_to_learn_from((n, d), weights, options_of(k), rng)
    if rows is None:
        most = max(tuning().part_rows[1], 10 * k if isinstance(k, int) else 0)
        assert np.sum(weights) < 2 * most
        return
    assert 2 * len(rows) <= np.sum(weights)
    assert np.all(np.diff(rows) > 0)
    assert np.all(weights[rows] > 0)
    assert len(rows) >= tuning().part_rows[0]
    if isinstance(k, int):
        assert len(rows) >= 10 * k


def options_of(k, **changes):
    return replace(Options(RankRule.of(k), None, True, None, 1e-6, 50), **changes)


@pytest.mark.parametrize("size", [MANY, LONG])
def test_these_rows_are_many_and_a_quarter_of_them_are_not(size):
    n, d, k = size
    assert not learned_whole(n, d, options_of(k))
    assert learned_whole(n // 4, d, options_of(k))
    assert (d > tuning().most_features) == (size is LONG)


@pytest.mark.parametrize("changes", [{"trim": 0.2}, {"max_iter": 1}])
def test_all_rows_are_learned_from_where_passes_have_no_place(changes):
    n, d, k = MANY
    assert learned_whole(n, d, options_of(k, **changes))


# ---- planted rows --------------------------------------------------------------------------------

CASES = [("a", 0.05), ("b", 0.4), ("c", 0.3), ("d", 0.3), ("e", 0.4)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize(("family", "fraction"), [("a", 0.0), *CASES])
def test_many_rows_are_at_the_oracle(size, family, fraction):
    X, basis, bad, _ = planted(size, fraction, family)
    model = in_passes(OutlierRobustPCA(3), X)
    _, theta, error = oracle(size, fraction, family)
    assert subspace_error(model.components_.T, basis) < 1.05 * error
    np.testing.assert_allclose(model.explained_variance_, theta, rtol=0.03)
    noise = NOISE[size]
    np.testing.assert_allclose(model.noise_variance_, noise**2, rtol=0.03)
    # Bad rows may lie as near as good ones by chance; of those that do not hardly one has a part.
    C = X - np.mean(X[~bad], axis=0)
    off = np.linalg.norm(C - (C @ basis) @ basis.T, axis=1)
    far = bad & (off > 1.6 * noise * np.sqrt(size[1]))
    assert np.sum(far) >= 0.97 * np.sum(bad)
    assert np.sum(model.weights_[far]) <= 1e-3 * np.sum(far)
    assert np.all(model.predict(X)[far] == -1)
    assert np.mean(model.weights_[~bad]) > 0.98
    assert np.mean(model.outlier_type_[~bad] != "regular") < 0.02


@pytest.mark.parametrize(
    ("size", "noise", "seed"),
    [(MANY, 0.01, 3), ((16_000, 200, 3), 0.05, 1), (LONG, 0.001, 2)],
)
@pytest.mark.parametrize("center", [True, False])
def test_clean_rows_give_pca(size, noise, seed, center):
    X = make_outlier_subspace(*size, 0, noise=noise, mean=float(center), random_state=seed).X
    model = in_passes(OutlierRobustPCA(3, center=center), X)
    # The last rows of thirty thousand may lose some weight; but for that it is PCA.
    assert np.mean(model.weights_ < 1) < 5e-4
    w = model.weights_
    C = X - center * (w @ X) / np.sum(w)
    V = np.linalg.eigh((C * w[:, None]).T @ C)[1][:, -3:]
    assert subspace_error(model.components_.T, V) < 1e-6
    if np.all(w == 1) and center:
        full = PCA(3, svd_solver="covariance_eigh").fit(X)
        assert subspace_error(model.components_.T, full.components_.T) < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_clean_rows_none_of_which_is_far_out_give_pca_and_have_whole_weights(seed):
    # Five uniform numbers are within four standard deviations along any direction.
    rng = np.random.default_rng(seed)
    C = np.hstack(
        [rng.standard_normal((30_000, 3)) * [3, 2, 1], rng.uniform(-0.2, 0.2, (30_000, 5))]
    )
    X = C @ np.linalg.qr(rng.standard_normal((8, 8)))[0] + 1.0
    model, full = in_passes(OutlierRobustPCA(3), X), PCA(3, svd_solver="full").fit(X)
    assert np.all(model.weights_ == 1)
    assert apart(model, full) < 1e-6
    np.testing.assert_allclose(model.explained_variance_, full.explained_variance_, rtol=0.01)
    np.testing.assert_allclose(model.noise_variance_, full.noise_variance_, rtol=1e-6)


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize(("family", "fraction"), [("a", 0.0), ("e", 0.4)])
def test_a_part_first_and_all_rows_at_once_come_to_the_same(size, family, fraction):
    made = planted(size, fraction, family)
    model = in_passes(OutlierRobustPCA(3), made.X)
    other = learned_from_all(OutlierRobustPCA(3), made.X)
    assert apart(model, other) < 0.1 * oracle(size, fraction, family)[2]
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=0.01)
    assert np.mean(model.predict(made.X) != other.predict(made.X)) < 0.003
    assert np.mean(np.abs(model.weights_ - other.weights_)) < 0.003


@pytest.mark.parametrize("n_components", ["auto", 0.9])
def test_the_rank_is_found_on_the_part(n_components):
    made = planted(MANY, 0.3, "e")
    model = in_passes(OutlierRobustPCA(n_components), made.X)
    assert model.n_components_ == 3
    assert subspace_error(model.components_.T, made.basis) < 1.05 * oracle(MANY, 0.3, "e")[2]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"scale": True}, {"whiten": True}, {"center": False}])
def test_options_go_through(options):
    made = make_outlier_subspace(*MANY, 0.3, noise=0.01, random_state=1)
    units = np.linspace(0.5, 3.0, 40)
    X = made.X * units
    model = in_passes(OutlierRobustPCA(3, **options), X)
    other = learned_from_all(OutlierRobustPCA(3, **options), X)
    truth = units[:, None] * made.basis / (1 if model.scale_ is None else model.scale_[:, None])
    assert apart(model, other) < 0.5 * subspace_error(model.components_.T, truth)
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=0.01)
    assert np.mean(model.predict(X) != other.predict(X)) < 0.003


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
def test_the_seed_hardly_matters(size):
    made = planted(size, 0.3)
    first, second = (in_passes(OutlierRobustPCA(3, random_state=seed), made.X) for seed in (0, 1))
    assert apart(first, second) < 0.2 * oracle(size, 0.3)[2]
    assert np.mean(first.predict(made.X) != second.predict(made.X)) < 0.005


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
def test_a_large_common_mean_is_no_problem(size):
    made = planted(size, 0.3)
    model = in_passes(OutlierRobustPCA(3), made.X)
    other = in_passes(OutlierRobustPCA(3), made.X + 1e4)
    assert apart(model, other) < 0.01 * oracle(size, 0.3)[2]
    np.testing.assert_allclose(other.mean_ - 1e4, model.mean_, atol=1e-5)
    np.testing.assert_allclose(other.explained_variance_, model.explained_variance_, rtol=1e-4)
    np.testing.assert_array_equal(other.support_, model.support_)


# ---- kinds of rows -------------------------------------------------------------------------------


def memory_map(X):
    with TemporaryFile() as file:  # it lives as long as it is mapped
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, X.dtype, "r", shape=X.shape)


def as_dask(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(3001, -1))


def as_torch(X):
    pytest.importorskip("array_api_compat")
    return pytest.importorskip("torch").asarray(X.copy())


KINDS = {
    "Fortran order": np.asfortranarray,
    "memory map": memory_map,
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
    "Dask": as_dask,
    "torch": as_torch,
}


@cache
def expected_of(size):
    X = planted(size, 0.3, "e").X
    return X, in_passes(OutlierRobustPCA(3), X)


def assert_same(model, size, tolerance):
    _, expected = expected_of(size)
    assert apart(model, expected) < tolerance
    np.testing.assert_array_equal(to_numpy(model.support_), expected.support_)
    np.testing.assert_array_equal(model.outlier_type_, expected.outlier_type_)


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_kind_of_rows_does_not_matter(size, kind):
    rows = kind(planted(size, 0.3, "e").X)
    model = in_passes(OutlierRobustPCA(3), rows)
    assert_same(model, size, 1e-8)


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, as_dask, as_torch])
def test_single_precision_has_its_digits_in_any_kind(size, kind):
    X, expected = expected_of(size)
    model = in_passes(OutlierRobustPCA(3), kind(X.astype(np.float32)))
    assert "float32" in str(model.components_.dtype)
    assert apart(model, expected) < 5e-5
    assert np.mean(to_numpy(model.support_) != expected.support_) < 1e-3
    assert np.mean(model.outlier_type_ != expected.outlier_type_) < 1e-3


@settings(max_examples=6, deadline=None)
@given(st.sampled_from([MANY, LONG]), st.integers(17, 40_000))
def test_blocks_do_not_matter(size, block_rows):
    X, _ = expected_of(size)
    assert_same(in_passes(OutlierRobustPCA(3), as_source(X, block_rows=block_rows)), size, 1e-8)


# ---- what a fit says of its rows -----------------------------------------------------------------


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize("scale", [False, True])
def test_distances_of_the_fit_are_those_of_the_model(size, scale):
    X, _ = expected_of(size)
    model = in_passes(OutlierRobustPCA(3, scale=scale), X)
    score, orthogonal = model.distances(X)
    np.testing.assert_allclose(model.score_distances_, score, rtol=1e-9)
    np.testing.assert_allclose(model.orthogonal_distances_, orthogonal, rtol=1e-9)
    np.testing.assert_array_equal(types_as_labels(model), model.predict(X))
    np.testing.assert_array_equal(model.outlier_type_, model.outlier_types(X))


def test_the_history_goes_on_from_the_part_to_all_rows():
    X, _ = expected_of(MANY)
    model = in_passes(OutlierRobustPCA(3), X)
    assert model.converged_
    assert model.n_iter_ == len(model.history_)
    assert [entry.iteration for entry in model.history_] == list(range(model.n_iter_))
    assert model.history_[-1].n_kept == np.count_nonzero(model.support_)


# ---- rows that count differently ---------------------------------------------------------------


def test_a_row_of_weight_two_is_that_row_twice_but_for_chance():
    # The parts differ, and so does what they say of the spread; the rows are the same.
    made = planted(MANY, 0.3)
    counts = np.random.default_rng(0).integers(0, 4, len(made.X))
    model = in_passes(OutlierRobustPCA(3), made.X, sample_weight=counts)
    other = in_passes(OutlierRobustPCA(3), np.repeat(made.X, counts, axis=0))
    error = oracle(MANY, 0.3)[2]
    assert apart(model, other) < 0.1 * error
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=0.01)
    np.testing.assert_allclose(model.noise_variance_, other.noise_variance_, rtol=0.01)
    assert model.cutoffs_ == pytest.approx(other.cutoffs_, rel=0.03)
    good = (counts * ~made.outliers).astype(float)
    assert subspace_error(model.components_.T, pca_of(made.X, good, 3)[0]) < 0.1 * error


def test_weights_are_counts_and_not_only_shares():
    made = planted(MANY, 0.3)
    model = in_passes(OutlierRobustPCA(3), made.X, sample_weight=np.full(len(made.X), 3.0))
    plain = in_passes(OutlierRobustPCA(3), made.X)
    assert apart(model, plain) < 0.1 * oracle(MANY, 0.3)[2]
    np.testing.assert_allclose(
        model.singular_values_, np.sqrt(3) * plain.singular_values_, rtol=0.005
    )


def test_rows_left_out_have_distances_and_no_say():
    made = planted(MANY, 0.3)
    mask = np.zeros(len(made.X), dtype=bool)
    mask[5::7] = True
    X = made.X.copy()
    X[mask] = X[mask][:, ::-1]  # as far off as any
    model = in_passes(OutlierRobustPCA(3), X, leave_out=mask)
    without = in_passes(OutlierRobustPCA(3), X[~mask])
    assert apart(model, without) < 0.1 * oracle(MANY, 0.3)[2]
    assert subspace_error(model.components_.T, made.basis) < 1.25 * oracle(MANY, 0.3)[2]
    np.testing.assert_allclose(model.explained_variance_, without.explained_variance_, rtol=0.01)
    score, orthogonal = model.distances(X[mask])
    np.testing.assert_allclose(model.score_distances_[mask], score, rtol=1e-9)
    np.testing.assert_allclose(model.orthogonal_distances_[mask], orthogonal, rtol=1e-9)
    np.testing.assert_array_equal(model.outlier_type_[mask], model.outlier_types(X[mask]))


# ---- rows it is not made for -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        *((kind, inf) for kind in (np.asarray, sp.csr_array, as_dask) for inf in (np.inf, -np.inf)),
        (sp.csr_array, np.nan),  # elsewhere it is a cell that is missing
    ],
)
def test_an_entry_that_is_no_number_is_named_by_its_row(kind, entry):
    X = planted(MANY, 0.0).X.copy()
    # Among the rows that are learned from, and beyond them.
    part = rows_to_learn_from(X.shape, np.ones(len(X)), options_of(3), np.random.default_rng(0))
    others = np.setdiff1d(np.arange(len(X)), part)
    for row in (int(part[-1]), int(others[-1])):
        before, X[row, 7] = X[row, 7], entry
        with pytest.raises(ValueError, match=rf"1 of 30,000 rows, first in row {row}, column 7\."):
            OutlierRobustPCA(3, random_state=0).fit(kind(X))
        X[row, 7] = before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "scale"),
    [(1e-200, False), (1e-200, True), (1e-90, False), (1e20, True), (1e70, False), (1e200, False)],
)
def test_the_size_of_the_numbers_does_not_matter(size, scale):
    made = planted(MANY, 0.3)
    model = in_passes(OutlierRobustPCA(3, scale=scale), made.X)
    other = in_passes(OutlierRobustPCA(3, scale=scale), size * made.X)
    # Rounding lets a few rows more or less into the fit, to a part of the error that chance makes.
    assert apart(model, other) < 0.25 * oracle(MANY, 0.3)[2]
    assert np.mean(model.predict(made.X) != other.predict(size * made.X)) < 0.003


@pytest.mark.slow
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("power", [-300, 66, 230])  # whose squares are numbers too
def test_a_power_of_two_changes_no_digit(power, scale):
    X = planted(MANY, 0.3).X
    model = in_passes(OutlierRobustPCA(3, scale=scale), X)
    other = in_passes(OutlierRobustPCA(3, scale=scale), 2.0**power * X)
    assert apart(model, other) < 1e-10
    np.testing.assert_array_equal(model.outlier_type_, other.outlier_type_)


@pytest.mark.parametrize(
    ("size", "count"), [(1e-200, 200), (1e60, 1), (1e60, 200), (1e160, 200), (1e200, 1)]
)
def test_rows_of_any_length_may_be_among_them(size, count):
    made = planted(MANY, 0.3)
    X = made.X.copy()
    wild = np.flatnonzero(made.outliers)[-count:]
    X[wild] *= size
    model = in_passes(OutlierRobustPCA(3), X)
    assert subspace_error(model.components_.T, made.basis) < 1.05 * oracle(MANY, 0.3)[2]
    assert np.all(model.predict(X)[wild] == -1)


@pytest.mark.parametrize(("size", "family"), [(MANY, "a"), (MANY, "e"), (LONG, "e")])
def test_rows_without_noise_are_recovered_to_the_last_digits(size, family):
    made = make_outlier_subspace(*size, 0.3, outliers=family, mean=1.0, random_state=1)
    model = OutlierRobustPCA(3).fit(made.X)
    assert model.route_ == "exact"
    assert subspace_error(model.components_.T, made.basis) < 1e-10
    np.testing.assert_array_equal(model.support_, ~made.outliers)


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
def test_rows_without_noise_are_passed_over_and_come_to_the_same(size):
    X = make_outlier_subspace(*size, 0.3, outliers="b", mean=1.0, random_state=1).X
    model = OutlierRobustPCA(3, random_state=0).fit(X)
    assert model.route_ == "exact"
    whole = learned_from_all(OutlierRobustPCA(3, random_state=0), X)
    assert apart(model, whole) < 1e-13
    np.testing.assert_array_equal(model.weights_, whole.weights_)
    # The limit on score distances comes from some of the rows.
    assert np.mean(model.predict(X) != whole.predict(X)) < 0.002
    np.testing.assert_allclose(model.mean_, whole.mean_, atol=0.01)
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=0.02)


def test_as_many_components_as_features_leave_nothing_to_judge_by():
    X = np.random.default_rng(0).standard_normal((20_000, 4)) * [4, 3, 2, 1]
    model = OutlierRobustPCA(4).fit(X)
    assert np.all(model.weights_ == 1)
    np.testing.assert_allclose(model.explained_variance_, [16, 9, 4, 1], rtol=0.05)


# ---- what went wrong once --------------------------------------------------------------------


@pytest.mark.parametrize("order", ["bad rows first", "by score"])
def test_the_order_of_the_rows_does_not_matter(order):
    made = planted(MANY, 0.4 if order == "bad rows first" else 0.0, "b")
    by = ~made.outliers if order == "bad rows first" else (made.X @ made.basis)[:, 0]
    X = made.X[np.argsort(by, kind="stable")]
    model, other = in_passes(OutlierRobustPCA(3), made.X), in_passes(OutlierRobustPCA(3), X)
    np.testing.assert_allclose(other.explained_variance_, model.explained_variance_, rtol=0.03)


def test_rows_left_out_have_no_weight():
    made = planted(MANY, 0.3, "b")
    mask = np.arange(30_000) % 7 == 0
    model = in_passes(OutlierRobustPCA(3), made.X, leave_out=mask)
    assert not model.weights_[mask].any()
    assert not model.support_[mask].any()


@pytest.mark.parametrize("size", [1e80, 1e90])
def test_no_warning_comes_through_at_any_size(size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_passes(OutlierRobustPCA(3), size * planted(MANY, 0.3, "b").X)


def test_csr_matrix_with_a_large_mean():
    X = planted(MANY, 0.3, "b").X + 100.0
    model, other = (
        in_passes(OutlierRobustPCA(3), X),
        in_passes(OutlierRobustPCA(3), sp.csr_matrix(X)),
    )
    assert subspace_error(model.components_.T, other.components_.T) < 1e-8


def test_strict_array_api():
    X = planted(MANY, 0.3, "b").X
    strict = pytest.importorskip("array_api_strict").asarray(np.array(X))
    model, other = in_passes(OutlierRobustPCA(3), X), in_passes(OutlierRobustPCA(3), strict)
    assert subspace_error(model.components_.T, to_numpy(other.components_).T) < 1e-8


def test_single_precision_with_a_large_mean():
    made = planted(MANY, 0.4, "b")
    X = (made.X + 1e4 * np.linspace(-1, 1, 40)).astype(np.float32)
    good = X[~made.outliers].astype(np.float64)
    good -= good.mean(axis=0)
    oracle = np.linalg.eigh(good.T @ good)[1][:, -3:]
    error = subspace_error(oracle, made.basis)
    assert (
        subspace_error(in_passes(OutlierRobustPCA(3), X).components_.T, made.basis) < 1.05 * error
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("size", [(30_000, 40), (12_000, 200)])
def test_rows_that_tilt_together_do_not_come_back(size, seed):
    X, basis, _ = recovery.planted("under_the_limit", *size, 3, 0.2, 0.01, seed)
    model = in_passes(OutlierRobustPCA(3), X)
    other = learned_from_all(OutlierRobustPCA(3), X)
    e, f = (subspace_error(m.components_.T, basis) for m in (model, other))
    assert e < 1.2 * f


@pytest.mark.parametrize("seed", range(5))
def test_clean_rows_keep_whole_weights(seed):
    X = make_outlier_subspace(30_000, 40, 3, 0, noise=0.01, mean=1.0, random_state=seed).X
    assert np.all(in_passes(OutlierRobustPCA(3), X).weights_ == 1)
