"""What is missing, in words and as JSON has it."""

from __future__ import annotations

from typing import Any

from torpca._answer import Answer
from torpca._estimators.limits import UNKNOWN
from torpca._missing_cells import Together, together
from torpca._words import counted, whole

# Columns in the summary, those with most missing cells.
COLUMNS = 10


def how_much(answer: Answer) -> str:
    """``1,234 of 60,000 cells, in 812 rows``; empty if none is missing."""
    missing = answer.missing
    if not missing.cells:
        return ""
    return (
        f"{whole(missing.cells)} of {counted(missing.total, 'cell')}, in "
        f"{counted(missing.rows, 'row')}"
    )


def what_was_done(answer: Answer) -> str:
    """What became of rows with missing cells, half a sentence."""
    if len(answer.dropped.ids):
        one = len(answer.dropped.ids) == 1
        return f"{'that row was' if one else 'those rows were'} left out (--missing drop-rows)"
    few = len(answer.unknown)
    done = "judged by the cells they have"
    if not few:
        return done
    return f"{done}; {counted(few, 'row')} {'has' if few == 1 else 'have'} too few to be judged"


def missing_summary(answer: Answer) -> dict[str, Any]:
    """The same for scripts; see `torpca._outputs.summary`."""
    missing = answer.missing
    found = flagged_and_missing(answer)
    return {
        "cells": missing.cells,
        "share": missing.share,
        "rows": missing.rows,
        "dropped": len(answer.dropped.ids),
        "unknown": len(answer.unknown),
        "columns": [
            {"name": answer.names[j], "cells": int(missing.of_columns[j])}
            for j in missing.worst[:COLUMNS].tolist()
        ],
        "share_of_flagged_rows": None if found is None else found.flagged,
        "share_of_other_rows": None if found is None else found.others,
    }


def flagged_and_missing(answer: Answer) -> Together | None:
    """Whether more is missing in flagged rows than in others, those apart that are not judged."""
    if not answer.missing.cells:
        return None
    return together(
        answer.missing.of_rows, len(answer.names), answer.flagged, answer.types != UNKNOWN
    )
