"""OutlierRobustPCA on many rows: what the part of them and the passes find together."""

import warnings
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
from torpca._robust import fit as robust
from torpca._robust.exact import settle_exactly
from torpca._robust.large import (
    FEWEST_LONG,
    MAX_FEATURES,
    rows_to_begin_with,
)
from torpca._robust.settle import settle_on_all
from torpca._select.rank import RankRule
from torpca._sources.base import to_numpy
from torpca._tuning import tuning
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


@pytest.fixture
def took(monkeypatch):
    """What came of the path for many rows, one entry for each fit: None if it gave up."""
    results = []
    fit_large = robust.fit_large

    def spied(*args, **options):
        results.append(fit_large(*args, **options))
        return results[-1]

    monkeypatch.setattr(robust, "fit_large", spied)
    return results


def fit_all_at_once(monkeypatch, model, X, **options):
    with monkeypatch.context() as patch:
        patch.setattr(robust, "rows_to_begin_with", lambda *args: None)
        return model.fit(X, **options)


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
    rows = rows_to_begin_with((n, d), weights, RankRule.of(k), rng)
    if rows is None:
        most = max(tuning().part_rows[1], 20 * k if isinstance(k, int) else 0)
        assert np.sum(weights) < 2 * most
        return
    assert 2 * len(rows) <= np.sum(weights)
    assert np.all(np.diff(rows) > 0)
    assert np.all(weights[rows] > 0)
    assert len(rows) >= FEWEST_LONG
    if isinstance(k, int):
        assert len(rows) >= 20 * k


@pytest.mark.parametrize("size", [MANY, LONG])
def test_these_rows_are_many_and_a_quarter_of_them_are_not(size):
    rng = np.random.default_rng(0)
    n, d, k = size
    assert rows_to_begin_with((n, d), np.ones(n), RankRule.of(k), rng) is not None
    assert rows_to_begin_with((n // 4, d), np.ones(n // 4), RankRule.of(k), rng) is None
    assert (d > MAX_FEATURES) == (size is LONG)


# ---- planted rows --------------------------------------------------------------------------------

CASES = [("a", 0.05), ("b", 0.4), ("c", 0.3), ("d", 0.3), ("e", 0.4)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize(("family", "fraction"), [("a", 0.0), *CASES])
def test_many_rows_are_at_the_oracle(took, size, family, fraction):
    X, basis, bad, _ = planted(size, fraction, family)
    model = OutlierRobustPCA(3).fit(X)
    assert len(took) == 1
    assert took[0] is not None
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
def test_clean_rows_give_pca(took, size, noise, seed, center):
    X = make_outlier_subspace(*size, 0, noise=noise, mean=float(center), random_state=seed).X
    model = OutlierRobustPCA(3, center=center).fit(X)
    assert took[0] is not None
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
def test_clean_rows_none_of_which_is_far_out_give_pca_and_have_whole_weights(took, seed):
    # Five uniform numbers are within four standard deviations along any direction.
    rng = np.random.default_rng(seed)
    C = np.hstack(
        [rng.standard_normal((30_000, 3)) * [3, 2, 1], rng.uniform(-0.2, 0.2, (30_000, 5))]
    )
    X = C @ np.linalg.qr(rng.standard_normal((8, 8)))[0] + 1.0
    model, full = OutlierRobustPCA(3).fit(X), PCA(3, svd_solver="full").fit(X)
    assert took[0] is not None
    assert np.all(model.weights_ == 1)
    assert apart(model, full) < 1e-6
    np.testing.assert_allclose(model.explained_variance_, full.explained_variance_, rtol=0.01)
    np.testing.assert_allclose(model.noise_variance_, full.noise_variance_, rtol=1e-6)


def test_rows_of_unequal_noise_are_weighed(took, monkeypatch):
    X, basis, bad = recovery.planted("noisy_rows", 30_000, 40, 3, 0.2, 0.01, 0)
    model = OutlierRobustPCA(3).fit(X)
    assert took[0] is not None
    error = subspace_error(PCA(3).fit(X[~bad]).components_.T, basis)
    assert subspace_error(model.components_.T, basis) < 0.9 * error
    assert apart(model, fit_all_at_once(monkeypatch, OutlierRobustPCA(3), X)) < 0.1 * error
    assert not np.any(model.support_[bad])


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize(("family", "fraction"), [("a", 0.0), ("e", 0.4)])
def test_a_part_first_and_all_rows_at_once_come_to_the_same(monkeypatch, size, family, fraction):
    made = planted(size, fraction, family)
    model = OutlierRobustPCA(3).fit(made.X)
    other = fit_all_at_once(monkeypatch, OutlierRobustPCA(3), made.X)
    assert apart(model, other) < 0.1 * oracle(size, fraction, family)[2]
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=0.01)
    assert np.mean(model.predict(made.X) != other.predict(made.X)) < 0.003
    assert np.mean(np.abs(model.weights_ - other.weights_)) < 0.001


@pytest.mark.parametrize("n_components", ["auto", 0.9])
def test_the_rank_is_found_on_the_part(took, n_components):
    made = planted(MANY, 0.3, "e")
    model = OutlierRobustPCA(n_components).fit(made.X)
    assert took[0] is not None
    assert model.n_components_ == 3
    assert subspace_error(model.components_.T, made.basis) < 1.05 * oracle(MANY, 0.3, "e")[2]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"scale": True}, {"whiten": True}, {"center": False}])
