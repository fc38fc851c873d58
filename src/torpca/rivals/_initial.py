"""Six scatter matrices to start from, without chance: those of the deterministic MCD.

Hubert, Rousseeuw, Verdonck: A deterministic algorithm for robust location and scatter, Journal of
Computational and Graphical Statistics 21 (2012), section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from torpca._sources.base import Floats
from torpca.rivals._concentration import ROUNDING
from torpca.rivals._span import row_lengths, unit_rows

STARTS = ("random", "deterministic")
# Beyond these many median absolute deviations numbers have no weight, and count no more.
NO_WEIGHT, BOUND = 4.5, 3.0


def check_start(start: Any) -> str:
    """Check that `start` is "random" or "deterministic"."""
    if not isinstance(start, str) or start not in STARTS:
        raise ValueError(
            f"start={start!r} must be 'random' or 'deterministic'. Leave start out for 'random'."
        )
    return start


def standardised(Z: Floats, center: bool) -> tuple[Floats, Floats, Floats]:
    """Rows of Z (n, q) about the medians (q,) of their columns, in units of their scales (q,).

    Without centring all of it is about zero: medians and scales are those of rows and their
    negatives.
    """
    location = np.median(Z, axis=0) if center else np.zeros(Z.shape[1])
    scale = scale_of_rows(Z, center)
    return (Z - location) / scale, location, scale


def scale_of_rows(Z: Floats, center: bool) -> Floats:
    """Robust scales (q,) of the columns of Z (n, q), about zero without centring.

    A column of rounding in most rows is one of zeros.
    """
    rounding = ROUNDING * float(np.median(row_lengths(Z)))
    return tau_scale(Z if center else with_negatives(Z), rounding)


def with_negatives(Z: Floats) -> Floats:
    """Rows of Z (n, q) and their negatives (2n, q): whatever has a location has it at zero."""
    return np.concatenate([Z, -Z])


def axes_to_start_with(S: Floats, center: bool) -> list[Floats]:
    """Eigenvectors (q, q) of each of the six scatter matrices of standardised rows S (n, q)."""
    rows = S if center else with_negatives(S)
    return [np.linalg.eigh(scatter(rows))[1][:, ::-1] for scatter in SCATTERS]


# ---- the six ------------------------------------------------------------------------------------


def tanh_correlation(S: Floats) -> Floats:
    """Correlation of the hyperbolic tangents: entries far out are bounded."""
    return correlation(np.tanh(S))


def rank_correlation(S: Floats) -> Floats:
    """Spearman's correlation, of the ranks."""
    return correlation(rankdata(S, axis=0))


def normal_score_correlation(S: Floats) -> Floats:
    """Correlation of the Gaussian quantiles of the ranks."""
    n = len(S)
    return correlation(ndtri((rankdata(S, axis=0) - 1 / 3) / (n + 1 / 3)))


def sign_covariance(S: Floats) -> Floats:
    """Spatial sign covariance: of rows of length one."""
    U = unit_rows(S)[0]
    return U.T @ U


def covariance_of_shortest_half(S: Floats) -> Floats:
    """Covariance of the shorter half of the rows, the first step of BACON."""
    length = row_lengths(S)
    # All rows as short as the last one of the half, so that the order of rows does not matter.
    short = S[length <= np.partition(length, (len(S) - 1) // 2)[(len(S) - 1) // 2]]
    C = short - np.mean(short, axis=0)
    return C.T @ C


def pairwise_covariance(S: Floats) -> Floats:
    """Covariances (scale(x + y)^2 - scale(x - y)^2) / 4 of all pairs of columns: raw OGK."""
    q = S.shape[1]
    U = np.eye(q)
    for i in range(1, q):
        x, y = S[:, [i]], S[:, :i]
        U[i, :i] = U[:i, i] = (tau_scale(x + y) ** 2 - tau_scale(x - y) ** 2) / 4
    return U


SCATTERS: tuple[Callable[[Floats], Floats], ...] = (
    tanh_correlation,
    rank_correlation,
    normal_score_correlation,
    sign_covariance,
    covariance_of_shortest_half,
    pairwise_covariance,
)


# ---- parts --------------------------------------------------------------------------------------


def correlation(Y: Floats) -> Floats:
    """Correlation matrix (q, q) of the columns of Y (n, q); a constant one has none, not even 1."""
    C = Y - np.mean(Y, axis=0)
    length = np.linalg.norm(C, axis=0)
    C /= np.where(length > 0, length, 1.0)
    R: Floats = C.T @ C
    return R


def tau_scale(P: Floats, rounding: float = 0.0) -> Floats:
    """Robust scale of each column of P (n, m), (m,), up to a factor that is the same for all.

    Root mean square of the distances from a weighted mean, each one bounded at three times the
    median absolute deviation (Maronna and Zamar 2002, section 4). Where more than half of the
    numbers are equal, but for `rounding`, the mean absolute deviation takes its place; of equal
    numbers the scale is one.
    """
    away = P - np.median(P, axis=0)
    size = np.abs(away)
    mad = np.median(size, axis=0)
    there = mad > rounding
    unit = np.where(there, mad, 1.0)
    w = np.maximum(1.0 - (size / (NO_WEIGHT * unit)) ** 2, 0.0) ** 2
    shift = np.sum(w * away, axis=0) / np.maximum(np.sum(w, axis=0), 1.0)
    square = np.mean(np.minimum(((away - shift) / unit) ** 2, BOUND**2), axis=0)
    scale = np.where(there, unit * np.sqrt(square), np.mean(size, axis=0))
    return np.where(scale > 0, scale, 1.0)
