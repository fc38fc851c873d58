"""How far from the subspace, and how far out inside it, a good row may be.

There is one pair of limits, for rows of the fit and for new ones. Rows of the fit have drawn the
subspace towards themselves and are nearer; for new rows the error of the fit adds to their
distances. With n rows behind k components the two differ by the order of k/n. Limits are such that
of as many Gaussian good rows of the fit as new ones, the wanted share is beyond: fewer of the fit,
more of the new. Bad rows have no part in the fit and are like new ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torpca._robust.law import Cumulants, Law, chi_squared, common_limit, hotelling, within_fit
from torpca._robust.leave_out import LeftOut
from torpca._sources.base import Floats, Mask

# Share of Gaussian good rows beyond a limit, half of it for each of the two distances.
LEVEL = 0.01
# Distances of a row, measured again in another block of rows, differ by less than this share. No
# row of the fit is so near to a limit.
TIE, NEARBY = 1e-9, 1e-6
# Tails are light if so many rows, or more, are far out where standard errors more are expected.
ENOUGH, SURE = 5.0, 2.0


@dataclass(frozen=True)
class Limits:
    """Limits on the score distances and the orthogonal distances of good rows."""

    score: float
    orthogonal: float

    def beyond(self, score: Floats, orthogonal: Floats) -> Mask:
        """Rows (n,) that are beyond one of them."""
        return (score > self.score) | (orthogonal > self.orthogonal)


def fitted_limits(
    score: Floats,
    near: Floats,
    R: Floats,
    weights: Floats,
    k: int,
    *,
    center: bool,
    beyond: bool = True,
    left: LeftOut | None = None,
    share: float = LEVEL,
) -> Limits:
    """Limits on both distances of good rows, given the distances `score` and R (n,) of a fit.

    `near` and `weights` (n,) are the weights of the good rows in the one and in the other. `beyond`
    says whether there are more features than the k components, `left` what leaving rows out of the
    fit does, and `share` how many Gaussian good rows are beyond a limit.
    """
    inside = 0.0
    if k > 0:
        level = level_of(beyond, share)
        ratio = 1.0 if left is None else left.score
        of_fit, of_new = score_laws(float(np.sum(near)), k, center=center, ratio=ratio)
        inside = float(np.sqrt(common_limit(of_fit, of_new, level)))
        inside = min(inside, light_tail(score, near, level, of_fit))
    return Limits(inside, orthogonal_limit(R, weights, k, level_of(k > 0, share), left))


def level_of(other: bool, share: float) -> float:
    """Share of good rows beyond the limit on one distance, if there is the `other` one or not."""
    return share / 2 if other else share


def error_of_fit(n: float, k: int) -> float:
    """How many times the noise the residuals of new rows are, as a root mean square.

    The mean of n rows is off by one part in n of the squared noise, and each of the k directions
    by as much for a row one standard deviation along it.
    """
    return float(np.sqrt(1.0 + 1.0 / n + k / (n - 1.0))) if n > 1 else 1.0


def score_laws(n: float, k: int, *, center: bool, ratio: float = 1.0) -> tuple[Law, Law]:
    """Laws of squared score distances of Gaussian rows, of a fit to n rows and new.

    `ratio` is what the squares of new rows are of Hotelling's: less than one if the directions of
    the fit are those in which its own rows happen to spread.
    """
    if n - center <= k + 1:
        return chi_squared(k), chi_squared(k)
    return within_fit(n, k, center=center), hotelling(n, k).times(ratio)


def orthogonal_limit(
    R: Floats, weights: Floats, k: int, level: float, left: LeftOut | None = None
) -> float:
    """Limit on orthogonal distances, from those R (n,) of the good rows.

    The rows' own moments have to do if nothing is known of their spectrum (`left`).
    """
    inside = weights > 0
    unit = float(np.max(R[inside], initial=0.0))
    if unit == 0.0:
        return 0.0
    w, r = weights[inside], R[inside] / unit
    squares = np.square(r)
    n = float(np.sum(w))
    mean = float(np.sum(w * squares)) / n
    variance = float(np.sum(w * np.square(squares - mean))) / n
    if variance <= 1e-20 * mean**2:  # all of them equal
        return unit * error_of_fit(n, k)
    third = float(np.sum(w * (squares - mean) ** 3)) / n
    own = Cumulants(mean, variance, max(third, 2 * variance**2 / mean))
    of_fit, of_new = own, own
    wider = error_of_fit(n, k) / max(1.0 - k / n, 0.5) ** 0.5  # new rows than those of the fit
    if left is not None:
        wider = wider if left.noise is None else left.noise
        of_fit, of_new = (
            law.scaled_to(mean, variance, n) if law is not None else own
            for law in (left.of_fit, left.of_new)
        )
    law, new = of_fit.law(), of_new.law().times(wider**2)
    limit = float(np.sqrt(common_limit(law, new, level)))
    return unit * min(limit, wider * light_tail(r, w, level, law))


def light_tail(distances: Floats, weights: Floats, level: float, law: Law) -> float:
    """Distance that no more than the share `level` of the good rows exceeds, if tails are light.

    Rows with light tails never reach a limit made for Gaussian ones. Infinite unless the farthest
    rows, ENOUGH of them at least, are nearer than the `law` of squares allows by chance.
    """
    good = weights > 0
    order = np.argsort(-distances[good], kind="stable")
    farthest, beyond = distances[good][order], np.cumsum(weights[good][order])
    total = float(np.sum(weights))

    def after(count: float) -> float:
        """Distance of the next row, after `count` of the farthest ones."""
        return float(farthest[np.searchsorted(beyond, count, side="right")])

    allowed = float(np.floor(level * total * (1 + 1e-9)))
    count = max(allowed, ENOUGH)
    if allowed < 1 or not count < beyond[-1]:
        return np.inf
    expected = total * law.tail(after(count) ** 2)
    return after(allowed) if count < expected - SURE * np.sqrt(expected) else np.inf


def clear_of_ties(limit: float, distances: Floats) -> float:
    """`limit`, moved up until none of the `distances` (n,) is within rounding of it.

    So measuring a row again, alone or in another block, cannot put it on the other side. Rows on a
    limit are within it.
    """
    limit = float(limit)  # NumPy's warns where it becomes infinite
    near = distances[(distances >= limit * (1 - TIE)) & (distances <= limit * (1 + NEARBY))]
    for distance in np.unique(near).tolist():
        if distance > limit * (1 + TIE):
            break
        limit = max(limit, distance * (1 + 2 * TIE))
    return min(limit, float(np.finfo(np.float64).max))
