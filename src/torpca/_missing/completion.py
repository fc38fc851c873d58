"""What a subspace says of the cells that a row lacks, given those it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.frame import LARGEST
from torpca._core.subspace import norm
from torpca._missing.tuning import LEAST, ROUNDING, SMALL
from torpca._sources import RowSource
from torpca._sources.base import (
    BLOCK_BYTES,
    Array,
    Floats,
    Mask,
    Rows,
    cube_root,
    place,
    row_norms,
)
from torpca._sources.tall import tall_matmul
from torpca._sources.views import View, Zeroed


@dataclass(frozen=True)
class Completion:
    """Good rows are mean + scale (V y + noise): y (k,) Gaussian, noise by feature.

    The scores of a row with missing cells are those that are most likely, given the cells o it has:
    y = (V_o'V_o + P)^-1 V_o'z_o, where z = (x - mean) / scale. P = diag((noise / deviations)^2)
    keeps rows of few cells from exploding; up to P, that is least squares on the cells.
    """

    mean: Floats
    """(d,)."""
    V: Floats
    """Directions (d, k)."""
    deviations: Floats
    """Standard deviations of the scores, (k,)."""
    noise: Floats
    """Root mean square of the residuals of good rows in each feature, were none missing, (d,)."""
    freedom: float | None = None
    """Squared residuals of full good rows are about a multiple of a chi-squared number of so many
    degrees of freedom; None: residuals are to stay as they are."""
    scale: Floats | None = None
    """What each feature is divided by first, (d,); None: nothing."""

    @property
    def cell_noise(self) -> Floats:
        """Standard deviation of the noise of each feature, (d,).

        Residuals are less than the noise, as the directions follow it: in a feature that is nearly
        one of them hardly any is left. Where they follow half of it or more, what is lacking is the
        middle one of the others.
        """
        followed = np.sum(np.square(self.V), axis=1)
        free = followed < 0.5
        noise = self.noise[free] / np.sqrt(1.0 - followed[free])
        common = float(np.median(noise)) if len(noise) else norm(self.noise)
        return np.hypot(self.noise, common * np.sqrt(followed))

    @property
    def prior(self) -> Floats:
        """The diagonal of P, (k,)."""
        d, k = self.V.shape
        noise = norm(self.noise) / np.sqrt(max(d - k, 1))
        least = ROUNDING * float(np.max(self.deviations, initial=0.0)) or 1.0
        return np.square(np.maximum(noise, least) / np.maximum(self.deviations, least))

    def normal(self, xp: Any, observed: Array, extra: Floats | None = None) -> tuple[Array, Array]:
        """V_o'V_o + P of each row, (k, k, n), given ones where a cell is observed, (n, d).

        Also those ones times `extra` (d, m), in the same product.
        """
        k = self.V.shape[1]
        i, j = np.triu_indices(k)
        factors = self.V[:, i] * self.V[:, j]
        if extra is not None:
            factors = np.column_stack([factors, extra])
        products = tall_matmul(xp, observed, factors).T
        at = np.zeros((k, k), dtype=np.intp)
        at[i, j] = at[j, i] = np.arange(len(i))
        A = xp.take(products, place(xp, at.ravel(), observed), axis=0)
        A = xp.reshape(A, (k, k, observed.shape[0]))
        return A + place(xp, np.diag(self.prior), observed)[:, :, None], products[len(i) :, :]

    def fitted(self, xp: Any, block: Array) -> Fitted:
        """Rows (n, d) as the model has them, by the cells they have."""
        # In place where that can be: most of the time goes into reading and writing.
        missing = xp.isnan(block)
        C = block - place(xp, self.mean, block)
        if self.scale is not None:
            C /= place(xp, self.scale, block)
        C = zero_where(xp, missing, C)
        d, k = self.V.shape
        observed = xp.astype(~missing, xp.float64)
        total = norm(self.noise)
        shares = np.square(self.noise / total) if total > 0 else np.full(d, 1 / d)
        A, both = self.normal(xp, observed, np.column_stack([np.ones(d), shares]))
        count, share = both[0, :], both[1, :]
        if k == 0:
            return Fitted(C[:, :0], xp.zeros_like(C), C, observed, count, share)
        V = place(xp, self.V, C)
        scores = solved(xp, A, tall_matmul(xp, C, self.V).T).T
        fitted = scores @ V.T
        C -= fitted
        C *= observed
        return Fitted(scores, fitted, C, observed, count, share)

    def completed(self, xp: Any, block: Array) -> Array:
        """Rows (n, d) with their missing cells filled; those that have none as they are.

        A row with missing cells is as far from the subspace as a full row of its quality would be:
        its residuals, in the cells it has, are multiplied by a number.
        """
        if xp is not np:  # an accelerator works on all rows sooner than it finds some of them
            lacking = xp.any(xp.isnan(block), axis=1)[:, None]
            return xp.where(lacking, self._filled(xp, block), block)
        # A sum is NaN if a number is, or infinity times zero, which was refused before.
        some = np.flatnonzero(np.isnan(block @ np.zeros(block.shape[1])))
        if len(some) == 0:
            return block
        out = block.copy()
        for at in in_pieces(np, block[: len(some)]):
            out[some[at]] = self._filled(np, block[some[at]])
        return out

    def _filled(self, xp: Any, block: Array) -> Array:
        f = self.fitted(xp, block)
        Z = f.rest
        if self.freedom is not None:
            Z *= self.factor(xp, f, self.freedom)[:, None]
        Z += f.values
        return self.in_unit(xp, Z)

    def in_unit(self, xp: Any, Z: Array) -> Array:
        """Rows in the unit of the data, of rows about the mean in that of the model, in place."""
        if self.scale is not None:
            Z *= place(xp, self.scale, Z)
        Z += place(xp, self.mean, Z)
        return Z

    def factor(self, xp: Any, f: Fitted, freedom: float) -> Array:
        """What residuals on the cells that are there are multiplied by, (n,).

        Their squares are about chi-squared, with as much less freedom as they show less noise; the
        cube root of such a number is nearly Gaussian (Wilson and Hilferty 1931), which leads from
        the law of the cells that are there to that of all of them.
        """
        d, k = self.V.shape
        # k of the cells are spent on the scores.
        free = xp.clip(1.0 - k / xp.clip(f.count, 1.0, None), 0.0, None) / max(1.0 - k / d, 1e-9)
        share = xp.clip(f.share * free, LEAST, 1.0)
        total = norm(self.noise)
        if not total > 0:
            return 1.0 / xp.sqrt(share)
        with np.errstate(over="ignore"):
            # Of rows so far off that their squares overflow, it does not matter how far.
            u = xp.clip(row_norms(xp, f.rest) / total, None, LARGEST) ** 2 / share
        a = 2.0 / (9.0 * freedom)
        z = (cube_root(xp, u) - (1.0 - a / share)) * xp.sqrt(share)
        full = xp.clip(1.0 - a + z, 0.0, None) ** 3
        return xp.sqrt(full / xp.where(u > 0, u * share, 1.0))


@dataclass(frozen=True)
class Fitted:
    """What a completion says of a block of rows, about its mean and in its unit.

    The arrays are the caller's, to write over.
    """

    scores: Array
    """y, (n, k)."""
    values: Array
    """V y, (n, d)."""
    rest: Array
    """Residuals (n, d), zero where a cell is missing."""
    observed: Array
    """Ones (n, d) where it is not."""
    count: Array
    """Number of cells there, (n,), ..."""
    share: Array
    """... and their share of the noise of a full row."""


def _isnan(xp: Any, rows: Rows, block: Array) -> Any:
    return (xp.astype(xp.isnan(block), xp.float64),), ()


def in_pieces(xp: Any, block: Array) -> list[slice]:
    """Slices of a block, few enough rows each that copies of them stay in a processor's cache."""
    n = block.shape[0]
    step = max(1, BLOCK_BYTES // (8 * block.shape[1])) if xp is np else n
    return [slice(i, min(i + step, n)) for i in range(0, n, step)] or [slice(0, 0)]


def zero_where(xp: Any, mask: Array, values: Array) -> Array:
    """`values`, made just now, with zeros in place of those of a mask."""
    if xp is not np:
        return xp.where(mask, 0.0, values)
    # By their bits: no branch, which is a third of the time that `where` takes.
    bits = values.view(np.int64)
    bits &= np.subtract(mask, 1, dtype=np.int64)
    return values


def solved(xp: Any, A: Array, b: Array) -> Array:
    """Solutions (k, n) of A y = b for n positive definite matrices A (k, k, n), b (k, n).

    By elimination, of all of them at a time: one by one, small ones take longer to call for.
    """
    k = A.shape[0]
    if k > SMALL:
        return xp.linalg.solve(xp.permute_dims(A, (2, 0, 1)), b.T[..., None])[..., 0].T
    rows = [[A[i, j, :] for j in range(k)] + [b[i, :]] for i in range(k)]
    for i in range(k):
        pivot = 1.0 / rows[i][i]
        for h in range(i + 1, k):
            factor = rows[h][i] * pivot
            for j in range(i + 1, k + 1):
                rows[h][j] = rows[h][j] - factor * rows[i][j]
    y: list[Array] = [None] * k
    for i in reversed(range(k)):
        total = rows[i][k]
        for j in range(i + 1, k):
            total = total - rows[i][j] * y[j]
        y[i] = total / rows[i][i]
    return xp.stack(y)


class Filled(View):
    """Rows with their missing cells filled by a completion."""

    def __init__(
        self,
        source: RowSource,
        completion: Completion,
        n_observed: npt.NDArray[np.intp] | None = None,
    ) -> None:
        super().__init__(source)
        self.completion = completion
        self._n_observed = n_observed

    def transform(self, xp: Any, rows: Rows, block: Array) -> Array:
        """The rows, completed."""
        return self.completion.completed(xp, block)

    def magnitudes(self) -> Floats:
        """Largest absolute entry of each row that is there, (n,)."""
        return Zeroed(self.source).magnitudes()

    def missing_cells(self) -> Mask:
        """Mask (n, d) of the cells that were filled."""
        return self.source.sweep(_isnan)[0][0] > 0

    def n_observed(self) -> npt.NDArray[np.intp]:
        """Number of cells that each row has, (n,)."""
        if self._n_observed is None:
            self._n_observed = count_observed(self.source)
        return self._n_observed


def count_observed(source: RowSource) -> npt.NDArray[np.intp]:
    """Number of cells that each row has, (n,)."""

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        return (xp.sum(xp.astype(~xp.isnan(block), xp.float64), axis=1),), ()

    return source.sweep(kernel)[0][0].astype(np.intp)


def unjudged(n_observed: npt.NDArray[np.intp], k: int, d: int) -> Mask:
    """Rows of so few of their d cells that k scores explain them whatever they are."""
    few: Mask = (n_observed <= k) & (n_observed < d)
    return few
