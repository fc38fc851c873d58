"""What the user asked for."""

from __future__ import annotations

from dataclasses import dataclass

from torpca._robust.rank import RankRule
from torpca._robust.tuning import LEVEL


@dataclass(frozen=True)
class Options:
    """Parameters of a fit, as `OutlierRobustPCA` documents them, in plain Python numbers."""

    rank: RankRule
    trim: float | None
    """Share of the rows that the fit leaves out; None: those that are too far off."""
    center: bool
    n_sample: int | None
    """Rows on which candidates are found; None: as many as `Tuning` says."""
    tol: float
    max_iter: int
    beyond: float = LEVEL
    """Share of Gaussian good rows beyond a limit."""
