"""Warnings that point at the user's line, however far down they are raised."""

from __future__ import annotations

import sys
import warnings

# Packages between the user's line and the warning. scikit-learn calls `fit` in `fit_transform`,
# `fit_predict` and pipelines, and joblib calls it for scikit-learn.
BETWEEN = ("torpca", "sklearn", "joblib")


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and name the nearest line outside of torpca and what calls it for the user.

    A number of frames to skip would not do: `fit` is as many frames away from the user as
    scikit-learn likes. Python 3.12 could skip them by the paths of their files.
    """
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_between(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_between(module: object) -> bool:
    return isinstance(module, str) and module.split(".")[0] in BETWEEN
