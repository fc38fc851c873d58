"""What the README, the first pages and the report say, where no other test says it."""

import inspect
import json
import re
import runpy
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA

from tests.test_docs import DOCS, ROOT, blocks, needs
from torpca import OutlierRobustPCA, load_model, rivals, save_model
from torpca._answer import answer
from torpca._report import words
from torpca._report.drift import baseline_words
from torpca._report.next_steps import part_words
from torpca._report.page import report_html


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def text_of(path):
    return " ".join(path.read_text(encoding="utf-8").split())


def low_rank(n, d, r, noise, rng):
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, d)) + noise * (
        rng.standard_normal((n, d))
    )


# ---- README and home page ------------------------------------------------------------------------


def test_it_has_the_methods_and_attributes_of_pca(rng):
    X = low_rank(100, 5, 2, 0.1, rng)
    ours, plain = OutlierRobustPCA(2).fit(X), PCA(2).fit(X)
    public = {name for name in dir(plain) if not name.startswith("_")}
    # How it is computed: the user guide says that this is chosen automatically.
    how = {"copy", "iterated_power", "n_oversamples", "power_iteration_normalizer", "svd_solver"}
    assert {name for name in public if not hasattr(ours, name)} <= how


def test_the_methods_with_one_interface_are_as_many_as_the_home_page_says():
    methods = [getattr(rivals, name) for name in rivals.__all__]
    alike = [
        one
        for one in methods
        if inspect.isfunction(one) and list(inspect.signature(one).parameters)[:2] == ["X", "rank"]
    ]
    assert len(alike) == 23
    assert "[twenty-three other methods](rivals.md)" in text_of(DOCS / "index.md")


def test_what_the_readme_says_in_comments_of_its_example(rng):
    code = [code for language, _, code in blocks((ROOT / "README.md").read_text("utf-8"))]
    (example,) = [one for one in code if "300 bad rows" in one]
    names = {}
    exec(compile(example.split("model.fit(X, leave_out")[0], "README.md", "exec"), names)
    model, X = names["model"], names["X"]
    assert model.n_components_ == 3
    good = PCA(3).fit(X[300:])
    np.testing.assert_allclose(model.mean_, good.mean_, atol=0.05)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-8)
    cosines = np.linalg.svd(model.components_ @ good.components_.T, compute_uv=False)
    assert cosines.min() > 1 - 1e-6
    assert (model.predict(X)[:300] == -1).all()
    assert np.mean(model.predict(X)[300:] == -1) < 0.03


