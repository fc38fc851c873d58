"""What was typed, as values."""

from __future__ import annotations

import csv
from contextlib import suppress


def split_names(typed: str | None) -> list[str] | None:
    """Names that were typed with commas between them, those that hold a comma in quotes."""
    if typed is None:
        return None
    return [name.strip() for name in next(csv.reader([typed], skipinitialspace=True), [])]


def rank_of(text: str) -> int | float | str:
    """Number of components from what was typed: a whole number, a share, or "auto"."""
    if text == "auto":
        return text
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(text)
            if number >= 1 if kind is int else 0 < number < 1:
                return number
    raise ValueError(
        f"{text} must be a whole number of components, 1 or more, a share of the variance between "
        "0 and 1, or auto. Leave it out for auto."
    )
