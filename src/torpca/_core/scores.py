"""Scores of all rows, known as closely as the thresholds ask.

A threshold is an order statistic: only the rows near it need a score to all digits. So the rows
are multiplied once with a few directions W, and as long as the subspace V stays near span(W) the
coordinates W'x bound both scores of every row. With x = W y + z and V = W A + P,

    V'x = A'y + P'z,    |P'z| <= |P| |z|,    ||x - VV'x||^2 = ||x||^2 - ||V'x||^2,

where ||z||^2 = ||x||^2 - ||y||^2. Rows that these bounds put on neither side of a threshold are
looked at, and the sets found are those that scoring every row would give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from torpca._core.moments import Keep
from torpca._core.subspace import EPS64, Fit, SubspaceFinder, norm
from torpca._core.threshold import largest, least_of_largest
from torpca._sources import RowSource
from torpca._sources.base import SMALL_BYTES, Array, Floats, Mask, Rows, row_squares
from torpca._sources.tall import tall_matmul

# The coordinates may take this share of the memory of the rows themselves.
ROOM = 1 / 16
# Looking at single rows costs as much as a new shadow when they are this share of all.
WORTH_A_PASS = 1 / 4
# When more rows than this are in doubt however good the shadow is, all are looked at.
HOPELESS = 1 / 2
# Units of rounding, at most, in a coordinate of a row of length one (seen: up to 4).
ULPS = 64.0
# Rows whose bounds are worked out at a time: they stay in a cache.
AT_A_TIME = 2**13
# The next threshold is looked for from this share below the last.
NEARBY = 0.02

# Least and largest incoherence, least and largest residual, (n,) each.
Bounds = tuple[Floats, Floats, Floats, Floats]


@dataclass(frozen=True)
class Shadow:
    """What is kept of every row: its coordinates in a few directions, and its length."""

    origin: Floats
    W: Floats
    """Orthonormal directions (d, m)."""
    Y: Floats
    """Coordinates W'(x - origin), (n, m)."""
    squares: Floats
    """||x - origin||^2, (n,)."""
    beside: Floats
    """No less than the length of what W does not show, (n,)."""
    rounding: Floats
    """Rounding in `squares` at most, (n,)."""


def cast_shadow(source: RowSource, origin: Floats, W: Floats) -> Shadow:
    """Pass over the rows once, for their coordinates along W and their lengths."""
    along = np.column_stack([W, origin]) if origin.any() else W
    m, shift, o2 = W.shape[1], origin @ W, float(origin @ origin)

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        return (tall_matmul(xp, block, along), row_squares(xp, block)), ()

    (P, squares), _ = source.sweep(kernel, native=np.float64)
    rounding = ULPS * EPS64 * (squares + o2)
    if along is not W:
        squares += o2 - 2 * P[:, m]
        P = P[:, :m]
        P -= shift
    beside = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", P, P), 0.0) + rounding)
    return Shadow(origin, W, P, squares, beside, rounding)


