"""Rows as points: one colour and one marker for each kind, flagged ones on top and all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca import _kinds
from torpca._kinds import MOST_GOOD, some_of
from torpca._sources.base import Floats
from torpca._words import whole

# Regular rows drawn.
MAX_REGULAR = MOST_GOOD


@dataclass(frozen=True)
class Look:
    """How rows of one kind are drawn."""

    color: str
    marker: str
    size: float
    edge: float
    """Width of the white rim that sets a point apart from those under it."""


# Size and rim of each kind.
SIZES = {
    "regular": (14.0, 0.0),
    "good leverage": (40.0, 0.5),
    "orthogonal": (30.0, 0.5),
    "bad leverage": (34.0, 0.5),
}
LOOKS = {kind: Look(look.light, look.marker, *SIZES[kind]) for kind, look in _kinds.LOOKS.items()}


def rows_to_draw(types: npt.NDArray[np.str_], max_regular: int) -> dict[str, npt.NDArray[np.intp]]:
    """Numbers of the rows to draw, by kind: all flagged ones, and a sample of the regular."""
    if max_regular < 0:
        raise ValueError(
            f"max_regular={max_regular} must be the number of regular rows to draw, 0 or more."
        )
    chosen = {kind: np.flatnonzero(types == kind) for kind in LOOKS}
    chosen["regular"] = some_of(chosen["regular"], max_regular)
    return chosen


def draw_rows(
    ax: Any, x: Floats, y: Floats, types: npt.NDArray[np.str_], max_regular: int
) -> dict[str, Any]:
    """Scatter the rows at x, y (n,); return one artist for each kind that occurs."""
    points = {}
    for level, (kind, rows) in enumerate(rows_to_draw(types, max_regular).items()):
        total = int(np.count_nonzero(types == kind))
        if total == 0:
            continue
        look = LOOKS[kind]
        # Many points are drawn smaller, thousands also fainter, or they would be one blot.
        shrink = float(np.clip((100 / max(len(rows), 1)) ** 0.3, 0.2, 1.0))
        how_many = whole(total)
        if len(rows) < total:
            how_many = f"{whole(len(rows))} of {how_many} drawn"
        points[kind] = ax.scatter(
            x[rows],
            y[rows],
            s=look.size * (1.0 if kind == "regular" else shrink),
            c=look.color,
            marker=look.marker,
            linewidths=look.edge if len(rows) <= 1000 else 0.0,
            edgecolors="none" if look.edge == 0 else "white",
            alpha=0.7 if kind == "regular" else 1.0 if len(rows) <= 1000 else 0.6,
            label=f"{kind} ({how_many})",
            zorder=2 + 0.1 * level,
            # Thousands of points make a PDF slow to open.
            rasterized=len(rows) > 2000,
        )
    return points
