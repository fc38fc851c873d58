"""Geodesic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._core.subspace import subspace_change
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._span import residuals, rows_in_span, top_directions

# Nearer than this share of the middle row length a row is in the subspace, and has no say in where
# to go.
NEAR = 1e-12
# Steps of one length are made this many at a time. Then they are halved if they led less than this
# share of the way they went: they go to and fro about a minimum.
STAGE, STRAIGHT = 10, 0.5


def ggd(
    X: Any,
    rank: int,
    *,
    step: float = 1.0,
    spherise: bool = True,
    center: bool = False,
    max_iter: int = 2000,
    tol: float = 1e-10,
) -> RobustSubspace:
    """Subspace with the least sum of distances to the rows, by descent along geodesics.

    Minimises sum_i ||x_i - VV'x_i|| over orthonormal V (d, rank), from PCA. With the gradient
    G = -sum_i (I - VV') x_i x_i'V / ||x_i - VV'x_i||, over rows that are not in the subspace, and
    the SVD -G = U diag(s) W', a step t leads to V(t) = VW cos(ts) + U sin(ts), along a geodesic of
    the Grassmannian. Steps have a constant length for a while, which is then halved. The sum has
    other local minima, but none near the subspace of the good rows if these permeate it and bad
    rows are not aligned. If bad rows lie in all directions, PCA starts near it, and the subspace is
    found exactly, for any share of bad rows if there are enough rows. `fms` and `dpcp` minimise the
    same sum.

    Cost: n d rank per iteration, after one SVD of the rows; hundreds of iterations. Prefer it to
    `fms` if d is large and rank small. Lines and clusters that attract PCA win.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    step : float
        Length t of the first steps, for the mean of the distances instead of their sum, and for
        rows of median length one.
    spherise : bool
        Whether to scale rows to length one first, so that long bad rows do not count more. The
        paper takes them as they are.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int
        Largest number of iterations.
    tol : float
        The loop ends when a step turns the subspace by an angle whose sine is smaller than this.

    Returns
    -------
    RobustSubspace
        No row is dropped. The objectives of its history are mean distances, in units of the median
        row length. They may rise while steps are long.

    Notes
    -----
    The paper proves linear convergence for steps that are constant for a while and then shorter.
    How long depends on the rows. Here ten steps are made at a time, and the length is halved if
    they led less than half as far as their total length. This rule and the default of `step` are
    ours.

    References
    ----------
    Maunu, Zhang, Lerman: A well-tempered landscape for non-convex robust subspace recovery, Journal
    of Machine Learning Research 20 (2019).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import ggd
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.4, random_state=0)
    >>> subspace_error(ggd(X, 2).components.T, V) < 1e-9
    True
    """
    table = checked_table(X, rank)
    step, tol = check_step(step), check_real("tol", tol, 0.0)
    max_iter = check_count("max_iter", max_iter)
    rows = rows_in_span(table.X, center, spherise)
    unit = float(np.median(rows.length)) if not spherise and len(rows.Y) else 1.0
    Y, Q = rows.Y / unit, rows.Q

    run, converged, first = Progress(table), False, step
    V = top_directions(Y, table.rank)
    value, G = mean_distance(Y, V)
    run.note(Q @ V, value)
    began, way = V, 0.0
    for i in range(max_iter):
        V = along_geodesic(V, -G, step)
        value, G = mean_distance(Y, V)
        turned = run.note(Q @ V, value)
        if turned <= tol:
            converged = True
            break
        way += turned
        if i % STAGE == STAGE - 1:
            if subspace_change(began, V) < STRAIGHT * way:
                step /= 2
            began, way = V, 0.0
    return hand_back(
        table,
        Q @ V,
        mean=rows.mean,
        history=run.history,
        n_iter=len(run.history) - 1,
        converged=converged,
        parameters={"step": first},
    )


def along_geodesic(V: Floats, H: Floats, t: float) -> Floats:
    """Where the geodesic from span(V), V (m, k), along the tangent H (m, k) is after t."""
    U, s, Wt = np.linalg.svd(H, full_matrices=False)
    W = Wt.T
    # Rounding adds up over thousands of steps; QR takes it away and leaves the span.
    return np.linalg.qr((V @ W) * np.cos(t * s) + U * np.sin(t * s))[0]


def mean_distance(Y: Floats, V: Floats) -> tuple[float, Floats]:
    """Mean distance of the rows of Y (n, m) from span(V), and its gradient (m, k)."""
    C, R, away = residuals(Y, V)
    weights = np.divide(1.0, away, out=np.zeros_like(away), where=away > NEAR)
    n = max(len(Y), 1)
    return float(np.sum(away)) / n, -(R.T @ (C * weights[:, None])) / n


def check_step(step: Any) -> float:
    """Check that steps lead somewhere."""
    length = check_real("step", step, 0.0)
    if length == 0:
        raise ValueError(
            f"step={length:g} must be more than 0: it is the length of the first steps. Leave step "
            "out for 1."
        )
    return length
