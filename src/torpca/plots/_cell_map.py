"""The cell map: cells that do not match the rest of their row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._missing.cell_map import (
    GROUPS,
    cell_map,
    choose_rows,
    farthest_within,
    first_columns,
    group_words,
)
from torpca._missing.tuning import CUT, MAX_ROWS
from torpca._names import FROM_ZERO
from torpca._sources.base import Floats, to_numpy
from torpca._words import shortened, whole
from torpca.plots._canvas import axes_for, legend_outside, settle
from torpca.plots._door import distances_and_types, names_of, same_length, subject
from torpca.plots._row_labels import FONT, WIDTH

# Standard deviations up to which a cell is white, and from which on its colour is full.
WHITE, FULL = 2.5, 9.0
# Colours at FULL and at CUT, of cells that are too small and of those too large: they differ in
# hue for everyone, and darker is farther. Grey is as light as the palest bad cells.
SMALL, SMALL_AT_CUT = "#00366f", "#74b3e3"
LARGE, LARGE_AT_CUT = "#a50026", "#f5a078"
MISSING = "#c2c5c8"
# Points (1/72 inch) that the narrowest bin of columns is wide, and from which on cells have rims.
NARROWEST, RIMMED = 2.2, 6.0
# Inches of a row and of a column in a figure of our own, and the widest it may be.
ROW, COLUMN, WIDEST = 0.135, 0.2, 11.0
# Letters of the longest name of a column, and of one that is written horizontally if thinned.
LONGEST, SHORT = 16, 8


class CellMapDisplay:
    """Map of cells, coloured by how far each is from what the rest of its row predicts.

    Flagged rows come first, the most extreme at the top. Next are rows with bad cells, if the model
    looks for them (`cells=True`), then a few others for comparison, separated by lines. Cells that
    are too large are red, cells that are too small blue, and missing cells grey. White cells are
    within 2.5 standard deviations, and cells beyond 3.5 are bad. If there are too many columns,
    neighbours share one, coloured by the most extreme of their cells, so no bad cell is hidden.
    Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    residuals : ndarray of shape (m, n_features)
        Standardised residuals of the cells of the rows to draw, from the top down. NaN is a
        missing cell.
    groups : ndarray of str of shape (m,)
        "flagged", "bad cells" or "other", in this order.
    names : sequence of str of length n_features
        Names of the features.
    ids : sequence of length m
        Labels of the rows.
    totals : dict, optional
        Number of rows in each group, drawn or not; by default the number drawn.
    numbered : bool, default=False
        Whether `ids` are row numbers, counted from 0, not names.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    image_ : AxesImage
        The cells, one for each row and each of `columns_`.
    columns_ : ndarray of shape (n_bins,)
        Number of the first feature in each column drawn.
    lines_ : tuple of Line2D
        Lines between the groups of rows.
    colorbar_ : Colorbar or None
    legend_ : Legend or None
        Explains grey, if cells are missing.

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.plots import CellMapDisplay
    >>> X = make_outlier_subspace(500, 20, 3, 0.1, noise=0.01, random_state=0).X
    >>> X[7, 4] += 30.0
    >>> display = CellMapDisplay.from_estimator(OutlierRobustPCA(cells=True).fit(X), X)
    >>> at = list(display.ids).index(7)
    >>> bool(display.residuals[at, 4] > 3.5)
    True
    """

    def __init__(
        self,
        *,
        residuals: Floats,
        groups: npt.NDArray[np.str_],
        names: Sequence[str],
        ids: Sequence[Any] | npt.NDArray[Any],
        totals: Mapping[str, int] | None = None,
        numbered: bool = False,
    ) -> None:
        self.residuals = residuals
        self.groups = groups
        self.names = names
        self.ids = ids
        self.totals = totals
        self.numbered = numbered

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        max_rows: int = MAX_ROWS,
        feature_names: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> CellMapDisplay:
        """Draw the cell map of a fitted estimator.

        Parameters
        ----------
        estimator : OutlierRobustPCA, or pipeline that ends in one
            The fitted model.
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to draw. They may be new. NaN is a missing cell.
        max_rows : int, default=60
            Largest number of rows to draw. At most a third of them are neither flagged nor have
            bad cells; these are a sample, always the same.
        feature_names : sequence of str of length n_features, optional
            Names of the features. By default those of the estimator or of X, or x0, x1, ...
        ids : sequence of length n_samples, optional
            Labels of the rows. By default the index of a pandas frame, or row numbers counted
            from 0.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        CellMapDisplay
        """
        it = subject(estimator, X)
        if not hasattr(it.model, "cell_residuals"):
            raise TypeError(
                f"{type(it.model).__name__} does not judge single cells: give a fitted "
                "OutlierRobustPCA, or a pipeline that ends in one."
            )
        score, orthogonal, types = distances_and_types(it)
        flagged = ~np.isin(types, ("regular", "unknown"))
        same_length(len(flagged), ids=ids)
        found = cell_map(
            it.model, it.X, flagged, -it.model.subspace_.limits.scores(score, orthogonal), max_rows
        )
        labels = it.ids if ids is None else ids
        rows = found.chosen.rows
        return cls(
            residuals=found.residuals,
            groups=found.chosen.groups,
            names=names_of(feature_names, it.names, found.residuals.shape[1]),
            ids=rows if labels is None else [labels[i] for i in rows],
            totals=found.chosen.totals,
            numbered=labels is None,
        ).plot(ax, **options)

    @classmethod
    def from_predictions(
        cls,
        residuals: Any,
        *,
        flagged: Any = None,
        max_rows: int = MAX_ROWS,
        feature_names: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> CellMapDisplay:
        """Draw a cell map from given residuals.

        Parameters
        ----------
        residuals : array-like of shape (n_samples, n_features)
            Standardised residuals, as from `cell_residuals`. NaN is a missing cell.
        flagged : array-like of bool of shape (n_samples,), optional
            Rows to draw first, from the largest sum of squares down; by default none.
        max_rows : int, default=60
            Largest number of rows to draw. At most a third of them are neither flagged nor have a
            residual beyond 3.5; these are a sample, always the same.
        feature_names : sequence of str of length n_features, optional
            Names of the features; by default x0, x1, ...
        ids : sequence of length n_samples, optional
            Labels of the rows; by default row numbers, counted from 0.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        CellMapDisplay
        """
        z = np.asarray(to_numpy(residuals), dtype=np.float64)
        if z.ndim != 2 or 0 in z.shape:
            raise ValueError(
                f"residuals has shape {z.shape}, but must have rows and columns, one or more each."
            )
        first = np.zeros(len(z), dtype=bool) if flagged is None else np.asarray(flagged)
        if first.dtype != bool:
            raise ValueError(
                "flagged must be True or False for each row: try predict(X) == -1 of an estimator."
            )
        same_length(len(z), flagged=first, ids=ids)
        sizes = np.fmin(np.nan_to_num(np.abs(z)), 1e150)
        farthest = np.max(sizes, axis=1)
        worst = np.where(farthest > CUT, farthest, 0.0)
        chosen = choose_rows(first, np.sum(np.square(sizes), axis=1), worst, max_rows)
        return cls(
            residuals=z[chosen.rows],
            groups=chosen.groups,
            names=names_of(feature_names, None, z.shape[1]),
            ids=chosen.rows if ids is None else [ids[i] for i in chosen.rows],
            totals=chosen.totals,
            numbered=ids is None,
        ).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, max_columns: int | None = None, colorbar: bool = True
    ) -> CellMapDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure. A figure
            made with `layout="constrained"` has room for all labels.
        max_columns : int, optional
            Largest number of columns to draw. If there are more features, neighbours share a
            column. By default as many as can be told apart.
        colorbar : bool, default=True
            Whether to add a colour bar to the right of the axes.

        Returns
        -------
        self
        """
        if max_columns is not None and max_columns < 1:
            raise ValueError(f"max_columns={max_columns} must be 1 or more.")
        m, d = self.residuals.shape
        is_new, ax = ax is None, axes_for(ax, figure_size(m, self.names))
        self.ax_, self.figure_ = ax, ax.figure
        norm, colors = scale_of_colors()
        labels = [label_of(row) for row in self.ids]
        ax.set_yticks(np.arange(m), labels, fontsize=FONT, parse_math=False)
        ax.set_ylabel(f"rows, {FROM_ZERO}" if self.numbered else "rows")
        ax.tick_params(length=0)
        self._write_groups()
        self.colorbar_ = draw_colorbar(ax, norm, colors) if colorbar else None
        self.legend_ = self._name_missing()
        settle(ax, is_new)  # how wide columns are depends on what is beside them
        self.columns_ = first_columns(d, max_columns or int(points_of(ax)[0] / NARROWEST))
        shown = np.clip(farthest_within(self.residuals, self.columns_), -FULL, FULL)
        # All bins are as wide as the first; the last may have fewer columns, and is cut off.
        end = len(self.columns_) * wide_of(self.columns_, d)
        self.image_ = ax.imshow(
            np.ma.masked_invalid(shown),
            norm=norm,
            cmap=colors,
            aspect="auto",
            interpolation="nearest",
            extent=(-0.5, end - 0.5, m - 0.5, -0.5),
        )
        ax.set_xlim(-0.5, d - 0.5)
        label_columns(ax, self.columns_, self.names)
        settle(ax, is_new)
        step = every(FONT * 1.05, points_of(ax)[1] / m)
        ax.set_yticks(np.arange(0, m, step), labels[::step], fontsize=FONT, parse_math=False)
        self._draw_lines()
        return self

    def _write_groups(self) -> None:
        """Say above the axes which rows are where."""
        groups = np.asarray(self.groups)
        totals = self.totals or {name: int(np.count_nonzero(groups == name)) for name in GROUPS}
        phrases = group_words(groups, totals)
        if len(phrases) > 1:
            places = ("top", "bottom") if len(phrases) == 2 else ("top", "middle", "bottom")
            phrases = [f"{at}: {words}" for at, words in zip(places, phrases, strict=True)]
        self.ax_.set_title("\n".join(phrases), loc="left", fontsize=9)

    def _name_missing(self) -> Any:
        """Say what grey is, below the colour bar if there is one."""
        from matplotlib.patches import Patch  # noqa: PLC0415 (optional)

        if not np.any(np.isnan(self.residuals)):
            return None
        handles = [Patch(facecolor=MISSING, label="missing")]
        if self.colorbar_ is None:
            return legend_outside(self.ax_, handles)
        return self.colorbar_.ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(0.0, -0.02),
            bbox_transform=self.colorbar_.ax.transAxes,
            borderaxespad=0.0,
            borderpad=0.0,
            handlelength=1.0,
            frameon=False,
            fontsize=FONT,
        )

    def _draw_lines(self) -> None:
        """Draw lines between groups of rows, and faint ones between cells that are large enough."""
        ax, (m, d) = self.ax_, self.residuals.shape
        wide, high = points_of(ax)[0] / len(self.columns_), points_of(ax)[1] / m
        rim = {"color": "0.88", "linewidth": 0.5, "zorder": 1.5}
        if high >= RIMMED:
            ax.hlines(np.arange(m - 1) + 0.5, -0.5, d - 0.5, **rim)
            if wide >= RIMMED:
                ax.vlines(self.columns_[1:] - 0.5, -0.5, m - 0.5, **rim)
        groups = np.asarray(self.groups)
        ends = np.flatnonzero(groups[1:] != groups[:-1]) + 0.5
        style = {"color": "0.1", "linewidth": 1.0, "zorder": 3}
        self.lines_ = tuple(ax.axhline(end, **style) for end in ends)


