"""Plots of a fit, as scikit-learn displays: `from_estimator` computes, `plot` draws.

They need matplotlib (`pip install "torpca[plot]"`), which is imported when a plot is drawn.
"""

from torpca.plots._cell_map import CellMapDisplay
from torpca.plots._contributions import ContributionsDisplay
from torpca.plots._outlier_map import OutlierMapDisplay
from torpca.plots._scores import ScoresDisplay
from torpca.plots._scree import ScreeDisplay

__all__ = [
    "CellMapDisplay",
    "ContributionsDisplay",
    "OutlierMapDisplay",
    "ScoresDisplay",
    "ScreeDisplay",
]
