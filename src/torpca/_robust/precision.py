"""Rows with more noise than others say less about the subspace."""

from __future__ import annotations

import numpy as np

from torpca._sources.base import Floats

# Squares of residuals must spread this much more than noise of one level lets them.
UNEVEN = 1.02


def freedom(spectrum: Floats | None, rank: int) -> float:
    """Degrees of freedom of the residuals' squares if all rows have one level of noise.

    From the variances of the kept rows beyond the first `rank`: noise that differs by direction
    has fewer than there are directions. Infinite where the variances are not known.
    """
    if spectrum is None or not np.sum(rest := spectrum[rank:]) > 0:
        return np.inf
    rest = rest / rest[0]
    return float(np.sum(rest) ** 2 / np.sum(rest**2))


def precision(R: Floats, weights: Floats, f: float) -> Floats:
    """Weight of each row (n,), at most 1, by the level of noise its residual R speaks of.

    With noise of one level the squares of the residuals are a multiple of chi-squared with `f`
    degrees of freedom. If they spread more, the levels differ from row to row; given that the
    levels follow an inverse gamma law of shape a, the expected precision of a row is
    proportional to (a + f/2) / (a - 1 + f R^2 / (2 m)) with m the mean of R^2: the weights of a
    multivariate t law, whose a is found from the spread.
    """
    ones = np.ones(len(R))
    inside = weights > 0
    top = float(np.max(R[inside], initial=0.0))
    if top == 0.0 or not np.isfinite(f):
        return ones
    squares, w = np.square(R[inside] / top), weights[inside]
    mean = np.average(squares, weights=w)
    uneven = (1 + np.average(np.square(squares / mean - 1), weights=w)) / (1 + 2 / f)
    if uneven <= UNEVEN:
        return ones
    a = (2 * uneven - 1) / (uneven - 1)
    out = 1 / (a - 1 + 0.5 * f * np.square(np.minimum(R / top, 1e100)) / mean)
    return np.minimum(out / np.max(out[inside]), 1.0)
