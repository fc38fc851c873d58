"""The numbers of the robust fit that were chosen, and what each of them does.

`python -m benchmarks.ablation` halves and doubles each of them and prints what is lost and gained.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Tuning:
    """Numbers of the robust fit that are choices, not consequences."""

    # ---- the part
    part_numbers: int = 3 * 2**17
    """Numbers in the part of many rows on which the fit settles first, ..."""
    part_rows: tuple[int, int] = (800, 5000)
    """... and the fewest and most rows of it."""
    most_copies: int = 10
    """A row that is there more often than this many times the middle one counts as that often."""

    # ---- candidate halves
    first_rows: int = 600
    """Rows of the part on which they are found."""
    n_pairs: int = 300
    """Directions through pairs of rows along which outlyingness is measured."""
    line_rows: int = 300
    """Rows by which location and scale along such a direction are found."""
    n_axes: int = 10
    """Principal axes in the span of which those of extreme kurtosis are looked for."""
    smallest_side: float = 0.3
    """Share of the rows that a side of such an axis must hold."""
    n_subsets: int = 200
    """Subsets of as many rows as span a subspace that are tried."""
    subset_finalists: int = 15
    """So many of them are looked at closely, ..."""
    subset_share: float = 0.58
    """... those to which this share of the rows is nearest (both_ways at 40 %)."""

    # ---- location and scale
    within: float = 2.8
    """Standard deviations within which numbers have a say in their location and scale."""
    side: float = 0.85
    """Share of each side of the numbers by which its spread is read: with a half, equal numbers in
    the midst of the others would be most of it."""
    rounds: int = 25
    """Most steps of an iteration that settles, as a rule, in fewer: then what moves it stays."""

    # ---- cut-offs
    tail: float = 1.96
    """Standard deviations at which the tail begins that is compared with the Gaussian one."""
    significance: float = 4.0
    """Standard deviations by which the tail must hold more rows than it should."""
    farthest: float = 7.0
    """Cut-off of rows that show no such excess: one row in 10^12 is beyond it by chance."""
    taper: float = 0.8
    """Share of the cut-off from which on a row loses weight."""
    n_next: int = 3
    """Next principal directions, beyond the subspace, along which rows are looked at, if there are
    as many rows for each direction beyond it."""

    # ---- the choice between candidates
    majority: float = 0.51
    """Share of the rows that a candidate must keep to win."""
    agree: float = 0.8
    """Share of the rows near a candidate that leaves noise: no other is looked for."""
    noise: float = 1.6
    """Ratio of the first of the next variances to the last that noise makes (seen: up to 1.6)."""
    gap: float = 3.5
    """Ratio of variances inside and beyond a subspace that is a gap."""
    next_variance: float = 1.25
    """If there is one: how many times less its rows must vary along the next direction."""
    closer: float = 1.02
    """... or how many times nearer the nearest half of the rows must be, if they vary no more."""
    rough: float = 8.0
    """Standard errors of a variance by which these margins are wider for few rows."""
    same_rows: float = 0.02
    """Share of the rows in which subspaces that are the same may differ."""

    # ---- the number of components
    decisive_gap: float = 8.0
    """A direction with this many times the variance of the next one ends the signal."""
    explained: float = 0.9
    """Without a gap: as many directions as explain this share of the variance, ..."""
    most_by_share: int = 20
    """... but no more than this many."""

    # ---- leverage
    tilt: float = 1.3
    """Rows far out inside stay out if together they leave the subspace of the others this many
    times more than noise does."""
    inside: float = 0.75
    """Share of the rows near the subspace from which their scatter inside it is found."""
    scatter_pairs: int = 100
    """Directions along which the least outlying half inside the subspace is looked for."""
    far_out: float = 4.5
    """Standard deviations inside the subspace from which on a row has no part in the scatter
    (philips, musk: lost with 4)."""
    rows_per_dimension: int = 10
    """Fewer rows for each dimension than this have no half to spare."""

    # ---- the loop
    wider: float = 1.5
    """How many times more good rows may vary along the strongest of the next directions than those
    that the start kept: rows beyond two standard deviations hold a third of a variance."""
    same_subspace: float = 0.03
    """Sine of the angle by which a subspace may turn and stay the same for what was measured in it:
    the share of a direction's variance that it misses is at most its square."""
    below_chance: float = 0.2
    """Passes end when the subspace moves by less than this share of its own error by chance. It is
    also taken to move by no more than this share of its last move because weights follow it."""
    most_features: int = 700
    """Features up to which the part's Gram matrix stands in for that of all rows, and dimensions up
    to which a fit is compared with others: beyond, it would take longer than the fit."""

    # ---- limits
    probe_rows: int = 20_000
    """Rows by which limits on the distances of all of them are found."""
    good: float = 3.5
    """Standard deviations of residuals beyond which a row has no part in the limit on them: with
    4.5 bad spectra are lost (tutorial), and with less few long rows flag more of their own."""
    folds: int = 20
    """Parts of the good rows, each of which is compared with a fit to the others, if there are at
    most so many rows for each dimension, and for so many dimensions more: with more rows, new ones
    are like those of the fit."""


# Share of Gaussian good rows beyond a limit, half of it for each of the two distances.
LEVEL = 0.01
# Numbers of a size of one that differ by less are equal but for rounding; sums of weights, too.
EQUAL = 1e-10
# Residuals are taken as differences of squares if that leaves them this accurate, also in float32,
# where they only decide on weights.
ACCURATE, ACCURATE_SINGLE = 1e-10, 1e-3
# Digits of numbers that are compared: no more of them are the same on every processor.
COMPARED = 6
# Share of a spread by which it may move in the end, in the start and in the loop.
ROUGHLY, SETTLED = 1e-3, 1e-11
# Good rows are no longer than this, in the unit of the part.
LONGEST = 1e3

_now = Tuning()


def tuning() -> Tuning:
    """Return the numbers in force."""
    return _now


@contextmanager
def tuned(**changes: Any) -> Iterator[Tuning]:
    """Change some of them for a while: for the ablation benchmark, not for users."""
    global _now
    before = _now
    _now = replace(before, **changes)
    try:
        yield _now
    finally:
        _now = before
