"""Whether the columns were scaled, said where it matters."""

from __future__ import annotations

from torpca._answer import Answer


def scaled_words(answer: Answer) -> str:
    """A few words, for headings and names of axes."""
    return "columns scaled" if answer.scaled else "columns not scaled"
