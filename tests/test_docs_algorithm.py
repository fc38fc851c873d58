"""docs/algorithm.md names what is there, and every number that was chosen is explained."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from torpca import _tuning
from torpca._tuning import Tuning

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "algorithm.md"
TEXT = PAGE.read_text(encoding="utf-8")
# [`function`](file.py), or a class, or a method after the name of its class.
NAMED = re.findall(r"\[`([\w.]+)`\]\(([^)#]+\.py)\)", TEXT)


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


def test_every_step_names_a_function():
    steps = re.findall(r"^\| (\d+) \|(.+)$", TEXT, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, 11))
    for number, line in steps:
        assert re.search(r"\[`[\w.]+`\]\([^)]+\.py\)", line), f"step {number} names no function"
        assert f"**{number}. " in TEXT, f"step {number} is not explained"


def explained():
    """Fields of `Tuning` that a line of text follows."""
    (tuning,) = (n for n in parsed(Path(_tuning.__file__)) if getattr(n, "name", "") == "Tuning")
    for node, following in zip(tuning.body, [*tuning.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(following, ast.Expr):
            text = ast.literal_eval(following.value)
            if len(text.split()) >= 3:
                yield node.target.id


def test_every_number_is_explained():
    missing = {field.name for field in fields(Tuning)} - set(explained())
    assert not {name for name in missing if f"`{name}`" not in TEXT}


@pytest.mark.parametrize(("name", "value"), re.findall(r"`(\w+)` = (\d[\d.]*\d|\d)", TEXT))
def test_numbers_are_those_of_the_code(name, value):
    assert float(value) == getattr(Tuning(), name)


def test_the_numbers_in_the_formulas_are_those_of_the_code():
    # Numbers that the page writes without their names.
    t = Tuning()
    for words in (
        f"about {t.sample_rows} rows",
        f"along {t.n_pairs} directions",
        f"{t.n_subsets} subspaces",
        f"s >= {t.tail:g}",
        f"+ {t.significance:g} sqrt(G(s))",
        f"the cut-off is {t.farthest:g}",
        f"1 at {t.taper:g} of the cut-off",
        f"from {t.least:g} on for residuals",
        f"from {t.least_along:g} on along the next directions",
        f"g above {t.gap:g} for one",
        f"either v is {t.next_variance:g} times smaller",
        f"q must be {t.closer:g} times smaller",
        f"> {t.leverage:g} (sqrt(v_sum)",
    ):
        assert words in " ".join(TEXT.split()), words
