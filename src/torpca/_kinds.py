"""Kinds of rows as pictures show them, in matplotlib and in the report: colours, signs, samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Good rows drawn: more would only make the same cloud darker, slowly.
MOST_GOOD = 20_000


@dataclass(frozen=True)
class Look:
    """How rows of one kind are drawn."""

    light: str
    """Colour on a light ground, ..."""
    dark: str
    """... and on a dark one."""
    marker: str
    """Sign, as matplotlib calls it; the report has the same shapes."""


# From the least to the most extreme, each drawn over those before. Colours differ in lightness as
# well as in hue, so that they are told apart by everyone and in grey.
LOOKS = {
    "regular": Look("#8a9199", "#8b97a5", "o"),
    "good leverage": Look("#0072b2", "#5cabff", "^"),
    "orthogonal": Look("#c47700", "#f0a23c", "D"),
    "bad leverage": Look("#a50026", "#ff6f8b", "s"),
}
KINDS = tuple(LOOKS)


def some_of(rows: npt.NDArray[np.intp], most: int = MOST_GOOD) -> npt.NDArray[np.intp]:
    """The rows or, of more than `most`, some in their order, the same in every picture."""
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
