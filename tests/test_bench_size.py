"""How `benchmarks/size.py` counts."""

import threading

import pytest

from benchmarks import size

FILES = {
    "src/torpca/__init__.py": "",
    "src/torpca/_words.py": "A = 1\n",
    "src/torpca/metrics.py": "",
    "src/torpca/_robust/__init__.py": "",
    "src/torpca/_robust/tuning.py": (
        '"""Numbers.\n\nTwo lines more."""\n\nclass Tuning:\n    a: int = 1\n'
        '    """What it does."""\n    b: tuple[int, int] = (1, 2)\n\n    def c(self): ...\n'
    ),
    "src/torpca/_stats/law.py": "# A comment.\nFEW, SURE = 2, 4.0  # and another\n",
    "src/torpca/_core/gram.py": "X = (1,\n     2)\n",
    "src/torpca/rivals/_span.py": "",
    "docs/algorithm.md": "# Four words\n\nare here.\n",
    "tests/test_a.py": (
        "import torpca._robust.tuning\nfrom torpca._stats.law import FEW, SURE\n"
        "from torpca import _words, metrics\nfrom torpca.rivals._span import span\n"
    ),
    "tests/deeper/test_b.py": (
        "def test():\n    from torpca._stats.law import FEW as few\n"
        "    from torpca import __version__\n    from other._stats import FEW\n"
    ),
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_small_tree(tree):
    found = {(entry["measure"], entry["of"]): entry for entry in size.text_lines(tree)}
    assert {name: entry["found"] for name, entry in found.items()} == {
        ("lines", "_robust"): 10,
        ("lines", "_stats"): 2,
        ("lines", "_core"): 2,
        ("lines", "robust fit"): 12,
        ("lines", "all"): 15,
        ("code", "_robust"): 4,
        ("code", "_stats"): 1,
        ("code", "_core"): 2,
        ("code", "robust fit"): 5,
        ("code", "all"): 8,
        ("named numbers", "_robust"): 2,
        ("named numbers", "_stats"): 2,
        ("named numbers", "_core"): 1,
        ("named numbers", "robust fit"): 4,
        ("named numbers", "all"): 6,
        ("words", "docs/algorithm.md"): 5,
        ("private modules", "torpca._*"): 1,
        ("private names in tests", "_robust"): 1,
        ("private names in tests", "_stats"): 2,
        ("private names in tests", "modules"): 1,
        ("private names in tests", "rivals"): 1,
        ("private names in tests", "torpca._*"): 4,
        ("private names in tests", "all"): 5,
    }
    aims = {name: entry["aim"] for name, entry in found.items() if entry["aim"] is not None}
    assert aims == size.AIMS
    assert all(found[name]["holds"] for name in aims)
    assert all(entry["holds"] is None for name, entry in found.items() if name not in aims)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A = 1", ["A"]),
        ("A, B_2 = 1, -2.5", ["A", "B_2"]),
        ("_A = ((0.5, 5), (0.6, 15))", ["_A"]),
        ("A: float = 2.0**200", ["A"]),
        ("A = 2 * B", ["A"]),
        ("A = B = 3", ["A", "B"]),
        ("A = B", []),
        ("A = B / C", []),
        ("A = True", []),
        ("A = ()", []),
        ("A = 'text', 1", []),
        ("A = max(1, 2)", []),
        ("a, Ab = 1, 2", []),
        ("def f():\n    A = 1", []),
    ],
)
def test_what_a_named_number_is(text, names):
    assert size.named_numbers(text) == names


def test_an_aim_is_a_largest_number():
    assert size.line("files", "either", 25, 25)["holds"]
    assert not size.line("files", "either", 26, 25)["holds"]


def test_functions_with_names_inside_another_are_counted(tmp_path):
    text = """
def before(): pass
def robust_fit(call):
    class Local:
        def method(self): return inner()
    def inner(): return sum(i for i in [0])
    call()
    return (lambda: Local().method())()
def later(): pass
def fit(call):
    before()
    robust_fit(call)
    later()
"""
    inside, outside = ({}, {})
    for names, folder in ((inside, tmp_path / "torpca"), (outside, tmp_path / "other")):
        exec(compile(text, str(folder / "fit.py"), "exec"), names)

    def call():
        outside["later"]()
        thread = threading.Thread(target=inside["later"])
        thread.start()
        thread.join()

    found = size.reached(lambda: inside["fit"](call), tmp_path / "torpca")
    names = {name.rpartition(".")[2] for _, name, _ in found.functions}
    assert names == {"method", "inner", "later"}
    assert found.files == {str(tmp_path / "torpca" / "fit.py")}
    assert found.depth == 0


def test_a_fit_reaches_the_robust_fit():
    lines = size.fit_lines([(60, 5, 1)])
    assert [entry["of"] for entry in lines] == 2 * ["60 x 5, 1", "either"]
    files, functions = lines[0]["found"], lines[2]["found"]
    assert 5 < files < functions
