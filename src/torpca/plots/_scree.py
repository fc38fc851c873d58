"""The scree plot: how much of the good rows' variance each direction has, and where to stop."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._estimators.words import components, rank_rule, reason_for_rank
from torpca._sources.base import Floats, to_numpy
from torpca._words import percent
from torpca.plots._canvas import axes_for, legend_outside, tidy
from torpca.plots._door import numbers, plain_pca, subject

OURS, PLAIN = "#0072b2", "#a50026"
# The axis of shares is logarithmic when they span more than this.
SPAN = 50.0
# Shares below this part of the largest are rounding, and would stretch the axis for nothing.
ROUNDING = 1e-13


class ScreeDisplay:
    """Share of the variance along each principal direction, with the chosen rank and the reason.

    Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    variances : ndarray of shape (m,)
        Variances of the good rows along their principal directions, as shares of all of it.
    rank : int
        Number of components chosen.
    rule : str
        Why it was chosen; see `RankChoice`.
    gap : float, optional
        Variance of the last component divided by the variance of the next direction; by default
        from `variances`.
    plain_variances : ndarray of shape (l,), optional
        Variances of ordinary PCA of all rows, for comparison.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    line_ : Line2D
        The variances of the good rows.
    chosen_ : Line2D
        Filled points for the chosen components.
    plain_line_ : Line2D or None
        The variances of ordinary PCA.
    rank_line_ : Line2D
        Where the components end.
    reason_ : Text
        The number of components and the rule.
    legend_ : Legend or None

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca.datasets import make_outlier_subspace
    >>> from torpca.plots import ScreeDisplay
    >>> X = make_outlier_subspace(500, 20, 3, 0.1, noise=0.01, random_state=0).X
    >>> display = ScreeDisplay.from_estimator(OutlierRobustPCA().fit(X), X, plain=True)
    >>> display.rank, display.rule
    (3, 'gap')
    """

    def __init__(
        self,
        *,
        variances: Floats,
        rank: int,
        rule: str = "given",
        gap: float | None = None,
        plain_variances: Floats | None = None,
    ) -> None:
        self.variances = variances
        self.rank = rank
        self.rule = rule
        self.gap = gap
        self.plain_variances = plain_variances

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        plain: bool = False,
        ax: Any = None,
        **options: Any,
    ) -> ScreeDisplay:
        """Draw the variances that a fitted estimator found.

        Parameters
        ----------
        estimator : estimator of torpca, or pipeline that ends in one
            The fitted model. `OutlierRobustPCA` also has the variances beyond its components, in
            `rank_`. The other estimators have only those of their components.
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features), \
optional
            Rows for ordinary PCA; needed if `plain`.
        plain : bool, default=False
            Whether to draw the variances of ordinary PCA of all rows X too.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        ScreeDisplay
        """
        it = subject(estimator, X)
        choice = getattr(it.model, "rank_", None)
        shares = it.model.explained_variance_ratio_ if choice is None else choice.variances
        variances = np.asarray(to_numpy(shares), dtype=np.float64)
        plain_variances = None
        if plain:
            if X is None:
                raise ValueError(
                    "plain=True asks for ordinary PCA of the rows, but X is None: give the rows."
                )
            m = n_drawn(options.get("n_directions"), it.model.n_components_)
            plain_variances = plain_pca(it, m).explained
        return cls(
            variances=variances,
            rank=int(it.model.n_components_),
            rule=rank_rule(it.model),
            gap=None if choice is None else choice.gap,
            plain_variances=plain_variances,
        ).plot(ax, **options)

    @classmethod
    def from_predictions(
        cls,
        variances: Any,
        *,
        rank: int,
        rule: str = "given",
        plain_variances: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> ScreeDisplay:
        """Draw given variances.

        Parameters
        ----------
        variances : array-like of shape (m,)
            Variances of the good rows along their principal directions, as shares of all of it.
        rank : int
            Number of components chosen.
        rule : str, default="given"
            Why: "given", "gap", "share", "edge" or "exact", as in `RankChoice`, or your own words.
        plain_variances : array-like of shape (l,), optional
            Variances of ordinary PCA of all rows.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        ScreeDisplay
        """
        shares = numbers(variances, "variances")
        if not (0 <= rank <= len(shares)):
            raise ValueError(
                f"rank={rank} must be between 0 and {len(shares)}, the number of variances."
            )
        plain = None if plain_variances is None else numbers(plain_variances, "plain_variances")
        return cls(variances=shares, rank=rank, rule=rule, plain_variances=plain).plot(
            ax, **options
        )

    def plot(
        self,
        ax: Any = None,
        *,
        scale: str = "auto",
        n_directions: int | None = None,
        legend: bool = True,
    ) -> ScreeDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        scale : {"auto", "linear", "log"}, default="auto"
            Scale of the shares. "auto" is logarithmic if they span a factor of more than fifty.
        n_directions : int, optional
            Number of directions to draw; by default twice the rank, and at least 20.
        legend : bool, default=True
            Whether to add a legend, to the right of the axes, if ordinary PCA is drawn too.

        Returns
        -------
        self
        """
        if scale not in ("auto", "linear", "log"):
            raise ValueError(f"scale={scale!r} must be 'auto', 'linear' or 'log'.")
        ax = axes_for(ax, (7.5, 4.5))
        self.ax_, self.figure_ = ax, ax.figure
        most = n_drawn(n_directions, self.rank)
        ours = self.variances[:most]
        plain = None if self.plain_variances is None else self.plain_variances[:most]
        drawn = ours if plain is None else np.concatenate([ours, plain])
        drawn = drawn[drawn > ROUNDING * np.max(drawn, initial=0.0)]
        log = scale == "log" or (scale == "auto" and np.ptp(np.log(drawn)) > np.log(SPAN))
        ax.set_yscale("log" if log and len(drawn) else "linear")

        self.plain_line_ = None
        if plain is not None:
            (self.plain_line_,) = ax.plot(
                *_points(plain, drawn, log), color=PLAIN, marker="s", markersize=4,
                linestyle=":", linewidth=1.2, label="ordinary PCA, all rows",
            )  # fmt: skip
        look = {"color": OURS, "marker": "o", "markersize": 6.0}
        (self.line_,) = ax.plot(
            *_points(ours, drawn, log), **look, markerfacecolor="white", linewidth=1.2,
            label="good rows",
        )  # fmt: skip
        at, shares = _points(ours, drawn, log)
        inside = at <= self.rank
        (self.chosen_,) = ax.plot(
            at[inside], shares[inside], **look, linestyle="none", label="chosen components"
        )
        self.rank_line_ = ax.axvline(
            self.rank + 0.5, color="0.25", linestyle="--", linewidth=1.0, zorder=1.5
        )
        self._write_reason()
        if not log:
            ax.set_ylim(0.0, None)
        ax.set_xlim(0.4, max(len(ours), 0 if plain is None else len(plain), self.rank + 1) + 0.6)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("direction")
        ax.set_ylabel("share of the variance")
        tidy(ax)
        handles = [self.line_, self.chosen_, *([self.plain_line_] if self.plain_line_ else [])]
        self.legend_ = legend_outside(ax, handles) if legend else None
        return self

    def _write_reason(self) -> None:
        """Say above the axes how many components there are, and why."""
        gap, total = self.gap, float(np.sum(self.variances[: self.rank]))
        if gap is None and 0 < self.rank < len(self.variances):
            next_one = self.variances[self.rank]
            gap = float(self.variances[self.rank - 1] / next_one) if next_one > 0 else np.inf
        reason = reason_for_rank(self.rule, gap, total)
        verb = "it explains" if self.rank == 1 else "they explain"
        share = "" if self.rule == "share" else f"; {verb} {percent(total)}"
        self.reason_ = self.ax_.set_title(
            f"{components(self.rank)}, {reason}{share}", loc="left", fontsize=10, parse_math=False
        )


def n_drawn(n_directions: int | None, rank: int) -> int:
    """Number of directions to draw, at most."""
    if n_directions is None:
        return max(20, 2 * rank)
    if n_directions < 1:
        raise ValueError(f"n_directions={n_directions} must be 1 or more.")
    return n_directions


def _points(shares: Floats, drawn: Floats, log: bool) -> tuple[Floats, Floats]:
    """Numbers, counted from 1, and shares of the directions that can be drawn."""
    at = np.arange(1.0, len(shares) + 1)
    seen = shares >= np.min(drawn, initial=0.0) if not log else shares >= np.min(drawn)
    return at[seen], shares[seen]
