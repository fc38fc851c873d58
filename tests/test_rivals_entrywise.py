"""Rivals for bad entries: what their papers prove, and what whole bad rows do to them."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.test_bad_input import assert_refused
from torpca import torp
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error
from torpca.rivals import _altproj, _rpca_gd
from torpca.rivals._altproj import altproj
from torpca.rivals._entrywise import first_cut
from torpca.rivals._matrix_completion import next_rank, robust_matrix_completion
from torpca.rivals._rpca_gd import largest_entries, rpca_gd
from torpca.rivals._split import Split

SHAPES = [(120, 120), (240, 80), (80, 240)]
THREE = [altproj, rpca_gd, robust_matrix_completion]
TWO = [altproj, robust_matrix_completion]
each = pytest.mark.parametrize("rival", THREE)
each_shape = pytest.mark.parametrize("shape", SHAPES)


def places(shape, share, rng):
    """Mask with the same share of places in every row and every column, otherwise random."""
    n, d = shape
    short, long = min(n, d), max(n, d)
    shifts = rng.permutation(short)[: round(share * short)]
    mask = np.zeros((long, short), dtype=bool)
    for shift in shifts:
        mask[np.arange(long), (np.arange(long) + shift) % short] = True
    mask = mask[rng.permutation(long)][:, rng.permutation(short)]
    return mask if n >= d else mask.T


def planted(shape=(150, 150), rank=3, share=0.05, size=1.0, scales=None, seed=0):
    """Low-rank part, bad places, and the table. Bad entries are up to `size` times the largest."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((shape[0], rank)))[0]
    V = np.linalg.qr(rng.standard_normal((shape[1], rank)))[0]
    L = U * (np.ones(rank) if scales is None else scales) @ V.T
    bad = places(shape, share, rng)
    S = np.where(bad, rng.uniform(-1.0, 1.0, shape) * size * np.abs(L).max(), 0.0)
    return L, bad, L + S


def error(found, L):
    return np.linalg.norm(found.low_rank - L) / np.linalg.norm(L)


def cut_short(rival, X, rank, max_iter, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return rival(X, rank, max_iter=max_iter, **keywords)


# ---- exact recovery ----------------------------------------------------------------------------


@each
@each_shape
def test_both_parts_are_found_exactly(rival, shape):
    # Netrapalli et al., Theorem 1; Yi et al., Theorem 2; Cherapanamjeri et al., Theorem 1.
    L, _, X = planted(shape)
    found = rival(X, 3)
    assert isinstance(found, Split)
    assert found.converged
    assert error(found, L) < 1e-8
    np.testing.assert_allclose(found.rest, X - L, atol=1e-8)
    assert np.all(found.support)
    assert subspace_error(found.components.T, np.linalg.svd(L)[2][:3].T) < 1e-8
    np.testing.assert_allclose(found.singular_values, np.ones(3), rtol=1e-8)
    assert error(PlainPCA(X, 3), L) > 0.1


class PlainPCA:
    """What ordinary PCA makes of a table: the tests above would mean little if it did as well."""

    def __init__(self, X, rank):
        U, s, Vt = np.linalg.svd(X, full_matrices=False)
        self.low_rank = U[:, :rank] * s[:rank] @ Vt[:rank]


@pytest.mark.parametrize("rival", TWO)
def test_no_good_entry_is_called_bad(rival):
    # Netrapalli et al., Theorem 1: the support of S lies in the true one.
    L, bad, X = planted()
    found = rival(X, 3)
    assert not np.any((found.rest != 0) & ~bad)
    # Those which are missed are as small as the accuracy.
    assert np.max(np.abs(X - L)[(found.rest == 0) & bad], initial=0.0) < 1e-10


@each
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e9])
def test_the_size_of_bad_entries_does_not_matter(rival, size):
    L, _, X = planted(size=size)
    # Projections put L where an entry is bad, and so no digit of L is lost to a huge one.
    assert error(rival(X, 3), L) < (1e-12 if rival in TWO else 1e-8)


@each
def test_bad_entries_of_many_sizes_and_one_sign(rival):
    rng = np.random.default_rng(0)
    L, bad, _ = planted()
    S = np.where(bad, np.abs(L).max() * 10.0 ** rng.uniform(-6, 6, L.shape), 0.0)
    assert error(rival(L + S, 3), L) < 1e-8


