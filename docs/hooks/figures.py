"""Figures in pages: drawn by matplotlib, in the colours of the page, whether light or dark."""

from __future__ import annotations

import html
import io
import re
from typing import Any

# What is drawn in this colour gets that of the page's text, whether light or dark. The displays
# draw limits in dark greys and rims in white, which are text and paper too, and two kinds of rows
# in blue and red that are too dark for dark pages.
INK = "#010203"
ON_PAGE = {
    INK: "currentColor",
    "#404040": "currentColor",
    "#1a1a1a": "currentColor",
    "#0072b2": "var(--drawn-blue)",
    "#a50026": "var(--drawn-red)",
    "#ffffff": "var(--md-default-bg-color)",
}
# Grey, green, orange and red that read on white and on black, and differ in lightness too.
COLOURS = ("#7d8ea3", "#1f9e72", "#e08e00", "#d1344f")


def style() -> dict[str, Any]:
    """Settings of matplotlib under which figures read on light and dark pages."""
    from cycler import cycler  # noqa: PLC0415 (comes with matplotlib)

    ink = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(ink, INK),
        "axes.facecolor": "none",
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.facecolor": "none",
        "figure.figsize": (7.2, 3.8),
        "figure.constrained_layout.use": True,
        "font.size": 9.5,
        "legend.frameon": False,
        "savefig.dpi": 160,
        "savefig.facecolor": "none",
        "svg.hashsalt": "torpca",  # the same figure, the same file
    }


def svg_of(figure: Any) -> str:
    """A figure as SVG, the same text for the same figure."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # No line is empty: one would end the block in Markdown. None ends in blanks: tools remove them.
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


def in_page(svg: str, words: str) -> str:
    """An SVG inside a page, in the page's colours, with `words` as its caption."""
    for drawn, on_page in ON_PAGE.items():
        svg = svg.replace(drawn, on_page)
    words = html.escape(words)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)
    return f'<figure class="drawn">\n{svg}<figcaption>{words}</figcaption>\n</figure>'


def picture(figure: Any) -> str:
    """A figure inside the page, with its label, which every figure must have, as the caption."""
    label = figure.get_label()
    if not label:
        raise ValueError("a figure needs words: plt.subplots(num='What it shows').")
    return in_page(svg_of(figure), label)
