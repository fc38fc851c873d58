"""What an estimator shows of itself in a notebook."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from torpca import TORP, GaussianTORP, NoisyTORP, OutlierRobustPCA
from torpca._estimators.html import flagged_rows, summary_html, summary_lines
from torpca._estimators.words import count, reason_for_rank, rows_by_type
from torpca._words import percent
from torpca.datasets import make_outlier_subspace

ESTIMATORS = [
    OutlierRobustPCA(),
    TORP(3, rho=0.15),
    NoisyTORP(3, rho=0.1, eta=50.0),
    GaussianTORP(3, sigma=0.02),
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


@pytest.fixture(scope="module")
def rows():
    return make_outlier_subspace(300, 8, 3, 0.1, noise=0.02, mean=1.0, random_state=0).X


class Cells(HTMLParser):
    """Text of the cells of the summary, and every tag on the page."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.tags, self.inside, self.cell = [], [], False, False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "table":
            self.inside = ("class", "torpca-summary") in attrs
        self.cell = self.inside and tag in ("th", "td")
        if self.cell:
            self.cells.append("")

    def handle_endtag(self, tag):
        self.cell = False

    def handle_data(self, data):
        if self.cell:
            self.cells[-1] += data


@each_estimator
def test_before_the_fit_it_is_the_diagram_alone(estimator):
    page = estimator._repr_html_()
    assert "sk-top-container" in page
    assert type(estimator).__name__ in page
    assert "torpca-summary" not in page
    assert summary_html(estimator) == ""


@each_estimator
def test_after_the_fit_a_summary_follows_the_diagram(estimator, rows):
    from sklearn.base import clone

    fitted = clone(estimator).fit(rows)
    page = fitted._repr_html_()
    assert page.index("sk-top-container") < page.index("torpca-summary")
    cells = Cells(page).cells
    assert cells == [part for line in summary_lines(fitted) for part in line]
    told = dict(zip(cells[::2], cells[1::2], strict=True))
    assert list(told) == ["Components", "Variance explained", "Rows flagged", "Converged"]
    assert told["Components"].startswith(f"{fitted.n_components_}, ")
    share = 100 * np.sum(fitted.explained_variance_ratio_)
    assert float(told["Variance explained"].split("%")[0]) == pytest.approx(share, abs=0.06)
    types = fitted.outlier_type_
    total = np.count_nonzero(types != "regular")
    assert told["Rows flagged"].startswith(f"{total} of 300 (")
    for kind in ("good leverage", "orthogonal", "bad leverage"):
        number = np.count_nonzero(types == kind)
        assert (f"{number} {kind}" in told["Rows flagged"]) == (number > 0)
    answer = "yes, in" if fitted.converged_ else "no, not in"
    assert told["Converged"].startswith(f"{answer} {fitted.n_iter_} iteration")


def test_the_reason_for_the_rank_is_told(rows):
    gap = OutlierRobustPCA().fit(rows)
    assert (
        f"the variance drops {gap.rank_.gap:,.0f} times" in dict(summary_lines(gap))["Components"]
    )
    given = OutlierRobustPCA(2).fit(rows)
    assert dict(summary_lines(given))["Components"] == "2, as requested"
    searched = NoisyTORP(3, rho=0.1, eta=50.0).fit(rows)
    assert dict(summary_lines(searched))["Components"].endswith(", found by trying ranks")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("given", "as requested"),
        ("gap", "where the variance drops 1,234 times"),
        ("share", "explaining 91.2% of the variance"),
        ("edge", "the largest number considered, because there is no gap"),
        ("exact", "because more than half of the rows lie exactly in so many directions"),
        ("by guesswork {}", "by guesswork {}"),
    ],
)
def test_rules_in_words(rule, words):
    assert reason_for_rank(rule, 1234.4, 0.912).startswith(words)


def test_rules_in_words_without_numbers():
    assert reason_for_rank("gap") == "where the variance drops"
    assert reason_for_rank("gap", np.inf) == "where the variance drops to nothing"
    assert reason_for_rank("share") == "explaining enough of the variance"


