"""Tables of other numbers than doubles as sources."""

import numpy as np
import scipy.sparse as sp

from torpca import as_source
from torpca.testing import RowSourceContract


class TestOtherByteOrder(RowSourceContract):
    def make_source(self, X):
        return as_source(X.astype(X.dtype.newbyteorder()))


class TestFloat32(RowSourceContract):
    def stored(self, X):
        return X.astype(np.float32)

    def make_source(self, X):
        return as_source(self.stored(X))


class TestInteger(RowSourceContract):
    dtype = np.int64
    test_magnitudes_of_rows_that_are_not_finite = None  # an integer is always finite

    def stored(self, X):
        return np.rint(X).astype(self.dtype)

    def make_source(self, X):
        return as_source(self.stored(X))


class TestBoolean(RowSourceContract):
    test_magnitudes_of_rows_that_are_not_finite = None

    def stored(self, X):
        return X != 0

    def make_source(self, X):
        return as_source(self.stored(X))


class TestIntegerCSC(TestInteger):
    def make_source(self, X):
        return as_source(sp.csc_array(self.stored(X)))
