"""Which features explain a row: the faulty ones, whatever they are correlated with."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from benchmarks.explain import BAR, CASES, line
from torpca import TORP, OutlierRobustPCA, load_model, save_model
from torpca._explain import explanation
from torpca._reconstruct import RowLaw

NAMES = ("row", "feature", "value", "expected", "low", "high", "share")


def motor(rng, n=300):
    """Three sensors that follow a load."""
    load = rng.standard_normal(n)
    X = np.column_stack([50 + 8 * load, 80 + 5 * load, 1450 + 30 * load])
    return X + rng.standard_normal((n, 3)) * [0.5, 0.5, 2]


def quietly(X, *args, **options):
    """A fit, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return OutlierRobustPCA(*args, random_state=0, **options).fit(X)


@pytest.fixture
def rng():
    return np.random.default_rng(17)


@pytest.fixture
def failing(rng):
    """A table whose first ten rows have lost the third sensor, and its fit."""
    X = motor(rng)
    X[:10, 2] = 0.0
    return X, quietly(X, 1)


def of_row(why, row):
    return {name: column[why["row"] == row] for name, column in why.items()}


def test_the_sensor_that_fails_is_named_alone(failing):
    X, model = failing
    why = model.explain(X)
    assert tuple(why) == NAMES
    assert {len(column) for column in why.values()} == {len(why["row"])}
    for row in range(10):
        here = of_row(why, row)
        assert here["feature"].tolist() == ["x2"]
        assert here["value"] == [0.0]
        assert 1350 < here["low"][0] < here["expected"][0] < here["high"][0] < 1560
        assert here["share"][0] > 0.99
    # The contributions blame all that the sensor is correlated with; that is what they are.
    assert model.contributions(X[:1]).orthogonal[0].argmax() != 2


@pytest.mark.parametrize("case", list(CASES)[:4])
def test_faulty_features_come_first(case):
    assert line(case, 6)["ours"] >= BAR


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_faulty_features_come_first_in_every_case(case):
    assert line(case, 20)["ours"] >= BAR


def test_a_fault_in_a_row_that_is_far_out_anyway_is_named_alone(failing):
    _, model = failing
    load = np.array([4.0, -4.0, 4.0])
    X = np.column_stack([50 + 8 * load, 80 + 5 * load, 1450 + 30 * load])
    X[:2, 2] = 0.0
    assert model.outlier_types(X).tolist() == ["bad leverage", "bad leverage", "good leverage"]
    why = model.explain(X)
    assert why["feature"][:2].tolist() == ["x2", "x2"]
    assert sorted(why["feature"][2:]) == ["x0", "x1", "x2"]
    assert np.allclose(why["expected"][:2], 1450 + 30 * load[:2], atol=8)
    assert np.all(why["high"][:2] - why["low"][:2] < 30)  # given the others, and not of all rows


def test_each_flagged_row_is_explained_and_hardly_any_other(failing):
    X, model = failing
    why = model.explain(X)
    flagged = set(np.flatnonzero(model.predict(X) < 0))
    assert flagged <= set(why["row"])
    assert len(set(why["row"]) - flagged) <= 2


def test_a_feature_that_is_off_is_named_in_a_row_within_the_limits(rng):
    factors, loadings = rng.standard_normal((500, 3)), rng.standard_normal((3, 100))
    X = factors @ loadings + 0.1 * rng.standard_normal((500, 100))
    model = quietly(X, 3)
    new = rng.standard_normal((200, 3)) @ loadings + 0.1 * rng.standard_normal((200, 100))
    assert (
        len(set(model.explain(new)["row"][model.predict(new)[model.explain(new)["row"]] > 0])) < 4
    )
    new[:, 42] += 0.1 * 5.5  # five and a half deviations of a hundred features
    within = model.predict(new) > 0
    assert np.mean(within) > 0.3
    why = model.explain(new[within])
    first = {row: name for row, name in zip(why["row"][::-1], why["feature"][::-1], strict=True)}
    assert len(first) > 0.8 * np.count_nonzero(within)
    assert np.mean([name == "x42" for name in first.values()]) > 0.95


