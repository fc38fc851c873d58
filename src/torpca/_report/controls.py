"""Controls that several pictures have."""

from __future__ import annotations


def plot_tools(plot: str) -> str:
    """What dragging does, zoom, and which rows are in view, for the pictures called `plot`."""
    return (
        '<span class="modes" role="radiogroup" aria-label="What dragging does" '
        f'data-modes="{plot}"></span>'
        f'<button type="button" data-zoom="in" data-plot="{plot}" aria-label="Zoom in">+</button>'
        f'<button type="button" data-zoom="out" data-plot="{plot}" aria-label="Zoom out">&minus;'
        f'</button><button type="button" data-zoom="good" data-plot="{plot}">Good rows</button>'
        f'<button type="button" data-zoom="home" data-plot="{plot}">All rows</button>'
    )
