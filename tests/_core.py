"""What the tests of the core share: matrices of known subspaces, and records of runs."""

import numpy as np
import pytest

from torpca.datasets import make_outlier_subspace

EPS = np.finfo(float).eps


def planted(rng, n, d, s):
    """(X, V): an n x d matrix with singular values s and right singular vectors V (d, k)."""
    U = np.linalg.qr(rng.standard_normal((n, len(s))))[0]
    V = np.linalg.qr(rng.standard_normal((d, len(s))))[0]
    return (U * s) @ V.T, V


def svd_of_kept(X, keep, center=False):
    """Singular values and right singular vectors (d, m) of the kept rows, by numpy."""
    A = X[keep] - X[keep].mean(axis=0) if center else X[keep]
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    return s, Vt.T


@pytest.fixture(scope="module")
def noisy():
    return make_outlier_subspace(
        300, 12, 3, 0.05, outliers="mixed", noise=0.02, mean=1.0, random_state=0
    )


def recorded(algorithm, *args, **options):
    seen = []
    return algorithm(*args, callback=seen.append, **options), seen
