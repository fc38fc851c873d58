"""Where most of the numbers on a line are, and how far they spread, whatever the others do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import chi2, norm

from torpca._sources.base import Floats

# Numbers this many median deviations from the median cannot be in the tightest half; cutting
# them there keeps running sums of squares from drowning in them.
CLIP = 200.0
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
    q = P.shape[1]
    if q == 0:
        return Lines(np.zeros(0), np.zeros(0), np.zeros(0))
    order = np.argsort(P, axis=0, kind="stable")
    S, W = np.take_along_axis(P, order, axis=0), weights[order]
    mass = np.vstack([np.zeros((1, q)), np.cumsum(W, axis=0)])
    total = mass[-1, 0]
    middle = np.array([S[_reach(mass[:, j], 0.5 * total) - 1, j] for j in range(q)])
    deviation = np.array(
        [weighted_quantile(np.abs(S[:, j] - middle[j]), W[:, j], 0.5) for j in range(q)]
    )
    C = np.clip(S - middle, -CLIP * deviation, CLIP * deviation)
    first = np.vstack([np.zeros((1, q)), np.cumsum(W * C, axis=0)])
    second = np.vstack([np.zeros((1, q)), np.cumsum(W * C * C, axis=0)])

    location, inner, side = np.empty(q), np.empty(q), np.empty(q)
    # A hair over one half, so that rounding in the sums cannot let half of them pass.
    majority = 0.5 * total * (1 + 1e-9)
    for j in range(q):
        # Windows begin and end between different numbers: a number of weight two and the same
        # number twice are the same.
        ends = np.flatnonzero(np.append(S[1:, j] != S[:-1, j], True)) + 1
        start = np.append(0, ends[:-1])
        at = np.searchsorted(mass[ends, j], mass[start, j] + majority, side="left")
        reached = at < len(ends)
        reached[0] = True  # all of them, should rounding say that they are not half
        start, stop = start[reached], ends[np.minimum(at, len(ends) - 1)[reached]]
        w, t, tt = (sums[stop, j] - sums[start, j] for sums in (mass, first, second))
        variance = tt / w - (t / w) ** 2
        best = int(np.argmin(variance))
        location[j] = middle[j] + t[best] / w[best]
        share = min(w[best] / total, 1.0)
        inner[j] = np.sqrt(max(variance[best], 0.0) * window_consistency(share))
        side[j] = _tighter_side(S[:, j], mass[:, j], location[j])
    return Lines(location, inner, side)


@lru_cache(maxsize=4096)
def window_consistency(share: float) -> float:
    """Variance of Gaussian numbers over that of their central `share`."""
    if share >= 1.0:
        return 1.0
    return share / float(chi2.cdf(chi2.ppf(share, 1), 3))


def _tighter_side(values: Floats, mass: Floats, location: float) -> float:
    """Smaller of the spreads of sorted `values` to the left and to the right of `location`."""
    split = int(np.searchsorted(values, location, side="left"))
    spreads = []
    if mass[split] > 0:  # the farthest 1 - SIDE_SHARE of the left side come first
        at = _reach(mass, (1 - SIDE_SHARE) * mass[split])
        spreads.append(location - values[at - 1])
    if mass[-1] > mass[split]:
        at = _reach(mass, mass[split] + SIDE_SHARE * (mass[-1] - mass[split]))
        spreads.append(values[at - 1] - location)
    return float(min(spreads)) / SIDE_QUANTILE


def _reach(mass: Floats, target: float) -> int:
    """Smallest count of leading values whose cumulative `mass` reaches `target`, at least one."""
    # Less a hair: cumulative sums of the same weights in another order differ by rounding.
    at = int(np.searchsorted(mass, target * (1 - 1e-12), side="left"))
    return min(max(at, 1), len(mass) - 1)


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Smallest value below or at which at least `share` of the weight lies."""
    order = np.argsort(values, kind="stable")
    mass = np.concatenate([[0.0], np.cumsum(weights[order])])
    return float(values[order[_reach(mass, share * mass[-1]) - 1]])


