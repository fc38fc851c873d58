"""Rows with more noise than others say less about the subspace."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from torpca._sources.base import Array, Floats

# Squares of residuals must spread this much more than noise of one level lets them, and by so many
# standard deviations more than chance does.
UNEVEN, SURE = 1.02, 4.0


@dataclass(frozen=True)
class Precision:
    """Law of the levels of noise: inverse gamma, of shape `shape`.

    The expected precision of a row given its residual R is proportional to
    (shape + f/2) / (shape - 1 + f R^2 / (2 size^2)): the weights of a multivariate t law.
    """

    shape: float
    freedom: float
    """Degrees of freedom f of the squared residuals of rows of one level."""
    size: float
    """Root of the mean of the squared residuals: their squares may be beyond every float."""

    def in_unit(self, unit: float) -> Precision:
        """The same of residuals that are `unit` times these."""
        return replace(self, size=self.size * unit)

    def weights(self, R: Array) -> Array:
        """Weight of rows with residuals R (n,), between 0 and 1."""
        least = self.shape - 1
        far = (R / self.size) ** 2
        return least / (least + 0.5 * self.freedom * far)


def precision_law(R: Floats, weights: Floats, f: float) -> Precision | None:
    """Law of the levels of noise of rows with residuals R (n,); None if there is one level.

    With noise of one level the squares of the residuals are a multiple of chi-squared with `f`
    degrees of freedom. How much more they spread tells the shape of the law of the levels.
    """
    inside = weights > 0
    top = float(np.max(R[inside], initial=0.0))
    if top == 0.0 or not np.isfinite(f):
        return None
    squares, w = np.square(R[inside] / top), weights[inside]
    mean = float(np.average(squares, weights=w))
    uneven = (1 + float(np.average(np.square(squares / mean - 1), weights=w))) / (1 + 2 / f)
    # The variance of n numbers of kurtosis 3 + 12/f is known to sqrt((2 + 12/f) / n) of itself.
    chance = 2 / f * np.sqrt((2 + 12 / f) / float(np.sum(w))) / (1 + 2 / f)
    if uneven <= UNEVEN + SURE * chance:
        return None
    return Precision((2 * uneven - 1) / (uneven - 1), f, float(np.sqrt(mean)) * top)
