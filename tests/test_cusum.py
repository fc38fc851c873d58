"""The CUSUM of distances: what it adds up, how often it alarms, what it takes for good."""

import numpy as np
import pytest

from torpca import OutlierRobustPCA
from torpca._answer import answer
from torpca._cusum import (
    DECISION,
    REFERENCE,
    RUN_LENGTH,
    alarms,
    reference_by_law,
    reference_of,
    upper_cusum,
)


def one_by_one(z):
    """The definition of Page, a row at a time."""
    found, c = [], 0.0
    for value in z:
        c = max(0.0, c + (0.0 if np.isnan(value) else value - REFERENCE))
        found.append(c)
    return np.array(found)


def restarts(z):
    """Alarms of a chart that starts anew after each."""
    count, c = 0, 0.0
    for value in z.tolist():
        c = max(0.0, c + value - REFERENCE)
        if c > DECISION:
            count, c = count + 1, 0.0
    return count


def test_it_is_the_tabular_cusum():
    z = np.random.default_rng(0).standard_normal(500) + 0.3
    z[[7, 100]] = np.nan
    np.testing.assert_allclose(upper_cusum(z), one_by_one(z), atol=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 5, 50])
def test_good_rows_alarm_as_rarely_as_is_said(freedom):
    rng = np.random.default_rng(freedom)
    distances = np.sqrt(rng.chisquare(freedom, 200_000))
    for reference in (reference_of(distances), reference_by_law(freedom, freedom)):
        rows_between = len(distances) / restarts(reference.standardised(distances))
        assert RUN_LENGTH / 2 < rows_between < 2 * RUN_LENGTH


def test_three_bad_rows_raise_no_alarm_and_a_run_of_them_does():
    reference = reference_by_law(3, 3)
    distances = np.full(60, np.sqrt(2.4))  # at the median
    distances[20:23] = 1e6
    assert alarms(upper_cusum(reference.standardised(distances))) == []
    distances[20:25] = 1e6
    (found,) = alarms(upper_cusum(reference.standardised(distances)))
    assert found.start == 20
    assert 20 <= found.crossed < 25


def test_a_shift_of_one_standard_deviation_is_found_soon():
    z = np.random.default_rng(3).standard_normal(400)
    z[200:] += 1.0
    late = [found for found in alarms(upper_cusum(z)) if found.crossed >= 200]
    assert late[0].crossed < 230


def test_two_runs_are_two_alarms():
    z = np.full(100, -1.0)
    z[10:15] = z[60:65] = 2.0
    found = [(a.start, a.crossed, a.peak) for a in alarms(upper_cusum(z))]
    assert found == [(10, 13, 14), (60, 63, 64)]


def test_distances_that_do_not_differ_have_no_reference():
    assert reference_of(np.ones(100)) is None
    assert reference_of(np.zeros(100)) is None
    assert reference_of(np.arange(5.0)) is None
    assert reference_by_law(0.0, 3.0) is None


@pytest.mark.parametrize("n", [60, 2000])
def test_new_rows_of_the_same_kind_are_about_the_reference_of_the_model(n):
    rng = np.random.default_rng(5)
    W = rng.standard_normal((2, 15))

    def rows(m):
        return rng.standard_normal((m, 2)) @ W * 3 + 0.2 * rng.standard_normal((m, 15))

    told = answer(OutlierRobustPCA(2).fit(rows(n)), rows(3000), new=True)
    for which, distances in (
        ("score", told.score_distances),
        ("orthogonal", told.orthogonal_distances),
    ):
        z = told.references[which].standardised(distances)
        assert abs(np.median(z)) < 0.35, which
