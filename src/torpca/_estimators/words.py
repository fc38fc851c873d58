"""What a fit found, in words: the number of components and why, and the rows by kind."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from torpca._estimators.limits import TYPES
from torpca._estimators.stability import Stability
from torpca._words import counted, listed, percent, whole

# Labels that differ in more than this share of the rows are not the same.
CHANGED = 0.02

# Why there are so many components, for each rule of `RankChoice`; `{gap}` and `{explained}` are
# filled in where they are known.
REASONS = {
    "given": "as requested",
    "gap": "where the variance drops{gap}",
    "share": "explaining {explained} of the variance",
    "edge": "the largest number considered, because there is no gap",
    "exact": "because more than half of the rows lie exactly in so many directions",
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


def rows_by_type(estimator: Any) -> dict[str, int]:
    """Number of training rows of each kind, also of kinds without any."""
    # As truth values: the text of `outlier_type_` takes fifty bytes a row.
    fitted = estimator.subspace_
    beyond = [-r < fitted.limits.offset for r in fitted.limits.relative(*fitted.training)]
    return {
        str(TYPES[i, j]): int(np.count_nonzero((beyond[0] == i) & (beyond[1] == j)))
        for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))
    }


def stability_words(found: Stability | None, n: int) -> list[str]:
    """How many of n rows other numbers of components flag, if they are others."""
    if found is None:
        return []
    others = [refit for refit in found.refits if refit.n_components != found.n_components]
    if all(refit.share_changed <= CHANGED for refit in others):
        return []
    some = f" of {whole(found.n_rows)} looked at" if found.n_rows < n else ""
    numbers = {refit.n_components: refit.n_flagged for refit in others}
    numbers[found.n_components] = found.n_flagged
    said = listed(
        [f"{whole(m)} with {counted(k, 'component')}" for k, m in sorted(numbers.items())]
    )
    return [f"How many rows{some} are flagged depends on this number: {said}."]
