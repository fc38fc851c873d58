"""An answer as a table, as JSON and as text."""

import csv
import errno
import importlib.util
import json
import sys
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.recovery import DATA
from torpca import OutlierRobustPCA, _outputs
from torpca._answer import answer
from torpca._atomic import OutputError
from torpca._explain import Explanation
from torpca._outputs import no_formula, scores_table, summary, summary_text, write_scores

OCTANE = DATA / "octane.npz"
NASTY = ["=1+1", "+49 30", "-2+3", "@SUM(A1)", " =1", "\t=1", "a\nb", 'quo"te', "com,ma", "-5", "é"]


@pytest.fixture(scope="module")
def told(X, fitted):
    return answer(
        fitted,
        X,
        ids=[f"s{i}" for i in range(len(X))],
        names=[f"f{j}" for j in range(X.shape[1])],
        title="rows.csv",
        notes=["the column note was left out: it is text"],
        warnings=["something to know"],
    )


@pytest.fixture(scope="module")
def nothing_flagged(told):
    n = len(told.ids)
    return replace(
        told,
        types=np.full(n, "regular"),
        flagged=np.zeros(n, dtype=bool),
        extreme=np.zeros(0, dtype=np.intp),
        explanation=Explanation.empty(0, 3),
        contributions=np.zeros((0, len(told.names))),
        notes=(),
        warnings=(),
    )


@pytest.fixture
def nasty(told):
    """Ids and names that are out to harm a spreadsheet or a terminal."""
    bad = told.extreme[: len(NASTY)]
    ids = told.ids.astype(object)
    ids[bad] = NASTY
    names = ("=HYPERLINK(1)", "x\x1b[31m", *told.names[2:])
    found = deepcopy(told.explanation)
    found.features[0, :2], found.count[0] = (0, 1), 2
    for column, numbers in (("values", (7, -8)), ("low", (1, 1)), ("high", (2, 2))):
        getattr(found, column)[0, :2] = numbers
    return replace(told, ids=ids.astype(str), names=names, explanation=found)


def no_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setattr(_outputs, "find_spec", lambda name: None)


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


# ---- the table ----------------------------------------------------------------------------------


def test_columns(told, fitted, X):
    table = scores_table(told)
    assert list(table) == [
        *("row", "label", "type", "times_limit", "score_distance", "orthogonal_distance"),
        *("pc1", "pc2", "pc3", "top_features"),
    ]
    assert all(column.shape == (len(X),) for column in table.values())
    flagged = np.isin(table["label"], ("outlier", "extreme"))
    np.testing.assert_array_equal(flagged, fitted.predict(X) == -1)
    np.testing.assert_array_equal(table["label"] == "extreme", table["type"] == "good leverage")
    np.testing.assert_allclose(table["times_limit"], -fitted.score_samples(X))
    np.testing.assert_array_equal(table["type"], fitted.outlier_types(X))
    np.testing.assert_array_equal(table["pc2"], fitted.transform(X)[:, 1])
    np.testing.assert_array_equal(table["top_features"] != "", flagged)


def test_top_features_are_those_of_their_row(told):
    text = scores_table(told)["top_features"]
    for row, features in zip(told.extreme, told.features, strict=True):
        assert [part.split()[0] for part in text[row].split("; ")] == [name for name, _ in features]
        assert ", usually " in text[row]
        assert "%" not in text[row]  # a share of a distance looks like a deviation


