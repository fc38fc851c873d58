"""Messages name options of the command line, never parameters of Python."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click", reason='the command line needs click: pip install "torpca[cli]"')
pytest.importorskip("pyarrow", reason='the command line needs pyarrow: pip install "torpca[cli]"')

import torpca as package
from tests.test_cli import run
from tests.test_orp_warnings import two_planes
from torpca import OutlierRobustPCA
from torpca._cli.app import torpca
from torpca._cli.words import TRANSLATIONS, translated
from torpca._files import read_table
from torpca.datasets import make_outlier_subspace

FIT = torpca.commands["fit"]
SOURCE = Path(package.__file__).parent
# Where a fit of a table from a file can raise or warn.
MODULES = [
    *(SOURCE / "_estimators" / f"{name}.py" for name in ("robust", "doubts", "holes", "base")),
    *sorted((SOURCE / "_missing").glob("*.py")),
    *sorted((SOURCE / "_robust").glob("*.py")),
    *sorted((SOURCE / "_sample").glob("*.py")),
    *sorted((SOURCE / "_files").glob("*.py")),
    SOURCE / "_core" / "problem.py",
    SOURCE / "_atomic.py",
]
# Messages about what the command line has no way to ask for.
NOT_HERE = re.compile(
    r"sample_weight|leave_out|center=|must be 'model'|stability_ is computed|max_rows"
    r"|\brho\b|\bmu\b"
)


def parameters(function):
    return {name for name in inspect.signature(function).parameters if name not in ("self", "path")}


NAMES = parameters(OutlierRobustPCA) | parameters(read_table) | {"force", "rank"}
# A name of two words is a name wherever it stands, and others where something is given to them.
PYTHON = re.compile(
    rf"(?<![-\w])({'|'.join(sorted(name for name in NAMES if '_' in name))})\b"
    rf"|(?<![-\w])({'|'.join(sorted(NAMES))})=|\bn_samples\b|\bn_features\b|\bstability_\b"
    r"|(?<!\w)X(?!\w)|OutlierRobustPCA"
)


def text_of(node):
    """A message as it is in the source, with 5 in place of all that is filled in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = (
            value.value if isinstance(value, ast.Constant) else filled(value)
            for value in node.values
        )
        return "".join(parts)
    return ""


def filled(value):
    """What a placeholder stands for."""
    source = ast.unparse(value.value)
    if source == "type(self).__name__":
        return "OutlierRobustPCA"
    return "'x'" if value.conversion == ord("r") else "5"


