"""What a fit found, in words: the number of components and why, and the rows by kind."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from torpca._estimators.labels import TYPES
from torpca._numbers import counted, whole

# Why there are so many components, for each rule of `RankChoice`; `{gap}` and `{explained}` are
# filled in where they are known.
REASONS = {
    "given": "as asked for",
    "gap": "where the variance drops{gap}",
    "share": "explaining {explained} of the variance",
    "edge": "the most considered, as no gap was found",
    "exact": "as more than half of the rows lie in so many directions exactly",
    "searched": "found by trying ranks",
}


def rank_rule(estimator: Any) -> str:
    """Rule that decided on the number of components of a fitted estimator; see `RankChoice`."""
    if hasattr(estimator, "rank_"):
        return str(estimator.rank_.rule)
    return "searched" if hasattr(estimator, "ranks_tried_") else "given"


def reason_for_rank(rule: str, gap: float | None = None, explained: float | None = None) -> str:
    """Why there are so many components, in half a sentence."""
    if rule not in REASONS:  # somebody's own words, given to a picture
        return rule
    drop = "" if gap is None else f" {count(gap)} times" if isfinite(gap) else " to nothing"
    share = "enough" if explained is None else percent(explained)
    return REASONS[rule].format(gap=drop, explained=share)


def components(k: int) -> str:
    """`k` components, in words."""
    return counted(k, "component")


def count(number: float) -> str:
    """A large number as people say it: two digits below ten, whole ones above."""
    if 10 <= number < 1e6:
        return whole(round(number))
    return f"{number:.2g}" if number < 10 else f"{number:.0e}"


def percent(share: float) -> str:
    """A share in per cent, with two digits that tell it from nothing and from all."""
    edge = min(share, 1.0 - share)
    if 1e-12 < edge < 5e-5:  # less than that is rounding
        return "< 0.01 %" if share < 0.5 else "> 99.99 %"
    digits = 0 if edge >= 0.0995 or edge <= 1e-12 else 1 if edge >= 0.00095 else 2
    return f"{100 * share:.{digits}f} %"


def rows_by_type(estimator: Any) -> dict[str, int]:
    """Number of training rows of each kind, also of kinds without any."""
    # As truth values: the text of `outlier_type_` takes fifty bytes a row.
    beyond = [-r < estimator.offset_ for r in estimator._relative(*estimator._training)]
    return {
        str(TYPES[i, j]): int(np.count_nonzero((beyond[0] == i) & (beyond[1] == j)))
        for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))
    }
