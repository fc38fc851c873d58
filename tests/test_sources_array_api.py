"""Torch tensors and other array-API arrays as sources."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests._sources import TorchOnOneThread, small, torch_or_skip
from torpca import as_source
from torpca.testing import RowSourceContract


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
