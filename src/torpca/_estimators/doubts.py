"""What a careful user would want to know about a fit, in words: each doubt and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from torpca._estimators.settled import still_moving
from torpca._estimators.stability import Probe
from torpca._robust.describe import RobustFit
from torpca._robust.outlyingness import axes_of_extreme_kurtosis, best_split
from torpca._robust.start import Start
from torpca._sources.base import Floats, Mask
from torpca._words import counted, whole

# With fewer rows in agreement than this, those that disagree could as well be the good ones.
AGREEMENT = 0.525
# When this many agree better on another subspace, they may be the good ones.
RIVALS = 0.48
# Half of the rows lie near some subspace whatever they mean if they are no more different points
# than this, and so many for each dimension, ...
FEW_POINTS, POINTS_PER_DIMENSION = 20, 5
# ... unless there are few rows anyway: points must be repeated more often than this.
REPEATED = 4
# Of so few rows, more than this share may be flagged although all are good.
FEW_ROWS, FEW_FLAGGED = 30, 0.05
# Share of the rows that may be near only one of two subspaces that are as good.
CHANGED = 0.02
# Flagged rows, and share of the rows, from which on it is asked whether single cells are bad: at
# most so many in a row, which make so much of its squared residual, in so many columns at least and
# in half of those that may be.
FEWEST_FLAGGED, SHARE_FLAGGED = 10, 0.03
CELLS_EACH, MOST_OF_IT, DIFFERENT_COLUMNS, FEWEST_CELLS = 2, 0.7, 3, 10
# Two groups are apart if their means differ by this many standard deviations of the rows within
# them: 2.7 for the halves of Gaussian rows, 3.5 of uniform ones. A group of a smaller share is not
# one. Nor are two values of a feature, with which groups have at least this correlation.
APART, SMALLEST_GROUP, TWO_VALUES = 6.0, 0.15, 0.99
# Directions among which it is looked for, and rows for each that it takes.
MOST_DIRECTIONS, ROWS_PER_DIRECTION = 20, 20


@dataclass(frozen=True)
class Fitted:
    """A fit and what is asked about it."""

    fit: RobustFit
    weights: Floats
    """How often each row counts, (n,)."""
    distances: Floats
    """The larger of the two distances of each row, in units of its limit, (n,)."""
    limit: float
    """Limit on the orthogonal distance."""
    trimmed: bool
    """Whether the user said which share of the rows to leave out."""
    scales_agreed: bool
    """Whether the scales of the features keep the rows from which they come."""
    probe: Probe | None
    cells: bool
    """Whether bad cells were looked for."""

    def share(self, rows: Mask) -> float:
        """Share of the rows of a mask, by weight."""
        return float(self.weights @ rows / np.sum(self.weights))

    @property
    def rank(self) -> int:
        """Number of components."""
        return self.fit.V.shape[1]


def doubts(it: Fitted) -> Iterator[str]:
    """Sentences about what may be wrong with a fit, without a full stop."""
    for doubt in (
        disagreement,
        two_groups,
        other_scales,
        other_starts,
        single_cells,
        few_rows,
        few_points,
    ):
        said = doubt(it)
        if said is not None:
            yield said
    rank = it.fit.rank
    if rank.rule == "edge":
        yield (
            f"n_components='auto' found no gap in the variances and took the largest number that "
            f"it considers for so many rows, {rank.rank}. That explains {rank.explained:.0%}. Give "
            "n_components"
        )
    if (moved := still_moving(it.fit.converged, it.fit.history)) is not None:
        yield (
            f"the subspace still moved by {moved:.1e} in iteration {whole(len(it.fit.history))}. "
            "Try a larger max_iter, or another n_components"
        )


def disagreement(it: Fitted) -> str | None:
    """Half of the rows or more may be on the other side."""
    agree, flagged = it.share(it.fit.orthogonal_distances <= it.limit), it.share(it.distances > 1)
    others, dimensions = it.fit.start.others, counted(it.rank, "dimension")
    if not it.trimmed and agree < AGREEMENT:
        return (
            f"only {agree:.0%} of the rows agree on a subspace of {dimensions}, "
            "so the other rows may be the good ones. Look at the two distances of all rows, and "
            "try another n_components"
        )
    if not it.trimmed and flagged > 1 - AGREEMENT:
        return (
            f"{flagged:.0%} of the rows are beyond a limit, so the other rows may be the bad ones. "
            "Look at the two distances of all rows, and try another n_components"
        )
    if not it.trimmed and others > RIVALS:
        return (
            f"{others:.0%} of the rows agree better on another subspace of {dimensions} "
            "than most rows do on this one, so perhaps no subspace fits more than half of them. "
            "Look at the two distances of all rows, and try another n_components"
        )
    return None


def two_groups(it: Fitted) -> str | None:
    """The kept rows are two groups inside the subspace."""
    probe, k = it.probe, min(it.rank, MOST_DIRECTIONS)
    few_points = mostly_few_points(it.fit.start, it.rank)
    if probe is None or not probe.in_features or k == 0 or few_points:
        return None
    w = it.fit.weights[probe.rows] * probe.weights
    inside = w > 0
    w = w[inside] / np.sum(w)
    if len(w) < ROWS_PER_DIRECTION * k or it.fit.scales[k - 1] == 0.0:
        return None
    mean = 0.0 if it.fit.mean is None else it.fit.mean
    Y = (probe.Z[inside] - mean) @ (it.fit.V[:, :k] / it.fit.scales[:k])
    Y -= w @ Y
    theta, Q = np.linalg.eigh((Y * w[:, None]).T @ Y)
    if not theta[0] > 1e-6 * theta[-1]:
        return None
    P = axes_of_extreme_kurtosis(Y @ (Q / np.sqrt(theta)), w, np.random.default_rng(0))[0]
    split = max((best_split(x, w) for x in P.T), key=lambda split: split.apart)
    share = float(np.sum(w[split.above]))
    if split.apart < APART or not SMALLEST_GROUP <= share <= 1 - SMALLEST_GROUP:
        return None
    C = probe.Z[inside] - w @ probe.Z[inside]
    group = split.above - share
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.abs((w * group) @ C) / np.sqrt((w @ np.square(group)) * (w @ np.square(C)))
    if np.nanmax(alike) > TWO_VALUES:
        return None
    return (
        f"the rows in the fit form two groups, of {max(share, 1 - share):.0%} and "
        f"{min(share, 1 - share):.0%}, far apart inside the subspace. If one of them is bad, it "
        "has a component of its own. Plot the scores, and fit the groups separately or try one "
        "component fewer"
    )


def other_scales(it: Fitted) -> str | None:
    """Scales of the kept rows would keep others."""
    if it.scales_agreed:
        return None
    return (
        "the kept rows depend on the scales: with features divided by the standard deviations of "
        "the rows it keeps, the fit would keep other rows. Scale the features yourself, by what "
        "you know about them, and leave scale=False"
    )


def other_starts(it: Fitted) -> str | None:
    """Another subspace is as good, and other rows are near it."""
    if it.trimmed or it.fit.start.tied <= CHANGED:
        return None
    return (
        f"the flagged rows depend on where the fit starts. Another subspace of "
        f"{counted(it.rank, 'dimension')} is as good, and {it.fit.start.tied:.0%} of the rows are "
        "kept by only one of the two. Look at stability_, and try another "
        "n_components"
    )


def single_cells(it: Fitted) -> str | None:
    """Flagged rows are bad in a cell or two, each in others."""
    probe = it.probe
    if it.cells or probe is None or not probe.in_features or probe.Z.shape[1] < FEWEST_CELLS:
        return None
    flagged = np.flatnonzero(it.distances[probe.rows] > 1)
    if len(flagged) < max(FEWEST_FLAGGED, SHARE_FLAGGED * len(probe.rows)):
        return None
    C = probe.Z[flagged] if it.fit.mean is None else probe.Z[flagged] - it.fit.mean
    E = np.abs(C - (C @ it.fit.V) @ it.fit.V.T)
    size = np.max(E, axis=1, keepdims=True)
    squares = np.square(E / np.where(size > 0, size, 1.0))
    two = np.argpartition(squares, -CELLS_EACH, axis=1)[:, -CELLS_EACH:]
    share = np.sum(np.take_along_axis(squares, two, axis=1), axis=1)
    off = it.fit.orthogonal_distances[probe.rows[flagged]] > it.limit
    few = off & (share > MOST_OF_IT * np.sum(squares, axis=1))
    n_few, columns = int(np.count_nonzero(few)), len(np.unique(np.argmax(squares[few], axis=1)))
    different = columns >= max(DIFFERENT_COLUMNS, min(n_few, E.shape[1]) / 2)
    if 2 * n_few < len(flagged) or not different:
        return None
    some = "" if probe.of_all else " looked at"
    return (
        f"{whole(n_few)} of {whole(len(flagged))} flagged rows{some} are off the subspace in only "
        f"one or two cells, in {whole(columns)} different columns. With cells=True such cells "
        "count as missing, and the rest of the row is kept"
    )


def few_rows(it: Fitted) -> str | None:
    """Too few rows for limits."""
    n = float(np.sum(it.weights))  # a row of weight two is that row twice
    if n > FEW_ROWS or it.share(it.distances > 1) <= FEW_FLAGGED:
        return None
    return (
        f"there are only {n:g} rows in the fit. Limits from so few rows are rough, and good rows "
        "may be beyond them. Look at the two distances of the flagged rows before you leave them "
        "out"
    )


def few_points(it: Fitted) -> str | None:
    """Good rows that are few different points, or fewer than it takes."""
    rank, k = it.fit.rank, it.rank
    if rank.rule == "given" and k < rank.rank:
        what = f"vary in only {counted(k, 'direction')}" if k else "are all equal"
        return (
            f"the good rows {what}, so there are fewer components than the {rank.rank} "
            "asked for. Give a smaller n_components, or leave repeated rows out"
        )
    if not mostly_few_points(it.fit.start, k):
        return None
    points = it.fit.start.n_points
    what = "are equal" if points == 1 else f"are copies of only {points} different rows"
    return (
        f"half of the rows {what}, so they lie near a subspace of {counted(k, 'dimension')} in any "
        "case, and others may look far off. Look at the flagged rows, try another n_components, or "
        "leave repeated rows out"
    )


def mostly_few_points(start: Start, k: int) -> bool:
    """Whether half of the rows are so few different points that they lie near any subspace."""
    few = start.n_points <= FEW_POINTS + POINTS_PER_DIMENSION * k
    return few and REPEATED * start.n_points < start.n_sample
