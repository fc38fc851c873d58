"""Optional packages: asked for where they are missing, and not loaded before."""

import subprocess
import sys

import pytest

from torpca import as_source


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
        # Some versions of scikit-learn load pandas, and pandas loads pyarrow.
        "names = 'torch dask polars pytest hypothesis array_api_compat array_api_strict zarr '"
        "'matplotlib click rich'; "
        "print(*sorted(set(names.split()) & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == ""
