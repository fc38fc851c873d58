"""The search for the rank: linear, binary, and where no rank passes."""

import math

import numpy as np
import pytest

from tests._core import svd_of_kept
from torpca import torp_bin, torp_n
from torpca._core.loop import Run
from torpca._core.torp_n import binary_search, linear_search
from torpca.metrics import subspace_error


def attempts(passing, asked):
    """Ranks in `passing` pass; each run is marked by its rank."""

    def attempt(k):
        asked.append(k)
        keep = np.arange(30) == k
        return Run(keep, (), converged=True, halted=k not in passing)

    return attempt


@pytest.mark.parametrize("rank", [1, 2, 3, 7, 8, 20])
def test_both_searches_find_the_last_rank_that_passes(rank):
    for last in range(rank + 1):
        for search in (linear_search, binary_search):
            asked = []
            found = search(attempts(range(1, last + 1), asked), rank)
            assert found.rank == last
            assert found.tried == tuple(asked)
            if last > 0:
                assert found.run.keep[last]  # it is that rank's run
            else:
                assert found.run.halted
            if search is linear_search:
                assert asked == list(range(1, min(last + 1, rank) + 1))
            else:
                assert len(asked) <= math.floor(math.log2(rank)) + 1
                assert asked[0] == (1 + rank) // 2


def test_linear_search_stops_at_the_first_failure_and_binary_search_need_not_see_it():
    asked = []
    found = linear_search(attempts({1, 3, 4}, asked), 4)
    assert (found.rank, asked) == (1, [1, 2])
    asked = []
    found = binary_search(attempts({2, 3, 4}, asked), 4)
    assert (found.rank, asked) == (4, [2, 3, 4])


def test_the_rank_is_where_noise_takes_over():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 30)) * np.array([100.0, 50.0, 25.0] + 27 * [1.0])
    X[:10, 29] = 30.0  # influential beyond the third direction
    for algorithm in (torp_n, torp_bin):
        found = algorithm(X, 6, rho=0.001, eta=0.12)
        assert len(found.components) == 3
        assert subspace_error(found.components.T, np.eye(30)[:, :3]) < 0.01


def test_no_rank_may_pass():
    X = np.random.default_rng(1).standard_normal((100, 5))
    for algorithm in (torp_n, torp_bin):
        found = algorithm(X, 3, rho=0.02, eta=0.0)
        assert found.components.shape == (0, 5)
        assert found.singular_values.shape == (0,)
        assert not found.converged


@pytest.mark.parametrize(("m", "n"), [(7, 25), (3, 103), (5, 199)])
def test_exactly_two_rho_n_influential_rows_are_too_many(m, n):
    # In floating point 2 (m/n) n may exceed 2 m; the rule must not notice.
    X = np.random.default_rng(2).standard_normal((n, 4))
    s, V = svd_of_kept(X, np.ones(n, dtype=bool))
    E = np.sort(np.abs(X @ V[:, 0]) / s[0])[::-1]
    between = (E[2 * m - 1] + E[2 * m]) / 2
    found = torp_n(X, 1, rho=m / n, eta=between)
    assert found.n_iter == 1
    assert len(found.components) == 0
    # One row fewer is not enough to give up in the first iteration.
    between = (E[2 * m - 2] + E[2 * m - 1]) / 2
    assert torp_n(X, 1, rho=m / n, eta=between, max_iter=1).components.shape == (1, 4)
