"""What holds for every rival: one call, one kind of result, and the errors of the algorithms."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from tests.test_bad_input import assert_refused, good_rows
from torpca import RobustSubspace, rivals
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

FUNCTIONS = {
    name: function
    for name in rivals.__all__
    if inspect.isfunction(function := getattr(rivals, name))
}
# `ddc` takes no rank: it finds cells, not a subspace.
NAMES = [name for name, made in FUNCTIONS.items() if "rank" in inspect.signature(made).parameters]
# Directions that are not negative are not perpendicular either; sparse ones hardly.
FREE = {"nonnegative_hr_pca", "sparse_hr_pca"}
# Made for bad entries: of whole bad rows they may keep anything.
ENTRYWISE = {"altproj", "principal_component_pursuit", "robust_matrix_completion", "rpca_gd"}
# Not defined for fewer rows than features.
TALL = {"mincovdet"}
# These measure rows from a centre if they are not told.
CENTRED = {"macropca", "mincovdet", "robpca", "spherical_pca"}
# To these NaN is a number that is missing.
GAPS = {"macropca", "robust_matrix_completion"}

each_rival = pytest.mark.parametrize("name", NAMES)


def run(name, X, rank, **keywords):
    """The result, whatever it warns of, but for what went wrong with numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return getattr(rivals, name)(X, rank, **keywords)


def few_bad_rows(n=200, d=12):
    return make_outlier_subspace(n, d, 2, 0.05, outliers="a", noise=0.01, random_state=0)