def messages(path):
    """Texts of at least a few words that a module raises, warns with, yields or returns."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    attributes = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }  # docstrings of attributes
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in documentation | attributes | inside:
            continue
        text = text_of(node)
        if text.count(" ") >= 2 and not text.startswith("^"):
            yield " ".join(text.split())


EVERY = sorted(
    {(path.stem, text) for path in MODULES for text in messages(path) if not NOT_HERE.search(text)}
)


def test_the_walk_finds_what_there_is_to_find():
    texts = "\n".join(text for _, text in EVERY)
    for part in (
        "only 5 of the rows agree on a subspace",
        "With cells=True such cells count as missing",
        "give missing_values=[5] (--na-values=5)",
        "n_components=5 must be between 1 and min(n_samples",
        "leave those rows out with --missing drop-rows (missing='drop-rows')",
        "replace it with --force (force=True in Python)",
    ):
        assert part in texts
    assert len(EVERY) > 100


@pytest.mark.parametrize(
    "text", [text for _, text in EVERY], ids=[f"{stem}-{i}" for i, (stem, _) in enumerate(EVERY)]
)
def test_no_message_names_a_parameter(text):
    said = translated(text, FIT)
    assert not PYTHON.search(said), said


@pytest.mark.parametrize("name", ["compare", "score"])
def test_options_that_a_command_does_not_have_are_those_of_fit(name):
    said = translated("Try a larger max_iter, or cells=True", torpca.commands[name])
    assert said == "Try a larger --max-iter of torpca fit, or --cells of torpca fit"
    assert translated("another n_components", torpca.commands["compare"]) == "another -k"


def test_the_options_of_the_table_are_there():
    there = {
        name
        for command in torpca.commands.values()
        for option in command.params
        for name in option.opts
    }
    assert {option for _, _, option in TRANSLATIONS} - {""} <= there


def test_what_is_not_ours_is_left_alone():
    for text in (
        "rows.csv is empty.",
        "scale of the data, 5 cells, limit 3",
        "Column 'max_iter' of 'rows of X (force).csv' has",
    ):
        assert translated(text, FIT) == text


# ---- as they come --------------------------------------------------------------------------------


def write(X, name="table.csv"):
    head = ",".join(f"f{j}" for j in range(X.shape[1]))
    np.savetxt(name, X, delimiter=",", header=head, comments="")


def cells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 12)) + 0.01 * rng.normal(size=(300, 12))
    X[np.arange(30), np.arange(30) % 12] += 5.0
    return X


def sentinels():
    X = make_outlier_subspace(300, 8, 2, 0.0, noise=0.01, random_state=0).X
    X[:20, 3] = -999.0
    return X


def codes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 10)) + 0.5 * rng.normal(size=(300, 10))
    return np.column_stack([X, rng.random(300) < 0.3])


def heavy():
    rng = np.random.default_rng(0)  # tails with which it takes many iterations
    noise = 0.2 * rng.standard_t(5, size=(300, 8))
    return rng.normal(size=(300, 2)) @ rng.normal(size=(2, 8)) + noise


CASES = {
    "planes": (lambda: two_planes(0.5)[0], ("-k", 2), "another -k"),
    "cells": (cells, ("-k", 2), "With --cells such cells count as missing"),
    "sentinels": (sentinels, ("-k", 2), "give --na-values=-999."),
    "codes": (codes, ("-k", 3, "--scale"), "of the flagged rows have 1 in column"),
    "iterations": (heavy, ("-k", 2, "--max-iter", 1), "larger --max-iter, or another -k"),
    "noise": (lambda: np.random.default_rng(0).normal(size=(400, 60)), (), "-k auto found no gap"),
}


@pytest.mark.parametrize("case", CASES)
def test_warnings_of_a_run(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, options, said = CASES[case]
    write(rows())
    done = run("fit", "table.csv", *options)
    assert done.exit_code == 0, done.output
    assert said in done.output
    assert not PYTHON.search(done.output), done.output


def test_notes_of_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("table.csv", np.random.default_rng(0).normal(size=(50, 3)), delimiter=",")
    done = run("fit", "table.csv")  # the first row is taken for names
    assert "use --no-header." in done.output
    assert not PYTHON.search(done.output), done.output


def test_errors_of_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(cells())
    refused = run("fit", "table.csv", "-k", 30)
    assert refused.exit_code == 1
    assert "-k 30 must be between 1 and 12" in refused.output
    assert not PYTHON.search(refused.output)
    refused = run("compare", "table.csv", "-k", 30)
    assert refused.exit_code == 1
    assert "-k 30 must be between 1 and 12" in refused.output
    assert not PYTHON.search(refused.output)
    refused = run("compare", "table.csv", "-k", 2, "--fraction", 0.7)
    assert "--fraction 0.7 must be" in refused.output
    refused = run("compare", "table.csv", "-k", 2, "--methods", "nonsense")
    assert "--methods: there is no method 'nonsense'" in refused.output


def test_both_ways_to_read_a_doubtful_comma_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a;b\n" + "".join(f"{i},234;{i}\n" for i in range(1, 9)))
    said = run("fit", "a.csv", "--delimiter", ";").stderr
    assert said.endswith("Say which: --thousands ',' or --decimal ','.\n")
