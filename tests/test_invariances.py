"""What must not matter: order, rotation, units, location, copies, rows of zeros."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpca import torp, torp_bin, torp_g, torp_n
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

NOISE = 0.02
seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=12, deadline=None)

# (X, size of the rows, options) -> result, at rank 3. Ranks of torp_n all pass at this mu.
EXPLICIT = {
    "torp": lambda X, size=1.0, **options: torp(X, 3, rho=0.06, **options),
    "torp_n": lambda X, size=1.0, **options: torp_n(X, 3, rho=0.05, mu=2.5, **options),
    "torp_bin": lambda X, size=1.0, **options: torp_bin(X, 3, rho=0.05, mu=2.5, **options),
    "torp_g": lambda X, size=1.0, **options: torp_g(X, 3, mu=2.0, sigma=NOISE * size, **options),
}
GRID = {
    "torp, grid": lambda X, size=1.0, **options: torp(X, 3, **options),
    "torp_g, grid": lambda X, size=1.0, **options: torp_g(X, 3, **options),
}
explicit = pytest.mark.parametrize("run", EXPLICIT.values(), ids=EXPLICIT)
each = pytest.mark.parametrize("run", (EXPLICIT | GRID).values(), ids=EXPLICIT | GRID)


@pytest.fixture(scope="module")
def data():
    """300 x 12, rank 3, bad rows 5 %: long ones, a cluster and short ones; a mean of its own."""
    return make_outlier_subspace(
        300, 12, 3, 0.05, outliers="mixed", noise=NOISE, mean=0.5, random_state=0
    )


def rotation(rng, d):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def distance(A, B):
    """Sine of the largest angle between two sets of components."""
    assert A.shape == B.shape
    return subspace_error(A.T, B.T)


def assert_same(found, expected, *, support=None, components=None, size=1.0, tol=1e-11):
    """Same kept rows, subspace and, in the unit of the rows, singular values and objective."""
    support = expected.support if support is None else support
    components = expected.components if components is None else components
    np.testing.assert_array_equal(found.support, support)
    assert distance(found.components, components) < tol
    np.testing.assert_allclose(found.singular_values / size, expected.singular_values, rtol=tol)
    assert found.n_iter == expected.n_iter
    assert found.converged == expected.converged
    last, before = found.history[-1], expected.history[-1]
    assert last.objective / size == pytest.approx(before.objective, rel=1e-9)
    assert last.dropped == before.dropped


@pytest.mark.parametrize("center", [False, True])
@each
def test_the_data_is_hard_enough_to_tell(data, run, center):
    # Otherwise the tests below would pass whatever a function does.
    found = run(data.X, center=center)
    plain = np.linalg.svd(data.X, full_matrices=False)[2][:3]
    assert found.components.shape == (3, 12)
    assert distance(found.components, plain) > 0.1
    assert 150 < found.support.sum() < 300
    assert found.n_iter > 1
    if center:
        assert distance(found.components, data.basis.T) < 0.05


# Order of the rows


@pytest.mark.parametrize("center", [False, True])
@each
def test_order_of_rows(data, run, center):
    order = np.random.default_rng(1).permutation(300)
    expected = run(data.X, center=center)
    found = run(data.X[order], center=center)
    assert_same(found, expected, support=expected.support[order])


@quick
@given(seeds)
@each
def test_order_of_rows_of_any_noisy_data(run, seed):
    X = make_outlier_subspace(80, 6, 3, 0.05, noise=0.1, random_state=seed).X
    order = np.random.default_rng(seed).permutation(80)
    expected, found = run(X), run(X[order])
    assert_same(found, expected, support=expected.support[order], tol=1e-8)


@pytest.mark.parametrize("outliers", ["isotropic", "line", "small"])
@pytest.mark.parametrize("run", [EXPLICIT["torp"], EXPLICIT["torp_n"], GRID["torp, grid"]])
def test_order_of_noiseless_rows_matters_to_ties_alone(run, outliers):
    # Residuals of good rows are all zero; which of them go is settled by their numbers.
    X, V, bad, _ = make_outlier_subspace(300, 12, 3, 0.05, outliers=outliers, random_state=2)
    order = np.random.default_rng(3).permutation(300)
    for rows in (np.arange(300), order):
        found = run(X[rows])
        assert distance(found.components, V.T) < 1e-12
        assert not found.support[bad[rows]].any()


# Rotation of the features


@pytest.mark.parametrize("center", [False, True])
@each
def test_rotation_of_features(data, run, center):
    Q = rotation(np.random.default_rng(4), 12)
    expected = run(data.X, center=center)
    found = run(data.X @ Q, center=center)
    assert_same(found, expected, components=expected.components @ Q)
    if center:
        np.testing.assert_allclose(found.mean, expected.mean @ Q, atol=1e-12)


@quick
@given(seeds)
@each
def test_rotation_of_any_noisy_data(run, seed):
    X = make_outlier_subspace(80, 6, 3, 0.05, noise=0.1, random_state=seed).X
    Q = rotation(np.random.default_rng(seed), 6)
    expected, found = run(X), run(X @ Q)
    assert_same(found, expected, components=expected.components @ Q, tol=1e-8)


@explicit
def test_order_and_sign_of_features(data, run):
    rng = np.random.default_rng(5)
    order, signs = rng.permutation(12), rng.choice([-1.0, 1.0], 12)
    expected = run(data.X)
    found = run(data.X[:, order] * signs)
    assert_same(found, expected, components=expected.components[:, order] * signs)


@pytest.mark.parametrize("name", ["torp", "torp_n", "torp_bin"])
def test_a_feature_that_is_always_zero(data, name):
    # (TORP-G's thresholds depend on the number of features.)
    expected = EXPLICIT[name](data.X)
    found = EXPLICIT[name](np.insert(data.X, 4, 0.0, axis=1))
    assert_same(found, expected, components=np.insert(expected.components, 4, 0.0, axis=1))


# Units


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("size", [1e-150, 1e-101, 1e-20, 3.0, 1e20, 1e99, 1e150])
@each
def test_units(data, run, size, center):
    expected = run(data.X, center=center)
    found = run(data.X * size, size, center=center)
    assert_same(found, expected, size=size)
    if center:
        np.testing.assert_allclose(found.mean / size, expected.mean, atol=1e-12)
    if "sigma" in found.parameters:
        ratio = found.parameters["sigma"] / size
        assert ratio == pytest.approx(expected.parameters["sigma"], rel=1e-9)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
@each
def test_units_as_far_as_numbers_go(data, run, size):
    assert_same(run(data.X * size, size), run(data.X), size=size, tol=1e-10)


@quick
@given(st.integers(-480, 480))
@explicit
def test_powers_of_two_change_no_kept_row(data, run, exponent):
    size = 2.0**exponent
    assert_same(run(data.X * size, size), run(data.X), size=size, tol=1e-13)


# Sizes of single rows


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("good", [1e-160, 1.0, 1e150])
@each
def test_one_enormous_row(run, good, center):
    X, V, _, _ = make_outlier_subspace(200, 10, 3, 0.0, noise=NOISE, random_state=6)
    X *= good
    X[17] = np.linspace(-1e160, 1e160, 10)
    found = run(X, good, center=center)
    assert not found.support[17]
    assert found.converged
    assert distance(found.components, V.T) < 0.05
    assert np.all(found.singular_values < 100 * good)
    if center:
        assert np.all(np.abs(found.mean) < good)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("good", [1e-160, 1.0])
@pytest.mark.parametrize("run", [EXPLICIT["torp"], EXPLICIT["torp_g"], GRID["torp, grid"]])
def test_enormous_rows_of_many_sizes(run, good, center):
    # Each hides the next; all must go, whatever it takes.
    X, V, _, _ = make_outlier_subspace(200, 10, 3, 0.0, noise=NOISE, random_state=7)
    X *= good
    rng = np.random.default_rng(8)
    sizes = good * np.array([1e3, 1e12, 1e40, 1e80, 1e130, 1e160])
    X[50:56] = sizes[:, None] * rng.standard_normal((6, 10))
    found = run(X, good, center=center)
    assert not found.support[50:56].any()
    assert distance(found.components, V.T) < 0.05


@pytest.mark.parametrize("size", [1e-300, 1e-160])
@explicit
def test_tiny_rows_among_ordinary_ones(data, run, size):
    # They are as good as zero: never dropped, never in the way.
    X = np.vstack([data.X, size * np.ones((3, 12))])
    found, expected = run(X), run(np.vstack([data.X, np.zeros((3, 12))]))
    assert_same(found, expected)
    assert found.support[300:].all()


# Location


@pytest.mark.parametrize("shift", [1.0, 1e3, -1e6])
@each
def test_location(data, run, shift):
    offset = shift * np.random.default_rng(9).standard_normal(12)
    expected = run(data.X, center=True)
    found = run(data.X + offset, center=True)
    lost = 1e-12 * max(1.0, abs(shift))  # digits the rows themselves lose
    assert_same(found, expected, tol=10 * lost)
    np.testing.assert_allclose(found.mean, expected.mean + offset, atol=10 * lost)


@explicit
def test_location_matters_without_centring(data, run):
    offset = np.full(12, 10.0)
    assert distance(run(data.X + offset).components, run(data.X).components) > 0.1


# Copies, and rows of zeros


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("center", [False, True])
@explicit
def test_every_row_several_times(data, run, center, copies):
    expected = run(data.X, center=center)
    found = run(np.tile(data.X, (copies, 1)), center=center)
    np.testing.assert_array_equal(found.support, np.tile(expected.support, copies))
    assert distance(found.components, expected.components) < 1e-11
    grown = np.sqrt(copies) * expected.singular_values
    np.testing.assert_allclose(found.singular_values, grown, rtol=1e-11)
    dropped = {rule: copies * count for rule, count in expected.history[-1].dropped.items()}
    assert found.history[-1].dropped == dropped


# Numbers of dropped rows that one row more does not change.
WITH_ONE_MORE_ROW = {
    "torp": lambda X: torp(X, 3, rho=17.5 / 300),
    "torp_n": lambda X: torp_n(X, 3, rho=14.75 / 300, eta=0.4),
    "torp_bin": lambda X: torp_bin(X, 3, rho=14.75 / 300, eta=0.4),
    "torp_g": lambda X: torp_g(X, 3, mu=2.0, sigma=NOISE),
}


@pytest.mark.parametrize("place", [0, 123, 300])
@pytest.mark.parametrize("run", WITH_ONE_MORE_ROW.values(), ids=WITH_ONE_MORE_ROW)
def test_a_row_of_zeros(data, run, place):
    expected = run(data.X)
    found = run(np.insert(data.X, place, 0.0, axis=0))
    assert_same(found, expected, support=np.insert(expected.support, place, True))
