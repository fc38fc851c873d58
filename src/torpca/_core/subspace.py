"""Top right singular vectors of the kept rows: SVD_k(M - C) of the paper, at any shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from torpca._core.frame import Frame, choose_frame, frame_of_size
from torpca._core.gram import leading_of_gram, near_top_of_gram, top_of_gram
from torpca._core.krylov import krylov_subspace
from torpca._core.moments import Keep, KeptMoments, KeptRowGram, weighted, weighted_total
from torpca._sources import Deflated, RowSource
from torpca._sources.base import Floats, Mask
from torpca._sources.tall import tall_matmul

# Squaring the rows squares their condition number: below this share of the largest singular value
# a Gram matrix says nothing reliable, and the next directions are looked for in the residuals.
RESOLVED = 1e-3
# Singular values below this many units of rounding of the largest are zero (seen: up to 5).
RANK_ULPS = 16.0
# Units of rounding in the residual of a row that lies in the subspace (seen: up to 17).
RESIDUAL_ULPS = 32.0
# The same for the part of a row that taking the mean off adds: one rounding each.
MEAN_ULPS = 2.0
EPS64 = float(np.finfo(np.float64).eps)
# With less than this times its rounding in the directions of a Gram matrix polishing adds nothing,
# unless all but this share of the rows' size is in them.
SHARP, EXACT_FIT = 64.0, 1e-6
# Below this share of the trace a Gram matrix, less most of it, knows nothing of a direction.
BLURRED = 1e-12
# Above this share of the trace the sum of squares beyond a subspace has ten digits.
LEFT_OVER = 1e-5
# Largest side of a Gram matrix that is formed and decomposed.
MAX_GRAM = 2000

# Standard deviations beyond which it does not matter how far out a row is.
FAR = 1e150

Solver = Callable[[RowSource, Mask, int], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Fit:
    """Subspace of the kept rows: basis V (d, k), singular values s (k,), and the rows it fits."""

    mean: Floats | None
    V: Floats
    s: Floats
    frame: Frame
    eps: float
    """Unit of rounding of the data."""
    blur: float
    """How many times less accurate than rounding allows the directions are."""

    def rows(self) -> RowSource:
        """Return the view of the data that V and s refer to."""
        return self.frame.about(self.mean)

    def scores(self, rows: npt.NDArray[np.intp] | None = None) -> tuple[Floats, Floats]:
        """Incoherence E and residual R of every row, R in the user's unit.

        With `rows`, of the rows with these numbers, in ascending order; not in a frame of its own.
        """
        if rows is None:
            return self.frame.restore(*self.rows().scores(self.V, self.s / self.frame.unit))
        assert self.frame.factors is None
        return self.rows().scores_of(rows, self.V, self.s)

    def scores_in_unit(self, weights: Floats) -> tuple[Floats, float]:
        """V'(x - mean) of every row, (n, k), in a unit in which most are about one, and the unit.

        `weights` (n,) are those of the rows in the fit.
        """
        k = self.V.shape[1]
        unit = float(self.s[0]) / np.sqrt(max(np.sum(weights), 1.0)) if k else 1.0
        Y = self.rows().matmul(self.V)
        with np.errstate(over="ignore"):
            Y /= unit if self.frame.factors is None else (unit * self.frame.factors)[:, None]
        return np.clip(Y, -FAR, FAR), unit

    def incoherences(self) -> Floats:
        """Incoherence E of every row, which takes less than both scores."""
        Y = self.rows().matmul(self.V)
        Y /= self.s / self.frame.unit
        E = np.sqrt(np.vecdot(Y, Y))
        return self.frame.restore(E, E)[0]

    def coordinates(self, rows: npt.NDArray[np.intp]) -> Floats:
        """V'(x - mean) of the rows with these numbers, (len(rows), k), in the unit of the frame."""
        return self.rows().pick(rows, lambda xp, block: (tall_matmul(xp, block, self.V),))[0]

    def rounding(self, E: Floats, R: Floats) -> Floats:
        """Size of residual that rounding can produce, row by row."""
        of_R, of_E, shift = self.rounding_weights
        return of_R * R + of_E * E + shift

    @property
    def rounding_weights(self) -> tuple[float, float, float]:
        """What R, E and one count in the size of residual that rounding can produce.

        A direction of size s_j is known to eps s_1/s_j at best, and a row has s_j E of it, so the
        error of its residual is about eps s_1 E. Taking the mean off adds its own rounding.
        """
        s1 = float(self.s[0]) if len(self.s) else 0.0
        shift = 0.0 if self.mean is None else norm(np.abs(self.mean))
        ulps = RESIDUAL_ULPS * self.eps
        return ulps, ulps * self.blur * s1, MEAN_ULPS * self.eps * shift


