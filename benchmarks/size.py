"""How much there is to read and to know: lines, chosen numbers, what a fit reaches, private names.

Run from the repository root:

    python -m benchmarks.size            # ten seconds
    python -m benchmarks.size --no-fits  # counts of the text alone

- "lines" are all lines of a folder of src/torpca; "code" leaves out blank lines, comments and
  docstrings.
- "named numbers" are names in capitals that a module gives to a number or a tuple of numbers, and
  the fields of `Tuning`. An expression counts if it has a number of its own, such as 2 * MANY; what
  a function returns does not, nor does a number that has no name.
- "files" and "functions" are those of torpca that run inside `robust_fit`, of two fits and of both
  together; methods and functions in functions count, lambdas and comprehensions do not.
- "private modules" are those beside `torpca/__init__.py`, without folders.
- "private names in tests" are different names that tests import from a private module, or private
  modules that they import as a whole: by folder, those of the private modules together, and sums
  with and without private modules of public folders.

Beside some there is an aim, a largest number. The robust fit is the first four folders together.
"""

import argparse
import ast
import io
import re
import sys
import threading
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torpca
from benchmarks._report import report
from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace

Line = dict[str, Any]

ROOT = Path(__file__).parents[1]
# The folders of the robust fit, and others that are counted by themselves.
FIT = ("_robust", "_stats", "_select", "_sample")
FOLDERS = (*FIT, "_missing", "_core")
THE_FIT, ALL, PRIVATE, MODULES = "robust fit", "all", "torpca._*", "modules"
AIMS = {
    ("lines", THE_FIT): 2400,
    ("named numbers", THE_FIT): 50,
    ("words", "docs/algorithm.md"): 2000,
    ("private modules", PRIVATE): 5,
    ("private names in tests", PRIVATE): 150,
}
MOST_FILES, MOST_FUNCTIONS = 25, 130
# Rows, features, components: a table that is fitted as a whole, and one that is passed over.
FITS = ((2000, 50, 5), (150_000, 180, 6))
COLUMNS = ("measure", "of", "found", "aim", "holds")
CAPITALS = re.compile(r"_?[A-Z][A-Z0-9_]*")
NOT_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
# Flag of the code of a function; that of a module or of a class body has not got it.
IS_FUNCTION = 0x1


def line(measure: str, of: str, found: int, aim: int | None = None) -> Line:
    """One line of the table."""
    aim = AIMS.get((measure, of)) if aim is None else aim
    holds = None if aim is None else found <= aim
    return {"measure": measure, "of": of, "found": found, "aim": aim, "holds": holds}


# ---- text ---------------------------------------------------------------------------------------


