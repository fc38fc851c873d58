"""The one loop: fit, threshold, repeat, until the dropped rows or the fit settle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from torpca._core.moments import Keep
from torpca._core.subspace import Fit, spectrum_change, subspace_change


@dataclass(frozen=True)
class Iteration:
    """Record of one iteration. Only callbacks get the arrays; the history leaves them out."""

    iteration: int
    rank: int
    """Rank of the fitted subspace."""
    dropped: Mapping[str, int]
    """Numbers of rows dropped, by criterion. A row may count under several."""
    n_kept: int
    """Number of rows kept for the next fit."""
    subspace_change: float
    """Sine of the largest angle to the subspace of the previous iteration; 1 in the first."""
    objective: float
    """||X_kept(I - VV')||_F over the rows kept for the next fit; in TORP-G, how far the fits of
    the kept rows are moved by their projection onto the ellipsoid."""
    support: Any = field(default=None, repr=False, compare=False)
    """Mask of the rows kept for the next fit, (n_rows,)."""
    components: Any = field(default=None, repr=False, compare=False)
    """Fitted directions, (rank, n_features)."""


Callback = Callable[[Iteration], object]


@dataclass(frozen=True)
class Step:
    """Result of one thresholding step: the fit it used and the rows it leaves in."""

    fit: Fit
    keep: Keep
    dropped: Mapping[str, int]
    objective: float
    halt: bool = False
    """The step's own reason to give up (TORP-N's stopping rule)."""


@dataclass(frozen=True)
class Run:
    """Where a loop ended."""

    keep: Keep
    history: tuple[Iteration, ...]
    converged: bool
    halted: bool


def iterate(
    step: Callable[[Any], Step],
    keep: Keep,
    *,
    max_iter: int,
    tol: float | None,
    callback: Callback | None,
) -> Run:
    """Apply `step` until nothing moves, it halts, or `max_iter` is reached.

    Converged means: the kept set is one that was there before (from then on the iterates
    repeat), or neither the subspace nor a singular value moved by more than `tol` (None: only the
    set counts). The subspace alone does not tell: incoherence is measured in units of the singular
    values, and bad rows on one line, each much shorter than the last, leave the subspace where it
    is while they drop out one by one.
    """
    seen = {_digest(keep)}
    history: list[Iteration] = []
    previous: Fit | None = None
    for t in range(max_iter):
        now = step(keep)
        if not (np.isfinite(now.objective) and np.all(np.isfinite(now.fit.s))):
            raise FloatingPointError(
                f"iteration {t} produced a value that is not finite, although X is finite; "
                "this is a fault of torpca, please report it with the data if you can"
            )
        change, spread = 1.0, 1.0
        if previous is not None:
            change = subspace_change(previous.V, now.fit.V)
            spread = spectrum_change(previous.s, now.fit.s)
        record = Iteration(
            iteration=t,
            rank=now.fit.V.shape[1],
            dropped=now.dropped,
            n_kept=int(np.count_nonzero(now.keep)),
            subspace_change=change,
            objective=now.objective,
        )
        history.append(record)
        if callback is not None:
            callback(replace(record, support=now.keep.copy(), components=now.fit.V.T.copy()))
        keep, previous = now.keep, now.fit
        key = _digest(keep)
        settled = tol is not None and max(change, spread) <= tol
        if now.halt or key in seen or settled:
            return Run(keep, tuple(history), converged=not now.halt, halted=now.halt)
        seen.add(key)
    return Run(keep, tuple(history), converged=False, halted=False)


def _digest(keep: Keep) -> bytes:
    return blake2b(np.ascontiguousarray(keep).data, digest_size=16).digest()
