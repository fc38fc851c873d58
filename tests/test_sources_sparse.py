"""Sparse matrices as sources: every format, duplicates, stored zeros, slabs."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests._sources import small
from torpca import as_source
from torpca._sources import sparse
from torpca._sources.sparse import SparseSource
from torpca.testing import RowSourceContract


class TestCSRArray(RowSourceContract):
    convert = staticmethod(sp.csr_array)

    def make_source(self, X):
        return as_source(self.convert(X))


class TestCSRMatrix(TestCSRArray):
    convert = staticmethod(sp.csr_matrix)


class TestCSCArray(TestCSRArray):
    convert = staticmethod(sp.csc_array)


class TestCSCMatrix(TestCSRArray):
    convert = staticmethod(sp.csc_matrix)


class TestCOOArray(TestCSRArray):
    convert = staticmethod(sp.coo_array)


class InSmallSlabs:
    """Data of a test fits in one slab and one block; these make it take several."""

    @pytest.fixture(autouse=True)
    def small_slabs(self, monkeypatch):
        monkeypatch.setattr(sparse, "SLAB_NONZEROS", 9)
        monkeypatch.setattr(sparse, "default_block_rows", lambda *shape: 4)


class TestCSRInSlabs(InSmallSlabs, TestCSRArray):
    pass


class TestCSCInSlabs(InSmallSlabs, TestCSCArray):
    pass


def with_duplicates(X):
    """CSR array whose entries x are stored as 2x and -x, out of order."""
    rows, cols = np.nonzero(X)
    parts = np.concatenate([2 * X[rows, cols], -X[rows, cols]])
    order = np.random.default_rng(0).permutation(len(parts))
    order = order[np.argsort(np.tile(rows, 2)[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(2 * np.count_nonzero(X, axis=1))])
    return sp.csr_array((parts[order], np.tile(cols, 2)[order], indptr), shape=X.shape)


class TestCSRWithDuplicates(TestCSRArray):
    convert = staticmethod(with_duplicates)


class TestCSCWithDuplicates(TestCSRArray):
    @staticmethod
    def convert(X):
        return with_duplicates(X.T.copy()).T


def with_zeros_stored(X):
    full = sp.csr_array(np.where(X == 0, 1, X))
    full.data[X.ravel() == 0] = 0
    assert full.nnz == X.size
    return full


class TestStoredZeros(TestCSRArray):
    convert = staticmethod(with_zeros_stored)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
def test_sparse_matrices_are_not_copied(kind):
    X = kind(small())
    source = as_source(X)
    assert isinstance(source, SparseSource)
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(source.X, part), getattr(X, part))
        assert np.shares_memory(getattr(source.centered(np.full(5, 0.1)).X, part), getattr(X, part))


def test_entries_stored_twice_are_added_in_a_copy():
    X = with_duplicates(small())
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    source = as_source(X)
    assert source.X.nnz == X.nnz // 2
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)
