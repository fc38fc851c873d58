"""Where most of the numbers on a line are, and how far they spread, whatever the others do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, norm

from torpca._sources.base import Floats

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
    lines, total = np.arange(len(S)), float(mass[0, -1])
    start, stop = _windows(S, mass, 0.5 * total)
    # The middle number is in every window of more than half of them, or at its end: sums about it
    # cancel nothing there.
    origin = S[lines, _reach(mass, np.full(len(S), 0.5 * total)) - 1][:, None]
    length = _at(S, stop, -1) - _at(S, start)
    empty = None if isinstance(stop, slice) else np.less_equal(stop, start)  # type: ignore[arg-type]
    if empty is not None:
        length[empty] = np.inf
    reach = CLIP * np.min(length, axis=1)[:, None]
    C = S - origin
    if np.any(-C[:, 0] > reach[:, 0]) or np.any(C[:, -1] > reach[:, 0]):
        np.clip(C, -reach, reach, out=C)
    WC = (mass[:, 1:] - mass[:, :-1]) * C
    first = _running(WC)
    second = _running(np.multiply(WC, C, out=WC))

    w, t, tt = (_at(sums, stop) - _at(sums, start) for sums in (mass, first, second))
    if empty is not None:
        w, tt = np.where(empty, 1.0, w), np.where(empty, np.inf, tt)
    t /= w
    variance = tt / w - t * t
    best = np.argmin(variance, axis=1)
    share = w[lines if len(w) > 1 else 0, best] / total
    factor = [window_consistency(min(s, 1.0)) for s in share.tolist()]
    location = origin[:, 0] + t[lines, best]
    inner = np.sqrt(np.maximum(variance[lines, best], 0.0) * factor) * few_numbers(total)
    return Lines(location, inner, _tighter_side(S, mass, location))


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


def _windows(S: Floats, mass: Floats, half: float) -> tuple[slice | _Places, slice | _Places]:
    """Smallest windows start <= i < stop of more than `half` of the weight, one for each start.

    They begin and end between different numbers, so that a number of weight two and the same
    number twice are the same. Starts from which none reaches far enough have an empty one.
    Slices if all numbers are different and weigh the same.
    """
    m = S.shape[1]
    # A hair over one half, so that rounding in the sums cannot let half of them pass.
    half = half * (1 + 1e-9)
    inner = S[:, 1:] != S[:, :-1]
    steps = np.diff(mass[0])
    if len(mass) == 1 and np.max(steps) <= (1 + 1e-9) * np.min(steps) and inner.all():
        width = min(int(np.searchsorted(mass[0], half)), m)
        return slice(0, m - width + 1), slice(width, m + 1)
    wanted = mass[:, :-1] + half
    stop = np.stack([np.searchsorted(line, goal) for line, goal in zip(mass, wanted, strict=True)])
    stop[:, 0] = np.minimum(stop[:, 0], m)  # all of them, should rounding say they are not half
    possible = int(np.count_nonzero(np.any(stop <= m, axis=0)))
    differs = np.ones((S.shape[0], m + 1), dtype=bool)
    differs[:, 1:-1] = inner
    ends = np.where(differs, np.arange(m + 1), m)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    reached = (stop[:, :possible] <= m) & differs[:, :possible]
    start = np.broadcast_to(np.arange(possible), reached.shape)
    stop = np.broadcast_to(np.minimum(stop[:, :possible], m), reached.shape)
    stop = np.take_along_axis(ends, stop, axis=1)
    return start, np.where(reached, stop, start)


def _at(sums: Floats, places: slice | _Places, shift: int = 0) -> Floats:
    """Entries of each row of `sums` (1 or q, m + 1) at `places`, (q, p), plus `shift`."""
    if isinstance(places, slice):
        return sums[:, places.start + shift : places.stop + shift]
    if len(sums) == 1:
        return sums[0][places + shift]
    return np.take_along_axis(sums, places + shift, axis=1)


@lru_cache(maxsize=4096)
def window_consistency(share: float) -> float:
    """Variance of Gaussian numbers over that of their central `share`."""
    if share >= 1.0:
        return 1.0
    return share / float(chi2.cdf(chi2.ppf(share, 1), 3))


def few_numbers(n: float) -> float:
    """How many times tighter the tightest half of `n` Gaussian numbers is than that of many.

    Found by simulation, as such factors are (Pison, Van Aelst and Willems 2002): within 5 % of the
    mean from eight numbers on.
    """
    return 1.0 + 4.0 / (n + 4.0)


def _tighter_side(S: Floats, mass: Floats, location: Floats) -> Floats:
    """Smaller of the spreads of the sorted rows of S left and right of their `location` (q,)."""
    lines, total = np.arange(len(S)), mass[0, -1]
    before = mass[lines if len(mass) > 1 else 0, np.count_nonzero(location[:, None] > S, axis=1)]
    # The farthest 1 - SIDE_SHARE of the left side come first.
    left = _reach(mass, (1 - SIDE_SHARE) * before)
    right = _reach(mass, before + SIDE_SHARE * (total - before))
    spreads = (
        np.where(before > 0, location - S[lines, left - 1], np.inf),
        np.where(before < total, S[lines, right - 1] - location, np.inf),
    )
    tighter: Floats = np.minimum(*spreads) / SIDE_QUANTILE
    return tighter


def _reach(mass: Floats, target: Floats) -> _Places:
    """Smallest count of leading values whose weight reaches `target` (q,), at least one."""
    # Less a hair: sums of the same weights in another order differ by rounding.
    target = target * (1 - 1e-12)
    if len(mass) == 1:
        count = np.searchsorted(mass[0], target)
    else:
        count = np.array([np.searchsorted(*pair) for pair in zip(mass, target, strict=True)])
    return np.minimum(np.maximum(count, 1), mass.shape[1] - 1)


def rows_for_all(weights: Floats, count: int) -> tuple[slice | _Places, Floats]:
    """Numbers of about `count` rows that stand for all of them, and their weights.

    Of many rows each that is taken stands for the same weight: numbers without weights are
    described in a third of the time.
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
    inside = order[before < share * float(np.sum(weights)) * (1 - 1e-9)]
    out[inside] = weights[inside]
    return out


