"""What a pass over rows adds up: as the formulas say, and the same however rows are divided."""

import pickle
from dataclasses import fields, replace
from functools import reduce
from operator import add
from tempfile import TemporaryFile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca import as_source
from torpca._core.measure import product
from torpca._robust.measure import Summary, distances, measure
from torpca._robust.reference import Inside, Reference
from torpca._robust.rule import Cutoffs, Rule
from torpca._robust.scatter import consistency
from torpca._robust.spread import Along, Spread
from torpca._robust.tuning import tuning
from torpca.datasets import make_outlier_subspace

SEEDS = st.integers(0, 2**32 - 1)
N, D, K, Q = 400, 20, 2, 3
NAMES = [field.name for field in fields(Summary)]


def table(seed, family="e"):
    """Rows near a plane, a fifth bad, a few of much leverage, and a few off in one direction."""
    rng = np.random.default_rng(seed)
    made = make_outlier_subspace(N, D, K, 0.2, outliers=family, noise=0.02, random_state=seed)
    X = made.X + rng.standard_normal(D)
    X[::50] += 20 * made.basis[:, 0]
    w = rng.standard_normal(D)
    w -= made.basis @ (made.basis.T @ w)
    X[1::20] += 0.1 * w / np.linalg.norm(w)
    return X


def reference(X, *, centered=True, formed=False, single=False, along=4.0, seed=0):
    """A subspace about that of most rows, and limits that some of them are beyond or near."""
    rng = np.random.default_rng(seed)
    mean = np.median(X, axis=0) if centered else np.zeros(D)
    near = np.linalg.norm(X - mean, axis=1)
    near = near <= np.quantile(near, 0.6)
    _, s, Vt = np.linalg.svd(X[near] - mean, full_matrices=False)
    V = np.linalg.qr(Vt[: K + Q].T + 0.02 * rng.standard_normal((D, K + Q)))[0]
    Y = (X - mean) @ V
    off = np.linalg.norm(X - mean - Y[:, :K] @ V[:, :K].T, axis=1)[near]
    inside = Inside(
        np.mean(Y[near, :K], axis=0),
        np.cov(Y[near, :K].T),
        Spread(location=1.2, scale=0.4, unit=1.0),
        shrink=0.9,
    )
    return Reference(
        mean=mean,
        centered=centered,
        V=V,
        # As if there were twenty times as many rows: those near the middle have no leverage.
        s=4.5 * s[:K],
        rule=Rule(
            Spread(location=0.9, scale=0.1, unit=float(np.median(off))),
            Along(np.median(Y[near, K:], axis=0), np.full(Q, 0.027)),
            Cutoffs(residual=5.0, along=along),
        ),
        inside=inside,
        single=single,
        formed=formed,
    )


# ---- the formulas --------------------------------------------------------------------------------


def falls(z, none):
    full = 0.8 * none
    t = np.clip((z - full) / (none - full), 0, 1)
    return 1 - 3 * t**2 + 2 * t**3


def z_of(distance, spread):
    return (np.cbrt((distance / spread.unit) ** 2) - spread.location) / spread.scale


