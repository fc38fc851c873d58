"""Scores of all rows, known as closely as the thresholds ask.

A threshold is an order statistic: only the rows near it need a score to all digits. What is kept of
the rows, their shadow, bounds both scores of every row. Rows that these bounds put on neither side
of a threshold are looked at, and the sets found are those that scoring every row would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.moments import Keep
from torpca._core.shadow import Shadow, cast_shadow, orthonormal, square_bounds
from torpca._core.subspace import Fit, SubspaceFinder, norm
from torpca._core.threshold import largest, least_of_largest
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Mask, Rows, place, row_squares
from torpca._sources.tall import tall_matmul

# The coordinates may take this share of the memory of the rows themselves, or so much if it gives
# room to no more than one fit; or SMALL bytes.
ROOM, LEAST_ROOM = 1 / 25, 1 / 16
# A pass over a table of so many bytes costs less than sparing it does.
SMALL = 2**20
# Looking at single rows costs as much as a new shadow when they are this share of all.
WORTH_A_PASS = 1 / 4
# A shadow that shows the subspace from so far aside says nothing.
LOST = 0.3
# When more rows than this are in doubt however good the shadow is, all are looked at.
HOPELESS = 1 / 2
# Above this share of a row's square at most four of sixteen digits are lost in its residual's.
SAFE_SHARE = 1e-4
# Fits whose scores of all rows are in memory at a time.
FITS_AT_A_TIME = 4
# A threshold is looked for within this share of the last, or of that of a sample of one row in
# this many; scores are squared.
NEARBY, SAMPLED = 0.02, 16

Numbers = npt.NDArray[np.intp]


class Scorer:
    """Scores one fit after another over the same rows; keeps a shadow of them in between."""

    def __init__(self, finder: SubspaceFinder, rank: int, squares: Floats) -> None:
        self.finder = finder
        self.rank = rank
        self.squares = squares
        source = finder.source
        n, d = source.shape
        self.n_rows = n
        spared = finder.has_gram and 8 * n * d > SMALL
        # Directions of the set at hand and, if there is room, of all rows: every loop begins there.
        room = int(max(ROOM * source.row_bytes, SMALL / n) / 8)
        if 8 * (rank + 1) <= LEAST_ROOM * source.row_bytes:
            room = max(room, rank + 1)
        self.room = finder.width = min(room, 2 * (rank + 1), d) if spared else 0
        self.shadow: Shadow | None = None
        self.first: Floats | None = None
        self.looked_at = 0  # rows, since the shadow was cast
        self.hopeless: set[int] = set()  # dimensions at which bounds say nothing
        self.hints: dict[tuple[str, int, int], float] = {}
        self.bounds: Floats | None = None  # of the last fit: their memory is used again

    def of(self, fit: Fit, keep: Keep) -> Scores:
        """Scores of all rows for the `fit` of the rows `keep`, until the next are asked for."""
        return Scores(self, fit, keep)

    def of_each(self, fits: Sequence[Fit]) -> Iterator[tuple[Floats, Floats]]:
        """Incoherence and residual of every row about one fit after the other."""
        self.shadow = self.bounds = None  # their memory is needed
        for i in range(0, len(fits), FITS_AT_A_TIME):
            part = fits[i : i + FITS_AT_A_TIME]
            yield from scores_of_each(self.finder.source, self.squares, part)

    def has_room_for(self, fit: Fit) -> bool:
        """Whether bounds from a shadow can say anything about this fit."""
        k = fit.V.shape[1]
        return 0 < k <= self.room and fit.frame.factors is None and k not in self.hopeless

    def cast(self, fit: Fit, keep: Keep) -> Shadow:
        """Cast a shadow that shows the fit itself, and what is near it."""
        room = self.room
        top = self.finder.top(keep, min(room, max(self.rank + 1, fit.V.shape[1])))
        if self.first is None:
            self.first = self.finder.top(keep, room)
        W = orthonormal(np.hstack([fit.V, top, self.first]))[:, :room]
        origin = np.zeros(len(W)) if fit.mean is None else fit.mean
        self.shadow = self.bounds = None  # there is room for one
        self.shadow = cast_shadow(self.finder.source, origin, W, self.squares)
        self.looked_at = 0
        return self.shadow


class Scores:
    """Incoherence E and residual R of every row about a fit, as closely as they are asked for."""

    def __init__(self, scorer: Scorer, fit: Fit, keep: Keep) -> None:
        self.scorer, self.fit, self.kept = scorer, fit, keep
        self.exact: dict[str, Floats] | None = None
        self.spared = scorer.has_room_for(fit)
        if not self.spared:
            return
        shadow = scorer.shadow
        self.fresh = shadow is None or shadow.sine(fit) > LOST
        self._bound(scorer.cast(fit, keep) if shadow is None or self.fresh else shadow)

    def largest_residuals(self, count: int) -> Mask:
        """Mask of the `count` rows of largest residual."""
        return self._largest("R", count)

    def largest_incoherences(self, count: int) -> Mask:
        """Mask of the `count` rows of largest incoherence."""
        return self._largest("E", count)

    def incoherent(self, limit: float) -> Mask:
        """Mask of the rows whose incoherence is `limit` or more."""
        if limit == np.inf:
            return np.zeros(self.scorer.n_rows, dtype=bool)
        if not self.spared:
            E = self.fit.incoherences() if self.exact is None else self.exact["E"]
            return np.greater_equal(E, limit)
        found = np.greater_equal(self.low["E"], limit**2)
        doubt = np.flatnonzero(~found & (self.high["E"] >= limit**2))
        values = self._look_at(doubt, "E")
        if values is None:
            return self.incoherent(limit)
        found[doubt[values >= limit]] = True
        return found

    def left_over(self, keep: Mask) -> float:
        """||X_keep (I - VV')||_F."""
        found = self.scorer.finder.left_over(self.fit, keep) if self.spared else None
        return norm(self._all("R")[keep]) if found is None else found

    def _largest(self, score: str, count: int) -> Mask:
        """HT(score): as `largest` does it, with no more rows looked at than needed."""
        n = self.scorer.n_rows
        if not self.spared:
            return largest(self._all(score), count)
        if count <= 0 or count >= n:
            return np.full(n, count > 0)
        low, high = self.low[score], self.high[score]
        key = score, self.fit.V.shape[1], count
        floor, ceiling = self._bracket(low, high, count, self.scorer.hints.get(key, 0.0))
        found = low > ceiling
        rows = np.flatnonzero((high >= floor) & ~found)
        left = count - int(np.count_nonzero(found))
        # The threshold lies between that of the lower and that of the upper bounds.
        low, high = low[rows], high[rows]
        least, most = least_of_largest(low, left), least_of_largest(high, left)
        self.scorer.hints[key] = least
        sure = low > most
        near = rows[~sure & (high >= least)]
        values = self._look_at(near, score)
        if values is None:
            return self._largest(score, count)
        found[rows[sure]] = True
        found[near[largest(values, left - int(np.count_nonzero(sure)))]] = True
        return found

    def _bracket(self, low: Floats, high: Floats, count: int, last: float) -> tuple[float, float]:
        """Two numbers between which the `count`-th largest square lies, near each other."""
        for guess in (last, None):
            if guess is None:
                sample = low[::SAMPLED]
                guess = least_of_largest(sample, -(-count * len(sample) // len(low)))
            floor, ceiling = (1 - NEARBY) * guess, (1 + NEARBY) * guess
            # It is no less than the floor if `count` rows are, and no more than the ceiling if
            # fewer than that can be beyond it.
            if np.count_nonzero(low >= floor) >= count > np.count_nonzero(high > ceiling):
                return floor, ceiling
        floor = least_of_largest(low, count)
        return floor, least_of_largest(high, count, floor)

    def _look_at(self, rows: Numbers, score: str) -> Floats | None:
        """Scores of the rows in doubt. None: they were too many, and all are known better now."""
        scorer, number, n = self.scorer, len(rows), self.scorer.n_rows
        if number == 0:
            return np.zeros(0)
        if not self.fresh and scorer.looked_at + number > WORTH_A_PASS * n:
            self.fresh = True
            self._bound(scorer.cast(self.fit, self.kept))
            return None
        if number > HOPELESS * n:
            scorer.hopeless.add(self.fit.V.shape[1])
            self.spared = False
            return None
        scorer.looked_at += number
        return self._exactly(rows)[score]

    def _all(self, score: str) -> Floats:
        """Score of every row to all digits."""
        self.spared = False
        if self.exact is None:
            self.exact = self._exactly(None)
        return self.exact[score]

    def _exactly(self, rows: Numbers | None) -> dict[str, Floats]:
        E, R = self.fit.scores(rows)
        # Residuals that rounding alone explains tie at zero. Without this the good rows of
        # noiseless data would be ranked by the order in which sums were taken.
        return {"E": E, "R": np.where(self.fit.rounding(E, R) >= R, 0.0, R)}

    def _bound(self, shadow: Shadow) -> None:
        bounds = square_bounds(shadow, self.fit, float(np.sum(self.kept)), self.scorer.bounds)
        self.scorer.bounds = bounds
        self.low = {"E": bounds[0], "R": bounds[2]}
        self.high = {"E": bounds[1], "R": bounds[3]}


def scores_of_each(
    source: RowSource, squares: Floats, fits: Sequence[Fit]
) -> Iterator[tuple[Floats, Floats]]:
    """Incoherence and residual of every row about each fit, to ten digits, in one pass for all.

    `squares` (n,) are those of the rows.
    """
    if any(fit.frame.factors is not None or fit.V.shape[1] == 0 for fit in fits):
        yield from (fit.scores() for fit in fits)
        return
    means = [np.zeros(len(fit.V)) if fit.mean is None else fit.mean for fit in fits]
    along = np.hstack([np.column_stack([fit.V, m]) for fit, m in zip(fits, means, strict=True)])

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        P = tall_matmul(xp, block, along)
        out = []
        for fit, mean in zip(fits, means, strict=True):
            k = len(fit.s)
            Y, along_mean, P = P[:, :k] - place(xp, mean @ fit.V, P), P[:, k], P[:, k + 1 :]
            rest = place(xp, squares[rows], P) + float(mean @ mean) - 2 * along_mean
            out += [row_squares(xp, Y / place(xp, fit.s, Y)) ** 0.5, rest - row_squares(xp, Y)]
        return tuple(out), ()

    scores = list(source.sweep(kernel, native=np.float64)[0])
    for fit, mean in zip(fits, means, strict=True):
        E, R = scores.pop(0), scores.pop(0)
        # A difference of squares has as many digits less as it is smaller than they are.
        unsafe = np.flatnonzero(~(SAFE_SHARE * (squares + float(mean @ mean)) <= R))
        R = np.sqrt(np.maximum(R, 0.0))
        if len(unsafe):
            E[unsafe], R[unsafe] = fit.scores(unsafe)
        yield E, R
