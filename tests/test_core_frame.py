"""The frame: the unit in which rows are seen, and rows too long to be squared."""

import math

import numpy as np
import pytest

from torpca._core.frame import FAR, choose_frame
from torpca._sources import as_source


def test_ordinary_sizes_are_left_alone():
    source = as_source(np.eye(3))
    for sizes in ([1.0, 2.0, 3.0], [1e-90, 1e99, 0.0], [0.0, 0.0, 0.0]):
        frame = choose_frame(source, np.array(sizes), np.ones(3, dtype=bool))
        assert frame.factors is None
        assert frame.unit == 1.0
        assert frame.about(None) is source


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-101, 1e101, 1e160, 1e300])
def test_the_unit_is_a_power_of_two_near_the_largest_kept_row(size):
    X = size * np.array([[1.0, 0.3], [0.7, 0.1], [1e-3, 0.0]])
    source = as_source(X)
    frame = choose_frame(source, source.magnitudes(), np.ones(3, dtype=bool))
    assert 0.5 < size / frame.unit < 2
    assert math.frexp(frame.unit)[0] == 0.5
    np.testing.assert_array_equal(frame.about(None).take(np.arange(3)) * frame.unit, X)
    seen = frame.about(X[0]).take(np.arange(3)) * frame.unit
    np.testing.assert_array_equal(seen, X - X[0])


def test_rows_beyond_every_kept_one_are_shortened_and_stay_the_farthest():
    X = np.array([[1.0, 0.0], [1e300, 1e299], [1e-300, 0.0], [0.0, 1e120]])
    source = as_source(X)
    keep = np.array([True, False, True, False])
    rows = choose_frame(source, source.magnitudes(), keep).about(None).take(np.arange(4))
    np.testing.assert_array_equal(rows[[0, 2]], X[[0, 2]])
    np.testing.assert_array_equal(rows[3], X[3])  # squares well: as it is
    assert FAR / 4 <= rows[1, 0] <= FAR
    assert rows[1, 1] / rows[1, 0] == pytest.approx(0.1, rel=1e-15)
