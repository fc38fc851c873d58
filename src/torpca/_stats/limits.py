"""How far from the subspace, and how far out inside it, good rows may be.

There are two kinds of rows. Those that the fit has seen have pulled the subspace towards
themselves: they are nearer to it, and the variances inside it are as large as they make them. New
rows have done neither. With few rows, or without a gap behind the last component, this is more
than the spread of the distances, so each kind has its limits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, chdtri, fdtri

from torpca._sources.base import Floats

# Share of Gaussian good rows beyond a limit, half of it for each of the two distances.
LEVEL = 0.01
# Limits lie this much beyond the row that sets them, so that measuring it again, in another block
# of rows, cannot put it on the other side.
SLACK = 1.0 + 1e-9
# From so many rows on a new row and one that the fit has seen are alike.
MANY = 10_000
# Numbers in rows from which each is left out in turn, at most: n d for the spectrum, then rows
# times directions times roots.
NUMBERS, ROOTS = 2**20, 2**18
# ... and the fewest rows that are left out, if there are so many.
FEWEST = 100
# Rows along a line of which those farthest out have no part in the scatter; half of them of twice
# as many rows, or in two dimensions.
FEW = 15
# Rows beyond a limit, at least, by which light tails are told from chance.
ENOUGH = 5
# Steps of bisection for an eigenvalue: to a ten-millionth of the way to the next.
STEPS = 24
# Share of the rows' squares beyond the subspace from which on their products know it.
RESOLVED = 1e-9
# Rows with less of a part in the fit than this are not left out of it.
LEAST = 0.1
# Directions beyond the subspace that may change places with its last one.
NEXT = 2


@dataclass(frozen=True)
class NewRows:
    """Limits for rows that the fit has not seen."""

    score: float
    orthogonal: float
    """On orthogonal distances divided by sqrt(1 + 1/n + score^2/(n - 1))."""
    n: float
    """Rows behind the fit."""

    def spread(self, score: Floats) -> Floats:
        """How many times the noise makes the residuals of new rows, by their score distances.

        The mean of n rows is off by one part in n of the noise, and a direction by one part in n
        for each squared standard deviation along it.
        """
        with np.errstate(over="ignore"):
            return np.hypot(np.sqrt(1.0 + 1.0 / self.n), score / np.sqrt(max(self.n - 1.0, 1.0)))


@dataclass(frozen=True)
class Law:
    """Mean, variance and third cumulant of squared orthogonal distances."""

    mean: float
    variance: float
    third: float

    def limit(self, level: float) -> float:
        """Distance that the share `level` exceeds.

        Squares of residuals are sums of squares of noise of several sizes: about a multiple of a
        chi-squared number, plus a constant, with the same three cumulants (Buckley and Eagleson
        1988). Where all sizes are equal the constant is zero (Box 1954).
        """
        freedom = 8 * self.variance**3 / self.third**2
        unit = self.third / (4 * self.variance)
        square = self.mean + unit * (float(chdtri(freedom, level)) - freedom)
        return float(np.sqrt(max(square, 0.0)))

    def seen_in(self, mean: float, variance: float, n: float) -> Law:
        """The same with the mean of `n` squares, and their variance where it says more.

        The variance of few squares is a matter of chance: what exceeds this law by less than one
        standard deviation is no reason to depart from it.
        """
        a = mean / self.mean
        law = Law(mean, a**2 * self.variance, a**3 * self.third)
        chance = np.sqrt((2 + 12 * law.variance / (2 * mean**2)) / n)
        ratio = variance / law.variance / (1 + chance)
        if ratio <= 1:
            return law
        more = ratio * law.variance
        return Law(mean, more, max(ratio**1.5 * law.third, 2 * more**2 / mean))


# ---- both ---------------------------------------------------------------------------------------


def limits_of(
    score: Floats,
    near: Floats,
    R: Floats,
    weights: Floats,
    k: int,
    *,
    beyond: bool = True,
    center: bool = True,
    left: LeftOut | None = None,
    share: float = LEVEL,
) -> dict[str, float]:
    """Limits on the distances `score` and R (n,) of rows that the fit has seen.

    `near` and `weights` (n,) are the weights of the good rows in the one and the other; `beyond`:
    whether there are more features than the k components; `share`: that of Gaussian good rows
    beyond a limit.
    """
    limits = {"score": 0.0, "orthogonal": 0.0}
    if k > 0:
        level = level_of(beyond, share)
        limit = seen_score_limit(float(np.sum(near)), k, center=center, level=level)
        limits["score"] = min(limit, exceeded_by(score, near, level))
    law = None if left is None or left.orthogonal is None else left.spectrum.seen(k)
    limits["orthogonal"] = orthogonal_limit(R, weights, level_of(k > 0, share), law)
    return limits


def new_limits(
    score: Floats,
    near: Floats,
    R: Floats,
    studentised: Floats,
    weights: Floats,
    k: int,
    *,
    beyond: bool = True,
    center: bool = True,
    left: LeftOut | None = None,
    share: float = LEVEL,
) -> NewRows | None:
    """Limits for new rows, given what `limits_of` is given; None if they are the same.

    If it is not known what leaving rows out does (`left`), the residuals on equal terms,
    `studentised` (n,), have to do.
    """
    n, m = float(np.sum(weights)), float(np.sum(near))
    if not 1 < n < MANY:
        return None
    out = 0.0
    if k > 0:
        level = level_of(beyond, share)
        ratio = 1.0 if left is None else left.score
        seen = seen_score_limit(m, k, center=center, level=level)
        # New rows are beyond the second farthest of 200 rows in one case of a hundred.
        light = min(exceeded_by(score, near, level, ENOUGH) / seen, 1.0)
        out = light * new_score_limit(m, k, level=level, ratio=ratio)
    level = level_of(k > 0, share)
    if left is None or left.orthogonal is None:
        off = orthogonal_limit(studentised, weights, level, least=ENOUGH)
    else:
        law = left.spectrum.new(k)
        off = left.orthogonal * orthogonal_limit(R, weights, level, law, least=ENOUGH)
    return NewRows(out, off, n)


def level_of(other: bool, share: float) -> float:
    """Share of good rows beyond the limit on one distance, if there is the `other` one or not."""
    return share / 2 if other else share


# ---- score distances ----------------------------------------------------------------------------


def seen_score_limit(n: float, k: int, *, center: bool, level: float) -> float:
    """Limit on score distances of n Gaussian rows that the fit has seen.

    The left singular vectors of n Gaussian rows have no preferred direction, whatever the
    spectrum: squares are (n - 1)^2/n times a beta number of k/2 and (n - 1 - k)/2, if every row
    has its part in the scatter. The fewer they are, the more often those farthest out lose theirs,
    and are then as new ones: the limit is between the two laws.
    """
    free = n - center
    if n >= MANY or free <= k + 1:
        return float(np.sqrt(chdtri(k, level)))
    most = free * (1.0 - center / n)
    whole = float(np.sqrt(most * betaincinv(k / 2, (free - k) / 2, 1 - level)))
    none = new_score_limit(n, k, level=level)
    return float(whole * (none / whole) ** min(1.0, FEW / (n * k)))


def new_score_limit(n: float, k: int, *, level: float, ratio: float = 1.0) -> float:
    """Limit on score distances of new Gaussian rows, given a fit to n rows.

    Squares are a multiple of F (Hotelling). `ratio`: how many times that they are, which is less
    than once if the fit's directions are those in which its own rows happen to spread.
    """
    squared = float(chdtri(k, level))
    if n > k + 1:
        squared = k * (n**2 - 1) / (n * (n - k)) * float(fdtri(k, n - k, 1 - level))
    return float(np.sqrt(ratio * squared))


# ---- orthogonal distances -----------------------------------------------------------------------


def orthogonal_limit(
    R: Floats,
    weights: Floats,
    level: float = LEVEL / 2,
    law: Law | None = None,
    *,
    least: float = 1.0,
) -> float:
    """Limit on orthogonal distances, from those R of the good rows with their weights.

    `law`, in any unit, is that of Gaussian rows with the same spectrum, if it is known; else the
    rows' own moments have to do. `least`: see `exceeded_by`.
    """
    inside = weights > 0
    unit = float(np.max(R[inside], initial=0.0))
    if unit == 0.0:
        return 0.0
    w, squares = weights[inside], np.square(R[inside] / unit)
    n = float(np.sum(w))
    mean = float(np.sum(w * squares)) / n
    variance = float(np.sum(w * np.square(squares - mean))) / n
    if variance <= 1e-20 * mean**2:  # all of them equal
        return unit
    if law is not None:
        law = law.seen_in(mean, variance, n)
    else:
        third = float(np.sum(w * (squares - mean) ** 3)) / n
        law = Law(mean, variance, max(third, 2 * variance**2 / mean))
    return min(unit * law.limit(level), exceeded_by(R, weights, level, least))


def exceeded_by(distances: Floats, weights: Floats, level: float, least: float = 1.0) -> float:
    """Distance that no less than the share `level` of the good rows exceeds.

    Rows with light tails never reach a limit made for Gaussian ones. Infinite when the share is
    fewer rows than `least`.
    """
    good = weights > 0
    order = np.argsort(-distances[good], kind="stable")
    beyond = np.cumsum(weights[good][order])
    allowed = np.floor(level * float(np.sum(weights)) * (1 + 1e-9))
    if allowed < least:
        return np.inf
    return SLACK * float(distances[good][order][np.searchsorted(beyond, allowed, side="right")])


# ---- what the spectrum says of Gaussian rows ----------------------------------------------------


@dataclass(frozen=True)
class Spectrum:
    """Squared singular values (m,) of the good rows, largest first, of d possible ones."""

    theta: Floats
    d: int
    n: float
    """Weight of the rows."""
    free: float
    """Dimensions that n rows about their mean span at most."""

    def seen(self, k: int) -> Law | None:
        """Law of squared residuals beyond k directions of rows that made this spectrum.

        A row is a random point of a sphere in `free` dimensions, times the singular values.
        """
        s1, s2, s3 = (float(np.sum(self.theta[k:] ** e)) for e in (1, 2, 3))
        D = self.free
        if not s1 > 0:
            return None
        one = s1 / D
        two = (s1**2 + 2 * s2) / (D * (D + 2))
        three = (s1**3 + 6 * s1 * s2 + 8 * s3) / (D * (D + 2) * (D + 4))
        variance = two - one**2
        if not variance > 1e-12 * one**2:
            return None
        third = three - 3 * one * two + 2 * one**3
        return Law(one, variance, max(third, variance**2 / one))

    def new(self, k: int) -> Law | None:
        """Law of squared residuals beyond k directions of new rows.

        With variances l_j of the noise the cumulants are sum l, 2 sum l^2 and 8 sum l^3. The
        spectrum of few rows is wider than that of their law: by the moments of a Wishart matrix,
        E tr S^2 = ((N + 1) p2 + p1^2)/N and E tr S^3 = ((N^2 + 3N + 4) p3 + 3(N + 1) p1 p2 +
        p1^3)/N^2. The last factors are for a mean that is estimated as well.
        """
        N = self.free - k
        rest = self.theta[k:] / N if N > 1 else np.zeros(0)
        p1, t2, t3 = (float(np.sum(rest**e)) for e in (1, 2, 3))
        if not p1 > 0:
            return None
        p2 = max((t2 - p1**2 / N) * N**2 / ((N - 1) * (N + 2)), p1**2 / (self.d - k))
        p3 = (N**2 * t3 - 3 * (N + 1) * p1 * p2 - p1**3) / (N**2 + 3 * N + 4)
        p3 = max(p3, p2**2 / p1)
        return Law(p1, 2 * p2 * (1 + 1 / N), 8 * p3 * (1 + 3 / N))


@dataclass(frozen=True)
class LeftOut:
    """What leaving out one row at a time says of new rows."""

    score: float
    """Squared score distances of new rows, as a multiple of Hotelling's law."""
    orthogonal: float | None
    """Noise of new rows over the orthogonal distances of rows that the fit has seen; None if these
    are too small beside the rows for their products to tell."""
    spectrum: Spectrum


