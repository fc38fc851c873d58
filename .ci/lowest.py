"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

    python .ci/lowest.py > lowest.txt && pip install -c lowest.txt ".[test]"

Each requirement of the package and of its extras must name a lowest version (>=) or one alone (==).
Where two of them speak of one package, the higher bound is the one that counts.
"""

import re
import tomllib
from itertools import chain
from pathlib import Path

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?(?P<bounds>[^;]*)")
BOUND = re.compile(r"(?:>=|==)\s*(?P<version>[\d.]+)")


def lowest(project):
    """Lowest version of each package, by name, that the table [project] allows."""
    extras = project.get("optional-dependencies", {})
    versions = {}
    for requirement in chain(project["dependencies"], *extras.values()):
        parts = REQUIREMENT.match(requirement)
        if parts["name"] == project["name"]:  # its own extras, which are all walked through
            continue
        bound = BOUND.search(parts["bounds"])
        if bound is None:
            raise ValueError(f"{requirement!r} has no lowest version: write {parts['name']}>=...")
        known = versions.setdefault(parts["name"], bound["version"])
        versions[parts["name"]] = max(known, bound["version"], key=numbers)
    return versions


def numbers(version):
    """Parts of a version as numbers, so that 1.10 is above 1.9."""
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    file = Path(__file__).resolve().parents[1] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    for name, version in lowest(project).items():
        print(f"{name}=={version}")
