"""Which columns of a table are used, and why others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from torpca._files.errors import TableError, counted, listed, shown, similar

NO_NAME = "it has no name; row names written by R or pandas look like that"


@dataclass(frozen=True)
class Chosen:
    """Places of the columns used, their names, and the others with the reason."""

    places: npt.NDArray[np.intp]
    names: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def check_names(
    title: str, names: Sequence[str], columns: Sequence[str] | None, id_column: str | None
) -> None:
    """Raise an error if names occur twice, or if a column asked for is not there."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{title} has {counted(len(twice), 'column name')} more than once: "
            f"{listed(map(shown, twice))}. Give every column a name of its own; if the file has no "
            "line of names, put one first."
        )
    if id_column is not None and id_column not in names:
        raise TableError(
            f"{title} has no column {shown(id_column)} to name rows by. {similar(id_column, names)}"
        )
    if columns is None:
        return
    for name in columns:
        if name not in names:
            raise TableError(f"{title} has no column {shown(name)}. {similar(name, names)}")
        if name == id_column:
            raise TableError(
                f"Column {shown(name)} cannot name the rows and be a feature at the same time. "
                "Take it out of the columns, or name the rows by another column."
            )
    if len(set(columns)) < len(columns):
        double = [name for name, count in Counter(columns).items() if count > 1]
        raise TableError(f"Columns asked for twice: {listed(map(shown, double))}. Name each once.")


def choose(
    title: str,
    names: Sequence[str],
    reasons: Sequence[str],
    columns: Sequence[str] | None,
    id_column: str | None,
) -> Chosen:
    """The columns to use.

    Parameters
    ----------
    title : str
        What the file is called in messages.
    names : sequence of str
        All columns.
    reasons : sequence of str
        Why a column cannot be used, "" for a column of numbers.
    columns : sequence of str, optional
        Those asked for, in their order. By default all columns of numbers that have a name.
    id_column : str, optional
        The column that names the rows; it is none of those used.

    Returns
    -------
    Chosen
    """
    if columns is not None:
        where = {name: i for i, name in enumerate(names)}
        for name in columns:
            if reasons[where[name]]:
                raise TableError(
                    f"Column {shown(name)} of {title} cannot be used: {reasons[where[name]]}. "
                    "Choose columns of numbers."
                )
        places = [where[name] for name in columns]
        left_out: tuple[tuple[str, str], ...] = ()
    else:
        why = [reasons[i] or ("" if name else NO_NAME) for i, name in enumerate(names)]
        others = [i for i, name in enumerate(names) if name != id_column]
        places = [i for i in others if not why[i]]
        left_out = tuple((names[i], why[i]) for i in others if why[i])
    check_enough(title, [names[i] for i in places], left_out)
    return Chosen(np.array(places, dtype=np.intp), tuple(names[i] for i in places), left_out)


def check_enough(
    title: str, names: Sequence[str], left_out: Sequence[tuple[str, str]] = ()
) -> None:
    """Raise an error unless two columns are used: one has no directions to tell apart."""
    if len(names) >= 2:
        return
    others = ""
    if left_out:
        words = listed(f"{shown(name)} ({reason})" for name, reason in left_out)
        others = f" Left out: {words}."
    if names:
        raise TableError(
            f"{title} has only one column of numbers to use, {shown(names[0])}; at least two are "
            f"needed.{others}"
        )
    raise TableError(f"{title} has no column of numbers; at least two are needed.{others}")