def test_shares_are_parts_of_a_whole(failing):
    X, model = failing
    why = model.explain(X)
    for row in np.unique(why["row"]):
        here = of_row(why, row)
        assert np.all(np.diff(here["share"]) <= 0)
        assert np.all((here["share"] >= 0) & (here["share"] <= 1))
        assert np.sum(here["share"]) <= 1 + 1e-9


def test_what_is_expected_makes_the_row_ordinary(rng):
    X = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 12))
    X += 0.1 * rng.standard_normal(X.shape)
    good = X[:20].copy()
    X[:20, 4] += 5.0
    X[:20, 7] -= 5.0
    model = quietly(X, 3)
    why = model.explain(X)
    mended = X.copy()
    for row, name, expected in zip(why["row"], why["feature"], why["expected"], strict=True):
        mended[row, int(name[1:])] = expected
    named = [of_row(why, row)["feature"].tolist() for row in range(20)]
    assert all(set(names[:2]) == {"x4", "x7"} for names in named)
    # One good row in a hundred is beyond a limit, and stays there.
    assert sum(len(names) > 2 for names in named) <= 1
    assert np.count_nonzero(model.predict(mended[:20]) < 0) <= 1
    # And what it was before it was spoilt is within the range, about as often as is said.
    truth = [good[r, int(f[1:])] for r, f in zip(why["row"], why["feature"], strict=True) if r < 20]
    mine = why["row"] < 20
    within = (why["low"][mine] <= truth) & (truth <= why["high"][mine])
    assert np.mean(within) > 0.9


def test_predictions_are_those_of_the_gaussian_law(rng):
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal(
        (300, 6)
    )
    completion = quietly(X, 2, scale=True)._completion()
    law = RowLaw.of(completion)
    V, s, noise = completion.V, completion.deviations, completion.cell_noise
    S = np.outer(completion.scale, completion.scale) * ((V * s**2) @ V.T + np.diag(noise**2))
    x, which, rest = X[:1], [1, 4], [0, 2, 3, 5]
    found = law.predicted(x, np.array([which]))
    gain = S[np.ix_(which, rest)] @ np.linalg.inv(S[np.ix_(rest, rest)])
    centred = (x - completion.mean)[0]
    np.testing.assert_allclose(
        found.expected[0], completion.mean[which] + gain @ centred[rest], rtol=1e-9
    )
    left = S[np.ix_(which, which)] - gain @ S[np.ix_(rest, which)]
    np.testing.assert_allclose(found.spreads[0], np.sqrt(np.diag(left)), rtol=1e-9)
    np.testing.assert_allclose(law.deviations, np.sqrt(np.diag(S)), rtol=1e-12)
    whole = centred @ np.linalg.inv(S) @ centred
    fewer = centred[rest] @ np.linalg.inv(S[np.ix_(rest, rest)]) @ centred[rest]
    np.testing.assert_allclose(found.saved[0], 1 - fewer / whole, rtol=1e-9)


def test_forward_selection_is_exact(rng):
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 9)) + rng.standard_normal((200, 9))
    law = RowLaw.of(quietly(X, 3)._completion())
    chosen = law.selected(X[:30], 4)
    for x, features in zip(X[:30, None], chosen, strict=True):
        before: list[int] = []
        for j in features:
            others = [i for i in range(9) if i not in before]
            saved = [law.predicted(x, np.array([[*before, i]])).saved[0] for i in others]
            assert others[int(np.argmax(saved))] == j
            before.append(int(j))


def test_a_row_far_out_in_line_is_told_by_what_is_usual(rng):
    X = motor(rng)
    X[0] = 50 + 8 * 9, 80 + 5 * 9, 1450 + 30 * 9
    model = quietly(X, 1)
    why = of_row(model.explain(X), 0)
    assert sorted(why["feature"]) == ["x0", "x1", "x2"]
    np.testing.assert_allclose(
        why["expected"], [model.mean_[int(name[1:])] for name in why["feature"]]
    )
    assert np.all(why["value"] > why["high"])
    assert explanation(model, X[:1], 3).in_line[0]


def test_a_hole_does_not_hide_the_sensor(failing):
    X, model = failing
    X[3, 0] = X[4, 1] = np.nan
    why = model.explain(X[:6])
    for row in (3, 4):
        assert of_row(why, row)["feature"].tolist() == ["x2"]
        assert abs(of_row(why, row)["expected"][0] - 1450) < 100


