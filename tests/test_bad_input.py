"""Whatever is wrong is refused at the door, by an error that says what to do, and left as it is."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from torpca import (
    TORP,
    GaussianTORP,
    NoisyTORP,
    as_source,
    torp,
    torp_bin,
    torp_g,
    torp_n,
)

FUNCTIONS = [torp, torp_n, torp_bin, torp_g]
KINDS = [TORP, NoisyTORP, GaussianTORP]
each_function = pytest.mark.parametrize("function", FUNCTIONS)
each_kind = pytest.mark.parametrize("kind", KINDS)
ADVICE = re.compile(
    r"\b(Give|Use|Ask|Try|Leave|[Dd]rop|Convert|Reshape|Flatten|Fill|Call|Divide|stack|make)\b"
)


def good_rows():
    return np.random.default_rng(0).standard_normal((30, 5)) * [5.0, 4.0, 0.1, 0.1, 0.1]


def calls(X):
    """Every way to hand in X: the functions, and fit of the estimators."""
    for function in FUNCTIONS:
        yield function.__name__, lambda function=function: function(X, 2)
    for kind in KINDS:
        yield kind.__name__, lambda kind=kind: kind(2).fit(X)


def assert_refused(call, error, *patterns):
    """The call raises `error`, and its message has all of the patterns and some advice."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for pattern in patterns:
        assert re.search(pattern, message), message
    assert ADVICE.search(message), message


# Values of X


def dense(X):
    return X


def csr(X):
    return sp.csr_array(X)


def csc(X):
    return sp.csc_array(X)


def dask(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(7, 5))


def torch(X):
    return pytest.importorskip("torch").asarray(X)


def strict(X):
    return pytest.importorskip("array_api_strict").asarray(X)


def frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))


each_container = pytest.mark.parametrize(
    "container", [dense, csr, csc, dask, torch, strict, frame, np.ndarray.tolist]
)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@each_container
def test_values_that_are_not_finite(container, value):
    X = good_rows()
    X[7, 3] = X[21, 0] = value
    X = container(X)
    for _, call in calls(X):
        assert_refused(
            call, ValueError, r"NaN or infinity in 2 of 30 rows, first in row 7", "finite"
        )


@each_container
def test_single_precision_that_is_not_finite(container):
    X = good_rows().astype(np.float32)
    X[29, 4] = np.nan
    for _, call in calls(container(X)):
        assert_refused(call, ValueError, r"NaN or infinity in 1 of 30 rows, first in row 29")


@pytest.mark.parametrize("method", ["predict", "score_samples", "decision_function", "transform"])
@each_container
@each_kind
def test_new_rows_that_are_not_finite(kind, container, method):
    model = kind(2).fit(good_rows())
    X = good_rows()
    X[11, 2] = np.nan
    call = getattr(model, method)
    if container is frame:
        model = kind(2).fit(frame(good_rows()))
        call = getattr(model, method)
    assert_refused(lambda: call(container(X)), ValueError, "NaN or infinity in 1 of 30", "row 11")


# Shapes of X


@pytest.mark.parametrize(
    ("shape", "patterns"),
    [
        ((0, 5), [r"0 sample\(s\) \(shape=\(0, 5\)\)", "minimum of 1"]),
        ((5, 0), [r"0 feature\(s\) \(shape=\(5, 0\)\)", "minimum of 1"]),
        ((0, 0), [r"shape=\(0, 0\)", "minimum of 1"]),
        ((5,), [r"1 dimension.*shape=\(5,\)", "2 are needed", r"Reshape.*reshape\(-1, 1\)"]),
        ((), [r"0 dimension.*shape=\(\)", "2 are needed"]),
        ((4, 3, 2), [r"3 dimension.*shape=\(4, 3, 2\)", "2 are needed", "Flatten each sample"]),
    ],
)
def test_shapes(shape, patterns):
    X = np.ones(shape)
    containers = [dense(X), torch(X), strict(X), X.tolist()]
    if len(shape) > 0:
        containers.append(pytest.importorskip("dask.array").from_array(X))
    if len(shape) == 2:
        containers += [csr(X), csc(X)]
    for container in containers:
        if isinstance(container, list) and shape in {(0, 5), (0, 0)}:
            continue  # [] is of shape (0,)
        for _, call in calls(container):
            with pytest.raises(ValueError, match=patterns[0]) as caught:
                call()
            for pattern in patterns[1:]:
                assert re.search(pattern, str(caught.value))


