"""The commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from torpca import __version__
from torpca._answer import Answer
from torpca._atomic import refuse_file, refuse_folder
from torpca._cli.data import Data, keep_inputs, listed
from torpca._cli.demo import ABOUT, write_csv
from torpca._cli.errors import one_sentence
from torpca._cli.options import as_json, force, rank_option, reading, reading_complete
from torpca._cli.results import Results
from torpca._cli.run import REPORT, RESULTS, fit, write_all
from torpca._compare import compare
from torpca._estimators.robust import OutlierRobustPCA
from torpca._files import FileTable
from torpca._numbers import counted
from torpca._outputs import summary, summary_text, write_scores
from torpca._report import write_report

# Tables of more rows have their scores in Parquet, unless CSV is asked for.
LONG = 100_000
# Where the demo goes, which may be replaced, and the table it is about.
DEMO, SPECTRA = Path("torpca-demo"), "spectra.csv"

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
      torpca score torpca-measurements tomorrow.csv
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


def default_folder(data: str) -> Path:
    """Folder for the results, where we are: torpca- and the file's name."""
    stem = Path(Path(data).name.removesuffix(".gz")).stem.lstrip(".") if data != "-" else "stdin"
    return Path(f"torpca-{stem or 'results'}")


def tell(found: Answer, as_json: bool, **places: Path) -> None:
    """Print what was found, and last where it is."""
    if as_json:
        click.echo(json.dumps({**summary(found), **{k: str(path) for k, path in places.items()}}))
        return
    click.echo(summary_text(found))
    if "folder" in places:
        places["report"] = places.pop("folder") / REPORT
    for name, path in places.items():
        click.echo(f"\n{name.capitalize()}: {path}")


