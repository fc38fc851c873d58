"""Iterations on all rows: fit a subspace to the kept rows, then keep the rows near it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from torpca._core.loop import Iteration, Step, iterate
from torpca._core.problem import check_finite
from torpca._core.subspace import Fit, SubspaceFinder, norm
from torpca._robust.lines import SETTLED, taper
from torpca._robust.loyalty import WATCHED, Watch, blame, watch
from torpca._robust.options import Options
from torpca._robust.precision import Precision, precision_law
from torpca._robust.start import ROUGHLY, Start, find_start
from torpca._robust.threshold import Threshold, residuals
from torpca._select.rank import RankChoice, choose_rank
from torpca._sources import RowSource
from torpca._sources.base import Floats

# A row may have entries as large as any float, but not most rows: they are added up.
TOO_LARGE = 1e305


@dataclass(frozen=True)
class Settled:
    """Where the iterations ended."""

    finder: SubspaceFinder = field(repr=False)
    fit: Fit
    keep: Floats
    """Weight of each row by its distance from the subspace, (n,)."""
    part: Floats
    """The same times its precision: its part in the subspace."""
    law: Precision | None
    residuals: Floats
    studentised: Floats
    """Residuals on equal terms: see `torpca._robust.threshold.residuals`."""
    threshold: Threshold = field(repr=False)
    start: Start
    choice: RankChoice
    history: tuple[Iteration, ...] = field(repr=False)
    converged: bool
    W: Floats | None
    """Directions (d, q) that are watched, if they are known, ..."""
    beside: Watch | None
    """... and where most rows are along them; None if the subspace has moved since."""

    def near(self) -> Floats:
        """Weight (n,) of each row by its residual alone."""
        return taper(self.threshold.last.z(self.studentised), *self.threshold.limits())

    def watched(self) -> Floats:
        """Directions (d, q) in which rows near the subspace leave it most.

        Rows that were left out for conspiring are among them: their direction is to be watched.
        """
        if self.W is not None:
            return self.W
        return self.finder.beyond(self.fit, self.near() * self.threshold.sample_weight, WATCHED)


def check_sums(magnitudes: Floats) -> None:
    """Raise an error if most rows have entries that cannot be added up."""
    if np.median(magnitudes) > TOO_LARGE:
        raise ValueError(
            f"Most rows of X have entries beyond {TOO_LARGE:g}, the largest "
            f"{np.max(magnitudes):.3g}: their sums are beyond every float. Divide X by a number "
            "of that size first."
        )


def settle_on_all(
    source: RowSource,
    options: Options,
    sample_weight: Floats,
    rng: np.random.Generator,
    *,
    polish: bool = True,
) -> Settled:
    """Subspace of the good rows of `source`: steps 1 to 3 of `robust_fit`.

    Without `polish` it is that of the last iteration, for a start on more rows.
    """
    trim = options.trim
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
    threshold = Threshold(sample_weight, trim, rng, SETTLED if polish else ROUGHLY)
    keep: Floats = start.keep.astype(np.float64)
    choice = start.choice
    history: tuple[Iteration, ...] = ()
    seen: set[int] = set()
    fit: Fit
    R: Floats
    studentised: Floats
    W: Floats | None = None
    while True:
        rank = choice.rank
        seen.add(rank)

        def step(keep: Floats, rank: int = rank) -> Step:
            nonlocal fit, R, studentised, W
            fit = finder.find(keep * sample_weight, rank)
            R, studentised, h = residuals(fit, keep)
            # A given share is taken by the residuals themselves, as in the paper.

            def skewness(near: Floats) -> float:
                # Directions that stand out beyond the subspace are noise too if rows spread along
                # them as noise does; if not, they may be those of bad rows.
                weights = near * sample_weight
                P = fit.rows().matmul(finder.beyond(fit, weights, WATCHED))
                return finder.skewness(fit, weights, 0 if watch(P, weights).clean else WATCHED)

            near = now = threshold(studentised if trim is None else R, skewness)
            if trim is None:
                W = None
                if threshold.undecided():
                    W = finder.beyond(fit, near * sample_weight, WATCHED)
                    P = fit.rows().matmul(W) / blame(h, keep, source.shape[1] - rank)[:, None]
                    threshold.judge(P, near)
                now = near * threshold.loyal
                # Half of the rows are good: a verdict that leaves fewer is none.
                if 2 * float(now @ sample_weight) < float(np.sum(sample_weight)):
                    now = near
            dropped = {
                "residual": int(np.count_nonzero(threshold.there & (near == 0))),
                "direction": int(np.count_nonzero((near > 0) & (now == 0))),
            }
            return Step(fit, now, dropped, norm(R[now > 0]))

        left = options.max_iter - len(history)
        run = iterate(step, keep, max_iter=left, tol=options.tol, callback=None)
        keep, converged = run.keep.astype(np.float64), run.converged
        history += tuple(replace(r, iteration=len(history) + r.iteration) for r in run.history)
        if choice.rule == "exact" or (choice.rule == "given" and not polish):
            break
        spectrum = finder.spectrum(keep * sample_weight)
        if spectrum is None:
            break
        again = choose_rank(options.rank, spectrum, round(float(np.sum(sample_weight))))
        if again.rank == rank or (again.rank in seen and again.rank < rank):
            # Of two ranks that each ask for the other, the larger explains enough.
            choice = again if again.rank == rank else choice
            break
        if len(history) == options.max_iter:  # another rank is asked for, and not to be tried
            converged = False
            break
        choice = again
        threshold.forget()

    part = keep
    if polish:
        fit = finder.find(keep * sample_weight, rank, polish=True)
        R, studentised, _ = residuals(fit, part)
    law = None
    if trim is None:
        f = finder.freedom(keep * sample_weight, fit)
        law = precision_law(studentised, keep * sample_weight, f)
    if law is not None or polish:
        W = None
    if law is not None:
        part = keep * law.weights(studentised)
        fit = finder.find(part * sample_weight, rank, polish=polish)
        R, studentised, _ = residuals(fit, part)
    return Settled(
        finder,
        fit,
        keep,
        part,
        law,
        R,
        studentised,
        threshold,
        start,
        choice,
        history,
        converged,
        W,
        None if W is None else threshold.watch,
    )
