"""The model of rows with missing cells, given the weights of the rows: fill, fit, fill again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from torpca._core.gram import top_of_gram
from torpca._core.krylov import OVERSAMPLING
from torpca._core.subspace import norm, subspace_change
from torpca._missing.completion import Completion, in_pieces
from torpca._missing.tuning import BELOW_CHANCE, MAX_PASSES, NUMBERS, ROUNDING, ROWS, SLOWEST
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Rows, place, row_norms
from torpca._sources.tall import tall_matmul, tall_rmatmul


def settled(
    source: RowSource,
    model: Completion,
    weights: Floats,
    *,
    center: bool,
    within: float = np.inf,
    share: float = BELOW_CHANCE,
    rate: float = 0.5,
) -> Completion:
    """Complete and fit in turn until the subspace moves by less than a `share` of chance.

    Rows of `weights` (n,) count as long as their residuals are `within` a limit. `rate` is what a
    move is taken to be of the one before it, until two are known.
    """
    k = model.V.shape[1]
    if k == 0 or not np.any(weights > 0):
        return model
    block = block_to_multiply(model.V, source.shape[0])
    n, last = float(np.sum(weights)), np.inf
    for _ in range(MAX_PASSES):
        now, block = improved(source, model, weights, block, center=center, within=within)
        moved = subspace_change(model.V, now.V)
        model = now
        # Moves shrink by about the same factor each time: what is left is a geometric sum.
        rate = min(moved / last, SLOWEST) if np.isfinite(last) else rate
        last = moved
        if moved * to_come(rate) <= max(ROUNDING, share * chance(model, n)):
            break
    return model


def block_to_multiply(V: Floats, n: int) -> Floats | None:
    """Orthonormal directions (d, m) about V (d, k), m > k; None where all d hardly cost more."""
    d, k = V.shape
    # A Gram matrix of NUMBERS from a sample of ROWS takes a tenth of a second.
    if d <= 2 * (k + OVERSAMPLING) or max(n, ROWS) * d * d <= ROWS * NUMBERS:
        return None
    more = np.random.default_rng(0).standard_normal((d, OVERSAMPLING))
    return np.linalg.qr(np.column_stack([V, more]))[0]


def improved(
    source: RowSource,
    model: Completion,
    weights: Floats,
    block: Floats | None,
    *,
    center: bool,
    within: float = np.inf,
) -> tuple[Completion, Floats | None]:
    """The model that fits the rows as it completes them: one step of EM for PCA.

    With many features the directions `block` (d, m) stand for all of them, and come back turned
    towards the leading ones.
    """
    d, k = model.V.shape
    rows, sums, products, squares, observed, cells = totals(source, model, weights, block, within)
    n = float(rows[0])
    shift = sums / n if center else np.zeros(d)
    if block is None:
        V, s = top_of_gram(products / n - np.outer(shift, shift), k)
    else:
        block, s = leading_by_products(products / n - np.outer(shift, shift @ block), block)
        V = block[:, :k]
    # The scores use up k of the cells of each row.
    free = float(cells[0]) / max(float(np.sum(observed)), 1e-300)
    per_cell = squares / np.maximum(observed, 1e-300)
    noise = per_cell / max(free, ROUNDING) * max(1.0 - k / d, ROUNDING)
    found = replace(model, mean=model.mean + shift, V=V, deviations=s[:k], noise=np.sqrt(noise))
    return found, block


def totals(
    source: RowSource, model: Completion, weights: Floats, B: Floats | None, within: float
) -> tuple[Floats, ...]:
    """What one pass adds up over rows of `weights` (n,) whose residuals are `within` a limit.

    The weight of the rows (1,); the sum (d,) of the completed rows Z about the mean, and Z'WZ B,
    without B the identity; by feature the squares of the residuals (d,) and the weight of the cells
    that are there (d,); the weight of these less what the scores use up (1,).
    """
    k = model.V.shape[1]

    def piece(xp: Any, w: Array, block: Array) -> tuple[Array, ...]:
        f = model.fitted(xp, block)
        if model.freedom is not None and np.isfinite(within):
            residuals = row_norms(xp, f.rest) * model.factor(xp, f, model.freedom)
            w = xp.where(residuals <= within, w, 0.0)
        squares = w @ (f.rest * f.rest)
        Z = f.rest
        Z += f.values
        if B is None:
            roots = xp.sqrt(w)[:, None] * Z
            products = roots.T @ roots  # of one matrix with itself: half the multiplications
        else:
            products = tall_rmatmul(xp, Z, w[:, None] * tall_matmul(xp, Z, B)).T
        cells = w @ xp.clip(f.count - k, 0.0, None)
        return xp.sum(w)[None], w @ Z, products, squares, w @ f.observed, cells[None]

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        w = place(xp, weights[rows], block)
        parts = [piece(xp, w[at], block[at, :]) for at in in_pieces(xp, block)]
        return (), tuple(sum(part[1:], start=part[0]) for part in zip(*parts, strict=True))

    return source.sweep(kernel, weights > 0)[1]


def leading_by_products(P: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Leading directions of G (d, d) and roots of its eigenvalues, from P = GB for orthonormal B.

    Those of P (B'P)^-1 P', which is G where B has its leading directions (Nystroem; Gittens and
    Mahoney 2013).
    """
    theta, Q = np.linalg.eigh((B.T @ P + P.T @ B) / 2)
    there = theta > ROUNDING * theta[-1]
    left, s, _ = np.linalg.svd(P @ (Q[:, there] / np.sqrt(theta[there])), full_matrices=False)
    return left, s


def to_come(rate: float) -> float:
    """All moves that follow one, as a multiple of it, if each is `rate` times the one before."""
    return rate / (1 - rate)


def chance(model: Completion, n: float) -> float:
    """Sine of the angle that a subspace fitted to n rows is off by, about."""
    last = float(model.deviations[-1]) if len(model.deviations) else 0.0
    return min(norm(model.noise) / max(np.sqrt(n) * last, 1e-300), 1.0)
