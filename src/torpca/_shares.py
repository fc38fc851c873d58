"""Which features make a row's distances, with the sign in which they are off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torpca._estimators.subspace import FittedSubspace
from torpca._sources.base import Floats, Mask


@dataclass(frozen=True)
class Parts:
    """The vectors whose lengths are the two distances of some rows, feature by feature."""

    inside: Floats
    """Those of the score distances, (m, d), each in units of its largest entry, ..."""
    outside: Floats
    """... and of the orthogonal distances."""
    score: Floats
    """Score distances, (m,)."""
    orthogonal: Floats
    """Orthogonal distances, (m,)."""

    def shares(self, by_score: Mask) -> Floats:
        """Shares (m, d) of the features in one squared distance of each row, with their sign.

        In the score distance where the mask `by_score` (m,) says so, else in the orthogonal one; a
        row at the centre has none.
        """
        parts = np.where(by_score[:, None], self.inside, self.outside)
        squares = parts**2
        return np.sign(parts) * squares / np.maximum(np.sum(squares, axis=1, keepdims=True), 1.0)


def parts_of(model: Any, X: Floats) -> Parts:
    """What makes the distances of rows X (m, d) from a fitted estimator's subspace and centre."""
    fitted: FittedSubspace = model.subspace_
    C = X - fitted.center
    if fitted.scale is not None:
        C = C / fitted.scale
    V, sd = fitted.basis, np.where(fitted.deviations > 0, fitted.deviations, np.inf)
    Y = C @ V
    units, lengths = [], []
    for part in ((Y / sd) @ V.T, C - Y @ V.T):
        # In units of their size, as squares of tiny parts are zero.
        size = np.max(np.abs(part), axis=1, keepdims=True)
        units.append(part / np.where(size > 0, size, 1.0))
        lengths.append(size[:, 0] * np.linalg.norm(units[-1], axis=1))
    return Parts(*units, *lengths)


def signed_shares(model: Any, X: Floats) -> Floats:
    """Shares (m, d) in the distance of each row that is farther beyond its limit."""
    parts = parts_of(model, X)
    beyond = model.subspace_.limits.relative(parts.score, parts.orthogonal)
    return parts.shares(beyond[0] > beyond[1])
