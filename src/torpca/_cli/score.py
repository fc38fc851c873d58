"""`torpca score`: rows that the model has not seen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from torpca._atomic import refuse_file
from torpca._cli.errors import ALARM
from torpca._cli.group import EXIT_CODES, command
from torpca._cli.options import as_json, copies, force, quiet, reading, share_between


@command("score", f"{EXIT_CODES.strip()[:-1]}, {ALARM} more rows flagged than --alarm allows.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--out", type=click.Path(path_type=Path), help="Write scores to .csv or .parquet.")
@copies
@click.option(
    "--alarm",
    type=float,
    metavar="SHARE",
    callback=share_between(0.0, 1.0, "at least 0 and less than 1, such as 0.05", least=True),
    help=f"Exit with code {ALARM} if more than this share of the rows, such as 0.05, is flagged. "
    "Results are written all the same.",
)
@force
@as_json
@quiet
@reading
def score_command(
    model: Path,
    data: str,
    out: Path | None,
    clean: Path | None,
    flags: Path | None,
    alarm: float | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Judge the rows of DATA by the limits of a fitted MODEL.

    MODEL is a folder written by torpca fit, or a model.npz file. With a folder, DATA is read with
    the options of the fit, unless you give others.

    \b
    Examples:
      torpca score torpca-spectra tomorrow.csv
      torpca score torpca-spectra tomorrow.csv --alarm 0.05 --quiet || echo "look at it"
      torpca score torpca-spectra/model.npz tomorrow.csv --id-column sample --out judged.csv
    """
    from torpca._cli.copies import Copies
    from torpca._cli.data import Data, keep_inputs
    from torpca._cli.results import Results
    from torpca._cli.tell import tell
    from torpca._outputs import summary, write_scores
    from torpca._words import percent

    results = Results.at(model)
    extra, what = Copies(clean, flags), Data(data, **how)
    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"--out {out} must end in .csv or .parquet.")
        keep_inputs([out], [data, results.model])
        refuse_file(out, force)
    extra.check(data, [results.model, *([] if out is None else [out])], force)
    found = results.judge(what)
    if out is not None:
        write_scores(found, out, force=force)
    extra.write(results.as_then(what), found.names, found, force)
    places = {**({} if out is None else {"scores": out}), **extra.places}
    tell(found, places, as_json=as_json, quiet=quiet)
    share = summary(found)["flagged"]["share"]
    if alarm is not None and share > alarm:
        click.echo(
            f"torpca: {percent(share)} of the rows are flagged, more than the {percent(alarm)} of "
            "--alarm.",
            err=True,
        )
        sys.exit(ALARM)
