"""The command `torpca onnx`: a model as a graph for other programs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from torpca._atomic import refuse_file
from torpca._cli.group import command
from torpca._cli.options import force


@command("onnx")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@force
@click.option("--json", "as_json", is_flag=True, help="Print the path as JSON.")
def onnx_command(model: Path, out: Path, force: bool, as_json: bool) -> None:
    """Write MODEL to OUT as an ONNX graph, which judges rows without torpca.

    MODEL is a folder written by torpca fit, or a model.npz file. The graph takes the columns of the
    model, in the order given in its metadata, and returns coordinates, distances and labels.

    \b
    Examples:
      torpca onnx torpca-spectra spectra.onnx
      torpca onnx torpca-spectra/model.npz spectra.onnx --force
    """
    from torpca._cli.data import keep_inputs
    from torpca._cli.results import Results
    from torpca._export.onnx import to_onnx
    from torpca._model_file import load_model

    file = Results.at(model).model
    if out.suffix.lower() != ".onnx":
        raise ValueError(f"{out} must end in .onnx.")
    keep_inputs([out], [file])
    refuse_file(out, force)
    to_onnx(load_model(file), out, force=force)
    click.echo(json.dumps({"onnx": str(out)}) if as_json else f"ONNX: {out}")
