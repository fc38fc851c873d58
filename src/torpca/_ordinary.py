"""Ordinary PCA of all rows, good and bad, to compare with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from torpca._core.problem import check_finite
from torpca._core.subspace import RESIDUAL_ULPS, Fit, SubspaceFinder
from torpca._estimators.origin import far_origin
from torpca._robust.limits import fitted_limits
from torpca._sources import Columns, RowSource
from torpca._sources.base import Floats, Mask
from torpca.metrics import principal_angles

# Coordinates beyond this are drawn here: what no float can hold is nowhere.
LARGEST = 1e300


@dataclass(frozen=True)
class OrdinaryPCA:
    """PCA of all rows. Where they are scaled first, all but the mean is in the scaled features."""

    V: Floats
    """Top directions (d, k)."""
    mean: Floats | None
    """Mean (d,) of the rows; None if they are not centred."""
    scores: Floats
    """Coordinates (n, k) of the rows."""
    explained: Floats
    """Shares (k,) of their variance."""
    fit: Fit = field(repr=False)

    def orthogonal_distances(self) -> Floats:
        """Distance (n,) of each row from the subspace: one more pass over the rows."""
        # About the mean that the directions were found about. Beside a constant of 1e14, the mean
        # of the rows as they are is off by more than their noise.
        R = self.fit.rows().residuals(self.V)
        return self.fit.frame.restore(R, R)[1]


def ordinary_pca(
    source: RowSource, k: int, center: bool, scale: Floats | None = None
) -> OrdinaryPCA:
    """Top `k` directions of all rows, each feature divided by its `scale` (d,) if that is given.

    Rows far from zero are counted from a point in their midst, as in a robust fit.
    """
    n = source.shape[0]
    origin = far_origin(source, np.ones(n)) if center else None
    rows = source if origin is None else source.centered(origin)
    rows = rows if scale is None else Columns(rows, 1.0 / scale)
    finder = SubspaceFinder(rows, check_finite(rows), center)
    # Good rows that are all the same have no direction, and a finder looks for one at least.
    fit = finder.find(np.ones(n, dtype=bool), max(k, 1))
    V, s, seen = fit.V[:, :k], fit.s[:k] / fit.frame.unit, fit.rows()
    # In the unit of the frame, in which squares are numbers.
    total = float(np.sum(seen.squares()))
    explained = s**2 / total if total > 0 else np.zeros(len(s))
    Y = seen.matmul(V)
    if fit.frame.factors is not None:
        with np.errstate(over="ignore"):
            Y = np.clip(Y / fit.frame.factors[:, None], -LARGEST, LARGEST)
    mean = fit.mean
    if mean is not None and scale is not None:
        mean = mean * scale
    if mean is not None and origin is not None:
        mean = origin + mean
    return OrdinaryPCA(V, mean, Y, explained, fit)


def largest_angle(V: Floats, W: Floats) -> float:
    """Largest angle between the spans of V (d, k) and W (d, l), in degrees."""
    if V.shape != W.shape:  # some direction of the larger one is orthogonal to the smaller
        return 90.0
    return float(np.degrees(np.max(principal_angles(V, W), initial=0.0)))


def ordinary_flags(plain: OrdinaryPCA, eps: float) -> Mask:
    """Mask (n,) of the rows that ordinary PCA itself would flag: by the same two distances.

    The limits are of the same kind as those of a robust fit, for rows that are all taken for good.
    `eps` is the precision of the rows.
    """
    Y, R = plain.scores, plain.orthogonal_distances()
    n, k = Y.shape
    size = np.max(np.abs(Y), axis=0, initial=0.0)
    units = Y / np.where(size > 0, size, 1.0)
    deviations = np.sqrt(np.sum(units**2, axis=0) / max(n - (plain.mean is not None), 1))
    score = np.linalg.norm(units / np.where(deviations > 0, deviations, np.inf), axis=1)
    everyone = np.ones(n)
    limits = fitted_limits(
        score, everyone, R, everyone, k, n_features=len(plain.V), center=plain.mean is not None
    )
    # Rows in the subspace up to rounding are never too far from it.
    spread = limits.score * float(np.max(size * deviations, initial=0.0))
    rounding = 2 * RESIDUAL_ULPS * eps * spread
    return limits.beyond(score, np.where(rounding < R, R, 0.0))
