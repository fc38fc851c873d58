"""Arrays and text in few bytes, and so that a browser takes them for nothing but data."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Floats
from torpca._words import shortened

# Steps of a coded coordinate on either side of zero.
STEPS = 32767
# Names longer than this are cut in the report.
LONGEST_NAME = 120
# What no page should hold: controls other than tab and newline, halves of surrogate pairs, and
# marks that turn the direction of text, of what follows too.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
A_TIME = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?")
SURROGATE = re.compile("[\ud800-\udfff]")


def packed(values: Any, dtype: str) -> str:
    """Base64 of the values as little-endian numbers of `dtype`."""
    array = np.ascontiguousarray(np.asarray(values), dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")


def packed_distances(distances: Floats, unit: float) -> dict[str, Any]:
    """Distances as multiples of `unit`, in single precision."""
    if not (np.isfinite(unit) and unit > 0):
        unit = float(np.max(distances, initial=0.0)) or 1.0
    # Multiples that single precision, and their product with the unit that double precision, hold.
    most = min(1e30, np.finfo(np.float64).max / max(unit, 1.0) / 2)
    with np.errstate(over="ignore"):
        multiples = np.minimum(np.asarray(distances) / unit, most)
    return {"unit": unit, "values": packed(multiples, "f4")}


def packed_scores(scores: Floats, spread: float) -> dict[str, Any]:
    """Coordinates in two bytes each: steps of asinh(score / unit), fine near zero, coarse far out.

    `spread` is the standard deviation of the good rows, which the steps must resolve however far
    out the bad rows are.
    """
    largest = float(np.max(np.abs(scores), initial=0.0))
    unit = spread / 10 if np.isfinite(spread) and spread > 0 else largest / 10
    unit = max(unit or 1.0, largest * 1e-300)
    top = float(np.arcsinh(largest / unit)) or 1.0
    steps = np.rint(np.arcsinh(np.asarray(scores) / unit) * (STEPS / top))
    return {"unit": unit, "top": top / STEPS, "values": packed(steps, "i2")}


def safe_json(value: Any) -> str:
    """JSON for a script element: without `<`, `>` and `&`, nothing in it can end the element."""
    # As it is: escapes would take six bytes for each letter of most languages.
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    # All of these occur within strings only, where they may be written as escapes.
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def text(value: object) -> str:
    """Any text as text of a page: nothing in it is an element or ends an attribute."""
    return html.escape(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True)


def prose(value: object) -> str:
    """Text of a paragraph: the same, in which no time is torn apart at the end of a line."""
    return A_TIME.sub(r'<span class="when">\g<0></span>', text(value))


def short(name: str) -> str:
    """The name, cut if it is very long."""
    return shortened(name, LONGEST_NAME)


def finite(value: float) -> float | None:
    """The number, or None for one that JSON has no word for."""
    return float(value) if np.isfinite(value) else None


def numbered(names: list[str], known: dict[str, int]) -> npt.NDArray[np.int64]:
    """Numbers of the names in `known`, to which new ones are added."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
