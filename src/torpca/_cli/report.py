"""`torpca report`: the report again, or that of other rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from torpca._atomic import refuse_file
from torpca._cli.group import command
from torpca._cli.options import force, quiet, reading


@command("report")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="File for the report.")
@force
@click.option("--json", "as_json", is_flag=True, help="Print the path as JSON.")
@quiet
@reading
def report_command(
    model: Path,
    data: str | None,
    out: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Write a report on MODEL and its rows, or on the new rows in DATA.

    MODEL is a folder written by torpca fit, or a model.npz file. Without DATA, the file that the
    model was fitted to must still be where it was.

    \b
    Examples:
      torpca report torpca-spectra --force
      torpca report torpca-spectra tomorrow.csv --out tomorrow.html
    """
    from torpca._cli.data import Data, keep_inputs
    from torpca._cli.results import Results
    from torpca._cli.run import REPORT
    from torpca._report import write_report

    results = Results.at(model)
    path = out or results.model.parent / REPORT
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out {path} must end in .html.")
    then = "-" if results.data is None else results.data.path
    keep_inputs([path], [results.model, then if data is None else data])
    refuse_file(path, force)
    found = results.judge_again() if data is None else results.judge(Data(data, **how))
    write_report(found, path)
    if as_json or not quiet:
        click.echo(json.dumps({"report": str(path)}) if as_json else f"Report: {path}")
