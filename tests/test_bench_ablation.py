"""What `benchmarks/ablation.py` changes, on which tables, and how it counts."""

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest

from benchmarks import ablation
from benchmarks._cases import PLANTED, REAL, real_fits, real_sets
from benchmarks._changes import CHANGES, NUMBERS, OFF, scaled
from benchmarks._families import FAMILIES, HARD
from benchmarks._second import GOOD
from benchmarks.ablation import CELLS, Figure
from torpca import OutlierRobustPCA
from torpca._robust import algorithm, choice, loop, start
from torpca._robust.part import draw_part
from torpca._robust.rank import RankRule
from torpca._robust.start import rank_of_half
from torpca._robust.subspace import Subspace
from torpca._robust.tuning import Tuning, tuned, tuning
from torpca._sources import as_source
from torpca.datasets import make_outlier_subspace

EVERY = {"pairs", "strict", "side", "subsets"}
OFF_BY_NAME = {change.what: change for change in OFF}


def a_part(X):
    magnitudes = np.max(np.abs(X), axis=1)
    rng = np.random.default_rng(0)
    return draw_part(as_source(X), magnitudes, np.ones(len(X)), rng, center=True)


@pytest.fixture(scope="module")
def two_groups():
    """Rows on which every kind of candidate is tried."""
    made = make_outlier_subspace(300, 10, 2, 0.3, outliers="c", noise=0.01, random_state=0)
    rng = np.random.default_rng(0)
    # Without a gap beyond two components no candidate is the last.
    return a_part(made.X + 0.3 * rng.standard_normal(made.X.shape))


def tried(part, rank=2):
    rng, rule = np.random.default_rng(0), RankRule(given=rank)
    halves = start.least_outlying(part, rng)
    return list(start.candidates(part, halves, rank_of_half(part, halves[0], rule), rng))


def names_of(part):
    """Names of the candidates that are tried, whether or not they come to rows of their own."""
    with tuned(same_rows=-1.0):
        return {c.name for c in tried(part)}


# ---- changes -------------------------------------------------------------------------------------


def test_every_number_is_halved_and_doubled():
    assert Counter(c.what for c in NUMBERS) == dict.fromkeys((f.name for f in fields(Tuning)), 2)
    for change in NUMBERS:
        with change.made() as changed:
            differ = [
                f.name
                for f in fields(Tuning)
                if getattr(changed, f.name) != getattr(Tuning(), f.name)
            ]
        assert differ == [change.what]
    assert len(CHANGES) == len(NUMBERS) + len(OFF)


@pytest.mark.parametrize(
    ("name", "halved", "doubled"),
    [
        ("n_pairs", 150, 600),
        ("n_next", 1, 6),
        ("tail", 0.98, 3.92),
        ("part_rows", (400, 2500), (1600, 10_000)),
        ("closer", 1.01, 1.04),  # in its distance from one, as the next ones
        ("taper", 0.9, 0.6),
        ("tilt", 1.15, 1.6),
        ("majority", 0.505, 0.52),  # in its distance from a half, as the next one
        ("inside", 0.625, 1.0),
    ],
)
def test_how_numbers_are_halved_and_doubled(name, halved, doubled):
    assert scaled(name, 0.5) == halved
    assert scaled(name, 2.0) == doubled


def test_factors_stay_factors():
    # No change makes a factor by which one thing must exceed another one below which it must be.
    for factor in (0.5, 2.0):
        for name in ("gap", "next_variance", "closer", "tilt"):
            assert scaled(name, factor) > 1
        assert 0 < scaled("taper", factor) < 1
        for name in ("majority", "inside"):
            assert 0.5 < scaled(name, factor) <= 1


@pytest.mark.parametrize("name", ["strict", "side", "subsets"])
def test_a_candidate_switched_off_is_not_tried(name, two_groups):
    assert names_of(two_groups) == EVERY
    with OFF_BY_NAME[f'candidate "{name}"'].made():
        assert names_of(two_groups) == EVERY - {name}
    assert names_of(two_groups) == EVERY


def test_without_the_end_where_noise_is_left_all_candidates_are_tried():
    part = a_part(make_outlier_subspace(300, 10, 2, 0.1, noise=0.01, random_state=0).X)
    assert names_of(part) == {"pairs"}
    with OFF_BY_NAME["end where noise is left"].made():
        assert names_of(part) == EVERY
    assert names_of(part) == {"pairs"}


def test_without_the_leverage_test_all_leverage_rows_stay():
    cell = next(c for c in PLANTED if c.size == (200, 20, 2) and c.data.startswith("bad, 2 noise"))
    part, rule, rng = a_part(cell.draw(0).X), RankRule(given=2), np.random.default_rng(0)
    best, _, _ = start.find_start(part, 600, rule, rng)

    def left_out():
        keep, _ = algorithm.tested_for_leverage(part, best, np.random.default_rng(0))
        return np.sum(best.keep - keep)

    assert left_out() > 1
    with OFF_BY_NAME["leverage"].made():
        assert left_out() == 0


def test_without_a_limit_on_copies_a_heap_has_all_its_votes():
    X = np.random.default_rng(0).standard_normal((100, 5))
    X[:40] = X[0]
    assert np.max(heap := a_part(X).votes) == pytest.approx(tuning().most_copies * np.min(heap))
    with OFF_BY_NAME["limit on copies"].made():
        assert np.max(heap := a_part(X).votes) == pytest.approx(40 * np.min(heap))


LINES = {"with a gap": 1e-4, "both exact": None}


