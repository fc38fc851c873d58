"""All numbers that were chosen are in one file a folder, each with its reason, and they are few."""

import ast
from dataclasses import fields
from pathlib import Path

import pytest

import torpca._missing.tuning
import torpca._robust.tuning
from benchmarks.size import named_numbers as numbers_of_size

REGISTRIES = {
    Path(torpca._robust.tuning.__file__): 50,
    Path(torpca._missing.tuning.__file__): 25,
}
OTHERS = sorted(p for r in REGISTRIES for p in r.parent.glob("*.py") if p.name != "tuning.py")


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


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_numbers_in_capitals_are_in_a_registry(path):
    assert numbers_of_size(path.read_text()) == []


@pytest.mark.parametrize(("path", "most"), REGISTRIES.items(), ids=lambda x: getattr(x, "name", x))
def test_numbers_are_few(path, most):
    assert len(numbers_of_size(path.read_text())) <= most


@pytest.mark.parametrize("path", REGISTRIES, ids=lambda path: path.parent.name)
def test_each_number_has_a_reason(path):
    """A comment above it, or a text below it."""
    text = path.read_text()
    lines, body = text.splitlines(), ast.parse(text).body
    body += [node for c in body if isinstance(c, ast.ClassDef) for node in c.body]
    for node, after in zip(body, [*body[1:], None], strict=True):
        if named_numbers(ast.Module([node], [])):
            below = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            assert below or lines[node.lineno - 2].startswith("# "), ast.unparse(node)


@pytest.mark.parametrize("path", REGISTRIES, ids=lambda path: path.parent.name)
def test_each_number_is_used(path):
    source = path.parents[1]
    texts = [p.read_text() for p in source.rglob("*.py") if p != path]
    own = path.read_text()
    names = named_numbers(ast.parse(own))
    if path.parent.name == "_robust":
        names += [field.name for field in fields(torpca._robust.tuning.Tuning)]
    for name in names:
        assert any(name in text for text in texts) or own.count(name) > 1, name


def test_a_number_in_capitals_is_seen():
    code = "A1 = 3\nMANY, FEW = 2**20, 4\nNAMES = ('a', 'b')\n_LEAST: float = -1e-3\nn = 3"
    assert named_numbers(ast.parse(code)) == ["A1", "MANY", "FEW", "_LEAST"]
