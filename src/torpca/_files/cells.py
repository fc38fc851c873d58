"""What the cells of a text file mean: numbers, missing values, true and false, words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._files.dressed import undressed
from torpca._files.errors import TableError, need, shown
from torpca._files.marks import Marks
from torpca._sources.base import Floats, Mask
from torpca._words import counted

# Marks of a missing value that spreadsheets, databases, R, pandas and the UCI collection write.
MISSING = (
    *("", "NA", "N/A", "n/a", "na", "<NA>", "#N/A", "#NA", "NaN", "nan", "-nan", "NULL", "null"),
    *("Null", "None", "none", "?", ".", "-", "--", "*", "n.d.", "N.D.", "nd", "NaT"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NUM!"),
)
NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)$"
DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}\b")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
# In place of what is no part of a number.
NO_DIGIT = "\x1f"


def numbers(cells: Any) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Values (n,) of an Arrow array of text, NaN where there is none, and the places of words."""
    pa, pc = need("pyarrow", "cli", "Reading text"), need("pyarrow.compute", "cli", "Reading text")
    nowhere = np.zeros(0, dtype=np.intp)
    # Most columns are numbers and nothing else, so what costs more is done only if that failed.
    for clean in (None, blanked, trimmed):
        try:
            return _floats(pc.cast(cells if clean is None else clean(cells), pa.float64())), nowhere
        except pa.ArrowInvalid:
            continue
    cells = trimmed(cells)
    fits = pc.match_substring_regex(cells, NUMBER)
    words = np.flatnonzero(pc.fill_null(pc.invert(fits), False).to_numpy(zero_copy_only=False))
    return _floats(pc.cast(pc.if_else(fits, cells, None), pa.float64())), words


def blanked(cells: Any) -> Any:
    """`cells` with null in place of the marks of a missing value."""
    pa, pc = need("pyarrow", "cli", "Reading text"), need("pyarrow.compute", "cli", "Reading text")
    return pc.if_else(pc.is_in(cells, value_set=pa.array(MISSING)), None, cells)


def trimmed(cells: Any) -> Any:
    """`cells` without spaces around them, and null in place of the marks of a missing value."""
    pc = need("pyarrow.compute", "cli", "Reading text")
    return blanked(pc.utf8_trim_whitespace(cells))


def _floats(array: Any) -> Floats:
    values: Floats = array.to_numpy(zero_copy_only=False)
    return values


def truths(cells: Any) -> tuple[Floats, Mask]:
    """1 and 0 for true and false in an Arrow array of text (n,), and where there is one of them."""
    pc = need("pyarrow.compute", "cli", "Reading text")
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(cells))
    true, false = (pc.equal(lower, w).to_numpy(zero_copy_only=False) for w in ("true", "false"))
    return true.astype(np.float64), true | false


@dataclass
class Seen:
    """How many cells of a kind there were, and the first of them."""

    n: int = 0
    first: str = ""
    row: int = 0

    def add(self, cells: Any, places: npt.NDArray[np.intp], start: int) -> None:
        """Count the cells at `places` of an Arrow array that begins in row `start`, from 0."""
        if len(places) and not self.n:
            self.first = cells[int(places[0])].as_py().strip()
            self.row = start + int(places[0]) + 1
        self.n += len(places)

    def __str__(self) -> str:
        return f"{shown(self.first)} in row {self.row}"


