"""A bar with passes and rows, on long work and on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torpca._sources import RowSource, as_source
from torpca._sources.observed import Observed

# Fewer numbers are over before a bar is drawn.
LONG_WORK = 20_000_000


@contextmanager
def with_progress(X: Any, what: str) -> Iterator[RowSource]:
    """Rows of X, with a bar for every pass over them if there are many and someone is looking."""
    source = as_source(X)
    n, d = source.shape
    if n * d < LONG_WORK or not sys.stderr.isatty():
        yield source
        return
    from rich.console import Console  # noqa: PLC0415 (only where a bar is drawn)
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]}"))
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=n, rows="")

        def tell(number: int, done: int) -> None:
            bar.update(
                task,
                completed=min(done, n),
                description=f"{what}, pass {number}",
                rows=f"{min(done, n):,} of {n:,} rows",
            )

        yield Observed(source, tell)
