"""The choice between candidates: the earlier one wins unless the later one is clearly tighter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torpca._robust.concentration import Candidate
from torpca._robust.tuning import COMPARED, tuning
from torpca._sources.base import Floats


def best_of(found: Sequence[Candidate]) -> Candidate:
    """The candidate whose rows are the tightest; of those that are as good, the first."""
    best = found[0]
    for now in found[1:]:
        if tighter(now, best):
            best = now
    return best


def tighter(a: Candidate, b: Candidate) -> bool:
    """Whether the rows of `a` are clearly tighter about their subspace than those of `b`.

    ====================== ===========================================================
    `a`, `b`               `a` is tighter if
    ====================== ===========================================================
    `a` no majority        never
    both exact             it leaves out less than half as many rows
    a gap in either        its rows vary clearly less along the next direction, or no more, and
                           the gap is clearly larger or the nearest half clearly nearer
    no gap                 never: some half of the rows is nearer to its subspace than all are to
                           theirs, whatever the rows
    ====================== ===========================================================
    """
    t = tuning()
    if less(a.share, t.majority, 1.0) or not has_gap(a, b):
        return False
    if a.exact and b.exact:
        return 1 - a.share < (1 - b.share) / 2
    rough = few_rows(min(a.n_rows, b.n_rows))
    if less(a.next_variance, b.next_variance, t.next_variance**rough):
        return True
    no_more = not less(b.next_variance, a.next_variance, t.closer**rough)
    larger = less(b.gap, a.gap, t.gap ** (rough / 2))
    return no_more and (larger or less(a.half, b.half, t.closer**rough))


def has_gap(a: Candidate, b: Candidate) -> bool:
    """Whether the rows of either vary clearly more inside its subspace than beyond it."""
    return less(1.0, max(a.gap, b.gap), tuning().gap ** few_rows(min(a.n_rows, b.n_rows)))


def few_rows(n: float) -> float:
    """Power of the margins between fits to `n` rows: of few rows all variances are rough."""
    return float(1 + tuning().rough / np.sqrt(n))


def less(a: float, b: float, factor: float) -> bool:
    """Whether `a` is less than `b` by this factor, in as many digits as all processors share."""
    return float(f"{a * factor:.{COMPARED}g}") < float(f"{b:.{COMPARED}g}")


def leaves_noise(c: Candidate, share: float) -> bool:
    """Whether a `share` of the rows agrees, and nothing stands out beyond a gap.

    Then no other candidate can leave less. A subspace that gives up directions of the good rows for
    groups of bad ones, at most as many as it has, leaves them to the residuals, unless the rows
    along them are left out as well.
    """
    if c.exact or c.share < share or not has_gap(c, c):
        return False
    count = c.choice.rank + 1
    variances = c.fit.next_directions(c.keep, count)[1]
    return len(variances) == count and bool(variances[0] <= tuning().noise * variances[-1])


def rival_share(found: Sequence[Candidate], best: Candidate, votes: Floats) -> float:
    """Largest share of the rows near a candidate of which few are near the best one.

    As near as the tighter of the two holds its rows, and more than twice as many; else zero.
    """
    shares = [0.0]
    for c in found:
        limit = min(c.limit, best.limit)
        new, old = (float(votes @ (x.fit.studentised <= limit)) for x in (c, best))
        if new > 2 * old:
            shares.append(new / float(np.sum(votes)))
    return max(shares)


def rival_of(found: Sequence[Candidate], best: Candidate, votes: Floats) -> Candidate | None:
    """The candidate that is as good as the best one and agrees least with it on the rows.

    As good is one that leaves hardly more, and not clearly less. A row is far from a subspace from
    two limits on. None if all of these agree.
    """
    rival, most, t = None, tuning().same_rows, tuning()
    for c in found:
        by, margin = ("next_variance", t.next_variance) if has_gap(c, best) else ("half", t.closer)
        as_good = not less(getattr(best, by), getattr(c, by), margin)
        if as_good and c.share >= t.majority and not tighter(best, c):
            near = [x.fit.studentised <= x.limit for x in (c, best)]
            far = [x.fit.studentised > 2 * x.limit for x in (c, best)]
            apart = (near[0] & far[1]) | (near[1] & far[0])
            share = float(votes @ apart) / float(np.sum(votes))
            rival, most = (c, share) if share > most else (rival, most)
    return rival
