"""What each part of the robust fit, and each of its numbers, is worth.

Run from the repository root:

    python -m benchmarks.ablation                  # all changes, half an hour on two cores
    python -m benchmarks.ablation --quick          # on a tenth of the tables
    python -m benchmarks.ablation leverage ": off" # changes whose name contains one of these

One thing is changed at a time (`benchmarks/_changes.py`) and all tables of `benchmarks/_cases.py`
are fitted again. Numbers are halved and doubled; those that are a factor above 1 ("gap",
"next_variance", "closer", "tilt") or a share below it ("taper") in their distance from
1, and majorities ("majority", "inside") in their distance from a half.

"lost" counts planted cells whose ratio to the oracle, the median of two seeds, is at most 1.1 as it
is and above with the change, "gained" those the other way round, on the same tables. "real lost"
and "real gained" count real sets, raw and standardised, in which the larger ROC-AUC of the two
distances changes by more than 0.01. "raised" counts fits that ended with an error. "time" is the
processor time of all fits beside that of the same fits as they are. The names of the cells, and all
figures, are in the JSON.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._cases import PLANTED, REAL, Fit, planted_fits, real_fits, real_sets
from benchmarks._changes import CHANGES
from benchmarks._report import report
from benchmarks.recovery import DATA

Line = dict[str, Any]

NEAR_ORACLE, SAME_AUC = 1.1, 0.01
PROCESSES = 2
QUICK = 10
COLUMNS = ("change", "value", "lost", "gained", "real lost", "real gained", "raised", "time")
CELLS = {cell.name: cell for cell in PLANTED}


class Figure(NamedTuple):
    """What came of the fits of one case: a ratio to the oracle or an AUC, and their time."""

    value: float
    seconds: float
    raised: int


def figure(fits: Sequence[Fit], failed: float) -> Figure:
    """Run the fits of a case: the median of what they return, `failed` where they raise."""
    values, raised, before = [], 0, time.process_time()
    for fit in fits:
        try:
            values.append(fit())
        except Exception:  # whatever a change breaks is counted
            values.append(failed)
            raised += 1
    return Figure(float(np.median(values)), time.process_time() - before, raised)


def measure(case: str, names: Sequence[str]) -> dict[str, Figure]:
    """Figures of one case, as it is ("") and with each change."""
    fits = planted_fits(CELLS[case]) if case in CELLS else real_fits(case)
    run = partial(figure, fits, np.inf if case in CELLS else 0.0)
    with threadpool_limits(1):
        run()  # tables that are made once, and memory
        first = run()
        found = {}
        for name in names:
            with CHANGES[name].made():
                found[name] = run()
        # At the beginning and at the end, as processors slow down.
        last = run()
    found[""] = first._replace(seconds=0.5 * (first.seconds + last.seconds))
    return found


def lost_or_gained(case: str, before: float, after: float) -> str:
    """What a change does to a case: "lost", "gained", or "" if neither."""
    if case in CELLS:
        held, holds = before <= NEAR_ORACLE, after <= NEAR_ORACLE
        return "" if held == holds else "gained" if holds else "lost"
    if abs(after - before) <= SAME_AUC:
        return ""
    return "gained" if after > before else "lost"


def line(name: str, figures: dict[str, dict[str, Figure]]) -> Line:
    """One line of the table, given the figures of all cases."""
    change = CHANGES[name]
    verdicts = {c: lost_or_gained(c, f[""].value, f[name].value) for c, f in figures.items()}

    def named(verdict: str, *, real: bool) -> list[str]:
        return [c for c, v in verdicts.items() if v == verdict and (c in REAL) == real]

    found = {
        "lost": named("lost", real=False),
        "gained": named("gained", real=False),
        "real lost": named("lost", real=True),
        "real gained": named("gained", real=True),
    }
    seconds = [sum(f[n].seconds for f in figures.values()) for n in (name, "")]
    return {
        "change": change.what,
        "value": change.value,
        **{verdict: len(cases) for verdict, cases in found.items()},
        "raised": sum(f[name].raised for f in figures.values()),
        "time": round(seconds[0] / seconds[1], 2),
        "cases": found,
        "figures": {c: [f[""].value, f[name].value] for c, f in figures.items()},
    }


def lines(cases: Sequence[str], names: Sequence[str], processes: int = PROCESSES) -> list[Line]:
    """The lines of these changes, on these cases."""
    one = partial(measure, names=names)
    figures = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for case, found in zip(cases, pool.map(one, cases), strict=True):
            figures[case] = found
            print(f"\r{len(figures)} of {len(cases)} tables", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [line(name, figures) for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("changes", nargs="*", help="parts of the names of changes; default: all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the tables")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    args = parser.parse_args()
    names = [n for n in CHANGES if not args.changes or any(part in n for part in args.changes)]
    if not names:
        parser.error(f"no change has such a name. There are: {', '.join(CHANGES)}")
    real = real_sets()
    if len(real) < len(REAL):
        absent = ", ".join(case for case in REAL if case not in real)
        print(f"Not in {DATA}, and left out: {absent}\n")
    every = [*CELLS, *real]
    cases = every[::QUICK] if args.quick else every
    n_planted = sum(case in CELLS for case in cases)
    print(f"{n_planted} planted cells, {len(cases) - n_planted} real sets\n")
    name = "ablation_quick" if args.quick else "ablation"
    report(name, lines(cases, names, args.processes), COLUMNS)


if __name__ == "__main__":
    main()
