"""Numbers as people read them: 1,700 and not 1700."""

from __future__ import annotations


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
