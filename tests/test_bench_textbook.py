"""How `benchmarks/_textbook.py` reads, judges and compares."""

import shutil
import subprocess

import numpy as np
import pytest

from benchmarks import _textbook
from benchmarks._cache import Cache
from benchmarks._rivals import hubert_fits

N = 60


@pytest.fixture
def folder(tmp_path):
    """A set near a line, six rows far away and one in doubt; and the size of one too large."""
    rng = np.random.default_rng(0)
    X = np.outer(rng.standard_normal(N), [3.0, 2.0, 1.0, 1.0]) + 0.1 * rng.standard_normal((N, 4))
    X[:7, 3] += 8.0 + np.arange(7)
    np.savez(tmp_path / "small.npz", X=X, y=np.arange(N) < 6, y_borderline=np.arange(N) == 6)
    (tmp_path / "baselines.csv").write_text(
        "dataset,n,d,method,scaling,k\n"
        "small,60,4,pca_recon,center,1.0\n"
        "small,60,4,pca_recon,standard,2.0\n"
        "small,60,4,mcd,standard,\n"
        "large,30000,4,pca_recon,center,30.0\n"
    )
    (tmp_path / "robpca.csv").write_text("dataset,scaling,k\nsmall,standard,1\n")
    return tmp_path


def test_sets_and_ranks(folder):
    assert _textbook.sets(folder) == ["small"]
    known = {("small", "center"): 1, ("small", "standard"): 1, ("large", "center"): 20}
    assert _textbook.ranks(folder) == known


def test_rows_in_doubt_count_nowhere(folder):
    data = _textbook.Labelled(folder, "small", "raw")
    first, second = np.zeros(N), np.zeros(N)
    first[:6], first[6] = 1.0, 2.0  # the row in doubt is farthest
    second[6:] = 1.0
    found = data.figures(first, second, first > 0)
    assert found == {"auc": [1.0, 0.0], "bad": 6, "false": 0}


def test_standard_features(folder):
    data = _textbook.Labelled(folder, "small", "standard")
    np.testing.assert_allclose(data.X.std(axis=0), 1.0)


def test_the_lines_of_ours_alone(folder):
    lines = list(_textbook.lines(folder, Cache(), seeds=2, alone=True))
    assert [line["scaling"] for line in lines] == ["raw", "raw", "standard", "standard"]
    assert [line["k"].startswith("auto") for line in lines] == [False, True, False, True]
    assert all(line["holds"] is None and line["MCD"] == "-" for line in lines)
    assert lines[0]["figures"]["ours"]["bad"] == 6
    assert lines[0]["ours"] == "1.000 1.000"


def test_others_from_the_cache(folder, tmp_path):
    cache = Cache(tmp_path / "kept.json")
    for scaling in _textbook.SCALINGS:
        X = _textbook.Labelled(folder, "small", scaling).X
        for method in _textbook.METHODS:
            found = {"auc": [0.5, 0.9], "bad": 6, "false": 50} if method != "PCA" else None
            found = found or {"auc": [0.4, 0.2]}
            cache.put(f"textbook: small, {scaling}, k = 1, {method}", X, found)
    line = next(_textbook.lines(folder, Cache(tmp_path / "kept.json"), seeds=1))
    assert (line["PcaHubert"], line["its bad, false"]) == ("0.500 0.900", "6, 50")
    assert line["PCA"] == "0.400 0.200"
    assert line["ranks"] is line["flags"] is line["holds"] is True


def test_what_is_claimed():
    mine = {"auc": [0.9, 0.5], "bad": 5, "false": 2}
    plain = {"PCA": {"auc": [0.85, 0.85]}}

    def ranks(hubert, mcd=None):
        found = None if mcd is None else {"auc": mcd}
        return _textbook.ranks_as_well(mine, {"PcaHubert": {"auc": hubert}, "MCD": found, **plain})

    assert ranks([0.905, 0.1]) is True
    assert ranks([0.92, 0.1]) is False
    assert ranks([0.1, 0.88], [0.95, 0.1]) is False
    assert ranks([0.8, 0.8]) is None  # not better than PCA
    assert _textbook.flags_as_well(mine, {"bad": 5, "false": 2}) is True
    assert _textbook.flags_as_well(mine, {"bad": 6, "false": 9}) is False
    assert _textbook.flags_as_well(mine, {"bad": 1, "false": 1}) is False
    assert _textbook.flags_as_well(mine, None) is None


def test_other_methods_find_what_is_there(folder):
    data = _textbook.Labelled(folder, "small", "raw")
    found = _textbook.min_cov_det(data, 1)
    assert found["auc"] == [1.0, 1.0]
    assert found["bad"] == 6
    assert set(_textbook.pca(data, 1)) == {"auc"}
    data.X = np.hstack([data.X] * 8)  # as many rows as twice the features
    assert _textbook.min_cov_det(data, 1) is None


def test_hubert_tells_distances_and_flags(folder):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    data = _textbook.Labelled(folder, "small", "raw")
    try:
        fit, failed = hubert_fits([data.X, np.ones((5, 4))], 1)
    except subprocess.CalledProcessError:
        pytest.skip("rrcov is not installed")
    off, _, flagged = fit.rows
    clean = np.arange(N) > 6
    centre = data.X[clean].mean(axis=0)
    # Its centre is one of its own, less than a standard error away.
    np.testing.assert_allclose(
        off[~clean], _textbook.off_subspace(data.X, centre, fit.V)[~clean], atol=0.2
    )
    assert flagged[:7].all()
    assert failed.rows is None
    assert not failed.V.any()
    found = _textbook.hubert(data, 1)
    assert (found["auc"][0], found["bad"]) == (1.0, 6)
