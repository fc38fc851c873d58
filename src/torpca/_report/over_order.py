"""The part of the page on rows in their order: their distances, and whether these drift."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._answer import Answer
from torpca._cusum import (
    DECISION,
    FARTHEST,
    REFERENCE,
    RUN_LENGTH,
    Alarm,
    alarms,
    upper_cusum,
)
from torpca._report.controls import plot_tools
from torpca._report.encode import packed, prose, short, text
from torpca._report.places import Places, packed_places, places_of
from torpca._report.rows import Drawn
from torpca._sources.base import Floats
from torpca._words import counted, listed, whole

# Points of a CUSUM on the page, and alarms that are named.
POINTS, NAMED = 1200, 3
WHICH = {"score": "score distance", "orthogonal": "orthogonal distance"}


def distances_of(answer: Answer, which: str) -> Floats:
    """Distances (n,) of one kind."""
    return answer.score_distances if which == "score" else answer.orthogonal_distances


def cusums(answer: Answer, places: Places) -> dict[str, Floats]:
    """Upper CUSUM of each distance over the rows in their order, for which there is a reference."""
    found = {}
    for which in WHICH:
        reference = answer.references.get(which)
        if reference is not None:
            distances = distances_of(answer, which)[places.order]
            found[which] = upper_cusum(reference.standardised(distances))
    return found


def order_payload(answer: Answer, drawn: Drawn) -> dict[str, Any]:
    """Where the rows stand, and the CUSUM of both distances: its highest points, of many rows."""
    places = places_of(answer)
    order = places.order
    curves = {}
    for which, cusum in cusums(answer, places).items():
        at = highest_points(cusum)
        curves[which] = {
            "x": packed(places.values[order[at]], "f8"),
            "y": packed(cusum[at], "f4"),
        }
    return {**packed_places(places, drawn.rows), "cusum": curves, "decision": DECISION}


def highest_points(cusum: Floats) -> npt.NDArray[np.intp]:
    """Places of all points or, of many, of the highest of each of POINTS equal parts."""
    n = len(cusum)
    if n <= POINTS:
        return np.arange(n)
    starts = np.linspace(0, n, POINTS + 1).astype(np.intp)
    parts = pairwise(starts.tolist())
    return np.array([low + int(np.argmax(cusum[low:high])) for low, high in parts])


def order_section(answer: Answer) -> str:
    """The section: words here, pictures by the scripts."""
    places = places_of(answer)
    title = "Rows by time" if places.kind != "row" else "Rows in their order"
    across = "time" if places.kind != "row" else "row order"
    figures = "".join(
        f"<figure><figcaption><strong>{name.capitalize()}</strong> against {across}</figcaption>"
        f'<div id="order-{which}" class="plot wideplot" role="application" tabindex="0" '
        f'aria-roledescription="scatter plot" aria-label="{name.capitalize()} against {across}" '
        'aria-describedby="map-help"></div></figure>'
        for which, name in WHICH.items()
    )
    known = cusums(answer, places)
    chart = (
        f"<figure><figcaption><strong>CUSUM</strong> of both distances against {across}"
        '</figcaption><div id="cusum" class="chart" role="img" '
        f'aria-label="{text(" ".join(alarm_words(answer, places)))}"></div></figure>'
        if known
        else ""
    )
    said = [*order_words(answer, places), *alarm_words(answer, places)]
    return (
        f'<section id="order" aria-labelledby="order-title"><h2 id="order-title">{title}</h2>'
        f"<p>{prose(' '.join(said))}</p>"
        '<div class="tools" role="group" aria-label="Rows in their order">'
        f"{plot_tools('order')}"
        '<label><input type="checkbox" id="order-log"> Logarithmic distances</label></div>'
        f"{figures}{chart}{how_words() if known else ''}</section>"
    )


# ---- words ---------------------------------------------------------------------------------------


def order_words(answer: Answer, places: Places) -> list[str]:
    """What stands across, and what is missing there."""
    said = ["The dashed lines are the limits."]
    if places.kind == "row":
        said.append(
            "This is of use if the order of the rows means something, such as the order in which "
            "they were measured."
        )
    if places.unread:
        said.append("The times of the rows are neither dates nor numbers, so rows are counted.")
    without = len(answer.ids) - len(places.order)
    if without:
        said.append(f"{counted(without, 'row')} without a time {are(without)} not shown here.")
    return said


def alarm_words(answer: Answer, places: Places) -> list[str]:
    """Where the distances rise and stay up."""
    said, order, by_chance = [], places.order, len(places.order) / RUN_LENGTH
    for which, cusum in cusums(answer, places).items():
        found = alarms(cusum)
        if not found:
            said.append(f"The CUSUM of the {WHICH[which]}s stays below its limit.")
            continue
        found.sort(key=lambda alarm: -float(cusum[alarm.peak]))
        highest = sorted(found[:NAMED], key=lambda alarm: alarm.start)
        runs = listed([run_words(answer, alarm, order, places) for alarm in highest])
        most = "; the highest: " if len(found) > NAMED else ": "
        times = {1: "once", 2: "twice"}.get(len(found), f"{whole(len(found))} times")
        said.append(f"The {WHICH[which]}s drift upwards {times}{most}{runs}.")
    if said and by_chance >= 1:
        said.append(
            f"Of independent good rows about one in {whole(RUN_LENGTH)} starts a false alarm: here "
            f"about {whole(round(by_chance))} for each distance."
        )
    return said


def run_words(answer: Answer, alarm: Alarm, order: npt.NDArray[np.intp], places: Places) -> str:
    """From where to where the distances are larger."""
    first, last = (name_of(answer, int(order[at]), places) for at in (alarm.start, alarm.peak))
    return f"from {first} to {last}" if first != last else f"at {first}"


def name_of(answer: Answer, row: int, places: Places) -> str:
    """A row by its time, or by its id."""
    if places.kind == "time":
        said = str(np.datetime64(int(places.values[row]), "ms").astype("datetime64[s]"))
        return said.removesuffix("T00:00:00").removesuffix(":00").replace("T", " ")
    if places.kind == "number":
        return f"{places.values[row]:g}"
    return f"row {short(str(answer.ids[row]))}"


def how_words() -> str:
    """How the CUSUM is made, to unfold."""
    return (
        "<details><summary>How the CUSUM is made</summary><p>Each distance to the power 2/3, which "
        "is about Gaussian for good rows (Wilson and Hilferty 1931), is standardised by the centre "
        f"and the spread of the good rows and cut off at {FARTHEST:g} standard deviations, so that "
        "three bad rows in a run raise no alarm. The CUSUM adds up what exceeds the reference "
        f"value k = {REFERENCE:g} and is never below zero; above the decision limit "
        f"h = {DECISION:g} the distances have drifted, by about one standard deviation or more "
        "(Page 1954; Montgomery, "
        "Introduction to Statistical Quality Control). Good rows that do not depend on each other "
        f"exceed it about once in {whole(RUN_LENGTH)} rows; rows that resemble the one before do "
        "more often.</p></details>"
    )


def are(n: int) -> str:
    """The verb for n things."""
    return "is" if n == 1 else "are"
