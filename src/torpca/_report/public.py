"""The report from Python and in notebooks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from torpca._answer import answer
from torpca._atomic import atomic_write
from torpca._estimators.robust import OutlierRobustPCA
from torpca._names import feature_names
from torpca._provenance import Baseline, Provenance
from torpca._report.page import report_html
from torpca._sources import as_source

# Pixels of a report in a notebook.
HEIGHT = 900


@dataclass(frozen=True)
class Report:
    """A report as text; in a notebook it shows itself.

    Attributes
    ----------
    html : str
        The page.
    path : Path or None
        Where it was written.
    """

    html: str = field(repr=False)
    path: Path | None = None

    def _repr_html_(self) -> str:
        # In a frame of its own: neither page can reach the other.
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" width="100%" height="{HEIGHT}" '
            'sandbox="allow-scripts allow-downloads" title="Report"></iframe>'
        )


def report(
    model: OutlierRobustPCA,
    X: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    ids: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    times: Any = None,
    title: str | None = None,
    new: bool = False,
    baseline: tuple[int, int] | None = None,
    force: bool = False,
) -> Report:
    """Report on a fitted model and rows: one HTML page that opens offline.

    Parameters
    ----------
    model : OutlierRobustPCA
        Fitted, or read by `load_model`.
    X : array-like, sparse matrix, data frame, Dask array or tensor, of shape (n_samples, \
n_features)
        The rows of the fit, or `new` ones.
    path : path, optional
        File to write. By default none is: show the report in a notebook, or take its `html`.
    ids : sequence of length n_samples, optional
        Labels of the rows; by default the index of a data frame that has one of its own, else their
        numbers, counted from 1.
    names : sequence of length n_features, optional
        Names of the features; by default those the model was fitted with, or x0, x1, ...
    times : array-like of shape (n_samples,), optional
        When each row was taken: dates, ISO texts such as "2024-05-06 07:08", or numbers.
    title : str, optional
        What the table is called; by default the name of the file, or "data".
    new : bool, default=False
        Whether the rows are others than those of the fit.
    baseline : tuple of two int, optional
        For new rows: number of rows of the fit, and how many of them were flagged; by default what
        the model knows.
    force : bool, default=False
        Whether to replace a file that is there.

    Returns
    -------
    Report
        With the page in `html` and the file in `path`.

    Raises
    ------
    FileExistsError
        There is a file already, and `force` is false.
    OutputError
        It could not be written; what was there before is still there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import torpca
    >>> from torpca.datasets import make_outlier_subspace
    >>> X = make_outlier_subspace(300, 8, 2, 0.1, noise=0.01, random_state=0).X
    >>> model = torpca.OutlierRobustPCA().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = torpca.report(model, X, Path(folder) / "report.html", title="example")
    ...     made.path.name, made.html[:15]
    ('report.html', '<!doctype html>')
    """
    if not isinstance(model, OutlierRobustPCA):
        raise TypeError(
            f"model={type(model).__name__} must be a fitted OutlierRobustPCA: only of these there "
            "are reports. Fit one, or give the last step of the pipeline."
        )
    check_is_fitted(model)
    path = None if path is None else Path(path)
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"path={str(path)!r} must end in .html. Give such a name.")
    if path is not None and path.exists() and not force:
        raise FileExistsError(
            f"{path} already exists and was left as it is. Choose another name, or replace it "
            "with force=True."
        )
    n, d = as_source(X).shape
    if not new and n != model.n_samples_:
        raise ValueError(
            f"X has {n} rows, and the model was fitted to {model.n_samples_}. Give the rows of the "
            "fit, or new=True for others."
        )
    if ids is None:
        ids = own_index(X)
    if names is None:
        names = [str(name) for name in getattr(model, "feature_names_in_", feature_names(d))]
    for name, given, wanted in (("ids", ids, n), ("names", names, d), ("times", times, n)):
        if given is not None and len(given) != wanted:
            raise ValueError(
                f"{name} has {len(given)} entries, and {wanted} are needed: X has shape ({n}, {d})."
            )
    found = answer(
        model,
        X,
        ids=None if ids is None else [str(label) for label in ids],
        names=names,
        title=title or ("data" if path is None else path.stem),
        new=new,
    )
    found = replace(
        found,
        times_of_rows=None if times is None else np.asarray(times),
        baseline=found.baseline if baseline is None or not new else Baseline(*baseline),
        provenance=made_here(model),
    )
    page = report_html(found)
    if path is not None:
        atomic_write(path, lambda file: file.write(page.encode("utf-8")), force=force)
    return Report(page, path)


def own_index(X: Any) -> Sequence[Any] | None:
    """Labels of the rows of a data frame; None if they are only counted, or there are none."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    if index is None or type(index).__name__ == "RangeIndex":
        return None
    return [", ".join(map(str, one)) if isinstance(one, tuple) else one for one in index]


def made_here(model: OutlierRobustPCA) -> Provenance:
    """What is known of a report that no command made."""
    from torpca import __version__  # noqa: PLC0415 (torpca imports this module)

    return Provenance(
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        command=" ".join(repr(model).split()),
        options=changed_options(model),
    )


def changed_options(model: OutlierRobustPCA) -> Mapping[str, str]:
    """Parameters of the model that are not what they are by default."""
    usual = OutlierRobustPCA().get_params()
    return {
        name: repr(value)
        for name, value in model.get_params().items()
        if repr(value) != repr(usual[name])
    }
