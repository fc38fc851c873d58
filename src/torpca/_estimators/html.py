"""How a fitted estimator shows itself in a notebook: scikit-learn's diagram and a short summary."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import estimator_html_repr

from torpca._estimators.words import rank_rule, reason_for_rank, rows_by_type
from torpca._sources.base import to_numpy
from torpca._words import counted, percent, whole

# Colours are the page's own, so that the summary reads in light and in dark.
TABLE = "border-collapse: collapse; margin: 0.5em 0; font-size: 0.9em; color: inherit"
HEAD = "text-align: left; vertical-align: top; padding: 0.1em 1em 0.1em 0; font-weight: bold"
CELL = "text-align: left; padding: 0.1em 0"


class NotebookSummary:
    """Shows an estimator in a notebook as scikit-learn does, with a summary of the fit below.

    To be inherited before `BaseEstimator`. `_html_repr` is where scikit-learn 1.7 and later look;
    the other two methods are for earlier versions, which call `estimator_html_repr` themselves.
    """

    def _html_repr(self) -> str:
        return str(estimator_html_repr(self)) + summary_html(self)

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle


def summary_html(estimator: Any) -> str:
    """Return a table of what the fit found, as HTML; empty before the fit."""
    lines = summary_lines(estimator)
    if not lines:
        return ""
    rows = "".join(
        f'<tr><th scope="row" style="{HEAD}">{escape(name)}</th>'
        f'<td style="{CELL}">{escape(value)}</td></tr>'
        for name, value in lines
    )
    return (
        f'<table class="torpca-summary" style="{TABLE}">'
        f"<caption hidden>Summary of the fit</caption><tbody>{rows}</tbody></table>"
    )


def summary_lines(estimator: Any) -> list[tuple[str, str]]:
    """Return the summary of a fit as names and values; empty before the fit.

    Parameters
    ----------
    estimator : estimator of torpca

    Returns
    -------
    list of (str, str)

    Examples
    --------
    >>> from torpca import OutlierRobustPCA
    >>> from torpca.datasets import make_outlier_subspace
    >>> X = make_outlier_subspace(500, 20, 3, 0.1, noise=0.01, random_state=0).X
    >>> for name, value in summary_lines(OutlierRobustPCA().fit(X)):
    ...     print(f"{name}: {value}")
    Components: 3, where the variance drops ... times
    Variance explained: ...% for the good rows
    Rows flagged: ... of 500 (...%): ...
    Converged: yes, in ...
    """
    # Not check_is_fitted: a fit that failed half-way has set some attributes, and has no summary.
    if not hasattr(estimator, "offset_"):
        return []
    k = int(estimator.n_components_)
    choice = getattr(estimator, "rank_", None)
    shares = to_numpy(estimator.explained_variance_ratio_)
    reason = reason_for_rank(
        rank_rule(estimator),
        gap=None if choice is None else choice.gap,
        explained=None if choice is None else choice.explained,
    )
    lines = [
        ("Components", f"{k}, {reason}"),
        ("Variance explained", f"{percent(float(np.sum(shares)))} for the good rows"),
    ]
    if hasattr(estimator, "score_distances_"):  # a model from a file knows no training rows
        lines.append(("Rows flagged", flagged_rows(rows_by_type(estimator))))
    if hasattr(estimator, "converged_"):
        n_iter = int(estimator.n_iter_)
        times = counted(n_iter, "iteration")
        settled = f"yes, in {times}" if estimator.converged_ else f"no, not in {times}"
        if not estimator.converged_ and estimator.history_:
            settled += f"; it still moved by {estimator.history_[-1].subspace_change:.1e}"
        lines.append(("Converged", settled))
    return lines


def flagged_rows(numbers: dict[str, int]) -> str:
    """How many rows are flagged, of which kinds, in words."""
    n = sum(numbers.values())
    kinds = {kind: m for kind, m in numbers.items() if kind != "regular"}
    total = sum(kinds.values())
    if total == 0:
        return f"none of {whole(n)}"
    parts = ", ".join(f"{whole(m)} {kind}" for kind, m in kinds.items() if m)
    return f"{whole(total)} of {whole(n)} ({percent(total / n)}): {parts}"
