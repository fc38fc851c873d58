"""Few, long rows: iterate in a basis of their own span, then come back to the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import lstsq

from torpca._core.moments import weighted
from torpca._core.problem import check_finite
from torpca._core.subspace import MAX_GRAM, RESOLVED, Fit, fix_signs, polished
from torpca._robust.settle import Settled, residuals
from torpca._sample.span import Span, span_of
from torpca._sources import RowSource, as_source
from torpca._sources.base import Floats
from torpca._stats.lines import weighted_quantile

# Numbers from which on it pays: passes over fewer of them take no time.
WORTH_IT = 2**20
# Coordinates in the span are good to the root of a unit of rounding. Residuals must be this many
# times larger beside their rows to be told from that.
TOLD_APART = 1e-5


def is_wide(source: RowSource) -> bool:
    """Whether there are fewer rows than features, few enough to multiply, and long enough."""
    n, d = source.shape
    return n < d and n <= MAX_GRAM and n * d >= WORTH_IT


def settle_in_span(
    source: RowSource, settle: Callable[[RowSource], Settled], *, center: bool, polish: bool
) -> Settled | None:
    """What `settle` finds for the rows in their span, in terms of the features.

    None if the rows are so close to a subspace that their products cannot tell.
    """
    magnitudes = check_finite(source)
    every = np.arange(source.shape[0])
    middle = np.argsort(magnitudes, kind="stable")[len(magnitudes) // 2] if center else None
    span = span_of(source, magnitudes, every, middle)
    if span.frame.factors is not None or min(span.Z.shape) < 2:
        return None
    found = settle(as_source(span.Z))
    middle_residual = weighted_quantile(found.residuals, found.sample_weight, 0.5)
    size = float(np.median(np.linalg.norm(span.Z, axis=1)))
    if not middle_residual > TOLD_APART * size or found.fit.frame.factors is not None:
        return None
    fit, W = in_features(source, span, found, polish)
    R, studentised = residuals(fit, found.part)
    return replace(
        found, route="span", fit=fit, residuals=R, studentised=studentised, next_directions=W
    )


def in_features(source: RowSource, span: Span, found: Settled, polish: bool) -> tuple[Fit, Floats]:
    """The fit, and the next directions, of rows in their span as directions of features.

    A basis E (d, p) of the span has Z = (X - origin) E, so E = (X - origin)' Z (Z'Z)^-1.
    """
    k = found.fit.V.shape[1]
    rows = span.frame.about(span.origin)
    there = np.ones(source.shape[0], dtype=bool)
    weights = found.part * found.sample_weight
    directions = np.hstack([found.fit.V, found.next_directions])
    # By a pivoted QR decomposition: five times as fast as by singular values.
    Y: Floats = lstsq(span.Z.T, directions, cond=1e-12, lapack_driver="gelsy", check_finite=False)[
        0
    ]
    if span.origin is not None:
        Y = np.column_stack([Y, weights / np.sum(weights)])
    B = rows.rmatmul(there, Y)
    mean = None
    if span.origin is not None:
        mean, B = span.origin + B[:, -1], B[:, :-1]
    Q, upper = np.linalg.qr(B)
    V = Q * np.sign(np.diag(upper))
    s = found.fit.s
    V, W = V[:, :k], V[:, k:]
    if polish and s[-1] <= RESOLVED * s[0]:
        view, mask = weighted(span.frame.about(mean), weights)
        V, s = polished(view, mask, V, s)
    fit = replace(found.fit, mean=mean, V=fix_signs(V), s=s, frame=span.frame, blur=1.0)
    return fit, W - V @ (V.T @ W)
