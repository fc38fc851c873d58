"""A subspace together with the two parts the data was split into."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from torpca._core.result import RobustSubspace
from torpca._sources.base import Floats
from torpca.rivals._door import Table


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


def split(found: RobustSubspace, table: Table, low_rank: Floats, rest: Floats) -> Split:
    """`found`, with the two parts (n_rows, n_features) of the table beside it, for the user."""
    same = {f.name: getattr(found, f.name) for f in fields(RobustSubspace)}
    with np.errstate(over="ignore"):  # what no float can hold is infinite
        low_rank, rest = table.unit * low_rank, table.unit * rest
    export = table.source.export
    return Split(**same, low_rank=export(low_rank), rest=export(rest))