def by_formulas(X, at, before, counts):
    """Weights of the rows, their part in the subspace and all sums, with all rows at hand."""
    k, rule = at.rank, at.rule
    C = X - at.mean
    Y = C @ at.V
    off = np.linalg.norm(C - Y[:, :k] @ at.V[:, :k].T, axis=1)
    h = np.sum((Y[:, :k] / at.s) ** 2, axis=1)
    R = off / np.sqrt(np.maximum(1 - before * h, 1e-3) * (1 + (1 - before) * h))
    near = falls(z_of(R, rule.residual), rule.cuts.residual)
    keep = near.copy()
    if np.isfinite(rule.cuts.along):
        far = np.max(np.abs(Y[:, k:] - rule.along.center) / rule.along.scale, axis=1)
        keep *= falls(far, rule.cuts.along)
    part = counts * keep
    y = Y[:, :k] - at.inside.center
    out = np.sqrt(np.sum(y * np.linalg.solve(at.inside.shrink * at.inside.covariance, y.T).T, 1))
    u = part * falls(z_of(out, at.inside.spread), tuning().far_out)
    Y1 = np.column_stack([Y, np.ones(len(X))])
    inner = np.column_stack([Y[:, :k], np.ones(len(X))])
    sums = Summary(
        squares=part @ off**2,
        moments=part @ Y1,
        products=X.T @ (part[:, None] * Y1),
        far_out=(inner * (part - u)[:, None]).T @ inner,
        n_far=np.sum((near == 0) & (counts > 0)),
        n_kept=np.sum((keep > 0) & (counts > 0)),
    )
    return np.where(counts > 0, keep, 0.0), part, sums


def assert_same_sums(found, expected, tolerance):
    for name in NAMES:
        a, b = getattr(found, name), getattr(expected, name)
        # What rows far out have too much is small beside what all rows have, or nothing.
        size = expected.weight if name == "far_out" else np.max(np.abs(b))
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * size, err_msg=name)


def some_weights(rng):
    return rng.choice([0.0, 0.4, 1.0], N), rng.choice([0.0, 1.0, 2.5], N)


@settings(max_examples=40, deadline=None)
@given(
    SEEDS,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["a", "c", "e"]),
    st.sampled_from([np.inf, 4.0]),
    st.booleans(),
)
def test_a_pass_adds_up_what_the_formulas_say(
    seed, formed, centered, counted, family, along, sparse
):
    X = table(seed, family)
    at = reference(X, centered=centered, formed=formed, along=along, seed=seed)
    before, counts = some_weights(np.random.default_rng(seed))
    rows = as_source(sp.csr_array(X) if sparse else X)
    found = measure(rows, at, before, counts if counted else None)
    keep, part, sums = by_formulas(X, at, before, counts if counted else np.ones(N))
    np.testing.assert_allclose(found.keep, keep, atol=1e-9)
    np.testing.assert_allclose(found.counts, part, atol=1e-9)
    assert_same_sums(found.summary, sums, 1e-9)


def test_the_tables_here_have_rows_of_every_kind():
    X = table(0)
    at = reference(X)
    keep, part, sums = by_formulas(X, at, np.ones(N), np.ones(N))
    assert np.sum((keep > 0) & (keep < 1)) > 5  # some of them near a limit
    assert 10 < sums.n_far < N - sums.n_kept - 5
    assert sums.far_out[-1, -1] > 1
    assert np.sum(part == 1) > N / 4


@pytest.mark.parametrize("centered", [True, False])
def test_sums_tell_mean_gram_matrix_and_scatter(centered):
    X = table(1)
    at = reference(X, centered=centered)
    before, counts = some_weights(np.random.default_rng(0))
    found = measure(as_source(X), at, before, counts).summary
    _, part, _ = by_formulas(X, at, before, counts)
    mean = part @ X / np.sum(part) if centered else np.zeros(D)
    assert found.weight == pytest.approx(np.sum(part))
    np.testing.assert_allclose(found.mean(at), mean, atol=1e-12)
    C = X - mean
    wanted = C.T @ (part[:, None] * (C @ at.V))
    np.testing.assert_allclose(found.gram_times(at), wanted, atol=1e-9 * np.max(wanted))
    # Inside, rows far out in the subspace have no say.
    Y = (X - at.mean) @ at.V[:, :K]
    y = Y - at.inside.center
    out = np.sqrt(np.sum(y * np.linalg.solve(at.inside.shrink * at.inside.covariance, y.T).T, 1))
    u = part * falls(z_of(out, at.inside.spread), tuning().far_out)
    inside = found.inside(at)
    center = u @ Y / np.sum(u) if centered else np.zeros(K)
    spread = ((Y - center) * u[:, None]).T @ (Y - center) / (np.sum(u) - centered)
    np.testing.assert_allclose(inside.center, center, atol=1e-10)
    np.testing.assert_allclose(inside.covariance, consistency(K) * spread, rtol=1e-9)


