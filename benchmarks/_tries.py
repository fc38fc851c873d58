"""Two fits of a table, compared, and counts of such comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._operations import OPERATIONS, SAME
from benchmarks._parting import STEPS, Fitted, moved, step
from benchmarks._tables import Table

# Share of the labels that may differ after an operation.
MANY = 0.02
COUNTS = ("tries", "differ", "beyond", "most", "warned", "said", "silent")
# Kinds of operations that are not made to change digits.
EXACT = ("table", "source")


@dataclass(frozen=True)
class Try:
    """Two fits of a table, compared."""

    family: str
    table: str
    size: str
    what: str
    """Kernel or operation."""
    kind: str
    """"kernel", or the kind of operation."""
    moved: float
    """Share of the labels that differ."""
    ranks: tuple[int, int]
    warned: bool
    said: bool
    step: str
    """Where they part, or "error" if one of them ended with one; empty if they are the same."""

    @property
    def differs(self) -> bool:
        return bool(self.step)

    @property
    def beyond(self) -> bool:
        return self.step == "error" or self.moved > MANY or self.ranks[0] != self.ranks[1]

    @property
    def counts(self) -> bool:
        """Whether it is a change: of a kernel's answers all are."""
        return self.differs if self.kind == "kernel" else self.beyond

    @property
    def silent(self) -> bool:
        return self.counts and not self.said

    @property
    def as_line(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "table": self.table,
            "n x d": self.size,
            "what": self.what,
            "labels": f"{self.moved:.1%}",
            "components": " to ".join(str(rank) for rank in dict.fromkeys(self.ranks)),
            "step": self.step,
            "warned": self.warned,
            "said": self.said,
        }


def compare(
    table: Table, what: str, ours: list[Fitted] | str, theirs: list[Fitted] | str
) -> Try | None:
    """Two fits of a table; None if neither came to an end."""
    operation = OPERATIONS.get(what)
    about = (table.family, table.name, table.size, what, operation.kind if operation else "kernel")
    if isinstance(ours, str) or isinstance(theirs, str):
        if isinstance(ours, str) and isinstance(theirs, str):
            print(f"{table.family}, {table.name}: no fit: {ours}")
            return None
        return Try(*about, moved=0.0, ranks=(0, 0), warned=False, said=False, step="error")
    count = max(len(ours), len(theirs))
    # Copies of a row are compared with the one row there is, or with their own copy.
    pairs = [(ours[c % len(ours)], theirs[c % len(theirs)]) for c in range(count)]
    share = float(np.mean([moved(a, b) for a, b in pairs]))
    worst = max(pairs, key=lambda pair: moved(*pair))
    a, b = worst
    part = ""
    if share > 0 or a.rank != b.rank:
        same, redrawn = (operation.same, operation.moves_rows) if operation else (SAME, False)
        part = step(a, b, same, redrawn=redrawn)
    return Try(
        *about,
        moved=share,
        ranks=(a.rank, b.rank),
        warned=bool(a.warned or b.warned),
        said=a.said or b.said,
        step=part,
    )


# ---- counts -------------------------------------------------------------------------------------


def line(tries: Sequence[Try]) -> dict[str, Any]:
    """Counts of some tries; of those that count, how many were said."""
    those = [t for t in tries if t.counts]
    return {
        "tries": len(tries),
        "differ": sum(t.differs for t in tries),
        "beyond": sum(t.beyond for t in tries),
        "most": f"{max((t.moved for t in tries), default=0.0):.1%}",
        "warned": sum(t.warned for t in those),
        "said": sum(t.said for t in those),
        "silent": sum(t.silent for t in those),
    }


def family_lines(some: Sequence[Table], tries: Sequence[Try]) -> list[dict[str, Any]]:
    """For each family: tables that change under any kernel, and operations that move one."""
    found = []
    for family in dict.fromkeys(table.family for table in some):
        those = [t for t in tries if t.family == family]
        by_kernel = [t for t in those if t.kind == "kernel"]
        others = [t for t in those if t.kind in EXACT]
        change, silent = changed_tables(by_kernel)
        found.append(
            {
                "family": family,
                "tables": sum(table.family == family for table in some),
                "change": change,
                "silently": silent,
                "by up to": f"{max((t.moved for t in by_kernel), default=0.0):.1%}",
                **{key: line(others)[key] for key in ("tries", "beyond", "silent", "most")},
            }
        )
    return found


def changed_tables(by_kernel: Iterable[Try]) -> tuple[int, int]:
    """Tables that change under any kernel, and those of them that do without a word."""
    tries = [t for t in by_kernel if t.counts]
    change = {(t.family, t.table) for t in tries}
    return len(change), len({(t.family, t.table) for t in tries if t.silent})


def detailed_lines(tries: Sequence[Try]) -> list[dict[str, Any]]:
    """For each family and each kernel or operation, those that move any label."""
    groups: dict[tuple[str, str], list[Try]] = {}
    for t in tries:
        groups.setdefault((t.family, t.what), []).append(t)
    lines = [
        {"family": family, "what": what, **line(those)} for (family, what), those in groups.items()
    ]
    return [found for found in lines if found["differ"]]


def step_lines(tries: Sequence[Try]) -> list[dict[str, Any]]:
    """For each kernel and operation: the steps at which those that count part."""
    found = []
    for what in dict.fromkeys(t.what for t in tries):
        steps = Counter(t.step for t in tries if t.what == what and t.counts)
        found.append({"what": what, **{name: steps[name] for name in (*STEPS, "error")}})
    total = {name: sum(entry[name] for entry in found) for name in (*STEPS, "error")}
    return [*found, {"what": "all", **total}]


def last_line(n_tables: int, n_kernels: int, tries: Sequence[Try]) -> str:
    change, silent = changed_tables(t for t in tries if t.kind == "kernel")
    exact = line([t for t in tries if t.kind in EXACT])
    digits = line([t for t in tries if t.kind == "digits"])
    return (
        f"{n_tables} tables, {n_kernels} kernels: {change} change, {silent} silently; "
        f"{exact['tries']} tries: {exact['beyond']} move more than 2 % of the labels, or the rank, "
        f"{exact['silent']} silently (rotation and float32: {digits['tries']} tries, "
        f"{digits['beyond']}, {digits['silent']} silently)"
    )
