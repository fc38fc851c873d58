"""Where most of the numbers on a line are, and how far they spread, whatever the others do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, norm

from torpca._sources.base import Array, Floats

_Places = npt.NDArray[np.intp]

# Numbers this many lengths of the shortest half away from it cannot be in the tightest half;
# cutting them there keeps running sums of squares from drowning in them.
CLIP = 100.0
# Share of each side on which the spread of that side is read.
SIDE_SHARE = 0.8
SIDE_QUANTILE = float(norm.ppf((1 + SIDE_SHARE) / 2))
# A spread below this share of the numbers' size is rounding: more than half of them are equal.
EQUAL = 1e-10


@dataclass(frozen=True)
class Lines:
    """Location and scale of each column of numbers, (q,) each."""

    location: Floats
    """Mean of the tightest window that holds more than half of the weight."""
    inner: Floats
    """Standard deviation of that window, consistent for Gaussian numbers: univariate MCD."""
    side: Floats
    """Spread of the tighter of the two sides about the location.

    Half of the rows on one point, in the midst of the others, shrink `inner` to nothing; half of
    them far out on one side do not stretch this one.
    """


def describe_lines(P: Floats, weights: Floats) -> Lines:
    """Robust location and scale of each column of P (m, q), rows weighted by `weights` (m,)."""
    if P.shape[1] == 0:
        return Lines(np.zeros(0), np.zeros(0), np.zeros(0))
    S, mass = _sorted_lines(P, weights)
    total = float(mass[0, -1])
    start, stop = _windows(S, mass, 0.5 * total)
    # Sums are taken about a number of the shortest window: there cancellation does no harm.
    length = np.where(stop > start, _at(S, stop - 1) - _at(S, start), np.inf)
    shortest = np.argmin(length, axis=1)[:, None]
    reach = CLIP * np.take_along_axis(length, shortest, axis=1)
    origin = np.take_along_axis(
        S, np.take_along_axis(np.broadcast_to(start, length.shape), shortest, axis=1), axis=1
    )
    C = S - origin
    if np.any(-C[:, :1] > reach) or np.any(C[:, -1:] > reach):
        C = np.minimum(np.maximum(C, -reach), reach)
    W = np.diff(mass, axis=1)
    first = _running(W * C)
    second = _running(W * np.square(C))

    w, t, tt = (_at(sums, stop) - _at(sums, start) for sums in (mass, first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = tt / w - np.square(t / w)
    variance[np.broadcast_to(w <= 0, variance.shape)] = np.inf  # empty windows
    best = np.argmin(variance, axis=1)[:, None]
    w, t, least = (
        np.take_along_axis(np.broadcast_to(v, variance.shape), best, axis=1)
        for v in (w, t, variance)
    )
    location = origin + t / w
    factor = [window_consistency(min(float(share), 1.0)) for share in w[:, 0] / total]
    inner = np.sqrt(np.maximum(least[:, 0], 0.0) * factor)
    return Lines(location[:, 0], inner, _tighter_side(S, mass, location))


def _sorted_lines(P: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Columns of P, sorted, as rows (q, m); weight before each number, (1 or q, m + 1).

    If all weights are equal, so is the weight before the i-th number of each line.
    """
    A = np.ascontiguousarray(P.T)
    if weights.min() == weights.max():
        return np.sort(A, axis=1), weights[0] * np.arange(A.shape[1] + 1.0)[None]
    order = np.argsort(A, axis=1, kind="stable")
    return np.take_along_axis(A, order, axis=1), _running(weights[order])


def _running(values: Floats) -> Floats:
    """Sums of the first 0, 1, ... values of each row."""
    out = np.zeros((values.shape[0], values.shape[1] + 1))
    np.cumsum(values, axis=1, out=out[:, 1:])
    return out


def _windows(S: Floats, mass: Floats, half: float) -> tuple[_Places, _Places]:
    """Smallest windows start <= i < stop of more than `half` of the weight, one for each start.

    They begin and end between different numbers, so that a number of weight two and the same
    number twice are the same. Starts from which none reaches far enough have an empty one.
    """
    m = S.shape[1]
    # A hair over one half, so that rounding in the sums cannot let half of them pass.
    wanted = mass[:, :-1] + half * (1 + 1e-9)
    stop = np.stack([np.searchsorted(line, goal) for line, goal in zip(mass, wanted, strict=True)])
    stop[:, 0] = np.minimum(stop[:, 0], m)  # all of them, should rounding say they are not half
    start = np.arange(m)[None]
    possible = int(np.count_nonzero(np.any(stop <= m, axis=0)))
    start, stop = start[:, :possible], stop[:, :possible]
    differs = np.ones((S.shape[0], m + 1), dtype=bool)
    np.not_equal(S[:, 1:], S[:, :-1], out=differs[:, 1:-1])
    if len(mass) == 1 and differs.all():
        return start, stop
    ends = np.where(differs, np.arange(m + 1), m)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    reached = (stop <= m) & differs[:, :possible]
    start = np.broadcast_to(start, reached.shape)
    stop = np.take_along_axis(ends, np.minimum(np.broadcast_to(stop, reached.shape), m), axis=1)
    return start, np.where(reached, stop, start)