class Scorer:
    """Scores one fit after another over the same rows; keeps a shadow of them in between."""

    def __init__(self, finder: SubspaceFinder, rank: int) -> None:
        self.finder = finder
        self.rank = rank
        source = finder.source
        n, d = source.shape
        self.n_rows = n
        # A pass over a small table costs less than sparing it does.
        small = 8 * n * d <= SMALL_BYTES or not finder.has_gram
        self.room = 0 if small else int(ROOM * source.row_bytes / 8)
        self.shadow: Shadow | None = None
        self.first: Floats | None = None
        self.looked_at = 0  # rows, since the shadow was cast
        self.hopeless: set[int] = set()  # dimensions at which bounds say nothing
        self.hints: dict[tuple[str, int, int], float] = {}
        self._bounds: Bounds | None = None

    def of(self, fit: Fit, keep: Keep) -> Scores:
        """Scores of all rows for the `fit` of the rows `keep`. They end those of the fit before."""
        return Scores(self, fit, keep)

    def shadowed(self, fit: Fit) -> bool:
        """Whether bounds from a shadow can say anything about this fit."""
        k = fit.V.shape[1]
        return 0 < k <= self.room and fit.frame.factors is None and k not in self.hopeless

    def cast(self, fit: Fit, keep: Keep) -> None:
        """Cast a shadow that shows the fit itself, and what is near it."""
        room = self.room
        top = self.finder.top(keep, min(room, max(self.rank + 1, fit.V.shape[1])))
        if self.first is None:
            # Every loop begins again with all rows.
            self.first = self.finder.top(keep, room) if keep.all() else top
        W = orthonormal(np.hstack([fit.V, top, self.first]))[:, :room]
        origin = np.zeros(len(W)) if fit.mean is None else fit.mean
        self.shadow = None  # there is room for one
        self.shadow = cast_shadow(self.finder.source, origin, W)
        self.looked_at = 0

    def bounds(self, fit: Fit) -> Bounds:
        """Bounds on the scores of all rows, in the arrays of the fit before."""
        if self._bounds is None:
            low_E, high_E, low_R, high_R = np.empty((4, self.n_rows))
            self._bounds = low_E, high_E, low_R, high_R
        assert self.shadow is not None
        fill_bounds(self._bounds, self.shadow, fit)
        return self._bounds


class Scores:
    """Incoherence E and residual R of every row about a fit, as closely as they are asked for."""

    def __init__(self, scorer: Scorer, fit: Fit, keep: Keep) -> None:
        self.scorer, self.fit, self.kept = scorer, fit, keep
        self.level = 0
        self.bounds: Bounds
        if not scorer.shadowed(fit):
            self._score_all()
        elif scorer.shadow is None:
            self._cast()
        else:
            self.bounds = scorer.bounds(fit)

    def largest_residuals(self, count: int) -> Mask:
        """Mask of the `count` rows of largest residual."""
        return self._largest("R", count)

    def largest_incoherences(self, count: int) -> Mask:
        """Mask of the `count` rows of largest incoherence."""
        return self._largest("E", count)

    def incoherent(self, limit: float, *, among: Mask | None = None) -> Mask:
        """Mask of the rows whose incoherence is `limit` or more; of others than `among`, none."""
        if limit == np.inf:
            return np.zeros(self.scorer.n_rows, dtype=bool)

        def doubtful() -> Mask:
            low, high = self.bounds[:2]
            doubt: Mask = (low < limit) & (high >= limit)
            return doubt if among is None else doubt & among

        self._settle(doubtful)
        found: Mask = self.bounds[0] >= limit
        return found if among is None else found & among

    def left_over(self, keep: Mask) -> float:
        """||X_keep (I - VV')||_F."""
        if self.level < 2:
            found = self.scorer.finder.left_over(self.fit, keep)
            if found is not None:
                return found
            self._score_all()
        return norm(self.bounds[2][keep])

    def _largest(self, score: str, count: int) -> Mask:
        n = self.scorer.n_rows
        if count <= 0 or count >= n:
            return np.full(n, count > 0)
        key = score, self.fit.V.shape[1], count
        which = slice(0, 2) if score == "E" else slice(2, 4)
        zone: list[Any] = []

        def doubtful() -> Mask:
            low, high = self.bounds[which]
            # The threshold lies between that of the lower and that of the upper bounds.
            least = least_of_largest(low, count, self.scorer.hints.get(key, 0.0))
            most = least_of_largest(high, count, least)
            self.scorer.hints[key] = (1 - NEARBY) * least
            near = (high >= least) & (low <= most)
            zone[:] = [near, most]
            return near & (low < high)

        if self.level == 2:
            return largest(self.bounds[which][0], count)
        self._settle(doubtful)
        near, most = zone
        values = self.bounds[which][0]
        found: Mask = (values > most) & ~near
        rows = np.flatnonzero(near)
        found[rows[largest(values[rows], count - int(np.count_nonzero(found)))]] = True
        return found

    def _settle(self, doubtful: Callable[[], Mask]) -> None:
        """Look at the rows in doubt; at all of them, if that is cheaper or nothing else helps."""
        doubt = doubtful()
        number = int(np.count_nonzero(doubt))
        n = self.scorer.n_rows
        if self.level == 0 and self.scorer.looked_at + number > WORTH_A_PASS * n:
            self._cast()
            doubt = doubtful()
            number = int(np.count_nonzero(doubt))
        if self.level == 1 and number > HOPELESS * n:
            self.scorer.hopeless.add(self.fit.V.shape[1])
            self._score_all()
            doubtful()
        elif number:
            self.scorer.looked_at += number
            E, R = self._exactly(doubt)
            for bound, exact in zip(self.bounds, (E, E, R, R), strict=True):
                bound[doubt] = exact[doubt]

    def _cast(self) -> None:
        self.level = 1
        self.scorer.cast(self.fit, self.kept)
        self.bounds = self.scorer.bounds(self.fit)

    def _score_all(self) -> None:
        self.level = 2
        E, R = self._exactly(None)
        self.bounds = E, E, R, R

    def _exactly(self, rows: Mask | None) -> tuple[Floats, Floats]:
        E, R = self.fit.scores(rows)
        # Residuals that rounding alone explains tie at zero. Without this the good rows of
        # noiseless data would be ranked by the order in which sums were taken.
        return E, np.where(self.fit.rounding(E, R) >= R, 0.0, R)


