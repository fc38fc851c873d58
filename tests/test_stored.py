"""What travels between passes comes back from bytes as it was."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from tests.test_summary import N, reference, table
from torpca import as_source
from torpca._robust.measure import Summary, measure
from torpca._robust.reference import Reference
from torpca._robust.spread import Spread

stored = pytest.importorskip("torpca._core.stored")


def again(value):
    return stored.from_bytes(type(value), stored.to_bytes(value))


def assert_equal(found, expected):
    assert type(found) is type(expected)
    if is_dataclass(expected):
        for field in fields(expected):
            assert_equal(getattr(found, field.name), getattr(expected, field.name))
    else:
        np.testing.assert_array_equal(found, expected)


REFERENCES = {
    "plain": {},
    "not centred": {"centered": False},
    "no limit along directions": {"along": np.inf},
    "in float32": {"single": True},
}


@pytest.mark.parametrize("options", REFERENCES.values(), ids=REFERENCES)
def test_a_reference_comes_back_as_it_was(options):
    at = reference(table(0), **options)
    assert_equal(again(at), at)


def test_a_reference_of_rows_without_noise_comes_back_as_it_was():
    at = reference(table(0))
    at = replace(at, rule=replace(at.rule, residual=Spread(0.0, 0.0, 1.0)))
    assert again(at).exact
    assert_equal(again(at), at)


def test_parts_measured_elsewhere_add_up():
    X = table(0)
    at = reference(X)
    sent = stored.to_bytes(at)
    halves = []
    for rows in np.array_split(np.arange(N), 3):
        there = stored.from_bytes(Reference, sent)
        found = measure(as_source(X[rows]), there, np.ones(len(rows))).summary
        halves.append(stored.from_bytes(Summary, stored.to_bytes(found)))
    total = halves[0] + halves[1] + halves[2]
    whole = measure(as_source(X), at, np.ones(N)).summary
    for field in fields(Summary):
        a, b = getattr(total, field.name), getattr(whole, field.name)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * max(np.max(np.abs(b)), whole.weight))


def test_bytes_are_a_file_of_numpy(tmp_path):
    at = reference(table(0))
    (tmp_path / "reference.npz").write_bytes(stored.to_bytes(at))
    with np.load(tmp_path / "reference.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["V"], at.V)