# ---- distances ---------------------------------------------------------------------------------

# Beyond FULL standard deviations a row loses weight, beyond NONE it has none: of Gaussian rows
# one in 160 loses any, so that clean data costs no accuracy, and because the
# weights are smooth the fit does not depend on where it was started.
FULL, NONE = 2.5, 4.0
# The same for the location and scale that the standard deviations are counted in.
INNER_FULL, INNER_NONE = 2.0, 3.0
MAX_REWEIGHTINGS = 50


def taper(z: Floats, full: float = FULL, none: float = NONE) -> Floats:
    """1 up to `full`, 0 from `none` on, smooth in between."""
    t = np.clip((z - full) / (none - full), 0.0, 1.0)
    return (1 - t) ** 2 * (1 + 2 * t)


@dataclass(frozen=True)
class Spread:
    """How distances spread: their cubed roots of squares are about Gaussian (Wilson-Hilferty)."""

    location: float
    scale: float
    """Zero when more than half of the distances are equal, most often zero: an exact fit."""
    unit: float
    """Distances are measured in this unit."""

    @classmethod
    def of(cls, distances: Floats, weights: Floats) -> Spread:
        """Spread of most of the `distances` (n,), non-negative, weighted by `weights` (n,)."""
        counts = weights > 0
        r, w = distances[counts], weights[counts]
        unit = weighted_quantile(r, w, 0.5)
        if unit == 0.0:
            return cls(0.0, 0.0, 1.0)
        y = _roots(r, unit)
        line = describe_lines(y[:, None], w)
        location, scale = float(line.location[0]), float(line.inner[0])
        if scale <= EQUAL * location:
            return cls(location, 0.0, unit)
        return cls(*reweighted(y, w, location, scale), unit)

    def z(self, distances: Floats) -> Floats:
        """Distances in standard deviations from their location; infinite off an exact fit."""
        y = _roots(distances, self.unit)
        if self.scale == 0.0:
            return np.where(y <= self.location * (1 + 1e-6), 0.0, np.inf)
        return (y - self.location) / self.scale


def _roots(distances: Floats, unit: float) -> Floats:
    with np.errstate(over="ignore"):
        roots: Floats = np.cbrt(np.square(np.minimum(distances / unit, 1e100)))
    return roots


def reweighted(y: Floats, w: Floats, location: float, scale: float) -> tuple[float, float]:
    """Location and scale of the numbers within a few standard deviations, until they settle.

    The tightest half is a fine start and a poor answer: with 45 % of bad rows it is nearly all
    of the good ones, and its standard deviation is multiplied as if it were half of them.
    """
    tightest = location, scale
    consistency = _taper_consistency()
    for _ in range(MAX_REWEIGHTINGS):
        u = w * taper(np.abs(y - location) / scale, INNER_FULL, INNER_NONE)
        total = np.sum(u)
        if not total > 0:  # no number is near the location: there is nothing to settle
            return tightest
        now = float(np.sum(u * y) / total)
        spread = float(np.sqrt(consistency * np.sum(u * np.square(y - now)) / total))
        # Shrinking onto a heap of equal numbers is no answer.
        if not spread > 0.01 * tightest[1]:
            return tightest
        moved = abs(now - location) + abs(spread - scale)
        location, scale = now, spread
        if moved <= 1e-13 * (abs(location) + scale):
            break
    return location, scale


@lru_cache(maxsize=1)
def _taper_consistency() -> float:
    """Variance of Gaussian numbers over their variance under the inner taper."""
    z = np.linspace(-8.0, 8.0, 4001)
    u = norm.pdf(z) * taper(np.abs(z), INNER_FULL, INNER_NONE)
    return float(np.sum(u) / np.sum(u * z * z))