def test_a_fit_that_did_not_settle_says_so(rows):
    with pytest.warns(RuntimeWarning, match="still moved"):
        fitted = OutlierRobustPCA(3, max_iter=1, tol=0.0).fit(
            np.random.default_rng(0).standard_t(2, (500, 12))
        )
    assert (
        dict(summary_lines(fitted))["Converged"]
        == "no, not in 1 iteration; it still moved by 1.0e+00"
    )


def test_a_fit_that_failed_half_way_has_no_summary():
    model = OutlierRobustPCA()
    with pytest.raises(ValueError, match=r"NaN|finite"):
        model.fit(np.full((10, 3), np.nan))
    assert "torpca-summary" not in model._repr_html_()


def test_no_name_or_parameter_can_run_a_script(rows):
    pd = pytest.importorskip("pandas")
    attack = "<script>alert(1)</script>"
    frame = pd.DataFrame(rows, columns=[f"{attack}{j}" for j in range(rows.shape[1])])
    fitted = OutlierRobustPCA().fit(frame)
    fitted.rank_ = type(fitted.rank_)(3, attack, fitted.rank_.variances, 2.0, 0.5)
    plain = OutlierRobustPCA().fit(rows)
    page = fitted._repr_html_()
    assert "alert(1)" in page
    assert attack not in page
    assert Cells(page).tags.count("script") == Cells(plain._repr_html_()).tags.count("script")


def test_the_summary_loads_nothing(rows):
    assert not re.search(r"https?:|src=|url\(", summary_html(OutlierRobustPCA().fit(rows)))


def test_both_ways_a_notebook_asks_give_the_same(rows):
    fitted = OutlierRobustPCA().fit(rows)

    def without_numbers(page):  # scikit-learn numbers its containers
        return re.sub(r"sk-[a-z-]*id-\d+", "", page)

    bundle = fitted._repr_mimebundle_()
    assert bundle["text/plain"] == repr(fitted)
    assert without_numbers(bundle["text/html"]) == without_numbers(fitted._repr_html_())


def test_scikit_learns_setting_for_text_holds(rows):
    fitted = OutlierRobustPCA().fit(rows)
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}


def test_pipelines_show_the_estimator_as_any_other(rows):
    pipe = make_pipeline(StandardScaler(), OutlierRobustPCA()).fit(rows)
    page = pipe._repr_html_()
    assert "OutlierRobustPCA" in page
    assert "torpca-summary" not in page


@each_estimator
def test_rows_are_counted_as_their_types_are(estimator, rows):
    from sklearn.base import clone

    fitted = clone(estimator).fit(rows)
    for contamination in ("auto", 0.25):
        fitted.set_contamination(contamination)
        kinds, numbers = np.unique(fitted.outlier_type_, return_counts=True)
        found = {kind: number for kind, number in rows_by_type(fitted).items() if number}
        assert found == dict(zip(kinds.tolist(), numbers.tolist(), strict=True))


def test_tensors_have_a_summary_too(rows):
    torch = pytest.importorskip("torch")
    fitted = OutlierRobustPCA(3).fit(torch.asarray(np.array(rows)))
    assert dict(summary_lines(fitted))["Components"] == "3, as requested"


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0%"),
        (1e-7, "less than 0.1%"),
        (0.0014, "0.1%"),
        (0.034, "3.4%"),
        (0.5, "50%"),
        (0.983, "98.3%"),
        (0.9994, "99.9%"),
        (0.999999, "more than 99.9%"),
        (1.0, "100%"),
        (1.0 + 2e-16, "100%"),
    ],
)
def test_shares_in_words(share, words):
    assert percent(share) == words


def test_numbers_in_words():
    words = [count(v) for v in (1.234, 9.96, 12.3, 2242.4, 3.2e7, np.inf)]
    assert words == ["1.2", "10", "12", "2,242", "3e+07", "inf"]
    assert flagged_rows({"regular": 5, "orthogonal": 0}) == "none of 5"
    text = flagged_rows({"regular": 980, "good leverage": 0, "orthogonal": 20})
    assert text == "20 of 1,000 (2%): 20 orthogonal"
