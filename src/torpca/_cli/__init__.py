"""The command line: `torpca`."""

import signal
import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        from torpca._cli.app import torpca  # needs click
    except ImportError as error:
        sys.exit(f'torpca: the command line needs {error.name}: pip install "torpca[cli]"')
    # A polite end, so that nothing half-written stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for stream in (sys.stdout, sys.stderr):  # a name that a terminal cannot show is no failure
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    torpca()
