"""Views of sources (centred, scaled, deflated) as sources in their own right."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests._sources import (
    DaskOnOneThread,
    TorchOnOneThread,
    dask_array_or_skip,
    small,
    torch_or_skip,
)
from torpca import as_source
from torpca._sources import Centered, Deflated, Scaled
from torpca._sources.array import ArraySource
from torpca._sources.sparse import SparseSource
from torpca.testing import RowSourceContract

# Shifts are whole numbers, factors are powers of two and the direction taken out is an axis, so
# that a view shows exactly the numbers it should.


def in_numpy(X):
    return X


def in_torch(X):
    return torch_or_skip().asarray(X)


def in_dask(X):
    return dask_array_or_skip().from_array(X, chunks=(19, -1))


class TestCenteredNumPy(RowSourceContract):
    kind = staticmethod(in_numpy)

    def shifted(self, X):
        shift = np.arange(X.shape[1]) % 3.0
        return X + shift.astype(X.dtype), shift

    def dense(self, X):
        Z, shift = self.shifted(X)
        return Z.astype(np.float64) - shift

    def make_source(self, X):
        Z, shift = self.shifted(X)
        return as_source(self.kind(Z)).centered(shift)


class TestCenteredCSR(TestCenteredNumPy):
    kind = staticmethod(sp.csr_array)


class TestCenteredCSC(TestCenteredNumPy):
    kind = staticmethod(sp.csc_array)


class TestCenteredTorch(TorchOnOneThread, TestCenteredNumPy):
    kind = staticmethod(in_torch)


class TestCenteredDask(DaskOnOneThread, TestCenteredNumPy):
    kind = staticmethod(in_dask)


class TestScaledNumPy(RowSourceContract):
    kind = staticmethod(in_numpy)

    def make_source(self, X):
        factors = np.ldexp(1.0, np.arange(len(X)) % 5 - 2)
        return Scaled(as_source(self.kind(X / factors[:, None].astype(X.dtype))), factors)


class TestScaledCSC(TestScaledNumPy):
    kind = staticmethod(sp.csc_array)


class TestScaledTorch(TorchOnOneThread, TestScaledNumPy):
    kind = staticmethod(in_torch)


class TestDeflatedNumPy(RowSourceContract):
    kind = staticmethod(in_numpy)

    def stored(self, X):
        return np.where(np.arange(X.shape[1]) == 0, X.dtype.type(0), X)

    def make_source(self, X):
        return Deflated(as_source(self.kind(X)), np.eye(X.shape[1])[:, :1])

    # A NaN in the first feature spreads: no row is looked at before it is known finite.
    test_magnitudes_of_rows_that_are_not_finite = None


class TestDeflatedCSR(TestDeflatedNumPy):
    kind = staticmethod(sp.csr_array)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_centring_of_a_centred_source_adds_up(kind):
    source = as_source(kind(small())).centered(np.arange(5.0)).centered(np.ones(5))
    np.testing.assert_allclose(
        source.take(np.arange(30)), small() - np.arange(1.0, 6.0), atol=1e-15
    )


def test_sparse_rows_stay_sparse_when_centred():
    assert isinstance(as_source(sp.csr_array(small())).centered(np.full(5, 0.1)), SparseSource)
    # Rows that are mostly their mean would lose their digits in the algebra.
    assert isinstance(as_source(sp.csr_array(small())).centered(np.full(5, 1e3)), Centered)
    assert isinstance(as_source(small()).centered(np.ones(5)), Centered)
    assert isinstance(as_source(small()), ArraySource)