def test_options_go_through(took, monkeypatch, options):
    made = make_outlier_subspace(*MANY, 0.3, noise=0.01, random_state=1)
    units = np.linspace(0.5, 3.0, 40)
    X = made.X * units
    model = OutlierRobustPCA(3, **options).fit(X)
    assert took[0] is not None
    other = fit_all_at_once(monkeypatch, OutlierRobustPCA(3, **options), X)
    truth = units[:, None] * made.basis / (1 if model.scale_ is None else model.scale_[:, None])
    assert apart(model, other) < 0.3 * subspace_error(model.components_.T, truth)
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=0.01)
    assert np.mean(model.predict(X) != other.predict(X)) < 0.003


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
def test_the_seed_hardly_matters(size):
    made = planted(size, 0.3)
    first, second = (OutlierRobustPCA(3, random_state=seed).fit(made.X) for seed in (0, 1))
    assert apart(first, second) < 0.2 * oracle(size, 0.3)[2]
    assert np.mean(first.predict(made.X) != second.predict(made.X)) < 0.003


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
def test_a_large_common_mean_is_no_problem(took, size):
    made = planted(size, 0.3)
    model = OutlierRobustPCA(3).fit(made.X)
    other = OutlierRobustPCA(3).fit(made.X + 1e4)
    assert None not in took
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
    return X, OutlierRobustPCA(3).fit(X)


def assert_same(model, size, tolerance):
    _, expected = expected_of(size)
    assert apart(model, expected) < tolerance
    np.testing.assert_array_equal(to_numpy(model.support_), expected.support_)
    np.testing.assert_array_equal(model.outlier_type_, expected.outlier_type_)


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_kind_of_rows_does_not_matter(took, size, kind):
    rows = kind(planted(size, 0.3, "e").X)
    model = OutlierRobustPCA(3).fit(rows)
    assert took[0] is not None
    assert_same(model, size, 1e-8)


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, as_dask, as_torch])
def test_single_precision_has_its_digits_in_any_kind(took, size, kind):
    X, expected = expected_of(size)
    model = OutlierRobustPCA(3).fit(kind(X.astype(np.float32)))
    assert took[0] is not None
    assert "float32" in str(model.components_.dtype)
    assert apart(model, expected) < 5e-5
    assert np.mean(to_numpy(model.support_) != expected.support_) < 1e-3
    assert np.mean(model.outlier_type_ != expected.outlier_type_) < 1e-3