# ---- how large, and in which colours -------------------------------------------------------------


def figure_size(m: int, names: Sequence[str]) -> tuple[float, float]:
    """Width and height in inches of a figure in which m rows and their labels can be read."""
    longest = max(min(len(name), LONGEST) for name in names)
    below = 0.5 + WIDTH * FONT * longest / 72
    width = float(np.clip(3.2 + COLUMN * len(names), 6.5, WIDEST))
    return width, max(3.6, 0.7 + ROW * m + below)


def points_of(ax: Any) -> tuple[float, float]:
    """Width and height of the axes in points, 1/72 inch."""
    box = ax.get_window_extent()
    unit = 72.0 / ax.figure.dpi
    return float(box.width) * unit, float(box.height) * unit


def scale_of_colors() -> tuple[Any, Any]:
    """From residuals to colours: white near zero, then blue or red, and darker the farther out."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize  # noqa: PLC0415 (optional)

    at = np.array([-FULL, -CUT, -WHITE, WHITE, CUT, FULL])
    colors = (SMALL, SMALL_AT_CUT, "white", "white", LARGE_AT_CUT, LARGE)
    stops = list(zip((at + FULL) / (2 * FULL), colors, strict=True))
    made = LinearSegmentedColormap.from_list("torpca cells", stops, N=1024)
    return Normalize(-FULL, FULL), made.with_extremes(bad=MISSING)


def draw_colorbar(ax: Any, norm: Any, colors: Any) -> Any:
    """A bar beside the axes that says in words what the colours mean."""
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415 (optional)

    bar = ax.figure.colorbar(ScalarMappable(norm, colors), ax=ax, aspect=30, pad=0.02)
    words = {
        -FULL: f"-{FULL:g} or less:\nmuch too small",
        -CUT: f"-{CUT:g}: too small",
        0.0: "as expected",
        CUT: f"{CUT:g}: too large",
        FULL: f"{FULL:g} or more:\nmuch too large",
    }
    bar.set_ticks(list(words), labels=list(words.values()), fontsize=FONT)
    texts = bar.ax.get_yticklabels()
    texts[0].set_va("bottom")  # within the bar's length: what grey is may stand below
    texts[-1].set_va("top")
    bar.ax.tick_params(length=2)
    bar.set_label("standard deviations from what\nthe rest of the row predicts", fontsize=9)
    bar.outline.set_edgecolor("0.5")
    return bar


# ---- names -------------------------------------------------------------------------------------


def label_columns(ax: Any, starts: npt.NDArray[np.intp], names: Sequence[str]) -> None:
    """Name the columns that begin at `starts` (b,), or as many as there is room for."""
    d = len(names)
    wide = wide_of(starts, d)
    step = wide * points_of(ax)[0] / d
    labels = [label_of(names[j]) for j in starts]
    longest = max(map(len, labels))
    across = WIDTH * FONT * longest + FONT
    upright = across > step and (longest > SHORT or step >= 1.2 * FONT)
    thin = every(1.2 * FONT if upright else across, step)
    at = starts + 0.5 * (wide - 1)
    ax.set_xticks(
        at[::thin],
        labels[::thin],
        fontsize=FONT,
        rotation=90 if upright else 0,
        parse_math=False,
    )
    if thin > 1 or wide > 1:
        ax.tick_params(axis="x", length=3)
    said = "features" if wide == 1 else f"{whole(d)} features, {whole(wide)} to a column"
    if wide > 1:
        said += ", each coloured by its farthest cell"
    ax.set_xlabel(said)


def label_of(name: object) -> str:
    """A name on one line, its middle left out if it is long: names often differ at their end."""
    return shortened(" ".join(str(name).split()), LONGEST)


def wide_of(starts: npt.NDArray[np.intp], d: int) -> int:
    """Number of features in each bin but the last."""
    return int(starts[1] - starts[0]) if len(starts) > 1 else d


def every(needed: float, there: float) -> int:
    """How many places to go on from label to label, if one takes `needed` and has `there` points.

    Examples
    --------
    >>> every(10.0, 12.0), every(10.0, 3.0), every(10.0, 0.9)
    (1, 5, 20)
    """
    least = max(1, int(np.ceil(needed / there)))
    tens = 10 ** int(np.log10(least))
    return next(k * tens for k in (1, 2, 5, 10) if k * tens >= least)
