"""Where most of the numbers on a line are, and how far they spread, whatever the others do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import chi2

from torpca._robust.tuning import EQUAL, SETTLED, Tuning, tuning
from torpca._sources.base import Array, Floats


@dataclass(frozen=True)
class Lines:
    """Location and scale of each column of numbers, (q,) each."""

    location: Floats
    """Mean of the shortest interval that holds more than half of the weight."""
    inner: Floats
    """Standard deviation of that interval, consistent for Gaussian numbers."""
    side: Floats
    """Spread of the tighter of the two sides about the location.

    Half of the rows on one point amid the others shrink `inner` to nothing and leave this; half of
    them far out on one side do not stretch it.
    """


def describe_lines(P: Floats, weights: Floats) -> Lines:
    """Robust location and scale of each column of P (m, q), rows weighted by `weights` (m,).

    From the mean and variance of the numbers in the shortest interval [a, b] of more than half of
    the weight: the shorth (Andrews et al. 1972). The interval is closed, so a number of weight two
    and the same number twice are the same.
    """
    S, w = np.ascontiguousarray(P.T), weights[None]
    if S.size == 0:
        return Lines(*np.zeros((3, len(S))))
    if weights.min() == weights.max():
        S = np.sort(S, axis=1)
    else:
        order = np.argsort(S, axis=1, kind="stable")
        S, w = np.take_along_axis(S, order, axis=1), weights[order]
    mass = np.cumsum(w, axis=1)  # (1 or q, m): up to and with each number
    total = float(mass[0, -1])
    lines, goal = np.arange(len(S)), mass - w + 0.5 * total * (1 + EQUAL)
    stops = np.stack([np.searchsorted(*pair) for pair in zip(mass, goal, strict=True)])
    starts = max(1, int(np.max(np.count_nonzero(stops < S.shape[1], axis=1))))
    stops = stops[:, :starts]
    last = np.minimum(stops, S.shape[1] - 1)
    ends = S[:, last[0]] if len(last) == 1 else np.take_along_axis(S, last, axis=1)
    lengths = np.where(stops > last, np.inf, ends - S[:, :starts])
    # The first of those that are as short but for rounding: discrete numbers have many.
    size = np.max(np.abs(S[:, [S.shape[1] // 4, 3 * S.shape[1] // 4]]), axis=1)
    shortest = np.min(lengths, axis=1) * (1 + EQUAL) + EQUAL * size
    start = np.argmax(lengths <= shortest[:, None], axis=1)
    a, b = S[lines, start][:, None], ends[lines, start][:, None]
    u = w * ((a <= S) & (b >= S))
    inside = np.sum(u, axis=1)
    C = np.clip(S, a, b) - a
    mean = np.vecdot(u, C) / inside
    variance = np.vecdot(u, np.square(C - mean[:, None])) / inside
    factor = [window_consistency(min(share, 1.0)) for share in (inside / total).tolist()]
    location = a[:, 0] + mean
    inner = np.sqrt(variance * factor) * small_sample_factor(total)
    return Lines(location, inner, _tighter_side(S, w, mass, location))


def _tighter_side(S: Floats, w: Floats, mass: Floats, location: Floats) -> Floats:
    """Smaller of the spreads of the sorted rows of S left and right of their `location` (q,)."""
    share, total = tuning().side, mass[0, -1]
    before = np.sum(w * (location[:, None] > S), axis=1)
    # Nearest numbers of at least the share of either side: the same if all signs change.
    goals = (1 - share) * before * (1 + EQUAL), (before + share * (total - before)) * (1 - EQUAL)
    left, right = (
        np.count_nonzero(below, axis=1)
        for below in (mass <= goals[0][:, None], mass < goals[1][:, None])
    )
    ends = np.minimum(np.stack((left, right), axis=1), S.shape[1] - 1)
    away = np.abs(np.take_along_axis(S, ends, axis=1) - location[:, None])
    tighter: Floats = np.min(away, axis=1) / ndtri((1 + share) / 2)
    return tighter


@lru_cache(maxsize=4096)
def window_consistency(share: float) -> float:
    """Variance of Gaussian numbers over that of their central `share`."""
    return share / float(chi2.cdf(chi2.ppf(share, 1), 3))


def small_sample_factor(n: float) -> float:
    """How many times tighter the tightest half of `n` Gaussian numbers is than that of many.

    Found by simulation, as such factors are (Pison, Van Aelst and Willems 2002): within 5 % of the
    mean from eight numbers on.
    """
    return 1.0 + 3.7 / (n + 4.0)


def rows_for_all(weights: Floats, count: int) -> tuple[slice | npt.NDArray[np.intp], Floats]:
    """Numbers of `count` to twice as many rows that stand for all of them, and their weights.

    A systematic sample, in which each row stands for the same weight if there are more.
    """
    m, most = len(weights), float(np.max(weights))
    if np.min(weights) == most or m <= count:
        some = slice(None, None, max(1, m // count))
        return some, weights[some]
    before = np.cumsum(weights)
    n = max(1, int(before[-1] / most))  # no row twice
    n = n // max(1, n // count)
    return np.searchsorted(before, before[-1] * (np.arange(n) + 0.5) / n), np.ones(n)


def weights_of_nearest(R: Floats, weights: Floats, share: float = 0.5) -> Floats:
    """Weights of the rows of smallest R (m,) that make up half, or a `share`, of the weight."""
    order = np.argsort(R, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    out = np.zeros(len(R))
    inside = order[before < share * float(np.sum(weights)) * (1 - EQUAL)]
    out[inside] = weights[inside]
    return out


def rms_of_half(R: Floats, weights: Floats) -> float:
    """Root mean square of the smaller half of R (m,): least trimmed squares (Rousseeuw 1984)."""
    half = weights_of_nearest(R, weights)
    largest = float(np.max(R[half > 0], initial=0.0))
    if largest == 0.0:
        return 0.0
    squares = np.square(np.minimum(R / largest, 1.0))  # in a unit in which none overflows
    return largest * float(np.sqrt(half @ squares / np.sum(half)))


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Smallest value such that those up to it hold at least a `share` of the weight."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(mass, share * mass[-1] * (1 - EQUAL))]])


def taper(z: Array, cut: float, xp: Any = np) -> Array:
    """Weights: 1 up to a share of the cut-off, 0 from the cut-off on, smooth in between.

    Smooth weights let the fit settle, and not on one of many sets of rows.
    """
    if not np.isfinite(cut):
        return xp.ones_like(z)
    full = tuning().taper * cut
    t = xp.clip((z - full) * (1 / (cut - full)), 0.0, 1.0)
    s = 1 - t
    return s * s * (1 + 2 * t)


def located(
    P: Floats, weights: Floats, size: float | Floats, rtol: float = SETTLED
) -> tuple[Floats, Floats]:
    """Location and scale (q,) of most numbers in each column of P (m, q), until they settle.

    The scale is no smaller than that of the tighter side: many rows on one point in the midst of
    the others are no measure of their spread. It is zero where more than half of the numbers are
    equal, but for the rounding of numbers of a `size`, (q,) or one for all.
    """
    lines = describe_lines(P, weights)
    spread = lines.inner > EQUAL * size
    location, scale = lines.location, np.where(spread, lines.side, 0.0)
    if spread.any():
        Y = np.ascontiguousarray(P.T[spread])
        start = lines.location[spread], lines.inner[spread]
        location[spread], found = reweighted(Y, weights, *start, rtol)
        scale[spread] = np.maximum(found, scale[spread])
    return location, scale


def reweighted(
    Y: Floats, w: Floats, location: Floats, scale: Floats, rtol: float = SETTLED
) -> tuple[Floats, Floats]:
    """Location and scale of the numbers within a few standard deviations, until they settle.

    Of lines Y (q, m) with weights w (m,), from a start (q,), until they move by no more than a
    share `rtol`. The tightest half is a fine start and a poor answer: with 45 % of bad rows it
    is nearly all of the good ones, and its standard deviation is multiplied as if it were half.
    """
    tightest = location, scale
    for _ in range(tuning().rounds):
        once = _improved(Y, w, location, scale)
        twice = _improved(Y, w, *once)
        moved = np.abs(twice[0] - once[0]) + np.abs(twice[1] - once[1])
        # Not ">": what is not a number will not settle.
        if not np.any(moved > rtol * (np.abs(twice[0]) + twice[1])):
            location, scale = twice
            break
        location = _limit_of(location, once[0], twice[0])
        scale = np.maximum(_limit_of(scale, once[1], twice[1]), 0.5 * twice[1])
    # Shrinking onto many equal numbers is no answer.
    lost = ~(scale > 0.01 * tightest[1])
    return np.where(lost, tightest[0], location), np.where(lost, tightest[1], scale)


def _improved(Y: Floats, w: Floats, location: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Location and scale of the numbers weighed by where they are; none if there are none."""
    C = Y - location[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        u = w * taper(np.abs(C) * (1 / scale)[:, None], tuning().within)
        total = np.sum(u, axis=1)
        shift = np.vecdot(u, C) / total
        square = np.vecdot(u * C, C) / total - shift * shift
    return location + shift, np.sqrt(_within_consistency(tuning()) * np.maximum(square, 0.0))


def _limit_of(a: Floats, b: Floats, c: Floats) -> Floats:
    """Where a, b, c, ... goes if its steps shrink by a constant factor (Aitken); c if not."""
    first, second = b - a, c - b
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = c + second * second / (first - second)
    return np.where(np.abs(second) < 0.9 * np.abs(first), limit, c)


def gaussian_factor(k: int, weigh: Callable[[Floats], Floats]) -> float:
    """How many times more Gaussian rows in k dimensions vary than the weights leave them.

    k sum(w) / sum(w r^2) over the quantiles r of their lengths, and w = weigh(r).
    """
    squares = chi2.ppf((np.arange(4000) + 0.5) / 4000, k)
    w = weigh(np.sqrt(squares))
    return float(k * np.sum(w) / np.sum(w * squares))


@lru_cache
def _within_consistency(t: Tuning) -> float:
    return gaussian_factor(1, lambda r: taper(r, t.within))