@command("fit")
@click.argument("data")
@rank_option
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results.")
@click.option("--scale", is_flag=True, help="Divide each column by a robust standard deviation.")
@click.option(
    "--scores",
    "table",
    type=click.Choice(["parquet", "csv"]),
    help="Format of scores and imputed cells; default: csv, and parquet for long tables.",
)
@click.option(
    "--impute",
    is_flag=True,
    help="Write the table with its missing cells filled, too: imputed.csv or imputed.parquet.",
)
@click.option("--cells", is_flag=True, help="Single cells may be bad as well as whole rows.")
@force
@as_json
@reading
def fit_command(
    data: str,
    rank: int | float | str,
    out: Path | None,
    scale: bool,
    table: str | None,
    impute: bool,
    cells: bool,
    force: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Find the bad rows of DATA and write scores, model, report and summary.

    DATA is a file: CSV or TSV (gzip too), Parquet, .npy, .npz or Zarr; "-" is CSV on standard
    input. Results go to the folder torpca-NAME.

    \b
    Examples:
      torpca fit spectra.csv --id-column sample
      torpca fit measurements.parquet -k 5 --out results --scores parquet
      torpca fit export.csv --delimiter ";" --decimal "," --na-values -999 --impute
      zcat big.csv.gz | torpca fit - --columns a,b,c --json
    """
    if impute and how["missing"] == "drop-rows":
        raise click.UsageError(
            "--impute fills missing cells, but --missing drop-rows leaves their rows out. Leave "
            "one of the two out."
        )
    folder = out or default_folder(data)
    refuse_folder(folder, force, RESULTS)
    keep_inputs([folder / name for name in RESULTS], [data])
    what = Data(data, **how)
    rows = what.read()
    found = fit(rows, rank, scale=scale, title=what.title, cells=cells)
    table = table or ("csv" if len(rows.ids) <= LONG else "parquet")
    write_all(found, folder, table=table, data=what, force=force, impute=impute)
    filled = {"imputed": folder / f"imputed.{table}"} if impute else {}
    tell(found.answer, as_json, folder=folder, **filled)


@command("score")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--out", type=click.Path(path_type=Path), help="Write the rows to .csv or .parquet.")
@force
@as_json
@reading
def score_command(
    model: Path, data: str, out: Path | None, force: bool, as_json: bool, **how: Any
) -> None:
    """Judge the rows of DATA by the limits of MODEL, as they were when it was fitted.

    MODEL is a folder that torpca fit wrote, or a model.npz. With the folder, DATA is read as the
    data of the fit was, unless options say otherwise.

    \b
    Examples:
      torpca score torpca-spectra tomorrow.csv
      torpca score torpca-spectra/model.npz tomorrow.csv --id-column sample --out judged.csv
    """
    results = Results.at(model)
    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"--out {out} must end in .csv or .parquet.")
        keep_inputs([out], [data, results.model])
        refuse_file(out, force)
    found = results.judge(Data(data, **how))
    if out is not None:
        write_scores(found, out, force=force)
    tell(found, as_json, **({} if out is None else {"scores": out}))


@command("report")
@click.argument("what", type=click.Path(path_type=Path))
@click.argument("data", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the report.")
@force
@click.option("--json", "as_json", is_flag=True, help="Print where it is as JSON.")
@reading
def report_command(
    what: Path, data: str | None, out: Path | None, force: bool, as_json: bool, **how: Any
) -> None:
    """Write the report of a model: WHAT is a folder that torpca fit wrote, or a model.npz.

    DATA are new rows to show; by default those the model was fitted to, if they are where they
    were.

    \b
    Examples:
      torpca report torpca-spectra --force
      torpca report torpca-spectra tomorrow.csv --out tomorrow.html
    """
    results = Results.at(what)
    path = out or results.model.parent / REPORT
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out {path} must end in .html.")
    then = "-" if results.data is None else results.data.path
    keep_inputs([path], [results.model, then if data is None else data])
    refuse_file(path, force)
    found = results.judge_again() if data is None else results.judge(Data(data, **how))
    write_report(found, path)
    click.echo(json.dumps({"report": str(path)}) if as_json else f"Report: {path}")


def complete(data: Data) -> FileTable:
    """The table, in which nothing is missing: most methods that are compared could not do it."""
    # Read as for a model, so that the error does not name an option that would not help here.
    allowed = data.missing == "drop-rows"
    rows = (data if allowed else replace(data, missing="model")).read()
    if not allowed and rows.missing is not None and rows.missing.cells:
        raise ValueError(
            f"{data.title} has {counted(rows.missing.cells, 'missing value')}, in "
            f"{counted(rows.missing.rows, 'row')}, and methods are compared on complete rows. "
            "Leave those rows out with --missing drop-rows, or columns with --exclude."
        )
    return rows


@command("compare")
@click.argument("data")
@rank_option
@click.option("--methods", help="Methods, separated by commas; default: a handful of fast ones.")
@click.option("--fraction", type=float, help="Share of bad rows, for methods that ask for it.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@reading_complete
def compare_command(
    data: str,
    rank: int | float | str,
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
    rows = complete(Data(data, **how))
    k = rank if isinstance(rank, int) else OutlierRobustPCA(rank).fit(rows.X).n_components_
    found = compare(rows.X, int(k), listed(methods), fraction=fraction)
    if as_json:
        click.echo(json.dumps({**found.to_dict(), "notes": list(rows.notes)}))
    else:
        click.echo("\n".join([str(found), *(["", *rows.notes] if rows.notes else [])]))


@command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=DEMO,
    show_default=True,
    help="Folder for the results.",
)
@click.option("--force", is_flag=True, help="Replace results in another folder.")
@as_json
def demo_command(out: Path, force: bool, as_json: bool) -> None:
    """Find the bad ones among 240 spectra, made for this purpose, and write a report.

    \b
    Examples:
      torpca demo
      torpca demo --out try
    """
    force = force or out == DEMO
    refuse_folder(out, force, (*RESULTS, SPECTRA))
    out.mkdir(parents=True, exist_ok=True)
    data = Data(str(write_csv(out / SPECTRA)), id_column="sample")
    found = fit(data.read(), "auto", scale=False, title="spectra.csv (demo)")
    write_all(found, out, table="csv", data=data, force=force)
    if not as_json:
        click.echo(ABOUT)
    tell(found.answer, as_json, folder=out)