def test_rows_without_noise_are_in_the_subspace_or_not():
    rng = np.random.default_rng(0)
    X = table(0)
    at = reference(X)
    exact = replace(at, rule=replace(at.rule, residual=Spread(0.0, 0.0, 1.0)))
    on = rng.random(N) < 0.7
    X[on] = at.mean + rng.standard_normal((np.sum(on), K)) @ at.V[:, :K].T
    found = measure(as_source(X), exact, np.ones(N))
    np.testing.assert_array_equal(found.keep, on)
    assert found.summary.n_far == np.sum(~on)
    assert found.summary.squares == pytest.approx(0.0, abs=1e-24)


@pytest.mark.parametrize("size", [1e160, 1e300, np.finfo(float).max])
def test_rows_too_long_to_be_squared_are_far_off_and_change_nothing(size):
    X = table(0)
    at = reference(X)
    long = np.arange(N) % 7 == 0
    without = measure(as_source(X[~long]), at, np.ones(np.sum(~long)))
    X[long] = size
    found = measure(as_source(X), at, np.ones(N))
    np.testing.assert_array_equal(found.keep[long], 0.0)
    gained = replace(without.summary, n_far=without.summary.n_far + np.sum(long))
    assert_same_sums(found.summary, gained, 1e-12)


def test_single_precision_has_its_digits():
    X = table(0).astype(np.float32)
    at = reference(X.astype(float), single=True)
    found = measure(as_source(X), at, np.ones(N))
    keep, _, sums = by_formulas(X.astype(float), at, np.ones(N), np.ones(N))
    np.testing.assert_allclose(found.keep, keep, atol=0.01)
    assert_same_sums(replace(found.summary, n_far=sums.n_far, n_kept=sums.n_kept), sums, 1e-3)


# ---- parts of the rows ---------------------------------------------------------------------------


def memory_map(X):
    with TemporaryFile() as file:  # it lives as long as it is mapped
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, X.dtype, "r", shape=X.shape)


def as_dask(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(37, -1))


KINDS = {
    "NumPy": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "memory map": memory_map,
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
    "Dask": as_dask,
}


@settings(max_examples=40, deadline=None)
@given(
    SEEDS,
    st.lists(st.integers(1, N - 1), max_size=4, unique=True),
    st.lists(st.sampled_from(sorted(KINDS)), min_size=5, max_size=5),
    st.lists(st.integers(1, N), min_size=5, max_size=5),
    st.permutations(range(5)),
    st.booleans(),
    st.booleans(),
)
def test_sums_over_parts_add_up_to_those_over_all(
    seed, cuts, kinds, block_rows, order, formed, counted
):
    X = table(seed)
    at = reference(X, formed=formed, seed=seed)
    before, counts = some_weights(np.random.default_rng(seed))
    counts = counts if counted else None
    whole = measure(as_source(X), at, before, counts)
    pieces = np.split(np.arange(N), sorted(cuts))
    found = []
    for rows, kind, step in zip(pieces, kinds, block_rows, strict=False):
        made = KINDS[kind](X[rows])
        source = as_source(made) if kind == "Dask" else as_source(made, block_rows=step)
        found.append(measure(source, at, before[rows], None if counts is None else counts[rows]))
        np.testing.assert_allclose(found[-1].keep, whole.keep[rows], atol=1e-10)
    total = reduce(add, [found[i].summary for i in order if i < len(found)])
    # Where residuals are differences of squares, kinds of rows round these in ways of their own.
    assert_same_sums(total, whole.summary, 1e-12 if formed else 1e-11)


