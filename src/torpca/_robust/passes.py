"""Many rows: a part of them, held in memory, tells what a good row is; then pass over all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from torpca._core.loop import Iteration
from torpca._core.problem import check_finite
from torpca._core.stand_in import with_next
from torpca._options import Options
from torpca._robust.measure import Measured, measure
from torpca._robust.part import Part
from torpca._robust.reference import Reference
from torpca._robust.settle import Settled, Turn, settle
from torpca._robust.tuning import tuning
from torpca._robust.update import MAX_FEATURES, Judges, update
from torpca._sources import RowSource
from torpca._sources.base import Floats

# Passes after which spreads and cut-offs are found anew. Then they stay, so that the weights of the
# rows follow the subspace alone.
FRESH = 4


@dataclass(frozen=True)
class Passing:
    """Where the passes are."""

    at: Reference
    keep: Floats
    """Weights (n,) of the rows by the last pass."""
    passes: int = 0
    """How many there were."""
    stands: bool = False
    """Whether the subspace stays as it is."""


def settle_in_passes(
    source: RowSource,
    sample_weight: Floats,
    rows: npt.NDArray[np.intp],
    part: Part,
    found: Settled,
    options: Options,
    rng: np.random.Generator,
) -> tuple[Passing, Settled]:
    """Pass over all rows until the subspace stands, from what settled on the `part`.

    That is of the rows of the numbers `rows` (m,), and in the features.
    """
    judges = judges_of(float(np.sum(sample_weight)), part, found, rng)
    fit, u = found.at.fit, part.unit
    good = fit.weight / float(np.sum(part.counts))  # as a share of all rows
    s = np.sqrt(fit.variances * good * judges.total) * u
    mean = judges.origin + u * fit.mean
    V = with_next(fit.V, judges.W)
    first = judges.reference(mean, V, s, found.keep)
    counts = None if np.all(sample_weight == 1.0) else sample_weight
    turn = partial(in_pass, source=source, rows=rows, judges=judges, counts=counts, tol=options.tol)
    begun = Passing(first, np.zeros(source.shape[0]))
    passed, history, converged = settle(begun, turn, found.history, options.max_iter)
    return passed, replace(found, history=history, converged=converged)


def in_pass(
    now: Passing,
    t: int,
    source: RowSource,
    rows: npt.NDArray[np.intp],
    judges: Judges,
    counts: Floats | None,
    tol: float,
) -> Turn[Passing]:
    """One iteration on all rows: measure them, then update what they are measured against."""
    seen = measure(source, now.at, now.keep, counts)
    if not np.all(np.isfinite(seen.summary.products)):
        check_finite(source)  # says which rows are not
        raise FloatingPointError(
            "sums over the rows are beyond every float, although each number is finite. Divide "
            "X by a power of two."
        )
    keep = seen.keep[rows][judges.part.first]
    stays = now.passes >= FRESH
    new = update(
        seen, now.at, judges, source, keep, tol, rule_stays=stays, subspace_stays=now.stands
    )
    # A subspace that stands without a gap may be far from where the scatter in it was measured:
    # then it is measured once more.
    done = new.stands and (new.known or now.stands)
    return Turn(
        Passing(new.at, seen.keep, now.passes + 1, new.stands),
        record(seen, t, now.at.rank, new.change, counts),
        done,
    )


def judges_of(total: float, part: Part, found: Settled, rng: np.random.Generator) -> Judges:
    """The part as that by which all rows, of a weight of `total`, are judged."""
    now = found.at.judged
    fit, W = now.fit, now.W
    weights = found.keep * part.counts
    if W.shape[1] == 0 and not now.rule.residual.exact:  # directions to spare
        W = fit.next_directions(weights, max(tuning().n_next, 1))[0]
    origin = part.origin if part.origin is not None else np.zeros(len(fit.V))
    gram = None
    if len(fit.V) <= MAX_FEATURES:
        C = (part.Z - fit.mean) * np.sqrt(weights)[:, None]
        gram = (C.T @ C) * part.unit**2
    return Judges(
        part=part,
        origin=origin,
        total=total,
        cuts=now.rule.cuts,
        wide=not found.at.strict,
        leverage_cut=found.at.leverage.cut,
        W=W,
        common=fit.common,
        weights=weights,
        gram=gram,
        rng=rng,
    )


def record(now: Measured, t: int, rank: int, change: float, counts: Floats | None) -> Iteration:
    """Entry of the history for a pass."""
    n_rows = len(now.keep) if counts is None else int(np.count_nonzero(counts))
    n_kept, n_far = int(now.summary.n_kept), int(now.summary.n_far)
    dropped = {"residual": n_far, "direction": n_rows - n_kept - n_far}
    objective = float(np.sqrt(now.summary.squares))
    return Iteration(t, rank, dropped, n_kept, change, objective)
