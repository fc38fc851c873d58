"""Many rows: learn from a part of them, then pass over all of them a few times.

The iterations of `torpca._robust.settle` settle on a part of the rows what a good row is. Then a
pass over all rows weighs each of them and multiplies the good ones with the subspace at hand: A V,
where A is their Gram matrix. That much of A is known exactly; the rest is known from the part. The
top directions of the two together are the next subspace, and the last if they did not move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from torpca._core.gram import top_of_gram
from torpca._core.krylov import expanded
from torpca._core.loop import Iteration
from torpca._core.measure import product
from torpca._core.stand_in import (
    goal,
    gram_about,
    has_gap,
    stand_in_error,
    top_directions,
    with_next,
)
from torpca._core.subspace import subspace_change
from torpca._options import Options
from torpca._robust.concentrate import ROUGHLY
from torpca._robust.describe import RobustFit, principal_axes, within_good
from torpca._robust.passes import Frozen, Inside, Look, distances, distances_of_long, look
from torpca._robust.settle import Settled
from torpca._select.rank import RankRule
from torpca._sources import RowSource
from torpca._sources.base import Floats
from torpca._stats.along import Along
from torpca._stats.draw import some_rows
from torpca._stats.limits import limits_of
from torpca._stats.precision import Precision
from torpca._stats.rule import Cutoffs, Rule, free_part, n_next
from torpca._stats.scatter import FAR_OUT, PROBE_ROWS, consistency, robust_scatter
from torpca._tuning import tuning

# The subspace of the part need not move by less than this.
NEAR = 0.03
# Rows of it by which rows far out inside the subspace are told.
SCATTER_ROWS = 2000
# ... and how closely: the first pass over all rows finds them again.
NEARLY = 0.01
# There must be this many times as many rows for a part of them to be worth it.
WORTH_IT = 2.0
# Features up to which the part's Gram matrix stands in for that of all rows. Beyond, the matrix is
# too large, and few rows say too little of it; fewer rows have to do as a part.
MAX_FEATURES, FEWEST_LONG = 700, 800
# A change of the subspace changes the weights, and these the subspace by at most this share of it.
WEIGHTS_TURN = 0.1
# Residuals are taken as differences of squares if that leaves them this accurate.
ACCURATE = 1e-10
# ... and in float32, where they only decide on weights, this accurate.
ACCURATE_SINGLE = 1e-3
# All rows are good but for those that the first pass may take for bad.
ALL_BUT_A_FEW = 0.999
# A scatter measured in a subspace holds in another that is off by no more than this sine: the
# share of a direction's variance that it misses is at most its square.
SAME = 0.05
# Where fewer rows than this share are near the middle, the part was no measure of the scatter.
LEAST_INSIDE = 0.25


def rows_to_begin_with(
    shape: tuple[int, int], sample_weight: Floats, rank: RankRule, rng: np.random.Generator
) -> npt.NDArray[np.intp] | None:
    """Numbers of the rows to learn from; None if all of them are few enough."""
    d = shape[1]
    fewest, most = tuning().part_rows
    count = FEWEST_LONG
    if d <= MAX_FEATURES:
        count = min(max(tuning().part_numbers // d, fewest), most)
    count = max(count, 20 * (rank.given or 0))
    if np.count_nonzero(sample_weight) < WORTH_IT * count:
        return None
    return some_rows(sample_weight, count, rng)


def fit_large(
    source: RowSource,
    sample_weight: Floats,
    rows: npt.NDArray[np.intp],
    part: RowSource,
    settled: Settled,
    options: Options,
    rng: np.random.Generator,
) -> RobustFit | None:
    """Principal components of all good rows, given what was `settled` on `part`, those in `rows`.

    None if the data is not of the kind this is made for: no noise, or sizes beyond squares.
    """
    passes = Passes.of(source, sample_weight, rows, part, settled, rng)
    at = None if passes is None else passes.first(settled)
    if passes is None or at is None:
        return None
    keep, history = np.zeros(source.shape[0]), list(settled.history)
    n_rows, k = int(np.count_nonzero(sample_weight)), len(at.s)
    final = False  # whether the subspace has settled, and is only measured once more
    single, exact = passes.accuracy(at, settled)
    while True:
        now = look(source, at, keep, passes.counts, exact=exact, single=single)
        if not (np.all(np.isfinite(now.AV)) and now.scores[0] > LEAST_INSIDE * now.weight > 0):
            return None
        keep = now.keep
        V, s, converged = at.V, at.s, True
        if not final:
            V, s, converged = passes.next_subspace(now, at, options.tol, single)
        change = subspace_change(at.V[:, :k], V[:, :k])
        history.append(record_of(len(history), k, now, n_rows, change))
        out_of_iterations = len(history) >= options.max_iter
        if change > SAME and out_of_iterations:
            # What was measured holds for the subspace it was measured in.
            V, s, change, converged = at.V, at.s, 0.0, False
        inside = None
        if change <= SAME:
            inside = in_axes_of(V[:, :k], now.mean, inside_of(now, at), at)
        if inside is not None and (converged or out_of_iterations):  # no row is weighed again
            at = replace(at, mean=now.mean, V=V, s=s, inside=inside)
            break
        # Without a gap behind the last component the subspace may settle far from where the
        # scatter was measured; then it is measured again, in the subspace that stays.
        final, single = converged, False
        at = passes.judge.freeze(now.mean, V, s, keep[rows], inside)
        if at is None:
            return None
    found = passes.distances(at, keep, exact)
    if found is None:
        return None
    known = keep, *found, at, settled, rows, sample_weight
    return summary(*known, tuple(history), converged, rng, options.beyond)


@dataclass(frozen=True)
class Passes:
    """What stays the same from one pass over all rows to the next."""

    source: RowSource
    counts: Floats | None
    """How often each row counts, (n,); None: once."""
    total: float
    """Weight of all rows."""
    judge: Judge
    weight: float
    """Weight of the good rows of the part, ..."""
    gram: Floats | None
    """... and their Gram matrix (d, d); None if it would be too large."""
    W: Floats
    """Next principal directions (d, q)."""

    @classmethod
    def of(
        cls,
        source: RowSource,
        sample_weight: Floats,
        rows: npt.NDArray[np.intp],
        part: RowSource,
        settled: Settled,
        rng: np.random.Generator,
    ) -> Passes | None:
        """Of rows of which `rows` are the `part`; None without noise, or beyond squares."""
        fit, some = settled.fit, sample_weight[rows]
        if settled.rule.residual.scale == 0.0 or fit.frame.factors is not None:
            return None
        if settled.route == "ellipsoid":  # passes weigh rows by a subspace
            return None
        centered = fit.mean is not None
        mean = fit.mean if fit.mean is not None else np.zeros(source.shape[1])
        weights, gram = settled.part * some, None
        if source.shape[1] <= MAX_FEATURES:
            gram = gram_about(part, mean, weights, centered=centered)
        inside = settled.start.cuts.inside
        judge = Judge(part, some, settled.rule.cuts, inside, settled.law, centered, rng)
        counts = None if np.all(sample_weight == 1.0) else sample_weight
        total, weight = float(np.sum(sample_weight)), float(np.sum(weights))
        return cls(source, counts, total, judge, weight, gram, settled.next_directions)

    def first(self, settled: Settled) -> Frozen | None:
        """What the part says of the subspace that was settled on it; None if nothing."""
        fit = settled.fit
        mean = np.zeros(self.source.shape[1]) if fit.mean is None else fit.mean
        share = float(np.sum(self.judge.counts)) / self.total
        V = np.hstack([fit.V, self.W])
        return self.judge.freeze(mean, V, fit.s / np.sqrt(share), settled.keep, None)

    def accuracy(self, at: Frozen, settled: Settled) -> tuple[bool, bool]:
        """Whether float32 is good enough for a first pass, and whether residuals must be formed.

        A difference of squares loses as many digits as the residual is smaller than the row.
        """
        squares = float(at.mean @ at.mean)
        squares += float(np.sum(settled.fit.s**2)) / float(np.sum(self.judge.counts))
        single, double = (
            8 * float(np.finfo(kind).eps) * squares / at.rule.residual.unit**2
            for kind in (np.float32, np.float64)
        )
        return bool(single <= ACCURATE_SINGLE), bool(double > ACCURATE)

    def next_subspace(
        self, now: Look, at: Frozen, tol: float, single: bool
    ) -> tuple[Floats, Floats, bool]:
        """Directions (d, k + q) and singular values (k,) of the good rows, and whether they stand.

        From what a pass saw, and from the part, or from more passes with the same weights.
        """
        k, d = len(at.s), len(at.mean)
        whole = at.law is None and now.weight > ALL_BUT_A_FEW * self.total
        aim = partial(goal, k=k, weight=now.weight, whole=whole, d=d)
        if self.gram is None:
            V, theta = expanded_directions(self.source, now, at, aim, single)
            off = WEIGHTS_TURN
        else:
            V, theta = top_directions(self.gram * (now.weight / self.weight), at.V, now.AV)
            off = stand_in_error(theta, k, self.weight, d)
            if not has_gap(theta, k) and subspace_change(at.V[:, :k], V[:, :k]) > SAME:
                # Of directions that are nearly alike the part prefers those in which its own
                # rows happen to spread. No stand-in will do: the Gram matrix of all rows.
                A = gram_about(self.source, now.mean, now.part, centered=at.centered)
                (V, s), off = top_of_gram(A, at.V.shape[1]), WEIGHTS_TURN
                theta = s**2
        change = subspace_change(at.V[:, :k], V[:, :k])
        stands = off * change <= max(tol, aim(theta))
        return with_next(V[:, :k], self.W), np.sqrt(theta[:k]), bool(stands)

    def distances(self, at: Frozen, keep: Floats, exact: bool) -> tuple[Floats, Floats] | None:
        """Distances (n,) of all rows inside and from the subspace.

        None if a row of weight is too long to be squared.
        """
        score, R = distances(self.source, at, exact=exact)
        long = np.flatnonzero(~(np.isfinite(score) & np.isfinite(R)))
        if np.any(keep[long]):
            return None
        score[long], R[long] = distances_of_long(self.source, at, long)
        return score, R


def expanded_directions(
    source: RowSource, now: Look, at: Frozen, aim: Callable[[Floats], float], single: bool
) -> tuple[Floats, Floats]:
    """Top directions and eigenvalues of A by more passes over the rows, with weights as they are.

    Until they are wrong by no more than the goal that `aim` gives for eigenvalues.
    """
    k = len(at.s)

    def multiply(V: Floats) -> Floats:
        return product(source, now.mean, now.part, V, centered=at.centered, single=single)

    def found(theta: Floats, wrong: Floats) -> bool:
        if len(theta) == k:
            return True
        # The next eigenvalue may be larger than it looks by as much as its vector is wrong.
        gap = theta[k - 1] - theta[k] - wrong[k]
        return bool(np.linalg.norm(wrong[:k]) <= aim(theta) * gap)

    V, theta, _ = expanded(multiply, at.V, now.AV, found)
    return V, theta


# ---- what is known before a pass ----------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """The part of the rows by which all are judged."""

    some: RowSource
    counts: Floats
    cuts: Cutoffs
    inside_cut: float
    """Finite if rows far out inside are off."""
    law: Precision | None
    centered: bool
    rng: np.random.Generator

    def inside(self, Y: Floats, near: Floats) -> Inside | None:
        """Scatter of scores Y (m, k) of rows of weights `near`; None if there is none."""
        few = some_rows(np.ones(len(near)), SCATTER_ROWS, self.rng)
        weights = (near * self.counts)[few]
        found = robust_scatter(Y[few], weights, self.centered, self.rng, NEARLY)
        if found.spread.scale == 0.0:
            return None
        shrink = 1 / consistency(Y.shape[1])
        return Inside(found.center, found.covariance, found.spread, shrink)

    def freeze(
        self, mean: Floats, V: Floats, s: Floats, keep: Floats, inside: Inside | None
    ) -> Frozen | None:
        """What the rows of the part, with weights `keep`, say of a subspace.

        `inside` is the scatter of all rows in it, if that is known; None if there is nothing to
        say.
        """
        k = len(s)
        if not np.all(s > 0):
            return None
        rows = self.some.centered(mean) if self.centered else self.some
        Y = rows.matmul(V)
        h = np.sum(np.square(Y[:, :k] / s), axis=1)
        R = rows.residuals(V[:, :k]) / np.sqrt(free_part(h, keep))
        rule = Rule.by_residuals(R, self.counts, self.cuts, ROUGHLY)
        if rule.residual.scale == 0.0:
            return None
        near = rule.near(R)
        inside = inside or self.inside(Y[:, :k], near)
        if inside is None:
            return None
        if n_next(*self.some.shape, k):
            rule = rule.with_next(Y[:, k:], self.counts * near, ROUGHLY, on_all=True)
        else:
            rule = replace(rule, along=Along.silent(Y.shape[1] - k))
        rule = replace(rule, cuts=replace(rule.cuts, inside=self.inside_cut))
        return Frozen(mean, self.centered, V, s, rule, self.law, inside)


# ---- what a pass says ---------------------------------------------------------------------------


def inside_of(now: Look, at: Frozen) -> Inside:
    """Where the good rows are inside the subspace, by the weights of the pass."""
    total, first, second = now.scores
    k = len(at.s)
    center = first / total if at.centered else np.zeros(k)
    covariance = (second - total * np.outer(center, center)) / max(total - at.centered, 0.5 * total)
    return replace(at.inside, center=center, covariance=consistency(k) * covariance)


def in_axes_of(V: Floats, mean: Floats, inside: Inside, at: Frozen) -> Inside:
    """The same in the coordinates of another subspace, about another mean."""
    turn = V.T @ at.V[:, : len(at.s)]
    center = turn @ inside.center - V.T @ (mean - at.mean)
    return replace(inside, center=center, covariance=turn @ inside.covariance @ turn.T)


def record_of(iteration: int, rank: int, now: Look, n_rows: int, change: float) -> Iteration:
    """Entry of the history for a pass over `n_rows` rows."""
    n_kept = int(np.count_nonzero(now.keep))
    dropped = {"residual": now.n_far, "direction": n_rows - n_kept - now.n_far}
    return Iteration(iteration, rank, dropped, n_kept, change, float(np.sqrt(now.left_over)))


def summary(
    keep: Floats,
    score: Floats,
    R: Floats,
    at: Frozen,
    settled: Settled,
    rows: npt.NDArray[np.intp],
    sample_weight: Floats,
    history: tuple[Iteration, ...],
    converged: bool,
    rng: np.random.Generator,
    share: float,
) -> RobustFit:
    """All of it, as a fit."""
    k = len(at.s)
    judges = some_rows(sample_weight, PROBE_ROWS, rng)
    counts = sample_weight[judges]
    z = at.rule.residual.z(R[judges])
    good = within_good(at.rule, keep[judges], z) * counts
    far = at.inside.spread.z(score[judges] / np.sqrt(at.inside.shrink)) >= FAR_OUT
    near = np.where((good > 0) & ~far, counts, 0.0)
    limits = limits_of(
        score[judges],
        near,
        R[judges],
        good,
        k,
        beyond=k < at.V.shape[0],
        center=at.centered,
        share=share,
    )
    # No products of all rows are stored: of short rows they are a good part of the data.
    n_good = float(keep @ sample_weight)
    square = float(np.einsum("i,i,i,i->", keep, sample_weight, R, R))
    left_over = float(np.sqrt(square / max(1.0, n_good - at.centered)))
    V, scales = principal_axes(at.V[:, :k], at.inside.covariance)
    mean = at.mean + at.V[:, :k] @ at.inside.center if at.centered else None
    return RobustFit(
        route="passes",
        mean=mean,
        V=V,
        scales=scales,
        left_over=left_over,
        n_good=n_good,
        weights=keep,
        score_distances=score,
        orthogonal_distances=R,
        limits=limits,
        span=None,
        new_rows=None,
        rank=settled.choice,
        start=settled.start.among(rows, len(sample_weight)),
        history=history,
        converged=converged,
    )
