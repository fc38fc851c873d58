"""What is no table of numbers is refused, with advice."""

from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp

from tests._sources import dask_array_or_skip, small, torch_or_skip
from torpca import as_source

TABLE = "table of real numbers with one sample per row"


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (np.array([["1", "2"]]), TypeError, ["<U1", TABLE, "astype(float)"]),
        ([["a", 1.0]], TypeError, ["<U", TABLE, "astype(float)"]),
        ("text", TypeError, ["<U4", TABLE]),
        (np.array([[b"a"]]), TypeError, ["|S1", TABLE, "astype(float)"]),
        (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, ["datetime64[D]", TABLE]),
        (small() + 1j, ValueError, ["complex128", "Complex data not supported", "columns"]),
        (sp.csr_array(small() + 1j), ValueError, ["complex128", "Complex data not supported"]),
        (np.array([[1, "2"]], dtype=object), TypeError, ["'2'", "str", "astype(float)"]),
        (np.array([[1, None]], dtype=object), TypeError, ["None", "NoneType", "number"]),
        (np.array([[1, 2j]], dtype=object), TypeError, ["2j", "complex", "number"]),
        (np.array([[Decimal(1)]], dtype=object), TypeError, ["Decimal", "astype(float)"]),
        (None, TypeError, ["None", TABLE]),
        ({}, TypeError, ["dict", TABLE]),
        (np.ma.masked_array(small() + 1j), ValueError, ["Complex data not supported"]),
        (np.ma.masked_array([["1", "2"]], [[True, False]]), TypeError, ["<U1", TABLE]),
        (1.0, ValueError, ["0 dimension(s)", "2 are needed"]),
        (small()[0], ValueError, ["1 dimension(s)", "(5,)", "reshape(-1, 1)", "reshape(1, -1)"]),
        (small()[None], ValueError, ["3 dimension(s)", "(1, 30, 5)", "Flatten each sample"]),
        (sp.coo_array(small()[0]), ValueError, ["1 dimension(s)", "reshape(-1, 1)"]),
        (small()[:0], ValueError, ["0 sample(s)", "(0, 5)", "minimum of 1"]),
        (small()[:, :0], ValueError, ["0 feature(s)", "(30, 0)", "minimum of 1"]),
        (sp.csr_array((0, 5)), ValueError, ["0 sample(s)", "(0, 5)"]),
        (sp.csc_array((5, 0)), ValueError, ["0 feature(s)", "(5, 0)"]),
        ([], ValueError, ["1 dimension(s)"]),
        ([[]], ValueError, ["0 feature(s)"]),
        ([[1.0, 2.0], [3.0]], ValueError, ["inhomogeneous", TABLE]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_what_is_no_table_of_numbers_is_refused_with_advice(X, error, words):
    with pytest.raises(error) as caught:
        as_source(X)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda X: X + 1j, ValueError, ["complex128", "Complex data not supported"]),
        (lambda X: X[0], ValueError, ["1 dimension(s)", "(5,)", "reshape"]),
        (lambda X: X[None], ValueError, ["3 dimension(s)", "Flatten each sample"]),
        (lambda X: X[:0], ValueError, ["0 sample(s)", "(0, 5)"]),
        (lambda X: X[:, :0], ValueError, ["0 feature(s)", "(30, 0)"]),
    ],
    ids=["complex", "1-D", "3-D", "no rows", "no columns"],
)
@pytest.mark.parametrize("library", ["torch", "array_api_strict", "dask.array"])
def test_other_libraries_are_refused_alike(library, make, error, words):
    if library == "torch":
        torch_or_skip()
    xp = pytest.importorskip(library, reason=f"needs {library}: torpca[all,test]")
    with pytest.raises(error) as caught:
        as_source(xp.asarray(make(small())))
    for word in words:
        assert word in str(caught.value)


def test_sparse_tensors_are_refused_with_advice():
    torch = torch_or_skip()
    with pytest.raises(TypeError, match=r"to_dense\(\).*scipy|scipy.*to_dense\(\)"):
        as_source(torch.asarray(small()).to_sparse())


def test_dask_of_text_is_refused():
    X = dask_array_or_skip().from_array(np.array([["a", "b"]]))
    with pytest.raises(TypeError, match=TABLE):
        as_source(X)


def test_dask_of_unknown_shape_is_refused_with_advice():
    X = dask_array_or_skip().from_array(small(), chunks=(7, -1))
    unknown = X[X[:, 0] > 0]
    with pytest.raises(ValueError, match=r"\(nan, 5\).*compute_chunk_sizes\(\)"):
        as_source(unknown)
    assert as_source(unknown.compute_chunk_sizes()).shape == (int((small()[:, 0] > 0).sum()), 5)
