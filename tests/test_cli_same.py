"""Results of the same data and options are replaced without --force, and no others."""

import json
from pathlib import Path

import pytest

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='the command line needs pyarrow: pip install "torpca[cli]"')

from tests.test_atomic import tree
from tests.test_cli import run
from torpca._cli import same
from torpca._cli.same import fingerprint


def refused_because(*arguments):
    before = tree(Path())
    refused = run(*arguments)
    assert refused.exit_code == 1, refused.output
    assert "--force" in refused.output
    assert tree(Path()) == before
    return refused.output


def test_the_same_again_needs_no_force(table):
    arguments = ("fit", "table.csv", "--id-column", "name", "-k", 2, "--na-values", "-9,-99")
    assert run(*arguments).exit_code == 0
    before = tree(Path())
    (Path("torpca-table") / "report.html").write_text("spoilt")
    assert run(*arguments).exit_code == 0
    assert tree(Path()) == before
    table.rename("moved.csv")  # the same contents under another name
    moved = ("fit", "moved.csv", "--out", "torpca-table", *arguments[2:])
    assert run(*moved).exit_code == 0


def test_what_is_different_is_said(table):
    assert run("fit", "table.csv", "--id-column", "name").exit_code == 0
    said = refused_because("fit", "table.csv", "-k", 2, "--scale", "--id-column", "name")
    assert "-k was auto and is 2 now; --scale was not given and is given now." in said
    assert "--id-column was name and is not given now" in refused_because("fit", "table.csv")
    table.write_text(table.read_text() + "\n")
    said = refused_because("fit", "table.csv", "--id-column", "name")
    assert "the data has changed" in said
    assert run("fit", "table.csv", "--id-column", "name", "--force").exit_code == 0
    assert run("fit", "table.csv", "--id-column", "name").exit_code == 0


def test_another_version_is_another_result(table, monkeypatch):
    assert run("fit", "table.csv").exit_code == 0
    monkeypatch.setattr(same, "__version__", "7.3.1")
    assert "and this is 7.3.1" in refused_because("fit", "table.csv")


def test_standard_input_is_never_the_same(table):
    text = table.read_text()
    assert run("fit", "-", "--out", "there", stdin=text).exit_code == 0
    refused = run("fit", "-", "--out", "there", stdin=text)
    assert refused.exit_code == 1
    assert "standard input cannot be compared" in refused.output


@pytest.mark.parametrize("content", [None, 3, {}, {"options": 3}, {"options": {}, "content": "x"}])
def test_results_that_do_not_say_what_they_were_made_from(table, content):
    assert run("fit", "table.csv").exit_code == 0
    path = Path("torpca-table/summary.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "made_from": content}))
    assert "holds model.npz and" in refused_because("fit", "table.csv")


def test_a_folder_is_known_by_all_of_its_files(tmp_path):
    folder = tmp_path / "rows.zarr"
    (folder / "c").mkdir(parents=True)
    (folder / "c" / "0").write_bytes(b"one")
    first = fingerprint(str(folder))
    assert first == fingerprint(str(folder))
    (folder / "c" / "0").write_bytes(b"two")
    assert fingerprint(str(folder)) != first
    (folder / "c" / "0").write_bytes(b"one")
    (folder / "c" / "0").rename(folder / "c" / "1")
    assert fingerprint(str(folder)) != first
    assert fingerprint("-") is None
    assert fingerprint(str(tmp_path / "nothing")) is None
