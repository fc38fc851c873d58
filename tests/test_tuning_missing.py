"""All numbers that were chosen for missing and bad cells are in one file, each with its reason."""

import ast
from pathlib import Path

import pytest

from torpca._missing import tuning

FOLDER = Path(tuning.__file__).parent
MOST = 25


def named_numbers(tree):
    """Names in capitals, anywhere in a module, that are given a number or an expression of some."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        inside = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
        numbers = [v for v in inside if isinstance(v, int | float) and not isinstance(v, bool)]
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        if numbers:
            found += [n for n in names if n.isupper() and len(n) > 1]
    return found


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_numbers_in_capitals_are_in_the_registry(path):
    if path.name != "tuning.py":
        assert named_numbers(ast.parse(path.read_text())) == []


def test_each_number_of_the_registry_has_a_reason_and_they_are_few():
    body = ast.parse((FOLDER / "tuning.py").read_text()).body
    names = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            names += [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            assert isinstance(after, ast.Expr), f"{names[-1]} has no reason"
            assert isinstance(after.value.value, str)
    assert len(names) <= MOST, f"{len(names)} numbers: {names}"


def test_each_number_of_the_registry_is_used():
    texts = [p.read_text() for p in FOLDER.glob("*.py") if p.name != "tuning.py"]
    own = (FOLDER / "tuning.py").read_text()
    for name in (n for n in vars(tuning) if n.isupper()):
        assert any(name in text for text in texts) or own.count(name) > 1, name


def test_a_number_in_capitals_is_seen():
    code = "A1 = 3\nMANY, FEW = 2**20, 4\nNAMES = ('a', 'b')\n_LEAST: float = -1e-3\nn = 3"
    assert named_numbers(ast.parse(code)) == ["A1", "MANY", "FEW", "_LEAST"]
