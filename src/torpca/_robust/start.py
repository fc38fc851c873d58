"""A start on a sample of rows: the half that is least outlying, and the subspace it settles on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from torpca._robust.lines import FULL, Spread, weighted_quantile
from torpca._robust.loyalty import WATCHED, loyalty
from torpca._robust.outlyingness import (
    Outlyingness,
    axes_of_extreme_kurtosis,
    outlyingness,
    pair_directions,
)
from torpca._select.rank import RankChoice, choose_rank, exact_rank
from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask

# Directions through pairs of rows, and principal axes within which kurtosis is looked at.
N_PAIRS = 300
AXES = (5, 10, 20)
# Rows of the sample: as many as a product with their directions takes no time for.
SAMPLE_ROWS, SAMPLE_ROWS_LONG, LONG = 2000, 600, 500
# Rows of the sample for each direction asked for, at least.
ROWS_PER_DIRECTION = 10
# Refits on the sample, and how often the rank may be chosen again meanwhile.
MAX_REFITS = 10
MAX_CHOICES = 4
# A residual this small beside its row comes from the Gram matrix of the sample, not from the row.
BLUR = 1e-7
# Another candidate must hold this many times as many rows to replace the first.
MARGIN = 1.15
# One that holds this many times as many without being a majority is worth a word.
RIVAL = 2.0
# Subsets of as many rows as span a subspace that are tried, and the most directions at which
# some of them can be hoped to be all good.
N_SUBSETS, MOST_BY_SUBSET = 200, 8
# Rows longer than this many times the middle one are shortened: their squares must not overflow.
FAR = 2.0**200


@dataclass(frozen=True)
class Start:
    """Where the iterations on all rows begin."""

    keep: Mask
    """Rows of the sample that agree on a subspace, among all rows, (n_rows,)."""
    choice: RankChoice
    name: str
    """Which candidate won: "pairs", "subsets", "axes", "split" or "all"."""
    others: float
    """Share of the rows that agree on another subspace at least as well, in which those that
    agree on this one do not lie; zero if there is none."""
    n_sample: int
    """Rows looked at."""


@dataclass(frozen=True)
class Sample:
    """Different rows of the sample in a convenient unit and basis, with their multiplicities."""

    Z: Floats
    weights: Floats
    center: bool
    copies: npt.NDArray[np.intp]
    """For each row drawn, its row of Z."""
    rows: npt.NDArray[np.intp]
    """Number of each row drawn, among all rows."""

    def spread_out(self, inside: Floats, n: int) -> Mask:
        """Mask over all n rows of those whose row of Z is `inside`."""
        mask = np.zeros(n, dtype=bool)
        mask[self.rows[inside[self.copies] > 0]] = True
        return mask


@dataclass(frozen=True)
class Candidate:
    """A half of the sample after refitting: the rows that agree, and their residuals."""

    name: str
    keep: Floats
    residuals: Floats
    spread: Spread
    choice: RankChoice

    @property
    def exact(self) -> bool:
        """Whether more than half of the rows lie in the subspace up to rounding."""
        return self.spread.location == self.spread.scale == 0.0


def find_start(
    source: RowSource,
    n_components: int | float | str,
    *,
    center: bool,
    weights: Floats,
    n_sample: int | None,
    rng: np.random.Generator,
) -> Start:
    """Sample rows, keep the half that is least outlying, refit, and choose between candidates."""
    sample = draw_sample(source, n_components, center, weights, n_sample, rng)
    best: Candidate | None = None
    candidates = []
    for name, half in halves(sample, n_components, rng):
        now = settle(name, sample, half, n_components)
        candidates.append(now)
        if best is None or holds_more(now, best, sample.weights):
            best = now
    assert best is not None
    held = [shares_held(c, best, sample.weights) for c in candidates]
    n = source.shape[0]
    return Start(
        keep=sample.spread_out(best.keep, n),
        choice=best.choice,
        name=best.name,
        others=max((new for new, old in held if new > RIVAL * old), default=0.0),
        n_sample=len(sample.rows),
    )


# ---- the sample --------------------------------------------------------------------------------


def draw_sample(
    source: RowSource,
    n_components: int | float | str,
    center: bool,
    weights: Floats,
    n_sample: int | None,
    rng: np.random.Generator,
) -> Sample:
    """Draw rows by weight and bring them into a basis as short as they allow.

    Equal rows become one with their weights added, in an order that depends on their values
    alone: a sample that is all of the data is the same whatever the order of its rows, and
    a row of weight two is the same as that row twice.
    """
    d = source.shape[1]
    there = np.flatnonzero(weights > 0)
    if n_sample is None:
        n_sample = SAMPLE_ROWS if d <= LONG else SAMPLE_ROWS_LONG
        if not isinstance(n_components, str):
            n_sample = max(n_sample, ROWS_PER_DIRECTION * int(n_components))
    if n_sample < len(there):
        chance = weights[there] / np.sum(weights[there])
        rows = np.sort(rng.choice(there, size=n_sample, replace=False, p=chance))
        counts = np.ones(n_sample)
    else:
        rows, counts = there, weights[there]
    S, copies = np.unique(source.take(rows), axis=0, return_inverse=True)
    copies = copies.reshape(-1)
    merged: Floats = np.bincount(copies, counts, minlength=len(S)).astype(float)
    # Any point among the rows will do to centre on: it only keeps digits from cancelling.
    Z = S - S[_typical(S, merged)] if center else S
    Z = _shorter_basis(_in_unit(Z, merged))
    return Sample(Z, merged, center, copies, rows)


def _typical(S: Floats, weights: Floats) -> int:
    """Number of the row whose largest entry is the middle one."""
    size = np.max(np.abs(S), axis=1)
    order = np.argsort(size, kind="stable")
    mass = np.cumsum(weights[order])
    return int(order[np.searchsorted(mass, 0.5 * mass[-1] * (1 - 1e-12))])


def _in_unit(Z: Floats, weights: Floats) -> Floats:
    """Rows in a unit in which the middle one has size one, the farthest ones shortened."""
    size = np.max(np.abs(Z), axis=1)
    if not size.any():
        return Z
    unit = size[_typical(Z, weights)]
    unit = unit if unit > 0 else float(np.min(size[size > 0]))
    # A power of two: changing the unit changes no digit.
    exponent = int(np.frexp(unit)[1])
    Z, size = np.ldexp(Z, -exponent), np.ldexp(size, -exponent)
    far = size > FAR
    if far.any():
        Z[far] *= (FAR / size[far])[:, None]
    return Z


def _shorter_basis(Z: Floats) -> Floats:
    """Rows in a basis of their own span when they are fewer than their features."""
    m, d = Z.shape
    if d <= m:
        return Z
    # Rows far out would drown the digits of the others in one Gram matrix: a QR decomposition
    # treats each row by itself.
    R: Floats = np.linalg.qr(Z.T, mode="r")  # type: ignore[assignment]
    return R.T


# ---- candidates --------------------------------------------------------------------------------


def halves(
    sample: Sample, n_components: int | float | str, rng: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Candidate halves of the sample, the most trusted first."""
    Z, weights = sample.Z, sample.weights
    pairs = outlyingness(Z @ pair_directions(Z, weights, N_PAIRS, rng), weights)
    first = pairs.nearest_half(weights)
    yield "pairs", first
    rank = choose_rank(n_components, principal_variances(sample, first)).rank
    if rank <= MOST_BY_SUBSET and rank < min(Z.shape):
        yield "subsets", nearest_to_a_subset(sample, rank, rng)

    core = _not_hopeless(pairs, weights)
    both, flattest = pairs, (np.inf, np.zeros(len(Z)))
    for count in AXES:
        if 10 * count > np.count_nonzero(core):
            break
        P, kurtosis = axes_of_extreme_kurtosis(Z, core, count, rng)
        if P.shape[1] == 0:
            break
        both = both.joined(outlyingness(P, weights))
        at = int(np.argmin(kurtosis))
        flattest = min(flattest, (kurtosis[at], P[:, at]), key=lambda pair: pair[0])
    if both is not pairs:
        yield "axes", both.nearest_half(weights)
        yield "split", larger_side(flattest[1], core)
    yield "all", core


