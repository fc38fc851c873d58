"""What leaving out one row at a time says of the residuals of rows that had no part in a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torpca._robust.law import Cumulants
from torpca._sources.base import Floats

# Rows times directions times roots, at most, and the fewest rows that are left out, if there are
# so many.
ROOTS, FEWEST = 2**18, 100
# Directions beyond the subspace that may change places with its last one.
NEXT = 2
# Steps of bisection for an eigenvalue: to a ten-millionth of the way to the next.
STEPS = 24
# Share of the rows' squares beyond the subspace from which on their products know it.
RESOLVED = 1e-9
# Rows with less of a part in the fit than this are not left out of it.
LEAST = 0.1


@dataclass(frozen=True)
class LeftOut:
    """What leaving out one row at a time says of new rows."""

    score: float
    """Squared score distances of new rows, as a multiple of Hotelling's law."""
    noise: float | None
    """Residuals of new rows over those of rows of the fit, root mean squares both; None if
    these are too small beside the rows for their products to tell."""
    of_fit: Cumulants | None
    """Those of the squared residuals of Gaussian rows of the fit, in any unit, ..."""
    of_new: Cumulants | None
    """... and of new ones, in another; None if there are none."""


@dataclass(frozen=True)
class Spectrum:
    """Squared singular values (m,) of the good rows, largest first, of d possible ones."""

    theta: Floats
    d: int
    free: float
    """Dimensions that the rows about their mean span at most."""

    def of_fit(self, k: int) -> Cumulants | None:
        """Cumulants of squared residuals beyond k directions of the rows that made this spectrum.

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
        return Cumulants(one, variance, max(third, variance**2 / one))

    def of_new(self, k: int) -> Cumulants | None:
        """Cumulants of squared residuals beyond k directions of new rows.

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
        return Cumulants(p1, 2 * p2 * (1 + 1 / N), 8 * p3 * (1 + 3 / N))


def leave_out(
    X: Floats, keep: Floats, counts: Floats, k: int, *, center: bool, n_features: int
) -> LeftOut | None:
    """Leave each of some rows out of PCA in turn, and measure it from what the others give.

    X (n, d) are rows of weight `keep` (n,), between 0 and 1, each of them `counts` (n,) times, in
    their `n_features` features or, if these are more, in a basis of their span. The
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
    of_fit = float(w @ np.sum(Y2[:, k:], axis=1))
    spectrum = Spectrum(theta, n_features, n - center)
    # Of rows that lie in the subspace but for a few, those looked at may all lie in it.
    known = float(np.sum(theta[k:])) > RESOLVED * float(np.sum(theta)) and of_fit > 0
    of_noise = float(np.sqrt(float(w @ left) / of_fit)) if known else 0.0
    score = max(ratios)
    return LeftOut(
        score=min(score, 1.0) if score > 0 else 1.0,
        noise=of_noise or None,
        of_fit=spectrum.of_fit(k),
        of_new=spectrum.of_new(k),
    )


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
