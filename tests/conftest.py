"""Settings that must stand before libraries are loaded; markers; fixtures of several files."""

import os

# Without it scikit-learn skips its checks of array-API input.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tests._shared import OPTIONS, UNITS
from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Workers share the cores: more threads in each would only wait for each other."""
    # Before they start, as plugins load NumPy before this file. OpenBLAS heeds it too.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


# ---- BLAS kernels --------------------------------------------------------------------------------

# Beginnings of the names of files whose tests do not depend on the last digits of a product. All
# other files are marked `numerical`.
WORDS_AND_FILES = (
    "test_adapters",
    "test_atomic",
    "test_bad_entries",
    "test_bad_input",
    "test_bench",
    "test_browser",
    "test_cli",
    "test_estimators_protocol",
    "test_files",
    "test_imports",
    "test_layout",
    "test_memory",
    "test_names_and_numbers",
    "test_orp_bad_input",
    "test_orp_protocol",
    "test_outputs",
    "test_plots",
    "test_report",
    "test_repr_html",
    "test_sources_bad_input",
    "test_sources_optional",
    "test_typing",
)


def pytest_report_header():
    """What multiplies matrices here: other kernels round differently."""
    kernels = {
        f"{library['internal_api']} {library.get('architecture', '')}".strip()
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return f"BLAS kernel: {', '.join(sorted(kernels)) or 'unknown'}"


def pytest_collection_modifyitems(items):
    """Mark the tests that another BLAS kernel may change."""
    for item in items:
        if not item.path.name.startswith(WORDS_AND_FILES):
            item.add_marker("numerical")


# ---- fixtures ------------------------------------------------------------------------------------


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
