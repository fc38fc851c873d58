"""The rows on their components, with the region of the good ones; ordinary PCA beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._sources.base import Floats, to_numpy
from torpca._words import percent
from torpca.plots._canvas import axes_for, legend_outside, rows_title, settle, tidy, two_axes_for
from torpca.plots._door import (
    Subject,
    distances_and_types,
    known_types,
    limits_of,
    numbers,
    plain_pca,
    same_length,
    subject,
    with_scaling,
)
from torpca.plots._row_labels import halo, label_points
from torpca.plots._rows import MAX_REGULAR, draw_rows

# An axis is stretched about zero when the farthest row is this many times outside the ellipse.
FAR = 20.0


class ScoresDisplay:
    """Rows on two components, with the ellipse of the good rows.

    The ellipse shows the covariance of the good rows, out to the score limit. Rows within the limit
    are inside it, whichever two components are drawn. With one component, the vertical axis is the
    orthogonal distance, and two lines replace the ellipse. Make one with `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, k)
        Coordinates of the rows on the components.
    types : ndarray of str of shape (n_samples,)
        "regular", "good leverage", "orthogonal" or "bad leverage".
    deviations : ndarray of shape (k,)
        Standard deviations of the good rows along the components.
    limit : float
        Limit on the score distance.
    components : pair of int
        Components to draw, counted from 1, or one if there is only one.
    orthogonal_distances : ndarray of shape (n_samples,), optional
        Needed to draw a single component.
    explained : ndarray of shape (k,), optional
        Shares of the good rows' variance, for the names of the axes.
    plain_scores, plain_explained : ndarray of shapes (n_samples, k) and (k,), optional
        Coordinates and shares of ordinary PCA of all rows, drawn beside ours.
    plain_orthogonal_distances : ndarray of shape (n_samples,), optional
        Distances from the subspace of ordinary PCA, needed to draw a single component of it.
    ids : sequence of length n_samples, optional
        Labels of the rows; by default row numbers, counted from 0.
    scaled : bool, optional
        Whether columns were scaled, for the names of the axes; by default this is not mentioned.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    plain_ax_ : matplotlib Axes or None
        Axes of ordinary PCA.
    points_, plain_points_ : dict of PathCollection
        The rows, by kind.
    ellipse_, plain_ellipse_ : Line2D
        Region of the good rows; for ordinary PCA, of all rows, at the same limit.
    row_labels_, plain_row_labels_ : tuple of Annotation
        Labels of the rows that are farthest outside.
    legend_ : Legend or None

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.plots import ScoresDisplay
    >>> X = make_outlier_subspace(500, 20, 3, 0.1, noise=0.01, random_state=0).X
    >>> display = ScoresDisplay.from_estimator(OutlierRobustPCA().fit(X), X, components=(1, 3))
    >>> display.ax_.get_ylabel()
    'component 3 (...%, columns not scaled)'
    """

    def __init__(
        self,
        *,
        scores: Floats,
        types: npt.NDArray[np.str_],
        deviations: Floats,
        limit: float,
        components: Sequence[int] = (1, 2),
        orthogonal_distances: Floats | None = None,
        explained: Floats | None = None,
        plain_scores: Floats | None = None,
        plain_explained: Floats | None = None,
        plain_orthogonal_distances: Floats | None = None,
        ids: Sequence[Any] | npt.NDArray[Any] | None = None,
        scaled: bool | None = None,
    ) -> None:
        self.scores = scores
        self.types = types
        self.deviations = deviations
        self.limit = limit
        self.components = components
        self.orthogonal_distances = orthogonal_distances
        self.explained = explained
        self.plain_scores = plain_scores
        self.plain_explained = plain_explained
        self.plain_orthogonal_distances = plain_orthogonal_distances
        self.ids = ids
        self.scaled = scaled

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        components: Sequence[int] | None = None,
        plain: bool = False,
        ids: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ScoresDisplay:
        """Draw rows on the components of a fitted estimator.

        Parameters
        ----------
        estimator : estimator of torpca, or pipeline that ends in one
            The fitted model.
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to draw. They may be new.
        components : pair of int, optional
            Components to draw, counted from 1; by default the first two.
        plain : bool, default=False
            Whether to draw ordinary PCA of the rows X beside ours.
        ids : sequence of length n_samples, optional
            Labels of the rows. By default the index of a pandas frame, or row numbers counted
            from 0.
        ax : matplotlib Axes, optional
            Axes to draw on, a pair if `plain`; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        ScoresDisplay
        """
        it = subject(estimator, X)
        model, k = it.model, int(it.model.n_components_)
        if k == 0:
            raise ValueError(
                f"{type(model).__name__} found no component, as the good rows are all the same, so "
                "that there are no scores to draw: try OutlierMapDisplay."
            )
        if components is None:
            components = (1, 2) if k >= 2 else (1,)
        chosen = known_components(components, k)
        _, orthogonal, types = distances_and_types(it)
        scores = np.asarray(to_numpy(model._coordinates(it.X)), dtype=np.float64)
        same_length(len(scores), ids=ids)
        compared = plain_scores_of(it) if plain else {}
        return cls(
            scores=scores,
            types=types,
            deviations=np.ones(k) if model.whiten else model.subspace_.deviations,
            limit=limits_of(model)["score"],
            components=chosen,
            orthogonal_distances=orthogonal,
            explained=np.asarray(to_numpy(model.explained_variance_ratio_), dtype=np.float64),
            ids=it.ids if ids is None else ids,
            scaled=model.subspace_.scale is not None,
            **compared,
        ).plot(ax, **options)

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        *,
        types: Any,
        deviations: Any,
        limit: float,
        components: Sequence[int] = (1, 2),
        explained: Any = None,
        plain_scores: Any = None,
        plain_explained: Any = None,
        ids: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ScoresDisplay:
        """Draw given coordinates.

        Parameters
        ----------
        scores : array-like of shape (n_samples, k)
            Coordinates of the rows, as from `transform`.
        types : array-like of str of shape (n_samples,)
            Type of each row, as from `outlier_types`.
        deviations : array-like of shape (k,)
            Standard deviations of the good rows along the components.
        limit : float
            Limit on the score distance, as in `cutoffs_`.
        components : pair of int, default=(1, 2)
            Components to draw, counted from 1.
        explained : array-like of shape (k,), optional
            Shares of the good rows' variance, for the names of the axes.
        plain_scores, plain_explained : array-like of shapes (n_samples, k) and (k,), optional
            Coordinates and shares of ordinary PCA, drawn beside ours.
        ids : sequence of length n_samples, optional
            Labels of the rows; by default row numbers, counted from 0.
        ax : matplotlib Axes, optional
            Axes to draw on, a pair with `plain_scores`; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        ScoresDisplay
        """
        Y = numbers(scores, "scores", 2)
        n, k = Y.shape
        chosen = known_components(components, k)
        if len(chosen) != 2:
            raise ValueError(f"components={components!r} must be two numbers, such as (1, 2).")
        kinds, sd = known_types(types), numbers(deviations, "deviations")
        plain = None if plain_scores is None else numbers(plain_scores, "plain_scores", 2)
        same_length(n, types=kinds, ids=ids, plain_scores=plain)
        if len(sd) != k:
            raise ValueError(f"deviations has {len(sd)} entries, but scores has {k} components.")
        return cls(
            scores=Y,
            types=kinds,
            deviations=sd,
            limit=float(limit),
            components=chosen,
            explained=None if explained is None else numbers(explained, "explained"),
            plain_scores=plain,
            plain_explained=(
                None if plain_explained is None else numbers(plain_explained, "plain_explained")
            ),
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
    ) -> ScoresDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on, a pair if ordinary PCA is drawn too; by default those of a new figure.
        scale : {"auto", "linear", "symlog"}, default="auto"
            Scale of the axes. "symlog" is linear within the good region and logarithmic beyond.
            "auto" is "symlog" for components on which rows are more than twenty times as far out.
        n_labels : int, default=10
            Number of flagged rows to label, the farthest first, as far as there is room.
        max_regular : int, default=20000
            Largest number of regular rows to draw. If there are more, a sample is drawn, always
            the same. All flagged rows are drawn.
        legend : bool, default=True
            Whether to add a legend, to the right of the axes.

        Returns
        -------
        self
        """
        if scale not in ("auto", "linear", "symlog"):
            raise ValueError(f"scale={scale!r} must be 'auto', 'linear' or 'symlog'.")
        is_new = ax is None
        self.plain_ax_: Any = None
        if self.plain_scores is None:
            ax = axes_for(ax, (7.5, 5.0))
        else:
            self.plain_ax_, ax = two_axes_for(ax, (11.0, 4.8))
        self.ax_, self.figure_ = ax, ax.figure
        self.points_, self.ellipse_ = self._panel(
            ax, self._places(), self.deviations, self.explained, scale, max_regular
        )
        self.plain_points_: dict[str, Any] = {}
        self.plain_ellipse_ = None
        if self.plain_scores is not None:
            spread = np.sqrt(np.mean(self.plain_scores**2, axis=0))
            self.plain_points_, self.plain_ellipse_ = self._panel(
                self.plain_ax_,
                self._places(plain=True),
                spread,
                self.plain_explained,
                scale,
                max_regular,
            )
            self.plain_ax_.set_title("ordinary PCA", loc="left", fontsize=10)
            ax.set_title("outlier-robust PCA", loc="left", fontsize=10)
        handles = [*self.points_.values(), self.ellipse_]
        self.legend_ = legend_outside(ax, handles, rows_title(self.ids)) if legend else None
        settle(ax, is_new)
        rows = self._farthest(n_labels)
        ids = rows if self.ids is None else [self.ids[i] for i in rows]
        self.row_labels_ = self._label(ax, self._places(), rows, list(ids))
        self.plain_row_labels_: tuple[Any, ...] = ()
        if self.plain_scores is not None:
            self.plain_row_labels_ = self._label(
                self.plain_ax_, self._places(plain=True), rows, list(ids)
            )
        return self

    def _places(self, plain: bool = False) -> tuple[Floats, Floats]:
        """Where the rows are drawn."""
        scores = self.plain_scores if plain and self.plain_scores is not None else self.scores
        x = scores[:, self.components[0] - 1]
        if len(self.components) == 2:
            return x, scores[:, self.components[1] - 1]
        off = self.plain_orthogonal_distances if plain else self.orthogonal_distances
        if off is None:
            raise ValueError(
                f"components={self.components!r} is one component, which is drawn against the "
                "orthogonal distances, but there are none: give them, or two components."
            )
        return x, off

    def _panel(
        self,
        ax: Any,
        places: tuple[Floats, Floats],
        deviations: Floats,
        explained: Floats | None,
        scale: str,
        max_regular: int,
    ) -> tuple[dict[str, Any], Any]:
        """Draw rows and their region on one pair of axes."""
        x, y = places
        points = draw_rows(ax, x, y, self.types, max_regular)
        style: dict[str, Any] = {"color": "0.1", "linestyle": "--", "linewidth": 1.3, "zorder": 3}
        style |= {"label": f"score limit {self.limit:.3g}", "path_effects": halo(ax)}
        reach = [self.limit * float(deviations[c - 1]) for c in self.components]
        names = [axis_name(c, explained, self.scaled) for c in self.components]
        if len(reach) == 2:
            turn = np.linspace(0.0, 2 * np.pi, 361)
            (region,) = ax.plot(reach[0] * np.cos(turn), reach[1] * np.sin(turn), **style)
        else:
            region = ax.axvline(reach[0], **style)
            ax.axvline(-reach[0], **{**style, "label": "_other side"})
            names.append(with_scaling("orthogonal distance", self.scaled))
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[1])
        both = ((x, ax.xaxis, ax.set_xscale), (y, ax.yaxis, ax.set_yscale))
        for inner, (values, axis, set_scale) in zip(reach, both[: len(reach)], strict=True):
            times = float(np.max(np.abs(values), initial=0.0)) / inner if inner > 0 else 0.0
            if scale == "symlog" or (scale == "auto" and times > FAR):
                stretch_about_zero(axis, set_scale, inner, times)
                axis.set_label_text(f"{axis.get_label_text()}, logarithmic beyond the limit")
        tidy(ax)
        return points, region

    def _label(
        self,
        ax: Any,
        places: tuple[Floats, Floats],
        rows: npt.NDArray[np.intp],
        ids: list[Any],
    ) -> tuple[Any, ...]:
        """Label some rows in one panel."""
        x, y = places
        flagged = self.types != "regular"
        return label_points(ax, x[rows], y[rows], ids, (x[flagged], y[flagged]))

    def _farthest(self, m: int) -> npt.NDArray[np.intp]:
        """Numbers of the `m` flagged rows that are farthest out in the picture."""
        flagged = np.flatnonzero(self.types != "regular")
        drawn = [c - 1 for c in self.components]
        sd = np.where(self.deviations[drawn] > 0, self.deviations[drawn], 1.0)
        far = np.linalg.norm(self.scores[flagged][:, drawn] / sd, axis=1)
        return flagged[np.argsort(-far, kind="stable")[: max(m, 0)]]


def plain_scores_of(it: Subject) -> dict[str, Any]:
    """Coordinates, shares and orthogonal distances of ordinary PCA of the rows, by name."""
    k = it.model.subspace_.basis.shape[1]
    fit = plain_pca(it, k)
    # Rows of lower rank have no more directions.
    missing = k - fit.V.shape[1]
    V = np.pad(fit.V, ((0, 0), (0, missing)))
    # The sign of a direction means nothing; alike ones are easier to compare.
    turn = np.where(np.sum(V * it.model.subspace_.basis, axis=0) < 0, -1.0, 1.0)
    return {
        "plain_scores": np.pad(fit.scores, ((0, 0), (0, missing))) * turn,
        "plain_explained": np.pad(fit.explained, (0, missing)),
        "plain_orthogonal_distances": fit.orthogonal_distances(),
    }


def stretch_about_zero(axis: Any, set_scale: Any, inner: float, times: float) -> None:
    """Make an axis plain up to `inner` and logarithmic beyond, up to `times` as far."""
    from matplotlib.ticker import FixedLocator, NullLocator  # noqa: PLC0415 (optional)

    if not 0 < inner < np.inf:
        return
    decades = np.log10(max(times, 1.0))
    # A third of the axis for the good rows.
    set_scale("symlog", linthresh=inner, linscale=max(1.0, 0.5 * decades))
    # At most three powers of ten on each side, all of them beyond the limit, or they crowd.
    first, last = np.ceil(np.log10(inner)), np.floor(np.log10(inner) + decades)
    powers = 10.0 ** np.arange(first, last + 1, max(1.0, np.ceil((last - first + 1) / 3)))
    axis.set_major_locator(FixedLocator([*-powers[::-1], 0.0, *powers]))
    axis.set_minor_locator(NullLocator())


def known_components(components: Sequence[int], k: int) -> tuple[int, ...]:
    """`components` as one or two numbers between 1 and k."""
    try:
        chosen = tuple(int(c) for c in components)
    except (TypeError, ValueError):
        chosen = ()
    if not 1 <= len(chosen) <= 2 or any(not 1 <= c <= k for c in chosen):
        there = (
            "there are none" if k == 0 else f"there are 1 to {k}" if k > 1 else "there is only 1"
        )
        raise ValueError(
            f"components={components!r} must be one or two numbers of components, counted from 1, "
            f"and {there}."
        )
    return chosen


def axis_name(component: int, explained: Floats | None, scaled: bool | None) -> str:
    """Name of an axis: the component, its share of the variance, and whether columns are scaled."""
    name = with_scaling(f"component {component}", scaled)
    if explained is None or component > len(explained):
        return name
    share = percent(float(explained[component - 1]))
    return name.replace("(", f"({share}, ") if scaled is not None else f"{name} ({share})"
