"""A start on a sample of rows: candidate halves, each concentrated, and the choice between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from torpca._robust.concentrate import Candidate, concentrated, of_rank
from torpca._robust.ellipsoid import Ellipsoid, within_ellipsoid
from torpca._robust.leverage import leave_leverage_out
from torpca._sample.draw import Sample, draw_sample
from torpca._sample.fit import principal_variances
from torpca._sample.halves import least_outlying, nearest_to_subsets, sides
from torpca._select.rank import RankChoice, RankRule, choose_rank
from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask
from torpca._stats.rule import Cutoffs, much_closer, rough_by
from torpca._tuning import tuning

# Samples of more than this many times the rows of a part are worth one.
WORTH_A_PART = 1.5
# Share of the rows from which on a candidate has nearly all of them.
NEARLY_ALL = 0.97
# Without a gap some half of the rows is nearer to its subspace than all are to theirs, whatever the
# rows: a candidate must keep more than that. (Without it, philips has other labels from other
# starts.)
MORE_THAN_A_HALF = 0.6
# Standard deviations by which a share of a part of the sample may be off.
UNSURE = 2.0
# Share of the rows that are most of them, share of some that is surely more than half of all, and
# ratio of the first of the next variances to the last that noise makes (seen: up to 1.6).
MOST, MAJORITY, NOISE_RATIO = 0.8, 0.55, 1.6
# One that holds this many times as many without being a majority is worth a word.
RIVAL = 2.0


@dataclass(frozen=True)
class Start:
    """Where the iterations on all rows begin."""

    keep: Mask
    """Rows of the sample that agree on a subspace, among all rows, (n_rows,)."""
    choice: RankChoice
    name: str
    """Which candidate won: "pairs", "strict", "side" or "subsets"."""
    others: float
    """Share of the rows that agree on another subspace at least as well, in which those that
    agree on this one do not lie; zero if there is none."""
    cuts: Cutoffs
    """Cut-offs that the sample asks for."""
    ellipsoid: Ellipsoid | None
    """Rows near the others in all directions, to go by if there turns out to be no gap."""
    n_candidates: int
    """Number of different candidates between which there was a choice at the end."""
    n_sample: int
    """Rows looked at."""
    n_points: int
    """Number of different rows, rounding apart, that make up half of those looked at."""

    def among(self, rows: npt.NDArray[np.intp], n_rows: int) -> Start:
        """The same for a table of `n_rows` rows, of which these were the rows numbered `rows`."""
        keep = np.zeros(n_rows, dtype=bool)
        keep[rows[self.keep]] = True
        return replace(self, keep=keep, ellipsoid=None)


def find_start(
    source: RowSource,
    magnitudes: Floats,
    rule: RankRule,
    *,
    center: bool,
    weights: Floats,
    n_sample: int | None,
    rng: np.random.Generator,
) -> Start:
    """Sample rows, concentrate candidate halves, choose one, and look at its leverage rows.

    `magnitudes` (n_rows,) are those of `source.magnitudes()`.
    """
    sample = draw_sample(source, magnitudes, rule, center, weights, n_sample, rng)
    # As in FAST-MCD (Rousseeuw and Van Driessen 1999), candidates are found on a part of the
    # sample, and those that may be the best are concentrated once more on all of it.
    count = max(tuning().first_rows, 2 * tuning().rows_per_direction * (rule.given or 0))
    part = sample.first(count) if len(sample.Z) > WORTH_A_PART * count else sample
    found = distinct(candidates(part, rule, rng))
    last = found if part is sample else on_all_of(sample, contenders(found, part.weights), rule)
    best = best_of(last, sample)
    held = [shares_held(c, best, part.weights) for c in found]
    choice = best.choice
    if choice.rule == "given":
        choice = choose_rank(rule, principal_variances(sample, best.keep))
    keep, cuts = leave_leverage_out(sample, best, rng)
    gap = best.exact or choice.rank == 0 or has_gap(best, best)
    return Start(
        keep=sample.spread_out(keep, source.shape[0]),
        choice=choice,
        name=best.name,
        others=max((new for new, old in held if new > RIVAL * old), default=0.0),
        cuts=cuts.for_all_rows(),
        ellipsoid=None if gap else within_ellipsoid(sample, last, best, source.shape[0]),
        n_candidates=len(contenders(last, sample.weights)),
        n_sample=len(sample.rows),
        n_points=sample.points_of_half(),
    )


def candidates(sample: Sample, rule: RankRule, rng: np.random.Generator) -> Iterator[Candidate]:
    """Candidate halves of the sample, concentrated; the most trusted first."""
    found: list[Candidate] = []

    def tried(name: str, half: Floats) -> Candidate:
        found.append(concentrated(name, sample, half, rule, distinct(found)))
        return found[-1]

    halves = least_outlying(sample, rng)
    first = tried(*next(halves))
    yield first
    if leaves_noise(first):
        return
    for name, half in halves:
        yield tried(name, half)
    # Where the first candidate keeps nearly all rows, its groups are those of all of them.
    for core in (sample.weights, first.keep) if first.share < NEARLY_ALL else (sample.weights,):
        for name, half in sides(sample, core, rng):
            yield tried(name, half)
    done = any(leaves_noise(c, MAJORITY) for c in distinct(found))
    for name, half in () if done else nearest_to_subsets(sample, first.choice.rank, rng):
        yield tried(name, half)
        if leaves_noise(found[-1], MAJORITY):
            return


def leaves_noise(c: Candidate, share: float = MOST) -> bool:
    """Whether most rows agree, and nothing stands out beyond a gap: then no others can leave less.

    A subspace that gives up directions of the good rows for groups of bad ones, at most as many as
    it has, leaves them to the residuals, unless the rows along them are left out as well.
    """
    if c.exact or c.share < share or not has_gap(c, c):
        return False
    count = c.choice.rank + 1
    variances = c.fit.next_directions(c.keep, count)[1]
    return len(variances) == count and bool(variances[0] <= NOISE_RATIO * variances[-1])


def distinct(found: Iterable[Candidate]) -> list[Candidate]:
    """The candidates, each once."""
    first: dict[int, Candidate] = {}
    for c in found:
        first.setdefault(id(c.fit), c)
    return list(first.values())


def contenders(found: Sequence[Candidate], weights: Floats) -> list[Candidate]:
    """Candidates, found on a part of the sample, than which none clearly leaves less beyond it.

    How near its rows are and how many it holds is for the whole sample to say.
    """
    majority = tuning().majority + UNSURE * 0.5 / np.sqrt(len(weights))
    sure = [c for c in found if c.share >= majority]
    left = [c for c in found if not any(leaves_less(other, c) for other in sure)]
    return left or list(found)


def on_all_of(sample: Sample, found: Sequence[Candidate], rule: RankRule) -> list[Candidate]:
    """Candidates, found on the first rows of the sample, concentrated once more on all of it."""
    on_all: list[Candidate] = []
    for c in found:
        half = np.zeros(len(sample.weights))
        half[: len(c.keep)] = c.keep
        on_all.append(concentrated(c.name, sample, half, rule, on_all, steps=1))
    return distinct(on_all)


def best_of(found: Sequence[Candidate], sample: Sample) -> Candidate:
    """The candidate whose rows are the tightest; of those that are as good, the first."""
    best = found[0]
    for now in found[1:]:
        if tighter(of_rank_of(now, best, sample), best):
            best = now
    return best


def of_rank_of(a: Candidate, b: Candidate, sample: Sample) -> Candidate:
    """Candidate `a` with as many components as `b` has, if it asks for fewer.

    One that asks for more has no chance: it is nearer to all rows for that reason alone. And a
    subspace in which rows lie up to rounding has the dimension it has. Of zeros and ones, half of
    the rows are often alike in a feature: that these have a direction less is no sign of anything.
    """
    if a.choice.rank >= b.choice.rank or a.exact or b.exact:
        return a
    refitted = of_rank(a.name, sample, a.keep, b.choice, (), 0)
    return a if refitted.exact else refitted


def tighter(a: Candidate, b: Candidate) -> bool:
    """Whether the rows of `a`, a majority, leave its subspace clearly less than those of `b` do.

    If there is a gap, that is said by the variance along the next direction; where that is no
    larger, by the gap or the nearest half of the rows. Without one, by that half. Of two subspaces
    in which rows lie up to rounding, it is the one that leaves out less than half as many.
    """
    t = tuning()
    if a.choice.rank != b.choice.rank or a.share < t.majority:
        return False
    if a.exact and b.exact:
        return 1 - a.share < (1 - b.share) / 2
    closer = much_closer(a.half, b.half, min(a.n_rows, b.n_rows), b.choice.rank)
    if has_gap(a, b):
        no_more = a.next_variance <= t.closer ** rough(a, b) * b.next_variance
        larger_gap = a.gap > t.gap ** (rough(a, b) / 2) * b.gap
        return leaves_less(a, b) or (no_more and (closer or larger_gap))
    return closer and a.share >= min(MORE_THAN_A_HALF, b.share)


def leaves_less(a: Candidate, b: Candidate) -> bool:
    """Whether there is a gap, and the rows of `a` vary clearly less along the next direction.

    A subspace that gives up a direction of the good rows for a group of bad ones is near more rows
    than the right one. But it leaves that direction in the residuals.
    """
    if a.choice.rank != b.choice.rank or not has_gap(a, b):
        return False
    return tuning().next_variance ** rough(a, b) * a.next_variance < b.next_variance


def has_gap(a: Candidate, b: Candidate) -> bool:
    """Whether the rows of either vary clearly more inside its subspace than beyond it."""
    return max(a.gap, b.gap) > tuning().gap ** rough(a, b)


def rough(a: Candidate, b: Candidate) -> float:
    """Power of the margins for two candidates."""
    return rough_by(min(a.n_rows, b.n_rows))


def shares_held(a: Candidate, b: Candidate, weights: Floats) -> tuple[float, float]:
    """Shares of the rows that each of two candidates of one rank holds, by the tighter of them.

    Of as many of the first rows as there are `weights`.
    """
    if a.choice.rank != b.choice.rank:
        return 0.0, 1.0
    limit = min(a.limit, b.limit)
    held = [float(np.sum(weights[c.fit.studentised[: len(weights)] <= limit])) for c in (a, b)]
    return held[0] / float(np.sum(weights)), held[1] / float(np.sum(weights))
