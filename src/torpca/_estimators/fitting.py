"""scikit-learn's check of parameters around `fit`, without losing the types of `fit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.base import _fit_context

Fit = TypeVar("Fit", bound=Callable[..., Any])


def checked_fit(fit: Fit) -> Fit:
    """`fit`, which looks at the parameters of its estimator before it does anything else."""
    # scikit-learn has no types: to a type checker, its decorator makes anything of anything.
    return cast(Fit, _fit_context(prefer_skip_nested_validation=True)(fit))
