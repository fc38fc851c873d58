"""What an algorithm returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.loop import Iteration


@dataclass(frozen=True)
class RobustSubspace:
    """Principal subspace of the good rows, and a mask of these rows.

    Arrays are in the library, on the device and of the floating type of the data (NumPy for
    sparse and Dask input).
    """

    components: npt.NDArray[Any]
    """Orthonormal principal directions, (k, n_features), largest singular value first. k is the
    rank asked for, or less if the kept rows have a lower rank or TORP-N chooses one."""
    singular_values: npt.NDArray[Any]
    """Singular values of the kept rows, (k,)."""
    support: npt.NDArray[np.bool_]
    """Mask of the rows that were kept, (n_rows,), boolean."""
    mean: npt.NDArray[Any] | None
    """Mean of the kept rows, (n_features,); None without centring."""
    n_iter: int
    """Number of iterations over all ranks tried, without those for other points of a grid."""
    converged: bool
    """Whether the subspace and its singular values settled, or a set of kept rows occurred again,
    so that further iterations would only repeat."""
    history: tuple[Iteration, ...] = field(repr=False)
    """One record per iteration."""
    parameters: Mapping[str, float]
    """Values of the paper's parameters that were used."""
    ranks_tried: tuple[int, ...] = ()
    """Ranks that TORP-N and TORP-BIN tried, in order."""
    grid: tuple[Mapping[str, float], ...] | None = field(default=None, repr=False)
    """Evidence for a parameter chosen from a grid, one record per value; None without a grid."""
