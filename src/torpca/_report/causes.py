"""Flagged rows by cause: the first thing to read after the map."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._answer import Answer
from torpca._causes import NOT_EXPLAINED, Cause, cause_words
from torpca._report.encode import numbered, packed, prose, short, text
from torpca._report.rows import Detail, Drawn
from torpca._words import counted

# Causes that are listed; the others are counted.
LISTED = 8
LINK = '<a href="#causes">Causes</a>'


def causes_section(answer: Answer) -> str:
    """The causes as a list with buttons that select their rows; empty if no row is flagged."""
    if not answer.causes:
        return ""
    items = "".join(
        f"<li><strong>{text(counted(len(cause.rows), 'row'))}</strong> "
        f"{prose(cause_words(answer, cause, short))} {cause_button(cause, number)}</li>"
        for number, cause in enumerate(answer.causes[:LISTED])
    )
    others = answer.causes[LISTED:]
    if others:
        rows = sum(len(cause.rows) for cause in others)
        items += (
            f"<li><strong>{text(counted(rows, 'row'))}</strong> "
            f"for {text(counted(len(others), 'more cause'))}</li>"
        )
    meaning = (
        "Each band has the largest part in the distance of its rows."
        if answer.profile
        else "Where features are named, the rows would be ordinary if these had the values that "
        "the others predict."
    )
    return (
        '<section id="causes" aria-labelledby="causes-title"><h2 id="causes-title">Causes</h2>'
        f'<p>{meaning} <span class="screen">Select shows the rows in the pictures.</span></p>'
        f'<ul class="causes">{items}</ul></section>'
    )


def cause_button(cause: Cause, number: int) -> str:
    """A button that selects the rows of a cause; none for rows that were not looked at."""
    if cause.words == NOT_EXPLAINED:
        return ""
    said = f"Select {counted(len(cause.rows), 'row')}: {short(cause.words)}"
    return (
        f'<button type="button" class="cause" data-cause="{number}" aria-label="{text(said)}">'
        "Select</button>"
    )


def causes_payload(answer: Answer, drawn: Drawn) -> list[str]:
    """For each listed cause the rows that have it, by their places among those that are drawn."""
    place = np.full(len(answer.ids), -1, dtype=np.int64)
    place[drawn.rows] = np.arange(len(drawn.rows))
    listed = [cause for cause in answer.causes[:LISTED] if cause.words != NOT_EXPLAINED]
    found = (place[cause.rows] for cause in listed)
    return [packed(at[at >= 0], "u4") for at in found]


def reasons_payload(answer: Answer, detail: Detail, names: dict[str, int]) -> dict[str, Any]:
    """Values, expected values and usual ranges of the features that explain the first rows."""
    found = answer.explanation
    m = 0 if answer.profile else min(detail.reasons, len(found.count))
    used = [answer.names[j] for j in found.features[:m].ravel()]
    columns = [found.values, found.expected, found.low, found.high, found.shares]
    return {
        "rows": m,
        "perRow": found.features.shape[1],
        "count": packed(found.count[:m], "u1"),
        # Bits: the row is ordinary without these features; it is far out, but in line.
        "kind": packed(1 * found.mended[:m] + 2 * found.in_line[:m], "u1"),
        "places": packed(numbered(used, names), "u4"),
        "columns": [packed(column[:m], "f8") for column in columns],
    }
