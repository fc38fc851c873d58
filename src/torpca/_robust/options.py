"""What the user asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Parameters of a fit, as `OutlierRobustPCA` documents them."""

    n_components: int | float | str
    trim: float | str
    center: bool
    n_sample: int | None
    """Rows on which the fit is started; None: as many as suit their length."""
    tol: float
    max_iter: int
