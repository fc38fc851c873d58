"""Rows with holes, and what could be found from the good ones alone."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from torpca import as_source
from torpca._missing.em import settled
from torpca._missing.start import first_completion
from torpca._sources.base import to_numpy
from torpca.metrics import subspace_error

# Rows of too few cells are among those of a test that is about something else.
FEW_CELLS = pytest.mark.filterwarnings("ignore:X has .* with too few cells to be judged")


def holed(X, share, seed=0):
    """A copy of X with NaN in about that share of its cells, anywhere."""
    X = np.array(X)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def gaussian(n, d, k, seed=0, noise=0.1):
    """Good rows near a subspace, about a mean of their own."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((d, k)))[0]
    mean, scores = rng.standard_normal(d), rng.standard_normal((n, k)) * np.linspace(3, 1, k)
    return scores @ V.T + noise * rng.standard_normal((n, d)) + mean


def oracle(X, k):
    """Basis (d, k) of rows with holes that are all good: the same EM, gone on to its end."""
    source, ones = as_source(X), np.ones(len(X))
    begun = first_completion(source, ones, k, np.random.default_rng(0), center=True)
    begun = replace(begun, V=begun.V[:, :k], deviations=begun.deviations[:k])
    return settled(source, begun, ones, center=True, share=0.001).V


@pytest.fixture(autouse=True)
def one_torch_thread():
    """Threads only cost time on tables of a few numbers; for files that import it."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def apart(model, other):
    """Sine of the largest angle between two fitted subspaces."""
    return subspace_error(*(to_numpy(m.components_).T.astype(np.float64) for m in (model, other)))