@dataclass
class TextColumn:
    """What has been seen so far of a column of a text file."""

    name: str
    decimal: str = "."
    """What stands before the decimals of its numbers."""
    delimiter: str = ","
    """What stands between the cells of a row."""
    marks: Marks | None = None
    """What else means missing."""
    thousands: str | None = None
    """What stands between the thousands of its numbers, if somebody said it."""
    numbers: Seen = field(default_factory=Seen)
    truths: Seen = field(default_factory=Seen)
    words: Seen = field(default_factory=Seen)
    dressed: Seen = field(default_factory=Seen)
    """Numbers of the kinds below."""
    percents: Seen = field(default_factory=Seen)
    money: Seen = field(default_factory=Seen)
    grouped: Seen = field(default_factory=Seen)
    """Numbers with marks between thousands, ..."""
    sure: Seen = field(default_factory=Seen)
    """... which can be nothing else."""
    signs: set[str] = field(default_factory=set)
    """Currencies."""
    fractions: bool = False
    """Whether a number has decimals."""

    def read(self, cells: Any, start: int) -> Floats:
        """Values (n,) of an Arrow array of text whose first cell is in row `start`, from 0."""
        if self.marks is not None:  # before the decimals, as they were given
            cells = self.marks.cleared(cells)
        values, others = self._plain(cells)
        if self.marks is not None:
            values = self.marks.blanked(values)
        self.numbers.add(cells, np.flatnonzero(~np.isnan(values)), start)
        with np.errstate(invalid="ignore"):
            self.fractions = self.fractions or bool(np.any(np.abs(values - np.rint(values)) > 0))
        if len(others):
            values = values.copy()
            self._read_others(cells, others, start, values)
        return values

    def _plain(self, cells: Any) -> tuple[Floats, npt.NDArray[np.intp]]:
        """Values (n,) of plain numbers, NaN for others, and the places of all else."""
        if self.decimal == ".":
            return numbers(cells)
        replace = need("pyarrow.compute", "cli", "Reading text").replace_substring
        # A point is no mark before decimals then, and must not be read as one.
        return numbers(replace(replace(trimmed(cells), ".", NO_DIGIT), self.decimal, "."))

    def _read_others(
        self, cells: Any, places: npt.NDArray[np.intp], start: int, values: Floats
    ) -> None:
        """Read what is no plain number: numbers as people write them, true and false, words."""
        others = cells.take(places)
        found = undressed(others, self.decimal, self.thousands)
        true, is_truth = truths(others)
        values[places[found.fits]] = found.values[found.fits]
        values[places[is_truth]] = true[is_truth]
        for seen, which in (
            (self.dressed, found.fits),
            (self.percents, found.percent),
            (self.money, found.money),
            (self.grouped, found.grouped),
            (self.sure, found.sure),
            (self.truths, is_truth),
            (self.words, ~(found.fits | is_truth)),
        ):
            seen.add(cells, places[which], start)
        self.signs |= found.signs

    @property
    def true_or_false(self) -> bool:
        """Whether the values were true and false."""
        return self.truths.n > 0

    @property
    def doubtful(self) -> bool:
        """Whether commas in it could stand before decimals as well, for all that it says itself."""
        return self.grouped.n > self.sure.n == 0 and self.thousands is None and self.decimal == "."

    def reason(self, title: str) -> str:
        """Why the column is not used, "" for numbers; an error if it is neither this nor that.

        A few words among numbers are mistakes more often than not: a slip, a unit, a mark of a
        missing value that is not known here. To leave the feature out without asking would change
        the answer, so that is an error. A few numbers among words, such as codes, are words.
        """
        if DECIMAL_COMMA.fullmatch(self.words.first):
            remedy = "Use --decimal ',' (decimal=',')."
            if self.delimiter == ",":
                remedy = "Save the file with decimal points, or with semicolons between cells."
            raise TableError(
                f"Column {shown(self.name)} of {title} has numbers with a decimal comma, "
                f"such as {self.words}. {remedy}"
            )
        of_numbers = self.numbers.n + self.dressed.n
        if sum(n > 0 for n in (of_numbers, self.truths.n, self.words.n)) <= 1:
            self._check_units(title)
            return self._text() if self.words.n else ""
        if self.words.n > of_numbers + self.truths.n:
            return self._text()
        what, odd = "numbers", [self.truths, self.words]
        if self.truths.n > of_numbers:
            what, odd = "true and false", [self.numbers, self.dressed, self.words]
        raise TableError(
            f"Column {shown(self.name)} of {title} holds {what}, but also {_first(odd)}. "
            "Correct the file, say with --na-values (na_values=...) that this means missing, or "
            "choose other columns with --columns."
        )

    def _check_units(self, title: str) -> None:
        """Raise an error if some numbers are percentages and others are not, and the like."""
        others = self.dressed.n - self.percents.n
        if self.percents.n and self.numbers.n + others:
            plain = self.numbers if self.numbers.n else self.dressed
            raise TableError(
                f"Column {shown(self.name)} of {title} holds percentages, such as "
                f"{self.percents}, but also {plain} without a percent sign. Write all of them "
                "in one way, or leave the column out with --exclude (exclude=...)."
            )
        if len(self.signs) > 1:
            raise TableError(
                f"Column {shown(self.name)} of {title} holds amounts in "
                f"{' and '.join(sorted(self.signs))}. Convert them to one currency, or leave the "
                "column out with --exclude (exclude=...)."
            )

    def _text(self) -> str:
        if DATE.match(self.words.first):
            return f"dates, such as {self.words}"
        return f"text, such as {self.words}"


def _first(odd: list[Seen]) -> str:
    """The first of some cells, and how many others there are."""
    first = min((kind for kind in odd if kind.n), key=lambda kind: kind.row)
    more = sum(kind.n for kind in odd) - 1
    return f"{first} and {counted(more, 'other cell')}" if more else str(first)
