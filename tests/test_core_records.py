"""What each algorithm records of its iterations, against the listings."""

import math

import numpy as np
import pytest

from tests import _core
from tests._core import recorded, svd_of_kept
from torpca import project_to_ellipsoid, torp, torp_bin, torp_g, torp_n
from torpca._core import theorems
from torpca._core.subspace import subspace_change
from torpca._core.threshold import largest
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

# Fixtures: pytest looks for them by these names.
noisy = _core.noisy


@pytest.mark.parametrize("center", [False, True])
def test_torp_records_each_iteration(noisy, center):
    X = noisy.X
    found, seen = recorded(torp, X, 3, rho=0.06, center=center)
    assert found.history == tuple(seen)
    assert found.n_iter == len(seen) > 2
    assert [record.iteration for record in seen] == list(range(len(seen)))
    kept, before = np.ones(300, dtype=bool), None
    for record in seen:
        V = record.components.T
        rows = X - X[kept].mean(axis=0) if center else X
        s, W = svd_of_kept(rows, kept)
        assert subspace_error(V, W[:, :3]) < 1e-9
        E = np.linalg.norm(rows @ V / s[:3], axis=1)
        R = np.linalg.norm(rows - rows @ V @ V.T, axis=1)
        np.testing.assert_array_equal(record.support, ~(largest(R, 18) | largest(E, 18)))
        assert record.dropped == {"residual": 18, "incoherence": 18}
        assert record.n_kept == record.support.sum()
        assert record.rank == 3
        assert record.objective == pytest.approx(np.linalg.norm(R[record.support]))
        change = 1.0 if before is None else subspace_change(before, V)
        assert record.subspace_change == pytest.approx(change, abs=1e-12)
        kept, before = record.support, V
    np.testing.assert_array_equal(found.support, kept)
    assert all(record.support is None for record in found.history)


@pytest.mark.parametrize("algorithm", [torp_n, torp_bin])
def test_torp_n_records_all_ranks_in_the_order_tried(noisy, algorithm):
    found, seen = recorded(algorithm, noisy.X, 3, rho=0.05, eta=0.5)
    ranks = [record.rank for record in seen]
    assert found.ranks_tried == ((1, 2, 3) if algorithm is torp_n else (2, 3))
    assert tuple(dict.fromkeys(ranks)) == found.ranks_tried
    assert found.history == tuple(seen)
    assert found.n_iter == len(seen)
    starts = [i for i, record in enumerate(seen) if record.iteration == 0]
    assert [ranks[i] for i in starts] == list(found.ranks_tried)
    for i, record in enumerate(seen):
        kept = np.ones(300, dtype=bool) if i in starts else seen[i - 1].support
        s, _ = svd_of_kept(noisy.X, kept)
        V = record.components.T
        E = np.linalg.norm(noisy.X @ V / s[: record.rank], axis=1)
        R = np.linalg.norm(noisy.X - noisy.X @ V @ V.T, axis=1)
        np.testing.assert_array_equal(record.support, ~(largest(R, 15) | largest(E, 30)))
        assert record.dropped == {"residual": 15, "incoherence": 30}
    np.testing.assert_array_equal(found.support, seen[-1].support)
    assert found.converged


def test_torp_g_records_rows_dropped_by_length_and_by_influence():
    data = make_outlier_subspace(500, 12, 2, 0.02, outliers="line", noise=0.01, random_state=1)
    found, seen = recorded(torp_g, data.X, 2, mu=data.mu, sigma=0.01)
    assert found.history == tuple(seen)
    far = theorems.zeta2(data.mu, 2, 12, 0.01)
    long = theorems.zeta1(data.mu, 2, 12, 0.01)
    kept = np.ones(500, dtype=bool)
    for record in seen:
        V = record.components.T
        s, _ = svd_of_kept(data.X, kept)
        fits = data.X @ V @ V.T
        feet = project_to_ellipsoid(fits, V, s[:3], 2 * data.mu * math.sqrt(2 / 500))
        moved = np.where(kept, np.linalg.norm(fits - feet, axis=1), 0.0)
        crowd = np.sum(moved > far) >= theorems.influential_rows_allowed(data.mu, 2, 500, 12)
        by_influence = moved >= far if crowd else np.zeros(500, dtype=bool)
        assert record.dropped == {"length": (moved >= long).sum(), "influence": by_influence.sum()}
        assert record.objective == pytest.approx(np.linalg.norm(moved))
        np.testing.assert_array_equal(record.support, kept & ~((moved >= long) | by_influence))
        kept = record.support
    assert not kept[data.outliers].any()
    assert found.history[-1].dropped == {"length": 0, "influence": 0}
    assert found.converged
