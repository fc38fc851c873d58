"""What holds for every rival: one call, one kind of result, and the errors of the algorithms."""

import contextlib
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

NAMES = [name for name in rivals.__all__ if inspect.isfunction(getattr(rivals, name))]
# Directions that are not negative are not perpendicular either; sparse ones hardly.
FREE = {"nonnegative_hr_pca", "sparse_hr_pca"}
# Made for bad entries: of whole bad rows they may keep anything.
ENTRYWISE = {"altproj", "principal_component_pursuit", "robust_matrix_completion", "rpca_gd"}
# Not defined for fewer rows than features.
TALL = {"mincovdet"}

each_rival = pytest.mark.parametrize("name", NAMES)


def run(name, X, rank, **keywords):
    """The result, whatever it warns of, but for what went wrong with numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return getattr(rivals, name)(X, rank, **keywords)


def few_bad_rows(n=200, d=12):
    return make_outlier_subspace(n, d, 2, 0.05, outliers="a", noise=0.01, random_state=0)


def few_bad_entries():
    """Rows of a subspace, one entry in a hundred of which is bad."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((60, 2)))[0]
    X = rng.standard_normal((200, 2)) @ V.T
    X[rng.random(X.shape) < 0.01] += 1.0
    return X, V


def nonnegative_rows():
    """Rows about a subspace with a basis of directions that are nowhere negative."""
    rng = np.random.default_rng(0)
    basis = np.zeros((12, 2))
    basis[:6, 0] = basis[6:, 1] = 6**-0.5
    X = rng.standard_normal((200, 2)) * [2.0, 1.0] @ basis.T
    X += 0.01 * rng.standard_normal(X.shape)
    X[:10] = rng.standard_normal((10, 12))
    return X, basis


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
def test_a_few_bad_rows_do_little_harm(name):
    made = few_bad_rows()
    X, V = nonnegative_rows() if name in FREE else (made.X, made.basis)
    if name in ENTRYWISE:
        X, V = few_bad_entries()
    found = run(name, X, 2)
    # Ordinary PCA is off by more than this when a bad row is long; here all of them are short.
    assert subspace_error(np.linalg.qr(found.components.T)[0], V) < 0.1


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
        assert np.all(np.isfinite(found.components))


@each_rival
@pytest.mark.parametrize("kind", ["zeros", "equal", "two points", "one line"])
def test_rows_with_less_to_find_than_is_asked_for(name, kind):
    rng = np.random.default_rng(0)
    X = np.zeros((60, 5))
    if kind == "equal":
        X[:] = [1.0, 2.0, 3.0, 4.0, 5.0]
    if kind == "two points":
        X[::2] = [1.0, 0.0, 0.0, 2.0, 0.0]
    if kind == "one line":
        X = np.outer(rng.standard_normal(60), [1.0, 2.0, 0.0, 0.0, 3.0])
    if name in TALL and kind in ("zeros", "equal", "two points"):
        # Half of the rows have no covariance; where all are equal nothing is asked of them.
        with contextlib.suppress(ValueError):
            run(name, X, 2)
        return
    found = run(name, X, 2)
    assert len(found.components) <= 2
    assert np.all(np.isfinite(found.components))
    assert np.all(np.isfinite(found.singular_values))


@each_rival
def test_one_row_far_beyond_the_others(name):
    X = few_bad_rows().X
    X[3] *= 1e9
    found = run(name, X, 2)
    assert np.all(np.isfinite(found.components))


@each_rival
def test_many_rows_of_zeros_beside_huge_ones(name):
    X = few_bad_rows().X * 1e200
    X[:120] = 0.0
    if name in TALL:
        assert_refused(lambda: run(name, X, 2), ValueError, "no covariance")
        return
    found = run(name, X, 2)
    assert np.all(np.isfinite(found.components))


@each_rival
def test_as_many_directions_as_features(name):
    X = np.random.default_rng(0).standard_normal((60, 4)) * [4, 3, 2, 1]
    found = run(name, X, 4)
    assert np.all(np.isfinite(found.components))
    assert len(found.components) <= 4


@each_rival
def test_no_iterations_to_speak_of(name):
    if "max_iter" not in inspect.signature(getattr(rivals, name)).parameters:
        pytest.skip("no iterations")
    X = few_bad_rows().X
    X[:40] *= 50.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = getattr(rivals, name)(X, 2, max_iter=1)
    warned = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert bool(warned) == (not found.converged)
    if warned:
        assert "max_iter" in str(warned[0].message)
        assert warned[0].filename == __file__


# ---- bad input ---------------------------------------------------------------------------------


@each_rival
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_values_that_are_not_finite(name, value):
    if np.isnan(value) and name == "robust_matrix_completion":
        pytest.skip("NaN is a number that was not observed")
    X = good_rows()
    X[7, 3] = X[21, 0] = value
    assert_refused(lambda: run(name, X, 2), ValueError, "NaN or infinity|infinit|not finite")


@each_rival
@pytest.mark.parametrize(
    ("rank", "error"), [(0, ValueError), (6, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_ranks_that_cannot_be(name, rank, error):
    assert_refused(lambda: run(name, good_rows(), rank), error, "rank=")


@each_rival
@pytest.mark.parametrize("X", [np.zeros(5), np.zeros((0, 5)), np.zeros((5, 0)), [["a", "b"]]])
def test_what_is_no_table_of_numbers(name, X):
    with pytest.raises((ValueError, TypeError)):
        run(name, X, 1)


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
