"""Medcouple: a skewness that fewer than a quarter of the numbers cannot carry away."""

from __future__ import annotations

import numpy as np

from torpca._sources.base import Floats

# Halvings of [-1, 1] after which what is left between the ends is rounding.
MAX_HALVINGS = 60


def medcouple(x: Floats) -> float:
    """Median of (a - b) / (a + b) over numbers a above and b below the median of x (n,).

    a and b are distances from the median. Numbers equal to it are on both sides; pairs among z
    such numbers are -1 and 1 equally often, and z times zero. Between two middle pairs it is their
    mean, so that medcouple(-x) = -medcouple(x).

    O(n log n) time and O(n) memory: the n^2 / 4 pairs are counted, and few of them formed.

    References
    ----------
    Brys, Hubert, Struyf: A robust measure of skewness, Journal of Computational and Graphical
    Statistics 13 (2004). The kernel is theirs, the search for its median is not.
    """
    away = np.sort(x - np.median(x))
    away /= max(-away[0], away[-1]) or 1.0  # else products below may overflow
    a, b = away[away > 0], -away[away < 0][::-1]
    z = len(away) - len(a) - len(b)
    n_pairs = (len(a) + z) * (len(b) + z)
    # In order: pairs that are -1, negative ones, zeros, positive ones, pairs that are 1.
    ends = np.cumsum(
        [
            z * len(b) + z * (z - 1) // 2,
            np.sum(len(b) - np.searchsorted(b, a, side="right")),
            z,
        ]
    )

    def of_rank(k: int) -> float:
        if k < ends[0]:
            return -1.0
        if k < ends[1]:
            return kernel_of_rank(a, b, k - int(ends[0]))
        if k < ends[2]:
            return 0.0
        inside = k - int(ends[0]) - z
        return kernel_of_rank(a, b, inside) if inside < len(a) * len(b) else 1.0

    return (of_rank((n_pairs - 1) // 2) + of_rank(n_pairs // 2)) / 2


def kernel_of_rank(a: Floats, b: Floats, k: int) -> float:
    """The (a_i - b_j) / (a_i + b_j) with `k` smaller ones, for positive numbers, both sorted.

    It is at most t if b_j >= a_i (1 - t) / (1 + t). So one sorted search counts how many are, and
    t is halved in until no more pairs than numbers are left, among which the one is picked.
    """
    low, high = -1.0, 1.0
    # Of a_i, the pairs above `low` and up to `high` are those with b from `first` on, before `end`.
    first, end = np.zeros(len(a), dtype=np.intp), np.full(len(a), len(b))
    for _ in range(MAX_HALVINGS):
        if np.sum(end - first) <= len(a) + len(b):
            break
        t = (low + high) / 2
        place = np.searchsorted(b, a * ((1 - t) / (1 + t)))
        if np.sum(len(b) - place) > k:
            high, first = t, place
        else:
            low, end = t, place
    else:
        return high  # many pairs are equal
    count = end - first
    i = np.repeat(np.arange(len(a)), count)
    j = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count) + first[i]
    left = (a[i] - b[j]) / (a[i] + b[j])
    rank = k - int(np.sum(len(b) - end))
    return float(np.partition(left, rank)[rank])
