"""`torpca fit`: from a table to the rows that are bad, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from torpca._cli.group import command
from torpca._cli.options import (
    as_json,
    copies,
    force,
    quiet,
    rank_option,
    reading,
    share_between,
)
from torpca._words import whole

# Tables of more rows have their scores in Parquet, unless CSV is asked for.
LONG = 100_000


def default_folder(data: str) -> Path:
    """Folder for the results, where we are: torpca- and the file's name."""
    stem = Path(Path(data).name.removesuffix(".gz")).stem.lstrip(".") if data != "-" else "stdin"
    return Path(f"torpca-{stem or 'results'}")


@command("fit")
@click.argument("data")
@rank_option
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for the results. Default: torpca-NAME."
)
@copies
@click.option("--scale", is_flag=True, help="Divide each column by a robust standard deviation.")
@click.option("--cells", is_flag=True, help="Look for single bad cells as well as bad rows.")
@click.option(
    "--limit",
    type=float,
    callback=share_between(0.5, 1.0, "at least 0.5 and less than 1, such as 0.99", least=True),
    help="Share of Gaussian good rows that are within the limits. A higher share flags fewer rows. "
    "Default: 0.99.",
)
@click.option(
    "--contamination",
    type=float,
    callback=share_between(0.0, 0.5, "more than 0 and at most 0.5, such as 0.05", most=True),
    help="Flag this share of the rows, the farthest ones, instead of those beyond a limit.",
)
@click.option(
    "--max-iter",
    type=click.IntRange(min=1),
    help="Maximum number of iterations. Default: 100. Most fits need about 5.",
)
@click.option(
    "--impute",
    is_flag=True,
    help="Also write the table with its missing cells filled, as imputed.csv or imputed.parquet.",
)
@click.option(
    "--scores",
    "table",
    type=click.Choice(["parquet", "csv"]),
    help=f"Format of the scores and of the imputed table. Default: csv, or parquet for more than "
    f"{whole(LONG)} rows.",
)
@force
@as_json
@quiet
@reading
def fit_command(
    data: str,
    rank: int | float | str,
    out: Path | None,
    clean: Path | None,
    flags: Path | None,
    scale: bool,
    cells: bool,
    limit: float | None,
    contamination: float | None,
    max_iter: int | None,
    impute: bool,
    table: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Find the bad rows of DATA and write scores, model, report and summary.

    DATA is a file: CSV or TSV (gzip too), Excel (.xlsx), Parquet, .npy, .npz or Zarr. With "-",
    CSV is read from standard input. Results go to the folder torpca-NAME. Existing results are
    replaced if they come from the same data and options, otherwise only with --force.

    \b
    Examples:
      torpca fit spectra.csv --id-column sample
      torpca fit measurements.parquet -k 5 --out results --scores parquet
      torpca fit export.csv --delimiter ";" --decimal "," --na-values -999 --impute
      torpca fit plant.xlsx --sheet 2 --time-column date --clean good.csv --flags all.csv
      zcat big.csv.gz | torpca fit - --columns a,b,c --json
    """
    from torpca._cli.copies import Copies
    from torpca._cli.data import Data, keep_inputs
    from torpca._cli.run import RESULTS, fit_table, write_all
    from torpca._cli.same import made_from, may_replace
    from torpca._cli.tell import tell

    if impute and how["missing"] == "drop-rows":
        raise click.UsageError(
            "--impute fills missing cells, but --missing drop-rows leaves their rows out. Use only "
            "one of the two."
        )
    if limit is not None and contamination is not None:
        raise click.UsageError(
            "--contamination says how many rows are flagged, whatever the --limit. Use only one of "
            "the two."
        )
    extra, what = Copies(clean, flags), Data(data, **how)
    what.check()
    folder = out or default_folder(data)
    results = [folder / name for name in RESULTS]
    keep_inputs(results, [data])
    extra.check(data, results, force)
    parameters = {
        "scale": scale,
        "cells": cells or None,
        "limit": limit,
        "contamination": contamination,
        "max_iter": max_iter,
    }
    typed = {f"--{name.replace('_', '-')}": value for name, value in parameters.items()}
    made = made_from(what, {"-k": rank, **typed, "--scores": table, "--impute": impute})
    replace = may_replace(folder, force, made)
    rows = what.read()
    found = fit_table(rows, rank, title=what.title, **parameters)
    table = table or ("csv" if len(rows.ids) <= LONG else "parquet")
    write_all(found, folder, table=table, data=what, force=replace, impute=impute, made_from=made)
    extra.write(what, rows.names, found.answer, force)
    filled = {"imputed": folder / f"imputed.{table}"} if impute else {}
    places = {**extra.places, **filled, "folder": folder}
    tell(found.answer, places, as_json=as_json, quiet=quiet)
