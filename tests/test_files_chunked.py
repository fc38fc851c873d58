"""Rows that are read again at every pass, against the contract of sources."""

import numpy as np
import pytest

from tests._files import OPTIONS, write_npy, write_parquet, write_zarr
from torpca._files.chunked import ChunkedSource
from torpca._files.npy import read_npy
from torpca._files.parquet import StoredParquet
from torpca.testing import RowSourceContract


def with_more(X):
    """`X` between rows and columns that are not part of it, and the places of both."""
    n, d = X.shape
    Z = np.full((2 * n + 1, d + 2), 77, dtype=X.dtype)
    Z[1::2, 1:-1] = X
    return Z, np.arange(1, 2 * n + 1, 2), np.arange(1, d + 1)


class InFolder:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.path = tmp_path


class TestParquetInChunks(InFolder, RowSourceContract):
    def make_source(self, X):
        Z, rows, columns = with_more(X)
        stored = StoredParquet(write_parquet(self.path, Z), **OPTIONS)
        return ChunkedSource(stored, rows, columns)


class TestZarrInChunks(InFolder, RowSourceContract):
    def make_source(self, X):
        from torpca._files.zarr import StoredZarr

        Z, rows, columns = with_more(X)
        return ChunkedSource(StoredZarr(write_zarr(self.path, Z), **OPTIONS), rows, columns)


class TestAllRowsOfAnArrayInChunks(InFolder, RowSourceContract):
    def make_source(self, X):
        Z = np.column_stack([X, X[:, :1], X[:, :1]])
        stored = read_npy(write_npy(self.path, Z), **OPTIONS)
        return ChunkedSource(stored, columns=np.arange(X.shape[1]))
