"""The package says that it is typed: what a user's type checker makes of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import torpca

USE = Path(__file__).with_name("typed_use.py")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Folder for what mypy learns of NumPy, once for all tests."""
    return tmp_path_factory.mktemp("mypy")


def mypy(path, cache):
    """What mypy says of a file of a user, who has no settings."""
    pytest.importorskip("mypy", reason='types need mypy: pip install "torpca[lint]"')
    folder = Path(torpca.__file__).parents[1]
    environment = dict(os.environ)
    if folder.name not in ("site-packages", "dist-packages"):  # there mypy looks by itself
        environment["MYPYPATH"] = str(folder)
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--config-file="]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--cache-dir", str(cache), str(path)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cache,
    )
    return done.stdout + done.stderr


def test_types_are_what_a_user_takes_them_for(cache):
    assert mypy(USE, cache) == ""


def test_a_wrong_use_is_found(tmp_path, cache):
    path = tmp_path / "wrong.py"
    path.write_text(
        "from torpca import OutlierRobustPCA\n"
        "reveal_type(OutlierRobustPCA(2).fit([[1.0]]))\n"
        "n: str = OutlierRobustPCA(2).fit([[1.0]]).n_components_\n"
    )
    said = mypy(path, cache)
    assert 'Revealed type is "torpca._estimators.robust.OutlierRobustPCA"' in said
    assert 'expression has type "int", variable has type "str"' in said


def test_names_that_python_loads_late_are_known_and_others_are_not(tmp_path, cache):
    path = tmp_path / "names.py"
    path.write_text(
        "import torpca\n"
        "reveal_type(torpca.plots.ScreeDisplay.from_estimator)\n"
        "reveal_type(torpca.testing.RowSourceContract())\n"
        "reveal_type(torpca.metrics.subspace_error)\n"
        "torpca.RobustPCA\n"
        "from torpca import nonsense\n"
    )
    said = mypy(path, cache)
    assert said.count("Revealed type is") == 3
    assert "Any" not in said.splitlines()[1]
    assert 'Module has no attribute "RobustPCA"' in said
    assert 'Module "torpca" has no attribute "nonsense"' in said
