"""Features by name; neighbours that act together are one band, as in a spectrum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from torpca._sources.base import Floats

# Neighbours belong together if they have the same sign and at least this share of the largest one.
TOGETHER = 0.25
# Shorter runs occur by chance, and are named one by one.
SHORTEST_RUN = 5
# Beside the largest share, one smaller than this part of it is not worth a word.
WORTH = 0.2


def named_bands(
    shares: Floats, names: Sequence[str], most: int, cut: Callable[[str], str] = str
) -> list[tuple[str, float]]:
    """Features or bands of neighbours with the largest signed shares (d,), the largest first.

    A spectrum has hundreds of features, each with a small share; what a chemist wants to read is
    the band they form. In other tables, runs of neighbours that all act alike are rare. `cut`
    shortens a name.

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.array([0.5, 0.0, -0.05, -0.1, -0.1, -0.1, -0.05, 0.0, 0.1])
    >>> [(name, round(share, 2)) for name, share in named_bands(shares, "abcdefghi", 2)]
    [('a', 0.5), ('c to g', -0.4)]
    """
    left = np.array(shares, dtype=np.float64)
    found = []
    # A run takes as many features as it has; more rounds than names are never needed.
    for _ in range(most):
        peak = int(np.argmax(np.abs(left)))
        if left[peak] == 0.0:
            break
        first, last = run_around(left, peak)
        if last - first + 1 < SHORTEST_RUN:
            first = last = peak
        name = " to ".join(cut(names[j]) for j in dict.fromkeys((first, last)))
        found.append((name, float(np.sum(left[first : last + 1]))))
        left[first : last + 1] = 0.0
    return sorted(found, key=lambda pair: -abs(pair[1]))


def main_bands(
    shares: Floats, names: Sequence[str], most: int, cut: Callable[[str], str] = str
) -> list[tuple[str, float]]:
    """Those of `named_bands` that a sentence should speak of."""
    bands = named_bands(shares, names, most, cut)
    return [band for band in bands if abs(band[1]) >= WORTH * abs(bands[0][1])]


def run_around(shares: Floats, peak: int) -> tuple[int, int]:
    """First and last of the features around `peak` that act together with it."""
    alike = shares * np.sign(shares[peak]) >= TOGETHER * abs(shares[peak])
    unlike = np.flatnonzero(~alike)
    at = int(np.searchsorted(unlike, peak))
    first = int(unlike[at - 1]) + 1 if at > 0 else 0
    last = int(unlike[at]) - 1 if at < len(unlike) else len(shares) - 1
    return first, last