def subspace_change(V: Floats, W: Floats) -> float:
    """Sine of the largest angle between span(V) and span(W); 1 if their dimensions differ."""
    if V.shape != W.shape:
        return 1.0
    if V.shape[1] == 0:
        return 0.0
    return min(1.0, float(np.linalg.norm(W - V @ (V.T @ W), 2)))


def spectrum_change(s: Floats, t: Floats) -> float:
    """Largest relative difference of two lists of singular values; 1 if their lengths differ."""
    if len(s) != len(t):
        return 1.0
    size = np.maximum(s, t)
    return float(np.max(np.abs(s - t) / np.where(size > 0, size, 1.0), initial=0.0))


class SubspaceFinder:
    """Finds the top subspace of one kept set after another, over the same rows.

    It keeps what carries over from one set to the next: the Gram matrix of the kept rows when
    d is small, the last subspace as a start when both n and d are large. If `near` is enough,
    directions that are not polished are no better than what is left beyond them asks for.
    """

    def __init__(
        self, source: RowSource, magnitudes: Floats, center: bool, *, near: bool = False
    ) -> None:
        self.source = source
        self.magnitudes = magnitudes
        # Where the shortest row needs no other unit, no set of rows does.
        shortest = float(np.min(magnitudes))
        plain = frame_of_size(source, magnitudes, shortest)
        self._plain = plain if shortest > 0 and plain.factors is None else None
        self.center = center
        self.near = near
        self.eps = float(np.finfo(source.dtype).eps)
        n, d = source.shape
        self.solve = choose_solver(n, d)
        self._moments: KeptMoments | KeptRowGram | None = None
        self._last: Floats | None = None
        self.width = 0  # directions to find at least, for `top`: they come nearly for free
        self._top: tuple[Keep, Floats] | None = None

    def find(self, keep: Keep, k: int, *, polish: bool = False) -> Fit:
        """Top `k` directions of the kept rows; fewer if the rows have no more.

        `keep` is a mask, or a weight for each row. `polish` spends two more passes on directions
        accurate to rounding, where the Gram matrix does not have them so already.
        """
        frame = self._frame(keep)
        if self.solve is krylov_subspace:
            mean = self._mean(frame, keep)
            rows, mask = weighted(frame.about(mean), keep)
            V, s = krylov_subspace(rows, mask, k, self._last)
            self._last = V
        else:
            mean, G = self._moments_in(frame).of(keep)
            rows, mask = weighted(frame.about(mean), keep)
            if self.near and not polish:
                V, s = near_top_of_gram(G, k)
            else:
                V, s = top_of_gram(G, max(k + polish, self.width))
                self._top = keep, V
                polish = polish and not self._sharp(s, k)
                V, s = V[:, :k], s[:k]
            if self.solve is _solve_dual:
                V = _from_left(rows, mask, V, s)
        zero = RANK_ULPS * self.eps * s[0]
        if mean is not None:
            zero = max(zero, self._rounding_of(mean / frame.unit, int(np.count_nonzero(mask))))
        # Krylov stops short of rounding; two passes more make exact fits tie as they do elsewhere.
        polish = polish or self.solve is krylov_subspace
        V, s, blur = self._resolve(rows, mask, V, s, zero, polish)
        return Fit(mean, V, s * frame.unit, frame, self.eps, blur)

    def spectrum(self, keep: Keep) -> Floats | None:
        """Squared singular values of the kept rows, largest first; None where that costs too much.

        In the unit of the frame: only their ratios mean something.
        """
        if self.solve is krylov_subspace:
            return None
        values = eigh(self.moments(keep)[1], eigvals_only=True, check_finite=False)
        return np.maximum(values[::-1], 0.0)

    def freedom(self, keep: Keep, fit: Fit) -> float:
        """Number of equal directions that spread as those of the kept rows beyond `fit` do.

        (sum of their squared singular values)^2 over the sum of their squares; infinite where
        there are none, or where that costs too much.
        """
        if self.solve is krylov_subspace:
            return np.inf
        G, size, _, _ = self._beyond(fit, keep)
        rest = float(np.trace(G))
        return 1.0 / float(np.sum(np.square(G / rest))) if rest > BLURRED * size else np.inf

    def moments(self, keep: Keep) -> tuple[Floats | None, Floats]:
        """Mean of the kept rows (None if uncentred) and their Gram matrix about it.

        The (d, d) one or, for few, long rows, the (n_kept, n_kept) one; in the unit of the frame.
        """
        return self._moments_in(self._frame(keep)).of(keep)

    def beyond(self, fit: Fit, keep: Keep, q: int) -> Floats:
        """Directions (d, q) in which the rows of `keep` leave the subspace most, to a few digits.

        Fewer where rounding begins, none where no Gram matrix is at hand.
        """
        nothing = np.zeros((self.source.shape[1], 0))
        if self.solve is krylov_subspace:
            return nothing
        G, size, rows, mask = self._beyond(fit, keep)
        W, s = leading_of_gram(G, q)
        W, s = W[:, s**2 > BLURRED * size], s[s**2 > BLURRED * size]
        if len(s) == 0:
            return nothing
        if self.solve is _solve_dual:
            W = _from_left(rows, mask, W, s)
        beside: Floats = np.linalg.qr(W - fit.V @ (fit.V.T @ W))[0]
        return beside

    @property
    def has_gram(self) -> bool:
        """Whether the (d, d) Gram matrix of the kept rows is at hand."""
        return self.solve is _solve_gram

    def top(self, keep: Keep, m: int) -> Floats:
        """Top `m` directions (d, m) of the kept rows as their Gram matrix has them."""
        if self._top is None or self._top[0] is not keep or self._top[1].shape[1] < m:
            self._top = keep, top_of_gram(self.moments(keep)[1], m)[0]
        return self._top[1][:, :m]

    def left_over(self, fit: Fit, keep: Keep) -> float | None:
        """||X_keep (I - VV')||_F from the Gram matrix; None where it is too little for that."""
        mean, G = self.moments(keep)
        size = float(np.trace(G))
        rest = size - float(np.sum(fit.V * (G @ fit.V)))
        if not rest > LEFT_OVER * size:
            return None
        if mean is not None and fit.mean is not None:
            move = mean - fit.mean
            move = move - fit.V @ (fit.V.T @ move)
            rest += float(np.sum(keep)) * float(move @ move)
        return float(np.sqrt(rest))

    def _beyond(self, fit: Fit, keep: Keep) -> tuple[Floats, float, RowSource, Mask]:
        """Gram matrix of what is left of the rows of `keep` beyond `fit`, and the trace with it.

        Also the rows about their mean, with their weights, and the mask of the kept.
        """
        mean, G = self._moments_in(fit.frame).of(keep)
        rows, mask = weighted(fit.frame.about(mean), keep)
        size = float(np.trace(G))
        if self.solve is _solve_gram:
            GV = G @ fit.V
            G = G - fit.V @ GV.T - GV @ fit.V.T + fit.V @ (fit.V.T @ GV) @ fit.V.T
        else:
            Y = rows.matmul(fit.V)[mask]
            G = G - Y @ Y.T
        return (G + G.T) / 2, size, rows, mask

    def _frame(self, keep: Keep) -> Frame:
        return self._plain or choose_frame(self.source, self.magnitudes, keep > 0)

    def _moments_in(self, frame: Frame) -> KeptMoments | KeptRowGram:
        if self._moments is None or self._moments.frame.unit != frame.unit:
            kind = KeptMoments if self.solve is _solve_gram else KeptRowGram
            self._moments = kind(frame, self.center, self.magnitudes)
        self._moments.frame = frame
        return self._moments

    def _sharp(self, s: Floats, k: int) -> bool:
        """Whether the Gram matrix has the top `k` directions as accurately as the rows have them.

        It knows them to eps s_1^2/(s_k^2 - s_{k+1}^2) and what wear adds to that. Where s_{k+1} is
        next to nothing the rows lie in a subspace, which they themselves know better.
        """
        if not isinstance(self._moments, KeptMoments) or len(s) <= k or s[k] <= EXACT_FIT * s[0]:
            return False
        gap = float(s[k - 1] ** 2 - s[k] ** 2)
        return self._moments.wear * float(s[0] ** 2) <= SHARP * gap

    def _rounding_of(self, mean: Floats, n_kept: int) -> float:
        """Size of the directions that taking off a `mean` leaves behind by rounding alone.

        Each entry was rounded when it was stored, independently of the others; the error of the
        mean itself, of a sum of n float64 numbers, is the same in every row.
        """
        stored = self.eps * float(np.max(np.abs(mean))) * (np.sqrt(n_kept) + np.sqrt(len(mean)))
        common = (4 + np.sqrt(n_kept)) * EPS64 * np.sqrt(n_kept) * float(np.linalg.norm(mean))
        return float(max(stored, common))

    def _mean(self, frame: Frame, keep: Keep) -> Floats | None:
        if not self.center:
            return None
        return frame.unit * (weighted_total(frame.about(None), keep) / float(np.sum(keep)))

    def _resolve(
        self, rows: RowSource, keep: Mask, V: Floats, s: Floats, zero: float, polish: bool
    ) -> tuple[Floats, Floats, float]:
        """Directions V, s as a solver gave them, made reliable over the whole range of sizes.

        Those too small beside the largest for a Gram matrix to tell are found again in the
        residuals of the others, where they are the largest; those no larger than `zero` are left
        out. Also returns how many times less accurate than rounding allows the directions are.
        """
        k = V.shape[1]
        if not polish and s[-1] > max(RESOLVED * s[0], zero):
            return fix_signs(V), s, float(s[0] / s[-1])
        found, values = V[:, :0], s[:0]
        while True:
            reliable = int(np.count_nonzero(s > max(RESOLVED * s[0], zero)))
            if reliable == 0:
                break
            V, s = polished(rows, keep, V[:, :reliable], s[:reliable])
            found, values = np.hstack([found, V]), np.concatenate([values, s])
            if len(values) == k:
                break
            rows = Deflated(rows, V)
            V, s = self.solve(rows, keep, k - len(values))
        return fix_signs(np.linalg.qr(found)[0]), values, 1.0


