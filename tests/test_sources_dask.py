"""Dask arrays as sources: chunks, threads, blocks that are sparse."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests._sources import DaskOnOneThread, dask_array_or_skip, small
from torpca import as_source
from torpca._sources.dask import DaskSource
from torpca.testing import RowSourceContract


class TestDask(DaskOnOneThread, RowSourceContract):
    chunks = (19, -1)

    def make_source(self, X):
        return as_source(dask_array_or_skip().from_array(X, chunks=self.chunks))


class TestDaskOneChunk(TestDask):
    chunks = (-1, -1)


class TestDaskUnevenChunks(TestDask):
    def make_source(self, X):
        da = dask_array_or_skip()
        cut = [0, 0, 1, 18, 19, len(X)] if len(X) > 19 else [0, len(X), len(X)]
        sizes = tuple(np.diff(cut).tolist())
        return as_source(da.from_array(X, chunks=(sizes, (X.shape[1],))))


class TestDaskManyThreads(TestDask):
    chunks = (9, -1)
    scheduler = "threads"


class TestDaskOfSparse(TestDask):
    convert = staticmethod(sp.csr_array)

    def make_source(self, X):
        da = dask_array_or_skip()
        return as_source(da.from_array(X, chunks=self.chunks).map_blocks(self.convert))


class TestDaskOfSparseMatrices(TestDaskOfSparse):
    convert = staticmethod(sp.csc_matrix)


class TestDaskChunkedByColumns(TestDask):
    chunks = (19, 3)

    def make_source(self, X):
        X = dask_array_or_skip().from_array(X, chunks=self.chunks)
        if X.numblocks[1] == 1:
            return as_source(X)
        with pytest.warns(UserWarning, match="columns split into"):
            return as_source(X)


def test_every_kind_draws_the_same_sample():
    da = dask_array_or_skip()
    wanted, _ = as_source(small()).sample(8, np.random.default_rng(1))
    for X in (sp.csr_array(small()), sp.csc_array(small()), da.from_array(small(), chunks=(4, -1))):
        rows, _ = as_source(X).sample(8, np.random.default_rng(1))
        np.testing.assert_array_equal(rows, wanted)


def test_dask_chunked_by_columns_is_rechunked_with_a_warning():
    X = dask_array_or_skip().from_array(small(), chunks=(7, 2))
    wanted = r"columns split into 3 chunks \(2, 2, 1\).*X\.rechunk\(\{1: -1\}\)"
    with pytest.warns(UserWarning, match=wanted):
        source = as_source(X)
    assert isinstance(source, DaskSource)
    assert source.X.numblocks[1] == 1
    np.testing.assert_array_equal(source.take(np.arange(30)), small())


def test_dask_waves_cover_all_chunks(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # two chunks in a wave
    source = as_source(dask_array_or_skip().from_array(small(), chunks=(4, -1)))
    np.testing.assert_allclose(source.gram(np.ones(30, bool)), small().T @ small(), rtol=1e-12)