def _at(sums: Floats, places: _Places) -> Floats:
    """Entries of each row of `sums` (1 or q, m + 1) at `places` (1 or q, p)."""
    if len(places) == 1:
        if np.all(np.diff(places[0]) == 1):  # as a rule: a view, not a copy
            return sums[:, places[0, 0] : places[0, -1] + 1]
        return sums[:, places[0]]
    if len(sums) == 1:
        return sums[0][places]
    return np.take_along_axis(sums, places, axis=1)


@lru_cache(maxsize=4096)
def window_consistency(share: float) -> float:
    """Variance of Gaussian numbers over that of their central `share`."""
    if share >= 1.0:
        return 1.0
    return share / float(chi2.cdf(chi2.ppf(share, 1), 3))


def _tighter_side(S: Floats, mass: Floats, location: Floats) -> Floats:
    """Smaller of the spreads of the sorted rows of S left and right of their `location` (q, 1)."""
    split = np.count_nonzero(location > S, axis=1)[:, None]
    before, total = _at(mass, split), mass[0, -1]
    # The farthest 1 - SIDE_SHARE of the left side come first.
    left = _reach(mass, (1 - SIDE_SHARE) * before)
    right = _reach(mass, before + SIDE_SHARE * (total - before))
    spreads = (
        np.where(before > 0, location - np.take_along_axis(S, left - 1, axis=1), np.inf),
        np.where(before < total, np.take_along_axis(S, right - 1, axis=1) - location, np.inf),
    )
    tighter: Floats = np.minimum(*spreads)[:, 0] / SIDE_QUANTILE
    return tighter


