"""The numbers of the robust fit that were tuned, and what each of them does.

`python -m benchmarks.ablation` halves and doubles each of them and prints what is lost and gained.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

# A spread below this share of the numbers' size is rounding: more than half of them are equal.
# Sums of weights in another order differ by less.
EQUAL = 1e-10
# Location and scale of numbers have settled when they move by less than this share.
SETTLED = 1e-11
# Good rows are no longer than this, in the unit of the part.
LONGEST = 1e3
# Standard deviations inside the subspace from which on a row has no part in the scatter.
FAR_OUT = 4.5
# Rows by which the spread of all of them is judged.
PROBE_ROWS = 20_000
# A spread this small beside the numbers is what rounding leaves of equal ones.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Tuning:
    """Numbers of the robust fit that are choices, not consequences."""

    # ---- the part
    most_copies: int = 10
    """A row that is there more often than this many times the middle one counts as that often."""

    # ---- candidate halves
    first_rows: int = 600
    """Rows of the part on which they are found, ..."""
    rows_per_direction: int = 20
    """... at least so many for each component asked for."""
    n_pairs: int = 300
    """Directions through pairs of rows along which outlyingness is measured."""
    line_rows: int = 300
    """Rows by which location and scale along such a direction are found."""
    n_axes: int = 10
    """Principal axes among which those of extreme kurtosis are looked for."""
    n_subsets: int = 200
    """Subsets of as many rows as span a subspace that are tried, ..."""
    subset_rank: int = 8
    """... up to so many components: beyond, hardly one of them is all good."""
    steps: int = 2
    """Concentration steps from each half."""

    # ---- location and scale
    within: float = 2.8
    """Standard deviations within which numbers have a say in their location and scale."""
    side: float = 0.85
    """Share of each side of the numbers by which its spread is read: with a half, equal numbers in
    the midst of the others would be most of it."""
    rounds: int = 25
    """Most steps of an iteration that settles, as a rule, in fewer."""

    # ---- cut-offs
    tail: float = 1.96
    """Standard deviations at which the tail begins that is compared with the Gaussian one."""
    significance: float = 4.0
    """Standard deviations by which the tail must hold more rows than it should."""
    farthest: float = 7.0
    """Cut-off of rows that show no such excess: one row in 10^12 is beyond it by chance."""
    least: float = 2.5
    """Smallest cut-off on residuals in the iterations on all rows, ..."""
    least_along: float = 4.0
    """... and along the next directions."""
    taper: float = 0.8
    """Share of the cut-off from which on a row loses weight."""
    n_next: int = 3
    """Next principal directions, beyond the subspace, along which rows are looked at, ..."""
    rows_per_next: int = 3
    """... if there are so many rows for each direction beyond it."""

    # ---- the choice between candidates
    majority: float = 0.51
    """Share of the rows that a candidate must keep to win."""
    gap: float = 3.5
    """Ratio of variances inside and beyond a subspace that is a gap."""
    next_variance: float = 1.25
    """If there is one: how many times less its rows must vary along the next direction."""
    closer: float = 1.02
    """... or how many times nearer the nearest half of the rows must be, if they vary no more."""

    # ---- leverage
    tilt: float = 1.3
    """Rows between the stricter and the wider cut-offs stay out if together they leave the subspace
    this many times more than noise does."""
    inside: float = 0.75
    """Share of the rows near the subspace from which their scatter inside it is found."""
    scatter_pairs: int = 100
    """Directions along which the least outlying half inside the subspace is looked for."""
    rows_per_dimension: int = 10
    """Fewer rows for each dimension than this have no half to spare."""

    # ---- many rows
    part_numbers: int = 3 * 2**17
    """Numbers in the part of many rows on which the fit settles first, ..."""
    part_rows: tuple[int, int] = (2000, 5000)
    """... and the fewest and most rows of it."""
    below_chance: float = 0.2
    """Passes end when the subspace moves by less than this share of its own error by chance."""


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
