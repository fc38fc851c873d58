"""Rows are passed over, never copied or made dense: extra memory is a small share of the data."""

import tracemalloc
import zlib
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from torpca import OutlierRobustPCA, torp
from torpca._sources import array, base, digests

MB = 2**20
centred_or_not = pytest.mark.parametrize("center", [False, True], ids=["as is", "centred"])


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """Each thread has a block at hand, so a bound on memory needs a number of them."""
    monkeypatch.setattr(array, "blas_threads", lambda: 2)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with threadpool_limits(1):  # where they do not split blocks, BLAS's own only cost time
        yield


@contextmanager
def extra_memory():
    """Measure the largest amount of memory in use inside the block, beyond that before it."""
    used = SimpleNamespace(peak=0)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield used
        used.peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


# Files mapped into memory


def write_rows(path, shape, dtype):
    """Write rows near a subspace of dimension 3, every fiftieth of them bad; return them mapped."""
    rng = np.random.default_rng(0)
    n, d = shape
    V = np.linalg.qr(rng.standard_normal((d, 3)))[0]
    X = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    noise = 0.01 * rng.standard_normal((500, d))
    for start in range(0, n, 500):
        block = X[start : start + 500]
        block[:] = 1.0 + (rng.standard_normal((len(block), 3)) * [3, 2, 1]) @ V.T
        block += noise[: len(block)]
        block[::50] = rng.standard_normal((len(block[::50]), d))
    X.flush()
    return np.load(path, mmap_mode="r+")


@pytest.fixture(scope="module", params=[np.float64, np.float32], ids=["float64", "float32"])
def mapped(request, tmp_path_factory):
    """A file of 64 MB."""
    n_features = 400
    shape = (64 * MB // (n_features * np.dtype(request.param).itemsize), n_features)
    return write_rows(tmp_path_factory.mktemp("rows") / "X.npy", shape, request.param)


@centred_or_not
def test_mapped_files_are_read_in_blocks(mapped, center):
    assert mapped.nbytes >= 63 * MB
    before = zlib.crc32(mapped)
    with extra_memory() as used:
        found = torp(mapped, 3, rho=0.05, center=center)
    assert found.components.shape == (3, 400)
    # A few blocks at a time, however long the file.
    assert used.peak < 7 * base.BLOCK_BYTES < 0.45 * mapped.nbytes
    assert zlib.crc32(mapped) == before


def test_the_estimator_reads_mapped_files_in_blocks(mapped):
    with extra_memory() as used:
        model = OutlierRobustPCA(3).fit(mapped)
    assert model.components_.shape == (3, 400)
    assert used.peak < 0.75 * mapped.nbytes
    # The rows learned from take memory of their own, but no more of it if the file is longer.
    with extra_memory() as for_half:
        OutlierRobustPCA(3).fit(mapped[: len(mapped) // 2])
    assert used.peak < for_half.peak + 0.05 * mapped.nbytes


def test_a_copy_would_show(mapped):
    with extra_memory() as used:
        np.array(mapped)
    assert used.peak >= mapped.nbytes


@centred_or_not
def test_wide_mapped_files_are_read_in_blocks(tmp_path, monkeypatch, center):
    # Rows of any length are handled a few at a time; small blocks show that on a small file.
    monkeypatch.setattr(base, "SMALL_BYTES", 2**15)
    monkeypatch.setattr(base, "BLOCK_BYTES", 2**15)
    monkeypatch.setattr(base, "MIN_BLOCK_ROWS", 4)
    X = write_rows(tmp_path / "X.npy", (300, 12000), np.float64)
    before = zlib.crc32(X)
    with extra_memory() as used:
        found = torp(X, 3, rho=0.05, center=center, max_iter=3)
    assert found.components.shape == (3, 12000)
    assert used.peak < 0.3 * X.nbytes
    assert zlib.crc32(X) == before


def test_the_estimator_reads_wide_mapped_files_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "SMALL_BYTES", 2**15)
    monkeypatch.setattr(base, "BLOCK_BYTES", 2**15)
    monkeypatch.setattr(base, "MIN_BLOCK_ROWS", 4)
    monkeypatch.setattr(digests, "BLOCK_BYTES", 2**20)
    X = write_rows(tmp_path / "X.npy", (300, 12000), np.float64)
    with extra_memory() as used:
        model = OutlierRobustPCA(3).fit(X)
    assert model.components_.shape == (3, 12000)
    assert used.peak < 0.5 * X.nbytes


@pytest.mark.slow
def test_dask_holds_a_few_chunks(mapped):
    da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'torpca[dask]'")
    import dask

    rows = MB // (400 * mapped.itemsize)
    X = da.from_array(mapped, chunks=(rows, -1)).map_blocks(np.array)  # made when asked for
    with dask.config.set(scheduler="threads", num_workers=2), extra_memory() as used:
        found = torp(X, 3, rho=0.05, center=True, max_iter=1)
    assert found.components.shape == (3, 400)
    assert used.peak < 0.6 * mapped.nbytes


# Sparse rows


def sparse_rows(shape, kind):
    """Thirteen nonzeros to a row: a topic's twelve features and a stray one, or all at random."""
    rng = np.random.default_rng(0)
    n, d = shape
    topic = rng.integers(0, 3, n)
    columns = np.column_stack([12 * topic[:, None] + np.arange(12), rng.integers(36, d, n)])
    values = np.repeat(rng.standard_normal((n, 1)) * (3 - topic[:, None]), 13, axis=1)
    values[:, 12] = 0.05 * rng.standard_normal(n)
    bad = slice(None, None, 50)
    columns[bad] = rng.integers(0, d, columns[bad].shape)
    values[bad] = 4 * rng.standard_normal(values[bad].shape)
    rows = np.repeat(np.arange(n), 13)
    X = kind(sp.coo_array((values.ravel(), (rows, columns.ravel())), shape=shape))
    X.sum_duplicates()
    return X


# A block is made dense where residuals are too small for algebra: 2 MB of it when rows are
# stored together, 32 MB when features are, times three for what is computed from it.
@pytest.mark.slow
@centred_or_not
@pytest.mark.parametrize(
    ("kind", "blocks"), [(sp.csr_array, 6 * MB), (sp.csc_matrix, 96 * MB)], ids=["CSR", "CSC"]
)
@pytest.mark.parametrize("shape", [(20_000, 2_500), (50_000, 1_000)], ids=["no Gram", "Gram"])
def test_sparse_rows_stay_sparse(shape, kind, blocks, center):
    X = sparse_rows(shape, kind)
    parts = [X.data, X.indices, X.indptr]
    stored = sum(part.nbytes for part in parts)
    dense = 8 * shape[0] * shape[1]
    gram = 8 * shape[1] ** 2 if shape[1] <= 1500 else 0
    assert dense >= 400e6
    before = [zlib.crc32(part) for part in parts]
    with extra_memory() as used:
        found = torp(X, 3, rho=0.05, center=center, max_iter=2)
    assert found.components.shape == (3, shape[1])
    assert used.peak < 3 * stored + 4 * gram + blocks + 4 * MB
    assert used.peak < 0.35 * dense
    assert [zlib.crc32(part) for part in parts] == before


# Arrays in Fortran's order


def test_an_array_in_fortrans_order_is_not_copied():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40_000, 3)) @ rng.standard_normal((3, 200))
    X = np.asfortranarray(rows + 0.01 * rng.standard_normal(rows.shape))
    assert not X.flags.c_contiguous
    with extra_memory() as used:
        OutlierRobustPCA(3, random_state=0).fit(X)
    assert used.peak < 0.6 * X.nbytes
