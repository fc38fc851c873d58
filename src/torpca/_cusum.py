"""Whether distances drift: the upper CUSUM of rows in their order.

The tabular CUSUM of Page (1954) adds up what exceeds the centre by more than a reference value,
C_i = max(0, C_{i-1} + z_i - REFERENCE), and alarms above DECISION. The two numbers are the usual
ones for a shift of one standard deviation (Montgomery, Introduction to Statistical Quality
Control, section 9.1). It needs z that are about standard normal. Squared distances are about
multiples of chi-squared numbers, whose cubed roots are about normal (Wilson and Hilferty 1931):
z is the standardised 2/3 power of a distance. With logarithms in its place a fit of few components
would almost never alarm. Rows far out are winsorised at FARTHEST, so that up to three bad rows in a
run, which other limits name, raise no alarm (why a CUSUM has to be made robust: Lucas and Crosier
1982).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torpca._sources.base import Floats

REFERENCE, DECISION, FARTHEST = 0.5, 5.0, 2.0
# Rows between false alarms, on average, of good Gaussian rows: 1100 with one degree of freedom,
# 1900 with many. Without the bound it is 930 (table 9.3 of Montgomery has 465 for two sides).
RUN_LENGTH = 1500
# Standard deviations of a Gaussian law in its median absolute deviation.
TO_DEVIATION = 1.4826


@dataclass(frozen=True)
class Reference:
    """Centre and standard deviation of the 2/3 power of the distances of good rows."""

    centre: float
    spread: float

    def standardised(self, distances: Floats) -> Floats:
        """Winsorised standard deviations (n,) of distances from those of good rows."""
        with np.errstate(over="ignore"):
            z = (np.asarray(distances) ** (2 / 3) - self.centre) / self.spread
        return np.clip(z, -FARTHEST, FARTHEST)


def reference_of(distances: Floats) -> Reference | None:
    """That of good rows with these distances (m,); None if too few of them differ.

    Median and median absolute deviation: good rows have been cut off at a limit.
    """
    powers = distances[np.isfinite(distances)] ** (2 / 3)
    if len(powers) < 8:
        return None
    centre = float(np.median(powers))
    spread = TO_DEVIATION * float(np.median(np.abs(powers - centre)))
    return Reference(centre, spread) if spread > 1e-9 * centre else None


def reference_by_law(mean_square: float, freedom: float) -> Reference | None:
    """That of squared distances which are chi-squared numbers of this mean and freedom."""
    part = 2 / (9 * freedom) if freedom > 0 else 0.0
    root = float(np.cbrt(mean_square))
    if not (part > 0 and root > 0 and np.isfinite(root)):
        return None
    return Reference(root * (1 - part), root * float(np.sqrt(part)))


def upper_cusum(z: Floats) -> Floats:
    """Upper CUSUM (n,) of standardised numbers in their order; those that are NaN add nothing.

    Examples
    --------
    >>> upper_cusum(np.array([0.0, 2.0, 2.0, 0.0, np.nan, 1.0]))
    array([0. , 1.5, 3. , 2.5, 2.5, 3. ])
    """
    # The sum from 0 on minus its least value so far is the same as starting anew at zero.
    sums = np.cumsum(np.where(np.isnan(z), 0.0, z - REFERENCE))
    return sums - np.minimum.accumulate(np.minimum(sums, 0.0))


@dataclass(frozen=True)
class Alarm:
    """A run of rows, by their places, in which the CUSUM is above its decision limit."""

    start: int
    """After the last place where it was zero: where the rise began, as far as it tells."""
    crossed: int
    """Where it exceeded the limit."""
    peak: int
    """Where it was highest: where the rise ended."""
    end: int
    """The last place before it was zero again, or the last of all."""


def alarms(cusum: Floats) -> list[Alarm]:
    """Runs from zero to zero that exceed the decision limit."""
    above = np.flatnonzero(cusum > DECISION)
    zeros = np.flatnonzero(cusum <= 0)
    found: list[Alarm] = []
    for place in above.tolist():
        if found and place <= found[-1].end:
            continue
        at = int(np.searchsorted(zeros, place))
        start = int(zeros[at - 1]) + 1 if at else 0
        end = int(zeros[at]) - 1 if at < len(zeros) else len(cusum) - 1
        peak = start + int(np.argmax(cusum[start : end + 1]))
        found.append(Alarm(start, place, peak, end))
    return found
