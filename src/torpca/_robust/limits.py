"""How far from the subspace, and how far out inside it, a good row may be.

One pair of limits is for rows of the fit, which have drawn the subspace towards themselves, and for
new ones: of as many Gaussian good rows of both, the wanted share is beyond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, ndtr

from torpca._core.gram import near_top_of_gram
from torpca._robust.law import Cumulants, Tail, common_limit, score_laws
from torpca._robust.rule import taper
from torpca._robust.tuning import EQUAL, LEVEL, tuning
from torpca._sources.base import Floats, Mask


@dataclass(frozen=True)
class Limits:
    """Limits on the score distances and the orthogonal distances of good rows."""

    score: float
    orthogonal: float

    def beyond(self, score: Floats, orthogonal: Floats) -> Mask:
        """Rows (n,) that are beyond one of them."""
        return (score > self.score) | (orthogonal > self.orthogonal)


@dataclass(frozen=True)
class NewRows:
    """Squared score distances of new rows over Hotelling's, and laws of residuals in one unit."""

    score: float
    of_fit: Cumulants
    of_new: Cumulants


def fitted_limits(
    score: Floats,
    near: Floats,
    R: Floats,
    weights: Floats,
    k: int,
    *,
    n_features: int,
    center: bool,
    share: float = LEVEL,
    new: NewRows | None = None,
) -> Limits:
    """Limits on both distances of good rows, given the distances `score` and R (n,) of a fit.

    `weights` (n,) say how often rows count as good ones, and `near` (n,) in the scatter inside:
    their sum is the number of rows behind it. `share` is how many Gaussian good rows are beyond a
    limit, and `new` what is known of new rows.
    """
    inside, ratio = 0.0, 1.0 if new is None else new.score
    if k > 0:
        laws = score_laws(float(np.sum(near)), k, center=center, ratio=ratio)
        level = level_of(n_features > k, share)
        inside = lowered(*laws, level, score[weights > 0], weights[weights > 0])
    return Limits(inside, orthogonal_limit(R, weights, k, level_of(k > 0, share), new))


def level_of(other: bool, share: float) -> float:
    """Share of good rows beyond the limit on one distance, if there is the `other` one or not."""
    return share / 2 if other else share


def error_of_fit(n: float, k: int) -> float:
    """How many times the noise the residuals of new rows are, as a root mean square.

    The mean of n rows is off by 1/n of the squared noise, a direction by as much for a usual row.
    """
    return float(np.sqrt(1.0 + 1.0 / n + k / (n - 1.0))) if n > 1 else 1.0


def orthogonal_limit(R: Floats, w: Floats, k: int, level: float, new: NewRows | None) -> float:
    """Limit on orthogonal distances, from those R (n,) of the good rows, of weights w (n,).

    With laws (`new`), their own variance counts if it is larger by more than chance.
    """
    R, w = R[w > 0], w[w > 0]
    unit, n = float(np.max(R, initial=0.0)), float(np.sum(w))
    if unit == 0.0:
        return 0.0
    squares = np.square(R / unit)
    mean = float(w @ squares) / n
    variance, third = (float(w @ (squares - mean) ** e) / n for e in (2, 3))
    if variance <= 1e-20 * mean**2:  # all of them equal
        return unit * error_of_fit(n, k)
    if new is None:
        of_fit = Cumulants.of_noise(mean, variance, third)
        of_new = of_fit.scaled(error_of_fit(n, k) ** 2 / max(1.0 - k / n, 0.5))
    else:
        to_mean = mean / new.of_fit.mean
        same = new.of_fit.scaled(to_mean)
        chance = float(np.sqrt((2 + 6 * same.variance / mean**2) / n))
        ratio = max(variance / same.variance / (1 + chance), 1.0)
        of_fit, of_new = same.scaled(1.0, ratio), new.of_new.scaled(to_mean, ratio)
    return unit * lowered(of_fit.tail, of_new.tail, level, R / unit, w)


