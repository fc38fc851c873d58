"""Rows with missing entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_rank
from torpca._sources import as_source
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Table, usual_frame
from torpca.rivals._span import residuals, row_lengths


def open_with_gaps(X: Any, rank: Any) -> tuple[Table, Mask]:
    """As `open_table`, but NaN is a missing entry: zero in the table; also which are seen, (n, d).

    Every row and every feature needs an entry that is seen.
    """
    source = as_source(X)
    rank = check_rank(rank, source.shape)
    every = np.arange(source.shape[0])
    rows = source.take(every)
    seen = check_cells(rows)
    magnitudes = np.max(np.abs(observed(rows, seen)), axis=1)
    frame = usual_frame(source, magnitudes)
    rows = observed(frame.about(None).take(every), seen)
    return Table(np.ascontiguousarray(rows), rank, frame.unit, source), seen


def check_cells(rows: Floats) -> Mask:
    """Check that `rows` (n, d) are finite or NaN, no row or column all NaN; which are seen."""
    infinite = np.flatnonzero(np.isinf(rows).any(axis=1))
    if len(infinite):
        raise ValueError(
            f"Input X contains infinity in {len(infinite)} of {len(rows)} rows, first in row "
            f"{infinite[0]}. Entries must be finite, or NaN where missing: drop or mend those rows "
            "first."
        )
    seen = ~np.isnan(rows)
    check_seen("row", np.any(seen, axis=1))
    check_seen("feature", np.any(seen, axis=0))
    return seen


def check_seen(what: str, seen: Mask) -> None:
    """Check that each `what`, a row or a feature, has an entry, given which have, (n,) or (d,)."""
    bare = np.flatnonzero(~seen)
    if len(bare):
        raise ValueError(
            f"Input X has no entry but NaN in {len(bare)} of {len(seen)} {what}s, first in {what} "
            f"{bare[0]}. Every {what} needs an entry that is not NaN: drop those without."
        )


def observed(X: Floats, seen: Mask | None) -> Floats:
    """X, zero where nothing is seen."""
    return X if seen is None else np.where(seen, X, 0.0)


def leaving(X: Floats, V: Floats, seen: Mask | None) -> Floats:
    """Distance of each row of X (n, d) from the subspace V (d, k), in the entries seen, (n,)."""
    if seen is None:
        return residuals(X, V)[2]
    # Each row has its own least squares, in the entries of V that belong to what is seen of it.
    k = V.shape[1]
    products = (V[:, :, None] * V[:, None, :]).reshape(len(V), k * k)
    normal = (seen @ products).reshape(len(X), k, k)
    share = np.linalg.pinv(normal, hermitian=True) @ (X @ V)[:, :, None]
    return row_lengths(observed(X - share[:, :, 0] @ V.T, seen))
