"""What ordinary PCA would have flagged, in a sentence and for each row."""

from __future__ import annotations

import numpy as np

from torpca._answer import Answer
from torpca._report.encode import packed
from torpca._report.rows import Drawn
from torpca._words import counted, whole


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
    others = int(np.count_nonzero(answer.plain_flagged & ~answer.flagged))
    limits = "with limits of the same kind"
    if m == 0:
        flags = f"flags {counted(others, 'row')}" if others else "flags none either"
        return f"Ordinary PCA, {limits}, {flags}."
    these = {1: "this row" if both else "not this row"}.get(
        m, f"{whole(both) if both else 'none'} of these {whole(m)}"
    )
    if both == m > 1:
        these = f"all of these {whole(m)}"
    more = f" and {counted(others, 'other')}" if others else ""
    return f"Ordinary PCA, {limits}, flags {these}{more}."
