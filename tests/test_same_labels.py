"""The same rows are flagged whatever their order, place, sign and unit."""

import numpy as np
import pytest

from tests._shared import small_parts
from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def table(seed):
    """Rows of a random size near a random subspace, some bad, and the rank."""
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(100, 700), rng.integers(4, 40), rng.integers(1, 4)
    return make_outlier_subspace(
        n,
        d,
        k,
        rng.uniform(0, 0.35),
        outliers="abcde"[seed % 5],
        noise=rng.choice([0.01, 0.05]),
        mean=rng.uniform(0, 1),
        random_state=seed,
    ).X, int(k)


def permuted(X, rng):
    order = rng.permutation(len(X))
    return X[order], order


MOVES = {
    "permuted": permuted,
    "columns permuted": lambda X, rng: (X[:, rng.permutation(X.shape[1])], slice(None)),
    "shifted": lambda X, rng: (X + 3 * rng.standard_normal(X.shape[1]), slice(None)),
    "sign": lambda X, rng: (-X, slice(None)),
    "signs of columns": lambda X, rng: (X * rng.choice([-1, 1], X.shape[1]), slice(None)),
    "power of two": lambda X, rng: (2.0 ** rng.integers(-200, 200) * X, slice(None)),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.filterwarnings("ignore:OutlierRobustPCA:RuntimeWarning")
def test_rows_learned_whole(seed, move):
    X, k = table(seed)
    moved, order = move(X, np.random.default_rng(seed))
    expected, found = (OutlierRobustPCA(k, random_state=0).fit(rows) for rows in (X, moved))
    np.testing.assert_array_equal(found.outlier_type_, expected.outlier_type_[order])
    np.testing.assert_allclose(found.weights_, expected.weights_[order], atol=1e-4)


@pytest.mark.parametrize("move", ["columns permuted", "shifted", "sign", "power of two"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:OutlierRobustPCA:RuntimeWarning")
def test_rows_passed_over(seed, move):
    # Which rows are learned from depends on their order; nothing else does.
    X, k = table(seed)
    X = np.vstack([X, X[::-1] + 1e-3])
    moved, _ = MOVES[move](X, np.random.default_rng(seed))
    with small_parts(100):
        expected, found = (OutlierRobustPCA(k, random_state=0).fit(rows) for rows in (X, moved))
    assert found.route_ == expected.route_ == "passes"
    np.testing.assert_array_equal(found.outlier_type_, expected.outlier_type_)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:OutlierRobustPCA:RuntimeWarning")
def test_a_rotation_turns_the_components_with_it(seed):
    X, k = table(seed)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((X.shape[1],) * 2))[0]
    expected, found = (OutlierRobustPCA(k, random_state=0).fit(rows) for rows in (X, X @ Q))
    np.testing.assert_array_equal(found.outlier_type_, expected.outlier_type_)
    assert subspace_error(found.components_.T, Q.T @ expected.components_.T) < 1e-5
