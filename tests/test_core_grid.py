"""What is chosen where nothing is given: rho from the grid with its evidence, and the noise."""

import numpy as np
import pytest

from tests import _core
from tests._core import svd_of_kept
from torpca import torp, torp_bin, torp_g, torp_n
from torpca._core.grid import rho_grid
from torpca._core.threshold import fraction_count
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

# Fixtures: pytest looks for them by these names.
noisy = _core.noisy


def test_the_grid_halves_from_a_quarter_to_the_theorem():
    assert rho_grid(10_000, 2) == [0.25 / 2**i for i in range(7)]  # 1/256 = 1/(128 r)
    assert rho_grid(100, 2) == [0.25 / 2**i for i in range(5)]  # 1/64 is more than a row
    assert rho_grid(100, 60)[0] == 0.125  # at 1/4 fewer than 60 rows would be left
    assert rho_grid(3, 1) == [1 / 3]
    with pytest.raises(ValueError, match=r"n_samples = 4 .*rank=3.*5 are needed.*more rows"):
        rho_grid(4, 3)


@pytest.mark.parametrize("algorithm", [torp_n, torp_bin])
@pytest.mark.parametrize("d", [2, 9])
@pytest.mark.parametrize("center", [False, True])
def test_the_grid_leaves_torp_n_enough_rows(algorithm, d, center):
    # Three times rho n rows may go: the smallest grids that TORP can live with are too few.
    for n in range(2, 12):
        for rank in range(1, min(n, d) + 1):
            X = np.random.default_rng(n).standard_normal((n, d))
            if n < rank + 3:
                with pytest.raises(ValueError, match=f"n_samples = {n} .*{rank + 3} are needed"):
                    algorithm(X, rank, center=center)
            else:
                assert algorithm(X, rank, center=center).support.sum() >= rank


@pytest.mark.parametrize("algorithm", [torp, torp_n, torp_bin, torp_g])
def test_the_choice_comes_with_its_evidence(noisy, algorithm):
    found = algorithm(noisy.X, 3)
    assert [record["rho"] for record in found.grid] == rho_grid(300, 3)
    for record in found.grid:
        assert {"rho", "lead", "standard_error", "log_residual", "n_kept", "mu"} == set(record)
        dropped = fraction_count(record["rho"], 300)
        assert 300 - 2 * dropped <= record["n_kept"] <= 300 - dropped
        assert np.isfinite(list(record.values())).all()
    # The smallest rho that is not beaten by two standard errors.
    unbeaten = [r for r in found.grid if r["lead"] >= -2 * r["standard_error"]]
    if algorithm is torp_g:
        assert found.parameters["mu"] == max(1.0, unbeaten[-1]["mu"])
    else:
        assert found.parameters["rho"] == unbeaten[-1]["rho"]


@pytest.mark.parametrize(("algorithm", "center"), [(torp, False), (torp, True), (torp_bin, False)])
def test_of_many_rows_a_part_tells_rho(algorithm, center):
    made = make_outlier_subspace(30_000, 20, 2, 0.03, outliers="line", random_state=0)
    found = algorithm(made.X + 5.0 * center, 2, center=center)
    assert max(record["n_kept"] for record in found.grid) < 10_000
    assert found.parameters["rho"] in [record["rho"] for record in found.grid]
    # What is made of it is made of all rows.
    again = algorithm(made.X + 5.0 * center, 2, center=center, rho=found.parameters["rho"])
    assert again.grid is None
    np.testing.assert_array_equal(found.support, again.support)
    assert subspace_error(found.components.T, made.basis) < 1e-12
    assert not np.any(found.support & made.outliers)


def test_evidence_is_of_torp_at_that_rho(noisy):
    evidence = torp(noisy.X, 3).grid
    residuals = []
    for record in evidence:
        found = torp(noisy.X, 3, rho=record["rho"])
        assert found.grid is None
        assert found.support.sum() == record["n_kept"]
        V = found.components.T
        residuals.append(np.linalg.norm(noisy.X - noisy.X @ V @ V.T, axis=1))
        assert np.log(residuals[-1]).mean() == pytest.approx(record["log_residual"], abs=1e-9)
    # Each row votes for the subspace that it is nearer to, if rounding can tell.
    logs = np.log(residuals)
    votes = np.sign(np.where(np.abs(logs - logs[:, None]) > 1e-9, logs - logs[:, None], 0.0))
    leads, voters = votes.mean(axis=2), np.abs(votes).sum(axis=2)
    best = max(range(len(evidence)), key=lambda i: (leads[i].min(), i))
    np.testing.assert_allclose([r["lead"] for r in evidence], leads[:, best], atol=1e-12)
    errors = np.sqrt(voters[best]) / 300
    np.testing.assert_allclose([r["standard_error"] for r in evidence], errors, atol=1e-12)


def test_clean_rows_are_spared():
    X = make_outlier_subspace(400, 20, 3, 0.0, noise=0.01, random_state=0).X
    found = torp(X, 3)
    assert found.parameters["rho"] == rho_grid(400, 3)[-1]
    assert found.support.sum() >= 396


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("outliers", ["isotropic", "line", "cluster", "small", "mixed"])
def test_the_grid_is_right_for_every_family(outliers, seed):
    X, V, bad, _ = make_outlier_subspace(
        400, 30, 3, 0.05, outliers=outliers, noise=0.01, random_state=seed
    )
    _, oracle = svd_of_kept(X, ~bad)
    best = subspace_error(oracle[:, :3], V)
    for algorithm in (torp, torp_n, torp_bin):
        found = algorithm(X, 3)
        assert subspace_error(found.components.T, V) < 2 * best


@pytest.mark.parametrize("noise", [0.1, 0.3])
@pytest.mark.parametrize("outliers", ["line", "mixed"])
def test_a_few_enormous_rows_do_not_buy_the_grid(outliers, noise):
    # Where noise is large, losing a direction costs a good row little; one that is a thousand
    # times longer gains much by having the direction to itself. Most rows decide, not the gain.
    for seed in (0, 1):
        X, V, bad, _ = make_outlier_subspace(
            1000, 20, 2, 0.05, outliers=outliers, noise=noise, random_state=seed
        )
        _, oracle = svd_of_kept(X, ~bad)
        found = torp(X, 2)
        assert subspace_error(found.components.T, V) < 2 * subspace_error(oracle[:, :2], V)


def test_gaussian_noise_is_estimated():
    data = make_outlier_subspace(1000, 20, 2, 0.01, outliers="line", noise=0.1, random_state=0)
    found = torp_g(data.X, 2)
    assert found.parameters["sigma"] == pytest.approx(0.1, rel=0.02)
    assert found.parameters["mu"] == pytest.approx(data.mu, rel=0.3)
    given = torp_g(data.X, 2, sigma=0.2)
    assert given.parameters == {"mu": found.parameters["mu"], "sigma": 0.2}
    assert torp_g(data.X, 20, mu=1.5).parameters["sigma"] == 0.0  # no dimension left for noise