def test_sparse_vectors():
    for _, call in calls(sp.coo_array(np.ones(5))):
        assert_refused(call, ValueError, r"1 dimension", "2 are needed")


# Types of X


class Opaque:
    """Neither an array nor a number."""


@pytest.mark.parametrize(
    ("X", "error", "patterns"),
    [
        (np.array([["1", "2"]] * 9), TypeError, ["dtype <U1", "real numbers", r"astype\(float\)"]),
        ([["a", "b"]] * 9, TypeError, ["dtype <U1", "real numbers"]),
        (np.array([["1", "2"]] * 9, dtype=object), TypeError, ["'1' of type str", "not a string"]),
        (np.array([[1.0, None]] * 9), TypeError, ["None of type NoneType", "real numbers"]),
        (np.array([[1.0, 1j]] * 9), ValueError, ["complex128", "Complex data not supported"]),
        (np.array([[1.0, 1j]] * 9, dtype=object), TypeError, ["1j of type complex"]),
        (sp.csr_array(np.full((9, 2), 1j)), ValueError, ["complex128", "stack real and imag"]),
        (np.zeros((9, 2), "M8[s]"), TypeError, [r"datetime64\[s\]", "real numbers"]),
        (np.zeros(9, [("a", float), ("b", float)]), TypeError, ["'a'", "real numbers"]),
        ([[1.0, 2.0], [3.0]], ValueError, ["could not be read", "inhomogeneous", "list of lists"]),
        (np.ma.masked_less(np.eye(9), 0.5), ValueError, ["NaN or inf.* 9 of 9 rows", "impute"]),
        ("a table", TypeError, ["dtype <U7", "real numbers"]),
        (b"a table", TypeError, ["dtype [|]S7", "real numbers"]),
        (None, TypeError, ["None of type NoneType", "real numbers"]),
        ({"a": [1.0, 2.0]}, TypeError, ["of type dict", "real numbers"]),
        (Opaque(), TypeError, ["of type Opaque", "real numbers"]),
        (np.array([[10**400, 1]] * 9, dtype=object), ValueError, ["integer", "largest float"]),
    ],
    ids=lambda value: None if isinstance(value, list | type) else "X",
)
def test_types(X, error, patterns):
    for _, call in calls(X):
        assert_refused(call, error, *patterns)


@pytest.mark.parametrize("library", ["torch", "array_api_strict", "dask.array"])
def test_complex_arrays_of_other_libraries(library):
    xp = pytest.importorskip(library)
    X = xp.ones((9, 2), dtype=xp.complex64)
    for _, call in calls(X):
        assert_refused(call, ValueError, "complex64", "Complex data not supported")


def test_text_in_other_containers():
    da = pytest.importorskip("dask.array")
    text = np.array([["1", "2"]] * 9)
    for _, call in calls(da.from_array(text)):
        assert_refused(call, TypeError, "dtype <U1", "real numbers")
    for _, call in calls(da.from_array(text.astype(object), chunks=(3, 2))):
        assert_refused(call, TypeError, "dtype object", "real numbers")
    for library in ("pandas", "polars"):
        frames = pytest.importorskip(library)
        X = frames.DataFrame({"a": ["x"] * 9, "b": [1.0] * 9})
        for _, call in calls(X):
            assert_refused(call, TypeError, "'x' of type str", "real numbers")


