"""A report as a file."""

from __future__ import annotations

import os
from pathlib import Path

from torpca._answer import Answer
from torpca._atomic import atomic_write
from torpca._report.page import report_html


def write_report(answer: Answer, path: str | os.PathLike[str]) -> Path:
    """Write the report on `answer` to a file, all of it or nothing.

    Parameters
    ----------
    answer : Answer
        What a fit says about a table.
    path : str or path-like
        File to write; one that is there is replaced. Its folder must exist.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from torpca import OutlierRobustPCA
    >>> from torpca._answer import answer
    >>> from torpca.datasets import make_outlier_subspace
    >>> X, *_ = make_outlier_subspace(200, 8, 2, 0.1, noise=0.01, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(answer(OutlierRobustPCA().fit(X), X), folder + "/report.html")
    ...     path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    page = report_html(answer).encode("utf-8")
    return atomic_write(path, lambda file: file.write(page))
