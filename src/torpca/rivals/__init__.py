"""Other methods for the same task, behind one call: (X, rank) in, `RobustSubspace` out."""

from torpca.rivals._coherence import coherence_pursuit
from torpca.rivals._dpcp import dpcp
from torpca.rivals._fms import fms
from torpca.rivals._mincovdet import mincovdet
from torpca.rivals._ransac import ransac
from torpca.rivals._robpca import robpca
from torpca.rivals._spherical import spherical_pca
from torpca.rivals._ste import ste
from torpca.rivals._tyler import tyler

__all__ = [
    "coherence_pursuit",
    "dpcp",
    "fms",
    "mincovdet",
    "ransac",
    "robpca",
    "spherical_pca",
    "ste",
    "tyler",
]
