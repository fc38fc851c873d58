"""Points of a curve over all features: of very many, one for each part of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Floats

# Points of a curve, more than a wide screen tells apart.
PROFILE = 1200


def first_features(d: int) -> npt.NDArray[np.intp]:
    """Numbers of the features at which the parts of d features begin."""
    return np.unique(np.linspace(0, d, min(d, PROFILE), endpoint=False).astype(np.intp))


def largest_within(values: Floats, starts: npt.NDArray[np.intp]) -> Floats:
    """The value of largest size, with its sign, between each of the starts and the next."""
    if len(starts) == values.shape[1] or len(values) == 0:
        return values[:, : len(starts)]
    above = np.maximum.reduceat(values, starts, axis=1)
    below = np.minimum.reduceat(values, starts, axis=1)
    return np.where(above >= -below, above, below)
