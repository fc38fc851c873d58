"""Whether a fit that ended before it converged is to be doubted."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from torpca._core.loop import Iteration

# Sine of the angle by which the subspace may still turn. It is six thousandths of a degree, and
# moves a row by one part in ten thousand of its distance from the centre.
MATTERS = 1e-4


def still_moving(converged: bool, history: Sequence[Iteration]) -> float | None:
    """How far the subspace moved in the last iteration, if it had not settled and that matters.

    As the sine of an angle. None if it converged, or moved by no more than MATTERS.

    Examples
    --------
    >>> steps = [Iteration(t, 2, {}, 90, change, 0.1) for t, change in enumerate((1.0, 0.02))]
    >>> still_moving(False, steps), still_moving(True, steps)
    (0.02, None)
    """
    if converged:
        return None
    moved = history[-1].subspace_change if history else inf
    return moved if moved > MATTERS else None
