"""The theorems' parameters, as printed, and how the algorithms take them."""

import math

import numpy as np
import pytest

from torpca import torp, torp_bin, torp_n
from torpca._core import theorems
from torpca.datasets import make_outlier_subspace


@pytest.mark.parametrize("mu", [1.0, 1.7, 4.0])
@pytest.mark.parametrize(("r", "n", "d", "sigma"), [(1, 100, 10, 1.0), (5, 2000, 50, 0.01)])
def test_parameters_follow_the_printed_formulas(mu, r, n, d, sigma):
    assert theorems.theorem_rho(mu, r) == pytest.approx(1 / (128 * mu**2 * r))
    assert theorems.theorem_eta(mu, r, n) == pytest.approx(2 * mu * (r / n) ** 0.5)
    c1, c2 = 1 / 12288, 1 / 1536
    length = 5 / 4 * mu * r**0.5 + d**0.5 + 2 * d**0.25 * math.log(mu**2 * r / c2) ** 0.5
    assert theorems.zeta1(mu, r, d, sigma) == pytest.approx(sigma * length)
    spread = 5 / 4 * mu + 2 * math.log(mu**2 * r**2 * d / c1) ** 0.5
    assert theorems.zeta2(mu, r, d, sigma) == pytest.approx(sigma * (2 * r) ** 0.5 * spread)
    allowed = 24 * n * c1 / (mu**2 * d * r)
    assert theorems.influential_rows_allowed(mu, r, n, d) == pytest.approx(allowed)


@pytest.mark.parametrize("algorithm", [torp, torp_n, torp_bin])
def test_mu_sets_rho_as_the_theorem_does(algorithm):
    X = make_outlier_subspace(400, 8, 2, 0.01, noise=0.01, random_state=0).X
    found = algorithm(X, 2, mu=1.5)
    assert found.parameters["rho"] == 1 / (128 * 1.5**2 * 2)
    assert found.grid is None
    if algorithm is not torp:
        assert found.parameters["eta"] == pytest.approx(2 * 1.5 * math.sqrt(2 / 400))


@pytest.mark.parametrize("tol", [1.0, 1e3, 1e10])
def test_there_is_always_one_iteration(tol):
    assert theorems.theorem_iterations(10, tol) >= 1
    X = np.random.default_rng(0).standard_normal((50, 4))
    for found in (
        torp(X, 2, rho=0.1, tol=tol),
        torp(X, 2, tol=tol),
        torp_n(X, 2, rho=0.1, tol=tol),
    ):
        assert found.n_iter >= 1
        assert not found.support.all()