def test_sums_over_no_rows_of_weight_are_zero():
    X = table(0)
    at = reference(X)
    whole = measure(as_source(X), at, np.ones(N)).summary
    nothing = measure(as_source(X), at, np.ones(N), np.zeros(N)).summary
    assert all(np.all(getattr(nothing, name) == 0) for name in NAMES)
    assert_same_sums(whole + nothing, whole, 1e-15)


def test_reference_and_sums_can_be_sent_elsewhere():
    X = table(0)
    at = reference(X)
    there = pickle.loads(pickle.dumps(at))
    found = measure(as_source(X), at, np.ones(N)).summary
    sent = pickle.loads(pickle.dumps(measure(as_source(X), there, np.ones(N)).summary))
    for name in NAMES:
        np.testing.assert_array_equal(getattr(sent, name), getattr(found, name))
    assert len(pickle.dumps(at)) < 8000  # it has no rows with it
    assert len(pickle.dumps(found)) < 4000


# ---- products and distances ----------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.booleans(), st.integers(1, 12))
def test_product_is_that_of_the_weighted_gram_matrix(seed, centered, p):
    rng = np.random.default_rng(seed)
    X, part = rng.standard_normal((150, 12)) + 3, rng.choice([0.0, 0.3, 1.0, 2.0], 150)
    V = np.linalg.qr(rng.standard_normal((12, p)))[0]
    mean = part @ X / np.sum(part) if centered else np.zeros(12)
    expected = (X - mean).T @ (part[:, None] * ((X - mean) @ V))
    for rows in (X, sp.csr_array(X)):
        found = product(as_source(rows), mean, part, V, centered=centered, single=False)
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_rows_far_beyond_squares_that_have_no_weight_change_no_product():
    X, part = table(0), np.ones(N)
    part[[3, 17]] = 0.0
    V = np.eye(D)[:, :5]
    expected = product(as_source(X), np.zeros(D), part, V, centered=False, single=False)
    X[3], X[17] = 1e200, 1.7e308
    found = product(as_source(X), np.zeros(D), part, V, centered=False, single=False)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("formed", [True, False])
def test_distances_are_those_of_the_formulas(formed, centered):
    X = table(0)
    at = reference(X, centered=centered, formed=formed)
    score, orthogonal = distances(as_source(X), at)
    Y = (X - at.mean) @ at.V[:, :K]
    y = Y - at.inside.center
    squares = np.sum(y * np.linalg.solve(at.inside.covariance, y.T).T, axis=1)
    np.testing.assert_allclose(score, np.sqrt(squares), rtol=1e-9)
    off = np.linalg.norm(X - at.mean - Y @ at.V[:, :K].T, axis=1)
    np.testing.assert_allclose(orthogonal, off, rtol=1e-6)


def test_distances_of_rows_too_long_to_be_squared_are_in_proportion():
    X = table(0)
    at = reference(X)
    far = 1e10 * (X - at.mean)
    score, orthogonal = distances(as_source(at.mean + far), at)
    farther = distances(as_source(at.mean + 1e200 * far), at)
    np.testing.assert_allclose(farther[0], 1e200 * score, rtol=1e-5)
    np.testing.assert_allclose(farther[1], 1e200 * orthogonal, rtol=1e-5)


def test_the_scatter_inside_is_the_same_in_other_axes():
    rng = np.random.default_rng(0)
    at = reference(table(0))
    V = at.V[:, :K]
    turn, moved = np.linalg.qr(rng.standard_normal((K, K)))[0], rng.standard_normal(K)
    W = V @ turn.T
    turned = at.inside.in_axes(turn, moved)
    mean = at.mean + W @ moved
    np.testing.assert_allclose(mean + W @ turned.center, at.mean + V @ at.inside.center)
    np.testing.assert_allclose(
        W @ turned.covariance @ W.T, V @ at.inside.covariance @ V.T, atol=1e-12
    )
