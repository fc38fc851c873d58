"""Mean and Gram matrix of the kept rows, brought up to date as rows change sides."""

from __future__ import annotations

import numpy as np

from torpca._core.frame import Frame
from torpca._sources import RowSource, Weighted
from torpca._sources.base import Floats, Mask

# Rows are kept by a mask, or in part: by a weight each, zero for those that are out.
Keep = Mask | Floats

# A Gram matrix is good to EPS times the sum of squares that went through it. When rows have left
# whose squares sum to more than this many times what is left, it is summed afresh.
WORN_OUT = 16.0


def weighted(rows: RowSource, keep: Keep) -> tuple[RowSource, Mask]:
    """Return a view of `rows` whose squares carry their weights, and the mask of the kept."""
    if keep.dtype == bool:
        return rows, keep.astype(bool, copy=False)
    mask = keep > 0
    if np.all(keep[mask] == 1.0):
        return rows, mask
    return Weighted(rows, keep.astype(np.float64, copy=False)), mask


def weighted_total(rows: RowSource, keep: Keep) -> Floats:
    """Sum of the rows, each times its weight, (n_features,)."""
    if keep.dtype == bool:
        return rows.total(keep.astype(bool, copy=False))
    return rows.rmatmul(keep > 0, keep[:, None].astype(np.float64, copy=False))[:, 0]


class KeptMoments:
    """Mean and centred Gram matrix of a changing set of rows, in a frame's unit.

    From one iteration to the next few rows change sides, or weight, so the Gram matrix is updated
    by these rows alone: the n d^2 of ordinary PCA is paid once.
    """

    def __init__(self, frame: Frame, center: bool) -> None:
        self.frame = frame
        self.center = center
        self.keep: Keep | None = None

    def of(self, keep: Keep) -> tuple[Floats | None, Floats]:
        """Mean of the kept rows (None if uncentred) and their Gram matrix about it."""
        if self.keep is None or not self._update(keep):
            self._sum_afresh(keep)
        return self._about_mean()

    def _sum_afresh(self, keep: Keep) -> None:
        self.keep = keep
        self.count = float(np.sum(keep))
        # Sums are taken about a point near the data, so that moving them to the mean of another
        # set of kept rows cancels nothing.
        source = self.frame.source
        self.origin = weighted_total(source, keep) / self.count if self.center else None
        rows = self.frame.about(self.origin)
        view, mask = weighted(rows, keep)
        self.gram = view.gram(mask)
        self.sum = weighted_total(rows, keep) if self.center else np.zeros(rows.shape[1])
        self.worn = float(np.trace(self.gram))

    def _update(self, keep: Keep) -> bool:
        """Account for rows that left or came; False if summing afresh is better."""
        assert self.keep is not None
        change = keep.astype(np.float64) - self.keep
        moved = int(np.count_nonzero(change))
        if moved == 0:
            return True
        if 2 * moved > np.count_nonzero(keep):
            return False
        rows = self.frame.about(self.origin)
        for sign in (-1, 1):
            part = np.maximum(sign * change, 0.0)
            if not part.any():
                continue
            view, mask = weighted(rows, part)
            gram = view.gram(mask)
            self.gram = self.gram + sign * gram
            if self.center:
                self.sum = self.sum + sign * weighted_total(rows, part)
            self.worn += float(np.trace(gram))
        self.keep, self.count = keep, float(np.sum(keep))
        centred_trace = float(np.trace(self.gram)) - float(self.sum @ self.sum) / self.count
        return self.worn <= WORN_OUT * centred_trace

    def _about_mean(self) -> tuple[Floats | None, Floats]:
        if self.origin is None:
            return None, self.gram
        shift = self.sum / self.count
        mean = self.origin + self.frame.unit * shift
        return mean, self.gram - self.count * np.outer(shift, shift)


class KeptRowGram:
    """Mean and small Gram matrix of a changing set of few, long rows, in a frame's unit.

    The products of all pairs of rows are formed once, about a point near the data; those of any
    kept set about its own mean follow from them without the data.
    """

    def __init__(self, frame: Frame, center: bool) -> None:
        self.frame = frame
        self.center = center
        self.products: Floats | None = None

    def of(self, keep: Keep) -> tuple[Floats | None, Floats]:
        """Mean of the kept rows (None if uncentred) and W^(1/2) X X' W^(1/2) about it."""
        if self.products is None:
            self._form(keep)
        mean, G = self._about_mean(keep)
        if not self._fresh(G, keep):
            self._form(keep)
            mean, G = self._about_mean(keep)
        return mean, G

    def _form(self, keep: Keep) -> None:
        source = self.frame.source
        self.formed_for = keep
        self.origin = weighted_total(source, keep) / float(np.sum(keep)) if self.center else None
        rows = self.frame.about(self.origin)
        self.products = rows.row_gram(np.ones(rows.shape[0], dtype=bool))

    def _fresh(self, G: Floats, keep: Keep) -> bool:
        """Whether moving to the mean of the kept rows cancelled little."""
        if self.origin is None or self.formed_for is keep:
            return True
        assert self.products is not None
        before = float(np.sum(np.diag(self.products) * keep))
        return before <= WORN_OUT * float(np.trace(G))

    def _about_mean(self, keep: Keep) -> tuple[Floats | None, Floats]:
        assert self.products is not None
        kept = np.flatnonzero(keep)
        G, w = self.products[np.ix_(kept, kept)], np.asarray(keep[kept], dtype=np.float64)
        mean = None
        if self.origin is not None:
            a = w / w.sum()
            along = G @ a
            G = G - along[:, None] - along + a @ along
            rows = self.frame.about(self.origin)
            mean = self.origin + self.frame.unit * (weighted_total(rows, keep) / w.sum())
        root = np.sqrt(w)
        return mean, root[:, None] * G * root