@settings(max_examples=6, deadline=None)
@given(st.sampled_from([MANY, LONG]), st.integers(17, 40_000))
def test_blocks_do_not_matter(size, block_rows):
    X, _ = expected_of(size)
    assert_same(OutlierRobustPCA(3).fit(as_source(X, block_rows=block_rows)), size, 1e-8)


# ---- what a fit says of its rows -----------------------------------------------------------------


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
@pytest.mark.parametrize("scale", [False, True])
def test_distances_of_the_fit_are_those_of_the_model(took, size, scale):
    X, _ = expected_of(size)
    model = OutlierRobustPCA(3, scale=scale).fit(X)
    assert took[0] is not None
    score, orthogonal = model.distances(X)
    np.testing.assert_allclose(model.score_distances_, score, rtol=1e-9)
    np.testing.assert_allclose(model.orthogonal_distances_, orthogonal, rtol=1e-9)
    np.testing.assert_array_equal(types_as_labels(model), model.predict(X))
    np.testing.assert_array_equal(model.outlier_type_, model.outlier_types(X))


def test_the_history_goes_on_from_the_part_to_all_rows(took):
    X, _ = expected_of(MANY)
    model = OutlierRobustPCA(3).fit(X)
    assert model.converged_
    assert model.n_iter_ == len(model.history_)
    assert [entry.iteration for entry in model.history_] == list(range(model.n_iter_))
    assert model.history_[-1].n_kept == np.count_nonzero(model.support_)
    assert len(took[0].start.keep) == len(X)


# ---- rows that count differently ---------------------------------------------------------------


def test_a_row_of_weight_two_is_that_row_twice_but_for_chance(took):
    # The parts differ, and so does what they say of the spread; the rows are the same.
    made = planted(MANY, 0.3)
    counts = np.random.default_rng(0).integers(0, 4, len(made.X))
    model = OutlierRobustPCA(3).fit(made.X, sample_weight=counts)
    other = OutlierRobustPCA(3).fit(np.repeat(made.X, counts, axis=0))
    assert None not in took
    error = oracle(MANY, 0.3)[2]
    assert apart(model, other) < 0.1 * error
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=0.01)
    np.testing.assert_allclose(model.noise_variance_, other.noise_variance_, rtol=0.01)
    assert model.cutoffs_ == pytest.approx(other.cutoffs_, rel=0.03)
    good = (counts * ~made.outliers).astype(float)
    assert subspace_error(model.components_.T, pca_of(made.X, good, 3)[0]) < 0.1 * error


def test_weights_are_counts_and_not_only_shares(took):
    made = planted(MANY, 0.3)
    model = OutlierRobustPCA(3).fit(made.X, sample_weight=np.full(len(made.X), 3.0))
    plain = OutlierRobustPCA(3).fit(made.X)
    assert None not in took
    assert apart(model, plain) < 0.1 * oracle(MANY, 0.3)[2]
    np.testing.assert_allclose(
        model.singular_values_, np.sqrt(3) * plain.singular_values_, rtol=0.005
    )


def test_rows_left_out_have_distances_and_no_say(took):
    made = planted(MANY, 0.3)
    mask = np.zeros(len(made.X), dtype=bool)
    mask[5::7] = True
    X = made.X.copy()
    X[mask] = X[mask][:, ::-1]  # as far off as any
    model = OutlierRobustPCA(3).fit(X, leave_out=mask)
    without = OutlierRobustPCA(3).fit(X[~mask])
    assert None not in took
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
def test_an_entry_that_is_no_number_is_named_by_its_row(monkeypatch, kind, entry):
    parts = []

    def spied(*args):
        parts.append(rows_to_begin_with(*args))
        return parts[-1]

    monkeypatch.setattr(robust, "rows_to_begin_with", spied)
    X = planted(MANY, 0.0).X.copy()
    OutlierRobustPCA(3).fit(X)
    late = int(np.setdiff1d(np.arange(len(X)), parts[0])[-1])
    X[late, 7] = entry
    with pytest.raises(ValueError, match=rf"1 of 30,000 rows, first in row {late}, column 7\."):
        OutlierRobustPCA(3).fit(kind(X))
    assert late not in parts[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "scale"),
    [(1e-200, False), (1e-200, True), (1e-90, False), (1e20, True), (1e70, False), (1e200, False)],
)
def test_the_size_of_the_numbers_does_not_matter(size, scale):
    made = planted(MANY, 0.3)
    model = OutlierRobustPCA(3, scale=scale).fit(made.X)
    other = OutlierRobustPCA(3, scale=scale).fit(size * made.X)
    assert apart(model, other) < 0.1 * oracle(MANY, 0.3)[2]
    assert np.mean(model.predict(made.X) != other.predict(size * made.X)) < 0.003