def test_dask_arrays_of_unknown_length():
    da = pytest.importorskip("dask.array")
    X = da.from_array(good_rows(), chunks=(10, 5))
    for _, call in calls(X[X[:, 0] > 0]):
        assert_refused(call, ValueError, "unknown shape", "must be known", "compute_chunk_sizes")


def test_sparse_tensors():
    tensor = torch(good_rows()).to_sparse()
    for _, call in calls(tensor):
        assert_refused(call, TypeError, "sparse tensor", "scipy.sparse|to_dense")


@pytest.mark.parametrize("block_rows", [-5, 0, 2.5, "10"])
def test_blocks_of_no_rows(block_rows):
    with pytest.raises((TypeError, ValueError), match=f"block_rows={block_rows!r}.*at least 1"):
        as_source(good_rows(), block_rows=block_rows)


# The rank


@pytest.mark.parametrize("rank", [0, -1, -(10**30), 6, 31, 10**400])
@each_function
def test_impossible_ranks(function, rank):
    given = re.escape(f"rank={rank}")
    allowed = r"between 1 and min\(n_samples, n_features\) = 5"
    for X in (good_rows(), csr(good_rows()), torch(good_rows())):
        assert_refused(lambda X=X: function(X, rank), ValueError, given, allowed, "smaller rank")


@each_function
def test_ranks_above_the_number_of_rows(function):
    X = good_rows()[:4].repeat(3, axis=1)
    assert_refused(lambda: function(X, 5), ValueError, "rank=5", r"min\(.*\) = 4", "smaller rank")


@pytest.mark.parametrize("rank", [2.0, 2.5, np.nan, np.float64(2), True, "2", None, [2], 2j])
@each_function
def test_ranks_that_are_no_whole_numbers(function, rank):
    given = re.escape(f"rank={rank!r}")
    assert_refused(lambda: function(good_rows(), rank), TypeError, given, "between 1 and 5")


@each_kind
def test_impossible_numbers_of_components(kind):
    for n in (0, -1, 2.5, "2", None):
        with pytest.raises(
            ValueError, match=rf"'n_components'.*{kind.__name__}.*Got {n!r} instead"
        ):
            kind(n).fit(good_rows())
    with pytest.raises(TypeError, match="True"):
        kind(True).fit(good_rows())
    assert_refused(lambda: kind(6).fit(good_rows()), ValueError, "6", "= 5", "smaller")


@each_function
def test_whole_numbers_of_any_kind_are_ranks(function):
    for rank in (2, np.int64(2), np.uint8(2)):
        assert len(function(good_rows(), rank).components) <= 2


# Fractions, incoherence, noise, accuracy, counts

