"""How many components the rows of the part ask for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from torpca._robust.beside import variances_of
from torpca._robust.concentration import Candidate, concentrated
from torpca._robust.halves import without_long_rows
from torpca._robust.part import Part
from torpca._select.rank import RankChoice, RankRule, choose_rank, exact_rank
from torpca._sources.base import Floats
from torpca._stats.codes import is_code

# How often the number may be chosen again by the rows that a fit keeps.
MAX_CHOICES = 3
# Squared loadings smaller than this are rounding.
LEAST_LOADING = 1e-6


def rank_of_half(part: Part, half: Floats, rule: RankRule) -> RankChoice:
    """Number of components that a half of the rows asks for once it is concentrated."""
    if rule.given is not None:
        return choose_rank(rule, np.zeros(min(part.Z.shape)))
    half = without_long_rows(part, half)
    found = _concentrated(part, half, rule)
    found = _concentrated(part, part.votes, rule) if exact_by_codes(part, found) else found
    return found.choice


def rank_of(part: Part, keep: Floats, rule: RankRule) -> RankChoice:
    """Number of components that rows of weights `keep` (m,) ask for, as half of all rows."""
    # Different rows: repeated ones say nothing more about directions.
    return choose_rank(rule, variances_of(part, keep), len(part.Z))


def _concentrated(part: Part, half: Floats, rule: RankRule) -> Candidate:
    variances, n_rows = variances_of(part, half), int(np.count_nonzero(half))
    choice = choose_rank(rule, variances, 2 * n_rows)
    for _ in range(MAX_CHOICES):
        now = concentrated("", part, half, choice)
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
        again = concentrated("", part, half, exact)
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
    beyond = np.flatnonzero(1 - np.sum(np.square(found.fit.V), axis=1) > LEAST_LOADING)
    return len(beyond) > 0 and all(is_code(part.Z[:, j]) for j in beyond)
