"""Which columns of a table are used, and why others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from torpca._files.errors import TableError, shown, similar
from torpca._words import counted, first_of

NO_NAME = "it has no name; row names written by R or pandas look like that"


@dataclass(frozen=True)
class Chosen:
    """Places of the columns used, their names, and the others with the reason."""

    places: npt.NDArray[np.intp]
    names: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Wanted:
    """What somebody asked for."""

    columns: tuple[str, ...] | None = None
    """Columns to use, in their order. By default all columns of numbers that have a name."""
    exclude: tuple[str, ...] = ()
    """Columns not to use."""
    id_column: str | None = None
    """The column that names the rows; it is none of those used."""
    id_if_there: bool = False
    """Whether that column may be missing."""
    time_column: str | None = None
    """The column that says when the rows were measured; it is none of those used either."""
    time_if_there: bool = False
    """Whether that one may be missing."""
    empty_too: bool = False
    """Whether the columns to use may have no value at all."""

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that are read as text and are no features, each once."""
        both = (self.id_column, self.time_column)
        return tuple(dict.fromkeys(name for name in both if name is not None))

    def checked(self, title: str, names: Sequence[str]) -> Wanted:
        """The same for a table with columns `names`, all of which must be there, and once."""
        there = Counter(names)  # columns may be many thousands, so none is looked for in a list
        if self.id_if_there and self.id_column not in there:
            return replace(self, id_column=None, id_if_there=False).checked(title, names)
        if self.time_if_there and self.time_column not in there:
            return replace(self, time_column=None, time_if_there=False).checked(title, names)
        twice = [name for name, count in there.items() if count > 1]
        if "" in twice:
            raise TableError(
                f"{title} has {counted(there[''], 'column')} without a name. If other lines stand "
                "above the names, skip them with --skip-rows; else give every column a name."
            )
        if twice:
            raise TableError(
                f"{title} has {counted(len(twice), 'column name')} more than once: "
                f"{first_of(map(shown, twice))}. Give every column a name of its own; if the file "
                "has no line of names, use --no-header (header=False)."
            )
        for name, what in ((self.id_column, "name rows by"), (self.time_column, "take times from")):
            if name is not None and name not in there:
                raise TableError(
                    f"{title} has no column {shown(name)} to {what}. {similar(name, names)}"
                )
        asked = (*(self.columns or ()), *self.exclude)
        for name in asked:
            if name not in there:
                raise TableError(f"{title} has no column {shown(name)}. {similar(name, names)}")
        if self.columns is not None and self.id_column in self.columns:
            raise TableError(
                f"Column {shown(str(self.id_column))} cannot name the rows and be a feature at the "
                "same time. Take it out of the columns, or name the rows by another column."
            )
        if self.columns is not None and self.time_column in self.columns:
            raise TableError(
                f"Column {shown(str(self.time_column))} cannot hold the times and be a feature "
                "too. Take it out of the columns, or leave --time-column (time_column) out."
            )
        double = [name for name, count in Counter(asked).items() if count > 1]
        if double:
            raise TableError(
                f"Columns named twice: {first_of(map(shown, double))}. Name each once, to be used "
                "or to be left out."
            )
        return self

    def usable(self, names: Sequence[str]) -> list[int]:
        """Places of the columns that are not ruled out by what was asked for."""
        out = {*self.exclude, *self.beside}
        only = set(names if self.columns is None else self.columns)
        return [i for i, name in enumerate(names) if name in only and name not in out]

    def choose(self, title: str, names: Sequence[str], reasons: Sequence[str]) -> Chosen:
        """The columns to use, of all `names`.

        `reasons` say why a column cannot be used, "" for a column of numbers.
        """
        left_out: tuple[tuple[str, str], ...] = ()
        if self.columns is not None:
            where = {name: i for i, name in enumerate(names)}
            for name in self.columns:
                if reasons[where[name]]:
                    raise TableError(
                        f"Column {shown(name)} of {title} cannot be used: {reasons[where[name]]}. "
                        "Choose columns of numbers."
                    )
            places = [where[name] for name in self.columns]
        else:
            why = [reasons[i] or ("" if name else NO_NAME) for i, name in enumerate(names)]
            others = self.usable(names)
            places = [i for i in others if not why[i]]
            left_out = tuple((names[i], why[i]) for i in others if why[i])
        check_enough(title, [names[i] for i in places], left_out)
        return Chosen(np.array(places, dtype=np.intp), tuple(names[i] for i in places), left_out)


def places_among(held: Sequence[int], columns: Sequence[int]) -> npt.NDArray[np.intp]:
    """Where each of the `columns` is among those `held`."""
    place = {column: i for i, column in enumerate(held)}
    return np.array([place[column] for column in columns], dtype=np.intp)


def check_enough(
    title: str, names: Sequence[str], left_out: Sequence[tuple[str, str]] = ()
) -> None:
    """Raise an error unless two columns are used: one has no directions to tell apart."""
    if len(names) >= 2:
        return
    others = ""
    if left_out:
        words = first_of(f"{shown(name)} ({reason})" for name, reason in left_out)
        others = f" Left out: {words}."
        if any(reason.startswith("text") for _, reason in left_out):
            others += " If these are numbers, say how they are written: --decimal, --thousands."
    if names:
        raise TableError(
            f"{title} has only one column of numbers to use, {shown(names[0])}; at least two are "
            f"needed.{others}"
        )
    raise TableError(f"{title} has no column of numbers; at least two are needed.{others}")
