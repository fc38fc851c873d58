"""The group of commands, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from torpca import __version__
from torpca._cli.errors import errors_as_sentences

EXIT_CODES = """
Exit codes: 0 success, 1 a problem with the data or a file (the message says what), 2 wrong usage.
"""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(__version__, prog_name="torpca")
def torpca() -> None:
    """Find the bad rows of a table, say why they are bad, and describe the data without them.

    \b
    Examples:
      torpca demo
      torpca fit measurements.csv --id-column sample
      torpca score torpca-measurements tomorrow.csv
    """


def command(name: str, codes: str = EXIT_CODES) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, with --debug and errors of one sentence."""

    def make(function: Callable[..., Any]) -> click.Command:
        @wraps(function)
        def run(*args: Any, debug: bool, **keywords: Any) -> Any:
            with errors_as_sentences(debug):
                return function(*args, **keywords)

        made: click.Command = torpca.command(name, epilog=codes)(run)
        debug = click.Option(["--debug"], is_flag=True, help="Show where an error came from.")
        made.params.append(debug)  # the last one, which hardly anybody needs
        return made

    return make
