"""Tables of many columns: the work grows as their number does, and not as its square."""

import sys

import numpy as np
import pytest

from tests._files import arrow_or_skip, write_csv, write_npy, write_parquet
from torpca._files import read_table
from torpca._files.choose import Wanted, places_among
from torpca._files.parquet import StoredParquet

MANY = 150


class Counted:
    """Adds up how often two of its kind are compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return super().__eq__(other)

    __hash__ = None


class Name(Counted, str):
    __hash__ = str.__hash__


class Number(Counted, int):
    __hash__ = int.__hash__


def comparisons(call):
    Counted.compared = 0
    call()
    return Counted.compared


def names(d):
    return [Name(f"x{i}") for i in range(d)]


def choose(d, **asked):
    wanted = Wanted(**asked).checked("a table", names(d))
    wanted.usable(names(d))
    wanted.choose("a table", names(d), [""] * d)


@pytest.mark.parametrize(
    "asked",
    [
        lambda d: {},
        lambda d: {"columns": tuple(names(d))},
        lambda d: {"exclude": tuple(names(d)[: d // 2])},
        lambda d: {"id_column": names(d)[-1]},
        lambda d: {"columns": tuple(names(d)[:-1]), "id_column": names(d)[-1]},
    ],
    ids=["all", "columns", "exclude", "id", "columns and id"],
)
def test_columns_are_not_searched_for_one_by_one(asked):
    few, many = (comparisons(lambda d=d: choose(d, **asked(d))) for d in (MANY, 2 * MANY))
    assert many <= 2.5 * few + 50


def test_places_are_not_searched_for_one_by_one():
    def find(d):
        held = [Number(i) for i in range(d)]
        found = places_among(held, [Number(i) for i in range(d - 1, -1, -1)])
        assert found.tolist() == list(range(d - 1, -1, -1))

    few, many = (comparisons(lambda d=d: find(d)) for d in (MANY, 2 * MANY))
    assert many <= 2.5 * few + 50


def test_arrow_is_asked_for_its_columns_a_fixed_number_of_times(tmp_path, monkeypatch):
    arrow_or_skip()
    import pyarrow.parquet as pq

    asked = []

    class Schema:
        def __init__(self, schema):
            self.schema = schema

        def __getattr__(self, name):
            asked.append(name)
            return getattr(self.schema, name)

    real = pq.ParquetFile.schema_arrow
    monkeypatch.setattr(pq.ParquetFile, "schema_arrow", property(lambda f: Schema(real.fget(f))))
    for d in (MANY, 2 * MANY):
        path = write_parquet(tmp_path, np.random.default_rng(0).standard_normal((5, d)))
        asked.clear()
        assert StoredParquet(path, wanted=Wanted(), chunk_bytes=2**20).shape == (5, d)
        # A list of all columns is made each time.
        assert len(asked) <= 5


@pytest.mark.parametrize("write", [write_csv, write_parquet, write_npy])
def test_twice_the_columns_take_twice_the_calls(tmp_path, write):
    def calls(d):
        path = write(tmp_path, np.random.default_rng(0).standard_normal((6, d)))
        count = 0

        def counting(frame, event, arg):
            nonlocal count
            count += event in ("call", "c_call")

        read_table(path)  # what is imported is imported
        before = sys.getprofile()
        sys.setprofile(counting)
        try:
            read_table(path)
        finally:
            sys.setprofile(before)
        return count

    assert calls(4 * MANY) <= 2.2 * calls(2 * MANY)
