"""The claims of `benchmarks/theorems.py` on a small part of its data."""

import json
import math

import pytest

from benchmarks import _report, theorems

QUICK = {
    theorems.exact_recovery: {"sizes": ((1500, 24), (60, 80))},
    theorems.halving: {"sizes": ((3000, 14),), "ranks": (1, 2, 5)},
    theorems.graded_rows: {"sizes": ((1500, 5),), "ranks": (2,), "ratios": (1e2, 1e8)},
    theorems.noisy_rows: {"sizes": ((3500, 10),), "ranks": (4,)},
    theorems.gaussian_noise: {"sizes": ((6000, 10),), "noises": (1e-3, 1e-1)},
}


SLOW = (theorems.exact_recovery, theorems.noisy_rows, theorems.graded_rows)  # take long


class Lines(dict):
    """Lines of a claim, which is tried when it is first asked for."""

    def __missing__(self, claim):
        with theorems.one_thread():
            self[claim] = list(claim(**QUICK[claim]))
        return self[claim]


@pytest.fixture(scope="module")
def lines():
    return Lines()


@pytest.mark.parametrize(
    "claim",
    [pytest.param(claim, marks=[pytest.mark.slow] * (claim in SLOW)) for claim in QUICK],
    ids=lambda claim: claim.__name__,
)
def test_every_line_holds(lines, claim):
    assert [line for line in lines[claim] if line["holds"] is False] == []
    assert all(line["instances"] > 0 for line in lines[claim])


@pytest.mark.slow
def test_theorem_1_is_tried_where_it_applies_and_beyond(lines):
    settings = [line["setting"] for line in lines[theorems.exact_recovery]]
    for share in ("n/(128 mu^2 r) bad,", "1 row bad > n/(128 mu^2 r)", "n/(4 mu^2 r) bad"):
        for rho in ("rho from mu", "rho by grid"):
            for rank in ("rank asked = r", "rank asked > r"):
                assert any(s.startswith(share) and rho in s and rank in s for s in settings)


def test_bad_rows_outlast_the_first_iteration(lines):
    # Flat rows, for which the theorem allows several bad rows, at every rank.
    halved = [line for line in lines[theorems.halving] if "(steps)" in line["setting"]]
    steps = [line["instances"] for line in halved if "flat" in line["setting"]]
    assert len(steps) == 3
    assert min(steps) >= 10


@pytest.mark.slow
def test_bad_rows_on_a_line_and_in_a_plane_are_tried_by_all_centred_or_not(lines):
    settings = [line["setting"] for line in lines[theorems.graded_rows]]
    for name in ("torp:", "torp, rho by grid", "torp_n", "torp_bin", "torp_g"):
        for where in ("on a line", "in a plane"):
            for centred in (True, False):
                tried = (s for s in settings if s.startswith(name) and where in s)
                assert any(("centred" in s) == centred for s in tried)


def test_theorem_3_asks_for_rows_as_its_three_events_do():
    # Each fails with probability delta/3 at most: log(3/delta), where log(1/(3 delta)) is printed.
    data = theorems.instance(2000, 10, 1, 128, outliers="line", flat=True, seed=0)
    c1 = 1 / 12288
    rows = 16 * data.mu**2 * 10 / c1 * (math.log(3 / 0.05) + 10 * math.log(800))
    assert theorems.rows_needed(data) == pytest.approx(rows)


@pytest.mark.slow
def test_noise_makes_torp_n_give_up(lines):
    searched = [line for line in lines[theorems.noisy_rows] if "difference" in line["claim"]]
    assert sum(line["instances"] for line in searched) >= 200
    assert any("rank below r returned" in line["setting"] and line["holds"] for line in searched)


def test_torp_g_removes_rows_through_its_second_threshold(lines):
    removals = [line for line in lines[theorems.gaussian_noise] if "zeta_2" in line["claim"]]
    assert sum(line["instances"] for line in removals) >= 50


@pytest.mark.parametrize(
    ("values", "worst", "holds"),
    [
        ([0.1, 0.5], 0.5, True),
        ([0.6, 0.1], 0.6, False),
        ([0.1, math.nan, 0.2], math.nan, False),
        ([], math.nan, False),
    ],
)
def test_tally_reports_the_worst(values, worst, holds):
    tally = theorems.Tally("claim", 0.5)
    for value in values:
        tally.add("setting", value, {"value": value})
    (line,) = tally.lines()
    assert line["holds"] is holds
    assert line["worst"] == pytest.approx(worst, nan_ok=True)
    assert line["instances"] == len(values)


def test_exit_status_and_file_tell_of_a_line_that_fails(monkeypatch, tmp_path, capsys):
    def one_line():
        tally = theorems.Tally("claim", 0.5)
        tally.add("setting", 0.7, {"n": 10})
        return tally.lines()

    monkeypatch.setattr(_report, "RESULTS", tmp_path)
    for name in ("exact_recovery", "halving", "graded_rows", "noisy_rows", "gaussian_noise"):
        monkeypatch.setattr(theorems, name, one_line)
    with pytest.raises(SystemExit, match="5 of 5 lines do not hold"):
        theorems.main()
    assert "NO" in capsys.readouterr().out.splitlines()[1]
    written = json.loads((tmp_path / "theorems.json").read_text())
    assert written["command"] == "python -m benchmarks.theorems"
    assert written["rows"][0]["worst_at"] == {"n": 10}