@pytest.mark.parametrize("line", LINES)
def test_without_a_line_of_the_choice_the_first_candidate_stays(line, two_groups):
    one = tried(two_groups)[0]
    last = float(one.fit.variances[-1])
    of_line = LINES[line]
    one = replace(one, share=0.6, next_variance=last * (of_line or 0.1))
    one = replace(one, limit=0.0 if of_line is None else one.limit)
    tight = replace(one, share=0.9, half=one.half / 2, next_variance=one.next_variance / 1.5)
    for name in LINES:
        with OFF_BY_NAME[f"choice: {name}"].made():
            assert choice.tighter(tight, one) == start.tighter(tight, one) == (name != line)
    assert choice.best_of([one, tight]) is tight
    with OFF_BY_NAME["choice"].made():
        assert line == "both exact" or choice.best_of([one, tight]) is one


MODULES = (algorithm, choice, loop, start, Subspace)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes_leave_nothing_behind(change):
    def now():
        return tuning(), [dict(vars(module)) for module in MODULES]

    before = now()
    with change.made():
        assert now() != before
    assert now() == before


@pytest.mark.parametrize("change", OFF, ids=[change.what for change in OFF])
def test_without_a_part_there_still_is_a_fit(change):
    made = make_outlier_subspace(300, 10, 2, 0.2, noise=0.01, random_state=0)
    with change.made():
        model = OutlierRobustPCA(2).fit(made.X)
    assert np.mean(model.predict(made.X)[made.outliers]) < 0


# ---- tables --------------------------------------------------------------------------------------


def test_all_kinds_of_tables_are_there():
    assert len(CELLS) == len(PLANTED)  # names of their own
    assert 50 <= len(PLANTED) <= 70
    by_part = {part: {c.data for c in PLANTED if c.part == part} for part in ("families", "hard")}
    assert by_part == {"families": set(FAMILIES.values()), "hard": set(HARD)}
    kinds = {c.data.split(", at ")[0] for c in PLANTED if c.part == "near"}
    assert kinds == set(GOOD) - {"t3", "t5"}
    leverage = {c.data.split(",")[0] for c in PLANTED if c.part == "leverage"}
    assert leverage == {"bad", "good", "t3 tails", "t5 tails"}


@pytest.mark.parametrize("cell", [c for c in PLANTED if c.part in ("families", "hard")])
def test_tables_are_as_their_cell_says(cell):
    X, bad, basis = cell.draw(0)
    assert X.shape == cell.size[:2]
    assert basis.shape == cell.size[1:]
    assert np.sum(bad) == round(cell.fraction * cell.size[0])
    np.testing.assert_array_equal(X, cell.draw(0).X)


def test_real_sets_that_are_there(tmp_path):
    assert real_sets(tmp_path) == []
    rng = np.random.default_rng(0)
    X = np.outer(rng.standard_normal(60), [3.0, 2.0, 1.0, 1.0])
    X += 0.1 * rng.standard_normal(X.shape)
    X[:6, 3] += 8.0
    np.savez(tmp_path / "hbk.npz", X=X, y=np.arange(60) < 6)
    (tmp_path / "baselines.csv").write_text("dataset,n,d,method,scaling,k\n")
    (tmp_path / "robpca.csv").write_text("dataset,scaling,k\nhbk,center,1\nhbk,standard,1\n")
    assert real_sets(tmp_path) == ["hbk, raw", "hbk, standard"]
    for case in real_sets(tmp_path):
        assert [fit() for fit in real_fits(case, tmp_path)] == [1.0]


# ---- counting ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "before", "after", "expected"),
    [
        ("cell", 1.0, 1.1, ""),
        ("cell", 1.09, 1.11, "lost"),
        ("cell", 1.0, np.inf, "lost"),
        ("cell", 2.0, 1.05, "gained"),
        ("cell", 2.0, 1.2, ""),
        ("hbk, raw", 0.9, 0.895, ""),
        ("hbk, raw", 0.9, 0.88, "lost"),
        ("hbk, raw", 0.9, 0.92, "gained"),
    ],
)
def test_what_is_lost_and_gained(case, before, after, expected):
    case = PLANTED[0].name if case == "cell" else case
    assert ablation.lost_or_gained(case, before, after) == expected


def test_a_line_counts_cases_errors_and_time():
    one, two = list(CELLS)[:2]
    name = OFF[0].name
    figures = {
        one: {"": Figure(1.0, 1.0, 0), name: Figure(3.0, 2.0, 0)},
        two: {"": Figure(1.0, 1.0, 0), name: Figure(np.inf, 1.0, 2)},
        "hbk, raw": {"": Figure(0.8, 2.0, 0), name: Figure(0.9, 3.0, 0)},
    }
    line = ablation.line(name, figures)
    shown = [line[column] for column in ablation.COLUMNS]
    assert shown == ['candidate "strict"', "off", 2, 0, 0, 1, 2, 1.5]
    assert line["cases"]["lost"] == [one, two]
    assert line["figures"]["hbk, raw"] == [0.8, 0.9]


def test_an_error_is_counted_and_ends_nothing():
    def broken():
        raise ValueError

    found = ablation.figure([broken, lambda: 1.0], np.inf)
    assert (found.value, found.raised) == (np.inf, 1)


@pytest.mark.slow
def test_changes_are_seen_by_the_fits():
    cell = next(c.name for c in PLANTED if c.size == (100, 10, 2))
    name = next(c.name for c in NUMBERS if c.what == "farthest")
    (line,) = ablation.lines([cell], [name], processes=1)
    before, after = line["figures"][cell]
    assert before != after
    assert line["raised"] == 0


def test_the_real_sets_have_names_of_their_own():
    assert not set(REAL) & set(CELLS)
