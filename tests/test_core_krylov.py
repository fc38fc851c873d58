"""The block Krylov route: without a gap, in small spaces, from a guess."""

import numpy as np

from tests._core import planted, svd_of_kept
from torpca._core.krylov import _orthonormal_beside, krylov_subspace
from torpca._sources import as_source
from torpca.metrics import subspace_error


def test_krylov_without_a_gap():
    keep = np.ones(100, dtype=bool)
    X = np.linalg.qr(np.random.default_rng(6).standard_normal((100, 50)))[0]
    V, s = krylov_subspace(as_source(X), keep, 4)  # every subspace is as good as any other
    np.testing.assert_allclose(s, 1.0, rtol=1e-13)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-13)
    X = np.random.default_rng(7).standard_normal((100, 50))  # gaps of a percent
    V, s = krylov_subspace(as_source(X), keep, 4)
    expected, W = svd_of_kept(X, keep)
    np.testing.assert_allclose(s, expected[:4], rtol=1e-12)
    assert subspace_error(V, W[:, :4]) < 1e-9


def test_krylov_with_a_basis_as_large_as_the_space():
    X = np.random.default_rng(8).standard_normal((50, 12))
    keep = np.arange(50) > 5
    expected, _ = svd_of_kept(X, keep)
    for k in (1, 6, 11, 12):
        _, s = krylov_subspace(as_source(X), keep, k)
        np.testing.assert_allclose(s, expected[:k], rtol=1e-12)


def test_krylov_adds_only_what_is_new():
    rng = np.random.default_rng(10)
    Q = np.linalg.qr(rng.standard_normal((40, 6)))[0]
    # Nearly all of the block is there already, and one of its columns is entirely.
    block = Q @ rng.standard_normal((6, 3))
    block[:, 1:] += 1e-10 * rng.standard_normal((40, 2))
    fresh = _orthonormal_beside(Q, block, 1e-13)
    assert fresh.shape == (40, 2)
    np.testing.assert_allclose(fresh.T @ fresh, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(Q.T @ fresh, 0.0, atol=1e-14)
    assert _orthonormal_beside(np.eye(4)[:, :3], np.eye(4), 0.1).shape == (4, 1)


def test_krylov_starts_from_a_guess(monkeypatch):
    X, V = planted(np.random.default_rng(9), 150, 80, np.geomspace(1, 0.01, 80))
    source, passes = as_source(X), []
    product = source.gram_matmul

    def counting(keep, V):
        passes.append(V.shape[1])
        return product(keep, V)

    monkeypatch.setattr(source, "gram_matmul", counting)
    keep = np.ones(150, dtype=bool)
    found, _ = krylov_subspace(source, keep, 5)
    from_nowhere = len(passes)
    passes.clear()
    krylov_subspace(source, keep, 5, found)
    assert len(passes) == 1
    assert from_nowhere > 3
    assert subspace_error(found, V[:, :5]) < 1e-11
