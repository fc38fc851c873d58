"""The checks themselves: what .ci/run and pyproject.toml promise about versions and tests."""

import importlib.util
import os
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = SETTINGS["project"]["optional-dependencies"]


@pytest.fixture(scope="module")
def lowest():
    spec = importlib.util.spec_from_file_location("lowest", ROOT / ".ci" / "lowest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.lowest


def test_every_requirement_has_a_lowest_version(lowest):
    versions = lowest(SETTINGS["project"])
    assert versions["numpy"] == "2.1"
    stated = chain(SETTINGS["project"]["dependencies"], *EXTRAS.values())
    names = {re.match(r"[\w.-]+", requirement)[0] for requirement in stated}
    assert set(versions) == names - {"torpca"}


def test_the_higher_of_two_bounds_counts(lowest):
    extras = {"one": ["b[x]>=1.9,<3"], "two": ["b>=1.10", "p[one]", "c==4.0.1"]}
    project = {"name": "p", "dependencies": ["a>=2"], "optional-dependencies": extras}
    assert lowest(project) == {"a": "2", "b": "1.10", "c": "4.0.1"}
    with pytest.raises(ValueError, match=r"'a<3' has no lowest version: write a>="):
        lowest({"name": "p", "dependencies": ["a<3"]})


def test_tools_whose_verdict_changes_are_pinned():
    pinned = {line.split("==")[0] for line in EXTRAS["lint"] if "==" in line}
    assert {"ruff", "mypy"} <= pinned


def test_slow_studies_run_in_ci_alone():
    assert "-m 'not slow and not study'" in SETTINGS["tool"]["pytest"]["ini_options"]["addopts"]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"-m pytest .*-m slow$", script, re.MULTILINE)


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="runs in a worker of xdist")
def test_a_worker_has_as_many_threads_as_it_was_told():
    told = int(os.environ["OMP_NUM_THREADS"])  # 1, unless you said otherwise
    assert {pool["num_threads"] for pool in threadpool_info()} == {told}
