"""`torpca demo`: all of it on a table made for the purpose."""

from __future__ import annotations

from pathlib import Path

import click

from torpca._atomic import refuse_folder
from torpca._cli.group import command
from torpca._cli.options import as_json, quiet

# Where the demo goes, which may be replaced, and the table it is about.
DEMO, SPECTRA = Path("torpca-demo"), "spectra.csv"


@command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=DEMO,
    show_default=True,
    help="Folder for the results.",
)
@click.option("--force", is_flag=True, help="Replace existing results in another folder.")
@as_json
@quiet
def demo_command(out: Path, force: bool, as_json: bool, quiet: bool) -> None:
    """Try torpca on 240 simulated spectra: find the bad ones and write a report.

    \b
    Examples:
      torpca demo
      torpca demo --out try
    """
    from torpca._cli.data import Data
    from torpca._cli.run import RESULTS, fit_table, write_all
    from torpca._cli.spectra import ABOUT, write_csv
    from torpca._cli.tell import tell

    force = force or out == DEMO
    refuse_folder(out, force, (*RESULTS, SPECTRA))
    out.mkdir(parents=True, exist_ok=True)
    data = Data(str(write_csv(out / SPECTRA)), id_column="sample")
    found = fit_table(data.read(), "auto", title="spectra.csv (demo)")
    write_all(found, out, table="csv", data=data, force=force)
    if not as_json and not quiet:
        click.echo(ABOUT)
    tell(found.answer, {"folder": out}, as_json=as_json, quiet=quiet)