def nearest_to_a_subset(sample: Sample, rank: int, rng: np.random.Generator) -> Floats:
    """Weights of the half nearest to a subspace through few rows, the nearest such half found.

    Rows of two subspaces look alike along every single direction. A few rows that are all of one
    kind, and of some hundred tries one is, show it.
    """
    Z, weights = sample.Z, sample.weights
    chance = weights / np.sum(weights)
    best, distances = np.inf, np.zeros(len(Z))
    for _ in range(N_SUBSETS):
        rows = Z[rng.choice(len(Z), size=rank + sample.center, replace=False, p=chance)]
        start = rows[0] if sample.center else np.zeros(Z.shape[1])
        V = np.linalg.qr((rows[sample.center :] - start).T)[0]
        C = Z - start
        R = np.linalg.norm(C - (C @ V) @ V.T, axis=1)
        middle = weighted_quantile(R, weights, 0.5)
        if middle < best:
            best, distances = middle, R
    return Outlyingness(np.zeros(len(Z)), distances).nearest_half(weights)


def _not_hopeless(found: Outlyingness, weights: Floats) -> Floats:
    """Weights of the rows that are not far beyond the others; at least half of them."""
    z = Spread.of(found.distance, weights).z(found.distance)
    core = np.where((z < FULL + 1.5) & (found.off == 0), weights, 0.0)
    if np.sum(core) < 0.5 * np.sum(weights):
        return found.nearest_half(weights)
    return core


