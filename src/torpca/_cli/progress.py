"""A bar with passes and rows, on long work and on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torpca._sources import RowSource, as_source
from torpca._sources.observed import Observed
from torpca._words import whole

# Fewer numbers, or a smaller file, are over before a bar is drawn.
LONG_WORK, LARGE_FILE = 20_000_000, 50_000_000

Draw = Callable[[str, int, int | None], None]
"""Called with what is being done, the number of rows done and that of all, if it is known."""


# Whether nobody wants to see bars although there is a terminal.
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def no_bars(quiet: bool) -> Iterator[None]:
    """Draw no bars meanwhile if `quiet`."""
    before = _quiet.set(quiet)
    try:
        yield
    finally:
        _quiet.reset(before)


def wanted() -> bool:
    """Whether someone is looking."""
    return sys.stderr.isatty() and not _quiet.get()


@contextmanager
def reading(path: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """What to call after each chunk of a file that is read; None if no bar is wanted."""
    size = os.path.getsize(path) if os.path.isfile(path) else LARGE_FILE  # a pipe may be long
    if size < LARGE_FILE or not wanted():
        yield None
        return
    with bar() as draw:
        yield lambda done, total: draw("reading", done, total)


@contextmanager
def watched(X: Any, what: str, names: tuple[str, ...] | None = None) -> Iterator[RowSource]:
    """Rows of X, with a bar for every pass over them if there are many and someone is looking.

    `names` are those of the features, by which warnings and errors call them.
    """
    source = as_source(X)
    if names is not None:
        source.feature_names = names
    n, d = source.shape
    if n * d < LONG_WORK or not wanted():
        yield source
        return
    with bar() as draw:
        yield Observed(source, lambda number, done: draw(f"{what}, pass {number}", done, n))


@contextmanager
def bar() -> Iterator[Draw]:
    """A bar on the terminal, gone when the work is done."""
    from rich.console import Console  # only where a bar is drawn
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]}"))
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as drawn:
        task = drawn.add_task("", total=None, rows="")

        def draw(what: str, done: int, total: int | None) -> None:
            done = done if total is None else min(done, total)
            of_all = "" if total is None else f" of {whole(total)}"
            drawn.update(
                task,
                description=what,
                completed=done,
                total=total,
                rows=f"{whole(done)}{of_all} rows",
            )

        yield draw
