"""Where the iterations begin: candidate halves, concentrated, and the choice between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from torpca._robust.beside import beside_these
from torpca._robust.choice import best_of, leaves_noise, rival_of, rival_share, tighter
from torpca._robust.concentration import Candidate, candidate, concentrated, distinct, judged
from torpca._robust.halves import least_outlying, nearest_to_subsets, sides
from torpca._robust.part import Part
from torpca._robust.rank import MAX_CHOICES, exact_by_codes, rank_of, rank_of_half
from torpca._select.rank import RankChoice, RankRule
from torpca._sources.base import Floats

# So many times as many rows as candidates are found on are worth a choice of their own.
WORTH_IT = 1.5
# Share of the rows that is surely more than half of all.
MAJORITY = 0.55
# Share of the rows from which on a candidate has nearly all of them: its groups are theirs.
NEARLY_ALL = 0.97


@dataclass(frozen=True)
class Start:
    """What is known of a fit's start afterwards."""

    name: str
    """Which half the chosen candidate began with: "pairs", "strict", "side" or "subsets"."""
    others: float
    """Largest share of the rows near another candidate, of those near which are more than twice as
    many rows as near this one; zero if there is none."""
    tied: float
    """Share of the rows that only one of this start and another one, as good, leads to keep without
    taking them for far out inside the subspace."""
    n_candidates: int
    """Number of different candidates between which there was a choice."""
    n_sample: int
    """Rows looked at."""
    n_points: int
    """Number of different rows, rounding apart, that make up half of those looked at."""


def find_start(
    part: Part, count: int, rule: RankRule, rng: np.random.Generator
) -> tuple[Candidate, Candidate | None, Start]:
    """Concentrate candidate halves, and choose the one whose rows are the tightest.

    As in FAST-MCD (Rousseeuw and Van Driessen 1999), candidates are found on some of many rows,
    `count` of them, and those that may be the best are compared on all of the part. Also returns
    another candidate that is as good, if there is one with other rows.
    """
    some = part.some(count) if len(part.Z) > WORTH_IT * count else part
    halves = least_outlying(some, rng)
    choice, ranks = rank_of_half(some, halves[0], rule), set[int]()
    while choice.rank not in ranks and len(ranks) < MAX_CHOICES:
        found = list(candidates(some, halves, choice, rng))
        best = best_of(found)
        ranks.add(choice.rank)
        if rule.given is None and not best.exact:
            choice = rank_of(some, best.keep, rule)
    others = rival_share(found, best, some.votes)
    last = found
    if some is not part:
        # Some rows may have a majority that all have not.
        sure = best.share >= MAJORITY
        last = [on_all_of(part, c) for c in found if c is best or not (sure and tighter(best, c))]
        best = best_of(last)
    return (
        best,
        rival_of(last, best, part.votes),
        Start(
            name=best.name,
            others=others,
            tied=0.0,
            n_candidates=len(found),
            n_sample=int(np.count_nonzero(some.copies >= 0)),
            n_points=some.points_of_half(),
        ),
    )


def on_all_of(part: Part, found: Candidate) -> Candidate:
    """A candidate of some rows of the part, on all of them."""
    fit, share = found.fit, np.zeros(len(part.Z))
    share[: len(found.keep)] = found.keep / part.votes[: len(found.keep)]
    seen = beside_these(part, fit.mean, fit.V, fit.variances, fit.total, fit.weight, share)
    return candidate(found.name, part, part.votes * judged(part, seen).keep, found.choice)


def candidates(
    part: Part, halves: tuple[Floats, Floats], choice: RankChoice, rng: np.random.Generator
) -> Iterator[Candidate]:
    """Candidate halves of the part, concentrated; the most trusted first."""
    found: list[Candidate] = []

    def tried(name: str, halves: Iterable[Floats]) -> Iterator[Candidate]:
        for half in halves:
            new = distinct(name, part, half, choice, found)
            if new is not None and exact_by_codes(part, new):
                new = None if found else concentrated(name, part, part.votes, choice)
            if new is not None:
                found.append(new)
                yield new

    yield from tried("pairs", halves[:1])
    first = found[0]
    if leaves_noise(first):
        return
    yield from tried("strict", halves[1:])
    for core in (part.votes, first.keep) if first.share < NEARLY_ALL else (part.votes,):
        yield from tried("side", sides(part, core, rng))
    if not any(leaves_noise(c, MAJORITY) for c in found):
        yield from tried("subsets", nearest_to_subsets(part, choice.rank, rng))