def leave_out(X: Floats, keep: Floats, counts: Floats, k: int, *, center: bool) -> LeftOut | None:
    """Leave each of some rows out of PCA in turn, and measure it from what the others give.

    X (n, d) are rows of weight `keep` (n,), between 0 and 1, each of them `counts` (n,) times. The
    Gram matrix without a row differs from that with it by a matrix of rank one, so its
    eigenvalues l_i are roots of 1 = sum_j y_j^2/(theta_j - l), where y are the coordinates of the
    row along the eigenvectors of the Gram matrix and theta its eigenvalues (Golub 1973); the
    square of the row along the i-th eigenvector is 1/sum_j (y_j/(theta_j - l_i))^2. None where
    there is too little to say something.
    """
    inside = (keep > 0) & (counts > 0)
    X, t, counts = X[inside], keep[inside], counts[inside]
    w = t * counts
    n = float(np.sum(w))
    size = float(np.max(np.abs(X), initial=0.0))
    if not (k > 0 and n - center >= k + 4 and 0 < size < np.inf):
        return None
    X = X / size
    if center:
        X = X - (w @ X) / n
    theta, Y = principal_coordinates(X, w)
    if len(theta) < k or not theta[k - 1] > 1e-12 * theta[0]:
        return None
    top = min(k + NEXT, len(theta), int(n - center) - 4)
    few = max(FEWEST, ROOTS // (len(theta) * top))
    # Rows that have hardly a part cannot be left out.
    some = np.flatnonzero(t > LEAST)
    some = some[:: -(-len(some) // few)]
    if len(some) == 0:
        return None
    Y2, t, w = np.square(Y[some]), t[some], w[some]
    # About the mean of the others the row is n/(n - t) times as far, and the others' Gram matrix
    # about their mean is that of all less t n/(n - t) x x'.
    factor = n / (n - t) if center else np.ones(len(t))
    along, values = deleted_coordinates(theta, Y2 * (t * factor)[:, None], top)
    along *= (factor / t)[:, None]
    # A direction that a row spans by itself is none without it.
    squares = along / np.maximum(values, 1e-12 * theta[0]) * (n - t - center)[:, None]
    # Two directions that are nearly as large change places when a row is left out, and neither
    # says much alone: with the next ones they do.
    m = n - 1.0
    ratios = [
        float(w @ np.sum(squares[:, :j], axis=1))
        / float(np.sum(w))
        / (j * (m + 1) * (m - 1) / m)
        * (m - j - 2)
        for j in range(k, max(top, k) + 1)
    ]
    left = np.maximum(np.sum(Y2, axis=1) * factor**2 - np.sum(along[:, :k], axis=1), 0.0)
    noise = left / (1 + 1 / m + np.sum(squares[:, :k], axis=1) / (m - 1))
    seen = float(w @ np.sum(Y2[:, k:], axis=1))
    spectrum = Spectrum(theta, X.shape[1], n, n - center)
    score = min(max(ratios), 1.0)
    # Of rows that lie in the subspace but for a few, those looked at may all lie in it.
    if float(np.sum(theta[k:])) <= RESOLVED * float(np.sum(theta)) or seen == 0.0:
        return LeftOut(score, None, spectrum)
    return LeftOut(score, float(np.sqrt(float(w @ noise) / seen)), spectrum)


def principal_coordinates(X: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (m,) of X'WX, largest first, and the coordinates (n, m) of rows along its axes.

    Through the smaller of the two Gram matrices.
    """
    root = np.sqrt(w)[:, None]
    n, d = X.shape
    if d <= n:
        theta, V = np.linalg.eigh((X * w[:, None]).T @ X)
        Y = X @ V
    else:
        Z = root * X
        theta, U = np.linalg.eigh(Z @ Z.T)
        Y = U * np.sqrt(np.maximum(theta, 0.0)) / root
    there = theta > 1e-13 * theta[-1]
    return theta[there][::-1], Y[:, there][:, ::-1]


def deleted_coordinates(theta: Floats, Y2: Floats, top: int) -> tuple[Floats, Floats]:
    """Squares (n, top) of rows along the top axes without them, and the eigenvalues (n, top).

    Y2 (n, m) are their squares along the axes of all, whose eigenvalues are `theta` (m,).
    """
    along, values = np.zeros((len(Y2), top)), np.zeros((len(Y2), top))
    Y2 = np.maximum(Y2, 1e-300 * theta[0])  # none is zero beside a pole
    for i in range(top):
        # Between two poles the sum grows from minus infinity to infinity.
        low = np.full(len(Y2), theta[i + 1] if i + 1 < len(theta) else 0.0)
        high = np.full(len(Y2), theta[i])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for _ in range(STEPS):
                middle = (low + high) / 2
                below = np.sum(Y2 / (theta - middle[:, None]), axis=1) < 1
                low, high = np.where(below, middle, low), np.where(below, high, middle)
            middle = (low + high) / 2
            # A step of Newton's doubles the digits: little may be left of a row beyond its axes.
            for _ in range(2):
                terms = Y2 / (theta - middle[:, None])
                slope = np.sum(terms / (theta - middle[:, None]), axis=1)
                step = (np.sum(terms, axis=1) - 1) / slope
                middle = np.clip(middle - np.where(np.isfinite(step), step, 0.0), low, high)
            values[:, i] = middle
            along[:, i] = 1 / np.sum(Y2 / np.square(theta - middle[:, None]), axis=1)
    return along, values
