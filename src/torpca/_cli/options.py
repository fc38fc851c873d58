"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from torpca._cli.data import listed
from torpca._cli.run import rank_of


def listed_values(
    context: click.Context, option: click.Parameter, typed: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Values that were typed, each by an option of its own or with commas between them."""
    values = tuple(value for text in typed for value in listed(text) or [""])
    if not all(values):
        raise click.BadParameter(
            f"{', '.join(map(repr, typed))} has an empty value; empty cells are missing anyway. "
            "Give values with commas between them, such as -999,9999."
        )
    return values or None


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how to read a table whose cells may be missing."""
    option = click.option(
        "--missing",
        type=click.Choice(["model", "drop-rows", "error"]),
        help="Rows that lack a number: judge them by the cells they have (model), leave them out, "
        "or end with an error; default: model.",
    )
    return reading_numbers(option(function))


def reading_complete(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same where all rows must be complete."""
    option = click.option(
        "--missing",
        type=click.Choice(["drop-rows", "error"]),
        help="Rows that lack a number: leave them out, or end with an error; default: error.",
    )
    return reading_numbers(option(function))


def reading_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how to read a table."""
    for option in (
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether a text file begins with a line of names; default: it does.",
        ),
        click.option("--decimal", help="What stands before decimals: . or ,; default: a point."),
        click.option("--delimiter", help="What separates the columns of a text file."),
        click.option(
            "--na-values",
            multiple=True,
            callback=listed_values,
            help="Values that mean missing, such as -999,9999, besides empty cells, NA and the "
            "like; separated by commas.",
        ),
        click.option("--exclude", help="Columns not to use, separated by commas."),
        click.option("--columns", help="Columns to use, separated by commas."),
        click.option("--id-column", help="Column with the labels of the rows."),
    ):
        function = option(function)
    return function


def typed_rank(context: click.Context, option: click.Parameter, text: str) -> int | float | str:
    """Number of components from what was typed."""
    try:
        return rank_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


rank_option = click.option(
    "-k",
    "rank",
    default="auto",
    show_default=True,
    callback=typed_rank,
    help="Components: a number, a share of the variance such as 0.9, or auto.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
force = click.option("--force", is_flag=True, help="Replace results that are there.")
