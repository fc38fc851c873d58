"""Every kind of rows against the contract, and what happens to what is no table of numbers."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from torpca import as_source
from torpca._sources import Centered, Deflated, Scaled, base, sparse
from torpca._sources.array import ArraySource
from torpca._sources.dask import DaskSource
from torpca._sources.observed import Observed
from torpca._sources.sparse import SparseSource
from torpca.testing import RowSourceContract


def torch_or_skip():
    pytest.importorskip("array_api_compat", reason="needs array-api-compat: torpca[torch]")
    return pytest.importorskip("torch", reason="needs torch: pip install 'torpca[torch]'")


def dask_array_or_skip():
    return pytest.importorskip("dask.array", reason="needs Dask: pip install 'torpca[dask]'")


class TorchOnOneThread:
    """Threads only cost time on tables of a few numbers."""

    @pytest.fixture(autouse=True)
    def one_torch_thread(self):
        torch = torch_or_skip()
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(before)


class DaskOnOneThread:
    scheduler = "synchronous"

    @pytest.fixture(autouse=True)
    def dask_threads(self):
        dask_array_or_skip()
        import dask

        with dask.config.set(scheduler=self.scheduler, num_workers=4):
            yield


# Arrays


class TestNumPy(RowSourceContract):
    def make_source(self, X):
        return as_source(X)


class TestReadOnly(RowSourceContract):
    def make_source(self, X):
        X = X.copy()
        X.flags.writeable = False
        return as_source(X)


class TestObserved(RowSourceContract):
    """Rows of which a pass is told."""

    def make_source(self, X):
        return Observed(as_source(X), lambda number, done: None)


class TestFortranOrder(RowSourceContract):
    def make_source(self, X):
        return as_source(np.asfortranarray(X))


class TestStrided(RowSourceContract):
    def make_source(self, X):
        wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
        return as_source(wide[::-2, ::-3][::-1, ::-1])


class TestOtherByteOrder(RowSourceContract):
    def make_source(self, X):
        return as_source(X.astype(X.dtype.newbyteorder()))


class TestFloat32(RowSourceContract):
    def stored(self, X):
        return X.astype(np.float32)

    def make_source(self, X):
        return as_source(self.stored(X))


class TestInteger(RowSourceContract):
    dtype = np.int64
    test_magnitudes_of_rows_that_are_not_finite = None  # an integer is always finite

    def stored(self, X):
        return np.rint(X).astype(self.dtype)

    def make_source(self, X):
        return as_source(self.stored(X))


class TestBoolean(RowSourceContract):
    test_magnitudes_of_rows_that_are_not_finite = None

    def stored(self, X):
        return X != 0

    def make_source(self, X):
        return as_source(self.stored(X))


class TestOneRowAtATime(RowSourceContract):
    block_rows = 1

    def make_source(self, X):
        return as_source(X, block_rows=self.block_rows)


class TestFiveRowsAtATime(TestOneRowAtATime):
    block_rows = 5


class TestLastRowAlone(TestOneRowAtATime):
    block_rows = 36


class TestMoreRowsThanThereAre(TestOneRowAtATime):
    block_rows = 1000


class TestRowGramInPieces(RowSourceContract):
    @pytest.fixture(autouse=True)
    def few_rows_at_a_time(self, monkeypatch):
        monkeypatch.setattr(base, "BLOCK_BYTES", 10)

    def make_source(self, X):
        return as_source(X)


class TestMemoryMap(RowSourceContract):
    mode = "r"

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.path = tmp_path / "rows"

    def make_source(self, X):
        # A new file each time: an older source may still have the last one mapped.
        self.path = self.path.with_name(self.path.name + "x")
        np.save(self.path, X)
        return as_source(np.load(self.path.with_suffix(".npy"), mmap_mode=self.mode), block_rows=10)


class TestWritableMemoryMap(TestMemoryMap):
    mode = "r+"


class TestTorch(TorchOnOneThread, RowSourceContract):
    block_rows = None

    def make_source(self, X):
        return as_source(torch_or_skip().asarray(X.copy()), block_rows=self.block_rows)


class TestTorchFiveRowsAtATime(TestTorch):
    block_rows = 5


class TestTorchWithGradient(TestTorch):
    def make_source(self, X):
        return as_source(torch_or_skip().asarray(X.copy()).requires_grad_(), block_rows=5)


class TestTorchTransposed(TestTorch):
    def make_source(self, X):
        return as_source(torch_or_skip().asarray(X.T.copy()).T)


class TestTorchHalfPrecision(TorchOnOneThread, RowSourceContract):
    def stored(self, X):
        return as_bfloat16(X).to(torch_or_skip().float64).numpy()

    def make_source(self, X):
        return as_source(as_bfloat16(X))


def as_bfloat16(X):
    torch = torch_or_skip()
    return torch.asarray(X.copy()).to(torch.bfloat16)


class TestStrictArrayAPI(RowSourceContract):
    def make_source(self, X):
        xp = pytest.importorskip("array_api_strict", reason="needs torpca[test]")
        return as_source(xp.asarray(X), block_rows=8)


# Sparse


class TestCSRArray(RowSourceContract):
    convert = staticmethod(sp.csr_array)

    def make_source(self, X):
        return as_source(self.convert(X))


class TestCSRMatrix(TestCSRArray):
    convert = staticmethod(sp.csr_matrix)


class TestCSCArray(TestCSRArray):
    convert = staticmethod(sp.csc_array)


class TestCSCMatrix(TestCSRArray):
    convert = staticmethod(sp.csc_matrix)


class TestCOOArray(TestCSRArray):
    convert = staticmethod(sp.coo_array)


class InSmallSlabs:
    """Data of a test fits in one slab and one block; these make it take several."""

    @pytest.fixture(autouse=True)
    def small_slabs(self, monkeypatch):
        monkeypatch.setattr(sparse, "SLAB_NONZEROS", 9)
        monkeypatch.setattr(sparse, "default_block_rows", lambda *shape: 4)


class TestCSRInSlabs(InSmallSlabs, TestCSRArray):
    pass


class TestCSCInSlabs(InSmallSlabs, TestCSCArray):
    pass


def with_duplicates(X):
    """CSR array whose entries x are stored as 2x and -x, out of order."""
    rows, cols = np.nonzero(X)
    parts = np.concatenate([2 * X[rows, cols], -X[rows, cols]])
    order = np.random.default_rng(0).permutation(len(parts))
    order = order[np.argsort(np.tile(rows, 2)[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(2 * np.count_nonzero(X, axis=1))])
    return sp.csr_array((parts[order], np.tile(cols, 2)[order], indptr), shape=X.shape)


class TestCSRWithDuplicates(TestCSRArray):
    convert = staticmethod(with_duplicates)


class TestCSCWithDuplicates(TestCSRArray):
    @staticmethod
    def convert(X):
        return with_duplicates(X.T.copy()).T


def with_zeros_stored(X):
    full = sp.csr_array(np.where(X == 0, 1, X))
    full.data[X.ravel() == 0] = 0
    assert full.nnz == X.size
    return full


class TestStoredZeros(TestCSRArray):
    convert = staticmethod(with_zeros_stored)


class TestIntegerCSC(TestInteger):
    def make_source(self, X):
        return as_source(sp.csc_array(self.stored(X)))


# Dask


class TestDask(DaskOnOneThread, RowSourceContract):
    chunks = (19, -1)

    def make_source(self, X):
        return as_source(dask_array_or_skip().from_array(X, chunks=self.chunks))


class TestDaskOneChunk(TestDask):
    chunks = (-1, -1)


class TestDaskUnevenChunks(TestDask):
    def make_source(self, X):
        da = dask_array_or_skip()
        cut = [0, 0, 1, 18, 19, len(X)] if len(X) > 19 else [0, len(X), len(X)]
        sizes = tuple(np.diff(cut).tolist())
        return as_source(da.from_array(X, chunks=(sizes, (X.shape[1],))))


class TestDaskManyThreads(TestDask):
    chunks = (9, -1)
    scheduler = "threads"


class TestDaskOfSparse(TestDask):
    convert = staticmethod(sp.csr_array)

    def make_source(self, X):
        da = dask_array_or_skip()
        return as_source(da.from_array(X, chunks=self.chunks).map_blocks(self.convert))


class TestDaskOfSparseMatrices(TestDaskOfSparse):
    convert = staticmethod(sp.csc_matrix)


class TestDaskChunkedByColumns(TestDask):
    chunks = (19, 3)

    def make_source(self, X):
        X = dask_array_or_skip().from_array(X, chunks=self.chunks)
        if X.numblocks[1] == 1:
            return as_source(X)
        with pytest.warns(UserWarning, match="columns split into"):
            return as_source(X)


# Things that hold numbers


class TestListOfLists(RowSourceContract):
    def stored(self, X):
        return X.astype(np.float64)

    def make_source(self, X):
        return as_source(X.tolist())


class TestPandas(RowSourceContract):
    def make_source(self, X):
        pd = pytest.importorskip("pandas", reason="needs pandas: torpca[test]")
        return as_source(pd.DataFrame(X))


class TestPolars(RowSourceContract):
    def make_source(self, X):
        pl = pytest.importorskip("polars", reason="needs polars: torpca[test]")
        return as_source(pl.DataFrame(X))


class TestObjects(TestListOfLists):
    def make_source(self, X):
        return as_source(X.astype(object))


# Views, as sources in their own right. Shifts are whole numbers, factors are powers of two and the
# direction taken out is an axis, so that a view shows exactly the numbers it should.


def in_numpy(X):
    return X


def in_torch(X):
    return torch_or_skip().asarray(X)


def in_dask(X):
    return dask_array_or_skip().from_array(X, chunks=(19, -1))


class TestCenteredNumPy(RowSourceContract):
    kind = staticmethod(in_numpy)

    def shifted(self, X):
        shift = np.arange(X.shape[1]) % 3.0
        return X + shift.astype(X.dtype), shift

    def dense(self, X):
        Z, shift = self.shifted(X)
        return Z.astype(np.float64) - shift

    def make_source(self, X):
        Z, shift = self.shifted(X)
        return as_source(self.kind(Z)).centered(shift)


class TestCenteredCSR(TestCenteredNumPy):
    kind = staticmethod(sp.csr_array)


class TestCenteredCSC(TestCenteredNumPy):
    kind = staticmethod(sp.csc_array)


class TestCenteredTorch(TorchOnOneThread, TestCenteredNumPy):
    kind = staticmethod(in_torch)


class TestCenteredDask(DaskOnOneThread, TestCenteredNumPy):
    kind = staticmethod(in_dask)


class TestScaledNumPy(RowSourceContract):
    kind = staticmethod(in_numpy)

    def make_source(self, X):
        factors = np.ldexp(1.0, np.arange(len(X)) % 5 - 2)
        return Scaled(as_source(self.kind(X / factors[:, None].astype(X.dtype))), factors)


class TestScaledCSC(TestScaledNumPy):
    kind = staticmethod(sp.csc_array)


class TestScaledTorch(TorchOnOneThread, TestScaledNumPy):
    kind = staticmethod(in_torch)


class TestDeflatedNumPy(RowSourceContract):
    kind = staticmethod(in_numpy)

    def stored(self, X):
        return np.where(np.arange(X.shape[1]) == 0, X.dtype.type(0), X)

    def make_source(self, X):
        return Deflated(as_source(self.kind(X)), np.eye(X.shape[1])[:, :1])

    def test_magnitudes_of_rows_that_are_not_finite(self):
        pass  # a NaN in the first feature spreads: no row is looked at before it is known finite


class TestDeflatedCSR(TestDeflatedNumPy):
    kind = staticmethod(sp.csr_array)


# What as_source does with what it is given


def small():
    return np.random.default_rng(0).standard_normal((30, 5))


def test_a_source_is_taken_as_it_is():
    source = as_source(small())
    assert as_source(source) is source
    view = source.centered(np.ones(5))
    assert as_source(view) is view


@pytest.mark.parametrize(
    "X",
    [
        small(),
        np.asfortranarray(small()),
        small()[::-2, 1:],
        small().astype(np.float32),
        small().astype(np.int8),
        small().astype(">f8"),
    ],
    ids=["C", "Fortran", "strided", "float32", "int8", "big-endian"],
)
def test_arrays_are_not_copied(X):
    assert np.shares_memory(as_source(X).X, X)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
def test_sparse_matrices_are_not_copied(kind):
    X = kind(small())
    source = as_source(X)
    assert isinstance(source, SparseSource)
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(source.X, part), getattr(X, part))
        assert np.shares_memory(getattr(source.centered(np.full(5, 0.1)).X, part), getattr(X, part))


def test_entries_stored_twice_are_added_in_a_copy():
    X = with_duplicates(small())
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    source = as_source(X)
    assert source.X.nnz == X.nnz // 2
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_torch_gradients_are_not_tracked():
    torch = torch_or_skip()
    source = as_source(torch.asarray(small()).requires_grad_(), block_rows=7)
    # A total that tracked them would hold on to every block of the pass.
    assert not any(block.requires_grad for _, _, block in source.blocks())


def test_results_go_back_to_the_library_they_came_from():
    torch = torch_or_skip()
    for dtype in (torch.float32, torch.float64, torch.int32, torch.bfloat16):
        source = as_source(torch.asarray(small()).to(dtype))
        back = source.export(np.ones(3))
        assert isinstance(back, torch.Tensor)
        assert back.dtype == (torch.float32 if dtype == torch.float32 else torch.float64)
        assert source.export(np.ones(3, dtype=bool)).dtype == torch.bool
    for X in (sp.csr_array(small()), small().tolist()):
        assert type(as_source(X).export(np.ones(3))) is np.ndarray


def test_every_kind_draws_the_same_sample():
    da = dask_array_or_skip()
    wanted, _ = as_source(small()).sample(8, np.random.default_rng(1))
    for X in (sp.csr_array(small()), sp.csc_array(small()), da.from_array(small(), chunks=(4, -1))):
        rows, _ = as_source(X).sample(8, np.random.default_rng(1))
        np.testing.assert_array_equal(rows, wanted)


def test_real_numbers_held_as_objects_are_accepted():
    X = np.array([[1, 2.5], [np.float32(3), Fraction(1, 4)], [True, np.int8(7)]], dtype=object)
    np.testing.assert_array_equal(as_source(X).take(np.arange(3)), X.astype(float))


def test_data_frames_with_missing_entries_show_as_not_finite():
    pd = pytest.importorskip("pandas", reason="needs pandas: torpca[test]")
    pl = pytest.importorskip("polars", reason="needs polars: torpca[test]")
    for frame in (
        pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, 2.0]}),
        pl.DataFrame({"a": [1.0, 2.0], "b": [None, 2]}),
    ):
        finite = np.isfinite(as_source(frame).magnitudes())
        np.testing.assert_array_equal(finite, [False, True])


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
        (np.ma.masked_array(small()), TypeError, ["masked array", "X.filled(", "drop those rows"]),
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
    with pytest.raises(TypeError, match=r"to_dense\(\)|scipy"):
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


def test_dask_chunked_by_columns_is_rechunked_with_a_warning():
    X = dask_array_or_skip().from_array(small(), chunks=(7, 2))
    wanted = r"columns split into 3 chunks \(2, 2, 1\).*X\.rechunk\(\{1: -1\}\)"
    with pytest.warns(UserWarning, match=wanted):
        source = as_source(X)
    assert isinstance(source, DaskSource)
    assert source.X.numblocks[1] == 1
    np.testing.assert_array_equal(source.take(np.arange(30)), small())


def test_dask_waves_cover_all_chunks(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # two chunks in a wave
    source = as_source(dask_array_or_skip().from_array(small(), chunks=(4, -1)))
    np.testing.assert_allclose(source.gram(np.ones(30, bool)), small().T @ small(), rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_centring_of_a_centred_source_adds_up(kind):
    source = as_source(kind(small())).centered(np.arange(5.0)).centered(np.ones(5))
    np.testing.assert_allclose(
        source.take(np.arange(30)), small() - np.arange(1.0, 6.0), atol=1e-15
    )


def test_sparse_rows_stay_sparse_when_centred():
    assert isinstance(as_source(sp.csr_array(small())).centered(np.full(5, 0.1)), SparseSource)
    # Rows that are mostly their mean would lose their digits in the algebra.
    assert isinstance(as_source(sp.csr_array(small())).centered(np.full(5, 1e3)), Centered)
    assert isinstance(as_source(small()).centered(np.ones(5)), Centered)
    assert isinstance(as_source(small()), ArraySource)


# What is not installed, and what is not loaded


def test_a_missing_array_api_compat_is_asked_for_in_one_sentence(monkeypatch):
    class Tensor:
        """Stands for a torch tensor where the helper package is missing."""

    Tensor.__module__ = "torch"
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(
        ImportError, match=r"torch\.Tensor.*pip install 'torpca\[torch\]'"
    ) as caught:
        as_source(Tensor())
    assert str(caught.value).count(". ") == 0, "one sentence"


def test_importing_loads_no_optional_package():
    code = (
        "import sys, torpca, torpca.testing; "
        "names = 'torch dask polars pytest hypothesis array_api_compat array_api_strict'; "
        "print(*sorted(set(names.split()) & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == ""


def test_the_contract_says_what_a_subclass_must_define():
    with pytest.raises(NotImplementedError, match=r"RowSourceContract must define make_source"):
        RowSourceContract().test_gram()


def test_few_kept_rows_make_few_blocks():
    X = np.random.default_rng(0).standard_normal((1000, 4))
    source = as_source(X, block_rows=100)
    for keep, sizes in (
        (np.arange(1000) % 50 == 3, [20]),
        (np.arange(1000) % 5 == 0, [100, 100]),
        (np.arange(1000) >= 730, [100, 100, 70]),
        (np.ones(1000, dtype=bool), [100] * 10),
        (np.zeros(1000, dtype=bool), []),
    ):
        blocks = list(source.blocks(keep))
        assert [len(block) for _, _, block in blocks] == sizes
        if sizes:
            np.testing.assert_array_equal(np.concatenate([b for _, _, b in blocks]), X[keep])
            rows = [np.arange(1000)[rows] for _, rows, _ in blocks]
            np.testing.assert_array_equal(np.concatenate(rows), np.flatnonzero(keep))
