"""Outlier-robust PCA: the principal subspace of the good rows, and labels for the bad ones.

It is robust against whole bad rows, and includes the algorithms of "Thresholding based Efficient
Outlier Robust PCA" by Cherapanamjeri, Jain and Netrapalli.
"""

import typing as _typing
from importlib import import_module as _import_module

__version__ = "0.1.0"

__all__ = [
    "TORP",
    "Comparison",
    "GaussianTORP",
    "Iteration",
    "NoisyTORP",
    "OutlierRobustPCA",
    "RobustSubspace",
    "RowSource",
    "as_source",
    "compare",
    "datasets",
    "load_model",
    "metrics",
    "project_to_ellipsoid",
    "report",
    "rivals",
    "save_model",
    "tail_probability",
    "to_onnx",
    "torp",
    "torp_bin",
    "torp_g",
    "torp_n",
]

# A name is loaded when it is first asked for: scikit-learn and SciPy take a second, and neither
# `torpca --help` nor `torpca.metrics` needs them. Type checkers read these imports; Python has the
# same names in the table below, and a test holds them together.
if _typing.TYPE_CHECKING:
    from torpca import adapters as adapters
    from torpca import datasets, metrics, rivals
    from torpca import plots as plots
    from torpca import testing as testing
    from torpca._compare import Comparison, compare
    from torpca._core.ellipsoid import project_to_ellipsoid
    from torpca._core.loop import Iteration
    from torpca._core.result import RobustSubspace
    from torpca._core.torp import torp
    from torpca._core.torp_g import torp_g
    from torpca._core.torp_n import torp_bin, torp_n
    from torpca._estimators.paper import TORP, GaussianTORP, NoisyTORP
    from torpca._estimators.robust import OutlierRobustPCA
    from torpca._export.onnx import to_onnx
    from torpca._model_file import load_model, save_model
    from torpca._report.public import report
    from torpca._sources import RowSource, as_source
    from torpca._tail import tail_probability
else:  # out of their sight, or they would take any name for one of ours
    _HOMES = {
        "adapters": "torpca",
        "datasets": "torpca",
        "metrics": "torpca",
        "plots": "torpca",
        "rivals": "torpca",
        "testing": "torpca",
        "Comparison": "torpca._compare",
        "compare": "torpca._compare",
        "project_to_ellipsoid": "torpca._core.ellipsoid",
        "Iteration": "torpca._core.loop",
        "RobustSubspace": "torpca._core.result",
        "torp": "torpca._core.torp",
        "torp_g": "torpca._core.torp_g",
        "torp_bin": "torpca._core.torp_n",
        "torp_n": "torpca._core.torp_n",
        "TORP": "torpca._estimators.paper",
        "GaussianTORP": "torpca._estimators.paper",
        "NoisyTORP": "torpca._estimators.paper",
        "OutlierRobustPCA": "torpca._estimators.robust",
        "to_onnx": "torpca._export.onnx",
        "load_model": "torpca._model_file",
        "save_model": "torpca._model_file",
        "report": "torpca._report.public",
        "RowSource": "torpca._sources",
        "as_source": "torpca._sources",
        "tail_probability": "torpca._tail",
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = _HOMES[name]
        if home == __name__:  # a module of ours; the import puts it here
            return _import_module(f"{home}.{name}")
        globals()[name] = value = getattr(_import_module(home), name)  # asked for once only
        return value

    def __dir__():
        return sorted({*globals(), *_HOMES})
