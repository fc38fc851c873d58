"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from torpca._cli.typed import rank_of, split_names


def listed_values(
    context: click.Context, option: click.Parameter, typed: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Values that were typed, each by an option of its own or with commas between them."""
    values = tuple(value for text in typed for value in split_names(text) or [""])
    if not all(values):
        raise click.BadParameter(
            f"{', '.join(map(repr, typed))} has an empty value; empty cells are always missing. "
            "Separate values by commas, such as -999,9999."
        )
    return values or None


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how to read a table whose cells may be missing."""
    option = click.option(
        "--missing",
        type=click.Choice(["model", "drop-rows", "error"]),
        help="What to do with rows that have missing cells: judge them by the cells they have "
        "(model), leave them out (drop-rows), or stop with an error. Default: model.",
    )
    return reading_numbers(option(function))


def reading_complete(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same where all rows must be complete."""
    option = click.option(
        "--missing",
        type=click.Choice(["drop-rows", "error"]),
        help="What to do with rows that have missing cells: leave them out (drop-rows), or stop "
        "with an error. Default: error.",
    )
    return reading_numbers(option(function))


def reading_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how to read a table."""
    for option in (
        click.option(
            "--sheet", help="Sheet of an Excel file: its name, or its number, counted from 1."
        ),
        click.option(
            "--skip-rows",
            type=click.IntRange(min=0),
            help="Number of lines to skip before the column names.",
        ),
        click.option(
            "--encoding", help="Encoding of a text file, such as latin-1. Default: UTF-8."
        ),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether a text file begins with a line of column names. Default: --header.",
        ),
        click.option(
            "--thousands",
            help="Thousands separator, such as the comma in 12,032.1. Default: detected.",
        ),
        click.option("--decimal", help="Decimal mark: . (default) or ,"),
        click.option(
            "--delimiter",
            help="Character between the columns of a text file. Default: a comma; a tab for .tsv.",
        ),
        click.option(
            "--na-values",
            multiple=True,
            callback=listed_values,
            help="Values that mean missing, separated by commas, such as -999,9999. Empty cells, "
            "NA and the like always do.",
        ),
        click.option(
            "--time-column",
            help="Column that says when each row was measured: dates, times or numbers. It is not "
            "used as a feature. The scores include it.",
        ),
        click.option("--exclude", help="Columns to leave out, separated by commas."),
        click.option("--columns", help="Columns to use, separated by commas."),
        click.option("--id-column", help="Column with the names of the rows."),
    ):
        function = option(function)
    return function


def typed_rank(context: click.Context, option: click.Parameter, text: str) -> int | float | str:
    """Number of components from what was typed."""
    try:
        return rank_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def share_between(
    low: float, high: float, what: str, *, least: bool = False, most: bool = False
) -> Callable[..., float | None]:
    """Check of an option that is a share: more than `low`, or equal to it, and less than `high`."""

    def check(context: click.Context, option: click.Parameter, share: float | None) -> float | None:
        if share is None or low < share < high:
            return share
        if (least and share == low) or (most and share == high):
            return share
        raise click.BadParameter(f"{share:g} must be {what}.")

    return check


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """--quiet, which the function is told of, and no bars."""

    @wraps(function)
    def run(*args: Any, quiet: bool, **keywords: Any) -> Any:
        from torpca._cli.progress import no_bars

        with no_bars(quiet):
            return function(*args, quiet=quiet, **keywords)

    return click.option(
        "--quiet",
        is_flag=True,
        help="Print only errors and, with --json, JSON. Draw no progress bar.",
    )(run)


def copies(function: Callable[..., Any]) -> Callable[..., Any]:
    """--clean and --flags: the rows of the input, the good ones alone or all with labels."""
    path = click.Path(path_type=Path, dir_okay=False)
    for option in (
        click.option(
            "--flags",
            type=path,
            help="Write the input with three more columns (outlier, type and times_limit) to a "
            ".csv or .parquet file.",
        ),
        click.option(
            "--clean",
            type=path,
            help="Write the good rows of the input, with all its columns, to a .csv or .parquet "
            "file.",
        ),
    ):
        function = option(function)
    return function


rank_option = click.option(
    "-k",
    "--n-components",
    "rank",
    metavar="K",
    default="auto",
    show_default=True,
    callback=typed_rank,
    help="Number of components, a share of the variance to explain, such as 0.9, or auto.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
force = click.option("--force", is_flag=True, help="Replace existing results.")
