"""A warning where the flagged rows are a group with a value of its own in a column of codes."""

from __future__ import annotations

from torpca._estimators.stability import Probe
from torpca._missing.check import name_of
from torpca._sources import RowSource
from torpca._stats.codes import code_of
from torpca._warn import warn

# Numbers that are looked at, but so many rows at least. With more columns than this, one of them
# makes little difference to the distances.
MOST_NUMBERS, FEWEST_ROWS, MOST_COLUMNS = 2**17, 500, 1000


def warn_of_codes(source: RowSource, probe: Probe, who: str) -> None:
    """Warn if the flagged rows of `probe` have one value of a column; `who` warns."""
    if source.shape[1] > MOST_COLUMNS:
        return
    few = max(FEWEST_ROWS, MOST_NUMBERS // source.shape[1])
    some = slice(None, None, 1 + len(probe.rows) // (few + 1))
    found = code_of(source.take(probe.rows[some]), probe.flagged[some])
    if found is None:
        return
    warn(
        f"{who}: {found.among_flagged:.0%} of the flagged rows have {found.value:g} in column "
        f"{name_of(source, found.feature)!r}, and {found.among_others:.0%} of the others do. If "
        "this column is a code, such as yes or no, these rows are a group, and not bad. Leave the "
        "column out, or fit the groups separately.",
        RuntimeWarning,
    )