def choose_solver(n: int, d: int) -> Solver:
    """Route to the top subspace for this shape: the smaller Gram matrix, or none at all."""
    if min(n, d) > MAX_GRAM:
        return krylov_subspace
    return _solve_gram if d <= n else _solve_dual


def _solve_gram(rows: RowSource, keep: Mask, k: int) -> tuple[Floats, Floats]:
    """Through the (d, d) Gram matrix."""
    return top_of_gram(rows.gram(keep), k)


def _solve_dual(rows: RowSource, keep: Mask, k: int) -> tuple[Floats, Floats]:
    """Through the (n_kept, n_kept) Gram matrix, when rows are fewer than features."""
    U, s = top_of_gram(rows.row_gram(keep), k)
    return _from_left(rows, keep, U, s), s


def _from_left(rows: RowSource, keep: Mask, U: Floats, s: Floats) -> Floats:
    """Right singular vectors (d, k) of the kept rows from the left ones U (n_kept, k)."""
    Y = np.zeros((rows.shape[0], len(s)))
    Y[keep] = U / np.where(s > 0, s, 1.0)
    V: Floats = np.linalg.qr(rows.rmatmul(keep, Y))[0]
    return V


def polished(rows: RowSource, keep: Mask, V: Floats, s: Floats) -> tuple[Floats, Floats]:
    """One step of subspace iteration on the rows themselves, with singular values from them.

    A Gram matrix knows a direction to eps (s_1/s_j)^2; the product X'(X v_j) lies in the row
    space to eps s_1/s_j.
    """
    Q = np.linalg.qr(rows.gram_matmul(keep, V))[0]
    # Q'X'XQ = D H D with D = diag(s) and H near the identity: the singular values of XQ are those
    # of chol(H)' D, to high relative accuracy however much they differ in size.
    H = (Q.T @ rows.gram_matmul(keep, Q / s)) / s[:, None]
    L = np.linalg.cholesky((H + H.T) / 2)
    _, s, Wt = np.linalg.svd(L.T * s)
    return Q @ Wt.T, s


def norm(values: Floats) -> float:
    """Euclidean norm of `values`, safe for any size of them."""
    top = float(np.max(values, initial=0.0))
    # Not a dot product: BLAS would wake its threads for it.
    return top * float(np.sqrt(np.sum(np.square(values / top)))) if top > 0 else 0.0


def fix_signs(V: Floats) -> Floats:
    """Columns of V with the entry of largest absolute value made positive."""
    if V.shape[1] == 0:
        return V
    leading = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return V * np.where(leading < 0, -1.0, 1.0)
