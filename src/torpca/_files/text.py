"""The lines of text files: CSV and TSV, gzip too, and standard input."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from torpca._files.errors import TableError, need, reason_of, shown
from torpca._files.lines import Lines, TextOptions
from torpca._files.opened import Rejoined, can_be_read_again, encoding_of, opened
from torpca._names import feature_names
from torpca._words import counted

SUFFIXES = (".csv", ".tsv", ".tab", ".txt")
DELIMITERS = {",": ("commas", "','"), ";": ("semicolons", "';'"), "\t": ("tabs", "'\\t'")}
# A tab is hard to type in a shell.
TABS = {"\\t": "\t", "tab": "\t"}
# A block holds at least so many times the bytes of the names: a row may be longer than they are.
HEADERS_PER_BLOCK = 16
# What Arrow says of a row with too few or too many cells.
RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
# A record of names takes no more lines than this, and a line no more bytes.
MOST_LINES, LONGEST_LINE = 1000, 2**28


@contextmanager
def text_lines(path: str | Path, options: TextOptions, chunk_bytes: int) -> Iterator[Lines]:
    """The cells of a text file."""
    title = "standard input" if path == "-" else str(path)
    delimiter = delimiter_of(path, options.delimiter)
    check_decimal(options.decimal, delimiter)
    encoding = encoding_of(options.encoding)
    try:
        with opened(path, title, encoding) as file:
            skip(file, options.skip_rows)
            first = first_record(file, title, delimiter)
            names, rest = first.names, file
            if not options.header:
                names = list(feature_names(len(names)))
                rest = io.BufferedReader(Rejoined(first.raw, file))

            def batches(read: Sequence[int]) -> Iterator[Any]:
                return parsed(
                    rest,
                    len(names),
                    read,
                    path=path,
                    title=title,
                    delimiter=delimiter,
                    block=max(chunk_bytes, HEADERS_PER_BLOCK * len(first.raw)),
                    skipped=options.skip_rows,
                    encoding=encoding,
                )

            yield Lines(title, names, batches, delimiter)
    except UnicodeError as error:
        raise not_in(encoding or "UTF-8", title) from error


def skip(file: IO[bytes], n: int) -> None:
    """Read over the first `n` lines."""
    for _ in range(n):
        if not file.readline(LONGEST_LINE):
            return


def delimiter_of(path: str | Path, delimiter: str | None) -> str:
    """The character between cells: the one asked for, else what the ending says."""
    if delimiter is None:
        name = str(path).lower().removesuffix(".gz")
        return "\t" if name.endswith((".tsv", ".tab")) else ","
    delimiter = TABS.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():
        raise TableError(
            f"The delimiter {delimiter!r} is not allowed; give one character, such as ',', ';' or "
            "'\\t' for a tab."
        )
    return delimiter


def check_decimal(decimal: str, delimiter: str) -> None:
    """Raise an error if the mark before decimals is also between cells."""
    if decimal == delimiter:
        raise TableError(
            f"The decimal mark and the delimiter cannot both be {decimal!r}. Such files usually "
            "have semicolons between cells: use --delimiter ';'."
        )


# ---- the first record ----------------------------------------------------------------------------


@dataclass(frozen=True)
class FirstRecord:
    """Cells of the first line that is not blank, and all bytes up to its end."""

    names: list[str]
    raw: bytes


def first_record(file: IO[bytes], title: str, delimiter: str) -> FirstRecord:
    """The first record, which may take several lines: a name in quotes may hold a line break."""
    raw: list[bytes] = []

    def lines() -> Iterator[str]:
        while len(raw) < MOST_LINES and (line := file.readline(LONGEST_LINE)):
            raw.append(line.removeprefix(codecs.BOM_UTF8) if not raw else line)
            yield raw[-1].decode("utf-8")

    record: list[str] = []
    try:
        for record in csv.reader(lines(), delimiter=delimiter):
            if any(cell.strip() for cell in record):
                break
    except csv.Error as error:
        if b"\r" in raw[-1].rstrip(b"\r\n"):
            raise TableError(
                f"{title} has the line endings of very old Macs. Save it with modern line endings."
            ) from error
        raise TableError(
            f"The first line of {title} could not be read as names of columns: {error}. Put a line "
            "of names first."
        ) from error
    if len(raw) == MOST_LINES:
        raise TableError(
            f"A quote that opens in the first line of {title} is not closed in the next "
            f"{MOST_LINES} lines. Close it, or take it out."
        )
    names = [name.strip() for name in record]
    if not any(names):
        raise TableError(f"{title} is empty. Give a file with a line of names and rows under it.")
    if len(names) == 1:
        others = [
            words
            for mark, words in DELIMITERS.items()
            if mark.encode() in raw[-1] and mark != delimiter
        ]
        hint = (
            f"If its columns are separated by {others[0][0]}, use --delimiter {others[0][1]}, and "
            "--decimal ',' if it has decimal commas."
            if others
            else "At least two columns of numbers are needed, separated by commas or, with "
            "--delimiter, by another character. If other lines stand above the names, skip them "
            "with --skip-rows."
        )
        raise TableError(f"{title} has only one column, {shown(names[0])}. {hint}")
    return FirstRecord(names, b"".join(raw))


def not_in(encoding: str, title: str) -> TableError:
    """The error of text in another encoding than this, or of no text."""
    return TableError(
        f"{title} is not {encoding} text. If it is a table in another encoding, name it with "
        "--encoding (encoding=...), such as latin-1, cp1252 or utf-16; if it is not a CSV "
        "or TSV file, rename it with the right ending."
    )


# ---- the rows ------------------------------------------------------------------------------------


def parsed(
    file: IO[bytes],
    n_columns: int,
    read: Sequence[int],
    *,
    path: str | Path,
    title: str,
    delimiter: str,
    block: int,
    skipped: int,
    encoding: str | None,
) -> Iterator[Any]:
    """Yield Arrow record batches of text, with columns named by their numbers."""
    pa, arrow_csv = (need(m, "cli", "Reading CSV files") for m in ("pyarrow", "pyarrow.csv"))
    names = [str(i) for i in range(n_columns)]
    try:
        yield from arrow_csv.open_csv(
            file,
            read_options=arrow_csv.ReadOptions(
                column_names=names,
                block_size=block,
                use_threads=False,  # else rows are not counted, which no error could name then
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=[str(i) for i in read],
                # All as text. With a type, given or guessed, decimal_point, null_values and
                # true_values would do, but Arrow ends at the first cell of another kind (12%, $5,
                # 1,234, a word), where all are counted here, and a pipe cannot be read again. For
                # text there is only null_values: it misses marks with spaces around them, and
                # takes the name NA from a row.
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        # Arrow's own way to tell of such a row fails on text that is not UTF-8.
        if ragged := RAGGED.search(str(error)):
            raise ragged_row(path, title, delimiter, ragged, skipped, encoding) from error
        if "Empty CSV" in str(error):
            return  # no rows under the names
        if "UTF8" in str(error):
            raise not_in("UTF-8", title) from error
        if "straddl" in str(error):
            raise TableError(
                f"{title} has a row longer than {counted(block, 'byte')}, the most that is read at "
                "a time; a quote that is not closed has the same effect. Correct the file, or "
                "raise chunk_bytes."
            ) from error
        raise TableError(
            f"{title} could not be read as a table: {reason_of(error)}. Correct the file, or copy "
            "it again."
        ) from error


def ragged_row(
    path: str | Path,
    title: str,
    delimiter: str,
    ragged: re.Match[str],
    skipped: int,
    encoding: str | None,
) -> TableError:
    """The error of a row with too few or too many cells."""
    row, expected, found = (int(number) for number in ragged.group(1, 2, 3))
    line = None
    if can_be_read_again(path):
        line = ragged_line(path, title, delimiter, expected, skipped, encoding)
    # Arrow counts rows, not lines: a line may be blank, and a cell in quotes may hold several.
    where = f"Row {row}" if line is None else f"Line {line}"
    return TableError(
        f"{where} of {title} has {counted(found, 'cell')}, but there are {expected} in the first "
        f"line: {shown(ragged[4])}. Give every row as many cells, and put cells that hold the "
        "delimiter in quotes."
    )


def ragged_line(
    path: str | Path,
    title: str,
    delimiter: str,
    expected: int,
    skipped: int,
    encoding: str | None,
) -> int | None:
    """Number of the first line, from 1, with another number of cells than `expected`."""
    with (
        opened(path, title, encoding) as file,
        io.TextIOWrapper(file, "utf-8", newline="") as lines,
        suppress(csv.Error, UnicodeDecodeError),
    ):
        for _ in range(skipped):
            lines.readline()
        reader = csv.reader(lines, delimiter=delimiter)
        before = 0
        for record in reader:
            if record and len(record) != expected:
                return skipped + before + 1
            before = reader.line_num
    return None
