"""Flagged rows by cause, and causes in words."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests._reports import spectra
from torpca import OutlierRobustPCA
from torpca._answer import answer
from torpca._bands import is_profile
from torpca._causes import IN_LINE, MANY, because_of, cause_words, kinds_words
from torpca._words import interval


@pytest.fixture(scope="module")
def told():
    """Four sensors: 60 rows without speed, four with another pH, one far out in line."""
    rng = np.random.default_rng(0)
    load = rng.standard_normal(600)
    X = np.column_stack([50 + 8 * load, 80 + 5 * load, 1450 + 30 * load, np.full(600, 7.0)])
    X += rng.standard_normal(X.shape) * [0.5, 0.5, 2, 0.05]
    X[120:180, 2] = 0.0
    X[200:204, 3] = 9.5
    X[5] = 50 + 8 * 9, 80 + 5 * 9, 1450 + 30 * 9, 7
    X[300] = 20, 200, 3000, 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model = OutlierRobustPCA(1, scale=True, random_state=0).fit(X)
    return answer(model, X, names=["flow", "temperature", "rpm", "ph"])


def test_the_commonest_cause_comes_first_with_its_rows(told):
    first, second, *_ = told.causes
    assert first.words == "rpm too low"
    assert first.features == ("rpm",)
    np.testing.assert_array_equal(first.rows, np.arange(120, 180))
    assert second.words == "ph too high"
    assert set(range(200, 204)) <= set(second.rows)
    assert cause_words(told, first, str).startswith("rpm too low (0, about 1,4")
    assert cause_words(told, first, str).endswith(" expected), rows 121 to 180")


def test_a_chance_alarm_of_the_same_sensor_is_not_part_of_its_failure():
    rng = np.random.default_rng(0)
    load = rng.standard_normal(600)
    X = np.column_stack([50 + 8 * load, 80 + 5 * load, 1450 + 30 * load])
    X += rng.standard_normal(X.shape) * [0.5, 0.5, 2]
    X[120:180, 2] = 0.0
    X[[14, 400], 2] -= 20.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model = OutlierRobustPCA(1, random_state=0).fit(X)
    times = np.datetime64("2026-01-01T00:00") + np.arange(600) * np.timedelta64(1, "m")
    found = answer(model, X, names=["flow", "temperature", "rpm"], times_of_rows=times)
    first, *others = (cause for cause in found.causes if cause.words == "rpm too low")
    np.testing.assert_array_equal(first.rows, np.arange(120, 180))
    assert cause_words(found, first, str).endswith(" expected), 2026-01-01 02:00 to 02:59")
    assert {14, 400} <= {int(row) for cause in others for row in cause.rows}
    assert all(cause.high - cause.low < 200 for cause in (first, *others))


def test_rows_in_line_and_rows_off_in_many_features_have_causes_of_their_own(told):
    by_words = {cause.words: set(cause.rows) for cause in told.causes}
    assert 5 in by_words[IN_LINE]
    assert told.types[300] == "bad leverage"
    # All four sensors are off, and three features are named at most: two of four predict nothing.
    assert 300 in by_words.get(MANY, set()) | {
        row for words, rows in by_words.items() if " and " in words for row in rows
    }


def test_times_name_the_rows_where_there_are_some(told):
    times = np.datetime64("2026-01-01T00:00") + np.arange(600) * np.timedelta64(1, "m")
    dated = replace(told, times_of_rows=times)
    words = cause_words(dated, dated.causes[0], str)
    assert words.endswith(", 2026-01-01 02:00 to 02:59")


def test_rows_off_the_model_and_merely_extreme_ones_are_two_things(told):
    extreme = int(np.count_nonzero(told.types == "good leverage"))
    off = len(told.extreme) - extreme
    assert kinds_words(told) == f"{off} off the model, {extreme} merely extreme"


def test_why_in_words(told):
    place = {int(row): i for i, row in enumerate(told.extreme)}
    words = because_of(told, place[130], str)
    assert words.startswith("rpm 0, usually 1,")
    assert words.endswith(" given the others")
    assert because_of(told, place[5], str).count(" given the others") == 0


def test_neighbours_are_bands_in_spectra_alone(told):
    bands = spectra()
    assert bands.profile
    assert not told.profile
    assert bands.causes[0].words.endswith("too high")
    assert "nm to" in bands.causes[0].words
    assert len(bands.causes[0].rows) == 6
    assert all(" to " not in cause.words for cause in told.causes)


@pytest.mark.parametrize(
    ("names", "profile"),
    [
        ([str(900 + 4 * j) for j in range(20)], True),
        ([f"{3999.5 - 1.5 * j} 1/cm" for j in range(20)], True),
        ([f"X{900 + j}" for j in range(20)], True),
        ([f"sensor_{j}" for j in range(1, 21)], False),
        ([str(j) for j in range(20)], False),
        ([str(j) for j in (5, 3, 9, 1, 2, 4, 8, 7, 6, 0)], False),
        ([*(f"{j} nm" for j in range(900, 920)), "flow"], False),
        (["900", "910", "920"], False),
    ],
)
def test_names_that_are_numbers_in_order(names, profile):
    assert is_profile(names) is profile


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.001234, 0.001267, "0.001234 to 0.001267"),
        (-3.2, 1e7, "-3.2 to 1.00e+07"),
        (5.0, 5.0, "5 to 5"),
        (-0.004, 40.0, "0 to 40"),
        (1e300, 2e300, "1.00e+300 to 2.00e+300"),
        (999_999.0, 1_000_001.0, "999,999.0 to 1,000,001.0"),
    ],
)
def test_intervals(low, high, said):
    assert interval(low, high) == said
