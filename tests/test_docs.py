"""The documentation says what is true: its code runs, its links lead somewhere, its site builds."""

import bisect
import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import torpca
from docs.hooks.tutorials import read_cells, run
from torpca import OutlierRobustPCA, save_model
from torpca._numbers import whole
from torpca._robust.large import MAX_FEATURES, rows_to_begin_with
from torpca._select.rank import RankRule
from torpca.datasets import make_outlier_subspace
from torpca.testing import RowSourceContract

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]
TUTORIALS = sorted((DOCS / "tutorials").glob("*.py"))

FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:[ \t]+(\S+)", re.MULTILINE)


def name(path):
    return str(path.relative_to(ROOT))


def needs(*packages):
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")


def blocks(text):
    """(language, what follows it on the line, content) of each block of code, in order."""
    return [(match[2], match[3].strip(), match[4]) for match in FENCE.finditer(text)]


# ---- code ----------------------------------------------------------------------------------------


def command_lines(content):
    return [line for line in content.splitlines() if line.startswith("torpca ")]


def runs(path):
    return any(
        language == "python" or (language == "bash" and command_lines(content))
        for language, _, content in blocks(path.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("path", [path for path in PAGES if runs(path)], ids=name)
def test_what_a_page_shows_can_be_run_from_top_to_bottom(path, tmp_path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    if "torpca.plots" in text:
        needs("matplotlib")
        import matplotlib

        matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    # Pages may speak of the reader's own X before they make one, and of a model of it.
    X = make_outlier_subspace(300, 12, 3, 0.2, noise=0.01, mean=1.0, random_state=0).X
    if "model.npz" in text:
        save_model(OutlierRobustPCA().fit(X), "model.npz")
    names, printed = {"X": X, "__name__": "__page__"}, ""
    for language, marks, content in blocks(text):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(content, f"{name(path)}:\n{content}", "exec"), names)
            printed = out.getvalue()
        elif language == "bash":
            for line in command_lines(content):
                run_command(line)
        elif 'title="prints"' in marks:
            assert printed == content
    run_contracts(names)
    if "torpca.plots" in text:
        import matplotlib.pyplot as plt

        plt.close("all")


def run_contracts(names):
    """Run the tests that a page shows, as pytest would."""
    for value in names.values():
        if isinstance(value, type) and RowSourceContract in value.__bases__:
            tests = [getattr(value, test) for test in dir(value) if test.startswith("test_")]
            for test in filter(None, tests):
                test(value())


def run_command(line):
    """Run a line of the command `torpca`, here; skip the test where that is not installed."""
    needs("click", "rich", "pyarrow")
    command = [sys.executable, "-m", "torpca", *shlex.split(line)[1:]]
    here = {**os.environ, "PYTHONPATH": str(Path(torpca.__file__).parents[1])}
    done = subprocess.run(command, env=here, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def test_the_commands_of_benchmarks_are_there():
    for path in TEXTS:
        for module in re.findall(r"python -m (benchmarks\.\w+)", path.read_text(encoding="utf-8")):
            file = ROOT / (module.replace(".", "/") + ".py")
            assert file.is_file(), f"{name(path)} speaks of {module}"


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=name)
def test_a_tutorial_finds_what_it_says(path, site):
    # The build has run it, and ends with the first cell that fails.
    page = (site / path.relative_to(DOCS).with_suffix(".html")).read_text(encoding="utf-8")
    assert '<h2 id="what-was-found">' in page
    assert "<strong>What to look for:</strong>" in page
    cells = read_cells(path.read_text(encoding="utf-8"))
    assert cells[0].text.startswith("# ")
    assert any(cell.kind == "check" for cell in cells)


@pytest.mark.slow
def test_a_tutorial_that_is_wrong_ends_the_build(tmp_path):
    needs("matplotlib")
    path = tmp_path / "wrong.py"
    path.write_text("# %% [markdown]\n# # Wrong\n\n# %%\nx = 1\n\n# %% [check]\nassert x == 2\n")
    with pytest.raises(AssertionError) as failed:
        run(path)
    last = failed.traceback[-1]
    assert (Path(last.path).name, last.lineno + 1) == ("wrong.py", 8)


# ---- links ---------------------------------------------------------------------------------------


def anchors(text):
    """Names that GitHub and the site give to the headings of a page."""
    prose = FENCE.sub("", text)
    headings = re.findall(r"^#+[ \t]+(.+?)[ \t]*$", prose, re.MULTILINE)
    bare = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"\s", "-", heading) for heading in bare}


