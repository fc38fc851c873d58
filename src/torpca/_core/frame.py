"""A frame of reference for the rows: a unit in which squares behave, and a point to centre on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torpca._sources import RowSource, Scaled
from torpca._sources.base import Floats, Mask

# Between these sizes the squares of rows, and of residuals 1e-16 times smaller, can be summed
# over any number of rows and features without overflow or loss.
SMALLEST, LARGEST = 1e-100, 1e100
# A row this many times longer than every kept row ranks first whatever its exact length.
FAR = 2.0**400
# Rows of size one beside which others are longer than this are shortened: powers of them are added.
SHORTENED = 2.0**200


@dataclass(frozen=True)
class Frame:
    """The rows in a `unit` of the user's numbers; `factors` is None when the unit is 1."""

    source: RowSource
    factors: Floats | None
    unit: float

    def about(self, mean: Floats | None) -> RowSource:
        """View of the rows less `mean` (in the user's numbers; None: uncentred), in this unit."""
        source = self.source if mean is None else self.source.centered(mean)
        return source if self.factors is None else Scaled(source, self.factors)

    def restore(self, E: Floats, R: Floats) -> tuple[Floats, Floats]:
        """Incoherence and residual of every row, as if measured in the user's numbers."""
        if self.factors is None:
            return E, R
        with np.errstate(over="ignore"):  # what no float can hold is infinite
            return E / self.factors / self.unit, R / self.factors


def choose_frame(source: RowSource, magnitudes: Floats, keep: Mask) -> Frame:
    """Frame in which the largest kept row has a size near one, if it is far from it."""
    return frame_of_size(source, magnitudes, float(np.max(magnitudes[keep], initial=0.0)))


def frame_of_size(source: RowSource, magnitudes: Floats, size: float) -> Frame:
    """Frame in which rows whose largest entry is `size` have a size near one, if they had not.

    The unit is a power of two, so that changing it changes no digit. Rows that would overflow in
    it, given the `magnitudes` (n_rows,) of all, are shortened to FAR: they stay the farthest out.
    """
    if size == 0.0 or (size >= SMALLEST and np.max(magnitudes) <= LARGEST):
        return Frame(source, None, 1.0)
    exponent = max(int(np.frexp(size)[1]) - 1, -1022)
    factors = np.full(len(magnitudes), np.ldexp(1.0, -exponent))
    with np.errstate(over="ignore"):
        far = magnitudes / size > FAR
    factors[far] = np.ldexp(1.0, 400 - np.frexp(magnitudes[far])[1])
    return Frame(source, factors, float(np.ldexp(1.0, exponent)))


def without_long_rows(X: Floats) -> Floats:
    """The rows X (m, d), those too long to be squared made shorter: they are far off either way.

    All of them as they are if most are as long.
    """
    size = np.max(np.abs(X), axis=1)
    long = size > LARGEST
    if not long.any() or np.median(size) > np.sqrt(LARGEST):
        return X
    return X * np.where(long, LARGEST / np.where(long, size, 1.0), 1.0)[:, None]
