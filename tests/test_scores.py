"""Rows that are not scored again: the same sets as if every row were, and few rows looked at."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from torpca import torp, torp_bin, torp_g
from torpca._core import moments, scores
from torpca._core.problem import open_problem
from torpca._core.subspace import Fit, SubspaceFinder
from torpca._core.threshold import largest, least_of_largest
from torpca._sources import as_source
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

FAMILIES = ("isotropic", "line", "cluster", "small", "mixed")
EVERY_ROW, SPARING = 10**18, 2**10


def data(seed=0, n=3000, d=40, share=0.04, family="mixed", noise=0.01, **options):
    return make_outlier_subspace(
        n, d, 3, share, outliers=family, noise=noise, random_state=seed, **options
    )


def problem_over(X, center=False, rank=3):
    return open_problem(X, rank, center, None)


@pytest.fixture
def sparing(monkeypatch):
    """Rows of tables of any size are spared; room for all the directions asked for."""
    monkeypatch.setattr(scores, "SMALL", SPARING)
    monkeypatch.setattr(scores, "ROOM", 1.0)


def exact_scores(fit):
    """E and R of every row with ties at zero, by their definitions."""
    E, R = fit.scores()
    return E, np.where(fit.rounding(E, R) >= R, 0.0, R)


# The algorithms


def both_ways(monkeypatch, algorithm, X, **options):
    """(result, records) with every row scored in every iteration, then with rows spared."""
    for small in (EVERY_ROW, SPARING):
        monkeypatch.setattr(scores, "SMALL", small)
        monkeypatch.setattr(scores, "ROOM", 1.0)
        seen = []
        yield algorithm(X, 3, callback=seen.append, **options), seen


def assert_same(one, other):
    (a, seen), (b, again) = one, other
    assert len(seen) == len(again) == a.n_iter
    for record, repeated in zip(seen, again, strict=True):
        assert_array_equal(record.support, repeated.support)
        assert repeated.objective == pytest.approx(record.objective, rel=1e-9)
        assert repeated.subspace_change == pytest.approx(record.subspace_change, abs=1e-9)
    assert a.components.shape == b.components.shape
    assert subspace_error(a.components.T, b.components.T) < 1e-12
    assert_allclose(a.singular_values, b.singular_values, rtol=1e-12)
    assert a.converged == b.converged
    assert a.ranks_tried == b.ranks_tried


@pytest.mark.parametrize("center", [False, True], ids=["as is", "centred"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_sets_are_those_of_scoring_every_row(monkeypatch, seed, family, center):
    X, _, _, mu = data(seed, family=family, mean=2.0 if center else 0.0)
    assert_same(*both_ways(monkeypatch, torp, X, rho=0.05, center=center))
    assert_same(*both_ways(monkeypatch, torp_bin, X, rho=0.05, mu=mu, center=center))
    assert_same(*both_ways(monkeypatch, torp_g, X, mu=mu, sigma=0.01, center=center))


@pytest.mark.parametrize("noise", [0.3, 1e-6, 1e-12, 0.0])
@pytest.mark.parametrize("family", ["isotropic", "mixed"])
def test_sets_at_any_noise(monkeypatch, family, noise):
    X = data(1, family=family, noise=noise).X
    assert_same(*both_ways(monkeypatch, torp, X, rho=0.05))


@pytest.mark.parametrize("scale", [1e-160, 1e-30, 1e30, 1e160])
def test_sets_at_any_size(monkeypatch, scale):
    X = data(2).X * scale
    assert_same(*both_ways(monkeypatch, torp, X, rho=0.05))


def test_sets_chosen_by_grid(monkeypatch):
    X = data(3).X
    one, other = both_ways(monkeypatch, torp, X)
    assert_same(one, other)
    for before, after in zip(one[0].grid, other[0].grid, strict=True):
        assert before == pytest.approx(after, rel=1e-9)


def test_of_equal_rows_as_many_go(monkeypatch):
    X = np.repeat(data(4, n=600).X, 5, axis=0)
    (a, seen), (b, again) = both_ways(monkeypatch, torp, X, rho=0.051)

    def kept(record):
        return np.sum(record.support.reshape(-1, 5), axis=1)

    # A product may round equal rows unequally, by where they stand. Then any of them may go, and an
    # iteration may exchange one for another and do nothing else.
    for record, repeated in zip(seen, again, strict=False):
        assert_array_equal(kept(record), kept(repeated))
    assert abs(a.n_iter - b.n_iter) <= 1
    assert subspace_error(a.components.T, b.components.T) < 1e-12
    assert_allclose(a.singular_values, b.singular_values, rtol=1e-12)
    assert a.converged
    assert b.converged
    assert np.any(kept(b) % 5)  # a group was cut


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, "dask", "torch", np.float32])
@pytest.mark.parametrize("center", [False, True], ids=["as is", "centred"])
def test_sets_of_rows_of_any_kind(monkeypatch, kind, center):
    X = data(5, d=24).X
    if kind == "dask":
        X = pytest.importorskip("dask.array").from_array(X, chunks=(700, -1))
    elif kind == "torch":
        X = pytest.importorskip("torch").asarray(X)
    else:
        X = X.astype(kind) if kind is np.float32 else kind(np.where(np.abs(X) > 0.3, X, 0.0))
    one, other = both_ways(monkeypatch, torp, X, rho=0.05, center=center)
    for record, repeated in zip(one[1], other[1], strict=True):
        assert_array_equal(np.asarray(record.support), np.asarray(repeated.support))


# How few rows are looked at


def test_few_rows_are_looked_at(monkeypatch, sparing):
    X = data(0, n=20_000).X
    looked_at, passes = [], []
    look, cast = Fit.scores, scores.cast_shadow

    def counting_look(self, rows=None):
        looked_at.append(len(X) if rows is None else len(rows))
        return look(self, rows)

    def counting_cast(*args):
        passes.append(1)
        return cast(*args)

    monkeypatch.setattr(Fit, "scores", counting_look)
    monkeypatch.setattr(scores, "cast_shadow", counting_cast)
    found = torp(X, 3, rho=0.05)
    assert found.n_iter >= 5
    assert len(passes) <= 2
    assert sum(looked_at) < 0.5 * len(X)


def test_noiseless_rows_are_all_looked_at(sparing):
    problem = problem_over(data(noise=0.0, share=0.0).X)
    keep = np.ones(problem.n, dtype=bool)
    for _ in range(3):
        fit = problem.finder.find(keep, 3)
        found = problem.scorer.of(fit, keep)
        out = found.largest_residuals(300)
        assert_array_equal(out, largest(exact_scores(fit)[1], 300))
        keep = keep & ~out
    assert problem.scorer.hopeless == {3}
    assert not found.spared


def test_no_shadow_without_room(monkeypatch):
    monkeypatch.setattr(scores, "SMALL", SPARING)
    keep = np.ones(3000, dtype=bool)
    for d, rank, room in ((200, 2, 6), (150, 2, 6), (100, 2, 4), (50, 2, 3), (40, 2, 1)):
        problem = problem_over(data(d=d).X, rank=rank)
        assert problem.scorer.room == room  # a twentyfifth of d, at least rank + 1, or nothing
        assert problem.scorer.of(problem.finder.find(keep, 2), keep).spared == (room > 1)


# Bounds


def turned(fit, angle, rng, *, move=0.0):
    """The fit with its subspace turned by `angle`, other scales and another mean."""
    d, k = fit.V.shape
    beside = rng.standard_normal((d, k))
    beside = np.linalg.qr(beside - fit.V @ (fit.V.T @ beside))[0]
    mean = None if fit.mean is None else fit.mean + move * rng.standard_normal(d)
    V = np.cos(angle) * fit.V + np.sin(angle) * beside
    return Fit(mean, V, fit.s * rng.uniform(0.5, 2, k), fit.frame, fit.eps, fit.blur)


@pytest.mark.parametrize("center", [False, True], ids=["as is", "centred"])
@pytest.mark.parametrize("noise", [1.0, 0.01, 1e-6, 0.0])
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.5])
def test_bounds_hold(sparing, angle, noise, center):
    rng = np.random.default_rng(0)
    X = data(6, noise=noise, mean=3.0 if center else 0.0).X
    problem = problem_over(X, center)
    keep = np.ones(problem.n, dtype=bool)
    fit = problem.finder.find(keep, 3)
    shadow = problem.scorer.cast(fit, keep)
    for move in (0.0, 0.1):
        other = turned(fit, angle, rng, move=move)
        E, R = exact_scores(other)
        low_E, high_E, low_R, high_R = scores.square_bounds(shadow, other, problem.n, None)
        assert np.all(low_E <= E**2)
        assert np.all(high_E >= E**2)
        assert np.all(low_R <= R**2)
        assert np.all(high_R >= R**2)


def test_bounds_are_narrow(sparing):
    """Those of a turned subspace by no more than the angle, those of a shown one by rounding."""
    problem = problem_over(data(7, family="small").X)
    keep = np.ones(problem.n, dtype=bool)
    fit = problem.finder.find(keep, 3)
    shadow = problem.scorer.cast(fit, keep)
    for angle in (0.0, 1e-6, 1e-3):
        other = turned(fit, angle, np.random.default_rng(1))
        low_E, high_E, low_R, high_R = scores.square_bounds(shadow, other, problem.n, None)
        E, R = other.scores()
        assert np.median((high_E - low_E) / E**2) < 5 * angle + 1e-11
        # A residual is a hundred times smaller than its row, its square ten thousand times.
        assert np.median((high_R - low_R) / R**2) < 100 * angle + 1e-8


def test_bounds_that_are_too_narrow_would_show(monkeypatch, sparing):
    """The comparison above can fail: without what the shadow does not show, sets differ."""
    bounds = scores.square_bounds

    def blind(shadow, fit, n_kept, out):
        low_E, high_E, low_R, high_R = bounds(shadow, fit, n_kept, out)
        for low, high in ((low_E, high_E), (low_R, high_R)):
            low[:] = high[:] = (low + high) / 2
        return np.stack([low_E, high_E, low_R, high_R])

    X = data(8, n=20_000).X
    one = torp(X, 3, rho=0.05)
    monkeypatch.setattr(scores, "square_bounds", blind)
    other = torp(X, 3, rho=0.05)
    assert np.any(one.support != other.support)


def test_incoherent_rows_are_those_at_the_limit_or_beyond(sparing):
    problem = problem_over(data(9).X)
    keep = np.ones(problem.n, dtype=bool)
    fit = problem.finder.find(keep, 3)
    problem.scorer.cast(fit, keep)
    other = turned(fit, 0.01, np.random.default_rng(2))
    E, _ = other.scores()
    for limit in (0.0, np.median(E), E[17], np.max(E), 2 * np.max(E), np.inf):
        found = problem.scorer.of(other, keep).incoherent(limit)
        # A row at the limit to the last digit may be summed in another order.
        clear = np.abs(E - limit) > 1e-12 * limit if limit < np.inf else np.ones(len(E), bool)
        assert_array_equal(found[clear], (limit <= E)[clear])


@pytest.mark.parametrize("count", [0, 1, 100, 2999, 3000])
def test_any_number_of_largest_rows(sparing, count):
    problem = problem_over(data(10).X)
    keep = np.ones(problem.n, dtype=bool)
    fit = problem.finder.find(keep, 3)
    E, R = exact_scores(fit)
    for _ in range(2):  # the second time from a hint
        found = problem.scorer.of(fit, keep)
        assert_array_equal(found.largest_residuals(count), largest(R, count))
        assert_array_equal(found.largest_incoherences(count), largest(E, count))


def test_a_wrong_hint_does_no_harm():
    values = np.random.default_rng(0).random(100)
    for hint in (-1.0, 0.5, 2.0):
        assert least_of_largest(values, 30, hint) == np.sort(values)[-30]


# Several fits in one pass


@pytest.mark.parametrize("center", [False, True], ids=["as is", "centred"])
@pytest.mark.parametrize("noise", [0.01, 1e-9, 0.0])
def test_scores_of_several_fits(noise, center):
    X = data(11, noise=noise, mean=5.0 if center else 0.0).X
    problem = problem_over(X, center)
    keeps = [np.arange(problem.n) % 7 != i for i in range(3)]
    fits = [problem.finder.find(keep, 3) for keep in keeps]
    found = list(problem.scorer.of_each(fits))
    assert len(found) == 3
    for fit, (E, R) in zip(fits, found, strict=True):
        E_wanted, R_wanted = fit.scores()
        size = np.linalg.norm(X, axis=1) + 5 * np.sqrt(40)
        assert_allclose(E, E_wanted, rtol=1e-9)
        assert np.all(np.abs(R - R_wanted) <= 1e-9 * R_wanted + 1e-14 * size)


# Sums


def test_long_rows_take_their_rounding_with_them(monkeypatch):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((2000, 10)) * np.arange(10, 0, -1)
    X[:40] *= 1e6
    source = as_source(X)
    finder = SubspaceFinder(source, source.magnitudes(), False)
    counted, gram = [], source.gram
    monkeypatch.setattr(source, "gram", lambda keep: counted.append(keep.sum()) or gram(keep))
    keep = np.ones(2000, dtype=bool)
    finder.find(keep, 3)
    assert sorted(counted) == [40, 1960]
    counted.clear()
    keep = np.arange(2000) >= 50  # the long rows leave, and ten others
    fit = finder.find(keep, 3)
    assert max(counted) <= 40
    _, s, Vt = np.linalg.svd(X[50:], full_matrices=False)
    assert_allclose(fit.s, s[:3], rtol=1e-13)
    assert subspace_error(fit.V, Vt[:3].T) < 1e-12


def test_sums_are_remembered_where_there_is_room(monkeypatch):
    monkeypatch.setattr(moments, "REMEMBERED", 0.0)
    X = np.random.default_rng(13).standard_normal((2000, 10))
    finder = SubspaceFinder(as_source(X), np.max(np.abs(X), axis=1), False)
    for first in (0, 70, 0, 140):
        keep = np.arange(2000) >= first
        assert_allclose(finder.moments(keep)[1], X[keep].T @ X[keep], atol=1e-9)
    assert finder._moments.parts[0].others == []


@pytest.mark.parametrize("center", [False, True], ids=["as is", "centred"])
def test_a_gram_matrix_that_is_sharp_needs_no_polish(monkeypatch, center):
    X = data(14, share=0.0).X
    problem = problem_over(X, center)
    monkeypatch.setattr("torpca._core.subspace.polished", None)  # not called
    keep = np.ones(problem.n, dtype=bool)
    fit = problem.finder.find(keep, 3, polish=True)
    _, s, Vt = np.linalg.svd(X - X.mean(axis=0) if center else X, full_matrices=False)
    assert subspace_error(fit.V, Vt[:3].T) < 1e-13
    assert_allclose(fit.s, s[:3], rtol=1e-13)


def test_rows_in_a_subspace_are_polished(monkeypatch):
    problem = problem_over(data(15, share=0.0, noise=0.0).X)
    called = []
    polished = SubspaceFinder._resolve
    monkeypatch.setattr(
        SubspaceFinder,
        "_resolve",
        lambda self, *args: called.append(args[-1]) or polished(self, *args),
    )
    problem.finder.find(np.ones(problem.n, dtype=bool), 3, polish=True)
    assert called == [True]
