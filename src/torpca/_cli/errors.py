"""Every error is one sentence and a hint."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import click

from torpca._cli.words import translated

# Wrong data or files; wrong usage is 2, as click has it; an interrupt is what shells expect.
FAILED, INTERRUPTED = 1, 130
# All went well, but there is something to look at: more rows are flagged than somebody allowed.
ALARM = 3
# Errors with a sentence of their own; all others may be faults of ours.
EXPECTED = (ValueError, OSError, MemoryError, ImportError)


@contextmanager
def errors_as_sentences(debug: bool) -> Iterator[None]:
    """Print what went wrong without a traceback, unless `debug`, and leave with code 1."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(FAILED)
    except KeyboardInterrupt:
        click.echo("torpca: interrupted. Nothing was written or replaced.", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if debug:
            traceback.print_exc()
        click.echo(f"torpca: {sentence(error)}", err=True)
        if not debug and not isinstance(error, EXPECTED):
            click.echo("Run again with --debug to see where it happened.", err=True)
        sys.exit(FAILED)


def sentence(error: Exception) -> str:
    """What an error says, on one line, with the name of the file if it is about one."""
    if isinstance(error, MemoryError):
        return "There is not enough memory for this table. Try fewer --columns, or a .npy file."
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{error.filename}: "
        return f"{name}{error.strerror}. Check the path and your permissions."
    text = translated(" ".join(str(error).split()))
    return text or f"{type(error).__name__}. This is a bug in torpca; please report it."
