"""Which features make a row unusual: those that, replaced by what the others predict, mend it.

Reconstruction-based contributions (Alcala and Qin 2009), by the Mahalanobis distance of the whole
row. A contribution plot blames every feature that a bad one is correlated with; a reconstruction
blames the one without which the others agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from torpca._missing.completion import Completion
from torpca._sources.base import Floats

# Smallest noise of a feature: a share of its spread, and of the largest deviation of all. A feature
# without noise would take the blame for every rounding error.
LEAST_NOISE, ROUNDING = 1e-6, 1e-12
# Of the variance of a feature, given others, what is less is rounding.
LEFT = 1e-9


@dataclass(frozen=True)
class Predicted:
    """What the other features of a row say of s of its features."""

    expected: Floats
    """(m, s)."""
    spreads: Floats
    """Standard deviations around that, (m, s)."""
    worth: Floats
    """By how much the squared distance of the row is shorter than it were with one of these
    features as it is and the others replaced, (m, s), in a unit of the row's own."""
    saved: Floats
    """The share of the squared distance that goes when all of them are replaced, (m,)."""


class RowLaw:
    """Good rows as Gaussian: mean + scale (V y + e), y and e independent.

    In units of the noise e the covariance is I + BB', and the squared Mahalanobis distance of w is
    w'Pw with P = I - Q diag(f) Q', where B = Q diag(t) R' and f = t^2 / (1 + t^2).
    """

    def __init__(self, mean: Floats, unit: Floats, B: Floats) -> None:
        self.mean, self.unit, self._B = mean, unit, B
        self.Q, t, _ = np.linalg.svd(B, full_matrices=False)
        self.f: Floats = np.square(t) / (1.0 + np.square(t))

    @classmethod
    def of(cls, model: Completion) -> RowLaw:
        """The law of rows that a model completes."""
        spread = np.sqrt(np.square(model.V) @ np.square(model.deviations))
        noise = model.cell_noise
        most = max(float(np.max(a, initial=0.0)) for a in (model.deviations, noise)) or 1.0
        noise = np.maximum(noise, np.maximum(LEAST_NOISE * spread, ROUNDING * most))
        unit = noise if model.scale is None else noise * model.scale
        return cls(model.mean, unit, model.V * model.deviations / noise[:, None])

    def among(self, features: npt.NDArray[np.intp]) -> RowLaw:
        """The law of some features alone."""
        return RowLaw(self.mean[features], self.unit[features], self._B[features])

    @property
    def deviations(self) -> Floats:
        """Standard deviation of each feature, (d,)."""
        return self.unit * np.sqrt(1.0 + np.sum(np.square(self._B), axis=1))

    def in_units(self, X: Floats) -> tuple[Floats, Floats]:
        """Rows X (m, d) about the mean, in units of the noise and of their largest entry (m, 1).

        Squares of what is left cannot overflow.
        """
        W = (X - self.mean) / self.unit
        size = np.max(np.abs(W), axis=1, keepdims=True)
        size = np.where(size > 0, size, 1.0)
        return W / size, size

    def precision(self, W: Floats) -> Floats:
        """PW' of rows W (m, d) in units of the noise, as rows."""
        return W - ((W @ self.Q) * self.f) @ self.Q.T

    def largest(self, X: Floats) -> Floats:
        """How far the feature that is farthest from what the others predict is, (m,).

        In standard deviations of its prediction.
        """
        W, size = self.in_units(X)
        spread = np.sqrt(np.maximum(1.0 - np.square(self.Q) @ self.f, LEFT))
        return np.asarray(np.max(np.abs(self.precision(W)) / spread, axis=1) * size[:, 0])

    def block(self, features: npt.NDArray[np.intp]) -> Floats:
        """P restricted to s features of each row, (m, s, s); `features` (m, s) are different."""
        Q = self.Q[features]
        P = -(Q * self.f) @ Q.transpose(0, 2, 1)
        diagonal = np.einsum("mii->mi", P)
        diagonal[...] = np.maximum(diagonal + 1.0, LEFT)
        return P

    def predicted(self, X: Floats, features: npt.NDArray[np.intp]) -> Predicted:
        """What is expected of some `features` (m, s) of rows X (m, d), given the others."""
        W, size = self.in_units(X)
        G = self.precision(W)
        g = np.take_along_axis(G, features, axis=1)
        covariance = np.linalg.inv(self.block(features))
        off = np.einsum("mij,mj->mi", covariance, g)
        variance = np.einsum("mii->mi", covariance)
        total = np.maximum(np.einsum("md,md->m", W, G), np.finfo(np.float64).tiny)
        unit = self.unit[features]
        return Predicted(
            expected=np.take_along_axis(X, features, axis=1) - off * size * unit,
            spreads=np.sqrt(variance) * unit,
            worth=np.square(off) / variance,
            saved=np.einsum("ms,ms->m", off, g) / total,
        )

    def selected(self, X: Floats, most: int) -> npt.NDArray[np.intp]:
        """Features (m, p) of rows X (m, d) to replace, each the one that then helps most.

        Forward selection, exact at each step: the gain of a feature allows for those chosen before
        it, which are predicted anew. This is Gaussian elimination of P, a chosen row at a time.
        """
        G = self.precision(self.in_units(X)[0])
        m, d = G.shape
        rows = np.arange(m)
        # Diagonal of P, with the chosen features eliminated: inverse variances given the others.
        diagonal = np.tile(1.0 - np.square(self.Q) @ self.f, (m, 1))
        open_ = np.ones((m, d), dtype=bool)
        chosen: list[npt.NDArray[np.intp]] = []
        eliminated: list[Floats] = []
        for _ in range(min(most, d)):
            gains = np.square(G) / np.maximum(diagonal, LEFT)
            j = np.argmax(np.where(open_, gains, -1.0), axis=1)
            chosen.append(j)
            open_[rows, j] = False
            column = -(self.Q[j] * self.f) @ self.Q.T
            column[rows, j] += 1.0
            for before in eliminated:
                column -= before * before[rows, j, None]
            column /= np.sqrt(np.maximum(column[rows, j, None], LEFT))
            G -= column * (G[rows, j] / np.maximum(column[rows, j], np.sqrt(LEFT)))[:, None]
            diagonal -= np.square(column)
            eliminated.append(column)
        return np.stack(chosen, axis=1)