def rms_of_half(R: Floats, weights: Floats) -> float:
    """Root mean square of the smaller half of R (m,): least trimmed squares (Rousseeuw 1984)."""
    half = weights_of_nearest(R, weights)
    inside = half > 0
    largest = float(np.max(R[inside], initial=0.0))
    if largest == 0.0:
        return 0.0
    squares = np.square(R[inside] / largest)  # in a unit in which none overflows
    return largest * float(np.sqrt(half[inside] @ squares / np.sum(half)))


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Smallest value below or at which at least `share` of the weight lies."""
    S, mass = _sorted_lines(values[:, None], weights)
    return float(S[0, _reach(mass, np.array([share * mass[0, -1]]))[0] - 1])


# Location and scale are those of the numbers within a few standard deviations, ...
INNER_FULL, INNER_NONE = 2.0, 3.0
MAX_REWEIGHTINGS = 25
# ... and have settled when they move by less than this share.
SETTLED = 1e-11


def reweighted(
    Y: Floats, w: Floats, location: Floats, scale: Floats, settled: float = SETTLED
) -> tuple[Floats, Floats]:
    """Location and scale of the numbers within a few standard deviations, until they settle.

    The tightest half is a fine start and a poor answer: with 45 % of bad rows it is nearly all
    of the good ones, and its standard deviation is multiplied as if it were half of them.

    Parameters
    ----------
    Y : ndarray of shape (q, m)
        Numbers, a line each.
    w : ndarray of shape (m,)
        Their weights, the same in each line.
    location, scale : ndarray of shape (q,)
        Where to start.
    settled : float
        Share of location and scale by which they may move in the end.
    """
    tightest = location, scale
    for _ in range(MAX_REWEIGHTINGS):
        once = _improved(Y, w, location, scale)
        twice = _improved(Y, w, *once)
        moved = np.abs(twice[0] - once[0]) + np.abs(twice[1] - once[1])
        # Not ">": what is not a number will not settle.
        if not np.any(moved > settled * (np.abs(twice[0]) + twice[1])):
            location, scale = twice
            break
        location = _limit_of(location, once[0], twice[0])
        scale = np.maximum(_limit_of(scale, once[1], twice[1]), 0.5 * twice[1])
    # Shrinking onto a heap of equal numbers is no answer.
    lost = ~(scale > 0.01 * tightest[1])
    return np.where(lost, tightest[0], location), np.where(lost, tightest[1], scale)


def _inner_taper(z: Floats) -> Floats:
    t = (z - INNER_FULL) * (1 / (INNER_NONE - INNER_FULL))
    np.maximum(t, 0.0, out=t)
    np.minimum(t, 1.0, out=t)
    s = 1 - t
    s *= s
    t += t
    t += 1
    s *= t
    return s


def _improved(Y: Floats, w: Floats, location: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Location and scale of the numbers weighed by where they are; none if there are none."""
    C = Y - location[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(C)
        z *= (1 / scale)[:, None]
        u = _inner_taper(z)
        u *= w
        total = np.sum(u, axis=1)
        shift = np.vecdot(u, C) / total
        u *= C
        square = np.vecdot(u, C) / total - shift * shift
    return location + shift, np.sqrt(_taper_consistency() * np.maximum(square, 0.0))


def _limit_of(a: Floats, b: Floats, c: Floats) -> Floats:
    """Where a, b, c, ... goes if its steps shrink by a constant factor (Aitken); c if not."""
    first, second = b - a, c - b
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = c + second * second / (first - second)
    return np.where(np.abs(second) < 0.9 * np.abs(first), limit, c)


@lru_cache(maxsize=1)
def _taper_consistency() -> float:
    """Variance of Gaussian numbers over their variance under the inner taper."""
    z = np.linspace(-8.0, 8.0, 4001)
    u = norm.pdf(z) * _inner_taper(np.abs(z))
    return float(np.sum(u) / np.sum(u * z * z))
