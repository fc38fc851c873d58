"""Messages of the library in the words of the command line: options in place of parameters."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

SPEAKER = "OutlierRobustPCA: "
# Names of columns, files and sheets, which may be those of a parameter; not values of one.
QUOTED = re.compile(r"='[^']*'|(?<!\w)'[^']*'(?!\w)")
# What stands after the name of a parameter: a number, a word, or a text in quotes.
VALUE = r"=((?:'[^']*'|[\w.+-]*\w))"

# Each pattern with what is said instead, and the option it is about ("": none). The first that
# fits goes first, and what one has changed is seen by the next. In commands that do not have the
# option, "of torpca fit" is put behind it.
TRANSLATIONS: tuple[tuple[str, str, str], ...] = (
    # The table is the one that was named.
    (r"\bInput X contains NaN only: none", "The table has no numbers: none", ""),
    (r"\bInput X contains NaN only in", "The table has no numbers in", ""),
    (r"\bInput X contains", "The table contains", ""),
    (r"(?<!of )\bX has\b", "The table has", ""),
    (r"\bbut OutlierRobustPCA is expecting\b", "but the model needs", ""),
    (r"\brows of X\b", "rows", ""),
    (r"\bDivide X by\b", "Divide the numbers by", ""),
    (r" of X\b", " of the table", ""),
    # Sizes.
    (r" for X of shape \S+(?: \S+)? \(n_samples = (\d+), n_features = (\d+)\)",
     r" for \1 rows of \2 features", ""),
    (r"\bmin\(n_samples, n_features\) = (\d+)",
     r"\1, the smaller of the numbers of rows and features,", ""),
    (r" for X of (\d)", r" for \1", ""),
    (r"\bn_samples = (\d+)( rows?)?", r"\1\2", ""),
    # Options of a fit.
    (r"\bmissing_values=\[[^\]]*\] \((--na-values=[^)]*)\)", r"\1", "--na-values"),
    (r"\bn_components='auto'", "-k auto", "-k"),
    (rf"\bn_components{VALUE}", r"-k \1", "-k"),
    (r"\bn_components\b", "-k", "-k"),
    (rf"(?<!\w)rank{VALUE}", r"-k \1", "-k"),
    (r"\ba smaller rank\b", "fewer components", ""),
    (rf"\bmax_iter{VALUE}", r"--max-iter \1", "--max-iter"),
    (r"\bmax_iter\b", "--max-iter", "--max-iter"),
    (rf"\bcontamination{VALUE}", r"--contamination \1", "--contamination"),
    (rf"\blimit{VALUE}", r"--limit \1", "--limit"),
    (r"\bcells=True\b", "--cells", "--cells"),
    (r"\bleave scale=False\b", "leave --scale out", "--scale"),
    (r"\bscale=True\b", "--scale", "--scale"),
    (r"\bLeave (it|them) out, or name\b", r"Leave \1 out (--exclude), or name", ""),
    (r"\bname the rows by (it|one)\b", r"name the rows by \1 (--id-column)", ""),
    # What there is no option for.
    (r"\bLook at stability_", "Look at what the report says about other choices", ""),
    (r", or raise chunk_bytes\b", "", ""),
    # Options of a comparison.
    (r"\bmethods=(?:\[[^\]]*\]|'[^']*'|None): ", "--methods: ", "--methods"),
    (rf"\bfraction{VALUE}", r"--fraction \1", "--fraction"),
    # Options of reading, which messages give with the parameter behind them.
    (r" \((?:columns|decimal|encoding|exclude|force|header|missing|na_values|sheet|thousands"
     r"|time_column)\b[^()]*\)", "", ""),
    (rf"\bskip_rows{VALUE}", r"--skip-rows \1", "--skip-rows"),
)  # fmt: skip


def translated(text: str, command: click.Command | None = None) -> str:
    """A message of the library as `command`, by default the one that runs, would say it."""
    if command is None:
        context = click.get_current_context(silent=True)
        command = None if context is None else context.command
    there = {name for option in getattr(command, "params", ()) for name in option.opts}
    names: list[str] = []

    def hidden(match: re.Match[str]) -> str:
        if match[0].startswith("="):
            return match[0]
        names.append(match[0])
        return f"\0{len(names) - 1}\0"

    begins = text.startswith(SPEAKER)
    text = QUOTED.sub(hidden, text)
    text = text.removeprefix(SPEAKER)  # who speaks is clear
    for pattern, instead, option in TRANSLATIONS:
        elsewhere = bool(option and there and option not in there)
        text = re.sub(pattern, _elsewhere(instead, option) if elsewhere else instead, text)
    text = text[:1].upper() + text[1:] if begins else text
    return re.sub("\0([0-9]+)\0", lambda match: names[int(match[1])], text)


def _elsewhere(instead: str, option: str) -> Callable[[re.Match[str]], str]:
    """The same with the command that has the option."""
    return lambda match: match.expand(instead).replace(option, f"{option} of torpca fit", 1)
