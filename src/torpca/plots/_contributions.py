"""Which features made a row extreme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._bands import LOOKED_AT, bands, is_profile
from torpca._estimators.words import count
from torpca._names import FROM_ZERO
from torpca._shares import parts_of
from torpca._sources import as_source
from torpca._sources.base import Floats, to_numpy
from torpca._words import counted, percent
from torpca.plots._canvas import axes_for, legend_outside, one_line, rows_title, tidy
from torpca.plots._door import Subject, limits_of, names_of, numbers, same_length, subject

# Colours and hatches of several rows; more could not be told apart.
COLORS = (
    "#0072b2", "#e69f00", "#a50026", "#009e73", "#56b4e9", "#000000", "#cc79a7", "#9aa0a6",
)  # fmt: skip
HATCHES = ("", "///", "...", "\\\\\\", "xx", "", "++", "--")
ABOVE, BELOW = "#0072b2", "#e69f00"


class ContributionsDisplay:
    """Bars for the features that made one or several rows extreme.

    A bar is the share of a feature in the row's squared distance. It points right if the value is
    larger than expected from the good rows, and left if it is smaller. Neighbours in a spectrum
    that act together are one bar. Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    shares : ndarray of shape (m, n_features)
        Signed shares. Their absolute values sum to 1 in each row.
    names : sequence of str of length n_features
        Names of the features.
    ids : sequence of length m
        Labels of the rows.
    reasons : sequence of str of length m, optional
        For each row, which distance is meant and how far out it is.
    numbered : bool, default=False
        Whether `ids` are row numbers, counted from 0, not names.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    features_ : ndarray of shape (n_bars,)
        Numbers of the features drawn, from the top down; of bands, those of their first features.
    bars_ : tuple of BarContainer
        The bars, one container for each row, from the top down.
    value_labels_ : tuple of Text
        Shares in per cent beside the bars of a single row.
    legend_ : Legend or None
        Rows, if there are several.

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.plots import ContributionsDisplay
    >>> X = make_outlier_subspace(500, 20, 3, 0.1, noise=0.01, random_state=0).X
    >>> X[7, 4] += 30.0
    >>> display = ContributionsDisplay.from_estimator(OutlierRobustPCA().fit(X), X, rows=7)
    >>> display.names[display.features_[0]]
    'x4'
    """

    def __init__(
        self,
        *,
        shares: Floats,
        names: Sequence[str],
        ids: Sequence[Any] | npt.NDArray[Any],
        reasons: Sequence[str] | None = None,
        numbered: bool = False,
    ) -> None:
        self.shares = shares
        self.names = names
        self.ids = ids
        self.reasons = reasons
        self.numbered = numbered

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        rows: Any = None,
        distance: str = "auto",
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ContributionsDisplay:
        """Draw the contributions to rows of a fitted estimator.

        Parameters
        ----------
        estimator : estimator of torpca, or pipeline that ends in one
            The fitted model.
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows that contain the ones to explain. They may be new.
        rows : int, label or sequence of up to eight of them, optional
            Rows to explain: their numbers, counted from 0, or labels of the index if X is a
            pandas frame. By default the most extreme one.
        distance : {"auto", "score", "orthogonal"}, default="auto"
            Distance to explain. "auto" takes the one that is farther beyond its limit, row by row.
        feature_names : sequence of str of length n_features, optional
            Names of the features. By default those of the estimator or of X, or x0, x1, ...
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        ContributionsDisplay
        """
        if distance not in ("auto", "score", "orthogonal"):
            raise ValueError(f"distance={distance!r} must be 'auto', 'score' or 'orthogonal'.")
        it = subject(estimator, X)
        places = row_numbers(it, rows)
        shares, reasons = explain(it, places, distance)
        return cls(
            shares=shares,
            names=names_of(feature_names, it.names, shares.shape[1]),
            ids=places if it.ids is None else it.ids[places],
            reasons=reasons,
            numbered=it.ids is None,
        ).plot(ax, **options)

    @classmethod
    def from_predictions(
        cls,
        contributions: Any,
        *,
        feature_names: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ContributionsDisplay:
        """Draw given contributions.

        Parameters
        ----------
        contributions : array-like of shape (n_features,) or (m, n_features)
            Parts of the squared distance of one or several rows, as from
            `contributions(X).orthogonal` of an estimator. They may have signs.
        feature_names : sequence of str of length n_features, optional
            Names of the features; by default x0, x1, ...
        ids : sequence of length m, optional
            Labels of the rows; by default row numbers, counted from 0.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        ContributionsDisplay
        """
        given = np.atleast_2d(np.asarray(to_numpy(contributions), dtype=np.float64))
        parts = numbers(given, "contributions", 2)
        not_too_many(len(parts))
        same_length(len(parts), ids=ids)
        size = np.sum(np.abs(parts), axis=1, keepdims=True)
        return cls(
            shares=parts / np.where(size > 0, size, 1.0),
            names=names_of(feature_names, None, parts.shape[1]),
            ids=list(range(len(parts))) if ids is None else ids,
            numbered=ids is None,
        ).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, n_features: int = 10, legend: bool = True
    ) -> ContributionsDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        n_features : int, default=10
            Number of features, or bands of a spectrum, to draw: those with the largest shares in
            any row.
        legend : bool, default=True
            Whether to add a legend, to the right of the axes, if there are several rows.

        Returns
        -------
        self
        """
        if n_features < 1:
            raise ValueError(f"n_features={n_features} must be 1 or more.")
        m, d = self.shares.shape
        drawn = bars_of(self.shares, self.names, n_features)
        self.features_ = np.array([first for first, _ in drawn], dtype=np.intp)
        n_bars = len(drawn)
        thick = 0.8 / m
        # As high as the bars need: a tenth of an inch for the thinnest.
        ax = axes_for(ax, (7.5 if m == 1 else 9.0, 1.2 + n_bars * max(0.3, 0.12 * m)))
        self.ax_, self.figure_ = ax, ax.figure
        shown = np.column_stack(
            [np.sum(self.shares[:, first : last + 1], axis=1) for first, last in drawn]
        )
        bars = []
        for row in range(m):
            at = np.arange(n_bars) + (row - 0.5 * (m - 1)) * thick
            if m == 1:
                look: dict[str, Any] = {"color": [ABOVE if v >= 0 else BELOW for v in shown[row]]}
            else:
                look = {"color": COLORS[row], "hatch": HATCHES[row], "edgecolor": "white"}
            bars.append(ax.barh(at, shown[row], height=0.92 * thick, **look))
        self.bars_ = tuple(bars)
        ax.axvline(0.0, color="0.25", linewidth=0.8)
        names = [
            " to ".join(one_line(self.names[j]) for j in dict.fromkeys(ends)) for ends in drawn
        ]
        ax.set_yticks(np.arange(n_bars), names, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(n_bars - 0.5, -0.5)  # the largest on top
        low, high = min(0.0, float(np.min(shown))), max(0.0, float(np.max(shown)))
        room = 0.12 * (high - low or 1.0)
        ax.set_xlim(low - room * (low < 0), high + room * (high > 0 or low == 0))
        # Sides say the sign; a share is a share.
        ax.xaxis.set_major_formatter(lambda v, _: f"{100 * abs(v):.3g}%")
        self.value_labels_ = self._write_values(shown[0]) if m == 1 else ()
        n_others = d - sum(last - first + 1 for first, last in drawn)
        ax.set_xlabel(self._axis_name(shown, n_others))
        tidy(ax)
        self._write_rows(legend)
        return self

    def _write_values(self, values: Floats) -> tuple[Any, ...]:
        """Write each share beside its bar."""
        return tuple(
            self.ax_.annotate(
                percent(abs(float(v))),
                (v, i),
                xytext=(-4 if v < 0 else 4, 0),
                textcoords="offset points",
                ha="right" if v < 0 else "left",
                va="center",
                fontsize=8,
            )
            for i, v in enumerate(values)
        )

    def _axis_name(self, shown: Floats, n_others: int) -> str:
        """What the bars are, and what is not drawn."""
        name = "share of the squared distance"
        if np.any(self.shares < 0):
            name += "\n(left: less than expected, right: more)"
        if n_others:
            rest = np.clip(1.0 - np.sum(np.abs(shown), axis=1), 0.0, 1.0)
            few, most = percent(float(np.min(rest))), percent(float(np.max(rest)))
            together = few if few == most else f"{few} to {most}"
            name += f"\n{counted(n_others, 'other feature')} have {together}"
        return name

    def _write_rows(self, legend: bool) -> None:
        """Say which rows these are: above the axes, or in a legend if there are several."""
        reasons = [""] * len(self.bars_) if self.reasons is None else self.reasons
        said = f", {FROM_ZERO}" if self.numbered and len(self.bars_) == 1 else ""
        labels = [
            f"row {one_line(row)}{said}" + (f": {reason}" if reason else "")
            for row, reason in zip(self.ids, reasons, strict=True)
        ]
        self.legend_ = None
        if len(labels) == 1:
            self.ax_.set_title(labels[0], loc="left", fontsize=10, parse_math=False)
            return
        for bars, label in zip(self.bars_, labels, strict=True):
            bars.set_label(label)
        if legend:
            title = rows_title(None if self.numbered else self.ids)
            self.legend_ = legend_outside(self.ax_, self.bars_, title)


# ---- what is drawn -------------------------------------------------------------------------------


def bars_of(shares: Floats, names: Sequence[str], most: int) -> list[tuple[int, int]]:
    """First and last feature of each bar, the largest in any row first: bands in spectra."""
    sizes = np.abs(shares)
    if not is_profile([str(name) for name in names]):
        order = np.argsort(-np.max(sizes, axis=0), kind="stable")[:most].tolist()
        return [(j, j) for j in order]
    # Each feature with the sign that it has where it is largest.
    largest = np.take_along_axis(shares, np.argmax(sizes, axis=0)[None], axis=0)[0]
    found = sorted(bands(largest, LOOKED_AT * most), key=lambda band: -abs(band[2]))[:most]
    return [(first, last) for first, last, _ in found] or [(0, 0)]


def row_numbers(it: Subject, rows: Any) -> npt.NDArray[np.intp]:
    """Numbers of the rows that `rows` names; of the most extreme one if it is None."""
    if rows is None:
        return np.array([np.argmin(it.model.score_samples(it.X))], dtype=np.intp)
    n = as_source(it.X).shape[0]
    labels = None if it.ids is None else it.ids.tolist()
    # A label may be a tuple, of an index of several levels.
    one = isinstance(rows, tuple) and labels is not None and rows in labels
    one = one or isinstance(rows, str) or (not isinstance(rows, tuple) and np.ndim(rows) == 0)
    wanted = [rows] if one else list(rows)
    if labels is not None:
        found = [np.flatnonzero([label == row for label in labels]) for row in wanted]
        unknown = [row for row, places in zip(wanted, found, strict=True) if len(places) == 0]
        allowed = "labels of the index of X"
    else:
        unknown = [
            row for row in wanted if not isinstance(row, int | np.integer) or not -n <= row < n
        ]
        allowed = f"row numbers below {n}, {FROM_ZERO}"
        found = [] if unknown else [np.array([row % n]) for row in wanted]
    if unknown:
        raise ValueError(f"rows names {unknown[0]!r}, but allowed are {allowed}.")
    places = np.concatenate(found).astype(np.intp) if found else np.empty(0, dtype=np.intp)
    not_too_many(len(places))
    return places


def not_too_many(m: int) -> None:
    """Hold the number of rows against what one picture can show."""
    if not 1 <= m <= len(COLORS):
        raise ValueError(
            f"{m} rows were given, but one picture shows 1 to {len(COLORS)}: draw several pictures."
        )


def explain(
    it: Subject, rows: npt.NDArray[np.intp], distance: str
) -> tuple[Floats, tuple[str, ...]]:
    """Signed shares (m, d) of the features in one squared distance of each row, and which one."""
    model, limits = it.model, limits_of(it.model)
    source, _ = model._check(it.X)
    X = np.asarray(source.take(rows), dtype=np.float64)
    parts = parts_of(model, X)
    lengths = {"score": parts.score, "orthogonal": parts.orthogonal}
    beyond = model.subspace_.limits.relative(parts.score, parts.orthogonal)
    if distance == "auto":
        is_score = beyond[0] > beyond[1]
    else:
        is_score = np.full(len(rows), distance == "score")
    reasons = []
    for i, score in enumerate(is_score):
        name = "score" if score else "orthogonal"
        times, limit = lengths[name][i], limits[name]
        far = f"{count(times / limit)} times its limit" if 0 < limit < np.inf else f"{times:.3g}"
        reasons.append(f"{name} distance {far}")
    return parts.shares(is_score), tuple(reasons)
