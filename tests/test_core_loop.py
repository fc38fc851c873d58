"""The loop: when it stops, and what it hands to the callback."""

import numpy as np
import pytest

from tests._core import EPS
from torpca import Iteration
from torpca._core.loop import Step, iterate
from torpca._core.subspace import Fit, spectrum_change


def fit_at(angle, size=1.0):
    """A line in the plane, at an angle, with a singular value."""
    V = np.array([[np.cos(angle)], [np.sin(angle)]])
    return Fit(None, V, np.full(1, size), frame=None, eps=EPS, blur=1.0)


def masks(*kept):
    return [np.isin(np.arange(6), rows) for rows in kept]


def play(sets, angles, sizes=None, **options):
    """Run the loop through given kept sets and subspaces; also return the number of steps."""
    steps = iter(zip(sets, angles, sizes or [1.0] * len(sets), strict=True))
    taken = []

    def step(keep):
        taken.append(keep)
        kept, angle, size = next(steps)
        return Step(fit_at(angle, size), kept, {"rule": int(6 - kept.sum())}, objective=1.0)

    options = {"max_iter": 100, "tol": 0.0, "callback": None, **options}
    return iterate(step, np.ones(6, dtype=bool), **options), taken


def test_loop_stops_when_a_set_repeats():
    a, b = masks([0, 1, 2], [1, 2, 3])
    run, taken = play([a, b, a, b], [0.1, 0.2, 0.3, 0.4])
    assert len(run.history) == 3
    assert run.converged
    assert not run.halted
    np.testing.assert_array_equal(run.keep, a)
    assert taken[0].all()
    np.testing.assert_array_equal(taken[1:], [a, b])  # each step starts from the last one's set


def test_loop_stops_when_nothing_is_dropped_at_all():
    run, _ = play([np.ones(6, dtype=bool)], [0.1])
    assert run.converged
    assert len(run.history) == 1


def test_loop_stops_when_the_subspace_stands_still():
    sets = masks([0], [1], [2], [3], [4])
    run, _ = play(sets, [0.0, 0.1, 0.101, 0.101001, 0.5], tol=1e-5)
    assert run.converged
    assert len(run.history) == 4
    np.testing.assert_array_equal(run.keep, sets[3])
    changes = [record.subspace_change for record in run.history]
    assert changes[0] == 1.0
    np.testing.assert_allclose(changes[1:], np.sin([0.1, 0.001, 0.000001]), rtol=1e-9)


def test_loop_goes_on_while_singular_values_move():
    # Incoherence depends on them: the next set may be another although the subspace is the same.
    sets = masks([0], [1], [2], [3], [4])
    run, _ = play(sets, [0.0] * 5, [1e7, 1e5, 1e3, 1.0, 1.0 + 1e-7], tol=1e-6)
    assert run.converged
    assert len(run.history) == 5
    np.testing.assert_array_equal(run.keep, sets[4])
    run, _ = play(sets[:4], [0.0] * 4, [1e7, 1e5, 1e3, 1.0], tol=1e-6, max_iter=4)
    assert not run.converged


@pytest.mark.parametrize(
    ("s", "t", "change"),
    [
        ([2.0, 1.0], [2.0, 1.0], 0.0),
        ([2.0, 1.0], [2.0, 0.5], 0.5),
        ([2.0, 1.0], [4.0, 1.0], 0.5),
        ([1e-300, 1e-308], [1e-300, 2e-308], 0.5),
        ([1.0, 0.0], [1.0, 0.0], 0.0),
        ([1.0, 0.0], [1.0, 5e-324], 1.0),
        ([2.0], [2.0, 1.0], 1.0),
        ([], [], 0.0),
    ],
)
def test_spectrum_change_is_relative(s, t, change):
    assert spectrum_change(np.array(s), np.array(t)) == pytest.approx(change)


def test_loop_stops_at_the_last_iteration_allowed():
    run, _ = play(masks([0], [1], [2]), [0.0, 0.1, 0.2], max_iter=3)
    assert not run.converged
    assert not run.halted
    assert [record.iteration for record in run.history] == [0, 1, 2]
    np.testing.assert_array_equal(run.keep, masks([2])[0])


def test_loop_stops_when_a_step_gives_up():
    def step(keep):
        return Step(fit_at(0.0), keep, {}, objective=0.0, halt=True)

    run = iterate(step, np.ones(6, dtype=bool), max_iter=9, tol=0.0, callback=None)
    assert run.halted
    assert not run.converged
    assert len(run.history) == 1


@pytest.mark.parametrize("objective", [np.nan, np.inf])
def test_loop_does_not_go_on_with_values_that_are_not_finite(objective):
    def step(keep):
        return Step(fit_at(0.0), keep, {}, objective=objective)

    with pytest.raises(FloatingPointError, match=r"iteration 0 .*not finite.*report"):
        iterate(step, np.ones(6, dtype=bool), max_iter=9, tol=0.0, callback=None)


def test_callback_is_given_arrays_of_its_own_and_the_history_none():
    sets = masks([0, 1, 2], [1, 2, 3], [4])
    seen = []

    def callback(record):
        seen.append((record, record.support.copy(), record.components.copy()))
        record.support[:] = True
        record.components[:] = 0.0

    run, taken = play(sets, [0.0, 0.1, 0.2], callback=callback, max_iter=3)
    np.testing.assert_array_equal(run.keep, sets[2])
    np.testing.assert_array_equal(taken[1:], sets[:2])
    np.testing.assert_array_equal([support for _, support, _ in seen], sets)
    for (record, _, components), kept, angle in zip(seen, sets, [0.0, 0.1, 0.2], strict=True):
        assert isinstance(record, Iteration)
        np.testing.assert_array_equal(components, [[np.cos(angle), np.sin(angle)]])
        assert record.n_kept == kept.sum()
        assert record.dropped == {"rule": 6 - kept.sum()}
        assert record.rank == 1
    assert tuple(record for record, _, _ in seen) == run.history  # arrays do not count in ==
    assert all(record.support is None and record.components is None for record in run.history)
