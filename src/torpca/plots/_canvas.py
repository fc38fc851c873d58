"""Where a picture is drawn: matplotlib, imported late, and new axes of a good size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torpca._names import FROM_ZERO
from torpca._words import shortened


def pyplot() -> Any:
    """Return `matplotlib.pyplot`, or say how to get it."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 (optional, and slow to import)
    except ImportError as error:
        raise ImportError(
            'Plots need matplotlib, which is not installed: pip install "torpca[plot]".'
        ) from error
    return plt


def axes_for(ax: Any, size: tuple[float, float]) -> Any:
    """Return `ax`, or the axes of a new figure of `size` inches."""
    plt = pyplot()  # first, so that its absence is what is told
    if ax is not None:
        return one_axes(ax)
    # Constrained, or legends outside of the axes would be cut off.
    return plt.subplots(figsize=size, layout="constrained")[1]


def two_axes_for(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return the pair `ax`, or two axes side by side in a new figure of `size` inches."""
    plt = pyplot()
    if ax is None:
        left, right = plt.subplots(1, 2, figsize=size, layout="constrained")[1]
        return left, right
    try:
        left, right = ax
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"ax={ax!r} must be two axes, as from plt.subplots(1, 2)[1], because ordinary PCA is "
            "drawn beside ours: give two, or None for a new figure."
        ) from error
    return one_axes(left), one_axes(right)


def one_axes(ax: Any) -> Any:
    """Return `ax` if one can draw on it."""
    if not hasattr(ax, "scatter"):
        raise TypeError(
            f"ax={ax!r} must be matplotlib axes to draw on, as from plt.subplots()[1], or None "
            "for a new figure."
        )
    return ax


def settle(ax: Any, is_new: bool) -> None:
    """Let a new figure find its layout, so that lengths on it are final."""
    if is_new:
        ax.figure.draw_without_rendering()


def legend_outside(ax: Any, handles: Iterable[Any], title: str | None = None) -> Any:
    """Legend to the right of the axes, where no data can be."""
    legend = ax.legend(
        handles=list(handles),
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        frameon=False,
        alignment="left",
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a dollar in a name is a dollar
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):  # points, which may be small and faint where they are many
            handle.set_sizes([36.0])
            handle.set_alpha(1.0)
    return legend


def rows_title(ids: Any) -> str:
    """What a legend is about: rows and, if they have no `ids`, from where they are counted."""
    return f"rows, {FROM_ZERO}" if ids is None else "rows"


def tidy(ax: Any) -> None:
    """Take away the frame's lines that carry no numbers."""
    ax.spines[["top", "right"]].set_visible(False)


def one_line(name: object, longest: int = 32) -> str:
    """A name as a label: on one line, its middle left out beyond `longest` characters."""
    return shortened(" ".join(str(name).split()), longest)
