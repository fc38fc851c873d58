"""The report: what it says, what it holds, and that nothing in the data can run."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from tests._reports import HOSTILE, hostile, made, odd_answers, spectra
from torpca import OutlierRobustPCA
from torpca._answer import EXPLAINED, answer
from torpca._bands import named_bands
from torpca._core.loop import Iteration
from torpca._report import page as page_module
from torpca._report import report_html, words, write_report
from torpca._report.page import SCRIPTS, part, style_sheet
from torpca._report.rows import DETAILS, LARGEST
from torpca._robust.rank import RankChoice


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text of some of them."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found, self.texts, self._open = [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open = len(self.found) - 1
            self.texts[self._open] = ""

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._open = None

    def handle_data(self, data):
        if self._open is not None:
            self.texts[self._open] += data

    def all(self, tag):
        return [(attrs, self.texts.get(i)) for i, (t, attrs) in enumerate(self.found) if t == tag]


def data_of(page):
    ((_, text),) = [(a, t) for a, t in Elements(page).all("script") if a.get("id") == "data"]
    return json.loads(text)


def unpacked(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype="<" + dtype)


@pytest.fixture(scope="module")
def small():
    return made(300, 12)


@pytest.fixture(scope="module")
def page(small):
    return report_html(small)


@pytest.fixture(scope="module")
def million():
    return made(1_000_000, 40_000, d=50)


# ---- one file, nothing from outside -------------------------------------------------------------


def test_nothing_is_loaded_from_outside(page):
    for tag, attrs in Elements(page).found:
        assert "src" not in attrs, tag
        assert attrs.get("href", "#")[0] == "#" or attrs["href"] == "data:,", tag
    style = part("style.css")
    assert "url(" not in style
    assert "@import" not in style
    # The only address is the name of SVG, which nobody fetches.
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}


def test_the_policy_allows_this_script_and_style_and_nothing_else(page):
    elements = Elements(page)
    (policy,) = [
        a["content"]
        for a, _ in elements.all("meta")
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy

    def name(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = [text for attrs, text in elements.all("script") if "type" not in attrs]
    assert rules["script-src"].split() == [name(text) for text in scripts]
    assert rules["style-src"].split() == [name(text) for _, text in elements.all("style")]


def test_no_element_has_a_style_or_a_handler_of_its_own(page):
    # The policy would not let them work.
    for tag, attrs in Elements(page).found:
        assert not [name for name in attrs if name == "style" or name.startswith("on")], tag


def test_scripts_make_no_markup_from_text():
    for script in SCRIPTS:
        for dangerous in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert dangerous not in part(f"{script}.js"), script


def test_the_page_is_the_same_each_time(small, page):
    assert report_html(small) == page


# ---- hostile names ------------------------------------------------------------------------------


def test_names_are_text_and_no_elements(page):
    wanted, elements = Elements(page), Elements(report_html(hostile()))
    tags = {tag for tag, _ in wanted.found}
    assert {tag for tag, _ in elements.found} <= tags | {"ul", "li", "section", "h2"}
    assert len(elements.all("script")) == len(wanted.all("script")) == 2
    assert not elements.all("img")


def test_hostile_ids_and_names_arrive_unchanged():
    bad = hostile()
    data = data_of(report_html(bad))
    assert data["ids"][: len(bad.extreme)] == bad.ids[bad.extreme].tolist()
    assert set(data["names"]) <= set(bad.names)
    assert any("</script>" in name for name in data["names"])


@pytest.mark.parametrize("name", HOSTILE)
def test_data_cannot_end_its_element(name):
    page = report_html(replace(hostile(), title=name, notes=(name,), warnings=(name,)))
    inside = page.split('id="data">')[1].split("</script>")[0]
    assert "<" not in inside
    json.loads(inside)


def test_text_that_no_encoding_holds_is_written(tmp_path):
    odd = replace(made(50, 3), title="half \ud800 of a pair\x00\x1b", notes=("\udc80",))
    path = write_report(odd, tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "half \N{REPLACEMENT CHARACTER} of a pair" in text
    assert "\x00" not in text


# ---- what it holds ------------------------------------------------------------------------------


def test_a_million_rows_stay_below_eight_megabytes(million):
    page = report_html(million)
    assert len(page.encode()) < 8_000_000
    data = data_of(page)
    rows = unpacked(data["rows"], "u4") // 4
    m = len(million.extreme)
    np.testing.assert_array_equal(rows[:m], million.extreme)  # all of them, in their order
    assert len(rows) == m + 20_000
    assert len(np.unique(rows)) == len(rows)
    assert not million.flagged[rows[m:]].any()
    assert data["features"]["rows"] == min(m, EXPLAINED)
    assert f"all {m:,} flagged rows and a sample of 20,000 of the {10**6 - m:,} other rows" in page


def test_good_rows_are_not_sampled_while_they_are_few(small, page):
    rows = unpacked(data_of(page)["rows"], "u4") // 4
    np.testing.assert_array_equal(np.sort(rows), np.arange(300))
    assert "The pictures show all 300 rows." in page


def test_pages_that_would_be_too_large_say_less_and_say_so(monkeypatch):
    many = replace(made(5000, 2500), ids=np.array([f"{i:050d}" for i in range(5000)]))
    fewer = [
        replace(
            detail,
            explained=detail.explained and detail.explained // 20,
            labelled=detail.labelled and detail.labelled // 20,
        )
        for detail in DETAILS
    ]
    monkeypatch.setattr(page_module, "DETAILS", fewer)
    sizes = []
    for number, detail in enumerate(fewer):
        page = page_module.page_of(many, detail)
        sizes.append(len(page.encode()))
        monkeypatch.setattr(page_module, "LARGEST", sizes[-1])
        if sizes.index(sizes[-1]) == number:  # no page before is as small
            assert report_html(many) == page
        rows = unpacked(data_of(page)["rows"], "u4") // 4
        np.testing.assert_array_equal(rows[:2500], many.extreme)
        said = "Features are named for the" in page
        assert said == (detail.explained is not None and detail.explained < 2500)
    assert sizes == sorted(sizes, reverse=True)


def test_half_of_a_million_rows_are_all_drawn_in_a_page_below_the_limit():
    half = made(1_000_000, 450_000, d=5)
    page = report_html(replace(half, ids=np.char.add("sample number ", half.ids)))
    assert len(page.encode()) < LARGEST
    data = data_of(page)
    rows = unpacked(data["rows"], "u4") // 4
    np.testing.assert_array_equal(np.sort(rows[:450_000]), np.sort(half.extreme))
    # Distances have fewer digits then, and enough for a picture.
    code = data["orthogonal"]
    seen = code["unit"] * np.sinh(unpacked(code["values"], "i2") * code["top"])
    np.testing.assert_allclose(seen, half.orthogonal_distances[rows], rtol=2e-3)


def test_ids_in_any_language_and_of_any_length_keep_below_the_limit():
    some = made(5000, 100)
    page = report_html(replace(some, ids=np.char.add(some.ids, "\u00e9" * 1000)))
    assert len(page.encode()) < LARGEST


@pytest.mark.parametrize("far", [1.0, 1e6, 1e250])
def test_coordinates_are_as_precise_as_a_picture_needs(small, far):
    scores = small.scores.copy()
    scores[small.extreme[0]] *= far
    data = data_of(report_html(replace(small, scores=scores)))
    rows = unpacked(data["rows"], "u4") // 4
    for j, coded in enumerate(data["ours"]["scores"]):
        read = coded["unit"] * np.sinh(unpacked(coded["values"], "i2") * coded["top"])
        spread = np.std(scores[~small.flagged, j])
        wanted = scores[rows, j]
        # A hundredth of the good rows' spread, or of the value itself.
        assert np.all(np.abs(read - wanted) <= 0.01 * np.maximum(spread, np.abs(wanted)))


@pytest.mark.parametrize("size", [1e-290, 1.0, 1e290])
def test_distances_are_read_back_whatever_their_size(small, size):
    scaled = replace(
        small,
        orthogonal_distances=small.orthogonal_distances * size,
        cutoffs={**small.cutoffs, "orthogonal": small.cutoffs["orthogonal"] * size},
        scores=small.scores * size,
    )
    data = data_of(report_html(scaled))
    read = data["orthogonal"]["unit"] * unpacked(data["orthogonal"]["values"], "f4").astype(float)
    wanted = scaled.orthogonal_distances[unpacked(data["rows"], "u4") // 4]
    np.testing.assert_allclose(read, wanted, rtol=1e-6)


def test_ids_that_are_row_numbers_take_no_room(small):
    assert data_of(report_html(small))["ids"] is None
    named = replace(small, ids=np.array([f"s{i}" for i in range(300)]))
    assert data_of(report_html(named))["ids"][0] == f"s{small.extreme[0]}"


# ---- what it says -------------------------------------------------------------------------------


def test_the_headline_answers_the_question(small):
    assert words.headline(small) == (
        "12 of 300 rows (4%) are unlike the others: all off the model."
    )
    assert words.headline(made(300, 1)) == ("One of 300 rows is unlike the others: off the model.")
    assert words.headline(made(300, 0)).startswith("All 300 rows agree")


def test_rows_that_chance_would_flag_are_not_called_bad():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 6)) * [5, 3, 0.1, 0.1, 0.1, 0.1]
    clean = answer(OutlierRobustPCA(2).fit(X), X)
    assert len(clean.extreme) > 0
    assert "as chance alone would put there" in words.headline(clean)
    assert "unlike" not in words.headline(clean)


def test_labels_set_by_hand_are_not_said_to_be_beyond_the_limits(small):
    assert not words.set_by_hand(small)
    shrunk = {key: value / 3 for key, value in small.cutoffs.items()}
    by_hand = replace(small, cutoffs=shrunk, times=3 * small.times)
    assert any("set by hand" in sentence for sentence in words.lead(by_hand))
    new = replace(by_hand, new=True)
    assert words.headline(new) == "12 of 300 new rows (4%) are flagged."
    none = replace(new, new=False, flagged=np.zeros(300, dtype=bool), extreme=new.extreme[:0])
    assert words.headline(none).startswith("None of 300 rows is flagged")
    assert words.headline(replace(small, new=True)).endswith("beyond the limits of the model.")


@pytest.mark.parametrize(
    ("angle", "said"),
    [(1.0, "nearly the same directions"), (12.0, "up to 12° away."), (70.0, "mostly outside")],
)
def test_the_angle_to_ordinary_pca_is_put_into_words(small, angle, said):
    assert said in words.ordinary_words(replace(small, angle=angle))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("given", "were asked for"),
        ("gap", "is taken for the end of the signal"),
        ("share", "describe the share of the variance that is wanted"),
        ("edge", "is the most that is taken"),
        ("exact", "no noise"),
    ],
)
def test_every_rule_for_the_rank_has_its_reason(small, rule, said):
    choice = RankChoice(2, rule, np.array([0.6, 0.3, 0.1]), 3.0, 0.9)
    assert said in " ".join(words.rank_words(replace(small, rank=choice)))


def test_notes_and_warnings_are_all_there(small):
    notes, warned = (
        ("Text was left out.", "Two rows were dropped."),
        ("It may be wrong.", "Or not."),
    )
    page = report_html(replace(small, notes=notes, warnings=warned))
    for sentence in notes:
        assert f"<li>{sentence}</li>" in page
    for sentence in warned:
        assert page.count(f"<li>{sentence}</li>") == 2  # at the top, and in their place
    assert "2 warnings" in page
    assert "A warning" not in report_html(small)


def test_a_fit_that_did_not_settle_is_a_warning(small):
    moving = replace(small.history[-1], subspace_change=0.01)
    page = report_html(replace(small, converged=False, history=(*small.history, moving)))
    assert "A warning" in page
    assert "did not settle" in page


def test_spectra_are_explained_by_bands_and_not_by_single_channels():
    (_, first), *_ = words.extreme_words(spectra())
    assert "nm to" in first


def test_bands_hold_the_shares_of_their_features():
    shares = np.array([0.0, 0.1, 0.2, 0.2, 0.1, 0.1, 0.0, -0.3, 0.0, 0.0])
    waves = [str(900 + 5 * j) for j in range(10)]
    (band, much), (single, less) = named_bands(shares, waves, 5)
    assert (band, single) == ("905 to 925", "935")
    np.testing.assert_allclose([much, less], [0.7, -0.3])


def test_neighbours_that_are_no_spectrum_are_named_one_by_one():
    shares = np.array([0.0, 0.1, 0.2, 0.2, 0.1, 0.1, 0.0, -0.3, 0.0, 0.0])
    named = [name for name, _ in named_bands(shares, "abcdefghij", 3)]
    assert named == ["h", "c", "d"]


def test_few_features_are_named_one_by_one():
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    assert [name for name, _ in named_bands(shares, "abcd", 4)] == list("abcd")


# ---- odd answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("case", odd_answers().items(), ids=lambda case: case[0])
def test_every_answer_makes_a_page(case):
    data_of(report_html(case[1]))


# ---- the file -----------------------------------------------------------------------------------


def test_the_file_is_the_page(small, page, tmp_path):
    path = write_report(small, str(tmp_path / "report.html"))
    assert path.read_text(encoding="utf-8") == page
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_made_leaves_the_old_one(small, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        write_report(small, path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_missing_folder_is_named(small, tmp_path):
    with pytest.raises(OSError, match="no such folder"):
        write_report(small, tmp_path / "nowhere" / "report.html")


# ---- colours ------------------------------------------------------------------------------------


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_told_apart(theme):
    light, dark = style_sheet().split("prefers-color-scheme: dark", 1)
    text = light if theme == "light" else dark.split("}")[0]
    colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", text))
    for ink in ("ink", "soft", "accent"):
        for ground in ("page", "card"):
            assert contrast(colour[ink], colour[ground]) >= 4.5, (ink, ground)
    assert contrast(colour["ink"], colour["caution"]) >= 4.5
    assert contrast(colour["accent-ink"], colour["accent"]) >= 4.5
    for sign in ("kind-0", "kind-1", "kind-2", "kind-3", "up", "down", "field"):
        assert contrast(colour[sign], colour["card"]) >= 3, sign


def test_iterations_are_counted_from_one(small):
    steps = tuple(Iteration(i, 2, {}, 290 - i, 10.0**-i, 1.0) for i in range(3))
    page = report_html(replace(small, history=steps))
    assert '<th scope="row">1</th><td>290</td><td>1</td>' in page
    assert [row[0] for row in data_of(page)["history"]] == [290, 289, 288]
