"""Spherical PCA."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.result import RobustSubspace
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._location import about_median
from torpca.rivals._span import leading, row_space, unit_rows


def spherical_pca(X: Any, rank: int, *, center: bool = True) -> RobustSubspace:
    """Principal directions of the rows after scaling them to length one.

    Top eigenvectors of sum_i u_i u_i' with u_i = (x_i - m)/||x_i - m||, where m is the spatial
    median of the rows. For elliptical rows these are the principal directions. Rows of any length
    count equally, so a share f of bad rows tilts them by an angle of the order of f.

    Cost: one PCA. Prefer it as a start, or if rows differ only in length.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.

    Returns
    -------
    RobustSubspace
        No row is dropped. There are fewer directions than `rank` if the rows span fewer.

    References
    ----------
    Locantore, Marron, Simpson, Tripoli, Zhang, Cohen: Robust principal component analysis for
    functional data, Test 8 (1999).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import spherical_pca
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.05, outliers="line", random_state=0)
    >>> subspace_error(spherical_pca(X, 2).components.T, V) < 0.2
    True
    """
    table = checked_table(X, rank)
    C, mean = about_median(table.X, center)
    U, _ = unit_rows(C, mean)
    # Rows of one length have no use for more digits than a Gram matrix has.
    short = U.shape[1] <= len(U)
    V = leading(U.T @ U, table.rank) if short else row_space(U)[:, : table.rank]
    run = Progress(table)
    run.note(V, float(np.linalg.norm(U - (U @ V) @ V.T)))
    return hand_back(table, V, mean=mean, history=run.history)
