"""What every rival is given, checked once, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from torpca._core.frame import Frame, frame_of_size
from torpca._core.loop import Iteration
from torpca._core.problem import check_finite, check_rank, check_real
from torpca._core.result import RobustSubspace
from torpca._core.subspace import fix_signs, subspace_change
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats, Mask
from torpca._warn import warn
from torpca._words import counted


@dataclass(frozen=True)
class Table:
    """Checked rows, in memory, in a unit in which their squares behave."""

    X: Floats
    """Rows (n, d). Rows too long for their squares to be numbers are shortened."""
    rank: int
    unit: float
    """What X has to be multiplied by to be in the user's numbers."""
    source: RowSource


def checked_table(X: Any, rank: Any) -> Table:
    """Check X and the rank as `torp` does, and load the rows.

    The rivals work on all rows in memory, whatever kind of rows they are given.
    """
    source = as_source(X)
    rank = check_rank(rank, source.shape)
    magnitudes = check_finite(source)
    frame = usual_frame(source, magnitudes)
    rows = frame.about(None).take(np.arange(source.shape[0]))
    return Table(np.ascontiguousarray(rows), rank, frame.unit, source)


def usual_frame(source: RowSource, magnitudes: Floats) -> Frame:
    """Unit in which the middle one of the rows that are not zero has a size near one."""
    there = magnitudes[magnitudes > 0]
    return frame_of_size(source, magnitudes, float(np.median(there)) if len(there) else 0.0)


def check_share(name: str, value: Any, highest: float = 0.5) -> float:
    """Check that `value` is a share of the rows: at least 0, less than `highest`."""
    share = check_real(name, value, 0.0)
    if share >= highest:
        raise ValueError(
            f"{name}={share:g} must be at least 0 and less than {highest:g}, because it is a share "
            "of the rows. Give a little more than the share of bad rows you expect."
        )
    return share


class Progress:
    """Record of a run: one entry per iteration, as those of `torp`."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.history: list[Iteration] = []
        self.V: Floats | None = None

    def note(self, V: Floats, objective: float, keep: Mask | None = None) -> float:
        """Enter a subspace V (d, k) and its `objective`; return how far it moved.

        The objective is what the method minimises, in the unit of the table. `keep` are the rows
        the subspace was fitted to: all of them if it is left out.
        """
        n = len(self.table.X)
        n_kept = n if keep is None else int(np.count_nonzero(keep))
        change = 1.0 if self.V is None else subspace_change(self.V, V)
        dropped = {} if keep is None else {"residual": n - n_kept}
        entry = Iteration(len(self.history), V.shape[1], dropped, n_kept, change, objective)
        self.history.append(entry)
        self.V = V
        return change


def hand_back(
    table: Table,
    V: Floats,
    *,
    mean: Floats | None = None,
    keep: Mask | None = None,
    history: Sequence[Iteration] = (),
    n_iter: int | None = None,
    converged: bool = True,
    parameters: Mapping[str, float] | None = None,
    advice: str = "Allow more iterations with max_iter.",
    turn: bool = True,
) -> RobustSubspace:
    """Subspace V (d, k) as a result; a warning, with `advice`, if it is not what was sought.

    `mean` (d,) is in the unit of the table, None if rows were not centred. `keep` are the rows
    the subspace belongs to: all of them if it is left out. Directions are ordered by how far
    these rows spread along them. Those of V, which are then orthonormal, are turned until these
    rows are uncorrelated along them; without `turn` they are of a kind of their own and stay.
    """
    keep = np.ones(len(table.X), dtype=bool) if keep is None else keep
    rows = table.X[keep] if mean is None else table.X[keep] - mean
    if turn:
        _, s, Wt = np.linalg.svd(rows @ V, full_matrices=False)
        V = V @ Wt.T
    else:
        s = np.linalg.norm(rows @ V, axis=0)
        order = np.argsort(-s, kind="stable")
        V, s = V[:, order], s[order]
    n_iter = len(history) if n_iter is None else n_iter
    if not converged:
        steps = counted(n_iter, "iteration")
        warn(f"stopped after {steps} before the subspace settled. {advice}", ConvergenceWarning)
    with np.errstate(over="ignore"):  # what no float can hold is infinite
        s = table.unit * s
    export = table.source.export
    return RobustSubspace(
        components=export(np.ascontiguousarray(fix_signs(V).T)),
        singular_values=export(s),
        support=export(keep),
        mean=None if mean is None else export(table.unit * mean),
        n_iter=n_iter,
        converged=bool(converged),
        history=tuple(history),
        parameters=dict(parameters or {}),
    )
