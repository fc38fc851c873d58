"""Lists, data frames and objects as sources."""

from fractions import Fraction

import numpy as np
import pytest

from torpca import as_source
from torpca.testing import RowSourceContract


class TestListOfLists(RowSourceContract):
    def stored(self, X):
        return X.astype(np.float64)

    def make_source(self, X):
        return as_source(X.tolist())


class TestPandas(RowSourceContract):
    def make_source(self, X):
        pd = pytest.importorskip("pandas", reason="needs pandas: torpca[test]")
        return as_source(pd.DataFrame(X))


class TestPolars(RowSourceContract):
    def make_source(self, X):
        pl = pytest.importorskip("polars", reason="needs polars: torpca[test]")
        return as_source(pl.DataFrame(X))


class TestObjects(TestListOfLists):
    def make_source(self, X):
        return as_source(X.astype(object))


def test_real_numbers_held_as_objects_are_accepted():
    X = np.array([[1, 2.5], [np.float32(3), Fraction(1, 4)], [True, np.int8(7)]], dtype=object)
    np.testing.assert_array_equal(as_source(X).take(np.arange(3)), X.astype(float))


def test_data_frames_with_missing_entries_show_as_not_finite():
    pd = pytest.importorskip("pandas", reason="needs pandas: torpca[test]")
    pl = pytest.importorskip("polars", reason="needs polars: torpca[test]")
    for frame in (
        pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, 2.0]}),
        pl.DataFrame({"a": [1.0, 2.0], "b": [None, 2]}),
    ):
        finite = np.isfinite(as_source(frame).magnitudes())
        np.testing.assert_array_equal(finite, [False, True])
