"""Mean and Gram matrix of the kept rows, brought up to date as rows change sides."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Sums:
    """Sums over a set of rows about an origin; none of the arrays is ever written to."""

    keep: Keep
    count: float
    total: Floats
    gram: Floats
    worn: float
    """Sum of squares that went through the Gram matrix, of rows that left too."""


class KeptMoments:
    """Mean and centred Gram matrix of a changing set of rows, in a frame's unit.

    From one iteration to the next few rows change sides, or weight, so the Gram matrix is updated
    by these rows alone: the n d^2 of ordinary PCA is paid once. The first set, which every loop
    begins with again, is remembered.
    """

    def __init__(self, frame: Frame, center: bool) -> None:
        self.frame = frame
        self.center = center
        self.first: Sums | None = None
        self.now: Sums | None = None

    def of(self, keep: Keep) -> tuple[Floats | None, Floats]:
        """Mean of the kept rows (None if uncentred) and their Gram matrix about it."""
        self.now = self._updated(keep) or self._sum_afresh(keep)
        return self._about_mean(self.now)

    @property
    def wear(self) -> float:
        """How many times more than is left went through the Gram matrix; at least 1."""
        assert self.now is not None
        return max(1.0, self.now.worn / max(_centred_trace(self.now), np.finfo(float).tiny))

    def _sum_afresh(self, keep: Keep) -> Sums:
        # Sums are taken about a point near the data, so that moving them to the mean of another
        # set of kept rows cancels nothing.
        source, count = self.frame.source, float(np.sum(keep))
        self.origin = weighted_total(source, keep) / count if self.center else None
        rows = self.frame.about(self.origin)
        view, mask = weighted(rows, keep)
        gram = view.gram(mask)
        total = weighted_total(rows, keep) if self.center else np.zeros(rows.shape[1])
        self.first = Sums(keep, count, total, gram, float(np.trace(gram)))
        return self.first

    def _updated(self, keep: Keep) -> Sums | None:
        """Sums with rows accounted for that left or came; None if summing afresh is better."""
        if self.now is None or self.first is None:
            return None
        change, at = min(
            ((keep != sums.keep, sums) for sums in (self.now, self.first)),
            key=lambda pair: int(np.count_nonzero(pair[0])),
        )
        moved = int(np.count_nonzero(change))
        if moved == 0:
            return at
        if 2 * moved > np.count_nonzero(keep):
            return None
        rows = self.frame.about(self.origin)
        gram, total, worn = at.gram, at.total, at.worn
        for sign, part in ((-1, _excess(at.keep, keep)), (1, _excess(keep, at.keep))):
            if not part.any():
                continue
            view, mask = weighted(rows, part)
            moved_gram = view.gram(mask)
            gram = gram + sign * moved_gram
            if self.center:
                total = total + sign * weighted_total(rows, part)
            worn += float(np.trace(moved_gram))
        now = Sums(keep, float(np.sum(keep)), total, gram, worn)
        return now if worn <= WORN_OUT * _centred_trace(now) else None

    def _about_mean(self, sums: Sums) -> tuple[Floats | None, Floats]:
        if self.origin is None:
            return None, sums.gram
        shift = sums.total / sums.count
        mean = self.origin + self.frame.unit * shift
        return mean, sums.gram - sums.count * np.outer(shift, shift)


def _excess(more: Keep, less: Keep) -> Keep:
    """What of each row's weight in `more` is not in `less`."""
    if more.dtype == bool and less.dtype == bool:
        return np.greater(more, less)
    return np.maximum(more.astype(np.float64) - less, 0.0)


def _centred_trace(sums: Sums) -> float:
    return float(np.trace(sums.gram)) - float(sums.total @ sums.total) / sums.count


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