def test_units_do_not_matter(failing, rng):
    X, _ = failing
    unit = np.array([1e-3, 1e4, 7.0])
    here = quietly(X, 1, scale=True).explain(X)
    there = quietly(X * unit, 1, scale=True).explain(X * unit)
    np.testing.assert_array_equal(here["row"], there["row"])
    np.testing.assert_array_equal(here["feature"], there["feature"])
    at = [int(name[1:]) for name in here["feature"]]
    # Rounding may add a step to one of the fits, so to a part of the noise, and not to the digit.
    noise = np.array([0.5, 0.5, 2.0])[at]
    apart = (here["expected"] - there["expected"] / unit[at]) / noise
    assert np.max(np.abs(apart)) < 0.01


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_sizes_do_not_matter(failing, size):
    X, model = failing
    here, there = model.explain(X), quietly(X * size, 1).explain(X * size)
    np.testing.assert_array_equal(here["feature"], there["feature"])
    np.testing.assert_allclose(here["expected"] * size, there["expected"], rtol=1e-6)


def test_a_row_beyond_all_measure(failing):
    X, model = failing
    X[0, 1] = 1e200
    why = of_row(model.explain(X), 0)
    assert why["feature"][0] == "x1"
    assert all(np.all(np.isfinite(why[name])) for name in NAMES[2:])


def test_other_sources(failing, tmp_path):
    X, model = failing
    why = model.explain(X)

    def same(other):
        np.testing.assert_array_equal(other["feature"], why["feature"])
        np.testing.assert_allclose(other["expected"], why["expected"])

    same(model.explain(sparse.csr_array(X)))
    same(model.explain(X.tolist()))
    save_model(model, tmp_path / "model.torpca")
    same(load_model(tmp_path / "model.torpca").explain(X))


def test_names_and_frames(failing):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, _ = failing
    frame = pd.DataFrame(X, columns=["flow", "temperature", "rpm"], index=np.arange(300) + 1000)
    model = quietly(frame, 1)
    assert model.explain(frame)["feature"][0] == "rpm"
    found = model.set_output(transform="pandas").explain(frame)
    assert isinstance(found, pd.DataFrame)
    assert tuple(found.columns) == NAMES
    assert isinstance(model.set_output(transform="polars").explain(frame), pl.DataFrame)
    assert isinstance(model.set_output(transform="default").explain(frame), dict)


def test_estimators_of_the_paper_explain(rng):
    X = motor(rng)
    X -= X.mean(axis=0)
    X[:10, 2] = -1450.0
    why = TORP(1, contamination=0.05).fit(X).explain(X[:3])
    assert set(why["feature"]) == {"x2"}


def test_no_row_is_flagged(rng):
    X = motor(rng)
    model = quietly(X, 1)
    why = model.explain(np.tile(model.mean_, (5, 1)))
    assert tuple(why) == NAMES
    assert all(len(column) == 0 for column in why.values())


@pytest.mark.parametrize("top", [0, -1, 2.5, "3", True, None])
def test_bad_top(failing, top):
    X, model = failing
    with pytest.raises(ValueError, match="positive whole number"):
        model.explain(X, top=top)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(6, 40),
    st.integers(1, 8),
    st.integers(1, 3),
    st.integers(1, 10),
    st.sampled_from([0.0, 0.1]),
    st.integers(0, 2**32 - 1),
)
def test_any_table(n, d, k, top, holes, seed):
    rng = np.random.default_rng(seed)
    k = min(k, d)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, d))
    X += rng.choice([0.0, 0.1]) * rng.standard_normal((n, d))
    X[: n // 6] *= 10 ** rng.uniform(0, 3, (n // 6, d))
    model = quietly(X, k)
    X[rng.random((n, d)) < holes] = np.nan
    why = model.explain(X, top=top)
    for name in NAMES[2:]:
        assert np.all(np.isfinite(why[name]))
    assert np.all(why["low"] <= why["high"])
    for row in np.unique(why["row"]):
        names = why["feature"][why["row"] == row]
        assert len(set(names)) == len(names) <= min(top, d)
