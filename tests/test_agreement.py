"""The same rows in any container and in blocks of any size: the same kept rows and subspace."""

from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from tempfile import TemporaryFile

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from torpca import as_source, torp, torp_bin, torp_g, torp_n
from torpca._core import subspace
from torpca._sources import array, sparse
from torpca._sources.base import to_numpy
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def in_blocks_of(block_rows):
    return lambda X: as_source(X, block_rows=block_rows)


def memory_map(X):
    with TemporaryFile() as file:  # it lives as long as it is mapped
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, X.dtype, "r", shape=X.shape)


def as_torch(X):
    pytest.importorskip("array_api_compat", reason="needs array-api-compat: torpca[torch]")
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'torpca[torch]'")
    return torch.asarray(X.copy())


def as_strict(X):
    return pytest.importorskip("array_api_strict", reason="needs torpca[test]").asarray(X)


def as_dask(X, chunks):
    da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'torpca[dask]'")
    return da.from_array(X, chunks=chunks)


def dask_of_columns(X):
    with pytest.warns(UserWarning, match="columns split into"):
        return as_source(as_dask(X, (50, 7)))


KINDS = {
    "one row at a time": in_blocks_of(1),
    "17 rows at a time": in_blocks_of(17),
    "all rows at once": in_blocks_of(10**6),
    "Fortran order": np.asfortranarray,
    "read-only memory map": memory_map,
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pytest.importorskip("pandas").DataFrame(X),
    "polars": lambda X: pytest.importorskip("polars").DataFrame(X),
    "torch": as_torch,
    "torch, 17 rows at a time": lambda X: as_source(as_torch(X), block_rows=17),
    "strict array API": as_strict,
    "CSR": sp.csr_array,
    "CSC": sp.csc_matrix,
    "COO": sp.coo_array,
    "Dask, one chunk": lambda X: as_dask(X, (-1, -1)),
    "Dask, 41 rows a chunk": lambda X: as_dask(X, (41, -1)),
    "Dask, uneven chunks": lambda X: as_dask(X, ((1, 0, 30, len(X) - 31), -1)),
    "Dask of CSR": lambda X: as_dask(X, (50, -1)).map_blocks(sp.csr_array),
    "Dask, chunked by columns": dask_of_columns,
}
# Kinds that sum or hold rows in a way of their own; the others only differ in how they are read.
DIFFERENT_KINDS = (
    "one row at a time",
    "17 rows at a time",
    "torch",
    "CSR",
    "CSC",
    "Dask, 41 rows a chunk",
)

