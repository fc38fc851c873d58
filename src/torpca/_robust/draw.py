"""Rows that stand for others: some drawn at random, and one for all that are equal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torpca._robust.tuning import tuning
from torpca._sources.base import Floats


def some_rows(weights: Floats, most: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Numbers of the rows of positive weight in their order, `most` of them if there are more.

    They are drawn at random: rows in the order of time may have a period.
    """
    if len(weights) > most and weights.min() > 0:  # no list of all rows, which may be millions
        return np.sort(rng.choice(len(weights), most, replace=False)).astype(np.intp)
    there = np.flatnonzero(weights > 0)
    return np.sort(rng.choice(there, most, replace=False)) if len(there) > most else there


def merged_copies(Y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Different rows of Y (m, k), in lexicographic order, and the sum of the weights of each."""
    if Y.shape[1]:
        order = np.argsort(Y[:, 0], kind="stable")
        first = Y[order, 0]
        # Rows that differ in their first number need no further look, and most data are such.
        if np.all(first[1:] > first[:-1]):
            return Y[order], weights[order]
    S, copies = np.unique(Y, axis=0, return_inverse=True)
    return S, np.bincount(copies.reshape(-1), weights, minlength=len(S)).astype(float)


def capped(counts: Floats) -> Floats:
    """Counts of different rows, (m,), none of them many times the middle one.

    Equal rows lie near any subspace that passes through one of them. They may, but have no vote,
    unless such rows are most of all.
    """
    most = tuning().most_copies * float(np.median(counts))
    if 2 * float(np.sum(counts[counts > most])) >= float(np.sum(counts)):
        return counts
    return np.minimum(counts, most)