def test_altproj_to_the_letter_of_its_theorem():
    # One bad entry in each row and column of 520 is less than 1/(512 mu^2 r), and with entries of
    # one size mu = r = 1. Then beta = 4 mu^2 r/n, and the threshold halves.
    rng = np.random.default_rng(0)
    n = 520
    L = np.outer(np.sign(rng.standard_normal(n)), np.sign(rng.standard_normal(n)))
    bad = np.eye(n, dtype=bool)[rng.permutation(n)]
    X = L + np.where(bad, 10.0 ** rng.uniform(-3, 5, (n, n)), 0.0)
    found = altproj(X, 1, beta=4.0 / n, decay=0.5, tol=1e-7)
    assert error(found, L) < 1e-7
    assert not np.any((found.rest != 0) & ~bad)


def test_altproj_finds_directions_that_bad_entries_hide():
    # What the stages are for: the smallest direction is far below the bad entries, and the bound
    # on their share in Theorem 1 does not know the condition number.
    L, _, X = planted(scales=np.array([1.0, 1e-2, 1e-4]))
    assert error(altproj(X, 3), L) < 1e-10
    assert error(robust_matrix_completion(X, 3), L) < 1e-10


@pytest.mark.parametrize("rival", TWO)
def test_the_rank_may_be_larger_than_that_of_the_table(rival):
    L, _, X = planted()
    found = rival(X, 6)
    assert found.converged
    assert found.components.shape == (3, 150)
    assert error(found, L) < 1e-8


def test_the_convex_method_finds_the_same():
    from torpca.rivals._pcp import principal_component_pursuit

    L, _, X = planted((80, 80), rank=2)
    convex = principal_component_pursuit(X, 2, tol=1e-5)
    assert error(convex, L) < 1e-3
    for rival in THREE:
        assert error(rival(X, 2), convex.low_rank) < 1e-3


def test_first_cut_does_not_depend_on_how_gross_entries_are():
    L, bad, _ = planted()
    one, other = (first_cut(np.where(bad, gross, L), 0.1) for gross in (1e3, 1e9))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[~bad], L[~bad])
    assert np.all(one[bad] == 0)


# ---- what is not as in the papers, and why ------------------------------------------------------


def incoherence(L, rank):
    """Least mu for which leverages of L are at most mu^2 rank/n and mu^2 rank/d."""
    U, _, Vt = np.linalg.svd(L)
    leverages = (np.max(np.sum(W[:, :rank] ** 2, axis=1)) for W in (U, Vt.T))
    return np.sqrt(max(x * m / rank for x, m in zip(leverages, L.shape, strict=True)))


def test_thresholds_of_the_theorem_are_for_fewer_bad_entries():
    L, _, X = planted((80, 80), rank=5, share=0.2)
    assert error(altproj(X, 5), L) < 1e-8
    beta = 4 * incoherence(L, 5) ** 2 * 5 / 80
    assert error(cut_short(altproj, X, 5, 300, beta=beta), L) > 0.1
    assert error(cut_short(altproj, X, 5, 300, decay=0.5), L) > 0.01


def test_one_cut_is_not_enough_for_huge_entries(monkeypatch):
    L, _, X = planted(size=1e3)
    assert error(altproj(X, 3), L) < 1e-8
    once = lambda M, beta: np.where(np.abs(M) > beta * np.linalg.norm(M, 2), 0.0, M)  # noqa: E731
    monkeypatch.setattr(_altproj, "first_cut", once)
    assert error(cut_short(altproj, X, 3, 300), L) > 1e-3


def test_without_a_floor_noise_is_cut(monkeypatch):
    _, bad, X = noisy()
    monkeypatch.setattr(_altproj, "gross", lambda rest, seen, threshold: np.abs(rest) > threshold)
    assert np.mean(cut_short(altproj, X, 3, 300).rest[~bad] != 0) > 0.5


def test_short_steps_of_gradient_descent_take_long(monkeypatch):
    L, _, X = planted(rank=2)
    assert error(rpca_gd(X, 2), L) < 1e-8
    monkeypatch.setattr(_rpca_gd, "STEP", 1 / 36)
    assert error(cut_short(rpca_gd, X, 2, 300), L) > 1e-4


def test_who_knows_the_incoherence_may_find_more():
    L, _, X = planted((240, 80), rank=5, share=0.02, size=100.0)
    assert error(cut_short(rpca_gd, X, 5, 500, alpha=0.02), L) > 1.0
    assert error(rpca_gd(X, 5, alpha=0.02, mu=incoherence(L, 5)), L) < 1e-8


# ---- linear convergence ------------------------------------------------------------------------


