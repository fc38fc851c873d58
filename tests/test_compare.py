"""Several methods on the same rows: the table, the angles, and what happens when one fails."""

import json
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from tests.test_bad_input import assert_refused
from torpca import OutlierRobustPCA, RobustSubspace, rivals, torp
from torpca._compare import USUAL, Comparison, compare
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error
from torpca.rivals import spherical_pca

THREE = ["OutlierRobustPCA", "PCA", "spherical_pca"]


@pytest.fixture(scope="module")
def made():
    return make_outlier_subspace(
        300, 12, 2, 0.2, outliers="line", noise=0.01, mean=1.0, random_state=0
    )


@pytest.fixture(scope="module")
def found(made):
    return compare(made.X, 2, THREE)


@pytest.fixture
def rival(monkeypatch):
    """A way to put a function among the rivals."""

    def add(function):
        monkeypatch.setattr(rivals, function.__name__, function, raising=False)
        monkeypatch.setattr(rivals, "__all__", [*rivals.__all__, function.__name__])

    return add


def answer(X, components, converged=True):
    return RobustSubspace(
        components=components,
        singular_values=np.ones(len(components)),
        support=np.arange(len(X)) > 0,
        mean=None,
        n_iter=1,
        converged=converged,
        history=(),
        parameters={},
    )


def residuals(X, components, mean):
    C = X - mean
    return np.linalg.norm(C - C @ components.T @ components, axis=1)


def test_table_says_what_the_methods_do(made, found):
    X = made.X
    ours, plain, spherical = OutlierRobustPCA(2).fit(X), PCA(2).fit(X), spherical_pca(X, 2)
    fits = [
        (ours.components_, ours.mean_, ours.predict(X) == 1),
        (plain.components_, plain.mean_, np.ones(300, dtype=bool)),
        (spherical.components, spherical.mean, np.ones(300, dtype=bool)),
    ]
    assert [row.method for row in found.table] == THREE
    assert found.share == 0.5
    for row, (components, mean, keep) in zip(found.table, fits, strict=True):
        R = residuals(X, components, mean)
        assert row.rank == 2
        assert row.n_dropped == np.count_nonzero(~keep)
        assert row.residual == pytest.approx(np.mean(R[keep]))
        assert row.trimmed_residual == pytest.approx(np.mean(np.sort(R)[:150]))
        assert row.converged is True
        assert row.error is None
        assert row.seconds > 0
        # Both come from a Gram matrix, which has half of the digits beside a far line.
        assert subspace_error(row.components.T, components.T) < 1e-9


def test_angles_are_those_between_the_subspaces(found):
    np.testing.assert_array_equal(found.angles, found.angles.T)
    np.testing.assert_array_equal(np.diag(found.angles), 0.0)
    for i, one in enumerate(found.table):
        for j, other in enumerate(found.table):
            sine = subspace_error(one.components.T, other.components.T)
            assert np.sin(np.radians(found.angles[i, j])) == pytest.approx(sine, abs=1e-10)
    assert found.angles[0, 1] > 80  # PCA follows the line


def test_fraction_is_handed_on_and_trims(made):
    found = compare(made.X, 2, ["torp", "PCA"], fraction=0.25)
    direct = torp(made.X, 2, rho=0.25, center=True)
    assert found.share == 0.25
    assert found.table[0].n_dropped == np.count_nonzero(~direct.support)
    R = residuals(made.X, direct.components, direct.mean)
    assert found.table[0].trimmed_residual == pytest.approx(np.mean(np.sort(R)[:225]))
    # No bad rows at all is the least that torp can be told: one row.
    assert compare(made.X, 2, ["torp"], fraction=0.0).table[0].error is None


def test_methods_get_the_keywords_they_have(made, rival):
    seen = {}

    def told(X, rank, *, fraction=0.1, center=False, random_state=None):
        seen["told"] = fraction, center, random_state
        return answer(X, np.eye(rank, 12))

    def untold(X, rank, *, depth=3):
        seen["untold"] = depth
        return answer(X, np.eye(rank, 12))

    rival(told)
    rival(untold)
    found = compare(made.X, 2, ["told", "untold"], center=True, random_state=7, fraction=0.3)
    assert [row.error for row in found.table] == [None, None]
    assert [row.n_dropped for row in found.table] == [1, 1]
    assert seen == {"told": (0.3, True, 7), "untold": 3}
    compare(made.X, 2, ["told"], center=False)
    assert seen["told"] == (0.1, False, 0)


