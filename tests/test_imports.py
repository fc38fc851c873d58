"""What is loaded when: a name of the package when it is first asked for, and not before."""

import ast
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import torpca
from torpca import OutlierRobustPCA

HEAVY = ("sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "torch", "dask", "rich", "zarr")


def python(*arguments, stdin=None):
    """A fresh interpreter that sees what this one does."""
    path = repr([str(Path(torpca.__file__).parents[1]), *sys.path])
    start = f"import sys; sys.path[:] = {path}\n"
    code = start + arguments[0] + "\nprint('loaded:', *sys.modules)"
    command = [sys.executable, "-c", code, *arguments[1:]]
    done = subprocess.run(command, capture_output=True, input=stdin)
    assert done.returncode == 0, done.stderr.decode()
    said, _, loaded = done.stdout.decode().rpartition("loaded:")
    return said.strip(), {name.partition(".")[0] for name in loaded.split()}


def command_line(*arguments):
    code = (
        "from torpca._cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )
    return python(code, *arguments)


@pytest.mark.parametrize(
    "code", ["import torpca", "import torpca; dir(torpca)", "import torpca; torpca.metrics"]
)
def test_an_import_loads_no_large_package(code):
    _, loaded = python(code)
    assert "torpca" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_an_estimator_does_load_them():
    # So that the tests beside this one could fail.
    _, loaded = python("from torpca import OutlierRobustPCA")
    assert {"sklearn", "scipy"} <= loaded


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"]]
    + [[name, "--help"] for name in ("fit", "score", "report", "compare", "demo", "onnx")],
    ids=" ".join,
)
def test_help_loads_no_large_package(arguments):
    said, loaded = command_line(*arguments)
    assert said.startswith(("Usage: ", "torpca, version "))
    assert "click" in loaded
    assert loaded.isdisjoint((*HEAVY, "numpy"))


def test_type_checkers_and_python_have_the_same_names():
    tree = ast.parse(Path(torpca.__file__).read_text())
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names}
    assert homes == torpca._HOMES
    assert set(homes) - set(torpca.__all__) == {"adapters", "plots", "testing"}


@pytest.mark.parametrize("name", ["datasets", "metrics", "plots", "rivals", "testing"])
def test_modules_are_attributes(name):
    said, _ = python(f"import torpca; print(torpca.{name}.__name__)")
    assert said == f"torpca.{name}"


def test_a_star_brings_the_public_names():
    said, _ = python(
        "space = {}; exec('from torpca import *', space); space.pop('__builtins__'); print(*space)"
    )
    assert sorted(said.split()) == sorted(torpca.__all__)


def test_dir_and_help_show_all_names():
    said, _ = python("import torpca; print(*dir(torpca))")
    assert {*torpca.__all__, "adapters", "plots", "testing", "__version__"} <= set(said.split())
    said, _ = python("import pydoc, torpca; print(pydoc.plain(pydoc.render_doc(torpca)))")
    for name in set(torpca.__all__) - {"datasets", "metrics", "rivals"}:
        assert re.search(rf"\b{name}\(", said), name


def test_a_name_is_looked_up_once():
    said, _ = python(
        "import torpca; before = 'torp' in vars(torpca); torpca.torp; "
        "print(before, 'torp' in vars(torpca), torpca.torp is torpca.torp)"
    )
    assert said == "False True True"


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'torpca' has no attribute 'RobustPCA'"):
        torpca.RobustPCA  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'RobustPCA' from 'torpca'"):
        from torpca import RobustPCA  # noqa: F401
    assert not hasattr(torpca, "nonsense")


def test_a_pickle_finds_its_class_where_nothing_was_imported():
    X = np.random.default_rng(0).standard_normal((60, 4))
    model = OutlierRobustPCA(2).fit(X)
    said, _ = python(
        "import pickle; print(repr(pickle.load(sys.stdin.buffer).components_.tolist()))",
        stdin=pickle.dumps(model),
    )
    assert ast.literal_eval(said) == model.components_.tolist()
