"""`torpca compare`: several methods on the same rows."""

from __future__ import annotations

import json
from typing import Any

import click

from torpca._cli.group import command
from torpca._cli.options import rank_option, reading_complete
from torpca._cli.typed import split_names


@command("compare")
@click.argument("data")
@rank_option
@click.option("--methods", help="Methods, separated by commas. Default: a few fast ones.")
@click.option("--fraction", type=float, help="Share of bad rows, for methods that need it.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@reading_complete
def compare_command(
    data: str,
    rank: int | float | str,
    methods: str | None,
    fraction: float | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Run several methods on DATA, and show how far they agree and on which rows they do not.

    All methods use the same number of components. Unless -k is a number, OutlierRobustPCA chooses
    it.

    \b
    Examples:
      torpca compare spectra.csv
      torpca compare spectra.csv -k 3 --methods OutlierRobustPCA,robpca,ransac --fraction 0.2
    """
    from torpca._cli.data import Data
    from torpca._cli.disputes import (
        complete,
        components_of,
        dispute_lines,
        disputes_for_json,
        in_words,
    )
    from torpca._compare import compare
    from torpca._sources import as_source

    rows = complete(Data(data, **how))
    X = as_source(rows.X)
    X.feature_names = rows.names  # by which warnings call them
    k = rank if isinstance(rank, int) else components_of(X, rank)
    found = in_words(compare(X, k, split_names(methods), fraction=fraction))
    if as_json:
        disputes = {"disagreements": disputes_for_json(found.table, rows)}
        click.echo(json.dumps({**found.to_dict(), **disputes, "notes": list(rows.notes)}))
    else:
        lines = [str(found), "", *dispute_lines(found.table, rows)]
        click.echo("\n".join([*lines, *(["", *rows.notes] if rows.notes else [])]))