def fill_bounds(out: Bounds, shadow: Shadow, fit: Fit) -> None:
    """Bounds on both scores of all rows about `fit`, into `out`."""
    W, V, s = shadow.W, fit.V, fit.s
    A = W.T @ V
    P = V - W @ A
    move = (0.0 if fit.mean is None else fit.mean) - shadow.origin
    a = W.T @ move
    move_beside = float(np.linalg.norm(move - W @ a))
    shift = V.T @ move
    tilt = np.linalg.svd(P, full_matrices=False)
    turn = tilt.S[:, None] * tilt.Vh  # ||P c|| = ||turn c||
    sine, scaled_sine = float(tilt.S[0]), float(np.linalg.norm(P / s, 2))
    move_rounding = ULPS * EPS64 * float(move @ move)
    for i in range(0, len(shadow.Y), AT_A_TIME):
        part = slice(i, i + AT_A_TIME)
        Y, z, error = shadow.Y[part].T, shadow.beside[part], shadow.rounding[part] + move_rounding
        low_E, high_E, low_R, high_R = (bound[part] for bound in out)
        C = A.T @ Y
        C -= shift[:, None]
        squares = shadow.squares[part] - np.einsum("ij,ij->j", C, C)
        if move.any():
            squares += move @ move - 2 * (a @ Y)
        turned = turn @ C
        unknown = np.sqrt(np.einsum("ij,ij->j", turned, turned))
        unknown += move_beside
        unknown *= 2 * z
        unknown += (sine * z) ** 2 + 8 * error
        C /= s[:, None]
        E = np.sqrt(np.einsum("ij,ij->j", C, C))
        wrong = scaled_sine * z + np.sqrt(EPS64 * ULPS * error) / s[-1]
        np.maximum(E - wrong, 0.0, out=low_E)
        np.add(E, wrong, out=high_E)
        np.sqrt(np.maximum(squares + unknown, 0.0), out=high_R)
        np.sqrt(np.maximum(squares - unknown, 0.0), out=low_R)
        # What rounding may explain ties at zero when it is looked at.
        low_R[low_R <= fit.rounding(high_E, high_R)] = 0.0


def orthonormal(B: Floats) -> Floats:
    """Orthonormal basis of the columns of B, those that earlier ones explain left out."""
    basis: list[Floats] = []
    for b in B.T:
        r = b.copy()
        for _ in range(2):  # twice is enough
            for q in basis:
                r -= (q @ r) * q
        size = float(np.linalg.norm(r))
        if size > 1e-8:
            basis.append(r / size)
    return np.column_stack(basis)
