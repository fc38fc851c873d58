"""One pass over all rows: what it computes, what is known before it and what follows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests._shared import MANY, NOISE, planted
from torpca import as_source
from torpca._core.measure import product
from torpca._core.stand_in import top_directions
from torpca._options import Options
from torpca._robust.large import (
    Judge,
    expanded_directions,
    in_axes_of,
    inside_of,
)
from torpca._robust.passes import distances, look
from torpca._robust.settle import settle_on_all
from torpca._select.rank import RankRule
from torpca._stats.precision import Precision
from torpca._stats.rule import Cutoffs
from torpca._stats.scatter import FAR_OUT, consistency
from torpca._stats.spread import Spread
from torpca._tuning import tuning
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

NONE_YET = Cutoffs()

# ---- a pass ------------------------------------------------------------------------------------


def falls(z, none):
    full = 0.8 * none
    t = np.clip((z - full) / (none - full), 0, 1)
    return 1 - 3 * t**2 + 2 * t**3


def z_of(distance, spread):
    return (np.cbrt((distance / spread.unit) ** 2) - spread.location) / spread.scale


def looked_at(X, at, before, counts):
    """What `look` returns, from the formulas, with all rows at hand."""
    k = len(at.s)
    C = X - at.mean
    Y = C @ at.V
    off = np.linalg.norm(C - Y[:, :k] @ at.V[:, :k].T, axis=1)
    h = np.sum((Y[:, :k] / at.s) ** 2, axis=1)
    R = off / np.sqrt(np.maximum(1 - before * h, 1e-3) * (1 + (1 - before) * h))
    rule = at.rule
    far = np.max(np.abs(Y[:, k:] - rule.along.center) / rule.along.scale, axis=1, initial=0.0)
    keep = falls(z_of(R, rule.residual), rule.cuts.residual) * falls(far, rule.cuts.along)
    y = Y[:, :k] - at.inside.center
    out = np.sqrt(np.sum(y * np.linalg.solve(at.inside.shrink * at.inside.covariance, y.T).T, 1))
    z = z_of(out, at.inside.spread)
    if np.isfinite(rule.cuts.inside):
        keep = keep * falls(z, rule.cuts.inside)
    part = counts * keep
    u = part * falls(z, FAR_OUT)
    if at.law is not None:
        least = at.law.shape - 1
        part = part * least / (least + at.law.freedom / 2 * (R / at.law.size) ** 2)
    mean = part @ X / np.sum(part) if at.centered else at.mean
    centred = X - mean
    return {
        "keep": np.where(counts > 0, keep, 0.0),
        "part": part,
        "weight": np.sum(part),
        "left_over": np.sum(part * off**2),
        "mean": mean,
        "AV": centred.T @ (part[:, None] * (centred @ at.V)),
        "scores": (np.sum(u), u @ Y[:, :k], (Y[:, :k] * u[:, None]).T @ Y[:, :k]),
    }


def frozen(X, k, *, centered, inside_cut=np.inf, law=None, seed=0, turned=0.0):
    """A subspace near that of most rows, and what the first half of the rows says of it."""
    rng = np.random.default_rng(seed)
    half = X[: len(X) // 2]
    mean = np.median(half, axis=0) if centered else np.zeros(X.shape[1])
    near = np.linalg.norm(half - mean, axis=1)
    near = near <= np.quantile(near, 0.6)
    _, s, Vt = np.linalg.svd(half[near] - mean, full_matrices=False)
    V = Vt[: k + 3].T + turned * rng.standard_normal((X.shape[1], min(k + 3, X.shape[1])))
    V = np.linalg.qr(V)[0]
    judge = Judge(as_source(half), np.ones(len(half)), NONE_YET, inside_cut, law, centered, rng)
    # As if there were twenty times as many rows, of which those near the middle have no leverage.
    near = near.astype(float)
    inside = judge.inside((half - mean) @ V[:, :k], near)
    return judge.freeze(mean, V, 4.5 * s[:k], near, inside)


# Distances inside that have no say, and that have; one level of noise, and several.
CUTS = (np.inf, 3.0)
LAWS = (None, Precision(shape=3.0, freedom=20.0, size=0.1))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(CUTS),
    st.sampled_from(LAWS),
    st.sampled_from(["a", "c", "e"]),
    st.sampled_from([0.0, 0.05]),
    st.booleans(),
)
def test_a_pass_computes_what_the_formulas_say(
    seed, exact, centered, counted, cut, law, family, turned, sparse
):
    rng = np.random.default_rng(seed)
    made = make_outlier_subspace(400, 20, 2, 0.2, outliers=family, noise=0.02, random_state=seed)
    X = made.X + centered * rng.standard_normal(20)
    X[::50] += 20 * made.basis[:, 0]  # a few rows of much leverage
    at = frozen(X, 2, centered=centered, inside_cut=cut, law=law, seed=seed, turned=turned)
    assume(at.inside is not None)  # of few rows, most may be one cluster; no pass is made then
    before = rng.choice([0.0, 0.4, 1.0], 400)
    counts = rng.choice([0.0, 1.0, 2.5], 400) if counted else None
    rows = sp.csr_array(X) if sparse else X
    found = look(as_source(rows), at, before, counts, exact=exact, single=sparse)
    expected = looked_at(X, at, before, np.ones(400) if counts is None else counts)
    for name, value in expected.items():
        pairs = zip(getattr(found, name), value, strict=True) if name == "scores" else None
        for a, b in pairs or [(getattr(found, name), value)]:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * np.max(np.abs(b)))


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("block_rows", [1, 37, 400])
def test_a_pass_does_not_depend_on_blocks(centered, block_rows):
    X = planted(MANY, 0.3).X[:400]
    at = frozen(X, 3, centered=centered)
    found = look(
        as_source(X, block_rows=block_rows), at, np.ones(400), None, exact=False, single=True
    )
    whole = look(as_source(X), at, np.ones(400), None, exact=False, single=True)
    np.testing.assert_allclose(found.keep, whole.keep, atol=1e-10)
    np.testing.assert_allclose(found.AV, whole.AV, atol=1e-12 * np.max(np.abs(whole.AV)))


@pytest.mark.parametrize("cut", CUTS)
def test_a_pass_in_single_precision_has_its_digits(cut):
    X = planted(MANY, 0.3).X[:2000].astype(np.float32)
    at = frozen(X.astype(np.float64), 3, centered=True, inside_cut=cut)
    found = look(as_source(X), at, np.ones(2000), None, exact=False, single=True)
    expected = looked_at(X.astype(np.float64), at, np.ones(2000), np.ones(2000))
    np.testing.assert_allclose(found.keep, expected["keep"], atol=0.01)
    np.testing.assert_allclose(found.AV, expected["AV"], atol=1e-4 * np.max(expected["AV"]))


def test_rows_far_beyond_squares_that_have_no_weight_change_nothing():
    X = planted(MANY, 0.0).X[:400].copy()
    part = np.ones(400)
    part[[3, 17]] = 0.0
    expected = product(
        as_source(X), np.zeros(40), part, np.eye(40)[:, :5], centered=False, single=False
    )
    X[3], X[17] = 1e200, 1.7e308
    found = product(
        as_source(X), np.zeros(40), part, np.eye(40)[:, :5], centered=False, single=False
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 12))
def test_product_is_that_of_the_weighted_gram_matrix(seed, centered, p):
    rng = np.random.default_rng(seed)
    X, part = rng.standard_normal((150, 12)) + 3, rng.choice([0.0, 0.3, 1.0, 2.0], 150)
    V = np.linalg.qr(rng.standard_normal((12, p)))[0]
    mean = part @ X / np.sum(part) if centered else np.zeros(12)
    expected = (X - mean).T @ (part[:, None] * ((X - mean) @ V))
    for rows in (X, sp.csr_array(X)):
        found = product(as_source(rows), mean, part, V, centered=centered, single=False)
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_distances_are_those_of_the_formulas(exact, centered):
    X = planted(MANY, 0.3, "e").X[:1000]
    at = frozen(X, 3, centered=centered)
    score, orthogonal = distances(as_source(X), at, exact=exact)
    Y = (X - at.mean) @ at.V[:, :3]
    y = Y - at.inside.center
    squares = np.sum(y * np.linalg.solve(at.inside.covariance, y.T).T, axis=1)
    np.testing.assert_allclose(score, np.sqrt(squares), rtol=1e-9)
    off = np.linalg.norm(X - at.mean - Y @ at.V[:, :3].T, axis=1)
    np.testing.assert_allclose(orthogonal, off, rtol=1e-6)


# ---- what is known before a pass ---------------------------------------------------------------


@pytest.mark.parametrize(("longer", "wide"), [(1.0, True), (1.5, False), (10.0, True)])
def test_limits_are_wide_unless_some_rows_are_neither_near_nor_far(longer, wide):
    X, basis, _, _ = planted(MANY, 0.0)
    X = X[:4000].copy()
    C = X - X.mean(axis=0)
    off = C - (C @ basis) @ basis.T
    X[::30] += (longer - 1) * off[::30]
    at = frozen(X, 3, centered=True)
    assert (at.rule.cuts.residual == tuning().farthest) is wide


def test_what_is_frozen_is_the_spread_of_the_rows_of_the_part():
    X = planted(MANY, 0.3).X[:2000]
    at = frozen(X, 3, centered=True)
    rows = X[:1000] - at.mean
    off = np.linalg.norm(rows - (rows @ at.V[:, :3]) @ at.V[:, :3].T, axis=1)
    spread = Spread.of(off, np.ones(1000))
    # Leverages of a thousand rows change their residuals by a thousandth or so.
    assert at.rule.residual.location == pytest.approx(spread.location, rel=0.02)
    assert at.rule.residual.unit * at.rule.residual.scale == pytest.approx(
        spread.unit * spread.scale, rel=0.1
    )
    assert at.rule.along.center.shape == at.rule.along.scale.shape == (3,)
    # Along the next directions there is noise, and no more of it than anywhere.
    assert np.all(np.abs(at.rule.along.center) < at.rule.along.scale)
    assert np.all(at.rule.along.scale < 2 * NOISE[MANY])


def test_a_scatter_that_is_known_is_kept():
    X = planted(MANY, 0.3).X[:2000]
    at = frozen(X, 3, centered=True)
    inside = replace(at.inside, center=np.array([1.0, 2.0, 3.0]))
    judge = Judge(
        as_source(X), np.ones(2000), NONE_YET, np.inf, None, True, np.random.default_rng(0)
    )
    again = judge.freeze(at.mean, at.V, at.s, np.ones(2000), inside)
    assert again.inside is inside


def test_nothing_is_frozen_where_there_is_nothing_to_say():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 10)) * (
        np.arange(10) < np.where(rng.random(1000) < 0.2, 10, 2)[:, None]
    )
    judge = Judge(as_source(X), np.ones(1000), NONE_YET, np.inf, None, False, rng)
    V, s, keep = np.eye(10)[:, :2], np.array([30.0, 20.0]), np.ones(1000)
    inside = judge.inside(X @ V, keep)
    without_noise = judge.freeze(np.zeros(10), V, s, keep, inside)
    assert without_noise is None
    assert judge.freeze(np.zeros(10), V, np.array([1.0, 0.0]), keep, inside) is None
    assert judge.inside(X[:, :0], keep) is None
    assert judge.inside(X[:, [0, 9]], keep) is None


@pytest.mark.parametrize("centered", [True, False])
def test_the_scatter_inside_is_that_of_the_rows_not_far_out(centered):
    X = planted(MANY, 0.3).X[:1000]
    at = frozen(X, 3, centered=centered)
    now = look(as_source(X), at, np.ones(1000), None, exact=False, single=False)
    inside = inside_of(now, at)
    total, first, second = now.scores
    center = first / total if centered else np.zeros(3)
    np.testing.assert_allclose(inside.center, center)
    # As PCA does: one row's worth of freedom goes into the mean.
    spread = (second / total - np.outer(center, center)) * total / (total - centered)
    np.testing.assert_allclose(inside.covariance, consistency(3) * spread)


def test_the_scatter_inside_is_the_same_in_other_axes():
    rng = np.random.default_rng(0)
    at = frozen(planted(MANY, 0.3).X[:1000], 3, centered=True)
    V = at.V[:, :3]
    W = V @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    mean = at.mean + V @ rng.standard_normal(3)
    turned = in_axes_of(W, mean, at.inside, at)
    np.testing.assert_allclose(mean + W @ turned.center, at.mean + V @ at.inside.center)
    np.testing.assert_allclose(
        W @ turned.covariance @ W.T, V @ at.inside.covariance @ V.T, atol=1e-12
    )


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


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("rows", [as_source, lambda X: as_source(sp.csr_array(X))])
def test_more_passes_find_the_directions_of_the_rows_with_the_weights_they_have(centered, rows):
    X = planted(MANY, 0.3).X[:1000]
    at = frozen(X, 3, centered=centered, turned=0.05)
    now = look(rows(X), at, np.zeros(1000), None, exact=False, single=False)
    V, theta = expanded_directions(rows(X), now, at, lambda theta: 1e-9, False)
    C = (X - now.mean) * np.sqrt(now.part)[:, None]
    s, Vt = np.linalg.svd(C)[1:]
    assert subspace_error(V[:, :3], Vt[:3].T) < 1e-8
    np.testing.assert_allclose(theta[:3], s[:3] ** 2, rtol=1e-9)


def test_what_was_settled_on_the_part_is_what_the_part_says_when_asked_again():
    X = planted(MANY, 0.3).X[:4000]
    source, counts = as_source(X), np.ones(len(X))
    options = Options(RankRule(3), None, True, None, 0.03, 50)
    settled = settle_on_all(source, options, counts, np.random.default_rng(0), polish=False)
    rule = settled.rule
    judge = Judge(source, counts, rule.cuts, np.inf, None, True, np.random.default_rng(0))
    V = np.hstack([settled.fit.V, settled.next_directions])
    again = judge.freeze(settled.fit.mean, V, settled.fit.s, settled.keep, None).rule
    assert again.cuts.residual <= rule.cuts.residual
    assert again.residual.at(4.0) == pytest.approx(rule.residual.at(4.0), rel=0.01)
    np.testing.assert_allclose(again.along.scale, rule.along.scale, rtol=0.02)
