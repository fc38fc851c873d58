"""What a command prints when it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from torpca._answer import Answer
from torpca._cli.run import REPORT
from torpca._outputs import summary, summary_text


def tell(found: Answer, places: Mapping[str, Path], *, as_json: bool, quiet: bool = False) -> None:
    """Print what was found, and last where it is: `places` by what is there."""
    if as_json:
        click.echo(json.dumps({**summary(found), **{k: str(path) for k, path in places.items()}}))
        return
    if quiet:
        return
    click.echo(summary_text(found))
    for name, path in places.items():
        if name == "folder":
            name, path = "report", path / REPORT
        click.echo(f"\n{name.capitalize()}: {path}")
