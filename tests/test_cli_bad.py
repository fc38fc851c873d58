"""Everything that can be wrong with a file: one sentence, a code, and nothing half-written."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='the command line needs pyarrow: pip install "torpca[cli]"')

from click.testing import CliRunner

from tests.test_atomic import forbid, tree
from tests.test_model_file import rewrite
from torpca._cli.app import torpca
from torpca._model_file import VERSION

ROWS = np.random.default_rng(0).standard_normal((60, 4)) * [4, 3, 0.1, 0.1]
GOOD = "\n".join(["a,b,c,d", *(",".join(map(repr, row)) for row in ROWS.tolist())]) + "\n"


def run(*arguments):
    return CliRunner().invoke(torpca, [str(a) for a in arguments])


def refuses(done, *words):
    """That a command failed with one line, which says all of this."""
    assert done.exit_code != 0
    said = done.stderr.splitlines()
    assert len(said) == 1, done.output
    assert said[0].startswith("torpca: ")
    for word in words:
        assert word in said[0]
    assert done.stdout == ""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def whole(name):
    """Bytes of the good rows as a file of that name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if name.endswith(".parquet"):
        pq.write_table(pa.table(dict(zip("abcd", ROWS.T, strict=True))), name)
    else:
        np.save(name, ROWS)
    return Path(name).read_bytes()


def test_a_folder_is_not_a_table_and_nothing_in_it_is_read(here, monkeypatch):
    monkeypatch.setattr("torpca._cli.same.sha256_of", lambda path: pytest.fail("it was read"))
    (here / "a.csv").write_text(GOOD)
    refuses(run("fit", "."), "is a folder", "Name a file in it")


def test_results_cannot_be_inside_the_data(here):
    (here / "a.csv").write_text(GOOD)
    refuses(run("fit", "a.csv", "--out", "a.csv"), "would be inside a.csv", "another --out")


FILES = {
    "empty": ("a.csv", lambda: b"", ["is empty"]),
    "names and no rows": ("a.csv", lambda: b"a,b,c\n", ["no rows"]),
    "lines above the names": ("a.csv", lambda: b"# run 5\na,b\n1,2\n", ["--skip-rows"]),
    "columns without names": ("a.csv", lambda: b"run 5,,\na,b,c\n1,2,3\n", ["--skip-rows"]),
    "one column": ("a.csv", lambda: b"a\n1\n2\n3\n", ["only one column"]),
    "text only": ("a.csv", lambda: b"a,b\nx,y\nz,w\n", ["no column of numbers"]),
    "ragged": ("a.csv", lambda: b"a,b,c\n1,2,3\n4,5\n6,7,8\n", ["Line 3", "2 cells"]),
    "mixed types": ("a.csv", lambda: b"a,b\n1,2\n4,five\n7,8\n9,3\n", ["'five' in row 2"]),
    "no values": ("a.csv", lambda: b"a,b\n,\nnan,\n", ["no column of numbers", "no values"]),
    "infinite": ("a.csv", lambda: b"a,b\n1,2\n4,inf\n7,8\n", ["1 infinite value"]),
    "duplicate names": ("a.csv", lambda: b"a,a,b\n1,2,3\n4,5,6\n", ["more than once: 'a'"]),
    "wrong delimiter": ("a.csv", lambda: b"a;b;c\n1;2;3\n4;5;6\n", ["--delimiter ';'"]),
    "another encoding": ("a.csv", lambda: "größe,b\n1,2\n".encode("latin-1"), ["UTF-8"]),
    "truncated Parquet": ("a.parquet", lambda: whole("a.parquet")[:-40], ["only in part"]),
    "truncated npy": ("a.npy", lambda: whole("a.npy")[:-40], ["cut off"]),
    "an unknown kind": ("a.xyz", lambda: b"1 2 3", ["ends in '.xyz'"]),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_data(case, here):
    name, content, words = FILES[case]
    data = content()
    Path(name).write_bytes(data)
    refuses(run("fit", name, "--out", "there"), name, *words)
    assert tree(here) == {name: data}


def newer(path):
    rewrite(path, lambda h, a: h.update(format_version=VERSION + 1, torpca_version="7.3.1"))


def edited(path):
    rewrite(path, lambda h, a: a.pop("mean"))


def damaged(path):
    content = path.read_bytes()
    place = content.index(b"mean.npy") + 300  # among its numbers
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


MODELS = {
    "edited": (edited, ["its contents are wrong"]),
    "damaged": (damaged, ["is damaged or cut short", "Bad CRC-32"]),
    "cut off": (cut, ["model.npz"]),
    "from a newer version": (newer, ["Install torpca 7.3.1"]),
    "no model": (lambda path: path.write_text("hello"), ["model.npz"]),
    "gone": (lambda path: path.unlink(), ["model.npz"]),
}


@pytest.mark.parametrize("case", MODELS)
def test_bad_models(case, here):
    Path("rows.csv").write_text(GOOD)
    assert run("fit", "rows.csv", "--out", "there").exit_code == 0
    spoil, words = MODELS[case]
    spoil(Path("there") / "model.npz")
    before = tree(here)
    refuses(run("score", "there", "rows.csv", "--out", "judged.csv"), *words)
    assert tree(here) == before


@pytest.mark.parametrize("there", [False, True])
def test_no_permission_to_write(here, monkeypatch, there):
    Path("rows.csv").write_text(GOOD)
    if there:
        assert run("fit", "rows.csv", "--out", "there").exit_code == 0
    before = tree(here)
    forbid(monkeypatch, Path("there") if there else Path("."))
    refuses(run("fit", "rows.csv", "--out", "there", "--force"), "there", "may not write")
    assert tree(here) == before


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("full_after", [0, 1, 3])
def test_a_full_disk(here, monkeypatch, there, full_after):
    Path("rows.csv").write_text(GOOD)
    if there:
        assert run("fit", "rows.csv", "--out", "there").exit_code == 0
    before = tree(here)
    flushed, sync = [], os.fsync

    def fsync(number):
        flushed.append(number)
        if len(flushed) > full_after:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", fsync)
    refuses(run("fit", "rows.csv", "--out", "there", "--force", "-k", 1), "there", "disk is full")
    assert tree(here) == before
