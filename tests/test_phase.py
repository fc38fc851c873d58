"""The command that measures how few good rows each method can do with."""

import json
import sys

import numpy as np
import pytest

from benchmarks import _report, phase


def test_rows_have_the_ratio_they_should():
    for rank in phase.RANKS:
        for ratio in phase.RATIOS:
            X, V, bad = phase.haystack("isotropic", rank, ratio, 0)
            inside = np.linalg.norm(X - X @ V @ V.T, axis=1) < 1e-12
            assert X.shape == (phase.N, phase.D)
            assert np.mean(~inside) == pytest.approx(bad)
            n_bad = np.sum(~inside)
            found = (np.sum(inside) / rank) / (n_bad / (phase.D - rank))
            assert found == pytest.approx(ratio, rel=0.02)


@pytest.mark.parametrize("kind", phase.KINDS)
def test_length_alone_does_not_tell_good_rows_from_bad(kind):
    X, V, _ = phase.haystack(kind, 5, 3.0, 0)
    inside = np.linalg.norm(X - X @ V @ V.T, axis=1) < 1e-12
    squares = np.sum(X**2, axis=1)
    assert np.mean(squares[inside]) == pytest.approx(np.mean(squares[~inside]), rel=0.2)


@pytest.mark.parametrize("kind", phase.KINDS)
def test_tyler_turns_exact_where_the_ratio_passes_one(kind, monkeypatch):
    # Zhang 2016. So the rows are what they should be, and the figures too.
    monkeypatch.setattr(phase, "RATIOS", (0.7, 1.5))
    records = list(phase.cells([kind], [10], ["tyler"], 2))
    assert [record["exact"] for record in records] == [0.0, 1.0]
    assert records[0]["median log10 error"] > -3 > -8 > records[1]["median log10 error"]


def test_a_method_that_fails_is_not_exact():
    X, V, bad = phase.haystack("isotropic", 5, 3.0, 0)

    def fails(X, rank, fraction):
        raise ValueError("not with these rows")

    assert phase.error(fails, X, 5, bad, V) == 1.0
    assert phase.error(lambda X, rank, fraction: V[:, :4], X, 5, bad, V) == 1.0
    assert phase.error(lambda X, rank, fraction: V, X, 5, bad, V) < 1e-12


def test_command_prints_a_table_and_draws_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_report, "RESULTS", tmp_path)
    monkeypatch.setattr(phase, "RATIOS", (0.5, 3.0))
    command = "phase --methods torp PCA ransac_plus --kinds isotropic --ranks 10 --seeds 1"
    monkeypatch.setattr(sys, "argv", [*command.split(), "--plots", str(tmp_path)])
    phase.main()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["bad", "rows", "rank", "method", "0.5", "3"]
    assert [line.split()[-2:] for line in printed[1:]] == [
        ["33%", "75%"],
        ["0%", "100%"],
        ["0%", "0%"],
        ["0%", "100%"],
    ]
    assert "torp *" in printed[2]
    assert "PCA *" not in printed[3]
    assert "ransac_plus *" in printed[4]
    written = json.loads((tmp_path / "phase.json").read_text())["rows"]
    assert written[1]["cells"][1]["exact"] == 1.0
    assert (tmp_path / "phase.svg").read_text().lstrip().startswith("<?xml")
