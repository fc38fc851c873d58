"""Arrays of NumPy as sources: layouts, blocks, memory maps, and no copies."""

import numpy as np
import pytest

from tests._sources import small
from torpca import as_source
from torpca._sources import base
from torpca._sources.observed import Observed
from torpca.testing import RowSourceContract


class TestNumPy(RowSourceContract):
    def make_source(self, X):
        return as_source(X)


class TestReadOnly(RowSourceContract):
    def make_source(self, X):
        X = X.copy()
        X.flags.writeable = False
        return as_source(X)


class TestObserved(RowSourceContract):
    """Rows of which a pass is told."""

    def make_source(self, X):
        return Observed(as_source(X), lambda number, done: None)


class TestFortranOrder(RowSourceContract):
    def make_source(self, X):
        return as_source(np.asfortranarray(X))


class TestStrided(RowSourceContract):
    def make_source(self, X):
        wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
        return as_source(wide[::-2, ::-3][::-1, ::-1])


class TestOneRowAtATime(RowSourceContract):
    block_rows = 1

    def make_source(self, X):
        return as_source(X, block_rows=self.block_rows)


class TestFiveRowsAtATime(TestOneRowAtATime):
    block_rows = 5


class TestLastRowAlone(TestOneRowAtATime):
    block_rows = 36


class TestMoreRowsThanThereAre(TestOneRowAtATime):
    block_rows = 1000


class TestRowGramInPieces(RowSourceContract):
    @pytest.fixture(autouse=True)
    def few_rows_at_a_time(self, monkeypatch):
        monkeypatch.setattr(base, "BLOCK_BYTES", 10)

    def make_source(self, X):
        return as_source(X)


class TestMemoryMap(RowSourceContract):
    mode = "r"

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.path = tmp_path / "rows"

    def make_source(self, X):
        # A new file each time: an older source may still have the last one mapped.
        self.path = self.path.with_name(self.path.name + "x")
        np.save(self.path, X)
        return as_source(np.load(self.path.with_suffix(".npy"), mmap_mode=self.mode), block_rows=10)


class TestWritableMemoryMap(TestMemoryMap):
    mode = "r+"


def test_a_source_is_taken_as_it_is():
    source = as_source(small())
    assert as_source(source) is source
    view = source.centered(np.ones(5))
    assert as_source(view) is view


@pytest.mark.parametrize(
    "X",
    [
        small(),
        np.asfortranarray(small()),
        small()[::-2, 1:],
        small().astype(np.float32),
        small().astype(np.int8),
        small().astype(">f8"),
    ],
    ids=["C", "Fortran", "strided", "float32", "int8", "big-endian"],
)
def test_arrays_are_not_copied(X):
    assert np.shares_memory(as_source(X).X, X)


def test_the_contract_says_what_a_subclass_must_define():
    with pytest.raises(NotImplementedError, match=r"RowSourceContract must define make_source"):
        RowSourceContract().test_gram()


def test_few_kept_rows_make_few_blocks():
    X = np.random.default_rng(0).standard_normal((1000, 4))
    source = as_source(X, block_rows=100)
    for keep, sizes in (
        (np.arange(1000) % 50 == 3, [20]),
        (np.arange(1000) % 5 == 0, [100, 100]),
        (np.arange(1000) >= 730, [100, 100, 70]),
        (np.ones(1000, dtype=bool), [100] * 10),
        (np.zeros(1000, dtype=bool), []),
    ):
        blocks = list(source.blocks(keep))
        assert [len(block) for _, _, block in blocks] == sizes
        if sizes:
            np.testing.assert_array_equal(np.concatenate([b for _, _, b in blocks]), X[keep])
            rows = [np.arange(1000)[rows] for _, rows, _ in blocks]
            np.testing.assert_array_equal(np.concatenate(rows), np.flatnonzero(keep))
