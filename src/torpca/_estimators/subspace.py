"""What a fitted estimator is, in NumPy and in float64, whatever the rows it was fitted to."""

from __future__ import annotations

from dataclasses import dataclass, field

from torpca._estimators.limits import FittedLimits
from torpca._missing.completion import Completion
from torpca._sources.base import Floats


@dataclass(frozen=True)
class FittedSubspace:
    """Centre, directions, spread and limits of the good rows, of d features and k components.

    A row x has the coordinates basis'((x - center) / scale).
    """

    center: Floats
    """(d,); zeros if the estimator does not centre."""
    basis: Floats
    """Orthonormal directions (d, k)."""
    deviations: Floats
    """Standard deviations along them, (k,)."""
    scale: Floats | None
    """What features are divided by, (d,); None: nothing."""
    noise: Floats
    """Root mean square of the residuals of good rows in each feature, (d,)."""
    freedom: float
    """Degrees of freedom of the squared residuals of good rows."""
    n_good: float
    """Weight of the rows behind all this, in rows."""
    limits: FittedLimits
    """On the two distances of rows."""
    training: tuple[Floats, Floats] = field(repr=False)
    """Score and orthogonal distances of the rows of the fit, (n,) each."""

    @property
    def shape(self) -> tuple[int, int]:
        """d and k."""
        d, k = self.basis.shape
        return d, k

    def completion(self) -> Completion:
        """What it says of cells that a row lacks, given those it has."""
        return Completion(
            mean=self.center,
            V=self.basis,
            deviations=self.deviations,
            noise=self.noise,
            freedom=self.freedom,
            scale=self.scale,
        )
