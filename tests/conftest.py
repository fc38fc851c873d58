"""Settings that must stand before libraries are loaded; fixtures of test_orp_* and test_cli*."""

import os

# Without it scikit-learn skips its checks of array-API input.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

from tests._shared import OPTIONS, UNITS
from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Workers share the cores: more threads in each would only wait for each other."""
    # Before they start, as plugins load NumPy before this file. OpenBLAS heeds it too.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def data():
    return make_outlier_subspace(300, 12, 3, 0.3, noise=0.01, mean=0.5, random_state=0)


@pytest.fixture(scope="module")
def X(data):
    rows = data.X * UNITS
    rows.flags.writeable = False
    return rows


@pytest.fixture(scope="module")
def fitted(X):
    return OutlierRobustPCA(3).fit(X)


@pytest.fixture(scope="module", params=OPTIONS.values(), ids=OPTIONS)
def model(request, X):
    # For looking at only: a fit takes a while.
    return OutlierRobustPCA(**{"n_components": 3, **request.param}).fit(X)


@pytest.fixture(scope="module")
def clean():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((5000, 12)) * [5, 4, 3, *[0.5] * 9]
    return rows @ np.linalg.qr(rng.standard_normal((12, 12)))[0] + rng.standard_normal(12)


@pytest.fixture(scope="module")
def on_clean(clean):
    return OutlierRobustPCA(3).fit(clean)


# ---- the command line ----------------------------------------------------------------------------


@pytest.fixture
def made():
    return make_outlier_subspace(
        200, 8, 2, 0.1, outliers="isotropic", noise=0.01, mean=3.0, random_state=0
    )


@pytest.fixture
def table(made, tmp_path, monkeypatch):
    """A CSV file with labels, in the working directory."""
    monkeypatch.chdir(tmp_path)
    lines = ["name,kind," + ",".join(f"f{j}" for j in range(8))]
    lines += [f"row {i},text," + ",".join(map(repr, x.tolist())) for i, x in enumerate(made.X)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
