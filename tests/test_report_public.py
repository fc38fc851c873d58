"""torpca.report: from Python and in a notebook."""

import html
import re

import numpy as np
import pytest
import scipy.sparse

import torpca
from torpca._report.places import as_dates
from torpca.datasets import make_outlier_subspace

X = make_outlier_subspace(120, 6, 2, 0.1, noise=0.01, random_state=0).X


@pytest.fixture(scope="module")
def model():
    return torpca.OutlierRobustPCA(2).fit(X)


def test_the_file_is_the_page_and_is_not_replaced_unasked(model, tmp_path):
    path = tmp_path / "plant.html"
    made = torpca.report(model, X, path)
    assert made.path == path
    assert path.read_text(encoding="utf-8") == made.html
    assert "<h1><bdi>plant</bdi></h1>" in made.html
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="force=True"):
        torpca.report(model, X, path)
    assert path.read_text() == "mine"
    torpca.report(model, X, path, force=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_notebook_shows_it_in_a_frame_of_its_own(model):
    made = torpca.report(model, X)
    assert made.path is None
    shown = made._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    inside = shown.split('srcdoc="', 1)[1].split('"', 1)[0]
    assert html.unescape(inside) == made.html
    assert len(repr(made)) < 100


def test_what_is_given_is_on_the_page(model):
    times = np.datetime64("2024-05-06") + np.arange(120)
    ids = [f"sample {i}" for i in range(120)]
    made = torpca.report(model, X, ids=ids, names=list("abcdef"), times=times, title="mine")
    assert "Rows by time" in made.html
    assert "sample 0" in made.html
    assert f"<code>{torpca.__version__}</code>" in made.html
    assert "Option n_components" in made.html


def test_sparse_rows_and_frames_have_reports(model):
    pd = pytest.importorskip("pandas")
    sparse = scipy.sparse.csr_matrix(X)
    of_sparse = torpca.report(torpca.OutlierRobustPCA(2).fit(sparse), sparse)
    dense = torpca.report(torpca.OutlierRobustPCA(2).fit(X), X)
    headline = re.search(r'class="headline">(.*?)<', dense.html)[1]
    assert headline in of_sparse.html
    frame = pd.DataFrame(X, columns=list("abcdef"))
    made = torpca.report(torpca.OutlierRobustPCA(2).fit(frame), frame)
    assert '"names":["a","b","c","d","e","f"]' in made.html


def test_new_rows_and_their_baseline(model):
    made = torpca.report(model, X[:50] + 0.001, new=True, baseline=(120, 12))
    assert "10% at the fit (12 of 120 rows)" in made.html


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"path": "report.txt"}, ValueError, "must end in .html"),
        ({"ids": ["a"]}, ValueError, "ids has 1 entries, and 120 are needed"),
        ({"names": ["a"]}, ValueError, "names has 1 entries, and 6 are needed"),
        ({"times": [1, 2]}, ValueError, "times has 2 entries"),
        ({"X": X[:50]}, ValueError, "new=True"),
        ({"model": torpca.TORP(2)}, TypeError, "TORP must be a fitted OutlierRobustPCA"),
    ],
)
def test_bad_input_is_refused_before_the_work(model, given, error, said):
    with pytest.raises(error, match=said):
        torpca.report(**{"model": model, "X": X, **given})


def test_a_frame_with_an_index_of_its_own_names_its_rows(model):
    pd = pytest.importorskip("pandas")
    worst = int(np.argmax(model.orthogonal_distances_))
    frame = pd.DataFrame(X, index=[f"batch-{i}" for i in range(len(X))])
    assert f"batch-{worst}" in torpca.report(model, frame.to_numpy(), ids=frame.index).html
    fitted = torpca.OutlierRobustPCA(2).fit(frame.set_axis(list("abcdef"), axis=1))
    frame.columns = list("abcdef")
    assert f"batch-{worst}" in torpca.report(fitted, frame).html
    assert "Rows are counted from 1" in torpca.report(fitted, frame.reset_index(drop=True)).html


def test_new_rows_are_set_beside_what_the_model_knows_of_the_fit(model):
    made = torpca.report(model, X[:50], new=True)
    n_flagged = np.count_nonzero(model.outlier_type_ != "regular")
    assert f"at the fit ({n_flagged} of 120 rows)" in made.html
    assert (
        "at the fit (3 of 60 rows)" in torpca.report(model, X[:50], new=True, baseline=(60, 3)).html
    )


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["2024-03-01 07:00+01:00", "", "2024-03-01 08:00+01:00"], "2024-03-01T07:00"),
        (["2024-03-01T07:00Z", "2024-03-01T08:00Z"], "2024-03-01T07:00"),
        (["2024-03-31 01:00+01:00", "2024-03-31 03:00+02:00"], "2024-03-31T00:00"),
        (["2024-03-01", "2024-03-02"], "2024-03-01T00:00"),
    ],
)
def test_times_with_an_offset_are_read_without_a_warning(texts, first):
    """As the clock said, unless the clock was changed in between: then in UTC."""
    read = as_dates(np.array(texts, dtype=object))
    assert read[0] == np.datetime64(first, "ms").astype(np.int64)
    assert np.isnan(read[1]) == (texts[1] == "")
