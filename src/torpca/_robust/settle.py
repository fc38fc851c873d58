"""Iterations on all rows: fit a subspace to the kept rows, then weigh all rows by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from torpca._core.loop import Iteration, Step, iterate
from torpca._core.problem import check_finite, check_sums
from torpca._core.subspace import Fit, SubspaceFinder, norm
from torpca._options import Options
from torpca._robust.concentrate import ROUGHLY
from torpca._robust.ellipsoid import Ellipsoid
from torpca._robust.start import Start, find_start
from torpca._select.rank import RankChoice, choose_rank
from torpca._sources import RowSource
from torpca._sources.base import Floats
from torpca._stats.copies import without_heaps
from torpca._stats.cutoffs import nearest, taper
from torpca._stats.draw import some_rows
from torpca._stats.lines import SETTLED, rms_of_half, weights_of_nearest
from torpca._stats.precision import Precision, precision_law
from torpca._stats.rule import Cutoffs, Rule, free_part, much_closer, n_next, rough_by
from torpca._stats.scatter import FAR_OUT, PROBE_ROWS, mahalanobis, robust_scatter, tightest_half
from torpca._stats.spread import Spread
from torpca._tuning import tuning

# Iterations in which rows are looked at along the next directions. Directions that hardly differ in
# size turn from one iteration to the next, and new rows are far out along them each time: at some
# point the verdict stands.
MAX_VERDICTS = 10
# Iterations in which rows are weighed at all. Where variances are equal beyond the signal, and more
# components are asked for, weights and directions would follow each other for ever.
MAX_LOOKS = 30
# Share of the kept rows that may be far out among them. (Planted rows: tests/test_ellipsoid.py.)
FAR_OUT_AMONG = 0.03


@dataclass(frozen=True)
class Settled:
    """Where the iterations ended: a subspace and what the rows have to do with it."""

    route: str
    """How it was found: "rows", "ellipsoid", "span", "exact"."""
    rows: RowSource = field(repr=False)
    """The rows as they were iterated on: in their span, if they are few and long."""
    fit: Fit
    keep: Floats
    """Weight of each row by its distance from the subspace, (n,), ..."""
    part: Floats
    """... and times its precision: its part in the subspace."""
    law: Precision | None
    sample_weight: Floats
    residuals: Floats
    studentised: Floats
    """Residuals on equal terms: see `residuals`."""
    rule: Rule
    next_directions: Floats
    """Directions (d, q) beyond the subspace along which rows were looked at."""
    good: Floats | None
    """Weight of each row in the limits, (n,), if that is not for its residual to say."""
    trimmed: bool
    """Whether a given share of the rows was left out, not those that are too far off."""
    start: Start
    choice: RankChoice
    history: tuple[Iteration, ...] = field(repr=False)
    converged: bool


def residuals(fit: Fit, keep: Floats) -> tuple[Floats, Floats]:
    """Residual R of every row, and R on equal terms for rows in the fit or not."""
    E, R = fit.scores()
    R = np.where(fit.rounding(E, R) >= R, 0.0, R)
    h = np.minimum(E, 1e100) ** 2
    return R, R / np.sqrt(free_part(h, keep))


def settle_on_all(
    source: RowSource,
    options: Options,
    sample_weight: Floats,
    rng: np.random.Generator,
    *,
    polish: bool = True,
) -> Settled:
    """Subspace of the good rows of `source`: steps 1 to 8 of docs/algorithm.md.

    Without `polish` it is that of the last iteration, for a start on more rows.
    """
    magnitudes = check_finite(source)
    check_sums(magnitudes)
    finder = SubspaceFinder(source, magnitudes, options.center, near=True)
    start = find_start(
        source,
        magnitudes,
        options.rank,
        center=options.center,
        weights=sample_weight,
        n_sample=options.n_sample,
        rng=rng,
    )
    weigher = Weigher(finder, start, options, sample_weight, rng, SETTLED if polish else ROUGHLY)
    keep, choice, history, converged = iterated_twice(weigher, start, options, polish)
    fit, rule, W = weigher.fit, weigher.rule, weigher.W
    if polish or rule.residual.exact:
        fit = finder.find(keep * sample_weight, choice.rank, polish=True)
    elif W.shape[1] == 0:  # passes over more rows need directions to spare
        W = finder.beyond(fit, keep * sample_weight, max(tuning().n_next, 1))
    R, studentised = residuals(fit, keep)
    law, part = None, keep
    if options.trim is None:
        freedom = finder.freedom(keep * sample_weight, fit)
        law = precision_law(studentised, keep * sample_weight, freedom)
    if law is not None:
        part = keep * law.weights(studentised)
        fit = finder.find(part * sample_weight, choice.rank, polish=polish)
        R, studentised = residuals(fit, part)
    return Settled(
        route="rows" if weigher.within is None else "ellipsoid",
        rows=source,
        fit=fit,
        keep=keep,
        part=part,
        law=law,
        sample_weight=sample_weight,
        residuals=R,
        studentised=studentised,
        rule=rule,
        next_directions=W,
        good=weigher.good,
        trimmed=options.trim is not None,
        start=start,
        choice=choice,
        history=history,
        converged=converged,
    )


def iterated_twice(
    weigher: Weigher, start: Start, options: Options, polish: bool
) -> tuple[Floats, RankChoice, tuple[Iteration, ...], bool]:
    """Iterate by residuals, and once more by the ellipsoid if these led astray; see `iterated`."""
    found = iterated(weigher, start, options, polish)
    history = found[2]
    left = options.max_iter - len(history)
    if not left or not weigher.goes_by_ellipsoid(found[0]):
        return found
    rest = replace(options, max_iter=left)
    keep, choice, more, converged = iterated(weigher, start, rest, polish)
    history += tuple(replace(r, iteration=len(history) + r.iteration) for r in more)
    return keep, choice, history, converged


def iterated(
    weigher: Weigher, start: Start, options: Options, polish: bool
) -> tuple[Floats, RankChoice, tuple[Iteration, ...], bool]:
    """Fit and weigh in turn until the subspace settles, and so does the number of components.

    Returns the weights (n,) of the rows, the number of components, the history, and whether it
    settled.
    """
    keep: Floats = start.keep.astype(np.float64)
    choice, seen = start.choice, set[int]()
    history: tuple[Iteration, ...] = ()
    while True:
        seen.add(choice.rank)
        left = options.max_iter - len(history)
        step = weigher.step(choice.rank)
        run = iterate(step, keep, max_iter=left, tol=options.tol, callback=None)
        keep, converged = run.keep.astype(np.float64), run.converged
        history += tuple(replace(r, iteration=len(history) + r.iteration) for r in run.history)
        again = None
        if choice.rule != "exact" and (polish or choice.rule != "given"):
            again = weigher.rank_of(keep)
        if again is None or again.rank == choice.rank:
            return keep, again or choice, history, converged
        if again.rank in seen and again.rank < choice.rank:
            # Of two ranks that each ask for the other, the larger explains enough.
            return keep, choice, history, converged
        if len(history) == options.max_iter:  # another rank is asked for, and not to be tried
            return keep, choice, history, False
        choice = again
        weigher.forget()


class Weigher:
    """Fits and weighs all rows, iteration after iteration; no cut-off exceeds that of the start."""

    fit: Fit
    rule: Rule
    last: tuple[Floats, Floats]
    nearest: tuple[Floats, Floats]
    """Weights by the subspace nearest to half of the rows."""

    def __init__(
        self,
        finder: SubspaceFinder,
        start: Start,
        options: Options,
        sample_weight: Floats,
        rng: np.random.Generator,
        settled: float,
    ) -> None:
        self.finder = finder
        self.options = options
        self.cuts = start.cuts
        self.ellipsoid = start.ellipsoid
        self.within: Floats | None = None
        self.good: Floats | None = None
        self.n_rows = int(np.count_nonzero(start.keep))
        self.sample_weight = sample_weight
        self.rng = rng
        self.settled = settled
        self.judges = some_rows(sample_weight, PROBE_ROWS, rng)
        self.there = sample_weight > 0
        self.forget()

    def forget(self) -> None:
        """Begin anew: the rows are about to be measured from a subspace of another rank."""
        self.looks = 0
        self.half = np.inf
        self.along = np.ones(len(self.sample_weight))
        self.leverage: Floats | None = None
        self.W = np.zeros((self.finder.source.shape[1], 0))

    def step(self, rank: int) -> Callable[[Floats], Step]:
        """One iteration with `rank` components, as a function of the weights (n,) of the rows."""

        def step(keep: Floats) -> Step:
            self.fit = self.finder.find(keep * self.sample_weight, rank)
            R, studentised = residuals(self.fit, keep)
            if self.options.trim is not None:
                # By the residuals themselves, as in the paper.
                self.rule = Rule.by_residuals(R, self.sample_weight)
                near = now = nearest(R, self.options.trim, self.sample_weight)
            else:
                near, now = self.weigh(studentised)
            dropped = {
                "residual": int(np.count_nonzero(self.there & (near == 0))),
                "direction": int(np.count_nonzero((near > 0) & (now == 0))),
            }
            return Step(self.fit, now, dropped, norm(R[now > 0]))

        return step

    def weigh(self, R: Floats) -> tuple[Floats, Floats]:
        """Weights (n,) of the rows by their studentised residuals alone, and by all there is."""
        if self.looks >= MAX_LOOKS:
            return self.last
        rows, counts = self.judges, self.sample_weight
        half = rms_of_half(R[rows], counts[rows])
        if much_closer(self.half, half, self.n_rows, self.fit.V.shape[1]):
            # The rows that came in since have drawn the subspace away from half of them all.
            self.looks, self.last = MAX_LOOKS, self.nearest
            return self.last
        votes = without_heaps(R[rows], counts[rows])
        rule = Rule.by_residuals(R[rows], votes, self.cuts, self.settled)
        if self.within is not None:
            self.rule = rule
            return self.within, self.within
        near = np.where(self.there, rule.near(R), 0.0)
        if 2 * float(near @ counts) < float(np.sum(counts)) * (1 - 1e-9):
            near = np.where(weights_of_nearest(R, counts) > 0, 1.0, 0.0)
        count = n_next(*self.finder.source.shape, self.fit.V.shape[1])
        if self.looks < MAX_VERDICTS and rule.residual.scale > 0 and count:
            self.W = self.finder.beyond(self.fit, near * counts, count)
            P = self.fit.rows().matmul(self.W)
            rule = rule.with_next(P[rows], near[rows] * votes, self.settled, on_all=True)
            self.along = taper(rule.along.z(P), rule.cuts.along) if self.W.size else self.along
        if self.leverage is None:
            self.leverage = self.leverage_weights(near)
        self.looks += 1
        self.cuts = replace(self.cuts, residual=rule.cuts.residual)
        self.rule = rule
        now = near * self.along * self.leverage
        # Half of the rows are good: a verdict that leaves fewer is none.
        if 2 * float(now @ counts) < float(np.sum(counts)):
            now = near
        self.last = near, now
        if half < self.half:
            self.half, self.nearest = half, self.last
        return near, now

    def goes_by_ellipsoid(self, keep: Floats) -> bool:
        """Whether rows of weights `keep` (n,) vary without a gap, and many are far out among them.

        Then rows are weighed by their distance in all directions.
        """
        k, counts = self.fit.V.shape[1], self.sample_weight
        if self.ellipsoid is None or self.options.trim is not None or self.rule.residual.exact:
            return False
        W = self.finder.beyond(self.fit, keep * counts, 1)
        if k == 0 or W.shape[1] == 0:
            return False
        Y = self.fit.rows().matmul(np.hstack([self.fit.V[:, -1:], W]))
        last, following = (keep * counts) @ np.square(Y)
        if last > tuning().gap ** rough_by(float(np.count_nonzero(keep))) * following:
            return False
        within, good = self.ellipsoid_weights(self.ellipsoid)
        far = float((keep * counts) @ (1 - within)) / float(keep @ counts)
        # An ellipsoid that holds more rows than were kept says nothing against these.
        if far <= FAR_OUT_AMONG or float(within @ counts) >= float(keep @ counts):
            return False
        self.within, self.good = within, good
        self.cuts = Cutoffs()
        self.forget()
        return True

    def ellipsoid_weights(self, ellipsoid: Ellipsoid) -> tuple[Floats, Floats]:
        """Weights (n,) by the distance in all directions from the rows in an ellipsoid.

        For the fit, and for limits, which need all rows that are not far off.
        """
        rows, counts = self.judges, self.sample_weight
        D = self.finder.find(ellipsoid.keep * counts, self.finder.source.shape[1]).scores()[0]
        z = Spread.of(D[rows], counts[rows]).z(D)
        within, good = (taper(z, cut) for cut in (ellipsoid.cut, max(ellipsoid.cut, FAR_OUT)))
        if 2 * float(within @ counts) < float(np.sum(counts)):
            within = np.where(weights_of_nearest(D, counts) > 0, 1.0, 0.0)
        return np.where(self.there, within, 0.0), np.maximum(within, good)

    def leverage_weights(self, near: Floats) -> Floats:
        """Weights (n,) that leave rows far out inside the subspace out, if they are off it.

        Found once: rows that were left out stay out.
        """
        if not np.isfinite(self.cuts.inside):
            return np.ones(len(near))
        weights = near * self.sample_weight
        Y = self.fit.scores_in_unit(weights)[0]
        D = mahalanobis(Y, *tightest_half(Y, weights, self.options.center, self.rng))
        return taper(Spread.of(D, weights).z(D), self.cuts.inside)

    def rank_of(self, keep: Floats) -> RankChoice | None:
        """Number of components that the kept rows ask for; None where that costs too much.

        Rows far out inside have no say in it, as they have none in the variances.
        """
        weights = keep * self.sample_weight
        if self.options.rank.given is None and self.fit.V.shape[1]:
            Y = self.fit.scores_in_unit(weights)[0]
            weights = robust_scatter(Y, weights, self.options.center, self.rng).weights
        spectrum = self.finder.spectrum(weights)
        if spectrum is None:
            return None
        return choose_rank(self.options.rank, spectrum, round(float(np.sum(self.sample_weight))))
