"""Subspace-constrained Tyler's estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torpca._core.problem import check_count, check_real
from torpca._core.result import RobustSubspace
from torpca._sources.base import Floats
from torpca.rivals._door import Progress, checked_table, hand_back
from torpca.rivals._scatter import ADVICE, LEAST, Rule, Scatter, eigenpairs, identity, settle
from torpca.rivals._span import Spanned, residuals, rows_in_span
from torpca.rivals._tyler import mixing, usual_shrinkage

# The authors' gamma for subspaces of few dimensions, and those they choose from for hyperplanes.
GAMMA = 1 / 3
GAMMAS = (1 / 2, 1 / 4, 1 / 6, 1 / 7, 1 / 8, 1 / 9, 1 / 10)
# Nearer than this a unit row is in the subspace: which of two such rows is nearer is rounding.
NEAR = 1e-12


def ste(
    X: Any,
    rank: int,
    *,
    start: str = "identity",
    gamma: float | Sequence[float] | None = None,
    center: bool = False,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> RobustSubspace:
    """Tyler's scatter matrix, made isotropic and small outside a subspace in every iteration.

    Repeats S <- sum_i x_i x_i' / (x_i' S^-1 x_i), then replaces the d - rank smallest eigenvalues
    of S by `gamma` times their mean, and returns the top eigenvectors. Because S is isotropic
    outside the subspace, rows are weighted by their distance from it, as in `fms`. Because it is
    small there, this happens sooner.

    Its reach depends on the ratio (n1/rank) / (n0/(d - rank)) for n1 rows in the subspace and n0
    beyond it. Without noise and with bad rows in all directions, Tyler's estimator finds the
    subspace if the ratio is more than 1, and STE, from either start, if it is more than gamma. If
    bad rows are long in some directions, the theorem requires a start near the subspace. The
    identity is not one: these directions win although the ratio is more than 1. Tyler's estimator
    is one if it is close to the truth itself, and with noise the result is then better than
    Tyler's. But a line or a cluster with more than a share 1/d of the rows defeats Tyler's
    estimator and, with noise, everything that starts from it. From the identity, they win only with
    more rows than one direction of the good rows has.

    Cost: n m^2 + m^3 per iteration, where m is the number of dimensions the rows span; tens of
    iterations for each gamma, and for Tyler's estimator if it is the start. From the identity,
    prefer it to `tyler` if some bad rows may form a line or a cluster. From Tyler's estimator,
    prefer it if bad rows may be long in some directions. If you do not know, compare both.

    Parameters
    ----------
    X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
        One sample per row.
    rank : int
        Dimension of the subspace.
    start : {"identity", "tyler"}
        First scatter matrix: the identity, or Tyler's.
    gamma : float in (0, 1], or several, optional
        Factor on the eigenvalues beyond the subspace. Smaller values find the subspace among more
        bad rows, but settle on a wrong one more easily. One of several is chosen as follows:
        compute the distances of the rows, scaled to length one, from each subspace, and take the
        subspace with the most rows nearer than the median of all these distances, or the first of
        equals. This needs half of the rows to be good. By default 1/3 if half of the rows are
        enough for it, that is, if d - rank >= rank/3; otherwise one of 1/2, 1/4, 1/6, 1/7, 1/8, 1/9
        and 1/10.
    center : bool
        Whether to measure rows from their spatial median instead of from zero.
    max_iter : int
        Largest number of iterations, for each gamma and for Tyler's estimator.
    tol : float
        The loop ends when the subspace turns by an angle whose sine is smaller than this, and the
        scatter matrix changes by less than this share of its norm.

    Returns
    -------
    RobustSubspace
        No row is dropped. Iterations are those with the gamma in `parameters`. The objectives of
        its history are Tyler's, mean_i log(x_i' S^-1 x_i) + log(det S)/m for rows of length one.
        They need not fall.

    Notes
    -----
    Departures from the paper. Eigenvalues are kept above 1e-15 of the largest, so that distances
    are finite. The authors' code adds 1e-10 or 1e-15 times the identity instead. Rows nearer than
    1e-12 count as equally near when gamma is chosen, because otherwise rounding would choose. The
    authors use gamma = 1/3 for a subspace of rank 6 in many dimensions and choose among seven
    values for hyperplanes, but give no rule. The rule above is ours: on the 15 cells of
    `benchmarks.recovery`, 1/3 and the chosen gamma are at the oracle in the same 10.

    The authors' code starts from the identity, and their theorem from Tyler's estimator. On the
    same cells the identity is at the oracle in 10 and Tyler's start in 7. Without noise they are
    exact in 10 and 11. So the identity is the default.

    References
    ----------
    Yu, Zhang, Lerman: A subspace-constrained Tyler's estimator and its applications to structure
    from motion, CVPR (2024). Their code, https://github.com/alexfengg/STE, has gamma = 1/3 in
    CamRemoval_SfM/run_all.m, the choice in FundMatrix/functions/STE_selec_lam.m, and the seven in
    FundMatrix/functions/STE_FundMat.m.
    Lerman, Zhang: Theoretical guarantees for the subspace-constrained Tyler's estimator,
    arXiv:2403.18658 (2024).

    Examples
    --------
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.metrics import subspace_error
    >>> from torpca.rivals import ste
    >>> X, V, bad, mu = make_outlier_subspace(500, 20, 2, 0.8, random_state=0)
    >>> subspace_error(ste(X, 2).components.T, V) < 1e-9
    True
    """
    table = checked_table(X, rank)
    d = table.X.shape[1]
    check_start(start)
    gammas = usual_gammas(d, table.rank) if gamma is None else check_gammas(gamma)
    tol, max_iter = check_real("tol", tol, 0.0), check_count("max_iter", max_iter)
    rows = rows_in_span(table.X, center)
    m = rows.Y.shape[1]

    first = identity(m)
    if start == "tyler":
        rule, run = mixing(usual_shrinkage(rows.Y)), Progress(table)
        first = settle(rows, rule, first, run, max_iter=max_iter, tol=tol)
    runs = [Progress(table) for _ in gammas]
    tried = [
        settle(rows, constraint(table.rank, d - m, g), first, run, max_iter=max_iter, tol=tol)
        for g, run in zip(gammas, runs, strict=True)
    ]
    chosen = nearest_to_most(rows, tried, table.rank)
    return hand_back(
        table,
        rows.Q @ tried[chosen].E[:, : table.rank],
        mean=rows.mean,
        history=runs[chosen].history,
        converged=tried[chosen].settled,
        advice=ADVICE,
        parameters={"gamma": gammas[chosen]},
    )


def constraint(rank: int, beyond: int, gamma: float) -> Rule:
    """Rule that makes the sum round and small beyond its first `rank` directions."""

    def constrained(S: Floats) -> tuple[Floats, Floats, Floats]:
        lam, E = eigenpairs(S)
        lam = constrain(lam, rank, beyond, gamma)
        return (E * lam) @ E.T, lam, E

    return constrained


def constrain(lam: Floats, rank: int, beyond: int, gamma: float) -> Floats:
    """Eigenvalues, largest first, with those after the first `rank` made equal and small; sum 1.

    All of them count in the mean, also those `beyond` the dimensions the rows span, which are zero.
    """
    small = gamma * np.sum(lam[rank:]) / max(len(lam) - rank + beyond, 1)
    small = max(small, LEAST * np.max(lam, initial=0.0))
    lam = np.append(lam[:rank], np.full(len(lam[rank:]), small))
    return lam / np.sum(lam)


def nearest_to_most(rows: Spanned, tried: Sequence[Scatter], rank: int) -> int:
    """Which subspace has the most rows nearer than the median of all distances from all of them."""
    if len(tried) == 1 or not len(rows.Y):
        return 0
    away = np.array([residuals(rows.Y, one.E[:, :rank])[2] for one in tried])
    return int(np.argmax(np.sum(away <= max(float(np.median(away)), NEAR), axis=1)))


def usual_gammas(d: int, rank: int) -> tuple[float, ...]:
    """Values of gamma for a subspace of d dimensions: one, or several to choose from.

    With half of the rows in the subspace, (n1/rank) / (n0/(d - rank)) is (d - rank)/rank.
    """
    return (GAMMA,) if d - rank >= GAMMA * rank else GAMMAS


def check_gammas(gamma: Any) -> tuple[float, ...]:
    """Check that every `gamma` leaves something beyond the subspace, and no more than there is."""
    several = tuple(gamma) if np.ndim(gamma) else (gamma,)
    if not several:
        raise ValueError("gamma is an empty sequence. Give one number or several, or leave it out.")
    factors = tuple(check_real("gamma", one) for one in several)
    for factor in factors:
        if not 0 < factor <= 1:
            raise ValueError(
                f"gamma={factor:g} must be more than 0 and at most 1: it multiplies the "
                "eigenvalues beyond the subspace. Leave gamma out for its default."
            )
    return factors


def check_start(start: Any) -> None:
    """Check that `start` names a scatter matrix to start from."""
    if not isinstance(start, str) or start not in ("identity", "tyler"):
        raise ValueError(
            f"start={start!r} must be 'identity' or 'tyler': it is the first scatter matrix. "
            "Leave start out for the identity."
        )