NOT_NUMBERS = ["0.1", None, [0.1], 0.1j, True, np.array([0.1])]
OPTIONS = {
    # name: (functions, values out of range, what the message says is allowed)
    "rho": (
        [torp, torp_n, torp_bin],
        [0.0, -0.1, 0.5, 0.9, 2, np.nan, np.inf],
        r"in \(0, 1/2\)|fin",
    ),
    "mu": (FUNCTIONS, [0.5, 0, -1.0, np.nan, np.inf, 1e200, 10**400], r"1|finite"),
    "eta": ([torp_n, torp_bin], [-0.1, -1, np.nan, np.inf, 10**400], r"finite.*at least 0"),
    "sigma": ([torp_g], [-0.1, -1, np.nan, np.inf, 10**400], r"finite.*at least 0"),
    "tol": ([torp, torp_n, torp_bin], [-1e-9, np.nan, np.inf, 10**400], r"finite.*at least 0"),
    "max_iter": (FUNCTIONS, [0, -3], r"at least 1"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_out_of_range(name):
    functions, values, allowed = OPTIONS[name]
    for function in functions:
        for value in values:
            call = lambda function=function, value=value: function(good_rows(), 2, **{name: value})  # noqa: E731
            assert_refused(call, ValueError, rf"\b{name}=", allowed)
            if abs(value) < 1e100:
                given = f"{name}={value:g}|{name}={value}"
                assert_refused(call, ValueError, given)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_are_no_numbers(name):
    for function in OPTIONS[name][0]:
        for value in NOT_NUMBERS:
            if value is None and name != "tol":
                continue  # the default
            call = lambda function=function, value=value: function(good_rows(), 2, **{name: value})  # noqa: E731
            allowed = "whole number" if name == "max_iter" else "real number"
            assert_refused(call, TypeError, re.escape(f"{name}={value!r}"), allowed)


def test_iterations_are_counted_in_whole_numbers():
    for function in FUNCTIONS:
        assert_refused(
            lambda function=function: function(good_rows(), 2, max_iter=2.5),
            TypeError,
            r"max_iter=2\.5",
            "whole number, at least 1",
        )


@pytest.mark.parametrize("function", [torp, torp_n, torp_bin])
def test_a_wrong_mu_is_refused_even_where_rho_makes_it_superfluous(function):
    for mu in (0.5, np.nan, "1"):
        with pytest.raises((TypeError, ValueError), match=r"\bmu="):
            function(good_rows(), 2, rho=0.1, mu=mu)


@pytest.mark.parametrize("center", ["no", "True", None, 1, 0.0, [True]])
@each_function
def test_center_is_true_or_false(function, center):
    given = re.escape(f"center={center!r}")
    assert_refused(lambda: function(good_rows(), 2, center=center), TypeError, given, "True or")


@each_function
def test_callback_must_be_callable(function):
    assert_refused(
        lambda: function(good_rows(), 2, callback=3), TypeError, "callback=3", "callable"
    )


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        (TORP, "rho", [0.0, 0.5, -1, np.nan, "a", True]),
        (NoisyTORP, "rho", [0.0, 0.5, -1, np.nan, "a", True]),
        (TORP, "mu", [0.5, np.nan, "a"]),
        (NoisyTORP, "mu", [0.5, np.nan, "a"]),
        (GaussianTORP, "mu", [0.5, np.nan, "a"]),
        (NoisyTORP, "eta", [-1, np.nan, "a"]),
        (GaussianTORP, "sigma", [-1, np.nan, "a"]),
        (TORP, "tol", [-1, np.nan, "a", None]),
        (NoisyTORP, "tol", [-1, np.nan, "a", None]),
        (TORP, "max_iter", [0, -1, 2.5, "a"]),
        (NoisyTORP, "max_iter", [0, -1, 2.5, "a"]),
        (GaussianTORP, "max_iter", [0, -1, 2.5, "a"]),
        (TORP, "contamination", [0.0, 0.6, -0.1, np.nan, None, "most"]),
        (NoisyTORP, "contamination", [0.0, 0.6, -0.1, np.nan, None, "most"]),
        (GaussianTORP, "contamination", [0.0, 0.6, -0.1, np.nan, None, "most"]),
        (TORP, "center", ["no", None, 2]),
        (NoisyTORP, "search", ["ternary", None, 1]),
        (TORP, "callback", [3, "print"]),
    ],
)
def test_parameters_of_estimators(kind, name, values):
    for value in values:
        message = rf"The '{name}' parameter of {kind.__name__} must be .*Got {value!r} instead"
        with pytest.raises(ValueError, match=message):
            kind(2, **{name: value}).fit(good_rows())


@each_kind
def test_infinite_parameters_of_estimators(kind):
    with pytest.raises(
        ValueError, match=r"'mu' parameter .*inf\)\. Got inf instead|mu=inf must be"
    ):
        kind(2, mu=np.inf).fit(good_rows())


# Too few rows


@pytest.mark.parametrize(
    ("function", "rho", "left"), [(torp, 0.49, 0), (torp_n, 0.33, 0), (torp_bin, 0.32, 0)]
)
def test_fractions_that_leave_too_few_rows(function, rho, left):
    assert_refused(
        lambda: function(good_rows(), 2, rho=rho),
        ValueError,
        f"rho={rho}",
        f"all but {left} of n_samples = 30",
        "fewer than the rank=2 needs",
        "smaller rho or rank, or more rows",
    )