def larger_side(x: Floats, weights: Floats) -> Floats:
    """Weights of the larger of the two groups that `x` falls into, least squares within groups."""
    inside = np.flatnonzero(weights > 0)
    order = inside[np.argsort(x[inside], kind="stable")]
    w, wx = np.cumsum(weights[order]), np.cumsum(weights[order] * x[order])
    if len(order) < 2:
        return weights
    left, right = w[:-1], w[-1] - w[:-1]
    between = left * right * (wx[:-1] / left - (wx[-1] - wx[:-1]) / right) ** 2
    cut = int(np.argmax(between)) + 1
    group = order[:cut] if w[cut - 1] >= 0.5 * w[-1] else order[cut:]
    out = np.zeros(len(weights))
    out[group] = weights[group]
    return out


def settle(name: str, sample: Sample, half: Floats, n_components: int | float | str) -> Candidate:
    """Refit the subspace to the rows near it until they stay the same."""
    variances = principal_variances(sample, half)
    choice = choose_rank(n_components, variances)
    for _ in range(MAX_CHOICES):
        now = refit(name, sample, half, choice)
        if now.exact:
            break
        choice = choose_rank(n_components, principal_variances(sample, now.keep))
        if choice.rank == now.choice.rank:
            break
    if n_components != "auto":
        return now
    # Rows without noise agree exactly or not at all. A gap may lie within the signal, or between
    # it and the few bad rows that are in this half: only the refit tells.
    exact = exact_rank(variances)
    if not now.exact and exact is not None:
        again = refit(name, sample, half, exact)
        now = again if again.exact else now
    return replace(now, choice=replace(now.choice, rule="exact")) if now.exact else now


