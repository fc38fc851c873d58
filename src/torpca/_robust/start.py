"""A start on a sample of rows: the half that is least outlying, and the subspace it settles on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from torpca._robust.flat import flat, principal_variances
from torpca._robust.halves import halves
from torpca._robust.lines import FULL, Spread
from torpca._robust.loyalty import WATCHED, blame, watch
from torpca._robust.sample import Sample, draw_sample
from torpca._select.rank import RankChoice, RankRule, choose_rank, exact_rank
from torpca._sources import RowSource
from torpca._sources.base import Floats, Mask

# Refits on the sample, and how often the rank may be chosen again meanwhile.
MAX_REFITS = 10
MAX_CHOICES = 4
# Another candidate must hold this many times as many rows to replace the first.
MARGIN = 1.15
# ... or so many times as many, if it does so more clearly in a narrow band.
SOMEWHAT = 1.05
# ... and they must not be this many times farther from its subspace.
LOOSER = 1.1
# Sets of rows that differ in less than this share of all rows will end as one.
A_FEW = 0.005
# How closely spreads are found: the start is not the answer.
ROUGHLY = 1e-3
# Rows are held that are within so many standard deviations of where most are, and of those that
# agree this share is. Of rows that do not, some are near a subspace too, but few in a narrow band;
# a wide one counts rows that agree less closely.
NARROW, WIDE = (1.5, 0.866), (3.0, 0.997)
# Digits in which different rows differ.
ROUNDED = 9
# One that holds this many times as many without being a majority is worth a word.
RIVAL = 2.0


@dataclass(frozen=True)
class Start:
    """Where the iterations on all rows begin."""

    keep: Mask
    """Rows of the sample that agree on a subspace, among all rows, (n_rows,)."""
    choice: RankChoice
    name: str
    """Which candidate won: "pairs", "strict", "subsets", "axes", "split" or "all"."""
    others: float
    """Share of the rows that agree on another subspace at least as well, in which those that
    agree on this one do not lie; zero if there is none."""
    n_sample: int
    """Rows looked at."""
    n_points: int
    """Number of different rows, rounding apart, that make up half of those looked at."""

    def among(self, rows: npt.NDArray[np.intp], n_rows: int) -> Start:
        """The same for a table of `n_rows` rows, of which these were the rows numbered `rows`."""
        keep = np.zeros(n_rows, dtype=bool)
        keep[rows[self.keep]] = True
        return replace(self, keep=keep)


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
    magnitudes: Floats,
    rule: RankRule,
    *,
    center: bool,
    weights: Floats,
    n_sample: int | None,
    rng: np.random.Generator,
) -> Start:
    """Sample rows, keep the half that is least outlying, refit, and choose between candidates.

    `magnitudes` (n_rows,) are those of `source.magnitudes()`.
    """
    sample = draw_sample(source, magnitudes, rule, center, weights, n_sample, rng)
    best: Candidate | None = None
    candidates = []
    for name, half in halves(sample, rule, rng):
        now = settle(name, sample, half, rule, best)
        candidates.append(now)
        if best is None or holds_more(now, best, sample.weights):
            best = now
    assert best is not None
    held = [shares_held(c, best, sample.weights) for c in candidates]
    choice = best.choice
    if choice.rule == "given":
        choice = choose_rank(rule, principal_variances(sample, best.keep))
    return Start(
        keep=sample.spread_out(best.keep, source.shape[0]),
        choice=choice,
        name=best.name,
        others=max((new for new, old in held if new > RIVAL * old), default=0.0),
        n_sample=len(sample.rows),
        n_points=points_of_half(sample),
    )


def points_of_half(sample: Sample) -> int:
    """Number of different rows, the most frequent first, that make up half of the sample."""
    # The rows are in a unit in which most have size one.
    _, copies = np.unique(np.round(sample.Z, ROUNDED), axis=0, return_inverse=True)
    counts = np.sort(np.bincount(copies.reshape(-1), sample.weights))[::-1]
    return int(np.searchsorted(np.cumsum(counts), 0.5 * np.sum(counts) * (1 - 1e-12))) + 1


def settle(
    name: str,
    sample: Sample,
    half: Floats,
    rule: RankRule,
    best: Candidate | None = None,
) -> Candidate:
    """Refit the subspace to the rows near it until they stay the same, or are those of `best`."""
    if rule.given is not None:  # nothing to choose
        choice = choose_rank(rule, np.zeros(min(sample.Z.shape)))
        if rule.given >= np.count_nonzero(half) - sample.center:
            half = sample.weights  # half of them lie in so many directions whatever they are
        return refit(name, sample, half, choice, best)
    # Different rows: repeated ones say nothing more about directions.
    variances, n_rows = principal_variances(sample, half), int(np.count_nonzero(half))
    choice = choose_rank(rule, variances, 2 * n_rows)
    for _ in range(MAX_CHOICES):
        now = refit(name, sample, half, choice, best)
        if now.exact:
            break
        # Refitted from the half again, however many rows are kept by now.
        choice = choose_rank(rule, principal_variances(sample, now.keep), 2 * n_rows)
        if choice.rank == now.choice.rank:
            break
    if rule.share is not None:
        return now
    # Rows without noise agree exactly or not at all. A gap may lie within the signal, or between
    # it and the few bad rows that are in this half: only the refit tells.
    exact = exact_rank(variances, n_rows)
    if not now.exact and exact is not None:
        again = refit(name, sample, half, exact)
        now = again if again.exact else now
    if now.exact and now.choice.rank < sample.Z.shape[1]:  # in all directions, all rows lie
        return replace(now, choice=replace(now.choice, rule="exact"))
    return now


def refit(
    name: str, sample: Sample, half: Floats, choice: RankChoice, best: Candidate | None = None
) -> Candidate:
    """Subspace of a given rank, refitted to the rows near it from `half` on."""
    keep = half
    for _ in range(MAX_REFITS):
        if best is not None and choice.rank == best.choice.rank and alike(keep, best.keep, sample):
            return replace(best, name=name)
        now = flat(sample, keep, choice.rank)
        residuals = now.residuals
        spread = Spread.of(residuals, sample.weights, ROUGHLY)
        new = np.where(spread.z(residuals) < FULL, sample.weights, 0.0)
        if spread.scale > 0:
            P = now.beside(new, WATCHED)
            P = P / blame(now.leverage, (keep > 0).astype(float), sample.n_features)[:, None]
            new = np.where(watch(P, new, ROUGHLY).loyalty(P) > 0.5, new, 0.0)
        if np.sum(new) < 0.5 * np.sum(sample.weights):
            break
        keep, old = new, keep
        if alike(new, old, sample):
            break
    return Candidate(name, keep, residuals, spread, choice)


def alike(a: Floats, b: Floats, sample: Sample) -> bool:
    """Whether two sets of rows, by their weights, are the same but for a few."""
    return float(np.sum(np.abs(a - b))) <= A_FEW * float(np.sum(sample.weights))


def holds_more(new: Candidate, old: Candidate, weights: Floats) -> bool:
    """Whether more rows agree on the subspace of `new`, and as closely.

    Rows are counted that are as far from the subspace as most rows are from the better of
    the two: no farther, and no nearer either. A heap of equal rows can be fitted exactly
    at the price of a direction of all others, which then are not where they were.
    """
    wide, narrow = (shares_held(new, old, weights, band) for band in (WIDE, NARROW))
    more = wide[0] > max(0.5, MARGIN * wide[1]) or (
        narrow[0] > max(0.5, MARGIN * narrow[1]) and wide[0] > SOMEWHAT * wide[1]
    )
    as_close = _limit(new.spread) <= LOOSER * _limit(old.spread)
    return as_close and more


def shares_held(
    new: Candidate, old: Candidate, weights: Floats, band: tuple[float, float] = WIDE
) -> tuple[float, float]:
    """Shares of the rows that each of two candidates of one rank holds, by the tighter of them."""
    if new.choice.rank != old.choice.rank:
        return 0.0, 1.0
    judge = min(new.spread, old.spread, key=_limit)
    width, share = band
    total = share * float(np.sum(weights))
    held = [float(np.sum(weights[np.abs(judge.z(c.residuals)) < width])) for c in (new, old)]
    return held[0] / total, held[1] / total


def _limit(spread: Spread) -> float:
    """Distance that hardly a good row exceeds."""
    return spread.unit * float(np.power(spread.location + 3 * spread.scale, 1.5))
