"""The report's parts beside the map: order, loadings, values, ordinary PCA, drift, provenance."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests._reports import made, spectra
from tests.test_report import data_of, unpacked
from torpca import OutlierRobustPCA
from torpca._answer import answer
from torpca._causes import IN_LINE, MANY, NOT_EXPLAINED, Cause
from torpca._cusum import Reference
from torpca._provenance import Baseline, Provenance
from torpca._report import report_html, words
from torpca._report.drift import baseline_words, distance_words, shift_words, shifts
from torpca._report.encode import prose
from torpca._report.loadings import arrows
from torpca._report.next_steps import next_payload
from torpca._report.over_order import POINTS, alarm_words, highest_points
from torpca._report.places import places_of
from torpca._report.plain import plain_words
from torpca._report.rows import DETAILS, drawn_rows
from torpca._report.values import is_curve, values_payload
from torpca._words import figures


def plant(n=200, *, seed=0, n_bad=8):
    """Rows of six sensors, the first of them bad in two of the sensors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ np.array([[3, 2, 1, 0, 0, 1], [0, 1, 0, 2, 1, 1.0]])
    X += 0.1 * rng.standard_normal((n, 6))
    X[:n_bad, 2] += 4
    X[:n_bad, 4] -= 3
    return X


@pytest.fixture(scope="module")
def told():
    X = plant()
    return answer(OutlierRobustPCA(2).fit(X), X, names=["a", "b", "c", "d", "e", "f"])


@pytest.fixture(scope="module")
def page(told):
    return report_html(told)


# ---- the first screen ---------------------------------------------------------------------------


def test_the_map_comes_right_after_the_answer_and_the_causes_after_the_map(page):
    parts = re.findall(r'<section id="([\w-]+)"', page)
    assert parts[:4] == ["answer", "outliers", "causes", "next"]
    assert "rows" in parts[4:]


def test_headings_say_whether_columns_were_scaled(told, page):
    assert "columns not scaled" in page
    assert "columns scaled" not in page.replace("columns not scaled", "").split("<script")[0]
    assert "columns scaled" in report_html(replace(told, scaled=True))
    X = plant()
    assert answer(OutlierRobustPCA(2, scale=True).fit(X), X).scaled


# ---- order --------------------------------------------------------------------------------------


def test_places_are_numbers_dates_or_row_numbers(told):
    n = len(told.ids)
    assert places_of(told).kind == "row"
    np.testing.assert_array_equal(places_of(told).values, told.numbers)
    dates = np.datetime64("2024-01-01") + np.arange(n)[::-1]
    for times in (dates, dates.astype(str), np.char.add(dates.astype(str), "T00:00:00Z")):
        found = places_of(replace(told, times_of_rows=times))
        assert found.kind == "time"
        np.testing.assert_array_equal(found.values, dates.astype("datetime64[ms]").astype(float))
        np.testing.assert_array_equal(found.order, np.arange(n)[::-1])
    assert places_of(replace(told, times_of_rows=np.linspace(0, 1, n).astype(str))).kind == "number"
    unread = places_of(replace(told, times_of_rows=np.full(n, "monday")))
    assert (unread.kind, unread.unread) == ("row", True)


def test_rows_without_a_time_have_no_place_and_the_page_says_so(told):
    times = (np.datetime64("2024-01-01") + np.arange(len(told.ids))).astype(str)
    times[[3, 5]] = ""
    some = replace(told, times_of_rows=times)
    assert len(places_of(some).order) == len(times) - 2
    page = report_html(some)
    assert "2 rows without a time are not shown here." in page
    order = data_of(page)["order"]
    assert len(order["without"]) == 2
    read = order["low"] + unpacked(order["values"], "u4") * order["step"]
    rows = unpacked(data_of(page)["rows"], "u4") // 4
    there = np.setdiff1d(np.arange(len(rows)), order["without"])
    wanted = places_of(some).values[rows[there]]
    np.testing.assert_allclose(read[there], wanted, atol=10.0)  # milliseconds


def test_a_run_of_bad_rows_is_told_by_its_ends(told):
    said = " ".join(alarm_words(told, places_of(told)))
    assert re.search(r"orthogonal distances drift upwards once: from row 1 to row 8\b", said)


def test_of_a_long_cusum_the_highest_points_are_kept():
    cusum = np.random.default_rng(0).random(50_000)
    cusum[31_234] = 9.0
    at = highest_points(cusum)
    assert len(at) == POINTS
    assert 31_234 in at
    assert np.all(np.diff(at) > 0)


