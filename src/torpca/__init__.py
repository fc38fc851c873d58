"""Outlier-robust PCA: the principal subspace of the good rows, and the names of the bad ones.

Robust against whole bad rows. Algorithms of "Thresholding based Efficient Outlier Robust PCA" by
Cherapanamjeri, Jain and Netrapalli, over data that may live anywhere.
"""

from torpca import datasets, metrics, rivals
from torpca._compare import Comparison, compare
from torpca._core.ellipsoid import project_to_ellipsoid
from torpca._core.loop import Iteration
from torpca._core.result import RobustSubspace
from torpca._core.torp import torp
from torpca._core.torp_g import torp_g
from torpca._core.torp_n import torp_bin, torp_n
from torpca._estimators.paper import TORP, GaussianTORP, NoisyTORP
from torpca._estimators.robust import OutlierRobustPCA
from torpca._model_file import load_model, save_model
from torpca._sources import RowSource, as_source

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
    "rivals",
    "save_model",
    "torp",
    "torp_bin",
    "torp_g",
    "torp_n",
]
