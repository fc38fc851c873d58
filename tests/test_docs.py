"""The documentation says what is true: its code runs, its links lead somewhere, its site builds."""

import bisect
import contextlib
import html
import importlib.util
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import torpca
import torpca.plots
from docs.hooks import commands, demo, pictures
from docs.hooks.tutorials import read_cells, run
from tests import _browser
from tests._browser import PHONE, WIDE, no_sideways
from torpca import OutlierRobustPCA, save_model
from torpca._options import Options
from torpca._robust.algorithm import learned_whole
from torpca._robust.rank import RankRule
from torpca._words import whole
from torpca.datasets import make_outlier_subspace
from torpca.testing import RowSourceContract

browser = _browser.browser

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]
TUTORIALS = sorted((DOCS / "tutorials").glob("*.py"))
CELLS = [*TUTORIALS, DOCS / "gallery.py"]

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


# Pages whose examples take long.
LONG = {"recipes.md", "start.md"}


def marked(path):
    """A page, to be run with the slow tests if it takes long."""
    return pytest.param(path, marks=[pytest.mark.slow] if path.name in LONG else [])


@pytest.mark.parametrize("path", [marked(path) for path in PAGES if runs(path)], ids=name)
def test_what_a_page_shows_can_be_run_from_top_to_bottom(path, tmp_path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    if "torpca.plots" in text:
        needs("matplotlib")
        import matplotlib

        matplotlib.use("Agg")
    if "onnxruntime" in text:
        needs("onnx", "onnxruntime")
    monkeypatch.chdir(tmp_path)
    # Pages may speak of the reader's own X before they make one, and of a model of it.
    X = make_outlier_subspace(300, 12, 3, 0.2, noise=0.01, mean=1.0, random_state=0).X
    if path in WITH_WINES:
        X = pictures.wines()[0]
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


@pytest.mark.parametrize("path", [*TEXTS, *CELLS], ids=name)
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
    for path in [*DOCS.rglob("*.md"), *CELLS]:
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
    for path in [*DOCS.rglob("*.md"), *CELLS]:
        assert (site / path.relative_to(DOCS).with_suffix(".html")).is_file()


def described(module):
    """Public names of a module that have a place in the API pages, modules left out."""
    names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    return [f"{module.__name__}.{name}" for name in names]


@pytest.mark.slow
def test_every_public_name_is_described_and_every_class_has_a_page(site):
    pages = {path: path.read_text(encoding="utf-8") for path in site.glob("api/*.html")}
    for module in (torpca, torpca.rivals, torpca.plots, torpca.metrics, torpca.datasets):
        for public in described(module):
            where = [text for text in pages.values() if f'id="{public}"' in text]
            assert len(where) == 1, public
            if inspect.isclass(getattr(module, public.rpartition(".")[2])):
                assert re.search(rf'<h1 id="{re.escape(public)}"', where[0]), public


@pytest.mark.slow
def test_signatures_have_a_parameter_to_a_line(site):
    page = (site / "api" / "outlier_robust_pca.html").read_text(encoding="utf-8")
    code = re.search(r"doc-signature.*?<code>(.*?)</code>", page, re.DOTALL)[1]
    lines = html.unescape(re.sub(r"<[^>]+>", "", code)).strip().splitlines()
    assert lines[0] == "OutlierRobustPCA("
    assert '    trim="auto",' in lines


@pytest.mark.slow
def test_the_home_page_leads_to_a_report(site):
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="demo/report.html"' in home
    report = (site / "demo" / "report.html").read_text(encoding="utf-8")
    assert report.startswith("<!doctype html>")
    assert "sample-210 (cuvette)" in report
    assert "most extreme rows" in (site / "demo.html").read_text(encoding="utf-8")


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
def test_the_site_opens_from_a_folder_and_can_be_searched(site, browser):
    asked, errors = [], []
    context = browser.new_context()
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    for place in ("tutorials/spectra.html", "api/index.html", "index.html"):
        page.goto((site / place).as_uri())
    page.click("input[name=query]")
    page.keyboard.type("leverage", delay=100)  # slowly: the page may still be settling
    page.wait_for_selector(".md-search-result__item a[href*='user_guide']")
    context.close()
    assert not errors
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), (WIDE, "light")])
def test_no_page_scrolls_sideways_or_complains(site, browser, size, scheme):
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page, troubles, wide = context.new_page(), [], []
    page.on("console", lambda message: troubles.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: troubles.append(f"{page.url}: {error}"))
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":  # its links are from the root of a server
            continue
        page.goto(path.as_uri())
        page.wait_for_selector("main")
        if not no_sideways(page):
            wide.append(path.relative_to(site).as_posix())
    context.close()
    assert not wide
    assert not troubles


# ---- what is made when the site is built ---------------------------------------------------------


