"""robpca for skewed rows: medcouple, adjusted outlyingness, and what it flags."""

import tracemalloc

import numpy as np
import pytest

from tests.test_bad_input import assert_refused
from torpca.metrics import subspace_error
from torpca.rivals import robpca
from torpca.rivals._adjusted import adjusted_limit, adjusted_outlyingness, fences
from torpca.rivals._medcouple import medcouple

each_start = pytest.mark.parametrize("start", ["random", "deterministic"])


def skewed_rows(n, d, rank, seed):
    """Rows with log-normal coordinates in a subspace, its basis, and a direction off it."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, rank + 1)))[0]
    V = Q[:, :rank]
    scores = rng.lognormal(size=(n, rank)) * np.arange(rank, 0, -1)
    return scores @ V.T + 0.05 * rng.standard_normal((n, d)), V, Q[:, rank]


# ---- medcouple -----------------------------------------------------------------------------------


def medcouple_of_all_pairs(x):
    """The definition of Brys, Hubert and Struyf, with its sign rule for numbers at the median."""
    x = np.sort(x) - np.median(x)
    above, below = x[x >= 0][:, None], -x[x <= 0][::-1]
    ties = np.count_nonzero(x == 0)
    with np.errstate(invalid="ignore"):
        H = (above - below) / (above + below)
    i = np.arange(ties)
    H[:ties, :ties] = np.sign(i[:, None] + i - (ties - 1))
    return np.median(H)


@pytest.mark.parametrize("seed", range(200))
def test_medcouple_is_the_median_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    for x in (
        rng.standard_normal(n),
        rng.lognormal(size=n),
        rng.integers(0, 5, n).astype(float),  # many equal, also at the median
        np.round(rng.lognormal(size=n), 1),
        rng.standard_cauchy(n) ** 9,
    ):
        assert medcouple(x) == pytest.approx(medcouple_of_all_pairs(x), abs=1e-13)


i200 = np.arange(1, 201)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        # options(digits = 17); i <- 1:200; robustbase::mc(exp(3 * sin(i)), doReflect = TRUE)
        (np.exp(3 * np.sin(i200)), 0.81664270408988537),
        # mc(floor(7 * abs(sin(i)))^2, doReflect = TRUE)
        (np.floor(7 * np.abs(np.sin(i200))) ** 2, 0.14285714285714285),
        # mc(c(1, 2, 4, 8, 16, 32, 64, 128), doReflect = TRUE)
        (2.0 ** np.arange(8), 0.65873015873015872),
        # mc(c(1, 2, 2, 2, 3, 9, 11), doReflect = TRUE)
        (np.array([1.0, 2, 2, 2, 3, 9, 11]), 0.9),
        # mc(-(1:2001 * 37)^3, doReflect = TRUE)
        (-((np.arange(1, 2002) * 37.0) ** 3), -0.53590939855915909),
    ],
)
def test_medcouple_is_that_of_robustbase(x, expected):
    assert medcouple(x) == pytest.approx(expected, abs=1e-13)


def test_medcouple_of_other_numbers():
    x = np.random.default_rng(0).lognormal(size=501)
    m = medcouple(x)
    assert 0.2 < m < 0.6
    assert medcouple(-x) == pytest.approx(-m, abs=1e-14)
    assert medcouple(3.0 * x + 7.0) == pytest.approx(m, abs=1e-12)
    assert medcouple(1e300 * x / x.max()) == pytest.approx(m, abs=1e-12)
    assert medcouple(np.ones(5)) == medcouple(np.ones(1)) == 0.0
    # A fifth of the numbers, as far out as may be, leave it bounded away from one.
    x[:100] = 1e200
    assert medcouple(x) < 0.95


def test_medcouple_of_many_numbers_takes_no_memory_for_pairs():
    x = np.random.default_rng(0).lognormal(size=20_000)
    tracemalloc.start()
    medcouple(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * x.nbytes  # all pairs would be 5000 times that


# ---- adjusted outlyingness -----------------------------------------------------------------------

y61 = np.exp(1.5 * np.sin(np.arange(1, 62) ** 2 * 0.3))


def test_fences_are_those_of_robustbase():
    # y <- exp(1.5 * sin((1:61)^2 * 0.3)); robustbase::adjboxStats(y)$fence
    expected = [-1.22528437193563, 12.22901223707328]
    np.testing.assert_allclose(fences(y61), expected, rtol=1e-12)
    np.testing.assert_allclose(fences(-y61), [-expected[1], -expected[0]], rtol=1e-12)
    assert adjusted_limit(y61) == np.max(y61)
    assert adjusted_limit(np.append(y61, [1e3, np.inf])) == np.max(y61)


def test_outlyingness_is_that_of_robustbase():
    # set.seed(1); robustbase::adjOutlyingness(matrix(y), mcReflect = TRUE)$adjout[1:5]
    expected = [0.0798431902279, 0.8478117187570, 0.0803324616746, 0.9993382403730, 0.8607948781080]
    out = adjusted_outlyingness(y61[:, None], np.ones((1, 1)), np.zeros(61))
    np.testing.assert_allclose(out[:5], expected, rtol=1e-11)
    np.testing.assert_allclose(
        adjusted_outlyingness(y61[:, None], -np.ones((1, 1)), np.zeros(61)), out
    )


def test_rows_off_a_plane_with_most_of_them_are_infinitely_outlying():
    Z = np.random.default_rng(0).standard_normal((50, 3))
    Z[:45, 2] = 1.0 + 1e-15 * Z[:45, 2]
    out = adjusted_outlyingness(Z, np.eye(3), np.full(50, 1e-12))
    assert np.all(np.isinf(out[45:]))
    assert np.all(np.isfinite(out[:45]))


# ---- robpca --------------------------------------------------------------------------------------


def test_skewed_robpca_has_the_subspace_of_rrcov():
    # i <- 1:200; U <- outer(i, 1:2, function(i, j) exp(1.2 * sin(i * i * j * 0.37)))
    # X <- U %*% outer(1:2, 1:6, function(j, k) cos(j * k * k))
    # X <- X + 0.1 * outer(i, 1:6, function(i, k) sin(i * i * k * 0.9))
    # X[1:30, ] <- X[1:30, ] + rep(c(0, 0, 8, 8, 0, -9), each = 30)
    # set.seed(1); p <- rrcov::PcaHubert(X, k = 2, alpha = 0.5, mcd = FALSE, skew = TRUE)
    # L <- rrcov::getLoadings(p); (L %*% t(L))[1, ]; the same for other seeds
    expected = [
        0.1208462098485,
        -0.0763774844633,
        -0.2006318291129,
        -0.2264735254533,
        0.0323781157557,
        0.0884146612080,
    ]
    i, k = i200[:, None], np.arange(1, 7)
    U = np.exp(1.2 * np.sin(i * i * np.arange(1, 3) * 0.37))
    X = U @ np.cos(np.arange(1, 3)[:, None] * k * k) + 0.1 * np.sin(i * i * k * 0.9)
    X[:30] += [0, 0, 8, 8, 0, -9]
    found = robpca(X, 2, skew=True)
    np.testing.assert_allclose((found.components.T @ found.components)[0], expected, atol=1e-11)
    assert not np.any(found.support[:30])


@each_start
@pytest.mark.parametrize("seed", range(3))
def test_fewer_good_rows_are_flagged_among_skewed_ones(start, seed):
    X, V, _ = skewed_rows(600, 8, 2, seed)
    found = robpca(X, 2, skew=True, start=start)
    flagged = np.mean(~found.support)
    assert flagged < 0.1
    assert np.mean(~robpca(X, 2, start=start).support) > 2.5 * flagged
    assert subspace_error(found.components.T, V) < 0.01


@each_start
@pytest.mark.parametrize("fraction", [0.05, 0.2])
@pytest.mark.parametrize("where", ["off the subspace", "in the subspace"])
def test_bad_rows_among_skewed_ones_are_found(start, fraction, where):
    X, V, off = skewed_rows(600, 8, 2, 0)
    bad = np.arange(600) < 600 * fraction
    X[bad] += 8.0 * off if where == "off the subspace" else -60.0 * V.sum(axis=1)
    found = robpca(X, 2, skew=True, start=start)
    assert not np.any(found.support & bad)
    assert np.mean(found.support[~bad]) > 0.9
    assert subspace_error(found.components.T, V) < 0.01


def test_skewed_robpca_turns_and_moves_with_the_rows():
    X, _, _ = skewed_rows(300, 6, 2, 0)
    rng = np.random.default_rng(1)
    Q, shift = np.linalg.qr(rng.standard_normal((6, 6)))[0], rng.standard_normal(6)
    for start in ("random", "deterministic"):
        one = robpca(X, 2, skew=True, start=start)
        other = robpca(X @ Q.T + shift, 2, skew=True, start=start)
        assert subspace_error(other.components.T, Q @ one.components.T) < 1e-9
    # Directions inside the subspace are drawn in its coordinates, whose signs may turn over.
    np.testing.assert_array_equal(other.support, one.support)
    np.testing.assert_allclose(other.mean, Q @ one.mean + shift, atol=1e-9)


def test_skewed_rows_in_a_subspace_of_the_rank():
    # All distances from the subspace are rounding, and no row is cut for that.
    X = np.random.default_rng(0).lognormal(size=(200, 2)) @ np.array([[1.0, 2, 0], [0, 1, 1]])
    found = robpca(X, 2, skew=True)
    assert found.components.shape == (2, 3)
    assert np.mean(found.support) > 0.85


def test_skew_is_true_or_false_and_needs_a_location():
    X = np.random.default_rng(0).standard_normal((40, 4))
    assert_refused(lambda: robpca(X, 2, skew="yes"), TypeError, "skew='yes'")
    assert_refused(
        lambda: robpca(X, 2, skew=True, center=False), ValueError, "skew=True", "center=True"
    )