def lowered(of_fit: Tail, of_new: Tail, level: float, distances: Floats, w: Floats) -> float:
    """Distance that the share `level` exceeds by its laws, of rows of the fit and of new ones.

    Rows with light tails would never reach it. Where fewer of the fit are as far out than chance
    allows, by two standard deviations, it is lowered as far as that of its rows alone would be
    to leave the share beyond.
    """
    limit = float(np.sqrt(common_limit(of_fit, of_new, level)))
    order = np.argsort(-distances, kind="stable")
    farthest, beyond = distances[order], np.cumsum(w[order])
    allowed = np.floor(level * beyond[-1] * (1 + EQUAL))
    some = max(allowed, 5.0)
    if allowed < 1 or some >= beyond[-1]:
        return limit
    after = np.searchsorted(beyond, [allowed, some], side="right")
    reached, expected = farthest[after[0]], beyond[-1] * of_fit(farthest[after[1]] ** 2)
    if gammaincc(some + 1, expected) > ndtr(-2.0):
        return limit
    alone = np.sqrt(common_limit(of_fit, of_fit, level))
    return limit * float(min(reached / alone, 1.0))


def new_rows(X: Floats, w: Floats, k: int, *, n_features: int, center: bool) -> NewRows | None:
    """What PCA of the other rows says of each part of the rows X (m, p), of weights w (m,).

    X may be in the rows' span. None if there are too many rows for a difference, or too few, or if
    they lie in the subspace. Residuals e of new rows have a covariance S of which, for different
    rows, E e'e = tr S, E (e_i'e_j)^2 = tr S^2 and E e_h'e_i e_i'e_j e_j'e_h = tr S^3. Cumulants of
    e'e are these traces, times 1, 2 and 8.
    """
    t, X, w = tuning(), X[w > 0], w[w > 0]
    (m, p), n, size = X.shape, float(np.sum(w)), float(np.max(np.abs(X), initial=0.0))
    few = m <= t.folds * (p + t.folds) and p <= t.most_features
    if not (few and 0 < k < p and 0 < size < np.inf):
        return None
    X = X / size
    X = X - (w @ X) / n if center else X
    G = (X * w[:, None]).T @ X
    theta = np.maximum(np.linalg.eigvalsh(G)[::-1], 0.0)
    of_fit = Cumulants.on_sphere(theta[k:] * (n - center) / n, n - center)
    # Of squares that small beside the largest, products know nothing.
    if of_fit is None or not n * of_fit.mean > 1e-9 * float(np.sum(theta)):
        return None
    score, traces, counts = np.zeros(2), np.zeros(3), np.zeros(3)
    for i in range(min(t.folds, m)):
        Z, u = X[i :: t.folds], w[i :: t.folds]
        out = float(np.sum(u))
        rest = n - out
        if not rest > k + 3:
            return None
        mean = -(u @ Z) / rest if center else np.zeros(p)
        V, s = near_top_of_gram(G - (Z * u[:, None]).T @ Z - rest * np.outer(mean, mean), k)
        C = Z - mean
        S = C @ V
        variances = np.maximum(s**2, 1e-12 * theta[0]) / (rest - center)
        expected = k * (rest**2 - 1) / rest / (rest - k - 2)  # by Hotelling's law
        score += [float(u @ np.sum(S**2 / variances, axis=1)), out * expected]
        C -= S @ V.T
        H = C @ C.T
        one = float(u @ np.diag(H))
        H -= center * one / out / rest  # the error of the mean is in all of them
        np.fill_diagonal(H, 0.0)
        M, u2, u3 = H * u, float(u @ u), float(u @ u**2)
        traces += [one, float(np.vdot(M, M.T)), float(np.vdot(M @ M, M.T))]
        counts += [out, out**2 - u2, out**3 - 3 * out * u2 + 2 * u3]
    one, two, three = (traces / np.maximum(counts, 1e-300)).tolist()
    two = max(two, one**2 / max(n_features - k, 1))  # as of noise of one size
    of_new = Cumulants.of_noise(one, 2 * two, 8 * three)
    # Directions in which a fit's own rows happen to spread make new ones smaller, never larger.
    return NewRows(float(np.clip(score[0] / score[1], 1e-9, 1.0)), of_fit, of_new)


def good_rows(keep: Floats, z: Floats, cut: float) -> Floats:
    """Weights (n,) of the rows by which limits on orthogonal distances are found.

    They are `keep` (n,), or more where residuals, z (n,) beyond a `cut`, are the reason for less.
    """
    t = tuning()
    if cut >= t.good:
        return keep
    by_residual = (keep > 0) | (z >= t.taper * cut)
    return np.where(by_residual, np.maximum(keep, taper(z, t.good)), keep)
