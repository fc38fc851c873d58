"""The claims of `benchmarks/recovery.py` on a small part of its cells, and on real data."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import PCA

from benchmarks import recovery
from tests._shared import warnings_of
from torpca import OutlierRobustPCA, as_source
from torpca._sources.array import ArraySource
from torpca.metrics import subspace_error

needs_data = pytest.mark.skipif(
    not (recovery.DATA / "baselines.csv").exists(),
    reason=f"no real data at {recovery.DATA}; set TORPCA_DATA to their folder",
)


def missed(lines):
    return [line for line in lines if line["holds"] is False]


@pytest.mark.parametrize(
    "letter",
    [pytest.param(f, marks=[pytest.mark.slow] * (f not in "de")) for f in recovery.FAMILIES],
)
def test_every_family_up_to_45_percent_is_at_the_oracle(letter):
    assert missed(recovery.families(2, letter, rivals=())) == []


@pytest.mark.study
@pytest.mark.parametrize(("size", "mean"), [*recovery.SHAPES[:3], recovery.SHAPES[4]])
@pytest.mark.parametrize("family", recovery.FAMILIES)
def test_other_shapes_are_at_the_oracle(family, size, mean):
    for noise in (0.0, recovery.NOISE):
        line = recovery.cell("shapes", family, size, 0.4, noise, 1, (), 1.05, mean)
        assert line["holds"], line


@pytest.mark.study
@pytest.mark.parametrize("family", sorted(recovery.HARD))
def test_hard_families_are_near_the_oracle(family):
    line = recovery.cell("hard", family, (2000, 50, 5), 0.2, recovery.NOISE, 3, (), 1.05)
    assert line["holds"], line


def test_nothing_is_lost_on_clean_data():
    assert missed(recovery.clean(3, laws=("Gaussian",))) == []


@pytest.mark.slow
@pytest.mark.parametrize("letter", recovery.FAMILIES)
def test_the_rank_is_found(letter):
    assert missed(recovery.rank(1, letter, (0.05, 0.2, 0.4))) == []


@pytest.mark.slow
@pytest.mark.parametrize("letter", recovery.FAMILIES)
def test_the_rank_with_45_percent_bad_rows_is_found_or_a_warning_given(letter):
    # A cluster of so many rows gets a component of its own, or not, by the last digits.
    X = recovery.planted(letter, 2000, 50, 5, 0.45, recovery.NOISE, 0).X
    model = OutlierRobustPCA()
    doubts = [str(entry.message) for entry in warnings_of(model, X)]
    assert model.n_components_ == 5 or any("form two groups" in doubt for doubt in doubts)


@pytest.mark.parametrize("family", recovery.FAMILIES)
def test_mean_and_variances_are_those_of_the_good_rows(family):
    X, _, bad = recovery.planted(family, 5000, 50, 5, 0.4, recovery.NOISE, 1, mean=10.0)
    model, oracle = OutlierRobustPCA(5).fit(X), PCA(5).fit(X[~bad])
    scale = np.sqrt(oracle.explained_variance_[0] / np.sum(~bad))
    assert np.linalg.norm(model.mean_ - oracle.mean_) < scale  # one standard error
    np.testing.assert_allclose(model.explained_variance_, oracle.explained_variance_, rtol=0.03)
    np.testing.assert_allclose(model.noise_variance_, oracle.noise_variance_, rtol=0.03)
    assert np.mean(model.predict(X)[~bad] == -1) < 0.015


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. the flagged rows depend on where")
@pytest.mark.parametrize("n_components", [1, 2, 4, 8, 20])
@pytest.mark.parametrize("family", recovery.FAMILIES)
def test_a_wrong_rank_does_not_let_bad_rows_in(family, n_components):
    # Two components for a plot of rows that have five, or more than there are.
    X, basis, _ = recovery.planted(family, 2000, 50, 5, 0.3, recovery.NOISE, 0)
    V = OutlierRobustPCA(n_components).fit(X).components_.T
    inside, outside = (V, basis) if n_components < 5 else (basis, V)
    assert np.linalg.norm(inside - outside @ (outside.T @ inside), 2) < 0.03


# ---- invariances -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("family", recovery.FAMILIES)
@pytest.mark.parametrize("noise", [0.0, recovery.NOISE])
@pytest.mark.parametrize("fraction", [0.2, 0.45])
def test_neither_seed_nor_row_order_matters(family, noise, fraction):
    X, _, _ = recovery.planted(family, 2000, 50, 5, fraction, noise, 0)
    model = OutlierRobustPCA(5).fit(X)
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(len(X))
        other = OutlierRobustPCA(5, random_state=seed).fit(X[order])
        assert subspace_error(model.components_.T, other.components_.T) < 1e-6
        np.testing.assert_array_equal(model.support_[order], other.support_)


@pytest.mark.slow
def test_threads_do_not_matter():
    assert missed(recovery.same(1, "e")) == []


@pytest.mark.parametrize("block_rows", [64, 333, 2000])
@pytest.mark.parametrize(("family", "noise"), [("a", 0.0), ("c", 0.01), ("e", 0.01)])
def test_chunking_does_not_matter(monkeypatch, block_rows, family, noise):
    X, _, _ = recovery.planted(family, 2000, 50, 5, 0.4, noise, 0)
    model = OutlierRobustPCA(5).fit(X)
    made = ArraySource.__init__

    def in_blocks(self, X, xp, dtype, rows=None):
        made(self, X, xp, dtype, block_rows)

    monkeypatch.setattr(ArraySource, "__init__", in_blocks)
    assert as_source(X).block_rows == block_rows
    other = OutlierRobustPCA(5).fit(X)
    assert subspace_error(model.components_.T, other.components_.T) < 1e-8
    np.testing.assert_array_equal(model.support_, other.support_)


@pytest.mark.parametrize("family", ["a", "b", "e"])
def test_rotation_scale_and_shift_go_through(family):
    X, _, _ = recovery.planted(family, 1000, 20, 3, 0.3, 0.01, 0)
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((20, 20)))[0]
    model = OutlierRobustPCA(3).fit(X)
    other = OutlierRobustPCA(3).fit(1e3 * X @ Q.T + 7.0)
    assert subspace_error(Q @ model.components_.T, other.components_.T) < 1e-6
    np.testing.assert_allclose(
        other.explained_variance_, 1e6 * model.explained_variance_, rtol=1e-5
    )
    np.testing.assert_allclose(other.mean_, 1e3 * Q @ model.mean_ + 7.0, rtol=1e-5)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("size", [1e-150, 1e-20, 1e20, 1e150])
def test_the_size_of_the_numbers_does_not_matter(size, scale):
    X, _, _ = recovery.planted("e", 600, 20, 3, 0.3, 0.01, 0)
    model = OutlierRobustPCA(3, scale=scale).fit(X)
    other = OutlierRobustPCA(3, scale=scale).fit(size * X)
    assert subspace_error(model.components_.T, other.components_.T) < 1e-6
    np.testing.assert_array_equal(model.predict(X), other.predict(size * X))


def test_rows_of_any_length_may_be_among_them():
    X, basis, bad = recovery.planted("a", 600, 20, 3, 0.3, 0.01, 0)
    wild = X.copy()
    wild[np.flatnonzero(bad)[:5]] *= 1e160
    wild[np.flatnonzero(bad)[5:10]] *= 1e-160
    OutlierRobustPCA(3, scale=True).fit(wild).score_samples(wild)  # without a warning
    model = OutlierRobustPCA(3).fit(wild)
    oracle = recovery.error("PCA", X[~bad], 3, 0.0, basis)
    assert subspace_error(model.components_.T, basis) < 1.2 * oracle
    assert np.all(model.predict(wild)[np.flatnonzero(bad)[:5]] == -1)


# ---- degenerate rows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((10, 3)),
        np.ones((50, 4)),
        np.eye(6),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.repeat(np.arange(4.0)[:, None], 5, axis=1),
        np.vstack([np.zeros((40, 3)), np.eye(3)]),
        np.arange(20.0)[:, None],
    ],
    ids=["zeros", "equal rows", "identity", "two rows", "a line", "mostly zero", "one feature"],
)
@pytest.mark.parametrize("n_components", ["auto", 1, 0.5])
def test_degenerate_rows_are_no_exception(X, n_components):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model = OutlierRobustPCA(n_components).fit(X)
    for values in (model.transform(X), model.score_samples(X), model.explained_variance_):
        assert np.all(np.isfinite(values))
    assert len(model.predict(X)) == len(X)


@settings(max_examples=80, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 14), st.integers(1, 6)),
        elements=st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.1, 1e-8, 3e5, -1e12]),
    ),
    st.sampled_from(["auto", 1, 0.9]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["auto", 0.0, 0.3]),
)
def test_small_tables_of_any_numbers_are_no_exception(X, n_components, center, scale, trim):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model = OutlierRobustPCA(n_components, center=center, scale=scale, trim=trim).fit(X)
    V = model.components_
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-8)
    values = (model.transform(X), model.score_samples(X), model.explained_variance_, model.mean_)
    assert all(np.all(np.isfinite(v)) for v in values)
    np.testing.assert_array_equal(model.predict(X) == -1, model.outlier_types(X) != "regular")


# ---- real data ---------------------------------------------------------------------------------


@needs_data
def test_hbk_rows_1_to_14_and_no_other():
    X, _, _ = recovery.load("hbk")
    flagged = np.flatnonzero(OutlierRobustPCA().fit_predict(X) == -1) + 1
    assert list(flagged) == list(range(1, 15))


@needs_data
def test_octane_six_spectra_with_alcohol():
    X, _, _ = recovery.load("octane")
    model = OutlierRobustPCA(2).fit(X)
    farthest = np.argsort(-model.orthogonal_distances_)[:6] + 1
    assert sorted(farthest) == [25, 26, 36, 37, 38, 39]
    assert np.all(model.predict(X)[farthest - 1] == -1)


@pytest.mark.slow
@needs_data
def test_real_data_beside_other_methods_of_the_kind():
    sets = ("bushfire", "cardio", "hbk", "octane", "satimage2", "stamps", "wdbc", "mortality_fr")
    lines = {line["set"]: line for line in recovery.real(sets)}
    mean = {
        column: float(lines["mean"][column].split()[0])
        for column in ("ours", "PCA", "spherical", "pyod PCA", "MCD", "ROBPCA")
    }
    # ROBPCA and spherical PCA are ahead by a hundredth on these eight, the others behind.
    assert mean["ours"] > max(mean.values()) - 0.02, mean
    assert mean["ours"] > max(mean[other] for other in ("PCA", "pyod PCA", "MCD")), mean