def test_bad_rows_hide_in_ordinary_pca(rng):
    n, d = 200, 10
    good = low_rank(n, d, 3, 0.1, rng)
    away = rng.standard_normal(d)
    away /= np.linalg.norm(away)

    def plain(X):
        fit = PCA(4).fit(X)
        scores = fit.transform(X)
        return scores, np.linalg.norm(X - fit.inverse_transform(scores), axis=1)

    # A single row gets a component for itself, so it has next to no residual.
    one = good.copy()
    one[0] += 1000 * away
    _, residuals = plain(one)
    assert residuals[0] < 0.1 * np.median(residuals)
    # One row in ten is at most three standard deviations out on average, however far away.
    for far in (30, 1000):
        X = good.copy()
        X[: n // 10] += far * away
        scores, residuals = plain(X)
        z = scores[:, 0] / scores[:, 0].std()
        assert abs(np.mean(z[: n // 10])) <= 3.0 + 1e-9
        # So neither residuals nor six standard deviations find them, ...
        assert np.median(residuals[: n // 10]) < 1.5 * np.median(residuals)
        assert np.max(np.abs(scores / scores.std(axis=0))) < 6
        # ... and we do.
        assert (OutlierRobustPCA(3).fit(X).predict(X)[: n // 10] == -1).all()


def test_times_in_the_readme_are_those_of_the_benchmarks():
    readme, table = text_of(ROOT / "README.md"), (DOCS / "benchmarks.md").read_text("utf-8")

    table = table[table.index("From `python -m benchmarks.vs_pca") :]

    def line(size):
        return re.search(rf"^{size} +\S+ +(\S+) +(\S+) ", table, re.MULTILINE).groups()

    seconds, ratio = line("1000000 x 50, 5")
    assert f"1,000,000 x 50 takes {seconds} s, {ratio} times as long" in readme
    assert f"40,000 x 1000 takes {line('40000 x 1000, 10')[1]} times as long" in readme
    seconds, ratio = line("2000 x 50, 5")
    assert f"2000 x 50 takes {seconds} s, {float(ratio):.0f} times as long" in readme


def test_the_accuracy_in_the_readme_is_that_of_the_benchmarks():
    command = "`python -m benchmarks.recovery families shapes`"
    page, readme = text_of(DOCS / "benchmarks.md"), text_of(ROOT / "README.md")
    digits = re.search(r"over these 190 cells is 1 to (\w+) digits \((`[^`]+`)\)", page).groups()
    assert digits == ("three", command)
    assert (
        "In 190 cells of planted data with 5 to 45 % bad rows, the median error is that of the "
        f"*oracle*, ordinary PCA on the true good rows, to {digits[0]} digits ({command})"
    ) in readme


def test_the_longer_example_runs_and_compares(capsys):
    runpy.run_path(str(ROOT / "examples" / "quickstart.py"))
    printed = capsys.readouterr().out
    error = {
        name: float(re.search(rf"{name} +(\d\S+)$", printed, re.MULTILINE)[1])
        for name in ("ordinary PCA", "OutlierRobustPCA", "ordinary PCA on the good rows alone")
    }
    assert error["ordinary PCA"] > 0.9
    assert error["OutlierRobustPCA"] < 1.05 * error["ordinary PCA on the good rows alone"]


# ---- the start page ------------------------------------------------------------------------------


def test_the_extras_of_the_start_page_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
    page = (DOCS / "start.md").read_text("utf-8")
    table = page[page.index("| extra |") : page.index("## You have a file")]
    listed = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", table, re.M))))
    for_developers, empty = {"test", "lint"}, {"report"}
    assert listed == set(project["optional-dependencies"]) - for_developers - empty
    (everything,) = project["optional-dependencies"]["all"]
    in_all = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    assert in_all == (listed - {"all", "docs"}) | empty


def test_the_files_of_the_start_page_give_the_results_it_tells_of(tmp_path, monkeypatch):
    needs("click", "rich", "pyarrow")
    from click.testing import CliRunner

    from torpca._cli.app import torpca

    monkeypatch.chdir(tmp_path)
    names, printed = {}, {}
    for language, _, content in blocks((DOCS / "start.md").read_text("utf-8")):
        if language == "python" and "open(" in content:
            exec(compile(content, "start.md", "exec"), names)
        for line in content.splitlines() if language == "bash" else []:
            if line.startswith(("torpca fit", "torpca score")):
                done = CliRunner().invoke(torpca, shlex.split(line)[1:])
                assert done.exit_code == 0, done.output
                printed[line] = done.output
    fit = printed["torpca fit measurements.csv --id-column sample"]
    for sample in ("S017", "S081", "S151"):
        (told,) = [line for line in fit.splitlines() if line.split()[:1] == [sample]]
        assert "sensor4" in told
    folder = Path("torpca-measurements")
    assert {path.name for path in folder.iterdir()} >= {
        *("report.html", "scores.csv", "summary.json", "model.npz")
    }
    holes = Path("torpca-holes")
    assert (holes / "imputed.csv").exists()
    missing = json.loads((holes / "summary.json").read_text())["missing"]
    assert missing["cells"] == int(np.isnan(names["holes"]).sum())
    header, *rows = (holes / "scores.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == [f"S{i:03d}" for i in range(1, 201)]
    kind, distance = header.split(",").index("type"), header.split(",").index("score_distance")
    assert rows[5].split(",")[kind] == "unknown"
    assert rows[5].split(",")[distance] == ""


# ---- the report ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    """A table in which some good leverage rows had a part in the fit, and others had none."""
    X = load_breast_cancer().data
    return OutlierRobustPCA(3, scale=True).fit(X), X


def test_the_report_counts_the_flagged_rows_that_had_a_part_in_the_fit(cancer):
    model, X = cancer
    told = answer(model, X)
    flagged = model.outlier_type_ != "regular"
    part = int(np.count_nonzero(model.weights_[flagged] > 0))
    assert 0 < part < np.count_nonzero(flagged)
    said = f"{part} of the {np.count_nonzero(flagged)} flagged rows had a part in this fit"
    assert part_words(told).startswith(said)
    assert said in report_html(told)


def test_of_a_model_from_a_file_the_report_does_not_say_it(cancer, tmp_path):
    model, X = cancer
    save_model(model, tmp_path / "model.npz")
    again = answer(load_model(tmp_path / "model.npz"), X)
    assert part_words(again) == ""
    assert part_words(answer(model, X, new=True)) == ""
    assert "part in this fit" not in report_html(again)


@pytest.mark.parametrize(
    ("flagged", "part", "said"),
    [
        (5, 0, "None of the flagged rows had a part"),
        (5, 2, "2 of the 5 flagged rows had a part"),
        (5, 5, "All 5 flagged rows had a part"),
        (1, 0, "The flagged row had no part"),
        (1, 1, "The flagged row had a part"),
    ],
)
def test_how_many_had_a_part_in_words(cancer, flagged, part, said):
    told = answer(*cancer)
    told = replace(told, extreme=told.extreme[:flagged], flagged_in_fit=part)
    assert part_words(told).startswith(said)


@pytest.mark.parametrize(("limit", "each", "both"), [(0.99, "0.5%", "1%"), (0.9, "5%", "10%")])
def test_the_report_tells_how_many_good_rows_its_own_limits_exclude(rng, limit, each, both):
    X = low_rank(2000, 6, 2, 0.1, rng)
    model = OutlierRobustPCA(2, limit=limit).fit(X)
    told = answer(model, X)
    assert any(f"about {each} of them exceed each" in said for said in words.assumptions(told))
    share = float(each.strip("%")) / 100
    for distances, name in (
        (told.score_distances, "score"),
        (told.orthogonal_distances, "orthogonal"),
    ):
        beyond = np.mean(distances > told.cutoffs[name])
        assert abs(beyond - share) < 4 * np.sqrt(share / 2000)
    assert f"about {both} are beyond a limit" in baseline_words(replace(told, baseline=None))[0]


def test_of_good_cells_one_in_two_thousand_is_bad(rng):
    X = low_rank(4000, 20, 3, 0.1, rng)
    beyond = np.abs(OutlierRobustPCA(3, cells=True).fit(X).cell_residuals(X)) > 3.5
    assert 1 / 4000 < np.mean(beyond) < 1 / 1000
    assert 1 / 2500 < 2 * norm.sf(3.5) < 1 / 1500


# ---- the FAQ -------------------------------------------------------------------------------------


def test_the_same_table_gives_the_same_answer_each_time(cancer):
    model, X = cancer
    again = OutlierRobustPCA(3, scale=True).fit(X.copy())
    np.testing.assert_array_equal(again.outlier_type_, model.outlier_type_)
    np.testing.assert_array_equal(again.components_, model.components_)
