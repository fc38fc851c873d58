"""Other methods for the same task, with one interface: (X, rank) in, `RobustSubspace` out.

Only `ddc` differs: it finds bad cells and takes no rank.
"""

from torpca.rivals._altproj import altproj
from torpca.rivals._coherence import coherence_pursuit
from torpca.rivals._ddc import CellOutliers, ddc
from torpca.rivals._dhr_pca import dhr_pca
from torpca.rivals._dpcp import dpcp
from torpca.rivals._fms import fms
from torpca.rivals._ggd import ggd
from torpca.rivals._hr_pca import hr_pca
from torpca.rivals._macropca import macropca
from torpca.rivals._matrix_completion import robust_matrix_completion
from torpca.rivals._mincovdet import mincovdet
from torpca.rivals._online import OnlineRobustPCA, online_robust_pca
from torpca.rivals._outlier_pursuit import outlier_pursuit
from torpca.rivals._pcp import principal_component_pursuit
from torpca.rivals._ransac import ransac
from torpca.rivals._ransac_plus import ransac_plus
from torpca.rivals._reaper import reaper
from torpca.rivals._robpca import robpca
from torpca.rivals._rpca_gd import rpca_gd
from torpca.rivals._spherical import spherical_pca
from torpca.rivals._split import Split
from torpca.rivals._ste import ste
from torpca.rivals._structured import nonnegative_hr_pca, sparse_hr_pca
from torpca.rivals._tyler import tyler

__all__ = [
    "CellOutliers",
    "OnlineRobustPCA",
    "Split",
    "altproj",
    "coherence_pursuit",
    "ddc",
    "dhr_pca",
    "dpcp",
    "fms",
    "ggd",
    "hr_pca",
    "macropca",
    "mincovdet",
    "nonnegative_hr_pca",
    "online_robust_pca",
    "outlier_pursuit",
    "principal_component_pursuit",
    "ransac",
    "ransac_plus",
    "reaper",
    "robpca",
    "robust_matrix_completion",
    "rpca_gd",
    "sparse_hr_pca",
    "spherical_pca",
    "ste",
    "tyler",
]
