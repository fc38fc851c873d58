"""Which rows the page holds, and how much it says about each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from torpca._answer import Answer
from torpca._estimators.labels import UNKNOWN
from torpca._kinds import MOST_GOOD, some_of


@dataclass(frozen=True)
class Detail:
    """How much a page holds."""

    good: int
    """Good rows drawn, at most."""
    components: int
    """Components with scores, at most."""
    explained: int | None = None
    """Flagged rows, the most extreme, with the features that made them so; None: all."""
    labelled: int | None = None
    """Rows with their ids, the others having their row numbers; None: all."""
    flagged: int | None = None
    """Flagged rows drawn; None: all."""
    coarse: bool = False
    """Whether distances are in half as many bytes: to the third digit, about."""
    reasons: int = 2_000
    """Flagged rows, the most extreme, with values and usual ranges of what explains them."""
    values: int = 200_000
    """Values of single rows, at most."""


SOME, FEW = 50_000, 10_000
COARSE = Detail(
    good=10_000,
    components=2,
    explained=2_000,
    labelled=2_000,
    coarse=True,
    reasons=200,
    values=FEW,
)
# From a page that holds all to one that fits in LARGEST whatever the data: the first that fits is
# taken. The third serves a million rows of which one in ten is flagged, the last but one a million
# of which nearly half are.
DETAILS = (
    Detail(good=MOST_GOOD, components=4),
    Detail(good=MOST_GOOD, components=2),
    Detail(good=MOST_GOOD, components=2, explained=20_000),
    Detail(good=MOST_GOOD, components=2, explained=5_000, values=SOME),
    Detail(good=MOST_GOOD, components=2, explained=5_000, labelled=20_000, values=SOME),
    Detail(good=MOST_GOOD, components=2, explained=2_000, labelled=2_000, values=SOME),
    COARSE,
    replace(COARSE, components=1),
    replace(COARSE, components=1, flagged=400_000),
)
# Bytes of a page.
LARGEST = 8_000_000


@dataclass(frozen=True)
class Drawn:
    """Rows drawn: the flagged ones, most extreme first, then good ones in their order."""

    rows: npt.NDArray[np.intp]
    """Their numbers among all rows."""
    n_flagged: int
    """How many of them are flagged."""


def drawn_rows(answer: Answer, detail: Detail) -> Drawn:
    """All flagged rows and, of the good ones, a sample that is the same each time."""
    flagged = answer.extreme if detail.flagged is None else answer.extreme[: detail.flagged]
    good = some_of(answer.sampled if len(answer.sampled) else good_rows(answer), detail.good)
    return Drawn(np.concatenate([flagged, good]), len(flagged))


def good_rows(answer: Answer) -> npt.NDArray[np.intp]:
    """Numbers of the rows that are neither flagged nor without judgement."""
    return np.flatnonzero(~answer.flagged & (answer.types != UNKNOWN))


def least_bytes(answer: Answer, detail: Detail) -> int:
    """Bytes that a page takes at least, found without making it: its packed numbers."""
    n_flagged = min(len(answer.extreme), detail.flagged or len(answer.extreme))
    n_good = min(answer.n_judged - len(answer.extreme), detail.good)
    components = min(answer.scores.shape[1], detail.components)
    # Number and kind, two distances, coordinates twice; see `payload`.
    per_row = 4 + 2 * (2 if detail.coarse else 4) + 2 * 2 * components
    explained = min(n_flagged, detail.explained or n_flagged)
    per_explained = 3 * max(map(len, answer.features), default=0)
    # Base64 has four letters for three bytes.
    return (per_row * (n_flagged + n_good) + per_explained * explained) * 4 // 3
