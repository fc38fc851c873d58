"""The part of the page on loadings: what each component is made of, and a biplot."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._answer import Answer
from torpca._bands import named_bands
from torpca._report.controls import plot_tools
from torpca._report.encode import packed, short, text
from torpca._report.points import first_features, largest_within
from torpca._report.scaling import scaled_words
from torpca._words import whole

# Components with a picture of their own; features named for each in words, and arrows at most.
COMPONENTS, NAMED, ARROWS = 6, 6, 10
# Arrows of neighbours in a spectrum say the same: they are this share of the features apart.
APART = 0.04
# From so many features on loadings are a curve rather than bars.
MANY = 40

MINUS = "\N{MINUS SIGN}"
LINK = '<a href="#loadings">Loadings</a>'


def loadings_payload(answer: Answer) -> dict[str, Any]:
    """Loadings of the first components, of many features the largest of each part."""
    V = answer.components[:COMPONENTS]
    d = V.shape[1]
    starts = first_features(d)
    return {
        "d": d,
        "many": MANY,
        "names": [short(answer.names[j]) for j in starts],
        "values": [packed(row, "f4") for row in largest_within(V, starts)],
        "arrows": arrows(answer),
    }


def arrows(answer: Answer) -> list[dict[str, Any]]:
    """Features with the largest loadings on any of the components, with all of these loadings."""
    V = answer.components[:COMPONENTS]
    if len(V) < 2:
        return []
    apart = APART * V.shape[1] if V.shape[1] >= MANY else 0.0
    chosen: list[int] = []
    for j in np.argsort(-np.max(np.abs(V[:4]), axis=0), kind="stable")[:2000].tolist():
        if all(abs(j - other) >= max(apart, 1) for other in chosen):
            chosen.append(j)
        if len(chosen) == ARROWS:
            break
    return [{"name": short(answer.names[j]), "at": V[:, j].tolist()} for j in chosen]


def loadings_section(answer: Answer) -> str:
    """The section; empty if there is no component."""
    k = len(answer.components)
    if k == 0:
        return ""
    biplot = (
        "<figure><figcaption><strong>Biplot</strong>: the rows, and the features as arrows"
        '</figcaption><div id="biplot" class="plot" role="application" tabindex="0" '
        'aria-roledescription="scatter plot" aria-label="Biplot of the rows and features" '
        'aria-describedby="map-help"></div></figure>'
        if k > 1
        else ""
    )
    tools = (
        '<div class="tools" role="group" aria-label="Biplot"><span id="loading-axes"></span>'
        f"{plot_tools('biplot')}</div>"
    )
    some = f" The first {COMPONENTS} of {whole(k)} components are shown." if k > COMPONENTS else ""
    arrow = (
        " In the biplot a row lies far along an arrow if it has much of its feature; all arrows "
        'are drawn to one scale. It begins with the good rows<span class="screen">; the button All '
        "rows shows those far out</span>."
        if k > 1
        else ""
    )
    return (
        '<section id="loadings" aria-labelledby="loadings-title">'
        f'<h2 id="loadings-title">Loadings <small>{scaled_words(answer)}</small></h2>'
        "<p>A loading is the weight of a feature in a component; the squares of the loadings of a "
        f"component add up to 1. Signs are arbitrary, but common to a component.{some}{arrow}</p>"
        f"{tools if k > 1 else ''}"
        f'<div class="{"halves" if k > 1 else ""}"><figure><figcaption><strong>Loadings</strong> '
        'by component</figcaption><div id="loading-bars" class="chart" role="img" '
        f'aria-label="Loadings; the list below has the largest"></div></figure>{biplot}</div>'
        f"{largest(answer)}</section>"
    )


def largest(answer: Answer) -> str:
    """The largest loadings of each component in words, to unfold."""
    items = ""
    for number, row in enumerate(answer.components[:COMPONENTS], start=1):
        squares = np.sign(row) * row**2
        named = named_bands(squares, answer.names, NAMED, short)
        said = ", ".join(
            f"{name} {'+' if share > 0 else MINUS}{100 * abs(share):.0f}%"
            for name, share in named
            if abs(share) >= 0.005
        )
        items += f"<li>Component {number}: {text(said)}</li>"
    return (
        "<details><summary>The largest, as shares of the squared loadings</summary>"
        f"<ul>{items}</ul></details>"
    )
