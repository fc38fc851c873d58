"""Names of rows beside their points, where they hide neither each other nor leave the axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from torpca._sources.base import Floats
from torpca.plots._canvas import one_line

FONT = 8.0
# Width of a character as a share of the font's size, on average and a little generous.
WIDTH = 0.62
GAP = 5.0
# Where a label may be, from its point: horizontally and vertically, the best place first.
PLACES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
# How far from the point, in lines of text; from the second on a thin line leads back to it.
REACH = (0.0, 1.2, 2.4)


def label_points(
    ax: Any,
    x: Floats,
    y: Floats,
    labels: Sequence[object],
    others: tuple[Floats, Floats],
    texts_there: Iterable[Any] = (),
) -> tuple[Any, ...]:
    """Write `labels` beside the points x, y (m,), the first ones first, as far as there is room.

    They keep off each other, off the points `others` (m',) and (m',) and off the texts that are
    there. All lengths are in points (1/72 inch); the limits of the axes must be final.
    """
    unit = 72.0 / ax.figure.dpi
    at = ax.transData.transform(np.column_stack([x, y])) * unit
    box = ax.get_window_extent()
    left, bottom, right, top = (float(v) * unit for v in box.extents)
    corners = ax.transData.transform(np.column_stack(others)) * unit
    taken = np.hstack([corners - 3.0, corners + 3.0])
    for text in texts_there:
        taken = np.vstack([taken, text.get_window_extent().extents * unit])
    texts = []
    for point, (px, py), label in zip(zip(x, y, strict=True), at, labels, strict=True):
        text = one_line(label, 16)
        w, h = WIDTH * FONT * len(text), FONT
        for reach, (i, j) in ((r, place) for r in REACH for place in PLACES):
            dx, dy = i * (GAP + reach * FONT), j * (GAP + reach * FONT)
            low_x = px + dx - (0.0, 0.5 * w, w)[1 - i]
            low_y = py + dy - (0.0, 0.5 * h, h)[1 - j]
            room = np.array([low_x, low_y, low_x + w, low_y + h])
            inside = left <= room[0] and room[2] <= right and bottom <= room[1] and room[3] <= top
            if inside and not _overlaps(room, taken):
                break
        else:
            continue
        taken = np.vstack([taken, room])
        texts.append(
            ax.annotate(
                text,
                point,
                xytext=(dx, dy),
                textcoords="offset points",
                ha=("left", "center", "right")[1 - i],
                va=("bottom", "center", "top")[1 - j],
                fontsize=FONT,
                parse_math=False,
                arrowprops=_leader() if reach else None,
                zorder=4,
                path_effects=halo(ax),
            )
        )
    return tuple(texts)


def halo(ax: Any) -> list[Any]:
    """Rim of a text or a line in the colour of the paper, so that it shows on points."""
    from matplotlib.colors import to_rgba  # noqa: PLC0415 (optional)
    from matplotlib.patheffects import withStroke  # noqa: PLC0415 (optional)

    paper = ax.get_facecolor()
    if to_rgba(paper)[3] == 0.0:  # none: what is seen is the figure's, or the page's
        paper = ax.figure.get_facecolor()
    return [withStroke(linewidth=2.5, foreground="white" if to_rgba(paper)[3] == 0.0 else paper)]


def _leader() -> dict[str, Any]:
    return {"arrowstyle": "-", "color": "0.5", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}


def _overlaps(room: Floats, taken: Floats) -> bool:
    """Whether a box (4,), left, bottom, right and top, meets any of `taken` (m, 4)."""
    apart = (room[:2] >= taken[:, 2:]) | (taken[:, :2] >= room[2:])
    return bool(np.any(~np.any(apart, axis=1)))
