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
# Rows this many times longer than most, by their largest entries.
LONG = 4.0
# Sets of rows whose sums are remembered: their Gram matrices take this share of the rows' memory.
REMEMBERED = 0.02
# A set that differs from the next in less than one row in this many is not remembered beside it.
FEW = 100


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
    total: Floats
    gram: Floats
    worn: float
    """Sum of squares that went through the Gram matrix, of rows that left too."""


class Part:
    """Sums over the kept rows of a part of all rows, brought up to date by those that moved.

    The first set is remembered, because every loop begins with it again, and so are a few others;
    not where a Gram matrix is large beside the rows.
    """

    def __init__(self, rows: RowSource, keep: Keep, center: bool) -> None:
        self.rows = rows
        self.center = center
        self.now = self._sums(keep)
        n, d = rows.shape
        self.room = int(min(REMEMBERED * n * rows.row_bytes / (8 * d * d), 3))
        self.others = [self.now][: self.room]

    def _sums(self, keep: Keep) -> Sums:
        view, mask = weighted(self.rows, keep)
        gram = view.gram(mask)
        # Without a mean to take off nobody asks for the total.
        total = weighted_total(self.rows, keep) if self.center else np.zeros(len(gram))
        return Sums(keep, total, gram, float(np.trace(gram)))

    def sum_afresh(self, keep: Keep) -> None:
        """Sum over the rows `keep` alone."""
        self.now = self._sums(keep)

    def update(self, keep: Keep) -> None:
        """Account for rows that left or came, or sum afresh if these are more than stay."""
        change, at = min(
            ((_distance(keep, sums.keep), sums) for sums in (self.now, *self.others)),
            key=lambda pair: pair[0],
        )
        if at is not self.now or FEW * change > len(keep):
            self._remember(self.now)
        if 2 * change > np.count_nonzero(keep):
            self.sum_afresh(keep)
            return
        gram, total, worn = at.gram, at.total, at.worn
        for sign, part in ((-1, _excess(at.keep, keep)), (1, _excess(keep, at.keep))):
            if not part.any():
                continue
            moved = self._sums(part)
            gram, total = gram + sign * moved.gram, total + sign * moved.total
            worn += moved.worn
        self.now = Sums(keep, total, gram, worn)

    def _remember(self, sums: Sums) -> None:
        if self.room > 1 and all(sums is not other for other in self.others):
            self.others = [self.others[0], *self.others[1:][-self.room + 2 :], sums]


class KeptMoments:
    """Mean and centred Gram matrix of a changing set of rows, in a frame's unit.

    From one iteration to the next few rows change sides, or weight, so the Gram matrix is updated
    by these rows alone: the n d^2 of ordinary PCA is paid once. Rows much longer than most are
    summed apart: when they leave, their rounding leaves with them.
    """

    def __init__(self, frame: Frame, center: bool, magnitudes: Floats) -> None:
        self.frame = frame
        self.center = center
        long = magnitudes > LONG * np.median(magnitudes)
        self.masks = [~long, long] if long.any() else [None]
        self.parts: list[Part] = []
        self.keep: Keep | None = None

    def of(self, keep: Keep) -> tuple[Floats | None, Floats]:
        """Mean of the kept rows (None if uncentred) and their Gram matrix about it."""
        if keep is not self.keep:  # a set is never written to
            if not self.parts or not self._update(keep):
                self._sum_afresh(keep)
            self.keep = keep
        return self._about_mean()

    def _sum_afresh(self, keep: Keep) -> None:
        # Sums are taken about a point near the data, so that moving them to the mean of another
        # set of kept rows cancels nothing.
        self.count = float(np.sum(keep))
        source = self.frame.source
        self.origin = weighted_total(source, keep) / self.count if self.center else None
        rows = self.frame.about(self.origin)
        self.parts = [Part(rows, _within(keep, mask), self.center) for mask in self.masks]

    def _update(self, keep: Keep) -> bool:
        """Account for rows that left or came; False if the origin is no longer near the data."""
        self.count = float(np.sum(keep))
        for part, mask in zip(self.parts, self.masks, strict=True):
            part.update(_within(keep, mask))
        left = self._centred_trace()
        for part in self.parts:
            if part.now.worn > max(WORN_OUT * left, 2 * float(np.trace(part.now.gram))):
                part.sum_afresh(part.now.keep)
        return self.wear <= WORN_OUT

    @property
    def wear(self) -> float:
        """Sum of squares that went through the Gram matrix, as a multiple of what is left."""
        worn = sum(part.now.worn for part in self.parts)
        left = self._centred_trace()
        return worn / left if left > 0 else np.inf if worn > 0 else 1.0

    def _centred_trace(self) -> float:
        gram, total = self._sums()
        return float(np.trace(gram)) - float(total @ total) / self.count

    def _sums(self) -> tuple[Floats, Floats]:
        gram, total = self.parts[0].now.gram, self.parts[0].now.total
        for part in self.parts[1:]:
            gram, total = gram + part.now.gram, total + part.now.total
        return gram, total

    def _about_mean(self) -> tuple[Floats | None, Floats]:
        gram, total = self._sums()
        if self.origin is None:
            return None, gram
        shift = total / self.count
        mean = self.origin + self.frame.unit * shift
        return mean, gram - self.count * np.outer(shift, shift)


def _within(keep: Keep, mask: Mask | None) -> Keep:
    """`keep` of the rows of `mask`, zero for others."""
    return keep if mask is None else keep * mask


def _distance(keep: Keep, other: Keep) -> int:
    """Number of rows whose weights differ."""
    return int(np.count_nonzero(keep != other))


def _excess(more: Keep, less: Keep) -> Keep:
    """What of each row's weight in `more` is not in `less`."""
    if more.dtype == bool and less.dtype == bool:
        return np.greater(more, less)
    return np.maximum(more.astype(np.float64) - less, 0.0)


class KeptRowGram:
    """Mean and small Gram matrix of a changing set of few, long rows, in a frame's unit.

    The products of all pairs of rows are formed once, about a point near the data; those of any
    kept set about its own mean follow from them without the data.
    """

    def __init__(self, frame: Frame, center: bool, magnitudes: Floats) -> None:
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
