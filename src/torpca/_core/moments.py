"""Mean and Gram matrix of the kept rows, updated by the rows that changed sides."""

from __future__ import annotations

import numpy as np

from torpca._core.frame import Frame
from torpca._sources.base import Floats, Mask

# A Gram matrix is good to EPS times the sum of squares that went through it. When rows have left
# whose squares sum to more than this many times what is left, it is summed afresh.
WORN_OUT = 16.0


class KeptMoments:
    """Mean and centred Gram matrix of a changing set of rows, in a frame's unit.

    From one iteration to the next few rows change sides, so the Gram matrix is updated by these
    rows alone: the n d^2 of ordinary PCA is paid once.
    """

    def __init__(self, frame: Frame, center: bool) -> None:
        self.frame = frame
        self.center = center
        self.keep: Mask | None = None

    def of(self, keep: Mask) -> tuple[Floats | None, Floats]:
        """Mean of the kept rows (None if uncentred) and their Gram matrix about it."""
        if self.keep is None or not self._update(keep):
            self._sum_afresh(keep)
        return self._about_mean()

    def _sum_afresh(self, keep: Mask) -> None:
        self.keep = keep
        # Sums are taken about a point near the data, so that moving them to the mean of another
        # set of kept rows cancels nothing.
        self.origin = self.frame.source.mean(keep) if self.center else None
        rows = self.frame.about(self.origin)
        self.count = int(np.count_nonzero(keep))
        self.gram = rows.gram(keep)
        self.sum = rows.total(keep) if self.center else np.zeros(rows.shape[1])
        self.worn = float(np.trace(self.gram))

    def _update(self, keep: Mask) -> bool:
        """Account for rows that left or came; False if summing afresh is better."""
        assert self.keep is not None
        left, came = self.keep & ~keep, keep & ~self.keep
        moved = int(np.count_nonzero(left) + np.count_nonzero(came))
        if moved == 0:
            return True
        if 2 * moved > np.count_nonzero(keep):
            return False
        rows = self.frame.about(self.origin)
        for change, sign in ((left, -1), (came, 1)):
            if not change.any():
                continue
            gram = rows.gram(change)
            self.gram = self.gram + sign * gram
            if self.center:
                self.sum = self.sum + sign * rows.total(change)
            self.worn += float(np.trace(gram))
        self.keep, self.count = keep, int(np.count_nonzero(keep))
        centred_trace = float(np.trace(self.gram)) - float(self.sum @ self.sum) / self.count
        return self.worn <= WORN_OUT * centred_trace

    def _about_mean(self) -> tuple[Floats | None, Floats]:
        if self.origin is None:
            return None, self.gram
        shift = self.sum / self.count
        mean = self.origin + self.frame.unit * shift
        return mean, self.gram - self.count * np.outer(shift, shift)
