"""What ordinary PCA would have flagged, in a sentence and for each row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torpca._answer import Answer
from torpca._report.encode import packed, short
from torpca._report.rows import Drawn
from torpca._words import counted, listed, whole

# Rows that ordinary PCA alone flags and that are named.
NAMED = 3


def plain_payload(answer: Answer, drawn: Drawn) -> str | None:
    """One bit for each flagged row that is drawn: whether ordinary PCA flags it, too."""
    if answer.plain_flagged is None:
        return None
    bits = np.packbits(answer.plain_flagged[drawn.rows[: drawn.n_flagged]], bitorder="little")
    return packed(bits, "u1")


def plain_words(answer: Answer) -> str:
    """How many of the flagged rows ordinary PCA flags, and how many others; empty if unknown."""
    if answer.plain_flagged is None:
        return ""
    m = len(answer.extreme)
    both = int(np.count_nonzero(answer.plain_flagged & answer.flagged))
    others = np.flatnonzero(answer.plain_flagged & ~answer.flagged)
    limits = "with limits of the same kind"
    if m == 0:
        flags = f"flags {named(answer, others, 'row')}" if len(others) else "flags none either"
        return f"Ordinary PCA, {limits}, {flags}."
    these = {1: "this row" if both else "not this row"}.get(
        m, f"{whole(both) if both else 'none'} of these {whole(m)}"
    )
    if both == m > 1:
        these = f"all of these {whole(m)}"
    more = f" and {named(answer, others, 'other')}" if len(others) else ""
    return f"Ordinary PCA, {limits}, flags {these}{more}."


def named(answer: Answer, rows: npt.NDArray[np.intp], thing: str) -> str:
    """How many rows, and which: the first few by their ids."""
    ids = [short(str(answer.ids[row])) for row in rows[:NAMED]]
    if len(rows) > NAMED:
        ids.append(f"{whole(len(rows) - NAMED)} more")
    return f"{counted(len(rows), thing)} (row{'s' * (len(rows) > 1)} {listed(ids)})"