def test_a_method_that_fails_does_not_lose_the_others(made, rival):
    def broken(X, rank):
        raise FloatingPointError("no number came out")

    rival(broken)
    found = compare(made.X, 2, ["PCA", "broken", "spherical_pca"])
    first, failed, last = found.table
    assert failed.error == "FloatingPointError: no number came out"
    assert failed.rank is failed.residual is failed.converged is failed.components is None
    assert first.error is last.error is None
    np.testing.assert_array_equal(np.isnan(found.angles), [[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    assert "broken: FloatingPointError: no number came out" in str(found)
    assert found.to_dict()["angles"][0][1] is None


def test_what_a_method_warns_of_is_in_its_record(made, rival):
    def slow(X, rank):
        warnings.warn("stopped early", ConvergenceWarning, stacklevel=2)
        return answer(X, np.eye(rank, 12), converged=False)

    rival(slow)
    found = compare(made.X, 2, ["slow", "PCA"])
    assert found.table[0].converged is False
    assert found.table[0].warnings == ("stopped early",)
    assert found.table[1].warnings == ()
    assert "slow: stopped early" in str(found)


def test_fewer_directions_are_at_a_right_angle(made, rival):
    def half(X, rank):
        return answer(X, np.eye(1, 12))

    def nothing(X, rank):
        return answer(X, np.zeros((0, 12)))

    rival(half)
    rival(nothing)
    found = compare(made.X, 2, ["PCA", "half", "nothing"])
    assert [row.rank for row in found.table] == [2, 1, 0]
    np.testing.assert_array_equal(found.angles, [[0, 90, 90], [90, 0, 90], [90, 90, 0]])


def test_table_as_text(found):
    text = str(found)
    head, *lines = text.splitlines()[:4]
    assert " ".join(head.split()) == "method seconds rank dropped residual trimmed converged"
    for line, row in zip(lines, found.table, strict=True):
        assert line.split()[1] == row.method
        # Columns are aligned at their right ends.
        for word, cell in (("rank", f"{row.rank}"), ("dropped", f"{row.n_dropped}")):
            assert line[: head.index(word) + len(word)].split()[-1] == cell
    assert "nearest 50%" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_table_as_plain_values(found):
    values = json.loads(json.dumps(found.to_dict()))
    assert [line["method"] for line in values["methods"]] == THREE
    assert values["methods"][0]["n_dropped"] == found.table[0].n_dropped
    np.testing.assert_allclose(values["angles"], found.angles)


def test_table_as_data_frame(found):
    pytest.importorskip("pandas")
    frame = found.to_frame()
    assert list(frame.index) == THREE
    assert frame.loc["PCA", "n_dropped"] == 0
    assert frame.loc["PCA", "residual"] == found.table[1].residual


def test_data_frame_without_pandas(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        found.to_frame()


def test_rows_about_zero(made):
    found = compare(made.X, 3, THREE, center=False)
    plain = np.linalg.svd(made.X)[2][:3]
    assert subspace_error(found.table[1].components.T, plain.T) < 1e-8
    assert found.table[1].residual == pytest.approx(np.mean(residuals(made.X, plain, 0.0)))


def test_ordinary_pca_beside_a_constant_far_from_zero(made, found):
    far = compare(np.insert(made.X, 3, 1e14 / 3, axis=1), 2, THREE)
    assert far.table[1].residual == pytest.approx(found.table[1].residual, rel=1e-6)
    np.testing.assert_allclose(far.angles[0, 1], found.angles[0, 1], atol=1e-3)


@pytest.mark.parametrize("exponent", [-600, 600])
def test_the_unit_of_the_numbers_does_not_matter(made, found, exponent):
    other = compare(np.ldexp(made.X, exponent), 2, THREE)
    for row, same in zip(found.table, other.table, strict=True):
        assert same.n_dropped == row.n_dropped
        assert same.residual == pytest.approx(np.ldexp(row.residual, exponent), rel=1e-6)
        assert same.trimmed_residual == pytest.approx(
            np.ldexp(row.trimmed_residual, exponent), rel=1e-6
        )


def test_kinds_of_rows(made, found):
    for X in (made.X.tolist(), sp.csr_array(made.X)):
        other = compare(X, 2, THREE)
        np.testing.assert_allclose(other.angles, found.angles, atol=1e-6)
    single = compare(made.X.astype(np.float32), 2, THREE)
    np.testing.assert_allclose(single.angles, found.angles, atol=0.01)


def test_one_name_and_the_same_name_twice(made):
    assert [row.method for row in compare(made.X, 2, "PCA").table] == ["PCA"]
    assert [row.method for row in compare(made.X, 2, ["PCA", "PCA"]).table] == ["PCA"]


def test_usual_methods(made, rival):
    for name in USUAL:  # whichever of the rivals they are, a name is all that is needed here
        if name not in {"OutlierRobustPCA", "PCA", "torp", *rivals.__all__}:

            def other(X, rank):
                return answer(X, np.eye(rank, 12))

            other.__name__ = name
            rival(other)
    found = compare(made.X, 2)
    assert isinstance(found, Comparison)
    assert [row.method for row in found.table] == list(USUAL)
    assert [row.error for row in found.table] == [None] * len(USUAL)


# ---- bad input -----------------------------------------------------------------------------------


def test_unknown_methods_are_told_what_there_is(made):
    assert_refused(
        lambda: compare(made.X, 2, ["PCA", "magic"]),
        ValueError,
        "there is no method 'magic'",
        "OutlierRobustPCA, PCA, torp",
        "spherical_pca",
    )
    assert_refused(
        lambda: compare(made.X, 2, []), ValueError, "no method was given", "Give one or more of"
    )


def test_bad_input_is_refused_once(made):
    assert_refused(lambda: compare(made.X, 0), ValueError, "rank=0")
    assert_refused(lambda: compare(made.X, 2, THREE, fraction=0.5), ValueError, "fraction=0.5")
    assert_refused(lambda: compare(made.X, 2, THREE, center="yes"), TypeError, "center='yes'")
    X = made.X.copy()
    X[0, 0] = np.nan
    assert_refused(lambda: compare(X, 2, THREE), ValueError, "NaN or infinity")