@pytest.mark.parametrize("rival", TWO)
@pytest.mark.parametrize("decay", [0.5, 0.8])
def test_the_error_falls_as_the_threshold_does(rival, decay):
    # The lemma behind Theorem 1: after t iterations no entry of L is off by more than a constant
    # times decay^t. Bad entries of all sizes, or all would be found at once.
    rng = np.random.default_rng(0)
    L, bad, _ = planted((80, 80), rank=1)
    X = L + np.where(bad, np.abs(L).max() * 10.0 ** rng.uniform(-12, 0, L.shape), 0.0)
    runs = range(1, 41, 6)
    errors = [error(cut_short(rival, X, 1, t, decay=decay), L) for t in runs]
    bound = [max(decay ** (t - 1), 1e-11) for t in runs]
    assert np.all(np.array(errors) <= bound)
    # And not much faster, as bad entries below the threshold stay.
    assert np.all(np.array(errors) >= 1e-3 * np.array(bound))


def test_gradient_descent_converges_at_a_rate_set_by_the_condition():
    # Yi et al., Theorem 1: the error falls by 1 - c/kappa.
    counts = []
    for kappa in (1.0, 2.0, 4.0):
        L, _, X = planted(rank=2, share=0.02, scales=np.array([1.0, 1.0 / kappa]))
        errors = [error(cut_short(rpca_gd, X, 2, t, alpha=0.04), L) for t in (10, 20, 30, 40)]
        rates = np.diff(np.log(errors)) / 10
        assert np.all(rates < -0.2 / kappa)
        # Linear means that no stretch is much slower than another.
        assert np.min(rates) > 2.0 * np.max(rates)
        counts.append(rpca_gd(X, 2, alpha=0.04).n_iter)
    assert 1.3 < counts[1] / counts[0] < 3.0
    assert 1.3 < counts[2] / counts[1] < 3.0


@pytest.mark.parametrize("rival", TWO)
def test_digits_cost_iterations_in_proportion(rival):
    _, _, X = planted()
    coarse, fine = rival(X, 3, tol=1e-5).n_iter, rival(X, 3, tol=1e-10).n_iter
    assert fine < 2.5 * coarse


# ---- noise: conditions that hold where the iterations end --------------------------------------


def noisy(seed=0):
    L, bad, X = planted((120, 60), size=5.0, seed=seed)
    rng = np.random.default_rng(seed)
    return L, bad, X + 1e-3 * rng.standard_normal(X.shape)


@each
def test_what_is_left_is_perpendicular_to_the_low_rank_part(rival):
    # Where the gradient is zero: the good residual R has R V = 0 and R'U = 0.
    _, _, X = noisy()
    found = rival(X, 3)
    assert found.converged
    U, s, Vt = np.linalg.svd(found.low_rank, full_matrices=False)
    R = np.where(found.rest != 0, 0.0, X - found.low_rank)
    assert np.linalg.norm(R @ Vt[:3].T) < 1e-6 * np.linalg.norm(R)
    assert np.linalg.norm(R.T @ U[:, :3]) < 1e-6 * np.linalg.norm(R)
    np.testing.assert_allclose(found.singular_values, s[:3])
    assert s[3] < 1e-12


@pytest.mark.parametrize("rival", TWO)
def test_noise_is_not_taken_for_bad_entries(rival):
    L, bad, X = noisy()
    found = rival(X, 3)
    assert np.mean(found.rest[~bad] != 0) < 0.02
    known = PlainPCA(np.where(bad, L, X), 3)
    assert error(found, L) < 1.2 * error(known, L)


# ---- gradient descent and its truncation -------------------------------------------------------


def test_gradient_descent_needs_alpha_to_cover_the_bad_entries():
    L, bad, X = planted(size=100.0, share=0.1)
    assert np.all(bad.mean(axis=0) == 0.1)
    for alpha in (0.1, 0.15):
        assert error(rpca_gd(X, 3, alpha=alpha), L) < 1e-8
    with pytest.warns(ConvergenceWarning, match="alpha"):
        found = rpca_gd(X, 3, alpha=0.05, max_iter=300)
    assert error(found, L) > 1.0
    assert not found.converged


def test_gradient_descent_keeps_rows_as_short_as_mu_allows():
    L, _, X = planted(rank=2)
    U, _, Vt = np.linalg.svd(L)
    leverage = max(np.max(np.sum(W[:, :2] ** 2, axis=1)) for W in (U, Vt.T))
    mu = np.sqrt(leverage * 150 / 2)
    assert error(rpca_gd(X, 2, mu=mu), L) < 1e-8
    # A bound that the truth does not meet is kept all the same.
    tight = cut_short(rpca_gd, X, 2, 300, mu=1.0)
    U, s, _ = np.linalg.svd(tight.low_rank)
    assert np.max(np.linalg.norm(U[:, :2] * np.sqrt(s[:2]), axis=1)) < 1.05 * np.sqrt(
        4 / 150 * s[0]
    )


