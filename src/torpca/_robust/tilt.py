"""Whether rows together leave the subspace of others more than noise lets them."""

from __future__ import annotations

import numpy as np

from torpca._robust.beside import Beside
from torpca._robust.tuning import tuning
from torpca._sources.base import Floats
from torpca._stats.scatter import ROUNDING


def tilts(fit: Beside, keep: Floats, far: Floats) -> bool:
    """Whether rows of weights `far` (m,) together leave the subspace of the others."""
    k, n = fit.rank, float(np.sum(keep))
    if k == 0 or np.count_nonzero(far) < 2:
        return False
    beyond = fit.next_directions(keep, 1)[1]
    if len(beyond) == 0:
        return False
    Y = fit.scores / np.sqrt(fit.variances)
    S = (Y * far[:, None]).T @ Y
    theta, Q = np.linalg.eigh(S + S @ S / n)
    there = theta > ROUNDING * theta[-1]
    T = Y @ (Q[:, there] / np.sqrt(theta[there]))
    largest = float(np.linalg.norm((T * far[:, None]).T @ fit.rest, 2) ** 2)
    squares = np.square(fit.residuals)
    of_others, of_far = (float(w @ squares) / float(np.sum(w)) for w in (keep, far))
    noise = max(of_others, of_far)
    # Rows that are farther off spread as much more along each direction.
    more = noise / of_others if of_others > 0 else 1.0
    chance = (np.sqrt(noise) + np.sqrt(k * more * float(beyond[0]))) ** 2
    return largest > tuning().tilt * chance