@pytest.mark.parametrize(
    ("size", "count"), [(1e-200, 200), (1e60, 1), (1e60, 200), (1e160, 200), (1e200, 1)]
)
def test_rows_of_any_length_may_be_among_them(size, count):
    made = planted(MANY, 0.3)
    X = made.X.copy()
    wild = np.flatnonzero(made.outliers)[-count:]
    X[wild] *= size
    model = OutlierRobustPCA(3).fit(X)
    assert subspace_error(model.components_.T, made.basis) < 1.05 * oracle(MANY, 0.3)[2]
    assert np.all(model.predict(X)[wild] == -1)


@pytest.mark.parametrize(("size", "family"), [(MANY, "a"), (MANY, "e"), (LONG, "e")])
def test_rows_without_noise_are_recovered_to_the_last_digits(took, size, family):
    made = make_outlier_subspace(*size, 0.3, outliers=family, mean=1.0, random_state=1)
    model = OutlierRobustPCA(3).fit(made.X)
    assert took == [None]
    assert subspace_error(model.components_.T, made.basis) < 1e-10
    np.testing.assert_array_equal(model.support_, ~made.outliers)


@pytest.mark.parametrize("size", [MANY, LONG], ids=["many", "long"])
def test_rows_without_noise_are_passed_over_and_come_to_the_same(monkeypatch, size):
    X = make_outlier_subspace(*size, 0.3, outliers="b", mean=1.0, random_state=1).X
    calls = []

    def spied(*args):
        calls.append(settle_exactly(*args))
        return calls[-1]

    monkeypatch.setattr(robust, "settle_exactly", spied)
    model = OutlierRobustPCA(3, random_state=0).fit(X)
    assert len(calls) == 1
    assert calls[0] is not None
    whole = fit_all_at_once(monkeypatch, OutlierRobustPCA(3, random_state=0), X)
    assert len(calls) == 1
    assert apart(model, whole) < 1e-13
    np.testing.assert_array_equal(model.weights_, whole.weights_)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    np.testing.assert_allclose(model.mean_, whole.mean_, atol=0.01)
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=0.02)


def test_rows_of_which_most_are_in_no_subspace_are_not_taken_for_exact(monkeypatch):
    # Two in three of the first rows are in a plane, of all rows two in five.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 40))
    X[:12_000, 3:] = 0.0
    part = np.concatenate([np.arange(2000), np.arange(20_000, 21_000)])
    source, ones = as_source(X), np.ones(30_000)
    nearly = Options(RankRule(3), None, True, None, 0.03, 50)
    settled = settle_on_all(as_source(X[part]), nearly, ones[part], rng, polish=False)
    assert settled.rule.residual.exact
    assert settle_exactly(source, ones, part, settled) is None


def test_as_many_components_as_features_leave_nothing_to_judge_by(took):
    X = np.random.default_rng(0).standard_normal((20_000, 4)) * [4, 3, 2, 1]
    model = OutlierRobustPCA(4).fit(X)
    assert took == [None]
    np.testing.assert_allclose(model.explained_variance_, [16, 9, 4, 1], rtol=0.05)


# ---- what went wrong once --------------------------------------------------------------------


