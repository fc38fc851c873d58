"""NumPy's files: other arrays beside the table, integers, other byte orders."""

import numpy as np

from tests._files import numbers, write_npy
from torpca import OutlierRobustPCA
from torpca._files import read_table


def test_npz_with_other_arrays(tmp_path):
    path = tmp_path / "rows.npz"
    # What is pickled beside the table is never loaded.
    np.savez(path, X=numbers(), y=np.arange(40), odd=np.array([{}], dtype=object))
    table = read_table(path)
    np.testing.assert_array_equal(table.X, numbers())
    assert table.names == ("x0", "x1", "x2", "x3")
    assert any("'y' and 'odd'" in note for note in table.notes)


def test_integers_and_other_byte_orders(tmp_path):
    for X in (np.arange(12).reshape(4, 3), np.arange(12.0).reshape(4, 3).astype(">f4")):
        table = read_table(write_npy(tmp_path, X))
        np.testing.assert_array_equal(table.X, X)
        OutlierRobustPCA(1).fit(table.X)