def words_of(path):
    """Text of a page or a tutorial."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return "\n".join(cell.text for cell in read_cells(text) if cell.kind == "markdown")
    return text


@pytest.mark.parametrize("path", [*TEXTS, *TUTORIALS], ids=name)
def test_links_lead_to_files_and_headings(path):
    prose = FENCE.sub("", words_of(path))
    for groups in LINK.findall(prose):
        link = "".join(groups)
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        assert target.exists(), f"{name(path)} links to {link}"
        assert target.is_relative_to(ROOT), f"{name(path)} links out of the repository: {link}"
        if anchor:
            assert anchor in anchors(words_of(target)), f"{name(path)} links to {link}"


def test_every_page_can_be_reached():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for path in [*DOCS.glob("*.md"), *TUTORIALS]:
        place = path.relative_to(DOCS).with_suffix(".md").as_posix()
        assert re.search(rf": {place}$", navigation, re.MULTILINE), f"{place} is not in mkdocs.yml"


# ---- the site ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    needs("mkdocs", "material", "mkdocstrings", "matplotlib")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    # Whoever builds it has no network: these lead nowhere.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    settings = {**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"}
    settings["PYTHONPATH"] = str(Path(torpca.__file__).parents[1])
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_site_builds_and_has_every_page(site):
    for path in [*DOCS.glob("*.md"), *TUTORIALS]:
        assert (site / path.relative_to(DOCS).with_suffix(".html")).is_file()
    reference = (site / "api.html").read_text(encoding="utf-8")
    for public in torpca.__all__:
        if public not in ("datasets", "metrics", "rivals", "plots"):
            assert f'id="torpca.{public}"' in reference, public


@pytest.mark.slow
def test_the_site_asks_the_network_for_nothing(site):
    # What a browser fetches by itself: scripts, styles, pictures, fonts. Links to follow are not.
    fetched = re.compile(
        r"<(?:script|img|iframe|source|video|audio|embed|link)\b[^>]*(?:src|href)=[\"']?"
        r"(?:https?:)?//[^>]*>"
    )
    for path in site.rglob("*.html"):
        found = fetched.findall(path.read_text(encoding="utf-8"))
        assert not found, f"{path.relative_to(site)} loads {found}"
    for path in site.rglob("*.css"):
        found = re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text("utf-8"))
        assert not found, f"{path.relative_to(site)} loads {found}"


@pytest.mark.slow
def test_the_site_opens_from_a_folder_and_can_be_searched(site):
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs chromium")
    needs("playwright")
    from playwright.sync_api import sync_playwright

    asked, errors = [], []
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for place in ("tutorials/spectra.html", "api.html", "index.html"):
            page.goto((site / place).as_uri())
        page.click("input[name=query]")
        page.keyboard.type("leverage", delay=100)  # slowly: the page may still be settling
        page.wait_for_selector(".md-search-result__item a[href*='user_guide']")
        chromium.close()
    assert not errors
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


def test_the_guide_says_how_many_rows_are_many():
    guide = " ".join((DOCS / "user_guide.md").read_text(encoding="utf-8").split())

    def many(n, d, k):
        rng = np.random.default_rng(0)
        return rows_to_begin_with((n, d), np.ones(n), RankRule.of(k), rng) is not None

    def fewest(d, k="auto"):
        return bisect.bisect_left(range(10**5), True, key=lambda n: many(n, d, k))

    assert f"not iterated on: {whole(fewest(50))} or more;" in guide
    assert f"as many as hold {fewest(100) * 100 / 1e6:.2f} million numbers, but" in guide
    assert f"but at least {whole(fewest(MAX_FEATURES))};" in guide
    assert f"more than {MAX_FEATURES} features {whole(fewest(MAX_FEATURES + 1))};" in guide
    assert f"never fewer than {fewest(50, 500) / 500:g} for each component" in guide
