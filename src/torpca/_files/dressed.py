"""Numbers as people write them: 12,032.1, 3.1% and $49."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from torpca._files.errors import TableError, need
from torpca._sources.base import Floats, Mask

# Signs that stand before or after an amount.
CURRENCIES = "$€£¥"
# What may stand between thousands, and all the ways to write it: there are spaces of many widths.
MARKS = {
    ",": ",",
    ".": r"\.",
    "'": "['\u2019]",
    " ": "[ \u00a0\u2009\u202f]",
    "_": "_",
}
# What each of them is called in a sentence.
CALLED = {",": "commas", ".": "points", "'": "apostrophes", " ": "spaces", "_": "underscores"}
# Between thousands unless somebody says otherwise, given what stands before decimals.
OTHER = {".": ",", ",": "."}


@dataclass(frozen=True)
class Undressed:
    """What cells of text are worth, (n,) each."""

    values: Floats
    """NaN for those that are no numbers."""
    fits: Mask
    """Cells that are numbers."""
    percent: Mask
    money: Mask
    grouped: Mask
    """Cells with a mark between thousands, ..."""
    sure: Mask
    """... of which it cannot be the mark before decimals: 1,234,567 and 1,234.5, but not 1,234."""
    signs: frozenset[str]
    """Currencies."""


def undressed(cells: Any, decimal: str, thousands: str | None) -> Undressed:
    """Values of an Arrow array of text (n,), of cells that are not plain numbers.

    The thousands of 1,234 are thousands here; whether they could be decimals is for the caller to
    say, who knows the other cells.
    """
    pa, pc = (need(m, "cli", "Reading text") for m in ("pyarrow", "pyarrow.compute"))
    mark, point = MARKS[thousands or OTHER[decimal]], re.escape(decimal)
    groups = f"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})"
    decimals = f"{point}[0-9]*"
    plain = f"(?:[0-9]+(?:{decimals})?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    parts = pc.extract_regex(
        pc.utf8_trim_whitespace(cells),
        f"^(?P<one>[+-]?)(?P<before>[{CURRENCIES}]?) ?(?P<two>[+-]?)"
        f"(?P<body>{groups}+(?:{decimals})?|{plain})"
        f"[ \u00a0\u202f]?(?P<after>[%{CURRENCIES}]?)$",
    )
    fits = pc.is_valid(parts).to_numpy(zero_copy_only=False)
    parts = parts.filter(pa.array(fits))
    one, before, two, body, after = (
        pc.struct_field(parts, name) for name in ("one", "before", "two", "body", "after")
    )
    # One sign is enough, and one unit: $5% is nothing.
    odd = pc.or_(
        pc.and_(pc.not_equal(one, ""), pc.not_equal(two, "")),
        pc.and_(pc.not_equal(before, ""), pc.not_equal(after, "")),
    ).to_numpy(zero_copy_only=False)
    grouped = pc.match_substring_regex(body, f"^{groups}")
    sure = pc.match_substring_regex(body, f"^{groups}(?:{mark}|{point})")
    digits = pc.replace_substring_regex(body, mark, "")
    digits = pc.if_else(grouped, digits, body)
    digits = digits if decimal == "." else pc.replace_substring(digits, decimal, ".")
    signed = pc.binary_join_element_wise(one, two, digits, "")
    numbers = pc.cast(pc.if_else(pa.array(odd), None, signed), pa.float64())
    values = numbers.to_numpy(zero_copy_only=False)
    percent = pc.equal(after, "%").to_numpy(zero_copy_only=False)
    values = np.where(percent, values / 100, values)
    of_money = pc.if_else(pc.not_equal(before, ""), before, pc.if_else(percent, "", after))
    inside = np.flatnonzero(fits)[~odd]

    def placed(mask: Any) -> Mask:
        out = np.zeros(len(fits), dtype=bool)
        out[inside] = np.asarray(mask)[~odd]
        return out

    worth = np.full(len(fits), np.nan)
    worth[inside] = values[~odd]
    signs = pc.unique(of_money.filter(pa.array(~odd))).to_pylist()
    return Undressed(
        worth,
        placed(np.ones(len(odd), dtype=bool)),
        placed(percent),
        placed(pc.not_equal(of_money, "").to_numpy(zero_copy_only=False)),
        placed(grouped.to_numpy(zero_copy_only=False)),
        placed(sure.to_numpy(zero_copy_only=False)),
        frozenset(signs) - {""},
    )


def check_thousands(thousands: str | None, decimal: str) -> None:
    """Raise an error if this cannot stand between thousands."""
    if thousands is None:
        return
    if thousands not in MARKS:
        allowed = ", ".join(map(repr, MARKS))
        raise TableError(
            f"The thousands separator {thousands!r} is not allowed; give one of {allowed}."
        )
    if thousands == decimal:
        raise TableError(
            f"{thousands!r} cannot be both the thousands separator and the decimal mark. Give "
            f"--decimal {OTHER[decimal]!r} (decimal={OTHER[decimal]!r}), or another --thousands."
        )
