"""Which rows are equal."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from torpca._sources.base import BLOCK_BYTES, Floats, RowSource


def row_digests(
    source: RowSource, magnitudes: Floats, rows: npt.NDArray[np.intp]
) -> npt.NDArray[np.uint64]:
    """Return a number for each of the numbered rows: equal rows have the same, others do not.

    But for chance: of a million different rows, two have the same number with a chance of one in
    thirty million. `magnitudes` (n_rows,) are those of `source.magnitudes()`.
    """
    # Rows that differ in their largest entry differ: only the others are looked at.
    sizes, which, counts = np.unique(magnitudes[rows], return_inverse=True, return_counts=True)
    out = sizes.view(np.uint64)[which.reshape(-1)]
    alike = np.flatnonzero(counts[which.reshape(-1)] > 1)
    step = max(1, BLOCK_BYTES // (4 * source.shape[1]))
    for i in range(0, len(alike), step):
        some = alike[i : i + step]
        block = source.take(rows[some]) + 0.0  # -0.0 and 0.0 are equal numbers
        digests = b"".join(blake2b(row.tobytes(), digest_size=8).digest() for row in block)
        out[some] = np.frombuffer(digests, dtype=">u8")
    return out