def test_largest_entries_are_among_the_largest_of_row_and_column():
    A = np.random.default_rng(0).standard_normal((12, 8))
    size, expected = np.abs(A), np.zeros(A.shape, dtype=bool)
    for i in range(12):
        for j in range(8):
            in_row = np.sum(size[i] > size[i, j]) < 2
            in_column = np.sum(size[:, j] > size[i, j]) < 3
            expected[i, j] = in_row and in_column
    np.testing.assert_array_equal(largest_entries(A, 0.25), expected)
    assert not np.any(largest_entries(np.ones((6, 4)), 0.4))
    assert not np.any(largest_entries(A, 0.0))
    assert np.all(largest_entries(A, 1.0))


@pytest.mark.parametrize(
    ("keywords", "pattern"),
    [
        ({"alpha": 0.5}, "alpha=0.5"),
        ({"alpha": -0.1}, "alpha=-0.1"),
        ({"gamma": 0.9}, "gamma=0.9"),
        ({"alpha": 0.4, "gamma": 3.0}, "gamma=3.* alpha=0.4"),
        ({"mu": 0.5}, "mu=0.5"),
    ],
)
def test_shares_that_cannot_be(keywords, pattern):
    assert_refused(lambda: rpca_gd(np.eye(9), 2, **keywords), ValueError, pattern)


@pytest.mark.parametrize("rival", TWO)
@pytest.mark.parametrize(
    ("keywords", "pattern"), [({"beta": -1.0}, "beta=-1"), ({"decay": 1.0}, "decay=1")]
)
def test_thresholds_that_cannot_be(rival, keywords, pattern):
    assert_refused(lambda: rival(np.eye(9), 2, **keywords), ValueError, pattern)


# ---- missing entries ---------------------------------------------------------------------------


@each_shape
@pytest.mark.parametrize("observed", [0.8, 0.5])
@pytest.mark.parametrize("size", [0.3, 1e6])
def test_missing_and_bad_entries(shape, observed, size):
    # Cherapanamjeri et al., Theorem 1: L is found from some entries, a few of them bad.
    L, bad, X = planted(shape, rank=2, share=0.05, size=size)
    missing = np.random.default_rng(1).random(shape) > observed
    X[missing] = np.nan
    found = robust_matrix_completion(X, 2)
    assert found.converged
    assert error(found, L) < 1e-8
    assert np.all(found.rest[missing] == 0)
    assert not np.any((found.rest != 0) & ~bad)
    np.testing.assert_allclose((found.low_rank + found.rest)[~missing], X[~missing], atol=1e-8)
    assert found.parameters["observed"] == np.mean(~missing)


def test_missing_entries_alone():
    # A quarter of the entries, as for matrix completion without bad ones.
    L, _, X = planted((200, 200), rank=2, share=0.0)
    X[np.random.default_rng(1).random(X.shape) > 0.25] = np.nan
    assert error(robust_matrix_completion(X, 2), L) < 1e-8


def test_without_missing_entries_it_is_alternating_projections():
    _, _, X = noisy()
    one, other = (rival(X, 3) for rival in TWO)
    np.testing.assert_allclose(one.low_rank, other.low_rank, atol=1e-9)
    np.testing.assert_array_equal(one.rest != 0, other.rest != 0)


def test_rows_are_least_squares_fits_to_their_good_entries():
    # Another way to the same numbers: given the directions, each row on its own.
    L, _, X = noisy()
    X[np.random.default_rng(1).random(X.shape) > 0.7] = np.nan
    found = robust_matrix_completion(X, 3)
    assert error(found, L) < 0.02
    V, good = found.components.T, ~np.isnan(X) & (found.rest == 0)
    for row, kept, fit in zip(X, good, found.low_rank, strict=True):
        coefficients = np.linalg.lstsq(V[kept], row[kept], rcond=None)[0]
        np.testing.assert_allclose(V @ coefficients, fit, atol=1e-6)


