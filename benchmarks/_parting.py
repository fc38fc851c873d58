"""Two fits of the same rows: how many labels differ, and the step at which the fits part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

STEPS = ("start", "choice", "rank", "iteration", "limits")
# Share of the largest standard deviation: limits below it are those of rows without noise.
ROUNDING = 1e-6
# Words of a RuntimeWarning that says that there may be another answer. Others, of few rows, bad
# cells, repeated rows or the largest number of components, say nothing of that.
ANOTHER_ANSWER = (
    "where the fit starts",
    "agree better on another subspace",
    "the other rows may be the good ones",
    "the other rows may be the bad ones",
    "group",
    "the subspace still moved",
)


@dataclass(frozen=True)
class Fitted:
    """What a fit says of the rows of a table. What a model does not have is None, or empty."""

    flagged: Mask
    """Rows that are not regular, (n,)."""
    rank: int
    weights: Floats | None = None
    """Part of each row in the fit, (n,)."""
    distances: Floats | None = None
    """Distances inside and from the subspace, (n, 2)."""
    units: tuple[float, ...] = ()
    """By which differences of the two are measured: their limits, unless these are rounding."""
    candidate: str | None = None
    """Name of the candidate that the fit started from."""
    sampled: bool = False
    """Whether the start looked at a sample of the rows."""
    history: tuple[tuple[int, float, float], ...] = ()
    """Number of components, change of the subspace, and share of the rows kept, in each
    iteration."""
    warned: tuple[str, ...] = ()
    """RuntimeWarnings."""

    @property
    def said(self) -> bool:
        """Whether a warning says that there may be another answer; see `ANOTHER_ANSWER`."""
        return any(words in message for message in self.warned for words in ANOTHER_ANSWER)

    def of_rows(self, rows: npt.NDArray[np.intp], unit: float = 1.0) -> Fitted:
        """The same for the numbered `rows`, distances from the subspace in another `unit`."""
        scale = np.array([1.0, unit])
        return replace(
            self,
            flagged=self.flagged[rows],
            weights=None if self.weights is None else self.weights[rows],
            distances=None if self.distances is None else self.distances[rows] * scale,
            units=tuple((self.units * scale).tolist()) if self.units else (),
        )


def moved(a: Fitted, b: Fitted) -> float:
    """Share of the rows whose label differs."""
    return float(np.mean(a.flagged != b.flagged))


def step(a: Fitted, b: Fitted, same: float, *, redrawn: bool = False) -> str:
    """Step at which two fits of the same rows part, of `STEPS`.

    It is the first at which they differ by more than the relative difference `same`, unless they
    have come together again since. `redrawn`: where a fit looks at a sample, the two look at other
    rows.

    - "start": other rows were drawn, or the first iteration on the candidate of the same name keeps
      others, which may be because it left out others for their leverage.
    - "choice": another candidate was chosen.
    - "rank": another number of components was asked for.
    - "iteration": the iterations change the subspace by something else, or leave other weights.
    - "limits": the weights are the same, the distances of the rows or the limits on them are not.
    """
    if a.rank == b.rank and (
        close(a.distances, b.distances, same, a.units) or close(a.weights, b.weights, same)
    ):
        return "limits"
    if redrawn and (a.sampled or b.sampled):
        return "start"
    if a.candidate != b.candidate:
        return "choice"
    return iterations_part(a, b, same)


def iterations_part(a: Fitted, b: Fitted, same: float) -> str:
    """What two histories differ in first."""
    for number, (one, other) in enumerate(zip(a.history, b.history, strict=False)):
        if one[0] != other[0]:
            return "rank"
        if not close(np.array(one[1:]), np.array(other[1:]), same):
            return "iteration" if number else "start"
    common = min(len(a.history), len(b.history))
    rest = (*a.history[common:], *b.history[common:])
    if common and rest:
        return "iteration" if rest[0][0] == a.history[common - 1][0] else "rank"
    return "rank" if a.rank != b.rank else "iteration"


def close(
    a: Floats | None, b: Floats | None, same: float, unit: Sequence[float] | float = 1.0
) -> bool:
    """Whether numbers agree, relative to their size or to the `unit` of their column."""
    if a is None or b is None or np.shape(a) != np.shape(b):
        return False
    size = np.maximum(np.abs(a), np.asarray(unit, dtype=float) if np.size(unit) else 1.0)
    with np.errstate(invalid="ignore"):
        return bool(np.all((np.abs(a - b) <= same * size) | (a == b)))


def fitted(model: Any, n_rows: int, warned: Sequence[str]) -> Fitted:
    """What a model says of the rows it was fitted to."""
    start = getattr(model, "start_", None)
    score, orthogonal = (
        np.asarray(getattr(model, f"{kind}_distances_"), dtype=float)
        for kind in ("score", "orthogonal")
    )
    cutoffs = getattr(model, "cutoffs_", {})
    beyond = float(cutoffs.get("orthogonal", 0.0))
    longest = float(np.sqrt(np.max(model.explained_variance_, initial=0.0)))
    weights = getattr(model, "weights_", getattr(model, "support_", None))
    return Fitted(
        flagged=np.asarray(model.outlier_type_) != "regular",
        rank=int(model.n_components_),
        weights=None if weights is None else np.asarray(weights, dtype=float),
        distances=np.column_stack([score, orthogonal]),
        units=(float(cutoffs.get("score", 1.0)), max(beyond, ROUNDING * longest)),
        candidate=getattr(start, "name", None),
        sampled=getattr(start, "n_sample", n_rows) < n_rows,
        history=tuple(
            (int(record.rank), float(record.subspace_change), record.n_kept / n_rows)
            for record in getattr(model, "history_", ())
        ),
        warned=tuple(warned),
    )
