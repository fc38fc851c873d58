"""How many directions the good rows spread in."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from torpca._core.directions import ROUNDING
from torpca._robust.tuning import COMPARED, tuning
from torpca._sources.base import Floats


@dataclass(frozen=True)
class RankRule:
    """What decides on the number of components: a gap in the variances, unless one is given."""

    given: int | None = None
    """The number itself, ..."""
    share: float | None = None
    """... or the share of the variance that the components must explain."""

    @classmethod
    def of(cls, n_components: int | float | str) -> RankRule:
        """What a user's `n_components` asks for; NumPy's numbers are numbers too."""
        if isinstance(n_components, str):
            return cls()
        if isinstance(n_components, Integral):
            return cls(given=int(n_components))
        return cls(share=float(n_components))


@dataclass(frozen=True)
class RankChoice:
    """A number of components and the reason for it."""

    rank: int
    rule: str
    """Why: "given", "gap", "share", "edge" (by share, and the largest number allowed) or
    "exact" (more than half of the rows lie in this many directions up to rounding)."""
    variances: Floats
    """Variances of the kept rows along their principal directions, as shares of their sum."""
    gap: float
    """Variance of the last component divided by that of the next direction; infinite if none."""
    explained: float
    """Share of the variance that the components explain."""


def choose_rank(rule: RankRule, variances: Floats, n_rows: int | None = None) -> RankChoice:
    """Return a rank for good rows with these principal `variances`, largest first.

    Unless a number or a share is given, a decisive gap is looked for: noise is flat, so the
    variance drops many times where the signal ends. Data without such a gap have no true rank; the
    leading directions that explain 90 % are taken, as far as the number of all rows, good and bad,
    allows: one for ten rows. A gap is looked for among half as many directions as half of the rows:
    any of these lie near a subspace of more.
    """
    t, v = tuning(), above_rounding(variances)
    if rule.given is not None:
        return choice_of(rule.given, "given", v)
    wanted = t.explained if rule.share is None else rule.share
    explained = np.round(np.cumsum(v) / np.sum(v), COMPARED) if v[0] > 0 else np.ones(1)
    by_share = min(int(np.searchsorted(explained, wanted * (1 - 1e-12))) + 1, len(v))
    if rule.share is not None:
        return choice_of(by_share, "share", v)
    n_rows = t.rows_per_dimension * len(v) if n_rows is None else n_rows
    most = min(len(v) // 2, max(1, (n_rows // 2 - 1) // 2))
    if most >= 1:
        gaps = np.round(v[:most] / v[1 : most + 1], COMPARED)
        at = int(np.argmax(gaps))
        if gaps[at] >= t.decisive_gap:
            return choice_of(at + 1, "gap", v)
    edge = min(t.most_by_share, max(1, n_rows // t.rows_per_dimension))
    if by_share > edge:
        return choice_of(edge, "edge", v)
    return choice_of(by_share, "share", v)


def exact_rank(variances: Floats, n_rows: int) -> RankChoice | None:
    """Return the rank of `n_rows` different rows that leave most directions empty, or None.

    Few rows leave most directions empty whatever they are: they must be twice as many as the
    directions they spread in, and the one that is lost to their mean.
    """
    v = above_rounding(variances)
    most = min(len(variances) // 2, (n_rows - 1) // 2)
    return None if v[0] == 0.0 or len(v) > most else choice_of(len(v), "exact", v)


def above_rounding(variances: Floats) -> Floats:
    """Return the leading variances, without those that are rounding; at least one."""
    return variances[variances > ROUNDING * variances[0]] if variances[0] > 0 else variances[:1]


def choice_of(rank: int, rule: str, v: Floats) -> RankChoice:
    """Record of a choice among the variances `v`."""
    at = min(rank, len(v))
    gap = float(v[at - 1] / v[at]) if at < len(v) else np.inf
    shares = v / np.sum(v) if v[0] > 0 else np.ones(1)
    return RankChoice(rank, rule, shares, gap, float(np.sum(shares[:at])))
