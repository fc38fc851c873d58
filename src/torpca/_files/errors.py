"""The error of a table that cannot be read, and the words its sentences are made of."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from typing import Any

from torpca._words import NAMED, first_of

# A cell or a name of a file may be a page long; a sentence shows its beginning.
LONGEST = 40
# What another library says may be longer, and have parts of the file in it.
LONGEST_REASON = 160


class TableError(ValueError):
    """A file that holds no table of numbers; the message says why and what to try."""


def need(module: str, extra: str, what: str, package: str = "") -> Any:
    """Import an optional `module`, or say how to install it; `package` if it has another name."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = package or module.split(".")[0]
        raise TableError(
            f"{what} needs the {package} package, which is not installed: "
            f'pip install "torpca[{extra}]", or pip install {package}.'
        ) from error


def shown(text: str) -> str:
    """A cell or a name in quotes, shortened, with control characters made visible."""
    return repr(text if len(text) <= LONGEST else text[: LONGEST - 3] + "...")


def reason_of(error: BaseException) -> str:
    """What another library says is wrong: its first line, shortened, without a full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    text = lines[0].rstrip(". ")
    text = text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def similar(name: str, names: Sequence[str]) -> str:
    """Names that `name` may be a slip for, else the first there are; a sentence."""
    lower: dict[str, str] = {}
    for other in names:
        lower.setdefault(other.lower(), other)
    near = difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(shown(lower[other]) for other in near)}?"
    return f"There are {first_of((shown(other) for other in names[:NAMED]), len(names))}."
