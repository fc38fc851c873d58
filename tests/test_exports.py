"""What the package promises to whoever imports it."""

import doctest
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import torpca

ROOT = Path(__file__).parents[1]
MODULES = sorted(module.name for module in pkgutil.walk_packages(torpca.__path__, prefix="torpca."))


def test_public_names():
    assert torpca.__all__ == [
        "TORP",
        "Comparison",
        "GaussianTORP",
        "Iteration",
        "NoisyTORP",
        "OutlierRobustPCA",
        "RobustSubspace",
        "RowSource",
        "as_source",
        "compare",
        "datasets",
        "load_model",
        "metrics",
        "project_to_ellipsoid",
        "report",
        "rivals",
        "save_model",
        "tail_probability",
        "to_onnx",
        "torp",
        "torp_bin",
        "torp_g",
        "torp_n",
    ]
    for name in torpca.__all__:
        assert getattr(torpca, name).__doc__, name


def test_no_other_name_is_public():
    loaded = {name for name in vars(torpca) if not name.startswith("_")}
    assert loaded - set(torpca.__all__) <= {
        "adapters",
        "plots",
        "testing",
    }  # modules, once loaded


@pytest.mark.parametrize("function", ["torp", "torp_n", "torp_bin", "torp_g"])
def test_signatures_of_the_algorithms(function):
    parameters = inspect.signature(getattr(torpca, function)).parameters
    names = list(parameters)
    assert names[:2] == ["X", "rank"]
    assert names[-3:] == ["max_iter", "center", "callback"]
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in names[2:])
    assert parameters["center"].default is False  # the paper's setting


def test_signature_of_the_estimator_people_use():
    parameters = inspect.signature(torpca.OutlierRobustPCA).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert defaults == {
        "n_components": "auto",
        "trim": "auto",
        "contamination": "auto",
        "limit": 0.99,
        "center": True,
        "scale": False,
        "cells": False,
        "missing_values": None,
        "whiten": False,
        "sample_size": "auto",
        "tol": 1e-8,
        "max_iter": 100,
        "random_state": 0,
    }
    kinds = [parameter.kind for parameter in parameters.values()]
    assert all(kind is inspect.Parameter.KEYWORD_ONLY for kind in kinds[1:])


@pytest.mark.parametrize("kind", ["TORP", "NoisyTORP", "GaussianTORP"])
def test_signatures_of_the_estimators(kind):
    parameters = inspect.signature(getattr(torpca, kind)).parameters
    assert parameters["n_components"].default == 2
    assert parameters["center"].default is True  # as PCA does
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    assert all(p.kind is keyword_only for name, p in parameters.items() if name != "n_components")


def test_importing_and_fitting_load_no_optional_package():
    optional = ["array_api_compat", "array_api_strict", "cupy", "dask", "jax", "matplotlib", "onnx"]
    optional += ["pandas", "plotly", "polars", "pyarrow", "torch", "hypothesis", "pytest"]
    code = (
        "import sys; sys.path[:] = sys.argv[1].split('|'); "
        # scikit-learn loads pandas where there is one, and pandas pyarrow; that is not our doing.
        "import sklearn.base; before = set(sys.modules); import torpca; "
        "X = [[1.0, 2.0], [2.0, 1.0], [0.5, 1.0], [3.0, 2.5], [1.0, 1.0]]; "
        "torpca.TORP(1).fit(X).predict(X); "
        f"print([name for name in {optional} if name in set(sys.modules) - before])"
    )
    command = [sys.executable, "-c", code, "|".join(sys.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_types_are_shipped():
    assert (Path(torpca.__file__).parent / "py.typed").is_file()


def test_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert torpca.__version__ == project["version"]
    try:
        installed = importlib.metadata.version("torpca")
    except importlib.metadata.PackageNotFoundError:
        return  # run from the sources
    assert installed == project["version"]


def python_blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_readme_example_runs():
    blocks = python_blocks((ROOT / "README.md").read_text())
    assert blocks
    # The first block is about any table of numbers.
    known = torpca.datasets.make_outlier_subspace(300, 10, 2, 0.2, noise=0.01, random_state=0)
    scope = {"X": known.X}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), scope)
    X, model = scope["X"], scope["model"]
    # What its comments claim.
    assert model.n_components_ == 3
    assert (model.set_contamination("auto").predict(X)[:300] == -1).all()
    assert model.contributions(X[:5]).orthogonal.shape == (5, 20)


def test_what_the_page_about_the_paper_says_of_its_result():
    (block,) = python_blocks((ROOT / "docs" / "paper.md").read_text())
    scope = {}
    exec(compile(block, "docs/paper.md", "exec"), scope)
    assert scope["result"].components.shape == (3, 20)
    assert scope["result"].support.shape == (1000,)


@pytest.mark.parametrize("name", ["torpca", *MODULES])
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize(
    "name", [n for n in torpca.__all__ if inspect.isroutine(getattr(torpca, n))]
)
def test_functions_show_an_example(name):
    assert ">>>" in getattr(torpca, name).__doc__


@pytest.mark.parametrize("name", ["TORP", "NoisyTORP", "GaussianTORP"])
def test_estimators_show_an_example_and_name_their_parameters(name):
    kind = getattr(torpca, name)
    assert ">>>" in kind.__doc__
    described = kind.__doc__.split("Attributes\n")[0]
    for parameter in inspect.signature(kind).parameters:
        assert re.search(rf"\b{parameter}\b", described), parameter


@pytest.mark.parametrize("name", ["torpca", *MODULES])
def test_modules_say_what_they_are(name):
    assert importlib.import_module(name).__doc__
