"""What the tests of sources share: optional packages, their threads, and a small table."""

import numpy as np
import pytest


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


def small():
    return np.random.default_rng(0).standard_normal((30, 5))