@pytest.mark.parametrize("block", [7, 20_000])
def test_csv_holds_the_table_to_the_last_digit(told, tmp_path, block, monkeypatch):
    monkeypatch.setattr(_outputs, "ROWS_AT_ONCE", block)
    path = write_scores(told, tmp_path / "scores.csv")
    there, table = read_csv(path), scores_table(told)
    assert list(there) == list(table)
    for name, column in table.items():
        back = np.array(there[name])
        np.testing.assert_array_equal(back.astype(column.dtype), column)
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_holds_the_table(told, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    there = parquet.read_table(write_scores(told, tmp_path / "scores.parquet")).to_pydict()
    for name, column in scores_table(told).items():
        assert there.pop(name) == column.tolist()
    assert not there


def test_an_ending_is_added(told, tmp_path, monkeypatch):
    if importlib.util.find_spec("pyarrow"):
        assert write_scores(told, tmp_path / "scores").name == "scores.parquet"
    no_pyarrow(monkeypatch)
    assert write_scores(told, tmp_path / "scores").name == "scores.csv"


def test_parquet_without_pyarrow_says_how_to_get_it(told, tmp_path, monkeypatch):
    no_pyarrow(monkeypatch)
    with pytest.raises(ImportError, match=r'pip install "torpca\[cli\]", or .* \.csv'):
        write_scores(told, tmp_path / "scores.parquet")
    write_scores(told, tmp_path / "scores.csv")
    assert [entry.name for entry in tmp_path.iterdir()] == ["scores.csv"]


def test_other_endings_are_refused(told, tmp_path):
    with pytest.raises(ValueError, match=r"to a \.csv or \.parquet file, not to .*scores\.xlsx"):
        write_scores(told, tmp_path / "scores.xlsx")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_full_disk_leaves_the_old_table(told, tmp_path, ending, monkeypatch):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow")
    path = write_scores(told, tmp_path / f"scores.{ending}")
    before = path.read_bytes()

    class Full:
        """A file on a disk with room for a thousand bytes."""

        closed = False

        def __init__(self, file):
            self.file, self.room = file, 1000

        def write(self, data):
            self.room -= len(data)
            if self.room < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    real = _outputs.atomic_write
    monkeypatch.setattr(
        _outputs,
        "atomic_write",
        lambda path, write, force: real(path, lambda file: write(Full(file)), force=force),
    )
    with pytest.raises(OutputError, match="the disk is full"):
        write_scores(told, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_old_table_is_kept_if_asked(told, tmp_path):
    path = write_scores(told, tmp_path / "scores.csv")
    with pytest.raises(FileExistsError, match="already exists"):
        write_scores(told, path, force=False)


# ---- text that is not ours ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["=1", "+a", "-a", "@a", " =1", "\u00a0=1", "\t1", "\r1", "\n1", "\uff1d1", "-1+1", "+1e"],
)
def test_formulas_get_an_apostrophe(text):
    assert no_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a", "-5", "+5", "-5.25", "-1e-3", "a=b", "5-3", "'=1", " a"])
def test_other_text_stays(text):
    assert no_formula(text) == text


def test_no_cell_of_a_csv_file_is_a_formula(nasty, tmp_path):
    there = read_csv(write_scores(nasty, tmp_path / "scores.csv"))
    rows = [there["row"][at] for at in nasty.extreme[: len(NASTY)]]
    assert rows == ["'=1+1", "'+49 30", "'-2+3", "'@SUM(A1)", "' =1", "'\t=1", *NASTY[6:]]
    why = "'=HYPERLINK(1) 7, usually 1.0 to 2.0 given the others; x\x1b[31m -8, usually 1.0 to 2.0"
    assert there["top_features"][nasty.extreme[0]] == f"{why} given the others"


def test_parquet_has_ids_as_they_are(nasty, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    there = parquet.read_table(write_scores(nasty, tmp_path / "scores.parquet")).to_pydict()
    assert [there["row"][at] for at in nasty.extreme[: len(NASTY)]] == NASTY


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_text_that_is_no_proper_unicode_is_written_all_the_same(told, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow")
    ids = told.ids.copy()
    ids[0] = "\ud83d"
    path = write_scores(replace(told, ids=ids), tmp_path / f"scores.{ending}")
    assert b"\\ud83d" in path.read_bytes()


def test_a_terminal_obeys_nothing_in_the_text(nasty):
    text = summary_text(replace(nasty, title="a\x1b]0;owned\x07", notes=("b\x9bc",)))
    assert all(c == "\n" or c.isprintable() for c in text)
    assert "a?b" in text  # an id with a line break takes one line
    assert "x?[31m -8 (1.0 to 2.0)" in text


# ---- in short -----------------------------------------------------------------------------------


def test_the_summary_is_json_and_tells_it_all(told, fitted, X):
    short = json.loads(json.dumps(summary(told), allow_nan=False))
    assert short == summary(told)
    assert (short["title"], short["rows"], short["features"]) == ("rows.csv", 300, 12)
    assert short["rank"]["components"] == 3
    assert short["rank"]["rule"] == "given"
    types = fitted.outlier_type_
    flagged = dict(short["flagged"])
    assert flagged.pop("rows") == np.count_nonzero(types != "regular")
    assert flagged.pop("share") == pytest.approx(np.mean(types != "regular"))
    assert flagged.pop("merely_extreme") == flagged["good leverage"]
    assert flagged.pop("off_the_model") == flagged["orthogonal"] + flagged["bad leverage"]
    plain = told.plain_flagged
    assert flagged.pop("by_ordinary_pca") == np.count_nonzero(plain)
    assert flagged.pop("by_both") == np.count_nonzero(plain & (types != "regular"))
    said = (
        f"flags {np.count_nonzero(plain)} rows, {np.count_nonzero(plain & told.flagged)} of these "
    )
    assert said in summary_text(told)
    assert flagged == {
        kind: np.count_nonzero(types == kind)
        for kind in ("bad leverage", "orthogonal", "good leverage")
    }
    assert short["limits"] == fitted.cutoffs_
    explained = short["variance_explained"]
    assert explained["without_bad_rows"] == pytest.approx(fitted.explained_variance_ratio_.sum())
    assert explained["with_bad_rows"] == pytest.approx(told.plain_explained.sum())
    assert len(explained["by_component"]["with_bad_rows"]) == 3
    assert short["angle_to_ordinary_pca"] == told.angle
    assert short["notes"] == ["the column note was left out: it is text"]
    assert short["warnings"] == ["something to know"]
    assert short["converged"] is True
    assert short["iterations"] == fitted.n_iter_


def test_the_most_extreme_rows(told, fitted, X):
    rows = summary(told)["most_extreme"]
    assert len(rows) == 10
    far = -fitted.score_samples(X)
    np.testing.assert_allclose([row["times_limit"] for row in rows], np.sort(far)[::-1][:10])
    for row in rows:
        at = row["number"] - 1
        assert row["row"] == f"s{at}"
        assert row["type"] == fitted.outlier_type_[at]
        assert row["score_distance"] == fitted.score_distances_[at]
        assert row["orthogonal_distance"] == fitted.orthogonal_distances_[at]
        why = fitted.explain(X[at : at + 1])
        assert [f["name"] for f in row["features"]] == [f"f{name[1:]}" for name in why["feature"]]
        for name in ("value", "expected", "low", "high", "share"):
            np.testing.assert_allclose([f[name] for f in row["features"]], why[name])


def test_causes_hold_every_flagged_row_once(told):
    causes = summary(told)["causes"]
    assert sum(cause["rows"] for cause in causes) == len(told.extreme)
    rows = np.concatenate([cause.rows for cause in told.causes])
    np.testing.assert_array_equal(np.sort(rows), np.sort(told.extreme))
    assert "causes" in summary_text(told)


def test_what_is_infinite_is_none(told):
    odd = replace(
        told,
        rank=replace(told.rank, gap=np.inf),
        cutoffs={"score": 0.0, "orthogonal": np.inf},
        times=np.full(len(told.times), np.inf),
    )
    short = json.loads(json.dumps(summary(odd), allow_nan=False))
    assert short["rank"]["gap"] is None
    assert short["limits"] == {"score": 0.0, "orthogonal": None}
    assert short["most_extreme"][0]["times_limit"] is None
    assert "beyond 0" in summary_text(odd)


def test_why_there_are_so_many_components(told):
    rank = replace(told.rank, rule="gap", gap=1234.4)
    assert summary(replace(told, rank=rank))["rank"]["reason"].endswith("drops 1,234 times")
    assert "3, where the variance drops 1,234 times" in summary_text(replace(told, rank=rank))


def test_the_text(told):
    lines = summary_text(told).splitlines()
    assert lines[0] == "rows.csv: 300 rows of 12 features"
    assert len(lines) < 36
    text = "\n".join(lines)
    for words in ("3, as requested", " of 300 rows (", "degrees between", "because of", "and "):
        assert words in text
    assert "  the column note was left out: it is text" in lines
    assert "  something to know" in lines
    # The values of the facts begin in one column, and so do those of the table.
    facts = lines[2:7]
    begin = facts[3].index("variance explained") + len("variance explained") + 2
    assert all(line[begin - 1] == " " and line[begin] != " " for line in facts)
    head = next(i for i, line in enumerate(lines) if line.startswith("  row "))
    begin = lines[head].index("because of")
    assert all(
        line[begin] == "f" and line[begin - 2 : begin] == "  "
        for line in lines[head + 1 : head + 11]
    )


def test_long_ids_are_shortened(told):
    ids = told.ids.astype("U200")
    ids[told.extreme[0]] = "x" * 200
    text = summary_text(replace(told, ids=ids))
    assert "x" * 11 + "..." + "x" * 10 + " " in text
    assert max(map(len, text.splitlines())) < 140


def test_nothing_flagged(nothing_flagged, tmp_path):
    short = summary(nothing_flagged)
    assert short["flagged"]["rows"] == 0
    assert short["most_extreme"] == []
    assert summary_text(nothing_flagged).endswith("No row is beyond a limit.")
    there = read_csv(write_scores(nothing_flagged, tmp_path / "scores.csv"))
    assert set(there["label"]) == {"inlier"}
    assert set(there["top_features"]) == {""}


def test_a_subspace_that_did_not_settle_is_said(told):
    moving = replace(told.history[-1], subspace_change=0.01)
    told = replace(told, history=(*told.history[:-1], moving))
    assert "still moved" not in summary_text(told)
    n = len(told.history)
    said = f"{n}, and the subspace still moved by 1.0e-02"
    assert said in summary_text(replace(told, converged=False))


@pytest.mark.skipif(not OCTANE.is_file(), reason="needs the octane data")
def test_the_six_samples_of_octane_with_alcohol_are_named(tmp_path):
    X = np.load(OCTANE)["X"]
    told = answer(OutlierRobustPCA().fit(X), X, title="octane.csv")
    alcohol = ["25", "26", "36", "37", "38", "39"]
    assert sorted(row["row"] for row in summary(told)["most_extreme"]) == alcohol
    lines = summary_text(told).splitlines()
    assert all(any(line.startswith(f"  {row} ") for line in lines) for row in alcohol)
    there = read_csv(write_scores(told, tmp_path / "scores.csv"))
    flagged = [
        row for row, label in zip(there["row"], there["label"], strict=True) if label == "outlier"
    ]
    assert flagged == alcohol