ALGORITHMS = {
    "torp, rank 1": lambda X, truth, center: torp(X, 1, rho=0.1, center=center),
    "torp": lambda X, truth, center: torp(X, 3, rho=0.1, center=center),
    "torp with the grid": lambda X, truth, center: torp(X, 3, center=center),
    "torp_n": lambda X, truth, center: torp_n(X, 4, rho=0.08, mu=truth.mu, center=center),
    "torp_bin": lambda X, truth, center: torp_bin(X, 4, rho=0.08, mu=truth.mu, center=center),
    "torp_g": lambda X, truth, center: torp_g(
        X, 3, mu=truth.mu, sigma=float(np.std(truth.noise)), center=center
    ),
}
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
# Kinds that only differ in how they are read meet two of the algorithms, and in .ci/run the others.
each_pair = pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        pytest.param(kind, algorithm)
        if kind in DIFFERENT_KINDS or algorithm in ("torp_bin", "torp_g")
        else pytest.param(kind, algorithm, marks=pytest.mark.slow)
        for kind in KINDS
        for algorithm in ALGORITHMS
    ],
)
different_kinds = pytest.mark.parametrize("kind", DIFFERENT_KINDS)
centred_or_not = pytest.mark.parametrize("center", [False, True], ids=["as is", "centred"])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads only cost time on tables of a few numbers."""
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        if find_spec("torch"):
            import torch

            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        if find_spec("dask"):
            import dask

            stack.enter_context(dask.config.set(scheduler="synchronous"))
        yield


@pytest.fixture(autouse=True)
def small_slabs(monkeypatch):
    """Make few rows take several slabs."""
    monkeypatch.setattr(sparse, "SLAB_NONZEROS", 500)


@cache
def rows(shape, noise, dtype="float64"):
    """Rows near a subspace of dimension 3 away from the origin, some of them bad."""
    truth = make_outlier_subspace(
        *shape, 3, 0.08, outliers="mixed", noise=noise, mean=0.5, random_state=sum(shape)
    )
    X = truth.X.astype(dtype)
    X.flags.writeable = False
    return X, truth


def agree(got, expected, *, tolerance):
    np.testing.assert_array_equal(to_numpy(got.support), expected.support)
    V, W = (to_numpy(found.components).T for found in (got, expected))
    assert V.dtype == W.dtype
    assert V.shape == W.shape
    assert subspace_error(V, W) <= tolerance
    assert subspace_error(W, V) <= tolerance
    np.testing.assert_allclose(
        to_numpy(got.singular_values), expected.singular_values, rtol=tolerance
    )
    assert (got.mean is None) == (expected.mean is None)
    if expected.mean is not None:
        size = np.max(np.abs(expected.mean))
        np.testing.assert_allclose(to_numpy(got.mean), expected.mean, atol=tolerance * size)
    assert got.parameters == pytest.approx(expected.parameters, rel=1e-6)
    assert got.ranks_tried == expected.ranks_tried


@cache
def expected_of(algorithm, center, shape, noise, dtype, max_gram):
    X, truth = rows(shape, noise, dtype)
    return ALGORITHMS[algorithm](X, truth, center)


def check(kind, algorithm, center, shape, noise, dtype="float64"):
    X, truth = rows(shape, noise, dtype)
    got = ALGORITHMS[algorithm](KINDS[kind](X), truth, center)
    expected = expected_of(algorithm, center, shape, noise, dtype, subspace.MAX_GRAM)
    # Results are handed back in the type of the rows.
    agree(got, expected, tolerance=1e-10 if dtype == "float64" else 1e-6)


@centred_or_not
@pytest.mark.parametrize("noise", [0.0, 1e-2], ids=["noiseless", "noisy"])
@each_pair
def test_all_kinds_agree(kind, algorithm, noise, center):
    check(kind, algorithm, center, (150, 12), noise)


@centred_or_not
@pytest.mark.parametrize("noise", [0.0, 1e-2], ids=["noiseless", "noisy"])
@pytest.mark.parametrize("algorithm", ["torp", "torp_n", "torp_g"])
@different_kinds
def test_all_kinds_agree_on_fewer_rows_than_features(kind, algorithm, noise, center):
    check(kind, algorithm, center, (60, 110), noise)


@centred_or_not
@pytest.mark.parametrize("noise", [0.0, 1e-2], ids=["noiseless", "noisy"])
@pytest.mark.parametrize("algorithm", ["torp", "torp_g"])
@different_kinds
def test_all_kinds_agree_without_a_gram_matrix(monkeypatch, kind, algorithm, noise, center):
    monkeypatch.setattr(subspace, "MAX_GRAM", 20)
    check(kind, algorithm, center, (150, 40), noise)


@centred_or_not
@different_kinds
def test_good_rows_tie_without_a_gram_matrix_too(monkeypatch, kind, center):
    # Long bad rows leave an iterative solver's good directions less accurate than rounding; what
    # that makes of the good rows' residuals must not decide which of them are dropped.
    monkeypatch.setattr(subspace, "MAX_GRAM", 8)
    X = make_outlier_subspace(120, 12, 2, 0.1, outliers="line", random_state=120).X
    for options in ({"rho": 0.12}, {}):
        got, expected = (torp(data, 2, center=center, **options) for data in (KINDS[kind](X), X))
        agree(got, expected, tolerance=1e-10)


@pytest.mark.slow
@centred_or_not
@pytest.mark.parametrize("algorithm", ["torp", "torp with the grid", "torp_bin"])
@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind != "list"],  # Python has no float32
)
def test_all_kinds_agree_in_single_precision(kind, algorithm, center):
    check(kind, algorithm, center, (150, 12), 1e-2, "float32")


@different_kinds
def test_all_kinds_agree_on_noise_far_below_the_signal(kind):
    check(kind, "torp", True, (150, 40), 1e-9)


@pytest.mark.parametrize("kind", ["CSR", "CSC"])
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-2])
def test_sparse_rows_far_from_zero_are_centred_as_well_as_dense_ones(kind, noise):
    truth = make_outlier_subspace(
        300,
        20,
        4,
        0.1,
        noise=noise,
        mean=1000.0,
        singular_values=[1, 0.5, 0.2, 0.1],
        random_state=5,
    )
    got, expected = (torp(X, 4, rho=0.12, center=True) for X in (KINDS[kind](truth.X), truth.X))
    agree(got, expected, tolerance=1e-10)


@centred_or_not
@different_kinds
def test_rows_without_any_direction(kind, center):
    X = np.zeros((40, 6))
    got, expected = (torp(data, 2, rho=0.1, center=center) for data in (KINDS[kind](X), X))
    agree(got, expected, tolerance=0.0)
    assert got.components.shape == (0, 6)


@pytest.mark.slow
@centred_or_not
@every_algorithm
def test_the_number_of_threads_does_not_show(monkeypatch, algorithm, center):
    X, truth = rows((150, 12), 1e-2)
    run = ALGORITHMS[algorithm]
    found = []
    for threads in (2, 3, 8):
        monkeypatch.setattr(array, "blas_threads", lambda threads=threads: threads)
        found.append(run(as_source(X, block_rows=7), truth, center))
    for other in found[1:]:
        np.testing.assert_array_equal(other.components, found[0].components)
        np.testing.assert_array_equal(other.support, found[0].support)
    agree(found[0], run(X, truth, center), tolerance=1e-10)


@every_algorithm
def test_the_data_is_hard_enough_to_tell(algorithm):
    found = expected_of(algorithm, True, (150, 12), 1e-2, "float64", subspace.MAX_GRAM)
    assert 0 < np.count_nonzero(~found.support) < 50
    assert found.n_iter > 1