def _reach(mass: Floats, target: Floats) -> _Places:
    """Smallest count of leading values whose weight reaches `target` (q, 1), at least one."""
    # Less a hair: sums of the same weights in another order differ by rounding.
    target = target * (1 - 1e-12)
    if len(mass) == 1:
        count = np.searchsorted(mass[0], target[:, 0])
    else:
        count = np.array([np.searchsorted(*pair) for pair in zip(mass, target[:, 0], strict=True)])
    return np.clip(count, 1, mass.shape[1] - 1)[:, None]


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Smallest value below or at which at least `share` of the weight lies."""
    S, mass = _sorted_lines(values[:, None], weights)
    return float(S[0, _reach(mass, np.array([[share * mass[0, -1]]]))[0, 0] - 1])


# ---- distances ---------------------------------------------------------------------------------

# Beyond FULL standard deviations a row loses weight, beyond NONE it has none: of Gaussian rows
# one in 160 loses any, so that clean data costs no accuracy, and because the
# weights are smooth the fit does not depend on where it was started.
FULL, NONE = 2.5, 4.0
# If no more rows are beyond FULL than Gaussian noise puts there, there is no reason to doubt them:
# then rows begin to lose weight where hardly one in ten million is, and clean data gives PCA.
CLEAN_FULL, CLEAN_NONE = 5.5, 7.0
TAILS = tuple((cut, float(norm.sf(cut))) for cut in (2.5, 3.0, 3.5, 4.0, 4.5))
# The same for the location and scale that the standard deviations are counted in.
INNER_FULL, INNER_NONE = 2.0, 3.0
MAX_REWEIGHTINGS = 25
# Location and scale have settled when they move by less than this share.
SETTLED = 1e-11


def taper(z: Array, full: float = FULL, none: float = NONE, xp: Any = np) -> Array:
    """1 up to `full`, 0 from `none` on, smooth in between."""
    t = xp.clip((z - full) * (1 / (none - full)), 0.0, 1.0)
    s = 1 - t
    return s * s * (1 + 2 * t)


def looks_clean(z: Floats, weights: Floats, sides: int = 1) -> bool:
    """Whether no more rows are far out than Gaussian noise puts there.

    `z` (n,) are standard deviations from the location, the largest to so many `sides`. A fifth
    more and three standard deviations of their number are allowed for: cubed roots are Gaussian
    only about.
    """
    n = float(np.sum(weights))
    for cut, share in TAILS:
        expected = n * sides * share
        if float(np.sum(weights[z > cut])) > 1.2 * expected + 3 * np.sqrt(expected) + 1:
            return False
    return True


@dataclass(frozen=True)
class Spread:
    """How distances spread: their cubed roots of squares are about Gaussian (Wilson-Hilferty)."""

    location: float
    scale: float
    """Zero when more than half of the distances are equal, most often zero: an exact fit."""
    unit: float
    """Distances are measured in this unit."""

    @classmethod
    def of(
        cls,
        distances: Floats,
        weights: Floats,
        settled: float = SETTLED,
        near: Spread | None = None,
    ) -> Spread:
        """Spread of most of the `distances` (n,), non-negative, weighted by `weights` (n,).

        `near` is that of nearly the same distances: then it is found from there, at less cost.
        """
        counts = weights > 0
        r, w = (distances, weights) if counts.all() else (distances[counts], weights[counts])
        if near is not None and near.scale > 0:
            y = _roots(r, near.unit)
            return cls(*reweighted(y, w, near.location, near.scale, settled), near.unit)
        unit = weighted_quantile(r, w, 0.5)
        if unit == 0.0:
            return cls(0.0, 0.0, 1.0)
        y = _roots(r, unit)
        line = describe_lines(y[:, None], w)
        location, scale = float(line.location[0]), float(line.inner[0])
        if scale <= EQUAL * location:
            return cls(location, 0.0, unit)
        return cls(*reweighted(y, w, location, scale, settled), unit)

    def z(self, distances: Floats) -> Floats:
        """Distances in standard deviations from their location; infinite off an exact fit."""
        y = _roots(distances, self.unit)
        if self.scale == 0.0:
            return np.where(y <= self.location * (1 + 1e-6), 0.0, np.inf)
        return (y - self.location) / self.scale

    def square_at(self, z: float) -> float:
        """Square of the distance that is `z` standard deviations from the location."""
        return max(self.location + z * self.scale, 0.0) ** 3 * self.unit**2

    def z_of_squares(self, squares: Array, xp: Any = np) -> Array:
        """`z` of distances given by their squares, of a fit that is not exact, in any library."""
        y = squares / self.unit**2
        y = np.cbrt(y) if xp is np else y ** (1 / 3)
        return (y - self.location) / self.scale


def _roots(distances: Floats, unit: float) -> Floats:
    with np.errstate(over="ignore"):
        roots: Floats = np.cbrt(np.square(np.minimum(distances / unit, 1e100)))
    return roots


def reweighted(
    y: Floats, w: Floats, location: float, scale: float, settled: float = SETTLED
) -> tuple[float, float]:
    """Location and scale of the numbers within a few standard deviations, until they settle.

    The tightest half is a fine start and a poor answer: with 45 % of bad rows it is nearly all
    of the good ones, and its standard deviation is multiplied as if it were half of them.
    """
    tightest = location, scale
    consistency = _taper_consistency()

    def improved(location: float, scale: float) -> tuple[float, float] | None:
        u = w * taper(np.abs(y - location) * (1 / scale), INNER_FULL, INNER_NONE)
        total = float(np.sum(u))
        if not total > 0:  # no number is near the location: there is nothing to settle
            return None
        now = float(np.sum(u * y)) / total
        spread = float(np.sqrt(consistency * float(np.sum(u * np.square(y - now))) / total))
        # Shrinking onto a heap of equal numbers is no answer.
        return (now, spread) if spread > 0.01 * tightest[1] else None

    for _ in range(MAX_REWEIGHTINGS):
        once = improved(location, scale)
        twice = None if once is None else improved(*once)
        if once is None or twice is None:
            return tightest
        moved = abs(twice[0] - once[0]) + abs(twice[1] - once[1])
        if moved <= settled * (abs(twice[0]) + twice[1]):
            return twice
        location = _limit_of(location, once[0], twice[0])
        scale = max(_limit_of(scale, once[1], twice[1]), 0.5 * twice[1])
    return location, scale


def _limit_of(a: float, b: float, c: float) -> float:
    """Where a, b, c, ... goes if its steps shrink by a constant factor (Aitken); c if not."""
    first, second = b - a, c - b
    if not abs(second) < 0.9 * abs(first):
        return c
    return c + second * second / (first - second)


@lru_cache(maxsize=1)
def _taper_consistency() -> float:
    """Variance of Gaussian numbers over their variance under the inner taper."""
    z = np.linspace(-8.0, 8.0, 4001)
    u = norm.pdf(z) * taper(np.abs(z), INNER_FULL, INNER_NONE)
    return float(np.sum(u) / np.sum(u * z * z))
