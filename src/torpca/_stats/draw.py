"""Some of the rows, drawn at random: rows in the order of time may have a period."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Floats


def some_rows(weights: Floats, most: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Numbers of the rows of positive weight in their order, `most` of them if there are more."""
    if len(weights) > most and weights.min() > 0:  # no list of all rows, which may be millions
        return np.sort(rng.choice(len(weights), most, replace=False)).astype(np.intp)
    there = np.flatnonzero(weights > 0)
    if len(there) > most:
        there = np.sort(rng.choice(there, most, replace=False))
    return there
