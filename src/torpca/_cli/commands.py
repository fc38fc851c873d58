"""The commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from torpca import __version__
from torpca._atomic import refuse_file, refuse_folder
from torpca._cli.demo import write_csv
from torpca._cli.errors import one_sentence
from torpca._cli.run import (
    REPORT,
    RESULTS,
    Data,
    fit,
    judged,
    judged_again,
    rank_of,
    write_all,
)
from torpca._compare import compare
from torpca._estimators.robust import OutlierRobustPCA
from torpca._outputs import summary, summary_text, write_scores
from torpca._report import write_report

# Tables of more rows have their scores in Parquet, unless CSV is asked for.
LONG = 100_000

EXIT_CODES = """
Exit codes: 0 done, 1 something is wrong with the data or a file (one sentence says what), 2 wrong
usage.
"""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(__version__, prog_name="torpca")
def torpca() -> None:
    """Which rows of a table are bad, why, and what the data looks like without them.

    \b
    Examples:
      torpca demo
      torpca fit measurements.csv --id-column sample
      torpca score torpca-measurements/model.npz tomorrow.csv
    """


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, with --debug and errors of one sentence."""

    def make(function: Callable[..., Any]) -> click.Command:
        @wraps(function)
        def run(*args: Any, debug: bool, **keywords: Any) -> Any:
            with one_sentence(debug):
                return function(*args, **keywords)

        option = click.option("--debug", is_flag=True, help="Show the traceback of an error.")
        return torpca.command(name, epilog=EXIT_CODES)(option(run))

    return make


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how to read a table."""
    for option in (
        click.option("--delimiter", help="What separates the columns of a text file."),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop-rows"]),
            default="error",
            show_default=True,
            help="What to do with rows that lack a number.",
        ),
        click.option("--columns", help="Columns to use, separated by commas."),
        click.option("--id-column", help="Column with the labels of the rows."),
    ):
        function = option(function)
    return function


rank_option = click.option(
    "-k",
    "rank",
    default="auto",
    show_default=True,
    help="Components: a number, a share of the variance such as 0.9, or auto.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")


def default_folder(data: str) -> Path:
    """Folder for the results, beside where one is: torpca- and the file's name."""
    stem = "stdin" if data == "-" else Path(data).name.split(".")[0]
    return Path(f"torpca-{stem}")


@command("fit")
@click.argument("data")
@rank_option
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results.")
@click.option("--scale", is_flag=True, help="Divide each column by a robust standard deviation.")
@click.option(
    "--scores",
    "table",
    type=click.Choice(["parquet", "csv"]),
    help="Format of the table of scores; default: csv, and parquet for long tables.",
)
@click.option("--force", is_flag=True, help="Replace results that are there.")
@as_json
@reading
def fit_command(
    data: str,
    rank: str,
    out: Path | None,
    scale: bool,
    table: str | None,
    force: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Find the bad rows of DATA and write scores, model, report and summary.

    DATA is a file: CSV or TSV (gzip too), Parquet, .npy, .npz or Zarr; "-" is CSV on standard
    input.

    \b
    Examples:
      torpca fit spectra.csv --id-column sample
      torpca fit measurements.parquet -k 5 --out results --scores parquet
      zcat big.csv.gz | torpca fit - --columns a,b,c --json
    """
    folder = out or default_folder(data)
    refuse_folder(folder, force, RESULTS)
    what = Data(data, **how)
    rows = what.read()
    found = fit(rows, rank_of(rank), scale=scale, title=what.title)
    table = table or ("csv" if len(rows.ids) <= LONG else "parquet")
    write_all(found, folder, table=table, data=what, force=force)
    if as_json:
        click.echo(json.dumps({**summary(found.answer), "folder": str(folder)}))
    else:
        click.echo(summary_text(found.answer))
        click.echo(f"\nReport: {folder / REPORT}")


@command("score")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--out", type=click.Path(path_type=Path), help="Write the rows to .csv or .parquet.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@as_json
@reading
def score_command(
    model: Path, data: str, out: Path | None, force: bool, as_json: bool, **how: Any
) -> None:
    """Judge the rows of DATA by the limits of MODEL, as they were when it was fitted.

    MODEL is a model.npz, or the folder with one.

    \b
    Examples:
      torpca score torpca-spectra/model.npz tomorrow.csv
      torpca score torpca-spectra tomorrow.csv --out judged.csv
    """
    if out is not None:
        refuse_file(out, force)
    told = judged(model, Data(data, **how))
    if out is not None:
        write_scores(told, out, force=force)
    click.echo(json.dumps(summary(told)) if as_json else summary_text(told))


@command("report")
@click.argument("what", type=click.Path(path_type=Path))
@click.argument("data", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the report.")
@click.option("--force", is_flag=True, help="Replace a report that is there.")
@reading
def report_command(what: Path, data: str | None, out: Path | None, force: bool, **how: Any) -> None:
    """Write the report of a model: WHAT is a model.npz, or the folder with one.

    DATA are the rows to show, by default those the model was fitted to, if they are where they
    were.

    \b
    Examples:
      torpca report torpca-spectra --force
      torpca report torpca-spectra/model.npz tomorrow.csv --out tomorrow.html
    """
    folder = what if what.is_dir() else what.parent
    path = out or folder / REPORT
    refuse_file(path, force)
    told = judged_again(folder, what) if data is None else judged(what, Data(data, **how))
    write_report(told, path)
    click.echo(f"Report: {path}")


@command("compare")
@click.argument("data")
@rank_option
@click.option("--methods", help="Methods, separated by commas; default: a handful of fast ones.")
@click.option("--fraction", type=float, help="Share of bad rows, for methods that ask for it.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@reading
def compare_command(
    data: str,
    rank: str,
    methods: str | None,
    fraction: float | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Run several methods on DATA and show how they agree.

    All of them look for the same number of components. If none is given, OutlierRobustPCA says it.

    \b
    Examples:
      torpca compare spectra.csv
      torpca compare spectra.csv -k 3 --methods OutlierRobustPCA,robpca,ransac --fraction 0.2
    """
    rows = Data(data, **how).read()
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    k = rank_of(rank)
    if not isinstance(k, int):
        k = int(OutlierRobustPCA(k).fit(rows.X).n_components_)
    found = compare(rows.X, k, names, fraction=fraction)
    click.echo(json.dumps(found.to_dict()) if as_json else str(found))


@command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("torpca-demo"),
    show_default=True,
    help="Folder for the results.",
)
@click.option("--force/--no-force", default=True, show_default=True, help="Replace it if there.")
def demo_command(out: Path, force: bool) -> None:
    """Find the bad ones among 240 spectra, made for this purpose, and write a report.

    \b
    Examples:
      torpca demo
      torpca demo --out try
    """
    refuse_folder(out, force, RESULTS)
    out.mkdir(parents=True, exist_ok=True)
    data = Data(str(write_csv(out / "spectra.csv")), id_column="sample")
    found = fit(data.read(), "auto", scale=False, title="spectra.csv (demo)")
    write_all(found, out, table="csv", data=data, force=force)
    click.echo(
        "240 spectra of mixtures of three substances, 13 of them not what they should be: six\n"
        "hold a fourth substance, four a sloping baseline, three went through a leaking cuvette.\n"
    )
    click.echo(summary_text(found.answer))
    click.echo(f"\nReport: {out / REPORT}")