def test_the_reference_has_every_command_and_every_option():
    needs("click", "rich", "pyarrow")
    import click

    from torpca._cli.app import torpca as command_line

    text = commands.reference()
    sections = dict(re.findall(r"^## (.+?)$\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert list(sections) == ["torpca", *(f"torpca {name}" for name in command_line.commands)]
    for name, command in command_line.commands.items():
        section = sections[f"torpca {name}"]
        assert "```bash\n" + f"torpca {name}" in section  # its examples
        for option in command.params:
            if isinstance(option, click.Option):
                (line,) = [line for line in section.splitlines() if f"| `{option.opts[0]}" in line]
                assert all(f"`{other}" in line for other in option.secondary_opts)
                assert len(line.split("|")) == 4, line  # two cells
                assert line.split("|")[2].strip(), line


def test_what_the_readme_shows_of_the_demo_is_what_it_prints():
    needs("click", "rich", "pyarrow")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(content for language, _, content in blocks(text) if language == "text")
    printed = demo.run().printed.splitlines()
    assert len(shown.splitlines()) > 5
    for line in shown.splitlines():
        assert any(one.startswith(line) for one in printed), line


WITH_WINES = [ROOT / "README.md", DOCS / "index.md"]


@pytest.mark.parametrize("path", WITH_WINES, ids=name)
def test_the_picture_of_the_wines_is_made_by_the_lines_under_it(path):
    text = path.read_text(encoding="utf-8")
    assert pictures.first_lines(text) == pictures.first_lines(pictures.HOME.read_text("utf-8"))
    below = text[text.index("assets/wine_maps.svg") :]
    assert pictures.first_lines(below) == pictures.first_lines(text)
    X, foreign = pictures.wines()
    assert (X.shape, foreign.sum()) == ((58, 13), 10)
    model = pictures.model_of(pictures.first_lines(text), X)  # a warning would be an error here
    flagged = model.predict(X) == -1
    told = " ".join(text.split())
    hits, others = int(flagged[foreign].sum()), int(flagged[~foreign].sum())
    assert f"torpca finds {hits} of the 10, with {pictures.alarms(others)}" in told
    # The picture has the same in its titles, which are drawn as glyphs with comments.
    svg = (DOCS / "assets" / "wine_maps.svg").read_text(encoding="utf-8")
    for who, drawn in pictures.maps_of_wines()[0].items():
        assert f"<!-- {who}: {pictures.found(drawn, foreign)} -->" in svg
    assert f"torpca: {hits} of 10 found, {pictures.alarms(others)} " in svg


@pytest.mark.parametrize("path", WITH_WINES, ids=name)
def test_a_page_that_says_other_counts_of_wines_ends_the_build(path):
    text = path.read_text(encoding="utf-8")
    pictures.check_wine_words(text)
    hits = re.search(r"torpca finds (\d+) of the 10", " ".join(text.split()))[1]
    with pytest.raises(AssertionError, match="does not say"):
        pictures.on_page_markdown(
            text.replace(f"{hits} of the 10", "nobody knows how many"), None, None, None
        )


def test_what_has_to_be_decided_about_the_wines():
    X, foreign = pictures.wines()
    # Without scaling one measurement decides.
    unscaled = OutlierRobustPCA().fit(X)
    assert unscaled.n_components_ == 1
    assert np.max(np.abs(unscaled.components_)) > 0.99
    # With it there is no gap, and a warning says so and asks for a number.
    with pytest.warns(RuntimeWarning) as caught:
        OutlierRobustPCA(scale=True).fit(X)
    (said,) = [str(one.message) for one in caught if "no gap" in str(one.message)]
    assert said.endswith("Give n_components.")
    # The foreign wines hide because they take part: PCA of the others finds all of them.
    plain = pictures.ordinary_map(X, 2, of=~foreign)
    assert plain.flagged[foreign].all()
    assert plain.flagged[~foreign].sum() <= 1


def test_a_picture_takes_the_colours_of_the_page():
    markdown = (DOCS / "user_guide.md").read_text(encoding="utf-8")
    made = pictures.on_page_markdown(markdown, None, None, None)
    assert "](assets/" not in made
    assert '<svg role="img" aria-label="An outlier map' in made
    assert "currentColor" in made
    assert "#ffffff" not in made


def test_the_guide_says_how_many_rows_are_many():
    guide = " ".join((DOCS / "user_guide.md").read_text(encoding="utf-8").split())

    def many(n, d, k):
        rank = RankRule.of(k)
        options = Options(rank, trim=None, center=True, n_sample=None, tol=1e-8, max_iter=100)
        return not learned_whole(n, d, options)

    def fewest(d, k="auto"):
        return bisect.bisect_left(range(10**5), True, key=lambda n: many(n, d, k))

    assert f"- {whole(fewest(50))} rows or more;" in guide
    assert f"as many as hold {fewest(100) * 100 / 1e6:.2f} million numbers, but" in guide
    assert f"but at least {whole(fewest(10**4))};" in guide
    assert f"never fewer than {fewest(50, 500) / 500:g} for each component" in guide