def refit(name: str, sample: Sample, half: Floats, choice: RankChoice) -> Candidate:
    """Subspace of a given rank, refitted to the rows near it from `half` on."""
    keep = half
    for _ in range(MAX_REFITS):
        residuals, rest = residuals_of_fit(sample, keep, choice.rank)
        spread = Spread.of(residuals, sample.weights)
        new = np.where(spread.z(residuals) < FULL, sample.weights, 0.0)
        if spread.scale > 0:
            P = rest @ leading_directions(rest, new, WATCHED)
            new = np.where(loyalty(P, P, new) > 0.5, new, 0.0)
        if np.array_equal(new, keep) or np.sum(new) < 0.5 * np.sum(sample.weights):
            break
        keep = new
    return Candidate(name, keep, residuals, spread, choice)


def holds_more(new: Candidate, old: Candidate, weights: Floats) -> bool:
    """Whether more rows agree on the subspace of `new`.

    Rows are counted that are as far from the subspace as most rows are from the better of
    the two: no farther, and no nearer either. A heap of equal rows can be fitted exactly
    at the price of a direction of all others, which then are not where they were.
    """
    counts = shares_held(new, old, weights)
    return counts[0] > max(0.5, MARGIN * counts[1])


def shares_held(new: Candidate, old: Candidate, weights: Floats) -> tuple[float, float]:
    """Shares of the rows that each of two candidates of one rank holds, by the tighter of them."""
    if new.choice.rank != old.choice.rank:
        return 0.0, 1.0
    judge = min(new.spread, old.spread, key=_limit)
    held = [
        float(np.sum(weights[np.abs(judge.z(c.residuals)) < 3.0])) / float(np.sum(weights))
        for c in (new, old)
    ]
    return held[0], held[1]


def _limit(spread: Spread) -> float:
    """Distance that hardly a good row exceeds."""
    return spread.unit * float(np.power(spread.location + 3 * spread.scale, 1.5))


# ---- principal components of the sample --------------------------------------------------------


def _gram(sample: Sample, keep: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, kept rows about it times the roots of their weights, and their smaller Gram matrix."""
    inside = keep > 0
    w = keep[inside]
    Z = sample.Z[inside]
    mean = (w @ Z) / np.sum(w) if sample.center else np.zeros(Z.shape[1])
    C = (Z - mean) * np.sqrt(w / np.sum(w))[:, None]
    return mean, C, C.T @ C if C.shape[1] <= len(C) else C @ C.T


def principal_variances(sample: Sample, keep: Floats) -> Floats:
    """Variances of the kept rows along their principal directions, largest first."""
    _, _, G = _gram(sample, keep)
    values: Floats = np.maximum(eigh(G, eigvals_only=True, check_finite=False)[::-1], 0.0)
    return values


def residuals_of_fit(sample: Sample, keep: Floats, rank: int) -> tuple[Floats, Floats]:
    """Distance (m,) of all rows to the top `rank` directions of the kept ones, and what is left.

    Distances of rounding size are set to zero; what is left of the rows is (m, p).
    """
    mean, C, G = _gram(sample, keep)
    V = _top(C, G, rank)
    Z = sample.Z - mean
    Y = Z @ V
    rest = Z - Y @ V.T
    R = np.linalg.norm(rest, axis=1)
    # A direction of the Gram matrix is good to BLUR of the longest, and rows have that much of it.
    size = np.linalg.norm(Y, axis=1) + np.sqrt(max(np.trace(G), 0.0))
    return np.where(BLUR * size >= R, 0.0, R), rest


def leading_directions(rest: Floats, weights: Floats, count: int) -> Floats:
    """Directions (p, count) in which the weighted rows of `rest` are largest."""
    inside = weights > 0
    C = rest[inside] * np.sqrt(weights[inside])[:, None]
    return _top(C, C.T @ C if C.shape[1] <= len(C) else C @ C.T, count)


def _top(C: Floats, G: Floats, count: int) -> Floats:
    """Top right singular vectors of C as columns, from its smaller Gram matrix G."""
    m = len(G)
    theta, U = eigh(G, subset_by_index=[m - min(count, m), m - 1], check_finite=False)
    V = U if C.shape[1] <= len(C) else C.T @ U
    return np.linalg.qr(V[:, theta > BLUR**2 * theta[-1]])[0]
