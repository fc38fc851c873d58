"""Rows with missing entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from torpca._core.problem import check_rank
from torpca._sources import as_source
from torpca._sources.base import Floats, Mask
from torpca.rivals._door import Table, usual_frame


def open_with_gaps(X: Any, rank: Any) -> tuple[Table, Mask]:
    """Check X and the rank, and load the rows with zeros for NaN; also which entries are seen."""
    source = as_source(X)
    rank = check_rank(rank, source.shape)
    every = np.arange(source.shape[0])
    rows = source.take(every)
    if np.isinf(rows).any():
        raise ValueError(
            f"Input X contains infinity in row {np.flatnonzero(np.isinf(rows).any(axis=1))[0]}. "
            "Entries must be finite, or NaN where missing: drop or mend those rows first."
        )
    seen = ~np.isnan(rows)
    for axis, what in ((1, "row"), (0, "feature")):
        bare = np.flatnonzero(~seen.any(axis=axis))
        if len(bare):
            raise ValueError(
                f"Input X has no entry in {len(bare)} {what}(s), first in {what} {bare[0]}. "
                f"Every {what} needs an entry that is not NaN: drop those without."
            )
    magnitudes = np.max(np.abs(observed(rows, seen)), axis=1)
    frame = usual_frame(source, magnitudes)
    rows = observed(frame.about(None).take(every), seen)
    return Table(np.ascontiguousarray(rows), rank, frame.unit, source), seen


def about_medians(X: Floats, seen: Mask, center: bool) -> tuple[Floats, Floats | None]:
    """Rows about the medians of the entries seen of each feature, and these; X without centring."""
    if not center:
        return X, None
    mean = np.nanmedian(np.where(seen, X, np.nan), axis=0)
    return observed(X - mean, seen), mean


def observed(X: Floats, seen: Mask | None) -> Floats:
    """X, zero where nothing is seen."""
    return X if seen is None else np.where(seen, X, 0.0)


def row_lengths(X: Floats) -> Floats:
    """Euclidean length of each row, (n,)."""
    length: Floats = np.linalg.norm(X, axis=1)
    return length


def leaving(X: Floats, V: Floats, seen: Mask | None) -> Floats:
    """Distance of each row of X (n, d) from the subspace V (d, k), in the entries seen, (n,)."""
    if seen is None:
        return row_lengths(X - (X @ V) @ V.T)
    # Each row has its own least squares, in the entries of V that belong to what is seen of it.
    k = V.shape[1]
    products = (V[:, :, None] * V[:, None, :]).reshape(len(V), k * k)
    normal = (seen @ products).reshape(len(X), k, k)
    share = np.linalg.pinv(normal, hermitian=True) @ (X @ V)[:, :, None]
    return row_lengths(observed(X - share[:, :, 0] @ V.T, seen))
