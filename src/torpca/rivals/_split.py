"""A subspace together with the two parts the data was split into."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from torpca._core.result import RobustSubspace


@dataclass(frozen=True)
class Split(RobustSubspace):
    """Subspace of methods that write the rows as a low-rank part plus a rest.

    Both parts are in the user's numbers and about `mean`: low_rank + mean are the good parts of
    the rows.
    """

    low_rank: Any = field(default=None, repr=False)
    """Low-rank part, (n_rows, n_features)."""
    rest: Any = field(default=None, repr=False)
    """Sparse part: whole rows, or entries, that do not fit the low-rank part;
    (n_rows, n_features)."""


def split(found: RobustSubspace, low_rank: Any, rest: Any) -> Split:
    """`found`, with the two parts (n_rows, n_features) beside it, as they are."""
    same = {f.name: getattr(found, f.name) for f in fields(RobustSubspace)}
    return Split(**same, low_rank=low_rank, rest=rest)
