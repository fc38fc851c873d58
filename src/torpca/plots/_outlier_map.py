"""The outlier map: how far out each row is inside the subspace, and how far off it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Floats
from torpca.plots._canvas import axes_for, legend_outside, rows_title, settle, tidy
from torpca.plots._door import (
    both_limits,
    distances_and_types,
    known_types,
    limits_of,
    numbers,
    same_length,
    subject,
    types_beyond,
    with_scaling,
)
from torpca.plots._row_labels import FONT, halo, label_points
from torpca.plots._rows import MAX_REGULAR, draw_rows

# An axis is logarithmic when the farthest row is this many times beyond the limit: in a plain one
# all good rows would share a twentieth of it.
FAR = 20.0
# On a logarithmic axis rows nearer than this share of the limit are drawn at its lower end.
NEAR = 1e-2


class OutlierMapDisplay:
    """Score distance against orthogonal distance of each row, with both limits.

    Rows within both limits are regular. Rows to the right of the vertical line are far out inside
    the subspace (good leverage), rows above the horizontal line are off it (orthogonal), and rows
    beyond both are bad leverage. Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    score_distances, orthogonal_distances : ndarray of shape (n_samples,)
        Distances of the rows.
    limits : dict
        Limits on the two, "score" and "orthogonal".
    types : ndarray of str of shape (n_samples,)
        "regular", "good leverage", "orthogonal" or "bad leverage".
    ids : sequence of length n_samples, optional
        Labels of the rows; by default row numbers, counted from 0.
    scaled : bool, optional
        Whether columns were scaled, for the name of the axis; by default this is not mentioned.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    points_ : dict of PathCollection
        The rows, by kind.
    limit_lines_ : dict of Line2D
        The limits, "score" (vertical) and "orthogonal" (horizontal).
    limit_labels_ : dict of Text
        Labels of the limits.
    row_labels_ : tuple of Annotation
        Labels of the most extreme rows.
    legend_ : Legend or None

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.plots import OutlierMapDisplay
    >>> X = make_outlier_subspace(500, 20, 3, 0.1, noise=0.01, random_state=0).X
    >>> model = OutlierRobustPCA().fit(X)
    >>> display = OutlierMapDisplay.from_estimator(model, X)
    >>> display.ax_.get_xlabel()
    'score distance (standard deviations)'
    """

    def __init__(
        self,
        *,
        score_distances: Floats,
        orthogonal_distances: Floats,
        limits: Mapping[str, float],
        types: npt.NDArray[np.str_],
        ids: Sequence[Any] | npt.NDArray[Any] | None = None,
        scaled: bool | None = None,
    ) -> None:
        self.score_distances = score_distances
        self.orthogonal_distances = orthogonal_distances
        self.limits = limits
        self.types = types
        self.ids = ids
        self.scaled = scaled

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        ids: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> OutlierMapDisplay:
        """Draw the map of a fitted estimator.

        Parameters
        ----------
        estimator : estimator of torpca, or pipeline that ends in one
            The fitted model.
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features), \
optional
            Rows to draw. They may be new. By default the rows of the fit.
        ids : sequence of length n_samples, optional
            Labels of the rows. By default the index of a pandas frame, or row numbers counted
            from 0.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        OutlierMapDisplay
        """
        it = subject(estimator, X)
        score, orthogonal, types = distances_and_types(it)
        same_length(len(score), ids=ids)
        return cls(
            score_distances=score,
            orthogonal_distances=orthogonal,
            limits=limits_of(it.model),
            types=types,
            ids=it.ids if ids is None else ids,
            scaled=it.model.subspace_.scale is not None,
        ).plot(ax, **options)

    @classmethod
    def from_predictions(
        cls,
        score_distances: Any,
        orthogonal_distances: Any,
        *,
        cutoffs: Mapping[str, float],
        types: Any = None,
        ids: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> OutlierMapDisplay:
        """Draw the map from given distances.

        Parameters
        ----------
        score_distances, orthogonal_distances : array-like of shape (n_samples,)
            Distances of the rows.
        cutoffs : dict
            Limits on the two, "score" and "orthogonal".
        types : array-like of str of shape (n_samples,), optional
            Type of each row; by default from the limits.
        ids : sequence of length n_samples, optional
            Labels of the rows; by default row numbers, counted from 0.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        OutlierMapDisplay
        """
        score = numbers(score_distances, "score_distances")
        orthogonal = numbers(orthogonal_distances, "orthogonal_distances")
        limits = both_limits(cutoffs)
        kinds = None if types is None else known_types(types)
        same_length(len(score), orthogonal_distances=orthogonal, types=kinds, ids=ids)
        if kinds is None:
            kinds = types_beyond(score, orthogonal, limits)
        return cls(
            score_distances=score,
            orthogonal_distances=orthogonal,
            limits=limits,
            types=kinds,
            ids=ids,
        ).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        scale: str = "auto",
        n_labels: int = 10,
        max_regular: int = MAX_REGULAR,
        legend: bool = True,
    ) -> OutlierMapDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        scale : {"auto", "linear", "log"}, default="auto"
            Scale of both axes. "auto" is logarithmic for a distance that goes far beyond its limit.
            On a logarithmic axis, rows nearer than a hundredth of the limit are drawn at its end.
        n_labels : int, default=10
            Number of flagged rows to label, the most extreme first, as far as there is room.
        max_regular : int, default=20000
            Largest number of regular rows to draw. If there are more, a sample is drawn, always
            the same. All flagged rows are drawn.
        legend : bool, default=True
            Whether to add a legend, to the right of the axes.

        Returns
        -------
        self
        """
        if scale not in ("auto", "linear", "log"):
            raise ValueError(f"scale={scale!r} must be 'auto', 'linear' or 'log'.")
        is_new, ax = ax is None, axes_for(ax, (7.5, 5.0))
        self.ax_, self.figure_ = ax, ax.figure
        places, ends = {}, {}
        for name, values, set_scale in (
            ("score", self.score_distances, ax.set_xscale),
            ("orthogonal", self.orthogonal_distances, ax.set_yscale),
        ):
            ends[name] = log, low, _ = axis_range(values, self.limits[name], scale)
            set_scale("log" if log else "linear")
            places[name] = np.maximum(values, low) if log else values
        x, y = places["score"], places["orthogonal"]
        self.points_ = draw_rows(ax, x, y, self.types, max_regular)
        for name, set_ends in (("score", ax.set_xlim), ("orthogonal", ax.set_ylim)):
            log, low, high = ends[name]
            # A little room at both ends: on a logarithmic axis a share of its length.
            room = (high / low) ** 0.04 if log else 1.06
            set_ends(low / room if log else low, high * room)
        self._draw_limits(ends)
        ax.set_xlabel("score distance (standard deviations)")
        ax.set_ylabel(with_scaling("orthogonal distance", self.scaled))
        tidy(ax)
        title = rows_title(self.ids)
        self.legend_ = legend_outside(ax, self.points_.values(), title) if legend else None
        settle(ax, is_new)
        rows = self._most_extreme(n_labels)
        ids = rows if self.ids is None else [self.ids[i] for i in rows]
        flagged = np.asarray(self.types) != "regular"
        self.row_labels_ = label_points(
            ax,
            x[rows],
            y[rows],
            list(ids),
            (x[flagged], y[flagged]),
            self.limit_labels_.values(),
        )
        return self

    def _draw_limits(self, ends: Mapping[str, tuple[bool, float, float]]) -> None:
        """Draw and name the limits, at the axis' end if they are zero and it is logarithmic."""
        ax = self.ax_
        style = {"color": "0.25", "linestyle": "--", "linewidth": 1.0, "zorder": 1.5}
        text = {"color": "0.25", "fontsize": FONT, "path_effects": halo(ax)}
        self.limit_lines_, self.limit_labels_ = {}, {}
        for name, (log, low, _) in ends.items():
            limit = self.limits[name]
            if not np.isfinite(limit):
                continue
            at, words = max(limit, low) if log else limit, f"{name} limit {limit:.3g}"
            if name == "score":
                self.limit_lines_[name] = ax.axvline(at, **style)
                self.limit_labels_[name] = ax.annotate(
                    words, (at, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
                    textcoords="offset points", ha="center", va="bottom", **text,
                )  # fmt: skip
            else:
                self.limit_lines_[name] = ax.axhline(at, **style)
                self.limit_labels_[name] = ax.annotate(
                    words, (1.0, at), xycoords=("axes fraction", "data"), xytext=(0, 2),
                    textcoords="offset points", ha="right", va="bottom", **text,
                )  # fmt: skip

    def _most_extreme(self, m: int) -> npt.NDArray[np.intp]:
        """Numbers of the `m` flagged rows that are farthest beyond a limit, in units of it."""
        flagged = np.flatnonzero(np.asarray(self.types) != "regular")
        beyond = np.zeros(len(flagged))
        for name, values in (
            ("score", self.score_distances),
            ("orthogonal", self.orthogonal_distances),
        ):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                ratio = values[flagged] / self.limits[name]
            beyond = np.maximum(beyond, np.nan_to_num(ratio))
        return flagged[np.argsort(-beyond, kind="stable")[: max(m, 0)]]


def axis_range(values: Floats, limit: float, scale: str) -> tuple[bool, float, float]:
    """Return whether an axis is logarithmic, and where it starts and ends."""
    seen = values if not np.isfinite(limit) else np.append(values, limit)
    top = float(np.max(seen, initial=0.0))
    positive = seen[seen > 0]
    smallest = float(np.min(positive, initial=top))
    if len(positive) == 0:  # every distance is zero
        return False, 0.0, 1.0
    inner = limit if 0 < limit < np.inf else smallest
    log = scale == "log" or (scale == "auto" and top > FAR * inner)
    if not log:
        return False, 0.0, top
    # Never all of the axis: a single distance is drawn in the middle of two decades.
    low = min(max(smallest, NEAR * inner), 0.1 * top)
    return True, low, top
