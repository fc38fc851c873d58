"""Words and numbers as people read them: 1,700 and not 1700, "a, b and c"."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10

# A sentence names so many columns or rows, and counts the rest.
NAMED = 5


def whole(n: int) -> str:
    """`n` with a comma between thousands.

    Examples
    --------
    >>> whole(1700), whole(17)
    ('1,700', '17')
    """
    return f"{int(n):,}"


def counted(n: int, thing: str, plural: str = "") -> str:
    """`n` things in words.

    Examples
    --------
    >>> counted(1700, "row"), counted(1, "row"), counted(2, "axis", "axes")
    ('1,700 rows', '1 row', '2 axes')
    """
    return f"{whole(n)} {thing if n == 1 else plural or thing + 's'}"


def figures(value: float) -> str:
    """A number with three figures, in words a reader of tables is used to.

    Examples
    --------
    >>> figures(1234.5), figures(12.345), figures(1e-9)
    ('1,230', '12.3', '1.00e-09')
    """
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.2e}"
    rounded = float(f"{value:.3g}")
    return whole(round(rounded)) if abs(rounded) >= 100 else f"{rounded:g}"


def interval(low: float, high: float) -> str:
    """Two numbers with as many figures as their difference is worth: two of it.

    Examples
    --------
    >>> interval(1467.76, 1479.21), interval(6.8742, 7.1291), interval(0.0, 2e7)
    ('1,468 to 1,479', '6.87 to 7.13', '0 to 2.00e+07')
    """
    width = high - low
    largest = max(abs(low), abs(high))
    if not (1e-6 < width < 1e6 and largest < min(1e9, 1e9 * width)):
        return f"{figures(low)} to {figures(high)}"
    decimals = max(0, 1 - floor(log10(width)))
    return " to ".join(f"{round(end, decimals) + 0.0:,.{decimals}f}" for end in (low, high))


def percent(share: float | None) -> str:
    """A share in per cent, no more precise than is of use; None is one that nobody knows.

    Examples
    --------
    >>> percent(0.345), percent(0.05), percent(0.9996), percent(1.0), percent(1e-6)
    ('34.5%', '5%', 'more than 99.9%', '100%', 'less than 0.1%')
    """
    if share is None:
        return "an unknown share"
    value = 100 * share
    if 0 < value < 0.1:
        return "less than 0.1%"
    # Not rounded up to all.
    if 99.95 <= value < 100:
        return "more than 99.9%"
    return f"{value:.1f}".removesuffix(".0") + "%"


def degrees(angle: float) -> str:
    """An angle, no more precise than is of use."""
    if angle < 0.1:
        return "less than 0.1°"
    return f"{angle:.1f}°" if angle < 10 else f"{angle:.0f}°"


def listed(parts: list[str]) -> str:
    """Parts of a sentence with commas and an "and"."""
    return "".join(parts) if len(parts) < 2 else ", ".join(parts[:-1]) + " and " + parts[-1]


def first_of(things: Iterable[object], total: int | None = None, most: int = NAMED) -> str:
    """The first of `things` in words; `total` is how many there are, if not all are given.

    Examples
    --------
    >>> first_of("abc"), first_of("abcde", 1700, most=2)
    ('a, b and c', 'a, b and 1,698 more')
    """
    all_things = list(things)
    words = [str(thing) for thing in all_things[:most]]
    more = (len(all_things) if total is None else total) - len(words)
    return listed([*words, *([f"{whole(more)} more"] if more > 0 else [])])


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


def printable(text: str, width: int) -> str:
    """`text` in one line of at most `width` characters, with nothing that a terminal obeys."""
    safe = "".join(c if c.isprintable() else "?" for c in text)
    return shortened(safe, width)
