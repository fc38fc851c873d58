"""docs/algorithm.md names what is there, and every number that was chosen is explained."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

from torpca._robust import algorithm, tuning
from torpca._robust.tuning import Tuning

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "algorithm.md"
TEXT = PAGE.read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())
# [`function`](file.py), or a class, or a method after the name of its class.
NAMED = re.findall(r"\[`([\w.]+)`\]\(([^)#]+\.py)\)", TEXT)
STEPS = re.findall(r"^\d\. \*\*([\w ]+)\.\*\*", inspect.getdoc(algorithm), re.MULTILINE)
MOST_WORDS = 2000


def names_in(body, before=""):
    """Names of the functions and classes that statements define, methods after their class."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield before + node.name
        if isinstance(node, ast.ClassDef):
            yield from names_in(node.body, f"{before}{node.name}.")


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8")).body


@pytest.mark.parametrize(("name", "link"), NAMED)
def test_a_function_that_the_page_names_is_in_its_file(name, link):
    path = (PAGE.parent / link).resolve()
    assert path.is_file(), link
    assert name in set(names_in(parsed(path))), f"{link} has no {name}"


def test_the_page_has_the_steps_of_the_code_in_their_order():
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
    assert len(STEPS) == 8
    assert list(sections)[:8] == STEPS
    for step in STEPS:
        assert re.search(r"\[`[\w.]+`\]\([^)]+\.py\)", sections[step]), f"{step} names no function"


def test_the_page_can_be_read_at_a_sitting():
    assert len(TEXT.split()) <= MOST_WORDS


def explained():
    """Fields of `Tuning` that a line of text follows."""
    (tuned,) = (n for n in parsed(Path(tuning.__file__)) if getattr(n, "name", "") == "Tuning")
    for node, following in zip(tuned.body, [*tuned.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(following, ast.Expr):
            text = ast.literal_eval(following.value)
            if len(text.split()) >= 3:
                yield node.target.id


def test_every_number_is_explained():
    assert {field.name for field in fields(Tuning)} == set(explained())


def test_the_numbers_on_the_page_are_those_of_the_code():
    t = Tuning()
    for words in (
        f"{t.part_numbers:,} numbers in {t.part_rows[0]} to {t.part_rows[1]} rows",
        f"at least {t.rows_per_dimension} rows for each component",
        f"halves of {t.first_rows} rows",
        f"along {t.n_pairs} directions",
        f"{t.n_subsets} subspaces",
        f"s >= {t.tail:g}",
        f"below Phi(-{t.significance:g})",
        f"the cut-off c is {t.farthest:g}",
        f"`t = (z - {t.taper:g} c) / ({1 - t.taper:.1g} c)`",
        f"less than {t.majority:.0%}".replace("%", " %"),
        f"a gap above {t.gap:g}^p",
        f"its u is {t.next_variance:g}^p times smaller",
        f"at most {t.closer:g}^p times larger",
        f"> {t.tilt:g} (sqrt(s2)",
        f"within {t.within:g} standard deviations",
        f"up to z = {t.far_out:g}",
        f"beyond z = {t.good:g}",
        f"{t.folds} parts of the good rows",
        f"after {t.rounds} iterations",
        f"the tightest {t.inside:.0%}".replace("%", " %"),
    ):
        assert words in WORDS, words