@pytest.mark.parametrize("kind", ["block", "staircase", "some columns", "two blocks"])
def test_places_that_are_not_random_end_in_numbers(kind):
    L, _, X = planted((60, 40), rank=2, share=0.0)
    seen = np.zeros(X.shape, dtype=bool)
    if kind == "block":
        seen[:, :5] = seen[:5] = True
    if kind == "staircase":
        seen = np.add.outer(np.arange(60), -np.arange(40)) >= 0
    if kind == "some columns":
        seen = np.random.default_rng(0).random(X.shape) < np.linspace(0.05, 1.0, 40)
        seen[0] = seen[:, -1] = True
    if kind == "two blocks":
        seen[:30, :20] = seen[30:, 20:] = True
    X[~seen] = np.nan
    found = cut_short(robust_matrix_completion, X, 2, 400)
    assert np.linalg.norm(found.low_rank) < 5.0 * np.linalg.norm(L)
    if kind != "block":  # of which too little is seen for steps of this length
        assert np.linalg.norm((found.low_rank - L)[seen]) < 0.01 * np.linalg.norm(L)


def test_stages_take_in_directions_of_one_size_together():
    s = np.array([8.0, 5.0, 4.0, 1.0, 0.9, 0.1, 0.0])
    ranks = [0]
    while ranks[-1] < 6:
        ranks.append(next_rank(s, ranks[-1], 6))
    assert ranks == [0, 3, 5, 6]


def test_tables_in_which_too_much_is_missing():
    X = planted((20, 10))[2]
    X[3] = np.nan
    assert_refused(lambda: robust_matrix_completion(X, 2), ValueError, "1 of 20 rows", "row 3")
    X = planted((20, 10))[2]
    X[:, [4, 7]] = np.nan
    assert_refused(lambda: robust_matrix_completion(X, 2), ValueError, "2 of 10 features")
    X = planted((20, 10))[2]
    X[2, 2], X[3, 3] = np.inf, np.nan
    assert_refused(lambda: robust_matrix_completion(X, 2), ValueError, "infinity in 1 of 20 rows")


# ---- centring and kinds ------------------------------------------------------------------------


@each
def test_centring_takes_off_the_medians_of_the_columns(rival):
    L, _, X = planted(size=1e3)
    offset = np.linspace(-5.0, 5.0, 150)
    X = X + offset
    if rival is robust_matrix_completion:
        X[np.random.default_rng(1).random(X.shape) > 0.8] = np.nan
    found = rival(X, 4, center=True)
    np.testing.assert_array_equal(found.mean, np.nanmedian(X, axis=0))
    # L about medians that are not quite its own has one direction more.
    np.testing.assert_allclose(found.low_rank + found.mean, L + offset, atol=1e-6)
    assert cut_short(rival, X, 4, 1).mean is None


@each
def test_single_precision_and_units(rival):
    _, _, X = planted((60, 40), rank=2)
    found = rival(X, 2)
    single = rival(X.astype(np.float32), 2)
    assert single.low_rank.dtype == single.rest.dtype == np.float32
    np.testing.assert_allclose(single.low_rank, found.low_rank, atol=1e-5)
    huge = rival(np.ldexp(X, 700), 2)
    np.testing.assert_array_equal(huge.low_rank, np.ldexp(found.low_rank, 700))
    np.testing.assert_array_equal(huge.rest, np.ldexp(found.rest, 700))


# ---- whole bad rows ----------------------------------------------------------------------------


@each
@pytest.mark.parametrize("outliers", ["line", "cluster"])
def test_whole_bad_rows_that_agree_enter_the_low_rank_part(rival, outliers):
    # A fifth of the rows, all of their entries. None of the three is made for that.
    made = make_outlier_subspace(400, 30, 3, 0.2, outliers=outliers, random_state=0)
    found = cut_short(rival, made.X, 3, 300)
    assert subspace_error(found.components.T, made.basis) > 0.5
    if outliers == "line":  # rows are what the method of the paper is made for
        assert subspace_error(torp(made.X, 3, rho=0.21).components.T, made.basis) < 1e-10


def test_whole_bad_rows_that_point_everywhere():
    # Short of every guarantee, projections cut them entry by entry; gradient descent, which cuts
    # no more than its share of a row, does not.
    made = make_outlier_subspace(400, 30, 3, 0.1, outliers="isotropic", random_state=0)
    for rival in TWO:
        assert subspace_error(rival(made.X, 3).components.T, made.basis) < 1e-8
    found = cut_short(rpca_gd, made.X, 3, 300)
    assert subspace_error(found.components.T, made.basis) > 1e-3


@each
def test_docstrings_say_what_whole_bad_rows_do(rival):
    assert re.search(r"not made for whole bad rows", " ".join(rival.__doc__.split()))