def test_without_references_there_is_no_cusum():
    assert 'id="cusum"' not in report_html(made(60, 3))
    some = replace(made(60, 3), references={"score": Reference(1.0, 0.5)})
    assert list(data_of(report_html(some))["order"]["cusum"]) == ["score"]


# ---- loadings -----------------------------------------------------------------------------------


def test_loadings_are_the_components(told, page):
    values = [unpacked(row, "f4") for row in data_of(page)["loadings"]["values"]]
    np.testing.assert_allclose(values, told.components, atol=1e-6)


def test_arrows_are_the_largest_loadings_and_those_of_spectra_are_apart(told):
    assert len(arrows(told)) == 6
    some = spectra()
    chosen = [some.names.index(arrow["name"]) for arrow in arrows(some)]
    assert min(np.diff(np.sort(chosen))) >= 0.04 * len(some.names)
    assert np.argmax(np.max(np.abs(some.components), axis=0)) in chosen


# ---- values -------------------------------------------------------------------------------------


def test_values_are_those_of_the_table_and_the_range_that_of_the_good_rows(told, page):
    X, values = plant(), data_of(page)["values"]
    rows = (unpacked(data_of(page)["rows"], "u4") // 4)[: values["rows"]]
    assert len(rows) == len(X)
    np.testing.assert_array_equal(unpacked(values["values"], "f8").reshape(-1, 6), X[rows])
    good = X[told.types == "regular"]
    np.testing.assert_allclose(unpacked(values["high"], "f8"), np.percentile(good, 99, axis=0))
    np.testing.assert_allclose(unpacked(values["low"], "f8"), np.percentile(good, 1, axis=0))


def test_values_are_of_the_rows_that_are_drawn_or_not_there(told):
    """A page that draws other rows has no values for them."""
    drawn = drawn_rows(told, DETAILS[0])
    turned = replace(drawn, rows=drawn.rows[::-1])
    assert values_payload(told, turned, 10**6)["rows"] == 0
    assert values_payload(told, drawn, 60)["rows"] == 10


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_values_of_any_size_are_read_back(size):
    X = plant() * size
    told = answer(OutlierRobustPCA(2).fit(X), X)
    values = data_of(report_html(told))["values"]
    rows = (unpacked(data_of(report_html(told))["rows"], "u4") // 4)[: values["rows"]]
    np.testing.assert_array_equal(unpacked(values["values"], "f8").reshape(-1, 6), X[rows])


@pytest.mark.parametrize("options", [{}, {"scale": True}])
def test_what_is_usual_for_new_rows_is_what_the_fit_says(options):
    """Rows that have drifted, good ones too, do not say what is usual; all may be flagged."""
    X = plant(2000, n_bad=0) * [1, 1, 1, 1, 50, 1] + 5
    model = OutlierRobustPCA(2, **options).fit(X)
    new = answer(model, X[:40] + 30.0 * np.eye(6)[3], new=True)
    assert np.all(new.flagged)
    low, high = np.percentile(X, [1, 99], axis=0)
    np.testing.assert_allclose(new.usual.low, low, atol=0.15 * np.max(high - low))
    np.testing.assert_allclose(new.usual.high - new.usual.low, high - low, rtol=0.15)
    assert np.all(new.usual.values[:, 3] > new.usual.high[3])
    assert "of the good rows of the fit lie, if they are Gaussian" in report_html(new)


def test_missing_values_stay_missing():
    X = plant()
    X[20, 1] = np.nan
    told = answer(OutlierRobustPCA(2).fit(X), X)
    place = int(np.flatnonzero(told.usual.rows == 20)[0])
    assert np.isnan(told.usual.values[place, 1])


def test_features_called_by_numbers_in_order_are_a_curve():
    assert is_curve([f"{w} nm" for w in range(1100, 1120)])
    assert is_curve([str(w) for w in range(900, 880, -1)])
    assert is_curve(["?"] * 60)
    assert not is_curve([f"x{j}" for j in range(20)])
    assert not is_curve(["a", "b", "c", "d", "e", "f", "g", "h"])
    assert not is_curve(["1", "3", "2", "4", "5", "6", "7", "8"])


# ---- the first sentence -------------------------------------------------------------------------


def test_one_sentence_says_the_commonest_cause(told):
    m = len(told.extreme)
    some = tuple(sorted(told.causes, key=lambda cause: -len(cause.rows)))
    said = words.second_sentence(told)
    assert said.count(". ") == 0
    assert some[0].words in said
    every = Cause("rpm too low", told.extreme, ("rpm",))
    lone, few = (replace(every, rows=told.extreme[:n]) for n in (1, 2))
    rest = told.extreme[2:]
    for causes, begins in (
        ([every], f"All {m} have one cause: rpm too low"),
        ([few, Cause(MANY, rest[:1]), lone], "The commonest cause, in 2 of "),
        ([lone, lone], "They have no cause in common; the most extreme is row "),
        ([few, Cause(MANY, rest)], f"In {m - 2} of these {m} rows, many features are off at once."),
        ([few, Cause(IN_LINE, rest)], f"{m - 2} of these {m} rows are in line with the good rows."),
        ([few, Cause(NOT_EXPLAINED, rest)], "The commonest cause, in 2 of the 2 most extreme rows"),
        ([Cause(NOT_EXPLAINED, told.extreme)], "2 components describe"),
    ):
        other = replace(told)
        vars(other)["causes"] = tuple(causes)  # found when first asked for
        assert words.second_sentence(other).startswith(begins)


def test_the_first_sentence_names_rows_only_if_they_are_few_or_together(told):
    other = replace(told)
    rows = np.arange(3, 150, 20)
    vars(other)["causes"] = (Cause("rpm too low", rows, ("rpm",)),)
    assert words.second_sentence(other).endswith(" rows: rpm too low.")
    vars(other)["causes"] = (Cause("rpm too low", rows[:3], ("rpm",)),)
    assert words.second_sentence(other).endswith(" rows: rpm too low, rows 4, 24, 44.")


def test_times_are_not_torn_apart():
    assert prose("a < 2024-03-01 05:15, b") == (
        'a &lt; <span class="when">2024-03-01 05:15</span>, b'
    )


def test_the_line_at_the_top_says_what_the_warning_is(told):
    page = report_html(replace(told, warnings=("Column rpm is <odd>. Look at it.",), advice=()))
    assert '<a href="#warning">A warning: Column rpm is &lt;odd&gt;</a>' in page
    page = report_html(replace(told, warnings=("One. Two.", "Three."), advice=()))
    assert '<a href="#warning">2 warnings, the first: One</a>' in page


# ---- ordinary PCA -------------------------------------------------------------------------------


def test_ordinary_pca_flags_what_a_textbook_would(told):
    """Hotelling's T2 and Q of plain PCA: a lone far row, and about one good row in a hundred."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((2000, 5)) * [5, 3, 0.2, 0.2, 0.2]
    X[0] = 60, 0, 0, 0, 0
    told = answer(OutlierRobustPCA(2).fit(X), X)
    assert told.plain_flagged[0]
    assert 0.003 < np.mean(told.plain_flagged) < 0.02


def test_ordinary_pca_misses_rows_that_turn_it():
    X = plant(n_bad=60)
    told = answer(OutlierRobustPCA(2).fit(X), X)
    assert told.flagged[:60].all()
    assert np.count_nonzero(told.plain_flagged[:60]) < 30
    both = int(np.count_nonzero(told.plain_flagged & told.flagged))
    said = f"flags {both if both else 'none'} of these {len(told.extreme)}"
    assert said in plain_words(told)
    assert said in report_html(told)


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (1, "1 other (row 100)"),
        (2, "2 others (rows 100 and 101)"),
        (9, "100, 101, 102 and 6 more)"),
    ],
)
def test_rows_that_ordinary_pca_alone_flags_are_named(told, n, said):
    alone = np.flatnonzero(~told.flagged)
    alone = alone[alone >= 99][:n]
    plain = np.zeros(200, dtype=bool)
    plain[alone] = True
    assert alone[0] == 99
    assert said in plain_words(replace(told, plain_flagged=plain))
    nothing = replace(made(200, 0), plain_flagged=plain)
    assert f"flags {n} row" in plain_words(nothing)


def test_the_page_has_a_bit_for_each_flagged_row(told, page):
    bits = np.unpackbits(unpacked(data_of(page)["plainFlagged"], "u1"), bitorder="little")
    m = len(told.extreme)
    np.testing.assert_array_equal(bits[:m], told.plain_flagged[told.extreme])


def test_rows_without_noise_are_not_flagged_for_rounding():
    rng = np.random.default_rng(1)
    X = np.outer(rng.standard_normal(300), rng.standard_normal(6)) + 5.0
    told = answer(OutlierRobustPCA(1).fit(X), X)
    assert np.mean(told.plain_flagged) < 0.03


# ---- new rows -----------------------------------------------------------------------------------


def test_a_score_report_says_the_baseline_and_the_shift():
    X = plant()
    model = OutlierRobustPCA(2).fit(X)
    same = answer(model, plant(400, seed=1, n_bad=0), new=True)
    middle, spread, chance = shifts(same)
    assert np.all(np.abs(middle) < chance)
    np.testing.assert_allclose(spread, 1.0, atol=0.3)
    assert "moved along no component" in shift_words(same)[0]
    moved = plant(400, seed=1, n_bad=40) + 2 * model._deviations[0] * model.components_[0]
    new = replace(answer(model, moved, new=True), baseline=Baseline(200, 8))
    np.testing.assert_allclose(shifts(new)[0][0], 2.0, atol=0.3)
    assert "most along component 1" in shift_words(new)[0]
    assert "4% at the fit (8 of 200 rows)" in baseline_words(new)[0]
    assert words.headline(new).endswith("beyond the limits of the model; at the fit 4% were.")
    page = report_html(new)
    assert '<section id="drift"' in page
    assert '<section id="drift"' not in report_html(answer(model, X))


def test_a_score_report_sets_new_rows_beside_the_fit():
    """Rows off the model move no component, and good ones among them are not those of the fit."""
    model = OutlierRobustPCA(2).fit(plant())
    off = plant(400, seed=1, n_bad=0)
    off[:, 5] += 2.0
    new = answer(model, off, new=True)
    now = np.median(new.orthogonal_distances)
    assert f"median orthogonal distance is {figures(now)}" in distance_words(new)[1]
    at_the_fit = float(distance_words(new)[1].split("about ")[1].split(" at")[0])
    np.testing.assert_allclose(at_the_fit, np.median(model.orthogonal_distances_), rtol=0.25)
    ours = data_of(report_html(new))["ours"]
    assert ours["mean"] == [0.0, 0.0]
    np.testing.assert_allclose(np.diag(ours["covariance"]), new.variances)
    assert "of the good rows of the fit if" in report_html(new)


def test_a_score_report_without_a_baseline_says_that_it_has_none():
    X = plant()
    new = answer(OutlierRobustPCA(2).fit(X), plant(50, seed=2), new=True)
    assert "at the fit (" in baseline_words(new)[0]
    new = replace(new, baseline=None)
    assert "is not known" in baseline_words(new)[0]


# ---- next steps and provenance ------------------------------------------------------------------


def test_the_code_to_copy_runs(told):
    code = next_payload(told)["refit"].replace("ROWS", ", ".join(map(str, told.extreme + 1)))
    scope = {"X": plant()}
    exec(compile(code, "copied", "exec"), scope)
    assert scope["model"].n_samples_ == 200 - len(told.extreme)


def test_the_command_names_the_folder_of_the_results(told):
    known = replace(told, provenance=Provenance(folder="my results"))
    assert next_payload(known)["score"] == "torpca score 'my results' NEW_ROWS.csv"


def test_the_commands_fit_the_good_rows_as_the_rows_were_fitted(told):
    typed = "torpca fit 'in put/a.csv' --scale --na-values -999 --out res --time-column t --force"
    known = replace(told, provenance=Provenance(folder="res", command=typed))
    assert next_payload(known)["again"] == (
        "torpca score res 'in put/a.csv' --clean good-a.csv\n"
        "torpca fit good-a.csv --scale --na-values -999 --time-column t\n"
    )
    assert 'id="copy-again"' in report_html(known)


@pytest.mark.parametrize("command", ["", "torpca fit - --out res", "torpca demo --out res"])
def test_without_a_file_that_was_fitted_there_are_no_commands(told, command):
    known = replace(told, provenance=Provenance(folder="res", command=command))
    assert next_payload(known)["again"] == ""
    assert 'id="copy-again"' not in report_html(known)


def test_provenance_is_at_the_end_and_is_text(told, page):
    assert 'id="provenance"' not in page
    known = Provenance(version="1.2", command="torpca fit <b>.csv", sha256="ab" * 32)
    page = report_html(replace(told, provenance=known))
    assert "torpca fit &lt;b&gt;.csv" in page
    assert "ab" * 32 in page
    assert page.index('id="provenance"') > page.index('id="assumed"')