def few_bad_entries(size=1.0):
    """Rows of a subspace, one entry in a hundred of which is bad, by `size`."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((60, 2)))[0]
    X = rng.standard_normal((200, 2)) @ V.T
    X[rng.random(X.shape) < 0.01] += size
    return X, V


def nonnegative_rows(size=1.0):
    """Rows about a subspace with a basis of directions that are nowhere negative; bad ones too."""
    rng = np.random.default_rng(0)
    basis = np.zeros((12, 2))
    basis[:6, 0] = basis[6:, 1] = 6**-0.5
    X = rng.standard_normal((200, 2)) * [2.0, 1.0] @ basis.T
    X += 0.01 * rng.standard_normal(X.shape)
    X[:10] = size * rng.standard_normal((10, 12))
    return X, basis


def rows_for(name, size=1.0):
    """Rows of the kind a rival is made for, the bad ones or their bad entries times `size`."""
    if name in FREE:
        return nonnegative_rows(size)
    if name in ENTRYWISE:
        return few_bad_entries(size)
    made = few_bad_rows()
    made.X[made.outliers] *= size
    return made.X, made.basis


def error(found, V):
    return subspace_error(np.linalg.qr(found.components.T)[0], V)


def test_every_rival_that_was_promised_is_there():
    promised = [
        "outlier_pursuit",
        "hr_pca",
        "dhr_pca",
        "online_robust_pca",
        "sparse_hr_pca",
        "nonnegative_hr_pca",
        "principal_component_pursuit",
        "altproj",
        "rpca_gd",
        "robust_matrix_completion",
        "spherical_pca",
        "fms",
        "tyler",
        "ste",
        "coherence_pursuit",
        "dpcp",
        "ransac",
        "robpca",
        "mincovdet",
        "reaper",
        "ggd",
        "ransac_plus",
        "macropca",
    ]
    assert set(promised) <= set(NAMES)


@each_rival
def test_result_is_that_of_the_algorithms(name):
    X = few_bad_rows().X
    before = X.copy()
    found = run(name, X, 2)
    np.testing.assert_array_equal(X, before)
    assert isinstance(found, RobustSubspace)
    V = found.components.T
    assert V.shape == (12, 2)
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1.0)
    if name not in FREE:
        np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
        assert np.all(np.diff(found.singular_values) <= 0)
    assert found.support.shape == (200,)
    assert found.support.dtype == bool
    assert found.n_iter >= 1
    assert isinstance(found.converged, bool)
    # Signs are fixed by rule.
    assert np.all(V[np.argmax(np.abs(V), axis=0), np.arange(2)] > 0)


@each_rival
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_a_few_bad_rows_do_little_harm(name, size):
    X, V = rows_for(name, size)
    assert error(run(name, X, 2), V) < 0.1
    # Short ones do little to ordinary PCA either.
    plain = np.linalg.svd(X, full_matrices=False)[2][:2].T
    assert (subspace_error(plain, V) > 0.9) == (size > 1.0)


@each_rival
@pytest.mark.parametrize("exponent", [-600, 600])
def test_the_unit_of_the_numbers_does_not_matter(name, exponent):
    X = few_bad_rows().X
    found, other = run(name, X, 2), run(name, np.ldexp(X, exponent), 2)
    np.testing.assert_allclose(other.components, found.components, atol=1e-8)
    np.testing.assert_array_equal(other.support, found.support)
    np.testing.assert_allclose(
        other.singular_values, np.ldexp(found.singular_values, exponent), rtol=1e-6
    )


@each_rival
def test_the_same_rows_give_the_same_answer(name):
    X = few_bad_rows().X
    np.testing.assert_array_equal(run(name, X, 2).components, run(name, X, 2).components)


@each_rival
def test_kinds_of_rows(name):
    X = few_bad_rows().X
    X[np.abs(X) < 0.02] = 0.0
    found = run(name, X, 2).components
    np.testing.assert_allclose(run(name, X.tolist(), 2).components, found, atol=1e-12)
    np.testing.assert_allclose(run(name, sp.csr_array(X), 2).components, found, atol=1e-12)
    single = run(name, X.astype(np.float32), 2).components
    assert single.dtype == np.float32
    assert subspace_error(np.linalg.qr(single.T.astype(float))[0], np.linalg.qr(found.T)[0]) < 1e-3


@each_rival
def test_few_long_rows(name):
    X = few_bad_rows(40, 100).X
    if name in TALL:
        assert_refused(lambda: run(name, X, 2), ValueError, "40", "100")
    else:
        found = run(name, X, 2)
        assert found.components.shape == (2, 100)
        np.testing.assert_allclose(np.linalg.norm(found.components, axis=1), 1.0)
        if name != "nonnegative_hr_pca":  # the basis has entries of both signs
            assert error(found, few_bad_rows(40, 100).basis) < 0.3


@each_rival
@pytest.mark.parametrize("kind", ["zeros", "equal", "two points", "one line"])
def test_rows_with_less_to_find_than_is_asked_for(name, kind):
    line = np.array([1.0, 2.0, 0.0, 0.0, 3.0])
    along = {
        "zeros": np.zeros(60),
        "equal": np.ones(60),
        "two points": np.arange(60) % 2,
        "one line": np.random.default_rng(0).standard_normal(60),
    }[kind]
    found = run(name, np.outer(along, line), 2)
    expected = 0 if kind == "zeros" or (kind == "equal" and name in CENTRED) else 1
    if (name, kind) == ("ransac", "two points"):
        expected = 0  # half of the rows are zero, and that is all it fits
    if (name, kind) == ("rpca_gd", "one line") or (name == "sparse_hr_pca" and kind != "zeros"):
        expected = 2  # one cuts entries of good rows, to the other the line is not sparse
    assert found.converged
    assert found.components.shape == (expected, 5)
    assert found.singular_values.shape == (expected,)
    if expected == 1:
        # Of equal entries in half of the rows the convex method takes the largest for bad, in part.
        atol = 0.1 if (name, kind) == ("principal_component_pursuit", "two points") else 1e-8
        np.testing.assert_allclose(found.components[0], line / np.linalg.norm(line), atol=atol)
        assert found.singular_values[0] > 1.0


@each_rival
def test_one_row_far_beyond_the_others(name):
    X, V = rows_for(name)
    X[3] *= 1e9
    found = run(name, X, 2)
    # Gradients of such a row leave nothing of the others.
    assert (error(found, V) < 0.1) == (name != "rpca_gd")


@each_rival
def test_numbers_next_to_the_largest(name):
    # Lengths of such rows are no numbers; directions are.
    X, V = rows_for(name)
    found = run(name, X / np.abs(X).max() * 1e308, 2)
    assert error(found, V) < 0.1
    assert found.singular_values[0] > 1e308


@each_rival
def test_many_rows_of_zeros_beside_huge_ones(name):
    X, V = rows_for(name)
    X *= 1e200
    X[:120] = 0.0
    if name in TALL:
        assert_refused(lambda: run(name, X, 2), ValueError, "no covariance")
        return
    found = run(name, X, 2)
    if name in ("macropca", "ransac", "robpca"):  # they fit half of the rows, which are zero
        assert found.components.shape == (0, 12)
    else:
        assert error(found, V) < (0.3 if name == "dhr_pca" else 0.1)


@each_rival
def test_as_many_directions_as_features(name):
    X = np.random.default_rng(0).standard_normal((60, 4)) * [4, 3, 2, 1]
    found = run(name, X, 4)
    if name in ("altproj", "robust_matrix_completion"):  # short directions pass for bad entries
        assert 1 <= len(found.components) <= 4
    else:
        assert np.linalg.matrix_rank(found.components) == len(found.components) == 4
    if name not in FREE:
        np.testing.assert_allclose(
            found.components @ found.components.T, np.eye(len(found.components)), atol=1e-12
        )


@each_rival
def test_no_iterations_to_speak_of(name):
    if "max_iter" not in inspect.signature(getattr(rivals, name)).parameters:
        pytest.skip("no iterations")
    X = few_bad_rows().X
    X[:40] *= 50.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = getattr(rivals, name)(X, 2, max_iter=1)
    if name == "ransac":  # its search ends so near that one iteration is enough
        assert found.converged
        assert not caught
        return
    assert not found.converged
    [warned] = caught
    assert warned.category is ConvergenceWarning
    assert "max_iter" in str(warned.message)
    assert warned.filename == __file__


# ---- bad input ---------------------------------------------------------------------------------


@each_rival
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_values_that_are_not_finite(name, value):
    if np.isnan(value) and name in GAPS:
        pytest.skip("NaN is a number that was not observed")
    X = good_rows()
    X[7, 3] = X[21, 0] = value
    assert_refused(
        lambda: run(name, X, 2), ValueError, "infinity in 2 of 30 rows", "first in row 7"
    )


@each_rival
@pytest.mark.parametrize(
    ("rank", "error"), [(0, ValueError), (6, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_ranks_that_cannot_be(name, rank, error):
    assert_refused(lambda: run(name, good_rows(), rank), error, "rank=")


@each_rival
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros(5), ValueError, "X has 1 dimension"),
        (np.zeros((0, 5)), ValueError, "0 sample"),
        (np.zeros((5, 0)), ValueError, "0 feature"),
        ([["a", "b"]], TypeError, "must be a table of real numbers"),
    ],
)
def test_what_is_no_table_of_numbers(name, X, error, message):
    with pytest.raises(error, match=message):
        run(name, X, 1)


@each_rival
def test_a_centre_is_asked_for_by_true_or_false(name):
    assert_refused(lambda: run(name, good_rows(), 2, center=1), TypeError, "center=1")


def test_a_centre_is_asked_for_by_true_or_false_in_other_ways_too():
    for call in (
        lambda: rivals.outlier_pursuit(good_rows(), 2, missing=True, center="yes"),
        lambda: rivals.OnlineRobustPCA(2, center="yes"),  # before any rows
    ):
        assert_refused(call, TypeError, "center='yes'")


@each_rival
def test_keywords_that_are_no_numbers(name):
    function = getattr(rivals, name)
    for keyword in ("max_iter", "fraction", "tol"):
        if keyword in inspect.signature(function).parameters:
            bad = "many"
            assert_refused(
                lambda keyword=keyword, bad=bad: run(name, good_rows(), 2, **{keyword: bad}),
                (TypeError, ValueError),
                f"{keyword}=",
            )