def count_code(text: str) -> int:
    """Lines of code: without blank lines, comments and docstrings."""
    used, strings = set[int](), set[int]()
    for node in ast.walk(ast.parse(text)):
        # A string that stands by itself says something of what it follows.
        match node:
            case ast.Expr(ast.Constant(str()), lineno=first, end_lineno=last):
                strings.update(range(first, (last or first) + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used - strings)


def named_numbers(text: str) -> list[str]:
    """Names in capitals of a module that are numbers, and the fields of `Tuning`."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == "Tuning":
            fields = [entry for entry in node.body if isinstance(entry, ast.AnnAssign)]
            found += [f"Tuning.{ast.unparse(entry.target)}" for entry in fields]
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                found += _numbers_of(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            found += _numbers_of(node.target, node.value)
    return found


def _numbers_of(target: ast.expr, value: ast.expr) -> list[str]:
    """Names of an assignment that become numbers: of A, B = 1, 2 both."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return [name for pair in pairs for name in _numbers_of(*pair)]
    if isinstance(target, ast.Name) and CAPITALS.fullmatch(target.id) and _is_number(value):
        return [target.id]
    return []


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is a number or a tuple of numbers, with a literal one somewhere."""
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(_is_number, value.elts))
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(map(_is_number, sides)) and all(
            _is_number(side) or isinstance(side, ast.Name) for side in sides
        )
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def private_imports(text: str) -> Iterator[tuple[str, str]]:
    """Private names that a module imports from torpca: the folder each is in, and the whole."""
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            first, *rest = name.split(".")
            # The last name may be anything in a private module, or be one itself.
            private = any(part.startswith("_") and not part.endswith("__") for part in rest)
            if first == "torpca" and private:
                yield rest[0], name


def by_place(names: Iterable[tuple[str, str]], package: Path) -> dict[str, int]:
    """Counts of different private names by folder, those of single modules together, and sums."""
    different = set(names)
    folders = {path.name for path in package.iterdir() if path.is_dir()}
    counts = Counter(first if first in folders else MODULES for first, _ in different)
    below = sum(first.startswith("_") for first, _ in different)
    return {**dict(sorted(counts.items())), PRIVATE: below, ALL: len(different)}


def by_folder(package: Path) -> dict[str, list[str]]:
    """Texts of the modules of a package, by folder; those of the robust fit and all together."""
    texts = {
        path.relative_to(package): path.read_text(encoding="utf-8")
        for path in sorted(package.rglob("*.py"))
    }
    found = {}
    for folder in FOLDERS:
        inside = [text for path, text in texts.items() if path.parts[0] == folder]
        if inside:
            found[folder] = inside
    found[THE_FIT] = [text for folder in FIT for text in found.get(folder, ())]
    found[ALL] = list(texts.values())
    return found


def text_lines(root: Path) -> list[Line]:
    """What the text of a repository says."""
    package = root / "src" / "torpca"
    folders = by_folder(package)
    counts: dict[str, Callable[[str], int]] = {
        "lines": lambda text: len(text.splitlines()),
        "code": count_code,
        "named numbers": lambda text: len(named_numbers(text)),
    }
    found = [
        line(measure, folder, sum(map(count, texts)))
        for measure, count in counts.items()
        for folder, texts in folders.items()
    ]
    page = "docs/algorithm.md"
    found.append(line("words", page, len((root / page).read_text(encoding="utf-8").split())))
    modules = [path for path in package.glob("_*.py") if not path.stem.endswith("__")]
    found.append(line("private modules", PRIVATE, len(modules)))
    tests = sorted((root / "tests").rglob("*.py"))
    names = [name for path in tests for name in private_imports(path.read_text(encoding="utf-8"))]
    for place, count in by_place(names, package).items():
        found.append(line("private names in tests", place, count))
    return found


# ---- fits ---------------------------------------------------------------------------------------


@dataclass
class Reached:
    """Functions of a package that run inside one of its functions, in any thread."""

    package: Path
    inside: str
    functions: set[tuple[str, str, int]] = field(default_factory=set)
    """File, name and first line of each."""
    depth: int = 0

    @property
    def files(self) -> set[str]:
        return {file for file, _, _ in self.functions}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if event == "call" and self.depth and self.counts(code):
            self.functions.add((code.co_filename, code.co_qualname, code.co_firstlineno))
        if code.co_name == self.inside and code.co_filename.startswith(str(self.package)):
            self.depth += 1 if event == "call" else -1

    def counts(self, code: CodeType) -> bool:
        """Whether it is a function of the package with a name."""
        of_package = code.co_filename.startswith(str(self.package))
        return of_package and bool(code.co_flags & IS_FUNCTION) and code.co_name[0] != "<"


def reached(call: Callable[[], object], package: Path, inside: str = "robust_fit") -> Reached:
    """What a call reaches inside a function."""
    found = Reached(package, inside)
    threading.setprofile(found)
    sys.setprofile(found)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def fit_lines(shapes: Iterable[tuple[int, int, int]] = FITS) -> list[Line]:
    """Files and functions that fits reach below `robust_fit`."""
    package, found = Path(torpca.__file__).parent, {}
    for n, d, k in shapes:
        X = make_outlier_subspace(n, d, k, 0.05, outliers="mixed", noise=0.01, random_state=0).X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            one = reached(partial(OutlierRobustPCA(k).fit, X), package)
        found[f"{n} x {d}, {k}"] = one
    either = Reached(package, "", set().union(*(one.functions for one in found.values())))
    found["either"] = either
    return [
        *(line("files", name, len(one.files), MOST_FILES) for name, one in found.items()),
        *(line("functions", n, len(one.functions), MOST_FUNCTIONS) for n, one in found.items()),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-fits", action="store_true", help="counts of the text alone")
    args = parser.parse_args()
    lines = text_lines(ROOT)
    if not args.no_fits:
        lines += fit_lines()
    report("size", lines, COLUMNS)
    aims = [entry for entry in lines if entry["aim"] is not None]
    print(f"\n{len(aims)} aims, {sum(not entry['holds'] for entry in aims)} missed")


if __name__ == "__main__":
    main()
