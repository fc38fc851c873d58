"""Subspace of rows with holes, given the weights of the rows: fill, fit, and fill again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torpca._core.gram import top_of_gram
from torpca._core.subspace import norm, subspace_change
from torpca._missing.completion import ROUNDING, Completion, in_pieces
from torpca._sources import RowSource
from torpca._sources.base import Array, Floats, Rows, place, row_norms
from torpca._sources.tall import tall_matmul, tall_rmatmul

# Most features, and multiplications, with which the products of all features are formed.
MAX_GRAM, MAX_PRODUCTS = 700, 2e9
# Directions to spare where they are not.
SPARE = 10
# Share of the error that chance makes by which the subspace may still be off, and passes at most.
BELOW_CHANCE, MAX_PASSES = 0.05, 100
# A change of the subspace that is rounding.
SETTLED = 1e-9


@dataclass(frozen=True)
class Totals:
    """What one pass over weighted, completed rows adds up."""

    rows: float
    """Weight of the rows."""
    sums: Floats
    """Of the rows about the mean, (d,)."""
    products: Floats
    """Z'WZ B for the completed rows Z about the mean and the B (d, m) asked for, ..."""
    residuals: Floats
    """Squares of the residuals by feature, (d,), in the cells that are there."""
    observed: Floats
    """Weight of the cells that are there by feature, (d,)."""
    cells: float
    """Weight of the cells that are there less what the scores use up."""


def totals(
    source: RowSource, model: Completion, weights: Floats, B: Floats | None, within: float
) -> Totals:
    """One pass over the rows of `weights` (n,) whose residuals are `within` a limit.

    Without B it is the identity.
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
        return (
            xp.sum(w)[None],
            w @ Z,
            products,
            squares,
            w @ f.observed,
            (w @ xp.clip(f.count - k, 0.0, None))[None],
        )

    def kernel(xp: Any, rows: Rows, block: Array) -> Any:
        w = place(xp, weights[rows], block)
        parts = [piece(xp, w[at], block[at, :]) for at in in_pieces(xp, block)]
        return (), tuple(sum(part[1:], start=part[0]) for part in zip(*parts, strict=True))

    count, sums, products, residuals, observed, cells = source.sweep(kernel, weights > 0)[1]
    return Totals(
        float(count[0]),
        sums,
        products,
        residuals,
        observed,
        float(cells[0]),
    )


def improved(
    source: RowSource,
    model: Completion,
    weights: Floats,
    spare: Floats | None,
    *,
    center: bool,
    within: float = np.inf,
) -> tuple[Completion, Floats | None]:
    """The model that fits the rows as it completes them: one step of EM for PCA.

    With many features the directions `spare` (d, m), m > k, stand for all of them, and come back
    turned towards the leading ones.
    """
    d, k = model.V.shape
    t = totals(source, model, weights, spare, within)
    shift = t.sums / t.rows if center else np.zeros(d)
    if spare is None:
        V, s = top_of_gram(t.products / t.rows - np.outer(shift, shift), k)
    else:
        products = t.products / t.rows - np.outer(shift, shift @ spare)
        spare, s = leading_by_products(products, spare)
        V = spare[:, :k]
    per_cell = t.residuals / np.maximum(t.observed, 1e-300)
    # The scores use up k of the cells of each row.
    free = t.cells / max(float(np.sum(t.observed)), 1e-300)
    noise = per_cell / max(free, 1e-9) * max(1.0 - k / d, 1e-9)
    found = replace(model, mean=model.mean + shift, V=V, deviations=s[:k], noise=np.sqrt(noise))
    return found, spare


def leading_by_products(P: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Leading directions of G (d, d) and roots of its eigenvalues, from P = GB for orthonormal B.

    Those of P (B'P)^-1 P', which is G where B has its leading directions (Nystroem; Gittens and
    Mahoney 2013).
    """
    theta, Q = np.linalg.eigh((B.T @ P + P.T @ B) / 2)
    there = theta > ROUNDING * theta[-1]
    left, s, _ = np.linalg.svd(P @ (Q[:, there] / np.sqrt(theta[there])), full_matrices=False)
    return left, s


def settled(
    source: RowSource,
    model: Completion,
    weights: Floats,
    *,
    center: bool,
    within: float = np.inf,
    max_passes: int = MAX_PASSES,
    share: float = BELOW_CHANCE,
    rate: float = 0.5,
) -> Completion:
    """Complete and fit in turn until the subspace moves by less than chance does.

    Rows of `weights` (n,) count as long as their residuals are `within` a limit. `rate` is what a
    move is taken to be of the one before it, until two are known.
    """
    d, k = model.V.shape
    if k == 0 or not np.any(weights > 0):
        return model
    spare = None
    if d > MAX_GRAM or (d > 2 * (k + SPARE) and source.shape[0] * d * d > MAX_PRODUCTS):
        few = np.random.default_rng(0).standard_normal((d, SPARE))
        spare = np.linalg.qr(np.column_stack([model.V, few]))[0][:, : min(d, k + SPARE)]
    n, last = float(np.sum(weights)), np.inf
    for _ in range(max_passes):
        now, spare = improved(source, model, weights, spare, center=center, within=within)
        moved = subspace_change(model.V, now.V)
        model = now
        # Moves shrink by about the same factor each time: what is left is a geometric sum.
        rate = min(moved / last, 0.95) if np.isfinite(last) else rate
        last = moved
        if moved * to_come(rate) <= max(SETTLED, share * chance(model, n)):
            break
    return model


def to_come(rate: float) -> float:
    """All moves that follow one, as a multiple of it, if each is `rate` times the one before."""
    return rate / (1 - rate)


def chance(model: Completion, n: float) -> float:
    """Sine of the angle that a subspace fitted to n rows is off by, about."""
    last = float(model.deviations[-1]) if len(model.deviations) else 0.0
    return min(norm(model.noise) / max(np.sqrt(n) * last, 1e-300), 1.0)
