"""Where the iterations begin: candidate halves, concentrated, and the choice between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from torpca._robust.choice import best_of, leaves_noise, rival_of, rival_share, tighter
from torpca._robust.concentration import Candidate, candidate, concentrated, judged
from torpca._robust.halves import least_outlying, nearest_to_subsets, sides, without_long_rows
from torpca._robust.part import Part
from torpca._robust.rank import RankChoice, RankRule, choose_rank, exact_rank
from torpca._robust.subspace import beside, variances_of
from torpca._robust.tuning import EQUAL, tuning
from torpca._sources.base import Floats
from torpca._sources.codes import is_code


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
    some = part.some(count) if len(part.Z) > 2 * count else part
    halves = least_outlying(some, rng)
    choice, ranks = rank_of_half(some, halves[0], rule), set[int]()
    while choice.rank not in ranks:
        found = list(candidates(some, halves, choice, rng))
        best = best_of(found)
        ranks.add(choice.rank)
        if rule.given is None and not best.exact:
            choice = rank_of(some, best.keep, rule)
    others = rival_share(found, best, some.votes)
    last = found
    if some is not part:
        last = [on_all_of(part, c) for c in found if c is best or not tighter(best, c)]
        best = best_of(last)
    start = Start(
        name=best.name,
        others=others,
        tied=0.0,
        n_candidates=len(found),
        n_sample=int(np.count_nonzero(some.copies >= 0)),
        n_points=some.points_of_half(),
    )
    return best, rival_of(last, best, part.votes), start


def on_all_of(part: Part, found: Candidate) -> Candidate:
    """A candidate of some rows of the part, on all of them."""
    fit, share = found.fit, np.zeros(len(part.Z))
    share[: len(found.keep)] = found.keep / part.votes[: len(found.keep)]
    seen = beside(part, fit.mean, fit.V, fit.variances, fit.weight, share)
    return candidate(found.name, part, part.votes * judged(part, seen).keep, found.choice)


def candidates(
    part: Part, halves: tuple[Floats, Floats], choice: RankChoice, rng: np.random.Generator
) -> Iterator[Candidate]:
    """Candidate halves of the part, concentrated; the most trusted first."""
    found: list[Candidate] = []
    t = tuning()

    def tried(name: str, halves: Iterable[Floats]) -> Iterator[Candidate]:
        for half in halves:
            for keep in concentrated(part, half, choice):
                if any(np.sum(np.abs(keep - c.keep)) <= t.same_rows * part.total for c in found):
                    break
            else:
                new = candidate(name, part, keep, choice)
                if not exact_by_codes(part, new):
                    found.append(new)
                    yield new

    yield from tried("pairs", halves[:1])
    if not found:  # an exact fit by codes alone
        *_, keep = concentrated(part, part.votes, choice)
        found.append(candidate("pairs", part, keep, choice))
        yield found[0]
    first = found[0]
    if leaves_noise(first, t.agree):
        return
    yield from tried("strict", halves[1:])
    for core in (part.votes, first.keep) if first.share < 1 - t.same_rows else (part.votes,):
        yield from tried("side", sides(part, core, rng))
    if not any(leaves_noise(c, t.majority) for c in found):
        yield from tried("subsets", nearest_to_subsets(part, choice.rank, rng))


def rank_of(part: Part, keep: Floats, rule: RankRule) -> RankChoice:
    """Number of components that rows of weights `keep` (m,) ask for, as half of all rows."""
    # Different rows: repeated ones say nothing more about directions.
    return choose_rank(rule, variances_of(part, keep), len(part.Z))


def rank_of_half(part: Part, half: Floats, rule: RankRule) -> RankChoice:
    """Number of components that a half of the rows asks for once it is concentrated."""
    if rule.given is not None:
        return choose_rank(rule, np.zeros(min(part.Z.shape)))
    found = _ranked(part, without_long_rows(part, half), rule)
    return (_ranked(part, part.votes, rule) if exact_by_codes(part, found) else found).choice


def _ranked(part: Part, half: Floats, rule: RankRule) -> Candidate:
    """A half concentrated with the number of components that its own rows ask for."""
    variances, n_rows = variances_of(part, half), int(np.count_nonzero(half))
    choice = choose_rank(rule, variances, 2 * n_rows)
    ranks = set[int]()
    while choice.rank not in ranks:
        ranks.add(choice.rank)
        *_, keep = concentrated(part, half, choice)
        now = candidate("", part, keep, choice)
        if now.exact:
            break
        choice = rank_of(part, now.keep, rule)
        if choice.rank == now.choice.rank:
            break
    if rule.share is not None:
        return now
    # Rows without noise agree exactly or not at all. A gap may lie within the signal, or between
    # it and the few bad rows that are in this half: only the fit tells.
    exact = exact_rank(variances, n_rows)
    if not now.exact and exact is not None:
        *_, keep = concentrated(part, half, exact)
        again = candidate("", part, keep, exact)
        now = again if again.exact else now
    if now.exact and now.choice.rank < part.Z.shape[1]:  # in all directions, all rows lie
        return replace(now, choice=replace(now.choice, rule="exact"))
    return now


def exact_by_codes(part: Part, found: Candidate) -> bool:
    """Whether rows lie in a subspace up to rounding for the codes in some columns alone.

    Of answers yes or no, half of the rows have one answer to a question, or the same answer to
    two: that is no sign of a subspace, and no fault of the others.
    """
    if not found.exact or part.span is not None:
        return False
    beyond = np.flatnonzero(1 - np.sum(np.square(found.fit.V), axis=1) > EQUAL)
    return len(beyond) > 0 and all(is_code(part.Z[:, j]) for j in beyond)
