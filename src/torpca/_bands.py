"""Features by name; neighbours that act together are one band, as in a spectrum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from torpca._sources.base import Floats

# Neighbours belong together if they have the same sign and at least this share of the largest one.
TOGETHER = 0.25
# Shorter runs occur by chance, and are named one by one.
SHORTEST_RUN = 5
# Bands looked at for each that is named: a long low one may hold more than a short high one.
LOOKED_AT = 5
# Features among which peaks are looked for: of a million, all others have next to no share.
PEAKS = 2000
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
    found = sorted(bands(shares, LOOKED_AT * most), key=lambda band: -abs(band[2]))[:most]
    return [
        (" to ".join(cut(names[j]) for j in dict.fromkeys((first, last))), share)
        for first, last, share in found
    ]


def main_bands(
    shares: Floats, names: Sequence[str], most: int, cut: Callable[[str], str] = str
) -> list[tuple[str, float]]:
    """Those of `named_bands` that a sentence should speak of."""
    found = named_bands(shares, names, most, cut)
    return [band for band in found if abs(band[1]) >= WORTH * abs(found[0][1])]


def bands(shares: Floats, most: int) -> list[tuple[int, int, float]]:
    """First feature, last feature and share of the bands around the highest peaks of `shares`."""
    left = np.array(shares, dtype=np.float64)
    found: list[tuple[int, int, float]] = []
    for peak in highest(np.abs(left)):
        if left[peak] == 0.0:  # in a band already
            continue
        first, last = run_around(left, peak)
        if last - first + 1 < SHORTEST_RUN:
            first = last = peak
        found.append((first, last, float(np.sum(left[first : last + 1]))))
        left[first : last + 1] = 0.0
        if len(found) == most:
            break
    return found


def highest(sizes: Floats) -> list[int]:
    """Places of the largest of `sizes` (d,), the largest first; all of them, or of many some."""
    places = np.arange(len(sizes))
    if len(sizes) > PEAKS:
        places = np.sort(np.argpartition(-sizes, PEAKS)[:PEAKS])
    order: list[int] = places[np.argsort(-sizes[places], kind="stable")].tolist()
    return order


def run_around(shares: Floats, peak: int) -> tuple[int, int]:
    """First and last of the features around `peak` that act together with it."""
    least = TOGETHER * abs(shares[peak])
    sign = np.sign(shares[peak])
    first = last = peak
    while first > 0 and sign * shares[first - 1] >= least:
        first -= 1
    while last < len(shares) - 1 and sign * shares[last + 1] >= least:
        last += 1
    return first, last


def shortened(name: str, most: int) -> str:
    """A name of at most `most` characters, cut in the middle: names often differ at their end.

    Examples
    --------
    >>> shortened("absorbance of sample 17", 15)
    'absorb...ple 17'
    """
    if len(name) <= most:
        return name
    end = (most - 3) // 2
    return f"{name[: most - 3 - end]}...{name[len(name) - end :]}"
