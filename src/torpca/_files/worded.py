"""Numbers from tables of text: text files, and worksheets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from torpca._files import excel, text
from torpca._files.cells import TextColumn
from torpca._files.choose import Wanted, places_among
from torpca._files.dressed import CALLED, OTHER
from torpca._files.errors import TableError, shown
from torpca._files.growing import Growing
from torpca._files.ids import texts
from torpca._files.lines import Lines, TextOptions
from torpca._files.marks import Marks
from torpca._files.stored import StoredArray, Texts
from torpca._words import counted, first_of

Progress = Callable[[int, int | None], None]


@contextmanager
def lines_of(
    path: str | Path, kind: str, options: TextOptions, chunk_bytes: int
) -> Iterator[Lines]:
    """The cells of a text file or of a worksheet, by the ending `kind` of its name."""
    if kind in excel.SUFFIXES:
        lines = excel.sheet_lines(path, options)
        try:
            yield lines
        except TableError as error:
            if not lines.notes:
                raise
            # Perhaps the table is in another sheet.
            raise TableError(" ".join([str(error), *lines.notes])) from error
        return
    if options.sheet is not None:
        raise TableError(
            f"{path} is a text file and has no sheets. Leave --sheet (sheet={options.sheet!r}) out."
        )
    with text.text_lines(path, options, chunk_bytes) as lines:
        yield lines


def read_text(
    path: str | Path,
    *,
    kind: str,
    wanted: Wanted,
    options: TextOptions,
    na_values: Sequence[str | float] = (),
    chunk_bytes: int,
    memory_bytes: int,
    progress: Progress | None = None,
) -> StoredArray:
    """The columns of numbers of a table of text, parsed once."""
    marks = Marks.of(na_values, options.decimal) if na_values else None
    with (
        lines_of(path, kind, options, chunk_bytes) as lines,
        closing(Growing(memory_bytes)) as growing,
    ):
        title, names = lines.title, lines.names
        wanted = wanted.checked(title, names)
        used = wanted.usable(names)
        beside: dict[str, list[Texts]] = {name: [] for name in wanted.beside}
        seen = {i: text_column(names[i], lines, options, marks) for i in used}
        batches = lines.batches([*used, *(names.index(name) for name in beside)])
        held = collected(batches, seen, beside, growing, progress)
        if held is None:
            raise TableError(
                f"{title} has a line of {counted(len(names), 'column name')} and no rows. Give a "
                "file with rows under it."
            )
        reasons = [seen[i].reason(title) if i in seen else "" for i in range(len(names))]
        chosen = wanted.choose(title, names, reasons)
        read = [seen[i] for i in chosen.places.tolist()]
        notes = [
            *lines.notes,
            *told(names, read, growing.on_disk, options.header, marks),
            *how_dressed(read, [column for i, column in seen.items() if not reasons[i]], title),
        ]
        return StoredArray(
            growing.finish(),
            chosen.names,
            columns=places_among(held, chosen.places.tolist()),
            beside=beside,
            left_out=chosen.left_out,
            notes=tuple(notes),
            chunk_bytes=chunk_bytes,
        )


def text_column(name: str, lines: Lines, options: TextOptions, marks: Marks | None) -> TextColumn:
    """A column of which nothing has been seen yet."""
    return TextColumn(name, options.decimal, lines.delimiter, marks, options.thousands)


def collected(
    batches: Iterator[Any],
    seen: dict[int, TextColumn],
    beside: dict[str, list[Texts]],
    growing: Growing,
    progress: Progress | None,
) -> list[int] | None:
    """Places of the columns whose numbers `growing` has now; None if there are no rows.

    What the columns `beside` them say, the last ones of a batch, goes there.
    """
    held: list[int] | None = None
    n = 0
    for batch in batches:
        cells = batch.columns
        for pieces, column in zip(beside.values(), cells[len(seen) :], strict=True):
            pieces.append(texts(column))  # as it is written: 007 stays 007
        values = {
            i: column.read(column_cells, n)
            for (i, column), column_cells in zip(seen.items(), cells[: len(seen)], strict=True)
        }
        if held is None:  # a column that begins with words is none of numbers
            held = [i for i, column in seen.items() if not column.words.n]
        if held:
            growing.add(np.stack([values[i] for i in held], axis=1))
        n += batch.num_rows
        if progress is not None:
            progress(n, None)
    return held


# ---- what to tell --------------------------------------------------------------------------------


def told(
    names: Sequence[str],
    read: Sequence[TextColumn],
    on_disk: bool,
    header: bool,
    marks: Marks | None,
) -> Iterator[str]:
    """What was assumed while reading, one sentence each."""
    if marks is not None:
        yield marks.note()
    truths = [shown(column.name) for column in read if column.true_or_false]
    if truths:
        yield f"True and false were read as 1 and 0 in {first_of(truths)}."
    if on_disk:
        yield (
            "The table is large, so its numbers are read from a temporary copy on disk, which is "
            "deleted when the run ends."
        )
    if header and look_like_a_row(names):
        yield (
            "The column names look like a row of numbers; if the file has no line of names, use "
            "--no-header (header=False)."
        )


def look_like_a_row(names: Sequence[str]) -> bool:
    """Whether most names are numbers, in no order: wavelengths and times go up or down."""
    values = []
    for name in names:
        with suppress(ValueError):
            values.append(float(name))
    steps = np.sign(np.diff(values))
    return 2 * len(values) > len(names) and len(values) > 1 and not np.all(steps == steps[0])


def how_dressed(
    read: Sequence[TextColumn], all_read: Sequence[TextColumn], title: str
) -> Iterator[str]:
    """What numbers with signs and marks were taken for, one sentence each.

    An error if it cannot be told whether a comma stands between thousands or before decimals.
    `all_read` are columns of numbers that need not be used, but tell how numbers are written.
    """
    percents = [column for column in read if column.percents.n]
    if percents:
        yield (
            f"Percentages were divided by 100 in {_names(percents)}, such as {percents[0].percents}"
            "."
        )
    money = [column for column in read if column.money.n]
    if money:
        yield f"Currency signs were left out in {_names(money)}, such as {money[0].money}."
    doubtful = [column for column in read if column.doubtful]
    grouped = [column for column in read if column.grouped.n and not column.doubtful]
    if grouped:
        mark = CALLED[grouped[0].thousands or OTHER[grouped[0].decimal]].capitalize()
        first = grouped[0].sure if grouped[0].sure.n else grouped[0].grouped
        yield f"{mark} were read as thousands separators in {_names(grouped)}, such as {first}."
    if doubtful:
        yield _thousands_by_context(doubtful, all_read, title)


def _thousands_by_context(
    doubtful: Sequence[TextColumn], all_read: Sequence[TextColumn], title: str
) -> str:
    """Why 1,234 is 1234 in some columns, by how numbers are written elsewhere in the file."""
    first = doubtful[0].grouped
    digits = re.sub("[^0-9]", "", first.first)
    sure = [column for column in all_read if column.sure.n]
    points = [column for column in all_read if column.fractions]
    if sure:
        why = f"{sure[0].sure} of column {shown(sure[0].name)} can mean nothing else"
    elif points:
        why = f"numbers of column {shown(points[0].name)} have a decimal point"
    else:
        raise TableError(
            f"Column {shown(doubtful[0].name)} of {title} has numbers such as {first}, which could "
            f"be {digits} or {digits[:-3]}.{digits[-3:]}. Say which: --thousands ',' "
            "(thousands=',') or --decimal ',' (decimal=',')."
        )
    return (
        f"Commas were read as thousands separators in {_names(doubtful)}, such as {first}, "
        f"because {why}. If they are decimal commas, use --decimal ','."
    )


def _names(columns: Sequence[TextColumn]) -> str:
    return first_of(shown(column.name) for column in columns)
