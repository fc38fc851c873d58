"""The paper's listing, written a second time and as plainly as it is printed, beside the code."""

import numpy as np
import pytest

from torpca import torp, torp_bin, torp_g, torp_n
from torpca._core.theorems import theorem_iterations, theorem_rho
from torpca._core.threshold import fraction_count
from torpca.metrics import frobenius_residual, incoherence

EXACT = 1e-12


def listing(X, r, rho, T):
    """Algorithm 1 with corrections 1 to 4 of docs/paper_to_code.md: all T + 1 iterations."""
    count = fraction_count(rho, len(X))
    keep = np.ones(len(X), dtype=bool)
    for t in range(T + 2):
        _, s, Vt = np.linalg.svd(X[keep], full_matrices=False)
        k = min(r, np.count_nonzero(s > 1e-14 * s[0]))
        s, V = s[:k], Vt[:k].T
        if t > T:
            return V
        R = np.linalg.norm(X - X @ V @ V.T, axis=1)
        E = np.linalg.norm(X @ V / s, axis=1)
        dropped = [np.argsort(-score, kind="stable")[:count] for score in (R, E)]
        keep = ~np.isin(np.arange(len(X)), dropped)


COEFFICIENTS = {
    "signs": lambda rng, n, r: rng.choice([-1.0, 1.0], size=(n, r)),
    "integers": lambda rng, n, r: rng.integers(-3, 4, size=(n, r)).astype(float),
    "axes": lambda rng, n, r: np.eye(r)[rng.integers(0, r, n)],
    "Gaussian": lambda rng, n, r: rng.standard_normal((n, r)),
}


def within_theorem_1(seed, kind):
    """(X, L, mu): good rows L and bad ones as many as Theorem 1 allows, graded in size.

    They lie on a line, in a plane or anywhere off the subspace, and may have a part inside it.
    """
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 4))
    d = r + int(rng.integers(1, 5))
    n = int(rng.integers(130, 900)) * r
    C = COEFFICIENTS[kind](rng, n, r) * np.geomspace(1.0, 10.0 ** -rng.integers(0, 4), r)
    bad = rng.permutation(n)
    n_bad = n // (128 * r)
    while n_bad > int(n / (128 * (mu := incoherence(beside(C, bad[:n_bad]), r)) ** 2 * r)):
        n_bad -= 1
    L, bad = beside(C, bad[:n_bad]), bad[:n_bad]
    off = rng.standard_normal((n_bad, min(int(rng.integers(1, 4)), d - r)))
    off /= np.linalg.norm(off, axis=1, keepdims=True)
    ratio, last = 10.0 ** rng.uniform(0.3, 6), 10.0 ** rng.uniform(-2, 4)
    sizes = last * ratio ** (np.arange(n_bad) % int(1 + 14 / np.log10(ratio)))
    X = np.hstack([L, np.zeros((n, d - r))])
    X[bad, r : r + off.shape[1]] = sizes[:, None] * off
    X[bad, :r] = rng.choice([0.0, 0.9]) * C[rng.choice(n, n_bad)]
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] if rng.random() < 0.5 else np.eye(d)
    return X @ Q.T, L @ Q[:, :r].T, mu


def beside(C, rows):
    L = C.copy()
    L[rows] = 0.0
    return L


@pytest.mark.parametrize("kind", COEFFICIENTS)
@pytest.mark.parametrize("block", range(5))
def test_torp_ends_where_the_listing_does(kind, block):
    for seed in range(10 * block, 10 * block + 10):
        X, L, mu = within_theorem_1(seed, kind)
        r = np.linalg.matrix_rank(L)
        V = listing(X, r, theorem_rho(mu, r), theorem_iterations(len(X), 1e-12) - 1)
        assert frobenius_residual(V, L, relative=True) < EXACT
        found = torp(X, r, mu=mu)
        assert found.converged
        assert frobenius_residual(found.components.T, L, relative=True) < EXACT


@pytest.mark.parametrize("kind", COEFFICIENTS)
@pytest.mark.parametrize("algorithm", [torp, torp_n, torp_bin, torp_g])
@pytest.mark.parametrize("told", [True, False])
def test_every_algorithm_ends_there(kind, algorithm, told):
    for seed in range(100, 106):
        X, L, mu = within_theorem_1(seed, kind)
        options = {"mu": mu} if told else {}
        if told and algorithm is torp_g:
            options["sigma"] = 0.0
        found = algorithm(X, np.linalg.matrix_rank(L), **options)
        assert found.converged
        assert frobenius_residual(found.components.T, L, relative=True) < EXACT


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("r", [1, 2])
def test_a_handful_of_clean_rows(n, r):
    # Nobody is bad, one row goes by each criterion, and what is left must span the subspace.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        for coefficients in (rng.integers(1, 4, size=(n, r)), rng.standard_normal((n, r))):
            L = coefficients @ np.linalg.qr(rng.standard_normal((4, r)))[0].T
            if n < r + 2:
                with pytest.raises(ValueError, match="rows"):
                    torp(L, r, rho=1 / n)
                continue
            V = listing(L, r, 1 / n, 60)
            found = torp(L, r, rho=1 / n)
            assert found.converged
            error = frobenius_residual(found.components.T, L, relative=True)
            if np.issubdtype(coefficients.dtype, np.floating):
                assert error < EXACT
                assert frobenius_residual(V, L, relative=True) < EXACT
                continue
            # Small integers are equally large, and rounding says which of them go. Those that stay
            # may lie on one line: then a direction is lost, but none is made up.
            lost = r - np.linalg.matrix_rank(found.components @ L.T, tol=EXACT)
            assert error < EXACT or lost
            assert frobenius_residual(np.linalg.svd(L)[2][:r].T, found.components) < EXACT


LINE = np.array([1e7, 1e5, 1e3])


@pytest.mark.parametrize("algorithm", [torp, torp_n, torp_bin, torp_g])
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_bad_rows_of_many_sizes_on_one_line_all_go(algorithm, told, center):
    # While they drop out one by one the subspace stands still, and the singular values do not.
    rng = np.random.default_rng(0)
    C = rng.choice([-1.0, 1.0], size=(4000, 2))
    X = np.hstack([C, np.zeros((4000, 4))])
    X[[5, 700, 3000]] = LINE[:, None] * np.eye(6)[2]
    good = np.delete(np.arange(4000), [5, 700, 3000])
    options = {"mu": incoherence(C[good], 2) * np.sqrt(4000 / 3997)} if told else {}
    if told and algorithm is torp_g:
        options["sigma"] = 0.0
    found = algorithm(X + 3.0 * center, 2, center=center, **options)
    assert found.converged
    assert not found.support[[5, 700, 3000]].any()
    np.testing.assert_allclose(found.components[:, 2:], 0.0, atol=1e-13)


@pytest.mark.parametrize("seed", [1, 10, 26, 33])
def test_exact_fits_do_not_win_votes_by_their_rounding(seed):
    # All shares on the grid fit these rows exactly. The smallest spares most rows, and a quarter
    # may drop two of the four places that good rows have.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2000, 6000))
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    X = rng.choice([-1.0, 1.0], size=(n, 2)) @ Q[:, :2].T + 5.0
    X[rng.choice(n, 5, replace=False), -1] = [1e20, 1e15, 1e10, 1e5, 9999]
    found = torp(X, 2, center=True)
    assert found.parameters["rho"] == found.grid[-1]["rho"]
    assert found.components.shape == (2, 6)
    np.testing.assert_allclose(found.components @ Q[:, 2:], 0.0, atol=1e-12)
