"""What a fit says about a table, in one object from which summary, report and pictures are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._core.loop import Iteration
from torpca._estimators.labels import UNKNOWN
from torpca._estimators.robust import OutlierRobustPCA
from torpca._estimators.stability import Stability
from torpca._missing.cell_map import CellMap, notable_cells
from torpca._missing.completion import Filled
from torpca._missing_cells import MissingCells, missing_cells, none_missing
from torpca._names import feature_names
from torpca._ordinary import largest_angle, ordinary_pca
from torpca._select.rank import RankChoice
from torpca._shares import signed_shares
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats, to_numpy

# Features named for a row, and flagged rows, the most extreme, for which all are kept: so many of
# them, fewer if they are long, but no fewer than a summary speaks of.
TOP_FEATURES, DETAILED, DETAILED_NUMBERS, LEAST_DETAILED = 5, 200, 2**24, 10
# Good rows that are explained as well: of more, some.
SAMPLED = 20_000
# Many times a limit; more can be no more than infinite.
LARGEST = 1e300


@dataclass(frozen=True)
class Dropped:
    """Rows of a table that were left out, (m,)."""

    ids: npt.NDArray[np.str_] = field(default_factory=lambda: np.zeros(0, dtype=np.str_))
    """What they are called."""
    numbers: npt.NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    """Their numbers in the table, counted from 1."""


@dataclass(frozen=True)
class Answer:
    """Which rows are bad, why, and what the data looks like without them."""

    title: str
    ids: npt.NDArray[np.str_] = field(repr=False)
    """Label of each row, (n,)."""
    numbers: npt.NDArray[np.intp] = field(repr=False)
    """Number of each row in its table, (n,), counted from 1."""
    names: tuple[str, ...] = field(repr=False)
    """Names of the features, (d,)."""
    types: npt.NDArray[np.str_] = field(repr=False)
    """"regular", "good leverage", "orthogonal", "bad leverage" or, of rows of too few cells,
    "unknown", (n,)."""
    flagged: npt.NDArray[np.bool_] = field(repr=False)
    """Rows labelled as outliers, (n,)."""
    score_distances: Floats = field(repr=False)
    """NaN for rows that cannot be judged, as the two below."""
    orthogonal_distances: Floats = field(repr=False)
    cutoffs: Mapping[str, float]
    times: Floats = field(repr=False)
    """The larger of each row's distances in units of its limit, (n,); infinite beyond zero."""
    scores: Floats = field(repr=False)
    """Coordinates (n, k) of the rows on the components."""
    plain_scores: Floats = field(repr=False)
    """The same for ordinary PCA of all rows."""
    components: Floats = field(repr=False)
    mean: Floats = field(repr=False)
    variances: Floats
    """Variances (k,) of the good rows along the components, ..."""
    explained: Floats
    """... as shares of all of their variance."""
    plain_explained: Floats
    """Shares (k,) of the variance of all rows that ordinary PCA explains."""
    angle: float
    """Largest angle between the two subspaces, in degrees."""
    extreme: npt.NDArray[np.intp] = field(repr=False)
    """Numbers of the flagged rows, the most extreme first."""
    features: tuple[tuple[tuple[str, float], ...], ...] = field(repr=False)
    """For each of these, the features that made it so, each with its share of the squared distance
    that is farther beyond its limit: negative where the feature is too small."""
    contributions: Floats = field(repr=False)
    """These shares (m, d) for all features and the first m of these rows."""
    rank: RankChoice
    history: tuple[Iteration, ...] = field(repr=False)
    converged: bool
    notes: tuple[str, ...] = ()
    """What was left out or assumed before the fit."""
    warnings: tuple[str, ...] = ()
    """What the fit warned of."""
    cells: CellMap | None = field(default=None, repr=False)
    """Single cells of flagged rows and some others, where there are bad ones to speak of."""
    sampled: npt.NDArray[np.intp] = field(
        default_factory=lambda: np.zeros(0, dtype=np.intp), repr=False
    )
    """Numbers of good rows in their order: all of them or, of many, some, ..."""
    sampled_features: tuple[tuple[tuple[str, float], ...], ...] = field(default=(), repr=False)
    """... and for each the features that put it where it is, as in `features`."""
    new: bool = False
    """Whether the rows are others than those of the fit."""
    stability: Stability | None = None
    """What becomes of the fit with other choices, where that is known."""
    missing: MissingCells = field(default_factory=lambda: none_missing(0, 0), repr=False)
    """How many cells are missing, and where."""
    dropped: Dropped = field(default_factory=lambda: Dropped(), repr=False)
    """Rows of the table that were left out because a cell is missing."""

    @cached_property
    def unknown(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows that have too few cells to be judged."""
        return np.flatnonzero(self.types == UNKNOWN)

    @property
    def n_judged(self) -> int:
        """Number of the others."""
        return len(self.ids) - len(self.unknown)

    @cached_property
    def numbered(self) -> bool:
        """Whether rows are called by their numbers, for want of ids."""
        return bool(np.array_equal(self.ids, self.numbers.astype(self.ids.dtype)))


def answer(
    model: OutlierRobustPCA,
    X: Any,
    *,
    ids: Sequence[str] | npt.NDArray[np.str_] | None = None,
    names: Sequence[str] | None = None,
    title: str = "data",
    numbers: npt.NDArray[np.intp] | None = None,
    new: bool = False,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    missing: MissingCells | None = None,
    dropped: Dropped | None = None,
) -> Answer:
    """What a fitted `model` says about rows X (n, d): those it was fitted to, or `new` ones.

    `ids` are labels of the rows, by default their `numbers` in the table, which count from 1;
    `names` those of the features, by default what the model was told, or x0, x1, ... Cells that
    are `missing` are counted unless somebody has; `dropped` are rows that were left out before.
    """
    source = as_source(X)
    n, d = source.shape
    missing = missing_cells(source) if missing is None else missing
    full = without_holes(model, source, missing)
    judged = judged_by(model, X, new)
    if names is None:
        names = getattr(model, "feature_names_in_", feature_names(d))
    names = tuple(str(name) for name in names)
    numbers = np.arange(1, n + 1) if numbers is None else numbers
    plain = ordinary_pca(full, model.n_components_, bool(model.center), model._feature_scale)
    shares = top_shares(model, full, judged.extreme)
    sampled = np.flatnonzero(judged.types == "regular")
    if len(sampled) > SAMPLED:
        sampled = np.sort(np.random.default_rng(0).choice(sampled, SAMPLED, replace=False))
    V = np.asarray(to_numpy(model.components_), dtype=np.float64)
    return Answer(
        title=title,
        ids=np.asarray(numbers if ids is None else ids).astype(str),
        numbers=numbers,
        names=names,
        cutoffs=dict(model.cutoffs_),
        **vars(judged),
        scores=np.asarray(to_numpy(model.transform(X)), dtype=np.float64),
        plain_scores=plain.scores,
        components=V,
        mean=np.asarray(to_numpy(model.mean_), dtype=np.float64),
        variances=np.asarray(to_numpy(model.explained_variance_), dtype=np.float64),
        explained=np.asarray(to_numpy(model.explained_variance_ratio_), dtype=np.float64),
        plain_explained=plain.explained,
        angle=largest_angle(V.T, plain.V),
        features=shares.named(names),
        contributions=shares.all,
        # Rows of a lower rank have fewer components than were chosen.
        rank=replace(model.rank_, rank=int(model.n_components_)),
        history=model.history_,
        converged=bool(model.converged_),
        cells=notable_cells(model, X, judged.flagged, judged.times),
        notes=tuple(notes),
        warnings=tuple(warnings),
        sampled=sampled,
        sampled_features=top_shares(model, full, sampled).named(names),
        new=new,
        stability=None if new else getattr(model, "stability_", None),
        missing=missing,
        dropped=Dropped() if dropped is None else dropped,
    )


@dataclass(frozen=True)
class Judged:
    """What becomes of the rows; see `Answer`."""

    types: npt.NDArray[np.str_]
    flagged: npt.NDArray[np.bool_]
    score_distances: Floats
    orthogonal_distances: Floats
    times: Floats
    extreme: npt.NDArray[np.intp]


def judged_by(model: OutlierRobustPCA, X: Any, new: bool) -> Judged:
    """Distances and labels of rows, as a fitted `model` has them or measures them."""
    if new or not hasattr(model, "score_distances_"):  # it comes from a file
        distances: tuple[Any, Any] = model.distances(X)
    else:
        distances = model.score_distances_, model.orthogonal_distances_
    score, orthogonal = (np.asarray(to_numpy(a), dtype=np.float64) for a in distances)
    types = model._types(score, orthogonal)
    flagged = ~np.isin(types, ("regular", UNKNOWN))
    extremeness = -model._scores(score, orthogonal)
    limits = model.cutoffs_["score"], model.cutoffs_["orthogonal"]
    beyond_zero = ((limits[0] == 0) & (score > 0)) | ((limits[1] == 0) & (orthogonal > 0))
    times = np.where(beyond_zero, np.inf, np.minimum(extremeness, LARGEST))
    extreme = np.flatnonzero(flagged)
    extreme = extreme[np.argsort(-extremeness[extreme], kind="stable")]
    return Judged(types, flagged, score, orthogonal, times, extreme)


def without_holes(model: OutlierRobustPCA, source: RowSource, missing: MissingCells) -> RowSource:
    """The rows as the model completes them, which is how it measures them.

    Ordinary PCA is of these rows, too: else it would differ from the model for what is missing, and
    not only for the bad rows.
    """
    if not np.any(missing.of_rows):
        return source
    return Filled(source, model._completion(), source.shape[1] - missing.of_rows)


# ---- which features ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shares:
    """Signed shares of the features in the distances of some rows."""

    places: npt.NDArray[np.intp]
    """Numbers (m, p) of the features with the largest shares, the largest first."""
    values: Floats
    """These shares, (m, p)."""
    all: Floats
    """All shares, (at most DETAILED, d), of the first rows."""

    def named(self, names: Sequence[str]) -> tuple[tuple[tuple[str, float], ...], ...]:
        """The largest shares with the names of their features."""
        return tuple(
            tuple((names[j], share) for j, share in zip(places, values, strict=True))
            for places, values in zip(self.places.tolist(), self.values.tolist(), strict=True)
        )


def top_shares(model: OutlierRobustPCA, source: Any, rows: npt.NDArray[np.intp]) -> Shares:
    """Shares of the features in the distance of each of `rows` that is farther beyond its limit."""
    d = source.shape[1]
    p = min(TOP_FEATURES, d)
    places, values = np.zeros((len(rows), p), dtype=np.intp), np.zeros((len(rows), p))
    detailed = max(LEAST_DETAILED, min(DETAILED, DETAILED_NUMBERS // d))
    everything = np.zeros((min(len(rows), detailed), d))
    step = max(1, 2**20 // d)
    for start in range(0, len(rows), step):
        now = slice(start, min(start + step, len(rows)))
        shares = signed_shares(model, source.take(rows[now]))
        order = np.argsort(-np.abs(shares), axis=1, kind="stable")[:, :p]
        places[now], values[now] = order, np.take_along_axis(shares, order, axis=1)
        if start < len(everything):
            everything[now.start : now.stop] = shares[: len(everything) - start]
    return Shares(places, values, everything)
