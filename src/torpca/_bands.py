"""Features by name; neighbours that act together are one band, as in a spectrum."""

from __future__ import annotations

import re
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
# Names that are numbers, with a unit or without: wavelengths, wave numbers, times.
NUMBER = re.compile(r"[^\d.+-]*([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?:\D.*)?")
# Fewest features of a spectrum or another profile.
SHORTEST_PROFILE = 10
# Beside the largest share, one smaller than this part of it is not worth a word.
WORTH = 0.2


def is_profile(names: Sequence[str]) -> bool:
    """Whether names are numbers in order, as of a spectrum: then neighbours belong together.

    Examples
    --------
    >>> is_profile([f"{900 + 2 * j} nm" for j in range(50)])
    True
    >>> is_profile(["flow", "bearing_temp", "rpm"]), is_profile([f"x{j}" for j in range(50)])
    (False, False)
    """
    if len(names) < SHORTEST_PROFILE:
        return False
    found = [NUMBER.fullmatch(name.strip()) for name in names]
    numbers = np.array([float(match.group(1)) if match else np.nan for match in found])
    steps = np.diff(numbers)
    in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    # x0, x1, ... and sensor 1, sensor 2, ... are counted, not measured.
    counted = numbers[0] in (0.0, 1.0) and bool(np.all(steps == 1.0))
    return in_order and not counted


def named_bands(
    shares: Floats, names: Sequence[str], most: int, cut: Callable[[str], str] = str
) -> list[tuple[str, float]]:
    """Features or bands of neighbours with the largest signed shares (d,), the largest first.

    A spectrum has hundreds of features, each with a small share; what a chemist wants to read is
    the band they form. In other tables neighbours have nothing to do with each other, and features
    are named one by one. `cut` shortens a name.

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.array([0.5, 0.0, -0.05, -0.1, -0.1, -0.1, -0.05, 0.0, 0.1, 0.0])
    >>> waves = [f"{900 + 2 * j} nm" for j in range(10)]
    >>> [(name, round(share, 2)) for name, share in named_bands(shares, waves, 2)]
    [('900 nm', 0.5), ('904 nm to 912 nm', -0.4)]
    """
    if not is_profile(names):
        order = highest(np.abs(shares))[:most]
        return [(cut(names[j]), float(shares[j])) for j in order if shares[j] != 0.0]
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
