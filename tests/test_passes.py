"""Passes over all rows: what is known before one, what follows from it, and where they end."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from tests._shared import MANY, NOISE, part_of, planted, small_parts
from torpca import OutlierRobustPCA, as_source
from torpca._core.stand_in import top_directions
from torpca._options import Options
from torpca._robust.leverage import Leverage
from torpca._robust.loop import State, settle_on_part
from torpca._robust.part import draw_part
from torpca._robust.passes import OfTable, begin_passes, reference_of
from torpca._robust.rank import RankRule
from torpca._robust.rule import Cutoffs
from torpca._robust.spread import Spread
from torpca._robust.start import find_start
from torpca._robust.tuning import ROUGHLY, tuned, tuning
from torpca._sources.base import to_numpy
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

# ---- the next directions -------------------------------------------------------------------------


def spd(rng, d):
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return (Q * 2.0 ** -np.arange(d)) @ Q.T


matrices = given(st.integers(0, 2**32 - 1), st.integers(2, 15), st.data())


@settings(max_examples=50, deadline=None)
@matrices
def test_directions_are_those_of_the_matrix_if_only_what_is_known_was_wrong(seed, d, data):
    p = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    A, V = spd(rng, d), np.linalg.qr(rng.standard_normal((d, p)))[0]
    theta, U = np.linalg.eigh(A)
    M = data.draw(st.sampled_from([0.0, 1.0, 100.0])) * rng.standard_normal((d, p))
    W, found = top_directions(A + V @ M.T + M @ V.T, V, A @ V)
    np.testing.assert_allclose(found, theta[::-1][:p], rtol=1e-9, atol=1e-11)
    assert W.shape == (d, p)
    assert subspace_error(W, U[:, ::-1][:, :p]) < 1e-8 * 2.0**p


@settings(max_examples=50, deadline=None)
@matrices
def test_all_directions_that_are_known_leave_nothing_to_stand_in_for(seed, d, data):
    rng = np.random.default_rng(seed)
    A, V = spd(rng, d), np.linalg.qr(rng.standard_normal((d, d)))[0]
    W, theta = top_directions(spd(rng, d), V, A @ V)
    np.testing.assert_allclose((W * theta) @ W.T, A, atol=1e-12)


def test_an_invariant_subspace_stays_where_it_is():
    rng = np.random.default_rng(0)
    A = spd(rng, 12)
    V = np.linalg.eigh(A)[1][:, -4:]
    W, _ = top_directions(0.01 * spd(rng, 12), V, A @ V)
    assert subspace_error(W, V) < 1e-12


# ---- what the part says of a subspace ------------------------------------------------------------


def learned(X, k=3, *, center=True, copies=1, rows=as_source, most_features=700):
    """All rows so many times over, the part of the first of them, and what settled on it."""
    rng, part = np.random.default_rng(0), part_of(X, center=center, in_span=False)
    best, _, _ = find_start(part, 600, RankRule(k), rng)
    options = Options(RankRule(k), None, center, None, 1e-6, 50)
    begin = State(best.keep / part.votes, Leverage(np.zeros(len(best.keep))))
    found = begin_passes(settle_on_part(part, begin, best.choice, options, ROUGHLY))
    with tuned(most_features=most_features):
        source, ones = rows(np.tile(X, (copies, 1))), np.ones(copies * len(X))
        return OfTable.of(source, np.arange(len(X)), part, found, ones), found.state


def turned(state, by):
    """A state with other directions, which are off by about so much."""
    fit, k = state.judged.fit, state.judged.fit.rank
    V = np.hstack([fit.V, state.judged.W])
    V = np.linalg.qr(V + by * np.random.default_rng(1).standard_normal(V.shape))[0]
    now = replace(state.judged, fit=replace(fit, V=V[:, :k]), W=V[:, k:])
    return replace(state, now=now)


def reference(table, state):
    return reference_of(table.part, state, table.total)


def test_limits_are_those_of_the_part_in_the_unit_of_the_table():
    table, state = learned(planted(MANY, 0.3).X[:4000])
    rule, u = state.judged.rule, table.part.unit
    at = reference(table, state).rule
    assert at.cuts == rule.cuts
    assert at.residual.at(4.0) == pytest.approx(u * rule.residual.at(4.0))
    np.testing.assert_allclose(at.along.scale, u * rule.along.scale)


@pytest.mark.parametrize(("longer", "wide"), [(1.0, True), (1.5, False), (10.0, True)])
def test_limits_are_wide_unless_some_rows_are_neither_near_nor_far(longer, wide):
    X, basis, _, _ = planted(MANY, 0.0)
    X = X[:4000].copy()
    C = X - X.mean(axis=0)
    off = C - (C @ basis) @ basis.T
    X[::30] += (longer - 1) * off[::30]
    at = reference(*learned(X))
    assert (at.rule.cuts.residual == tuning().farthest) is wide


def test_the_reference_says_how_the_rows_of_the_part_spread():
    X = planted(MANY, 0.3).X[:2000]
    at = reference(*learned(X))
    rows = X - at.mean
    off = np.linalg.norm(rows - (rows @ at.V[:, :3]) @ at.V[:, :3].T, axis=1)
    spread = Spread.of(off, np.ones(2000))
    # Leverages of thousands of rows change their residuals by a thousandth or so.
    assert at.rule.residual.at(0.0) == pytest.approx(spread.at(0.0), rel=0.02)
    assert at.rule.residual.at(3.0) == pytest.approx(spread.at(3.0), rel=0.05)
    # Along the next directions there is noise, and no more of it than anywhere.
    assert at.rule.along.center.shape == at.rule.along.scale.shape == (tuning().n_next,)
    assert np.all(np.abs(at.rule.along.center) < at.rule.along.scale)
    assert np.all(at.rule.along.scale < 2 * NOISE[MANY])


# ---- what follows from a pass --------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("rows", [as_source, lambda X: as_source(sp.csr_array(X))])
def test_more_passes_find_the_directions_of_the_rows_with_the_weights_they_have(center, rows):
    # Without a Gram matrix of the part, as of more features.
    X = planted(MANY, 0.3).X[:1000]
    table, state = learned(X, center=center, rows=rows, most_features=1)
    with tuned(below_chance=1e-7):
        found = table.subspace(turned(state, 0.05))
    C = (X - found.seen.counts @ X / np.sum(found.seen.counts)) if center else X
    s, Vt = np.linalg.svd(C * np.sqrt(found.seen.counts)[:, None])[1:]
    assert subspace_error(found.fit.V, Vt[:3].T) < 1e-6
    variances = s[:3] ** 2 / np.sum(found.seen.counts) / table.part.unit**2
    np.testing.assert_allclose(found.fit.variances, variances, rtol=1e-9)


@pytest.mark.parametrize("center", [True, False])
def test_where_the_part_is_all_rows_a_pass_is_pca_of_the_good_ones(center):
    # Nothing stands in for anything: the part's Gram matrix is that of the rows.
    X, k = planted(MANY, 0.3).X[:2000], 3 if center else 4  # the mean is a direction too
    table, state = learned(X, k, center=center)
    found = table.subspace(state)
    keep = found.seen.keep
    mean = keep @ X / np.sum(keep) if center else np.zeros(40)
    C = (X - mean) * np.sqrt(keep)[:, None]
    Vt = np.linalg.svd(C, full_matrices=False)[2]
    np.testing.assert_allclose(
        found.fit.mean, (mean - (table.part.origin if center else 0.0)) / table.part.unit, atol=1e-9
    )
    assert subspace_error(found.fit.V, Vt[:k].T) < 1e-6
    assert found.inside is not None


@pytest.mark.parametrize("copies", [1, 3])
def test_where_all_rows_are_like_the_part_a_pass_is_pca_from_any_subspace_near(copies):
    # The part's Gram matrix stands in for that of so many times as many rows.
    X = planted(MANY, 0.0).X[:2000]
    table, state = learned(X, copies=copies)
    state = turned(state, 0.005)
    rule = replace(state.judged.rule, cuts=Cutoffs())  # none is far off
    found = table.subspace(replace(state, now=replace(state.judged, rule=rule)))
    assert np.all(found.seen.keep == 1)
    assert subspace_error(found.fit.V, state.judged.fit.V) > 0.02
    assert subspace_error(found.fit.V, PCA(3).fit(X).components_.T) < 1e-6


# ---- a table learned whole and the same in passes ------------------------------------------------


def whole_and_in_passes(X, k=3, **options):
    """The table fitted with all rows in memory, and with three hundred of them."""
    fit = {name: options.pop(name) for name in ("sample_weight", "leave_out") if name in options}
    whole = OutlierRobustPCA(k, random_state=0, **options).fit(X, **fit)
    with small_parts():
        passed = OutlierRobustPCA(k, random_state=0, **options).fit(X, **fit)
    assert whole.route_ in ("rows", "span")
    assert passed.route_ in ("passes", "exact")
    return whole, passed


def apart(model, other):
    return subspace_error(*(to_numpy(m.components_).T.astype(float) for m in (model, other)))


def table(seed=0, n=1500, d=12, fraction=0.3, family="e", noise=0.05):
    return make_outlier_subspace(
        n, d, 3, fraction, outliers=family, noise=noise, mean=1.0, random_state=seed
    )


def chance(made):
    """Error of PCA of the good rows."""
    good = PCA(3).fit(made.X[~made.outliers]).components_
    return subspace_error(good.T, made.basis)


@pytest.mark.parametrize("family", "abcde")
@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": True}])
def test_passes_come_to_what_all_rows_in_memory_do(family, options):
    made = table(family=family)
    k = 3 if options.get("center", True) else 4  # the mean is a direction too
    whole, passed = whole_and_in_passes(made.X, k, **options)
    assert apart(whole, passed) < 0.3 * chance(made)
    # Three hundred rows say where good ones end; those of family d are just beyond.
    assert np.mean(whole.predict(made.X) != passed.predict(made.X)) < 0.04
    np.testing.assert_allclose(passed.explained_variance_, whole.explained_variance_, rtol=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_clean_rows_in_passes_give_pca(seed):
    made = table(seed, fraction=0.0)
    _, passed = whole_and_in_passes(made.X)
    lost = np.mean(passed.weights_ < 1)
    assert lost < 0.005
    plain = PCA(3, svd_solver="full").fit(made.X, None)
    assert apart(passed, plain) < (1e-6 if lost == 0 else 0.2 * chance(made))


def test_weights_in_passes_are_counts():
    made = table()
    counts = np.random.default_rng(0).integers(0, 4, len(made.X)).astype(float)
    whole, passed = whole_and_in_passes(made.X, sample_weight=counts)
    assert apart(whole, passed) < 0.3 * chance(made)
    np.testing.assert_allclose(passed.singular_values_, whole.singular_values_, rtol=0.02)
    assert np.all(passed.weights_[counts == 0] == 0)
    other = make_outlier_subspace(1500, 12, 3, 0, noise=0.05, random_state=9).X
    X = np.where(counts[:, None] == 0, other, made.X)
    with small_parts():
        again = OutlierRobustPCA(3, random_state=0).fit(X, sample_weight=counts)
    np.testing.assert_allclose(again.components_, passed.components_, atol=1e-8)


def test_rows_without_noise_in_passes_are_recovered():
    made = table(noise=0.0)
    whole, passed = whole_and_in_passes(made.X)
    assert passed.route_ == "exact"
    assert subspace_error(passed.components_.T, made.basis) < 1e-12
    assert apart(whole, passed) < 1e-12
    np.testing.assert_array_equal(passed.support_, ~made.outliers)
    np.testing.assert_array_equal(passed.orthogonal_distances_ == 0, ~made.outliers)


def test_long_rows_in_passes():
    # Those that are learned from are brought into a basis of their span.
    made = table(n=2000, d=1700, fraction=0.2, noise=0.001)
    model = OutlierRobustPCA(3, random_state=0).fit(made.X)
    assert model.route_ == "passes"
    assert subspace_error(model.components_.T, made.basis) < 1.05 * chance(made)
    assert np.mean(model.predict(made.X)[made.outliers] == -1) > 0.97


@pytest.mark.parametrize("size", [1e60, 1e160, 1e300])
def test_rows_too_long_to_square_in_passes(size):
    made = table()
    X = made.X.copy()
    wild = np.flatnonzero(made.outliers)[::7]
    X[wild] *= size / np.max(np.abs(X[wild]))
    _, expected = whole_and_in_passes(made.X)
    with small_parts():
        model = OutlierRobustPCA(3, random_state=0).fit(X)
    assert model.route_ == "passes"
    assert apart(model, expected) < 0.3 * chance(made)
    assert np.all(model.predict(X)[wild] == -1)


@pytest.mark.parametrize("power", [-600, -100, 100, 600])
def test_a_power_of_two_in_passes_changes_nothing(power):
    # The squares of the largest and the smallest of these numbers are beyond every float.
    X = table().X
    with small_parts():
        expected = OutlierRobustPCA(3, random_state=0).fit(X)
        model = OutlierRobustPCA(3, random_state=0).fit(2.0**power * X)
    assert apart(model, expected) < 1e-10
    np.testing.assert_array_equal(model.outlier_type_, expected.outlier_type_)


KINDS = {
    "Fortran order": np.asfortranarray,
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
    "Dask": lambda X: pytest.importorskip("dask.array").from_array(X, chunks=(301, -1)),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_kinds_of_rows_in_passes_come_to_the_same(kind):
    X = table().X
    with small_parts():
        model, expected = (OutlierRobustPCA(3, random_state=0).fit(rows) for rows in (kind(X), X))
    assert expected.route_ == model.route_ == "passes"
    assert apart(model, expected) < 1e-8
    np.testing.assert_array_equal(to_numpy(model.outlier_type_), expected.outlier_type_)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_single_precision_in_passes_has_its_digits(kind):
    X = table().X
    with small_parts():
        expected = OutlierRobustPCA(3, random_state=0).fit(X)
        model = OutlierRobustPCA(3, random_state=0).fit(kind(X.astype(np.float32)))
    assert model.components_.dtype == np.float32
    assert apart(model, expected) < 5e-5
    assert np.mean(model.support_ != expected.support_) < 2e-3


def test_the_part_is_drawn_from_rows_of_weight_and_only_held_once():
    X = table().X
    weights = np.where(np.arange(len(X)) % 3 == 0, 0.0, 1.0)
    source = as_source(X)
    part = draw_part(source, source.magnitudes(), weights, np.random.default_rng(0), center=True)
    assert np.all(weights[part.first] > 0)
    assert len(np.unique(part.first)) == len(part.first) == np.count_nonzero(weights)
