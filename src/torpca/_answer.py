"""What a fit says about a table, in one object from which summary, report and pictures are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._advice import LOOKED_AT, advice
from torpca._bands import is_profile, named_bands
from torpca._causes import Cause, causes
from torpca._core.loop import Iteration
from torpca._cusum import Reference, reference_by_law, reference_of
from torpca._estimators.limits import UNKNOWN
from torpca._estimators.robust import OutlierRobustPCA
from torpca._estimators.stability import Stability
from torpca._explain import Explanation, explanation
from torpca._kinds import some_of
from torpca._missing.cell_map import CellMap, notable_cells
from torpca._missing.cells import HolesFilled
from torpca._missing.completion import Filled
from torpca._missing.fit import held
from torpca._missing_cells import MissingCells, missing_cells, none_missing
from torpca._names import feature_names
from torpca._ordinary import largest_angle, ordinary_flags, ordinary_pca
from torpca._provenance import Baseline, Provenance
from torpca._robust.limits import error_of_fit
from torpca._robust.rank import RankChoice
from torpca._shares import signed_shares
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats, to_numpy
from torpca._usual import Usual, usual_values

# Flagged rows, the most extreme, for which shares of all features are kept: so many of them, fewer
# if they are long, but no fewer than a summary speaks of.
DETAILED, DETAILED_NUMBERS, LEAST_DETAILED = 200, 2**24, 10
# Features that explain a row, at most; rows that are explained, and numbers in them.
TOP_FEATURES, EXPLAINED, EXPLAINED_NUMBERS = 3, 20_000, 2**22
# Many times a limit; more can be no more than infinite.
LARGEST = 1e300


@dataclass(frozen=True)
class Dropped:
    """Rows of a table that were left out, (m,)."""

    ids: npt.NDArray[np.str_] = field(default_factory=lambda: np.zeros(0, dtype=np.str_))
    """What they are called."""
    numbers: npt.NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    """Their numbers in the table, counted from 1."""
    times: npt.NDArray[Any] | None = None
    """When they were measured, if that is known."""


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
    explanation: Explanation = field(repr=False)
    """For these, or the most extreme of very many, the features that make them unusual."""
    contributions: Floats = field(repr=False)
    """For the first m of these rows, shares (m, d) of all features in the squared distance that is
    farther beyond its limit: negative where the feature is too small."""
    rank: RankChoice
    history: tuple[Iteration, ...] = field(repr=False)
    converged: bool
    notes: tuple[str, ...] = ()
    """What was left out or assumed before the fit."""
    warnings: tuple[str, ...] = ()
    """What the fit warned of."""
    advice: tuple[str, ...] = ()
    """What a look at the columns suggests."""
    cells: CellMap | None = field(default=None, repr=False)
    """Single cells of flagged rows and some others, where there are bad ones to speak of."""
    sampled: npt.NDArray[np.intp] = field(
        default_factory=lambda: np.zeros(0, dtype=np.intp), repr=False
    )
    """Numbers of good rows in their order: all of them or, of many, some."""
    new: bool = False
    """Whether the rows are others than those of the fit."""
    stability: Stability | None = None
    """What becomes of the fit with other choices, where that is known."""
    missing: MissingCells = field(default_factory=lambda: none_missing(0, 0), repr=False)
    """How many cells are missing, and where."""
    dropped: Dropped = field(default_factory=lambda: Dropped(), repr=False)
    """Rows of the table that were left out because a cell is missing."""
    scaled: bool = False
    """Whether columns were divided by robust standard deviations."""
    plain_flagged: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    """Rows that ordinary PCA would flag with limits of the same kind, (n,)."""
    flagged_in_fit: int | None = None
    """How many flagged rows had a part in the fit, if the model knows its rows."""
    usual: Usual | None = field(default=None, repr=False)
    """Values of some rows, and what is usual for the good ones."""
    references: Mapping[str, Reference | None] = field(default_factory=dict, repr=False)
    """What distances of good rows are, "score" and "orthogonal", for a CUSUM."""
    baseline: Baseline | None = None
    """For new rows: how many were flagged at the fit."""
    provenance: Provenance | None = field(default=None, repr=False)
    """What this was made from and by what."""
    times_of_rows: npt.NDArray[Any] | None = field(default=None, repr=False)
    """When each row was measured, (n,), if that is known: dates (datetime64), or numbers and times
    of day as text; NaT and "" where there is none."""
    limit: float = 0.99
    """Share of Gaussian good rows that are within both limits."""

    @cached_property
    def unknown(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows that have too few cells to be judged."""
        return np.flatnonzero(self.types == UNKNOWN)

    @property
    def n_judged(self) -> int:
        """Number of the others."""
        return len(self.ids) - len(self.unknown)

    @cached_property
    def profile(self) -> bool:
        """Whether the rows are spectra or the like: features in the order of their numbers."""
        return is_profile(self.names)

    @cached_property
    def features(self) -> tuple[tuple[tuple[str, float], ...], ...]:
        """For each explained row its features, each with its share: negative if it is too small.

        Of spectra, bands of neighbours.
        """
        if self.profile:
            return tuple(
                tuple(named_bands(shares, self.names, TOP_FEATURES))
                for shares in self.contributions
            )
        return tuple(
            tuple(
                (self.names[feature], float(np.copysign(share, value - expected)))
                for feature, share, value, expected in zip(*columns, strict=True)
            )
            for columns in self.explanation.rows()
        )

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """The flagged rows by what is wrong with them, the commonest cause first."""
        return causes(self)

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
    times_of_rows: npt.NDArray[Any] | None = None,
) -> Answer:
    """What a fitted `model` says about rows X (n, d): those it was fitted to, or `new` ones.

    `ids` are labels of the rows, by default their `numbers` in the table, which count from 1;
    `names` those of the features, by default what the model was told, or x0, x1, ... Cells that
    are `missing` are counted unless somebody has; `dropped` are rows that were left out before;
    `times_of_rows` says when rows were measured.
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
    plain = ordinary_pca(full, model.n_components_, bool(model.center), model.subspace_.scale)
    explained = judged.extreme[: max(LEAST_DETAILED, min(EXPLAINED, EXPLAINED_NUMBERS // d))]
    sampled = some_of(np.flatnonzero(judged.types == "regular"))
    V = np.asarray(to_numpy(model.components_), dtype=np.float64)
    return Answer(
        title=title,
        ids=np.asarray(numbers if ids is None else ids).astype(str),
        numbers=numbers,
        names=names,
        cutoffs=dict(model.cutoffs_),
        **vars(judged),
        scores=np.asarray(to_numpy(model._coordinates(X)), dtype=np.float64),
        plain_scores=plain.scores,
        components=V,
        mean=np.asarray(to_numpy(model.mean_), dtype=np.float64),
        variances=np.asarray(to_numpy(model.explained_variance_), dtype=np.float64),
        explained=np.asarray(to_numpy(model.explained_variance_ratio_), dtype=np.float64),
        plain_explained=plain.explained,
        angle=largest_angle(V.T, plain.V),
        explanation=explanation(model, source.take(explained), TOP_FEATURES),
        contributions=all_shares(model, full, judged.extreme),
        # Rows of a lower rank have fewer components than were chosen.
        rank=replace(model.rank_, rank=int(model.n_components_)),
        history=model.history_,
        converged=bool(model.converged_),
        cells=notable_cells(model, X, judged.flagged, judged.times),
        notes=tuple(notes),
        warnings=tuple(warnings),
        advice=() if new else advice_about(model, source, names, numbers),
        sampled=sampled,
        new=new,
        stability=None if new else getattr(model, "stability_", None),
        missing=missing,
        dropped=Dropped() if dropped is None else dropped,
        scaled=model.subspace_.scale is not None,
        plain_flagged=ordinary_flags(plain, float(np.finfo(source.dtype).eps)),
        flagged_in_fit=None if new else flagged_in_fit(model, judged.flagged),
        usual=usual_values(
            source, judged.extreme, sampled, model.subspace_ if new and model.center else None
        ),
        references=references(model, judged, new),
        baseline=baseline_of(model) if new else None,
        times_of_rows=times_of_rows,
        limit=float(model.limit),
    )


def baseline_of(model: OutlierRobustPCA) -> Baseline | None:
    """How many rows of the fit were flagged, if the model knows it."""
    counts = model._types_at_fit()
    if not counts:
        return None
    flagged = sum(n for kind, n in counts.items() if kind not in ("regular", UNKNOWN))
    return Baseline(sum(counts.values()), flagged)


def flagged_in_fit(model: OutlierRobustPCA, flagged: npt.NDArray[np.bool_]) -> int | None:
    """How many of the flagged training rows had weight in the fit; None of a model from a file."""
    weights = getattr(model, "weights_", None)
    if weights is None:
        return None
    return int(np.count_nonzero(flagged & (np.asarray(to_numpy(weights)) > 0)))


def references(model: OutlierRobustPCA, judged: Judged, new: bool) -> dict[str, Reference | None]:
    """What the distances of good rows are: as the fit saw them, or for new rows its law of them."""
    if not new:
        good = judged.types == "regular"
        return {
            "score": reference_of(judged.score_distances[good]),
            "orthogonal": reference_of(judged.orthogonal_distances[good]),
        }
    k, n = model.n_components_, model.subspace_.n_good
    with np.errstate(over="ignore", under="ignore"):
        noise = float(np.sum(model.subspace_.noise**2))
    # The mean of k (n^2 - 1)/(n (n - k)) times an F number of k and n - k, as in `hotelling`.
    score = k * (n + 1) * (n - 1) / (n * (n - k - 2)) if k + 2 < n < np.inf else float(k)
    return {
        "score": reference_by_law(score, k),
        "orthogonal": reference_by_law(error_of_fit(n, k) ** 2 * noise, model.subspace_.freedom),
    }


def advice_about(
    model: OutlierRobustPCA,
    source: RowSource,
    names: Sequence[str],
    numbers: npt.NDArray[np.intp],
) -> tuple[str, ...]:
    """What a look at the columns suggests, from the first rows of a table."""
    n, d = source.shape
    some = np.arange(min(n, max(LEAST_DETAILED, min(LOOKED_AT, EXPLAINED_NUMBERS // max(d, 1)))))
    scaled = model.subspace_.scale is not None
    return tuple(advice(source.take(some), names, scaled=scaled, numbers=numbers[some]))


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
    types = model.subspace_.limits.types(score, orthogonal)
    flagged = ~np.isin(types, ("regular", UNKNOWN))
    extremeness = -model.subspace_.limits.scores(score, orthogonal)
    limits = model.cutoffs_["score"], model.cutoffs_["orthogonal"]
    beyond_zero = ((limits[0] == 0) & (score > 0)) | ((limits[1] == 0) & (orthogonal > 0))
    times = np.where(beyond_zero, np.inf, np.minimum(extremeness, LARGEST))
    extreme = np.flatnonzero(flagged)
    extreme = extreme[np.argsort(-extremeness[extreme], kind="stable")]
    return Judged(types, flagged, score, orthogonal, times, extreme)


def without_holes(model: OutlierRobustPCA, source: RowSource, missing: MissingCells) -> RowSource:
    """The rows as the model completes them, which is how it measures them.

    Ordinary PCA is of these rows, too: else it would differ from the model for what is missing, and
    not only for the bad rows. Bad cells are left to it.
    """
    if not np.any(missing.of_rows):
        return source
    if model.cells:
        return held(HolesFilled(source, model.subspace_.completion()))
    return Filled(source, model.subspace_.completion(), source.shape[1] - missing.of_rows)


# ---- which features ------------------------------------------------------------------------------


def all_shares(model: OutlierRobustPCA, source: Any, rows: npt.NDArray[np.intp]) -> Floats:
    """Shares (m, d) of the features in the distance of the first m of `rows`, with their signs."""
    d = source.shape[1]
    detailed = max(LEAST_DETAILED, min(DETAILED, DETAILED_NUMBERS // d))
    return signed_shares(model, source.take(rows[:detailed]))
