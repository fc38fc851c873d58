"""The tables of the source layout name all there is, and nothing else."""

import re
from pathlib import Path

import pytest

from tests.conftest import WORDS_AND_FILES

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "torpca"


def there():
    """Packages, with a slash, and modules of the package."""
    packages = {f"{path.parent.name}/" for path in SOURCES.glob("*/__init__.py")}
    return packages | {path.name for path in SOURCES.glob("*.py")}


def listed(text):
    """What the tables list: the names in the first column, without the folder they are in."""
    rows = re.findall(r"^\| (`.*?) \|", text, flags=re.MULTILINE)
    names = re.findall(r"`(?:src/torpca/)?([^`/]+(?:/|\.py))`", " ".join(rows))
    return [name for name in names if name not in ("tests/", "benchmarks/", "docs/")]


@pytest.mark.parametrize("page", ["docs/developer.md", "CONTRIBUTING.md"])
def test_the_layout_is_complete(page):
    names = listed((ROOT / page).read_text())
    assert len(names) == len(set(names))
    assert set(names) == there()


def test_a_gap_would_be_found():
    text = (ROOT / "docs" / "developer.md").read_text()
    assert there() - set(listed(re.sub(r"(?m)^.*_files/.*\n", "", text))) == {"_files/"}
    assert there() - set(listed(text.replace("`_names.py`, ", ""))) == {"_names.py"}


def test_files_that_are_not_numerical_are_there():
    files = [path.name for path in Path(__file__).parent.glob("test_*.py")]
    for name in WORDS_AND_FILES:
        assert any(file.startswith(name) for file in files), name


def test_what_a_fit_found_is_read_from_its_subspace():
    # What opens and measures rows is called from outside; a model file restores what it stored.
    private = re.compile(
        r"\b(?:model|estimator|fitted)\._(?!check|coordinates|distances|opened|types_at_fit)\w+"
    )
    files = [path for path in SOURCES.rglob("*.py") if path.parent.name != "_estimators"]
    found = {
        f"{path.name}: {read}"
        for path in files
        if path.name != "_model_file.py"
        for read in private.findall(path.read_text())
    }
    assert not found