@pytest.mark.parametrize(
    ("function", "rank", "n"), [(torp, 3, 4), (torp_n, 3, 5), (torp_bin, 3, 5), (torp_g, 3, 4)]
)
def test_fewer_rows_than_are_dropped_and_needed(function, rank, n):
    X = good_rows()
    assert_refused(
        lambda: function(X[:n], rank),
        ValueError,
        f"n_samples = {n} .*too few for rank={rank}",
        f"{n + 1} are needed",
        "more rows or a smaller rank",
    )
    assert function(X[: n + 1], rank).support.sum() >= rank


def test_one_row():
    for _, call in calls(good_rows()[:1]):
        assert_refused(call, ValueError, "n_samples = 1")
    # mu is no excuse.
    assert_refused(
        lambda: torp_g(good_rows()[:1], 1, mu=2.0, sigma=0.1), ValueError, "n_samples = 1"
    )


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("shape", [(60, 6), (20, 40)])
def test_noise_levels_that_leave_no_rows(shape, center):
    # The paper's rule would remove every row: without the longest, the next one looks bad.
    X = np.random.default_rng(0).standard_normal(shape) * np.geomspace(1, 1e6, shape[0])[:, None]
    for call in (
        lambda: torp_g(X, 2, mu=1.0, sigma=0.0, center=center),
        lambda: GaussianTORP(2, mu=1.0, sigma=0.0, center=center).fit(X),
    ):
        assert_refused(call, ValueError, "mu=1", "sigma=0", f"of.* {shape[0]}", "rank=2", "larger")


# Coordinates


@each_kind
def test_coordinates_that_are_none(kind):
    model = kind(2).fit(good_rows())
    wrong = f"X has 3 columns, but {kind.__name__} found 2 components"
    assert_refused(lambda: model.inverse_transform(np.ones((4, 3))), ValueError, wrong, "transform")
    assert_refused(lambda: model.inverse_transform(np.ones(2)), ValueError, "1 dimension")
    assert_refused(lambda: model.inverse_transform([["1", "2"]]), TypeError, "real numbers")
    assert_refused(lambda: model.inverse_transform([[1.0, np.nan]]), ValueError, "NaN or infinity")


# What was handed in stays as it was


@pytest.mark.parametrize("spoil", [None, np.nan], ids=["good", "bad"])
@pytest.mark.parametrize("center", [False, True])
@each_function
def test_rows_stay_as_they_were_bit_for_bit(function, center, spoil):
    X = good_rows()
    if spoil is not None:
        X[3, 1] = spoil
    tensor, rows, columns = torch(X.copy()), csr(X), csc(X)
    unsorted = sp.csr_array(X)  # duplicates are summed in a copy
    unsorted.indices[:5] = unsorted.indices[:5][::-1]
    unsorted.has_sorted_indices = unsorted.has_canonical_format = False
    parts = [
        X,
        tensor.numpy(),
        *(part for A in (rows, columns, unsorted) for part in (A.data, A.indices, A.indptr)),
    ]
    before = [part.tobytes() for part in parts]
    for container in (X, tensor, rows, columns, unsorted):
        if spoil is None:
            function(container, 2, center=center)
        else:
            with pytest.raises(ValueError, match="NaN"):
                function(container, 2, center=center)
    assert [part.tobytes() for part in parts] == before


@each_function
def test_rows_that_must_not_be_written_to(function):
    X = good_rows()
    expected = function(X, 2)
    X.flags.writeable = False
    np.testing.assert_array_equal(function(X, 2).components, expected.components)
    for order in (np.asfortranarray(X), X[::-1][::-1], X.astype(">f8")):
        order.flags.writeable = False
        np.testing.assert_array_equal(function(order, 2).support, expected.support)
