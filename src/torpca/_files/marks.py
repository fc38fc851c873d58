"""Values that mean "missing" because somebody said so: -999, 1e30, "not measured"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torpca._files.errors import TableError, need, shown
from torpca._files.stored import Numbers, Stored, Texts
from torpca._sources.base import Mask
from torpca._words import counted, first_of


@dataclass
class Marks:
    """Marks of missing values, and how many cells had one so far."""

    texts: tuple[str, ...]
    """As they were given."""
    numbers: tuple[float, ...]
    """Those of them that are numbers. In single precision too: 0.1 is another number there."""
    n: int = 0

    @classmethod
    def of(cls, values: Sequence[str | float], decimal: str = ".") -> Marks:
        """What was given, as texts and, where that can be, as numbers."""
        texts = tuple(str(value).strip() for value in values)
        if not all(texts):
            raise TableError(
                "--na-values (na_values) holds an empty text; empty cells are always missing. Give "
                "values that mean missing, separated by commas, such as -999,9999."
            )
        numbers = [number for text in texts if (number := number_of(text, decimal)) is not None]
        with np.errstate(over="ignore"):
            single = [float(np.float32(number)) for number in numbers]
        same = [b for a, b in zip(numbers, single, strict=True) if np.isfinite(a) == np.isfinite(b)]
        return cls(texts, tuple(dict.fromkeys([*numbers, *same])))

    def blanked(self, values: Numbers) -> Numbers:
        """`values` with NaN in place of the numbers that mean missing; a copy if there are some."""
        hit = np.zeros(values.shape, dtype=bool)
        for number in self.numbers:
            hit |= values == np.float64(number)
        if not hit.any():
            return values
        self.n += int(np.count_nonzero(hit))
        if values.dtype.kind != "f":  # an integer cannot be NaN
            return np.where(hit, np.nan, values)
        values = values.copy()
        values[hit] = np.nan
        return values

    def cleared(self, cells: Any) -> Any:
        """An Arrow array of text with "" in place of the texts that mean missing."""
        pa, pc = (need(m, "cli", "Reading text") for m in ("pyarrow", "pyarrow.compute"))
        hit = pc.is_in(pc.utf8_trim_whitespace(cells), value_set=pa.array(self.texts))
        n = pc.sum(hit).as_py() or 0
        self.n += n
        return pc.if_else(hit, "", cells) if n else cells

    def note(self) -> str:
        """How many cells had one of them, a sentence."""
        given = " or ".join(map(shown, self.texts))
        if not self.n:
            return f"No cell is {given}, which --na-values says is missing."
        verb = "is" if self.n == 1 else "are"
        return f"{counted(self.n, 'cell')} {verb} missing because --na-values names {given}."


def number_of(text: str, decimal: str) -> float | None:
    """The number that a text is, if it is one."""
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return None


class Marked(Stored):
    """A table of numbers in which some numbers mean missing."""

    def __init__(self, stored: Stored, values: Sequence[str | float], title: str) -> None:
        self.stored, self.marks = stored, Marks.of(values)
        words = [text for text in self.marks.texts if number_of(text, ".") is None]
        if words:
            raise TableError(
                f"--na-values (na_values) names {first_of(map(shown, words))}, but {title} holds "
                "numbers and no text. Give only numbers, such as -999."
            )
        self.shape, self.dtype, self.names = stored.shape, stored.dtype, stored.names
        self.left_out = stored.left_out
        self._counted = 0  # rows in which marks were counted, in the first pass

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What was assumed, and how many cells had a mark."""
        return (*self.stored.notes, self.marks.note())

    def stream(self, wanted: Mask | None = None) -> Iterator[tuple[int, Numbers]]:
        """Yield the rows, with NaN in place of the marks."""
        for start, block in self.stored.stream(wanted):
            before = self.marks.n
            blanked = self.marks.blanked(block)
            if start < self._counted:
                self.marks.n = before
            self._counted = max(self._counted, start + len(block))
            yield start, blanked

    def beside(self) -> dict[str, list[Texts]]:
        """Values of the columns that name rows or tell times, as they are."""
        return self.stored.beside()