@pytest.mark.parametrize("order", ["bad rows first", "by score"])
def test_the_order_of_the_rows_does_not_matter(order):
    made = planted(MANY, 0.4 if order == "bad rows first" else 0.0, "b")
    by = ~made.outliers if order == "bad rows first" else (made.X @ made.basis)[:, 0]
    X = made.X[np.argsort(by, kind="stable")]
    model, other = OutlierRobustPCA(3).fit(made.X), OutlierRobustPCA(3).fit(X)
    np.testing.assert_allclose(other.explained_variance_, model.explained_variance_, rtol=0.03)


def test_rows_left_out_have_no_weight():
    made = planted(MANY, 0.3, "b")
    mask = np.arange(30_000) % 7 == 0
    model = OutlierRobustPCA(3).fit(made.X, leave_out=mask)
    assert not model.weights_[mask].any()
    assert not model.support_[mask].any()


@pytest.mark.parametrize("size", [1e80, 1e90])
def test_no_warning_comes_through_at_any_size(size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OutlierRobustPCA(3).fit(size * planted(MANY, 0.3, "b").X)


def test_csr_matrix_with_a_large_mean():
    X = planted(MANY, 0.3, "b").X + 100.0
    model, other = OutlierRobustPCA(3).fit(X), OutlierRobustPCA(3).fit(sp.csr_matrix(X))
    assert subspace_error(model.components_.T, other.components_.T) < 1e-8


def test_strict_array_api():
    X = planted(MANY, 0.3, "b").X
    strict = pytest.importorskip("array_api_strict").asarray(np.array(X))
    model, other = OutlierRobustPCA(3).fit(X), OutlierRobustPCA(3).fit(strict)
    assert subspace_error(model.components_.T, to_numpy(other.components_).T) < 1e-8


def test_single_precision_with_a_large_mean():
    made = planted(MANY, 0.4, "b")
    X = (made.X + 1e4 * np.linspace(-1, 1, 40)).astype(np.float32)
    good = X[~made.outliers].astype(np.float64)
    good -= good.mean(axis=0)
    oracle = np.linalg.eigh(good.T @ good)[1][:, -3:]
    error = subspace_error(oracle, made.basis)
    assert subspace_error(OutlierRobustPCA(3).fit(X).components_.T, made.basis) < 1.05 * error


def test_a_row_of_the_part_that_is_no_number_is_named_by_its_own_number(monkeypatch):
    X = planted(MANY, 0.3, "b").X.copy()
    parts, draw = [], robust.rows_to_begin_with
    monkeypatch.setattr(
        robust, "rows_to_begin_with", lambda *a: parts.append(draw(*a)) or parts[-1]
    )
    OutlierRobustPCA(3).fit(X)
    late = int(parts[0][-1])
    for entry, kind in ((np.inf, np.asarray), (np.nan, sp.csr_array)):
        X[late, 7] = entry
        with pytest.raises(ValueError, match=rf"1 of 30,000 rows, first in row {late}, column 7\."):
            OutlierRobustPCA(3).fit(kind(X))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("size", [(30_000, 40), (12_000, 200)])
def test_rows_that_tilt_together_do_not_come_back(monkeypatch, size, seed):
    X, basis, _ = recovery.planted("under_the_limit", *size, 3, 0.2, 0.01, seed)
    model = OutlierRobustPCA(3).fit(X)
    monkeypatch.setattr(robust, "rows_to_begin_with", lambda *a: None)
    other = OutlierRobustPCA(3).fit(X)
    e, f = (subspace_error(m.components_.T, basis) for m in (model, other))
    assert e < 1.2 * f


@pytest.mark.parametrize("seed", range(5))
def test_clean_rows_keep_whole_weights(seed):
    X = make_outlier_subspace(30_000, 40, 3, 0, noise=0.01, mean=1.0, random_state=seed).X
    assert np.all(OutlierRobustPCA(3).fit(X).weights_ == 1)
